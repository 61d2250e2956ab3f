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
        shard_files::{Content, Placing},
        table::MAX_RAW_LEN,
        workers::Workers,
    },
    codec::Codec,
    json::{self, Limits},
    rows::RowBatch,
};

pub(crate) use crate::blocks::shard_files::Piece;

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
        /// The byte of the line.
        offset: usize,
        /// The error message.
        reason: String,
    },
    /// It was too long to be read.
    TooLong {
        /// How long it is.
        length: u64,
    },
    /// No shard can hold it.
    TooLarge {
        /// The bytes that it needs.
        needed: u64,
        /// The bytes that a file may have.
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
    /// The cause.
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
    /// The bytes of these lines, with newlines.
    pub logical_bytes: u64,
}

impl Packer {
    /// A packer that checks lines against the limits `check`, if given. With one thread, no thread is
    /// started.
    ///
    /// # Errors
    /// A compressor or a thread could not be created, or the sizes are too small for any shard.
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

    /// Whether a line needs a separate block; an error if it is refused.
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
