//! Writing an index from sorted runs.
//!
//! The runs are merged twice: once to see what there is, which decides the version and finds
//! keys that are there twice, and once to write it.

use std::{fs::File, os::unix::fs::FileExt};

use super::{
    KeyFields,
    layout::{Compact, Entry, FINGERPRINT_BITS, Header, PADDING, Tables, Texts},
    runs::{Record, Runs, merged},
    trailer::{self, Lines, Meta, SourceMark},
    unusable,
};
use crate::Result;

const WRITE_BYTES: usize = 256 * 1024;
/// Records between two questions whether to go on.
const ASK_EVERY: u64 = 1 << 16;

/// What is to be written.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The fields of the key.
    pub fields: KeyFields,
    /// Whether a key may have one row only.
    pub unique: bool,
    /// Version 1, version 2, or version 1 if that has room for it.
    pub version: Option<u32>,
    /// All lines of the source, by kind.
    pub lines: Lines,
    /// Longest line that was read.
    pub max_line: u64,
    /// Deepest nesting that was read.
    pub max_depth: u32,
    /// Bytes of the source after decompression.
    pub logical_size: u64,
    /// The byte behind its last newline.
    pub coverage_end: u64,
    /// How many bytes on disk the hashes of whole blocks are about.
    pub hashed: u64,
    /// See [`trailer::SourceHashes`].
    pub hashes: Vec<u64>,
    /// The source on disk.
    pub source: SourceMark,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// An index.
    Written(Written),
    /// A key that may have one row has two; of all such keys the one whose second row is first.
    Duplicate(Duplicate),
    /// Version 1 was asked for, and has no room for it.
    NoRoom(&'static str),
    /// Somebody asked to stop.
    Stopped,
}

/// An index that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its version.
    pub version: u32,
    /// Why it is not version 1, if nobody asked for another one.
    pub why: Option<&'static str>,
    /// Rows with keys.
    pub records: u64,
    /// Different keys.
    pub keys: u64,
    /// Bytes of the file.
    pub size: u64,
}

/// Two rows with one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The key.
    pub key: Vec<u8>,
    /// Where the first row begins.
    pub first: u64,
    /// Where the second row begins.
    pub second: u64,
}

/// Write the index of all records of `runs` to an empty file. `go_on` is asked now and then.
///
/// # Errors
/// What reading and writing say.
pub fn write(
    runs: &mut [Runs],
    out: &File,
    plan: &Plan,
    go_on: &dyn Fn() -> bool,
) -> Result<Outcome> {
    for run in &mut *runs {
        run.finish()?;
    }
    let Some(seen) = Survey::of(runs, go_on)? else { return Ok(Outcome::Stopped) };
    if plan.unique
        && let Some(duplicate) = seen.duplicate
    {
        return Ok(Outcome::Duplicate(duplicate));
    }
    let full = seen.exceeds_texts();
    if plan.version == Some(1)
        && let Some(why) = full
    {
        return Ok(Outcome::NoRoom(why));
    }
    let tables = if plan.version == Some(2) || full.is_some() {
        Tables::Compact(Compact::of(seen.records, plan.logical_size))
    } else {
        Tables::Texts(Texts::of(seen.keys, seen.pool, seen.records))
    };
    let header = Header {
        unique: plan.unique,
        composite: plan.fields.composite(),
        keys: u32::try_from(seen.keys).unwrap_or(u32::MAX),
        source_size: plan.source.size,
        source_mtime: u64::try_from(plan.source.mtime_ns).unwrap_or_default(),
        tables,
    };
    out.write_all_at(&header.encode(), 0)?;
    let end = match tables {
        Tables::Texts(texts) => write_texts(runs, out, texts, seen.keys, go_on)?,
        Tables::Compact(compact) => write_compact(runs, out, compact, go_on)?,
    };
    let Some(end) = end else { return Ok(Outcome::Stopped) };
    let meta = Meta {
        key: plan.fields.names().to_vec(),
        mode: if plan.unique { "unique" } else { "multi" }.into(),
        hash: "xxh3_64".into(),
        records: seen.records,
        keys: seen.keys,
        lines: plan.lines,
        max_line: plan.max_line,
        max_depth: plan.max_depth,
        logical_size: plan.logical_size,
        coverage_end: plan.coverage_end,
        hashed: plan.hashed,
        source: plan.source.clone(),
    };
    let size = trailer::write(out, end, &meta, &plan.hashes)?;
    Ok(Outcome::Written(Written {
        version: header.version(),
        why: full.filter(|_| plan.version.is_none()),
        records: seen.records,
        keys: seen.keys,
        size,
    }))
}

/// What is in the runs.
#[derive(Default)]
struct Survey {
    records: u64,
    keys: u64,
    pool: u64,
    longest_key: usize,
    most_postings: u64,
    duplicate: Option<Duplicate>,
}

