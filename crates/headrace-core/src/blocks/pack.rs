//! Lines to blocks to shards.
//!
//! Lines are collected until a block is full, blocks are compressed, and compressed
//! blocks are put one behind the other until a shard is full. The size of a shard is
//! known exactly, because whatever stands in it has been compressed already; so no
//! shard is ever larger than its limit, and each may be up to one block smaller.
//!
//! Where blocks are cut depends on the lines alone, or on the lines and on how well the
//! blocks before them were compressed; it never depends on how many threads compress,
//! nor on how many lines are given at a time. So the same lines give the same bytes.

use std::io;

use memchr::{memchr, memchr_iter, memrchr};

use crate::{
    blocks::{
        encode::{BlockEncoder, BlockFormat, Settings},
        place::{Content, Placing},
        table::MAX_RAW_LEN,
        workers::Workers,
    },
    codec::Codec,
    json::{self, Limits},
    rows::RowBatch,
};

pub use crate::blocks::place::{Piece, Shard};

/// How large blocks and shards may be.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Lines in a block, in bytes, unless one line is longer.
    pub block_bytes: usize,
    /// A finished file.
    pub max_bytes: Option<u64>,
    /// The lines in a file, in bytes.
    pub max_logical_bytes: Option<u64>,
    /// The lines in a file.
    pub max_records: Option<u64>,
}

/// Why a line was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It is not JSON from this byte of the line on.
    Json {
        /// Within the line.
        offset: usize,
        /// What is wrong.
        reason: String,
    },
    /// It was too long to be read.
    TooLong {
        /// How long it is.
        length: u64,
    },
    /// No shard can hold it.
    TooLarge {
        /// What it needs.
        needed: u64,
        /// What there is.
        limit: u64,
    },
}

/// A line that was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Where it begins in what was given.
    pub begin: usize,
    /// Where the next line begins.
    pub end: usize,
    /// Why.
    pub cause: Cause,
}

/// A shard that holds this many blocks even of noise need not be filled with care.
const MANY_BLOCKS: u64 = 8;

/// Blocks are not cut smaller than this for a better fit.
const SMALLEST_TARGET: u64 = 1024;

/// Memory of longer lines is given back to the system.
const KEPT_LINES: usize = 4 << 20;

/// Blocks on their way for each thread.
const AHEAD: usize = 2;

/// The longest line: a block of it must be one that can be entered by itself.
const LONGEST_LINE: u64 = MAX_RAW_LEN as u64;

/// Lines that are to be compressed together.
struct Raw {
    lines: Vec<u8>,
    rows: u32,
    /// Whether the block before it is the last of its shard.
    begins_shard: bool,
}

struct Encoded {
    raw: Raw,
    bytes: io::Result<Vec<u8>>,
}

/// Turns lines into the bytes of shards.
pub struct Packer {
    format: &'static BlockFormat,
    sizes: Sizes,
    check: Option<Limits>,
    settings: Settings,
    /// Made when it is needed.
    encoder: Option<Box<dyn BlockEncoder>>,
    workers: Option<Workers<Raw, Encoded>>,
    most_pending: usize,
    placing: Placing,
    /// The block that lines are added to.
    draft: Raw,
    /// How long it should be.
    target: usize,
    /// Lines up to this length are sure to fit, whatever they are.
    sure: usize,
    /// Rows and bytes of the current shard, with what is on its way.
    cut: (u64, u64),
    /// Memory for the next block.
    spare: Vec<u8>,
    /// Lines taken.
    pub records: u64,
    /// Of them blank, where lines are checked.
    pub blank: u64,
    /// Their bytes.
    pub logical_bytes: u64,
}

