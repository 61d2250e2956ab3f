//! Writing an index from sorted runs, and from what is kept of an older one.
//!
//! All are merged twice: once to see what there is, which decides the version and finds
//! keys that are there twice, and once to write it.

use std::{fs::File, os::unix::fs::FileExt, path::PathBuf};

use super::{
    KeyFields, Meta,
    continued_index::{Continued, Table},
    layout::{Compact, Entry, FINGERPRINT_BITS, Header, Tables, Texts},
    meta::{KNOWN_KEY, NEW_KEY},
    runs::{ALL_BITS, Merge, Record, Runs, merged},
    write_compact::write_compact,
};
use crate::{
    Result,
    sealed::{Lines, MadeOf, TableWriter, trailer},
};

/// Records between two questions whether to go on.
const CHECK_EVERY: u64 = 1 << 16;

/// The contents of the index to write.
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
    /// Whether numbers that are the same double have the same key.
    pub plain_numbers: bool,
    /// The source and the options of the build, which also say whether it is a delta.
    pub made_of: MadeOf,
    /// See [`SourceHashes`](crate::sealed::SourceHashes).
    pub hashes: Vec<u64>,
    /// Where there is room for files without a name.
    pub directory: PathBuf,
}

/// The result of writing an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// An index.
    Written(Written),
    /// A key that may have one row has two; of all such keys the one whose second row is first.
    Duplicate(Duplicate),
    /// Version 1 was requested and is too small for it.
    NoRoom(&'static str),
    /// The index that is continued has too few bits of its hashes for the new number of rows.
    NoBits,
    /// `go_on` returned false.
    Stopped,
}

/// An index that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The version of the format.
    pub version: u32,
    /// Why it is not version 1, if the version was not requested.
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

/// Fewer bits of a bucket's number than rows would have anew: buckets of up to 256 rows.
const BITS_TO_SPARE: u32 = 2;

/// Write the index of all records of `runs`, and of what is kept of another, to an empty file.
/// Stops when `go_on`, which is called now and then, returns false.
///
/// # Errors
/// Errors of reading and writing.
pub fn write(
    runs: &mut [Runs],
    kept: Option<&Continued<'_>>,
    out: &File,
    plan: &Plan,
    go_on: &dyn Fn() -> bool,
) -> Result<Outcome> {
    for run in &mut *runs {
        run.finish()?;
    }
    let rows = Rows { runs, tables: kept.map(Continued::tables).unwrap_or_default(), kept };
    let Some(mut seen) = rows.survey(plan, go_on)? else { return Ok(Outcome::Stopped) };
    if plan.unique {
        if let Some(kept) = kept
            && !kept.duplicate(rows.runs, &mut seen.duplicate, go_on)?
        {
            return Ok(Outcome::Stopped);
        }
        if let Some(duplicate) = seen.duplicate {
            return Ok(Outcome::Duplicate(duplicate));
        }
    }
    let full = seen.exceeds_texts();
    if plan.version == Some(1)
        && let Some(why) = full
    {
        return Ok(Outcome::NoRoom(why));
    }
    let tables = if plan.version == Some(2) || full.is_some() || rows.known_bits().is_some() {
        let Some(tables) = rows.compact(&seen, plan) else { return Ok(Outcome::NoBits) };
        Tables::Compact(tables)
    } else {
        Tables::Texts(Texts::of(seen.keys, seen.pool, seen.records))
    };
    let (source_size, source_mtime) = plan.made_of.source.in_header();
    let header = Header {
        unique: plan.unique,
        composite: plan.fields.composite(),
        keys: u32::try_from(seen.keys).unwrap_or(u32::MAX),
        source_size,
        source_mtime,
        tables,
    };
    out.write_all_at(&header.encode(), 0)?;
    let end = match tables {
        Tables::Texts(texts) => write_texts(rows.merged(ALL_BITS)?, out, texts, seen.keys, go_on)?,
        Tables::Compact(compact) => {
            let mask = mask_of(compact.bucket_bits + FINGERPRINT_BITS);
            write_compact(rows.merged(mask)?, out, compact, &plan.directory, go_on)?
        }
    };
    let Some(end) = end else { return Ok(Outcome::Stopped) };
    let of_key = if seen.last_is_known { KNOWN_KEY } else { NEW_KEY };
    let mut made_of = plan.made_of.continuing(kept.and_then(Continued::continued));
    made_of.last = made_of.last.map(|last| if last == "key" { of_key.into() } else { last });
    let meta = Meta {
        key: plan.fields.names().to_vec(),
        mode: if plan.unique { "unique" } else { "multi" }.into(),
        hash: "xxh3_64".into(),
        records: seen.records,
        keys: seen.keys,
        lines: plan.lines,
        plain_numbers: plan.plain_numbers,
        made_of,
    };
    let size = trailer::write(out, end, &meta, &plan.hashes)?;
    Ok(Outcome::Written(Written {
        version: header.version(),
        why: full.or(rows.known_bits().map(|_| "delta")).filter(|_| plan.version.is_none()),
        records: seen.records,
        keys: seen.keys,
        size,
    }))
}