impl Survey {
    /// `None` if `go_on` says no.
    fn of(runs: &[Runs], go_on: &dyn Fn() -> bool) -> Result<Option<Self>> {
        let mut seen = Self::default();
        let mut postings = 0;
        let mut first = 0;
        let done = each(runs, go_on, |record, same| {
            postings = if same { postings + 1 } else { 1 };
            seen.records += 1;
            seen.most_postings = seen.most_postings.max(postings);
            if !same {
                first = record.offset;
                seen.keys += 1;
                seen.pool += record.key.len() as u64;
                seen.longest_key = seen.longest_key.max(record.key.len());
            } else if postings == 2
                && seen.duplicate.as_ref().is_none_or(|known| record.offset < known.second)
            {
                let (key, second) = (record.key.to_vec(), record.offset);
                seen.duplicate = Some(Duplicate { key, first, second });
            }
            Ok(())
        })?;
        Ok(done.then_some(seen))
    }

    /// What version 1 has no room for.
    fn exceeds_texts(&self) -> Option<&'static str> {
        let fits = |count: u64| u32::try_from(count).is_ok();
        if self.most_postings > u64::from(u16::MAX) {
            Some("posting_count")
        } else if self.longest_key > usize::from(u16::MAX) {
            Some("key_length")
        } else if !fits(self.pool) {
            Some("pool_size")
        } else if !fits(self.keys) || !fits(self.records) {
            Some("key_count")
        } else {
            None
        }
    }
}

/// Show each record in order, and whether its key is that of the one before; false if `go_on`
/// says no.
fn each(
    runs: &[Runs],
    go_on: &dyn Fn() -> bool,
    mut visit: impl FnMut(&Record<'_>, bool) -> Result<()>,
) -> Result<bool> {
    let mut merge = merged(runs)?;
    let mut seen = 0_u64;
    while let Some((record, same)) = merge.next()? {
        visit(&record, same)?;
        seen += 1;
        if seen.is_multiple_of(ASK_EVERY) && !go_on() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes one part of the file after the other.
struct Part<'f> {
    file: &'f File,
    at: u64,
    buffer: Vec<u8>,
}

impl<'f> Part<'f> {
    fn at(file: &'f File, at: u64) -> Self {
        Self { file, at, buffer: Vec::new() }
    }

    fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= WRITE_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write_all_at(&self.buffer, self.at)?;
        self.at += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

/// Write the tables of version 1, and return where they end.
fn write_texts(
    runs: &[Runs],
    out: &File,
    texts: Texts,
    keys: u64,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<u64>> {
    let pool_begins = texts.entries + keys * super::layout::ENTRY_BYTES;
    let mut entries = Part::at(out, texts.entries);
    let mut pool = Part::at(out, pool_begins);
    let mut postings = Part::at(out, texts.postings);
    let (mut entry, mut key_offset, mut first) = (None::<Entry>, 0_u32, 0_u32);
    // The survey has seen that all numbers have room.
    let done = each(runs, go_on, |record, same| {
        if let Some(entry) = entry.as_mut().filter(|_| same) {
            entry.count += 1;
        } else {
            if let Some(entry) = entry.take() {
                entries.push(&entry.encode())?;
            }
            let key_length = u16::try_from(record.key.len()).unwrap_or(u16::MAX);
            entry = Some(Entry { hash: record.hash, key_offset, key_length, first, count: 1 });
            key_offset += u32::from(key_length);
            pool.push(record.key)?;
        }
        first += 1;
        postings.push(&record.offset.to_le_bytes())
    })?;
    if let Some(entry) = entry {
        entries.push(&entry.encode())?;
    }
    for mut part in [entries, pool, postings] {
        part.flush()?;
    }
    Ok(done.then_some(texts.end()))
}

/// Write the tables of version 2, and return where they end.
fn write_compact(
    runs: &[Runs],
    out: &File,
    compact: Compact,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<u64>> {
    let mut directory = Part::at(out, compact.directory);
    let mut postings = Bits { part: Part::at(out, compact.postings), held: 0, count: 0 };
    let (mut begun, mut number) = (0_u64, 0_u64);
    let width = usize::try_from(compact.width).unwrap_or_default();
    let done = each(runs, go_on, |record, _same| {
        while begun <= compact.bucket(record.hash) {
            directory.push(&number.to_le_bytes()[..width])?;
            begun += 1;
        }
        number += 1;
        let fingerprint = u128::from(compact.fingerprint(record.hash));
        let posting = fingerprint | u128::from(record.offset) << FINGERPRINT_BITS;
        postings.push(posting, FINGERPRINT_BITS + compact.offset_bits)
    })?;
    while begun <= 1 << compact.bucket_bits {
        directory.push(&number.to_le_bytes()[..width])?;
        begun += 1;
    }
    directory.flush()?;
    postings.end()?;
    let end = compact.end().ok_or_else(|| unusable(0, "too many postings"))?;
    Ok(done.then_some(end))
}

/// Writes numbers of any width.
struct Bits<'f> {
    part: Part<'f>,
    held: u128,
    count: u32,
}

impl Bits<'_> {
    /// At most 80 bits; fewer than 8 are held from the numbers before.
    fn push(&mut self, number: u128, bits: u32) -> Result<()> {
        self.held |= number << self.count;
        self.count += bits;
        let whole = self.count / 8;
        self.part.push(&self.held.to_le_bytes()[..whole as usize])?;
        self.held >>= whole * 8;
        self.count %= 8;
        Ok(())
    }

    fn end(mut self) -> Result<()> {
        if self.count > 0 {
            self.part.push(&self.held.to_le_bytes()[..1])?;
        }
        self.part.push(&[0; PADDING])?;
        self.part.flush()
    }
}