impl Packer {
    /// A packer that checks lines if `check` says how. With one thread nothing is started.
    ///
    /// # Errors
    /// When a compressor or a thread cannot be had, or no shard can be as small as asked for.
    pub fn new(
        codec: &'static Codec,
        settings: &Settings,
        sizes: Sizes,
        check: Option<Limits>,
        threads: usize,
    ) -> io::Result<Self> {
        let Some(format) = codec.blocks else {
            return Err(invalid(format!("{} has no blocks", codec.name)));
        };
        let sizes = without_compression(codec, sizes);
        let mut encoder = (format.encoder)(settings)?;
        let placing = Placing::new(codec, format, sizes.max_bytes.unwrap_or(u64::MAX));
        let mut empty = Vec::new();
        encoder.encode(b"", 0, &mut empty)?;
        if !placing.can_ever_fit(empty.len() as u64) {
            let least = empty.len() as u64 + (format.tail_len)(1);
            return Err(invalid(format!("an empty file has {least} bytes already")));
        }
        let sure = placing.can_ever_fit((format.bound)(sizes.block_bytes) as u64)
            && sizes.max_logical_bytes.is_none_or(|most| sizes.block_bytes as u64 <= most);
        let workers = (threads > 1).then(|| workers(format, settings, threads)).transpose()?;
        Ok(Self {
            format,
            sizes,
            check,
            settings: settings.clone(),
            encoder: Some(encoder),
            workers,
            most_pending: if depends_on_sizes(&sizes) { 0 } else { threads * AHEAD },
            placing,
            draft: Raw { lines: Vec::new(), rows: 0, begins_shard: false },
            target: target(&sizes, (1, 1)),
            sure: if sure { sizes.block_bytes } else { 0 },
            cut: (0, 0),
            spare: Vec::new(),
            records: 0,
            blank: 0,
            logical_bytes: 0,
        })
    }

    /// Take the lines of `data` from byte `start` on, up to one that is refused. A last line
    /// without a newline gets one.
    ///
    /// # Errors
    /// When a compressor fails.
    pub fn add(
        &mut self,
        data: &[u8],
        start: usize,
        pieces: &mut Vec<Piece>,
    ) -> io::Result<Option<Refusal>> {
        let mut at = start;
        while at < data.len() {
            let run = self.take_run(&data[at..]);
            if run > 0 {
                at += run;
                continue;
            }
            let (content, end) = match memchr(b'\n', &data[at..]) {
                Some(length) => (&data[at..at + length], at + length + 1),
                None => (&data[at..], data.len()),
            };
            if let Some(cause) = self.take_line(content, pieces)? {
                return Ok(Some(Refusal { begin: at, end, cause }));
            }
            at = end;
        }
        Ok(None)
    }

    /// Take the rows of `batch` from position `start` on, up to one that is refused: its
    /// position, and why.
    ///
    /// # Errors
    /// When a compressor fails.
    pub fn add_rows(
        &mut self,
        batch: &RowBatch,
        start: usize,
        pieces: &mut Vec<Piece>,
    ) -> io::Result<Option<(usize, Cause)>> {
        for (position, row) in batch.iter().enumerate().skip(start) {
            let refused = match row.too_long {
                Some(length) => Some(Cause::TooLong { length }),
                None => self.take_line(row.content, pieces)?,
            };
            if let Some(cause) = refused {
                return Ok(Some((position, cause)));
            }
        }
        Ok(None)
    }

    fn take_line(&mut self, content: &[u8], pieces: &mut Vec<Piece>) -> io::Result<Option<Cause>> {
        let alone = match self.judge(content) {
            Ok(alone) => alone,
            Err(cause) => return Ok(Some(cause)),
        };
        let length = content.len() + 1;
        if alone || !self.has_room(length) {
            self.make_room(length, alone, pieces)?;
        }
        self.draft.lines.extend_from_slice(content);
        self.draft.lines.push(b'\n');
        self.draft.rows += 1;
        self.cut = (self.cut.0 + 1, self.cut.1 + length as u64);
        self.records += 1;
        self.logical_bytes += length as u64;
        self.blank += u64::from(self.check.is_some() && json::is_blank(content));
        if alone {
            self.close(pieces)?;
        }
        Ok(None)
    }

    fn encoder(&mut self) -> io::Result<&mut (dyn BlockEncoder + 'static)> {
        let encoder = match self.encoder.take() {
            Some(encoder) => encoder,
            None => (self.format.encoder)(&self.settings)?,
        };
        Ok(self.encoder.insert(encoder).as_mut())
    }

    /// Give back memory that is not lines: there are many packers, and another is used next.
    pub fn rest(&mut self) {
        self.encoder = None;
        self.spare = Vec::new();
    }

    /// Whether lines need not be looked at one by one.
    fn takes_runs(&self) -> bool {
        self.check.is_none()
            && self.sure > 0
            && self.sizes.max_records.is_none()
            && self.sizes.max_logical_bytes.is_none()
    }