/// The first bits of a hash.
pub(super) fn mask_of(bits: u32) -> u64 {
    !u64::MAX.checked_shr(bits).unwrap_or_default()
}

/// All rows that an index is made of.
struct Rows<'a> {
    runs: &'a [Runs],
    tables: Vec<Table<'a>>,
    kept: Option<&'a Continued<'a>>,
}

impl Rows<'_> {
    fn merged(&self, mask: u64) -> Result<Merge<'_>> {
        merged(self.runs, self.tables.iter().map(|table| table.rows()), mask)
    }

    /// How many bits of a bucket's number are known of all hashes, if not all of them.
    fn known_bits(&self) -> Option<u32> {
        self.tables.iter().filter_map(|table| table.bucket_bits()).min()
    }

    /// The tables of version 2; `None` if too few bits are known for them.
    fn compact(&self, seen: &Survey, plan: &Plan) -> Option<Compact> {
        // A delta knows the bits that one index of it all will need.
        let all = self.kept.map_or(0, Continued::rows_before) + seen.records;
        let wanted = Compact::of(all, plan.made_of.logical_size).bucket_bits;
        let bits = self.known_bits().unwrap_or(wanted).min(wanted);
        let compact = Compact::with_buckets(bits, seen.records, plan.made_of.logical_size);
        (wanted - bits <= BITS_TO_SPARE).then_some(compact)
    }

    /// See what there is; `None` if `go_on` returns false.
    fn survey(&self, plan: &Plan, go_on: &dyn Fn() -> bool) -> Result<Option<Survey>> {
        let (Some(kept), Some(known)) = (self.kept, self.known_bits()) else {
            return Survey::of(self.merged(ALL_BITS)?, plan.made_of.coverage_end, go_on);
        };
        // Texts of keys are not known, so keys are counted apart, and then those that are in both.
        let earlier = self.tables[0];
        let later = self.tables.get(1).copied();
        let seen = match later {
            Some(later) => Some(Survey::of_table(later)),
            None => Survey::of(merged(self.runs, [], ALL_BITS)?, plan.made_of.coverage_end, go_on)?,
        };
        let Some(mut seen) = seen else { return Ok(None) };
        seen.records += earlier.records();
        seen.keys += earlier.keys();
        if !plan.unique {
            let mask = mask_of(known + FINGERPRINT_BITS);
            let later = (self.runs, later);
            let shared = kept.shared(earlier, later, mask, plan.made_of.coverage_end, go_on)?;
            let Some(shared) = shared else { return Ok(None) };
            // Less than there are, unless a file lies.
            seen.keys = seen.keys.saturating_sub(shared.keys);
            seen.last_is_known |= shared.last;
        }
        Ok(Some(seen))
    }
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
    /// Whether a last row without a newline has the key of another.
    last_is_known: bool,
}

impl Survey {
    /// `None` if `go_on` returns false.
    fn of(merge: Merge<'_>, coverage_end: u64, go_on: &dyn Fn() -> bool) -> Result<Option<Self>> {
        let mut seen = Self::default();
        let mut postings = 0;
        let mut first = 0;
        let done = each(merge, go_on, |record, same| {
            postings = if same { postings + 1 } else { 1 };
            seen.records += 1;
            seen.most_postings = seen.most_postings.max(postings);
            seen.last_is_known |= same && record.offset >= coverage_end;
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

    /// What an index says of itself.
    fn of_table(table: Table<'_>) -> Self {
        let (records, keys) = (table.records(), table.keys());
        Self { records, keys, last_is_known: !table.has_new_key(), ..Self::default() }
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
/// returns false.
pub(super) fn each(
    mut merge: Merge<'_>,
    go_on: &dyn Fn() -> bool,
    mut visit: impl FnMut(&Record<'_>, bool) -> Result<()>,
) -> Result<bool> {
    let mut seen = 0_u64;
    while let Some((record, same)) = merge.next()? {
        visit(&record, same)?;
        seen += 1;
        if seen.is_multiple_of(CHECK_EVERY) && !go_on() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Write the tables of version 1, and return where they end.
fn write_texts(
    merge: Merge<'_>,
    out: &File,
    texts: Texts,
    keys: u64,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<u64>> {
    let pool_begins = texts.entries + keys * super::layout::ENTRY_BYTES;
    let mut entries = TableWriter::at(out, texts.entries);
    let mut pool = TableWriter::at(out, pool_begins);
    let mut postings = TableWriter::at(out, texts.postings);
    let (mut entry, mut key_offset, mut first) = (None::<Entry>, 0_u32, 0_u32);
    // The survey has seen that all numbers have room.
    let done = each(merge, go_on, |record, same| {
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