    /// Take the whole lines at the front of `data` that fit into the draft; their length.
    fn take_run(&mut self, data: &[u8]) -> usize {
        if !self.takes_runs() {
            return 0;
        }
        let room = data.len().min(self.target.saturating_sub(self.draft.lines.len()));
        let length = memrchr(b'\n', &data[..room]).map_or(0, |newline| newline + 1);
        let rows = memchr_iter(b'\n', &data[..length]).count();
        self.draft.lines.extend_from_slice(&data[..length]);
        // In range: a block is shorter than 4 GiB.
        self.draft.rows += u32::try_from(rows).unwrap_or(u32::MAX);
        self.records += rows as u64;
        self.logical_bytes += length as u64;
        length
    }

    /// Whether a line needs a block of its own, unless it is refused.
    fn judge(&mut self, content: &[u8]) -> Result<bool, Cause> {
        if let Some(limits) = &self.check
            && !json::is_blank(content)
        {
            json::check(content, limits).map_err(|error| Cause::Json {
                offset: error.offset,
                reason: error.reason.to_string(),
            })?;
        }
        let length = content.len() + 1;
        if length <= self.sure {
            return Ok(false);
        }
        let limit = self.sizes.max_logical_bytes.unwrap_or(u64::MAX).min(LONGEST_LINE);
        if length as u64 > limit {
            return Err(Cause::TooLarge { needed: length as u64, limit });
        }
        if self.placing.can_ever_fit((self.format.bound)(length) as u64) {
            return Ok(false);
        }
        self.try_alone(content).map(|()| true)
    }

    /// Compress a line to see whether it fits: it is too long to be sure.
    fn try_alone(&mut self, content: &[u8]) -> Result<(), Cause> {
        let mut lines = std::mem::take(&mut self.spare);
        lines.clear();
        lines.extend_from_slice(content);
        lines.push(b'\n');
        let mut bytes = Vec::new();
        let encoded = self.encoder().and_then(|encoder| encoder.encode(&lines, 1, &mut bytes));
        self.keep(lines);
        // What cannot be encoded now cannot be encoded later either, and is said then.
        if encoded.is_ok() && !self.placing.can_ever_fit(bytes.len() as u64) {
            let needed = bytes.len() as u64 + (self.format.tail_len)(1);
            let limit = self.sizes.max_bytes.unwrap_or(u64::MAX);
            return Err(Cause::TooLarge { needed, limit });
        }
        Ok(())
    }

    fn has_room(&self, length: usize) -> bool {
        (self.draft.rows == 0 || self.draft.lines.len() + length <= self.target)
            && !self.shard_is_full(length)
    }

    fn shard_is_full(&self, length: usize) -> bool {
        let over = |used: u64, more: u64, limit: Option<u64>| {
            used > 0 && limit.is_some_and(|limit| used + more > limit)
        };
        over(self.cut.0, 1, self.sizes.max_records)
            || over(self.cut.1, length as u64, self.sizes.max_logical_bytes)
    }

    fn make_room(&mut self, length: usize, alone: bool, pieces: &mut Vec<Piece>) -> io::Result<()> {
        if alone || self.draft.lines.len() + length > self.target || self.shard_is_full(length) {
            self.close(pieces)?;
        }
        if self.shard_is_full(length) {
            self.draft.begins_shard = true;
            self.cut = (0, 0);
        }
        Ok(())
    }

    /// End the draft, and let it be compressed.
    fn close(&mut self, pieces: &mut Vec<Piece>) -> io::Result<()> {
        if self.draft.rows == 0 {
            return Ok(());
        }
        let mut lines = std::mem::take(&mut self.spare);
        lines.clear();
        let next = Raw { lines, rows: 0, begins_shard: false };
        let raw = std::mem::replace(&mut self.draft, next);
        if let Some(workers) = &mut self.workers {
            workers.give(raw);
        } else {
            let encoded = encoded(self.encoder()?, raw);
            self.place(encoded, pieces)?;
        }
        self.drain(self.most_pending, pieces)?;
        if self.most_pending == 0 {
            self.cut = self.placing.counts();
        }
        Ok(())
    }

    /// Place finished blocks until at most `left` are on their way.
    fn drain(&mut self, left: usize, pieces: &mut Vec<Piece>) -> io::Result<()> {
        while let Some(workers) = &mut self.workers
            && workers.pending() > left
            && let Some(done) = workers.take()?
        {
            self.place(done, pieces)?;
        }
        Ok(())
    }

    fn place(&mut self, done: Encoded, pieces: &mut Vec<Piece>) -> io::Result<()> {
        let (raw, bytes) = (done.raw, done.bytes?);
        if raw.begins_shard {
            self.placing.end(pieces);
        }
        if raw.rows > 1 && !self.placing.can_ever_fit(bytes.len() as u64) {
            for half in halves(&raw) {
                let encoded = encoded(self.encoder()?, half);
                self.place(encoded, pieces)?;
            }
        } else {
            self.target = target(&self.sizes, (raw.lines.len() as u64, bytes.len() as u64));
            let raw_len = u32::try_from(raw.lines.len()).map_err(io::Error::other)?;
            self.placing.push(bytes, Content { raw_len, rows: raw.rows }, pieces);
        }
        self.keep(raw.lines);
        Ok(())
    }

    /// Use memory again, but hold no more than a block needs.
    fn keep(&mut self, lines: Vec<u8>) {
        if lines.capacity() <= KEPT_LINES.max(2 * self.sizes.block_bytes) {
            self.spare = lines;
        }
    }

    /// The rest. With `always`, a file is made even of no lines.
    ///
    /// # Errors
    /// When a compressor fails.
    pub fn finish(&mut self, always: bool, pieces: &mut Vec<Piece>) -> io::Result<()> {
        self.close(pieces)?;
        self.drain(0, pieces)?;
        if always && self.records == 0 {
            let mut bytes = Vec::new();
            self.encoder()?.encode(b"", 0, &mut bytes)?;
            self.placing.push(bytes, Content { raw_len: 0, rows: 0 }, pieces);
        }
        self.placing.end(pieces);
        Ok(())
    }
}

/// Where nothing is compressed, the bytes of a file are its lines, and can be counted as such.
fn without_compression(codec: &Codec, sizes: Sizes) -> Sizes {
    if codec.name != "none" {
        return sizes;
    }
    let limits = [sizes.max_bytes, sizes.max_logical_bytes];
    Sizes { max_bytes: None, max_logical_bytes: limits.into_iter().flatten().min(), ..sizes }
}

/// Whether it must be known how well a block was compressed before the next is begun.
fn depends_on_sizes(sizes: &Sizes) -> bool {
    sizes.max_bytes.is_some_and(|max_bytes| {
        max_bytes < MANY_BLOCKS * sizes.block_bytes as u64
            || sizes.max_records.is_some()
            || sizes.max_logical_bytes.is_some()
    })
}

/// How long the next block should be, when the last one was compressed from and to so much.
fn target(sizes: &Sizes, (from, to): (u64, u64)) -> usize {
    let whole = sizes.block_bytes;
    match sizes.max_bytes {
        Some(max_bytes) if max_bytes < MANY_BLOCKS * whole as u64 => {
            let fitting = u128::from(max_bytes) * u128::from(from) / u128::from(to.max(1));
            let fitting = u64::try_from(fitting).unwrap_or(u64::MAX) / MANY_BLOCKS;
            usize::try_from(fitting.max(SMALLEST_TARGET)).unwrap_or(whole).min(whole)
        }
        _ => whole,
    }
}

fn workers(
    format: &BlockFormat,
    settings: &Settings,
    threads: usize,
) -> io::Result<Workers<Raw, Encoded>> {
    let encoders: Vec<_> =
        (0..threads).map(|_| (format.encoder)(settings)).collect::<io::Result<_>>()?;
    Workers::new(encoders.into_iter().map(|mut encoder| move |raw| encoded(encoder.as_mut(), raw)))
}

fn encoded(encoder: &mut dyn BlockEncoder, raw: Raw) -> Encoded {
    let mut bytes = Vec::new();
    let result = encoder.encode(&raw.lines, raw.rows, &mut bytes);
    Encoded { raw, bytes: result.map(|()| bytes) }
}

/// The same lines as two blocks.
fn halves(raw: &Raw) -> [Raw; 2] {
    let rows = raw.rows / 2;
    let middle = memchr_iter(b'\n', &raw.lines)
        .nth(rows.saturating_sub(1) as usize)
        .map_or(raw.lines.len(), |newline| newline + 1);
    let (first, second) = raw.lines.split_at(middle);
    [(first, rows), (second, raw.rows - rows)].map(|(lines, rows)| Raw {
        lines: lines.to_vec(),
        rows,
        begins_shard: false,
    })
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use proptest::prelude::*;

    use super::*;
    use crate::codec::{self, by_name};

    const UNLIMITED: Sizes =
        Sizes { block_bytes: 1 << 18, max_bytes: None, max_logical_bytes: None, max_records: None };

    struct Written {
        files: Vec<(Vec<u8>, Shard)>,
        refused: Vec<Refusal>,
    }

    /// Pack `data`, given `step` bytes of whole lines at a time, passing over what is refused.
    fn pack(codec: &str, sizes: Sizes, threads: usize, data: &[u8], step: usize) -> Written {
        pack_checked(codec, sizes, threads, data, step, None)
    }

    fn pack_checked(
        codec: &str,
        sizes: Sizes,
        threads: usize,
        data: &[u8],
        step: usize,
        check: Option<Limits>,
    ) -> Written {
        let codec = by_name(codec).unwrap();
        let settings = codec.blocks.unwrap().defaults();
        let mut packer = Packer::new(codec, &settings, sizes, check, threads).unwrap();
        let (mut pieces, mut refused) = (Vec::new(), Vec::new());
        let lines: Vec<&[u8]> = data.split_inclusive(|&byte| byte == b'\n').collect();
        for chunk in lines.chunks(step) {
            let chunk = chunk.concat();
            let mut start = 0;
            while let Some(refusal) = packer.add(&chunk, start, &mut pieces).unwrap() {
                start = refusal.end;
                refused.push(refusal);
            }
        }
        packer.finish(false, &mut pieces).unwrap();
        let (mut files, mut current) = (Vec::new(), Vec::new());
        for piece in pieces {
            current.extend(piece.bytes);
            if let Some(shard) = piece.ended {
                files.push((std::mem::take(&mut current), shard));
            }
        }
        assert!(current.is_empty(), "bytes behind the last shard");
        Written { files, refused }
    }

    fn decoded(codec: &str, bytes: &[u8]) -> Vec<u8> {
        let mut output = Vec::new();
        let input = Box::new(io::Cursor::new(bytes.to_vec()));
        codec::decode(by_name(codec).unwrap(), input).unwrap().read_to_end(&mut output).unwrap();
        output
    }

    /// What a shard says of itself is what is in its bytes.
    fn check_shard(codec: &str, bytes: &[u8], shard: &Shard) {
        let lines = decoded(codec, bytes);
        assert_eq!(shard.bytes, bytes.len() as u64);
        assert_eq!(shard.logical_bytes, lines.len() as u64);
        assert_eq!(shard.records, memchr_iter(b'\n', &lines).count() as u64);
        assert_eq!(shard.digest, xxhash_rust::xxh3::xxh3_64(bytes));
        let (mut row, mut logical, mut physical) = (0, 0, 0);
        for block in &shard.blocks {
            assert_eq!((block.first_row, block.logical, block.physical), (row, logical, physical));
            let end = physical + u64::from(block.comp_len);
            let own = &bytes[usize::try_from(physical).unwrap()..usize::try_from(end).unwrap()];
            assert_eq!(block.crc32c, crc32c::crc32c(own));
            let content = decoded(codec, own);
            assert_eq!(content.len(), block.raw_len as usize);
            assert_eq!(memchr_iter(b'\n', &content).count(), block.rows as usize);
            assert!(content.ends_with(b"\n"));
            row += u64::from(block.rows);
            logical += u64::from(block.raw_len);
            physical = end;
        }
    }

    fn noise(lines: u64, length: usize) -> Vec<u8> {
        let mut state = 7_u64;
        let mut data = Vec::new();
        for _ in 0..lines {
            for _ in 0..length {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                data.push(b'0' + u8::try_from(state >> 58).unwrap());
            }
            data.push(b'\n');
        }
        data
    }

    #[test]
    fn no_shard_exceeds_its_limit_and_none_is_much_smaller() {
        let repeated: Vec<u8> = (0..60_000)
            .flat_map(|id| {
                format!("{{\"id\":{id},\"name\":\"the same each time\"}}\n").into_bytes()
            })
            .collect();
        for codec in ["gzip", "zstd"] {
            for (data, limits) in [
                (repeated.clone(), [2048, 4096, 6000]),
                (noise(20_000, 90), [2048, 65_536, 1 << 20]),
            ] {
                for limit in limits {
                    let sizes = Sizes { max_bytes: Some(limit), ..UNLIMITED };
                    let written = pack(codec, sizes, 1, &data, 1000);
                    let sizes: Vec<_> =
                        written.files.iter().map(|(bytes, _)| bytes.len()).collect();
                    assert!(sizes.len() >= 2, "{codec} {limit}: {sizes:?}");
                    assert!(
                        sizes.iter().all(|&size| size as u64 <= limit),
                        "{codec} {limit}: {sizes:?}"
                    );
                    let full: usize = sizes[..sizes.len() - 1].iter().sum();
                    assert!(full * 10 >= (sizes.len() - 1) * usize::try_from(limit).unwrap() * 7);
                    let all: Vec<u8> =
                        written.files.iter().flat_map(|(bytes, _)| decoded(codec, bytes)).collect();
                    assert_eq!(all, data);
                }
            }
        }
    }

    #[test]
    fn checking_changes_no_byte() {
        let data: Vec<u8> = (0..20_000).flat_map(|id| format!("[{id}]\n").into_bytes()).collect();
        for block_bytes in [100, 5000] {
            let sizes = Sizes { block_bytes, max_bytes: Some(40_000), ..UNLIMITED };
            let checked = pack_checked("zstd", sizes, 1, &data, 999, Some(Limits::default()));
            let unchecked = pack("zstd", sizes, 1, &data, 999);
            let bytes = |written: Written| -> Vec<Vec<u8>> {
                written.files.into_iter().map(|(bytes, _)| bytes).collect()
            };
            assert_eq!(bytes(checked), bytes(unchecked));
        }
    }

    #[test]
    fn records_and_logical_bytes_are_counted_exactly() {
        let data = noise(1000, 9);
        for codec in ["none", "gzip", "zstd"] {
            let sizes = Sizes { max_records: Some(300), ..UNLIMITED };
            let written = pack(codec, sizes, 2, &data, 7);
            let records: Vec<_> = written.files.iter().map(|(_, shard)| shard.records).collect();
            assert_eq!(records, [300, 300, 300, 100], "{codec}");
            let sizes = Sizes { max_logical_bytes: Some(3005), ..UNLIMITED };
            let written = pack(codec, sizes, 2, &data, 7);
            let bytes: Vec<_> =
                written.files.iter().map(|(_, shard)| shard.logical_bytes).collect();
            assert_eq!(bytes, [3000, 3000, 3000, 1000], "{codec}");
        }
        let sizes = Sizes { max_bytes: Some(3005), ..UNLIMITED };
        let written = pack("none", sizes, 1, &data, 7);
        assert_eq!(written.files[0].0.len(), 3000);
    }

    #[test]
    fn a_line_that_no_shard_can_hold_is_refused_and_the_others_are_not() {
        let long = noise(1, 5000);
        let data = [&b"1\n"[..], &long, b"2\n"].concat();
        for codec in ["none", "gzip", "zstd"] {
            let sizes = Sizes { max_bytes: Some(2048), ..UNLIMITED };
            let written = pack(codec, sizes, 1, &data, 3);
            let [refusal] = &written.refused[..] else { panic!("{:?}", written.refused) };
            assert_eq!((refusal.begin, refusal.end), (2, 5003));
            assert!(matches!(refusal.cause, Cause::TooLarge { limit: 2048, .. }), "{codec}");
            let [(bytes, _)] = &written.files[..] else { panic!("more than one file") };
            assert_eq!(decoded(codec, bytes), b"1\n2\n");
        }
        // Long as it is, this one is small when compressed.
        let easy = [&b"1\n"[..], &b"0".repeat(50_000), b"\n2\n"].concat();
        for codec in ["gzip", "zstd"] {
            let sizes = Sizes { max_bytes: Some(2048), ..UNLIMITED };
            let written = pack(codec, sizes, 1, &easy, 3);
            assert_eq!(written.refused, []);
            let all: Vec<u8> =
                written.files.iter().flat_map(|(bytes, _)| decoded(codec, bytes)).collect();
            assert_eq!(all, easy);
        }
    }

    #[test]
    fn what_is_not_json_is_refused_where_it_is_wrong() {
        let codec = by_name("zstd").unwrap();
        let settings = codec.blocks.unwrap().defaults();
        let check = Some(Limits::default());
        let mut packer = Packer::new(codec, &settings, UNLIMITED, check, 1).unwrap();
        let mut pieces = Vec::new();
        let data = b"{\"a\":1}\n \n[1,}\n\xff\n7";
        let first = packer.add(data, 0, &mut pieces).unwrap().unwrap();
        assert_eq!((first.begin, first.end), (10, 15));
        assert!(matches!(first.cause, Cause::Json { offset: 2, .. }), "{:?}", first.cause);
        let second = packer.add(data, first.end, &mut pieces).unwrap().unwrap();
        assert_eq!((second.begin, second.end), (15, 17));
        assert_eq!(packer.add(data, second.end, &mut pieces).unwrap(), None);
        packer.finish(false, &mut pieces).unwrap();
        assert_eq!((packer.records, packer.blank, packer.logical_bytes), (3, 1, 12));
        let bytes: Vec<u8> = pieces.into_iter().flat_map(|piece| piece.bytes).collect();
        assert_eq!(decoded("zstd", &bytes), b"{\"a\":1}\n \n7\n");
    }

    #[test]
    fn a_limit_below_an_empty_file_is_refused_and_a_file_can_be_empty() {
        for codec in ["gzip", "zstd"] {
            let codec = by_name(codec).unwrap();
            let settings = codec.blocks.unwrap().defaults();
            let sizes = Sizes { max_bytes: Some(20), ..UNLIMITED };
            assert!(Packer::new(codec, &settings, sizes, None, 1).is_err());
            let mut packer = Packer::new(codec, &settings, UNLIMITED, None, 1).unwrap();
            let mut pieces = Vec::new();
            packer.finish(true, &mut pieces).unwrap();
            let bytes: Vec<u8> = pieces.into_iter().flat_map(|piece| piece.bytes).collect();
            assert_eq!(decoded(codec.name, &bytes), b"");
            assert!(!bytes.is_empty());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn threads_and_portions_change_no_byte_and_nothing_is_lost(
            codec in prop_oneof![Just("none"), Just("gzip"), Just("zstd")],
            lines in proptest::collection::vec(
                prop_oneof![4 => "[ab]{0,40}", 2 => "[a-z0-9]{0,300}", 1 => "[a-z]{2000,4000}"], 0..120),
            block_bytes in 1_usize..2000,
            max_bytes in proptest::option::of(prop_oneof![300_u64..3000, 16_000_u64..20_000]),
            max_logical_bytes in proptest::option::of(300_u64..5000),
            max_records in proptest::option::of(1_u64..40),
            steps in (1_usize..200, 1_usize..200),
        ) {
            let data: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
            let sizes = Sizes { block_bytes, max_bytes, max_logical_bytes, max_records };
            let one = pack(codec, sizes, 1, &data, steps.0);
            let two = pack(codec, sizes, 3, &data, steps.1);
            let bytes = |written: &Written| -> Vec<Vec<u8>> {
                written.files.iter().map(|(bytes, _)| bytes.clone()).collect()
            };
            prop_assert_eq!(bytes(&one), bytes(&two));
            let kept: Vec<u8> = one.files.iter().flat_map(|(bytes, _)| decoded(codec, bytes)).collect();
            let lost: usize = one.refused.iter().map(|refusal| refusal.end - refusal.begin).sum();
            prop_assert_eq!(kept.len() + lost, data.len());
            if one.refused.is_empty() {
                prop_assert_eq!(kept, data);
            }
            for (bytes, shard) in &one.files {
                check_shard(codec, bytes, shard);
                prop_assert!(max_bytes.is_none_or(|most| shard.bytes <= most));
                prop_assert!(max_logical_bytes.is_none_or(|most| shard.logical_bytes <= most));
                prop_assert!(max_records.is_none_or(|most| shard.records <= most));
                let fits = |block: &crate::blocks::Block| block.rows == 1 || block.raw_len as usize <= block_bytes;
                prop_assert!(shard.blocks.iter().all(fits));
            }
        }
    }
}
