//! Sorting keys and postings in limited memory.
//!
//! What does not fit is written as a sorted *run* to a file without a name. Runs can be merged
//! more than once. The order, by hash, key and offset, is that of the index, and does
//! not depend on where the runs were cut: the same rows give the same index.
//!
//! Records are put into *drawers* by the first bits of their hashes. So what is sorted, and gone
//! through in order, is together in memory: keys that are far apart take longer to get than all
//! else. A record of a run is a hash, an offset, the length of the key (u64, u64, u32) and the key.

use std::{cmp::Ordering, fs::File, mem::size_of, os::unix::fs::FileExt, path::PathBuf};

use super::{hash, table_rows::TableRows};
use crate::{
    Result,
    rows::nameless_file,
    sealed::{chunk, unusable},
};

const RECORD_BYTES: usize = 20;
/// Read at a time of each run that is merged.
const READ_BYTES: usize = 16 * 1024;
const WRITE_BYTES: usize = 256 * 1024;
/// Bits of a hash that say the drawer.
const DRAWER_BITS: u32 = 8;
const DRAWERS: usize = 1 << DRAWER_BITS;

/// A key and where a row with it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    /// The hash of the key.
    pub hash: u64,
    /// Where the row begins.
    pub offset: u64,
    /// The key.
    pub key: &'a [u8],
}

impl Record<'_> {
    fn order(&self, other: &Record<'_>, mask: u64) -> Ordering {
        let hash = (self.hash & mask).cmp(&(other.hash & mask));
        hash.then_with(|| self.key.cmp(other.key)).then(self.offset.cmp(&other.offset))
    }
}

/// All bits of a hash count.
pub(super) const ALL_BITS: u64 = u64::MAX;

#[derive(Clone, Copy)]
struct InMemory {
    hash: u64,
    offset: u64,
    start: u32,
    length: u32,
}

fn drawer_of(hash: u64) -> usize {
    usize::try_from(hash >> (u64::BITS - DRAWER_BITS)).unwrap_or_default()
}

/// Records in memory whose hashes begin alike.
#[derive(Default)]
struct Drawer {
    records: Vec<InMemory>,
    keys: Vec<u8>,
}

impl Drawer {
    fn sort(&mut self) {
        let keys = &self.keys;
        self.records.sort_unstable_by(|left, right| {
            record(left, keys).order(&record(right, keys), ALL_BITS)
        });
    }
}

/// Records in no order yet.
pub struct Runs {
    directory: PathBuf,
    budget: usize,
    drawers: Vec<Drawer>,
    taken: usize,
    sorted: bool,
    file: Option<File>,
    written: u64,
    /// Where each run begins and ends in the file.
    stored: Vec<(u64, u64)>,
}

impl Runs {
    /// Records that take about `budget` bytes of memory, and more room in `directory`.
    pub fn new(directory: PathBuf, budget: usize) -> Self {
        Self {
            directory,
            budget,
            drawers: (0..DRAWERS).map(|_| Drawer::default()).collect(),
            taken: 0,
            sorted: true,
            file: None,
            written: 0,
            stored: Vec::new(),
        }
    }

    /// Add a record.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn push(&mut self, key: &[u8], offset: u64) -> Result<()> {
        let (hash, room) = (hash(key), u32::MAX as usize);
        let full = self.drawers[drawer_of(hash)].keys.len() > room - key.len().min(room);
        if self.taken >= self.budget || full {
            self.spill()?;
        }
        let drawer = &mut self.drawers[drawer_of(hash)];
        let (Ok(start), Ok(length)) = (drawer.keys.len().try_into(), key.len().try_into()) else {
            return Err(unusable(offset, "a key of more than 4 GiB"));
        };
        drawer.keys.extend_from_slice(key);
        drawer.records.push(InMemory { hash, offset, start, length });
        self.taken += size_of::<InMemory>() + key.len();
        self.sorted = false;
        Ok(())
    }

    fn sort(&mut self) {
        if !self.sorted {
            self.drawers.iter_mut().for_each(Drawer::sort);
            self.sorted = true;
        }
    }

    fn spill(&mut self) -> Result<()> {
        self.sort();
        let mut out = self.run()?;
        for drawer in &self.drawers {
            for held in &drawer.records {
                out.push(&record(held, &drawer.keys))?;
            }
        }
        let run = out.end()?;
        self.written = run.1;
        self.stored.push(run);
        for drawer in &mut self.drawers {
            drawer.records.clear();
            drawer.keys.clear();
        }
        self.taken = 0;
        Ok(())
    }

    /// A new run behind those that are there.
    fn run(&mut self) -> Result<RunWriter> {
        let file = match self.file.take() {
            Some(file) => file,
            None => nameless_file(&self.directory)?,
        };
        // A second handle on the same file: reading and writing are by position.
        let second = file.try_clone()?;
        self.file = Some(file);
        Ok(RunWriter { file: second, start: self.written, at: self.written, buffer: Vec::new() })
    }

    /// Prepare to be merged: all in memory, or all in no more runs than one merge can read.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn finish(&mut self) -> Result<()> {
        if self.stored.is_empty() {
            self.sort();
            return Ok(());
        }
        if self.taken > 0 {
            self.spill()?;
        }
        self.drawers.fill_with(Drawer::default);
        let at_once = (self.budget / (2 * READ_BYTES)).clamp(2, 256);
        while self.stored.len() > at_once {
            self.merge_first(at_once)?;
        }
        Ok(())
    }

    fn merge_first(&mut self, count: usize) -> Result<()> {
        let rest = self.stored.split_off(count);
        let out = self.run()?;
        let run = self.merge_into(out)?;
        self.written = run.1;
        self.stored = rest;
        self.stored.push(run);
        Ok(())
    }

    fn merge_into(&self, mut out: RunWriter) -> Result<(u64, u64)> {
        let mut merge = Merge::new(self.sources().collect(), ALL_BITS)?;
        while let Some((next, _same)) = merge.next()? {
            out.push(&next)?;
        }
        out.end()
    }

    /// Write all records to a file from byte `at` on, as one run for another process, and return
    /// where it ends.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn save(&mut self, out: &File, at: u64) -> Result<u64> {
        self.finish()?;
        let out = RunWriter { file: out.try_clone()?, start: at, at, buffer: Vec::new() };
        Ok(self.merge_into(out)?.1)
    }

    /// What was saved between two bytes of a file. Nothing can be added to it.
    pub fn saved(file: File, (start, end): (u64, u64)) -> Self {
        let stored = vec![(start, end)];
        Self { file: Some(file), written: end, stored, ..Self::new(PathBuf::new(), 0) }
    }

    fn sources(&self) -> impl Iterator<Item = Source<'_>> {
        let stored = self
            .file
            .iter()
            .flat_map(|file| self.stored.iter().map(move |&run| Source::stored(file, run)));
        stored.chain([Source::Memory { drawers: &self.drawers, records: &[], keys: &[] }])
    }
}

fn record<'a>(held: &InMemory, keys: &'a [u8]) -> Record<'a> {
    let start = held.start as usize;
    let key = &keys[start..start + held.length as usize];
    Record { hash: held.hash, offset: held.offset, key }
}

/// All records of runs, which must have been finished, and of indexes, in order.
///
/// With a `mask` only those bits of hashes are compared, which is all that is known of some; the
/// records with one hash are in any order then.
///
/// # Errors
/// Errors of reading.
pub(super) fn merged<'a>(
    runs: &'a [Runs],
    tables: impl IntoIterator<Item = TableRows<'a>>,
    mask: u64,
) -> Result<Merge<'a>> {
    let tables = tables.into_iter().map(Source::Table);
    Merge::new(runs.iter().flat_map(Runs::sources).chain(tables).collect(), mask)
}

/// All records of runs, which must have been finished, in order.
///
/// # Errors
/// Errors of reading.
pub(crate) fn in_order(runs: &[Runs]) -> Result<Merge<'_>> {
    merged(runs, [], ALL_BITS)
}

struct RunWriter {
    file: File,
    start: u64,
    at: u64,
    buffer: Vec<u8>,
}

impl RunWriter {
    fn push(&mut self, record: &Record<'_>) -> Result<()> {
        self.buffer.extend_from_slice(&record.hash.to_le_bytes());
        self.buffer.extend_from_slice(&record.offset.to_le_bytes());
        let length = u32::try_from(record.key.len()).unwrap_or(u32::MAX);
        self.buffer.extend_from_slice(&length.to_le_bytes());
        self.buffer.extend_from_slice(record.key);
        if self.buffer.len() >= WRITE_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write_all_at(&self.buffer, self.at)?;
        self.at += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn end(mut self) -> Result<(u64, u64)> {
        self.flush()?;
        Ok((self.start, self.at))
    }
}

/// Records in order; the first one is there to be looked at.
enum Source<'a> {
    Memory { drawers: &'a [Drawer], records: &'a [InMemory], keys: &'a [u8] },
    Stored { file: &'a File, at: u64, end: u64, buffer: Vec<u8>, begin: usize },
    Table(TableRows<'a>),
}

impl<'a> Source<'a> {
    fn stored(file: &'a File, (at, end): (u64, u64)) -> Self {
        Self::Stored { file, at, end, buffer: Vec::new(), begin: 0 }
    }

    /// Make the first record ready; false if there is none.
    fn ready(&mut self) -> Result<bool> {
        match self {
            Self::Memory { drawers, records, keys } => {
                while records.is_empty()
                    && let Some((next, behind)) = drawers.split_first()
                {
                    (*drawers, *records, *keys) = (behind, &next.records, &next.keys);
                }
                Ok(!records.is_empty())
            }
            Self::Table(rows) => rows.ready(),
            Self::Stored { file, at, end, buffer, begin } => {
                let wanted = |ahead: &[u8]| {
                    let key = u32::from_le_bytes(chunk(ahead, 16)) as usize;
                    RECORD_BYTES + if ahead.len() < RECORD_BYTES { 0 } else { key }
                };
                while buffer.len() - *begin < wanted(&buffer[*begin..]) && at < end {
                    buffer.drain(..*begin);
                    *begin = 0;
                    let missing = wanted(buffer).saturating_sub(buffer.len()).max(READ_BYTES);
                    let left = usize::try_from(*end - *at).unwrap_or(usize::MAX);
                    let held = buffer.len();
                    buffer.resize(held + missing.min(left), 0);
                    file.read_exact_at(&mut buffer[held..], *at)?;
                    *at += (buffer.len() - held) as u64;
                }
                let ahead = &buffer[*begin..];
                if !ahead.is_empty() && ahead.len() < wanted(ahead) {
                    return Err(unusable(*at, "a run that ends within a record"));
                }
                Ok(!ahead.is_empty())
            }
        }
    }

    fn first(&self) -> Record<'_> {
        match self {
            Self::Memory { records, keys, .. } => record(&records[0], keys),
            Self::Table(rows) => rows.first(),
            Self::Stored { buffer, begin, .. } => {
                let ahead = &buffer[*begin..];
                let length = u32::from_le_bytes(chunk(ahead, 16)) as usize;
                Record {
                    hash: u64::from_le_bytes(chunk(ahead, 0)),
                    offset: u64::from_le_bytes(chunk(ahead, 8)),
                    key: &ahead[RECORD_BYTES..RECORD_BYTES + length],
                }
            }
        }
    }

    /// Skip the first record, and remember its key. To look at a key in memory is dear, since
    /// they are in another order there.
    fn pass(&mut self, passed: &mut Passed<'a>) {
        match self {
            Self::Memory { records, keys, .. } => {
                passed.stays = Some(record(&records[0], keys).key);
                *records = &records[1..];
            }
            Self::Stored { buffer, begin, .. } => {
                let length = u32::from_le_bytes(chunk(&buffer[*begin..], 16)) as usize;
                let key = *begin + RECORD_BYTES;
                passed.stays = None;
                passed.copy.clear();
                passed.copy.extend_from_slice(&buffer[key..key + length]);
                *begin = key + length;
            }
            Self::Table(rows) => {
                passed.stays = None;
                passed.copy.clear();
                passed.copy.extend_from_slice(rows.first().key);
                rows.pass();
            }
        }
    }
}

/// The key of the record before.
#[derive(Default)]
struct Passed<'a> {
    hash: u64,
    stays: Option<&'a [u8]>,
    copy: Vec<u8>,
}

impl Passed<'_> {
    fn is(&self, record: &Record<'_>) -> bool {
        self.hash == record.hash && self.stays.unwrap_or(&self.copy) == record.key
    }
}

/// Records of several sources in order: a heap with the least one on top.
pub(crate) struct Merge<'a> {
    heap: Vec<Source<'a>>,
    mask: u64,
    passed: Option<Passed<'a>>,
}

impl<'a> Merge<'a> {
    fn new(sources: Vec<Source<'a>>, mask: u64) -> Result<Self> {
        let mut heap = Vec::with_capacity(sources.len());
        for mut source in sources {
            if source.ready()? {
                heap.push(source);
            }
        }
        let mut merge = Self { heap, mask, passed: None };
        for at in (0..merge.heap.len() / 2).rev() {
            merge.sink(at);
        }
        Ok(merge)
    }

    /// The next record, and whether its key is that of the one before.
    ///
    /// # Errors
    /// Errors of reading.
    #[allow(clippy::should_implement_trait, reason = "what it gives lives until the next call")]
    pub(crate) fn next(&mut self) -> Result<Option<(Record<'_>, bool)>> {
        let begun = self.passed.is_some();
        let passed = self.passed.get_or_insert_default();
        if begun && let Some(top) = self.heap.first_mut() {
            passed.hash = top.first().hash;
            top.pass(passed);
            if !top.ready()? {
                self.heap.swap_remove(0);
            }
            self.sink(0);
        }
        let Some(record) = self.heap.first().map(Source::first) else { return Ok(None) };
        let same = begun && self.passed.as_ref().is_some_and(|passed| passed.is(&record));
        Ok(Some((record, same)))
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let children = [2 * at + 1, 2 * at + 2].into_iter().filter(|&c| c < self.heap.len());
            let order = |left: usize, right: usize| {
                self.heap[left].first().order(&self.heap[right].first(), self.mask)
            };
            let least = children.min_by(|&left, &right| order(left, right));
            let Some(least) = least else { return };
            if order(at, least).is_le() {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(runs: &[Runs]) -> Vec<(u64, Vec<u8>, u64)> {
        let mut merge = merged(runs, [], ALL_BITS).unwrap();
        let mut found = Vec::new();
        while let Some((record, same)) = merge.next().unwrap() {
            let next = (record.hash, record.key.to_vec(), record.offset);
            let before: Option<&(u64, Vec<u8>, u64)> = found.last();
            assert_eq!(same, before.is_some_and(|before| before.1 == next.1));
            found.push(next);
        }
        found
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_order(
            keys in prop::collection::vec("[a-c]{0,3}|[x]{60,80}", 0..400),
            budget in 1_usize..4000,
            parts in 1_usize..4,
        ) {
            let mut expected: Vec<_> = (0_u64..)
                .zip(&keys)
                .map(|(offset, key)| (hash(key.as_bytes()), key.clone().into_bytes(), offset))
                .collect();
            expected.sort();
            let mut runs: Vec<_> =
                (0..parts).map(|_| Runs::new(std::env::temp_dir(), budget)).collect();
            for (number, key) in keys.iter().enumerate() {
                runs[number % parts].push(key.as_bytes(), number as u64).unwrap();
            }
            for run in &mut runs {
                run.finish().unwrap();
                prop_assert!(run.stored.len() <= 2);
            }
            prop_assert_eq!(&all(&runs), &expected);
            // More than once.
            prop_assert_eq!(all(&runs), expected);
        }
    }

    proptest! {
        #[test]
        fn what_was_saved_is_as_good(
            keys in prop::collection::vec("[a-c]{0,3}|[x]{60,80}", 0..200),
            budget in 1_usize..2000,
            before in 0_u64..50,
        ) {
            let mut runs = Runs::new(std::env::temp_dir(), budget);
            for (offset, key) in (0..).zip(&keys) {
                runs.push(key.as_bytes(), offset).unwrap();
            }
            let file = nameless_file(&std::env::temp_dir()).unwrap();
            let end = runs.save(&file, before).unwrap();
            let expected = all(&[runs]);
            let mut saved = Runs::saved(file.try_clone().unwrap(), (before, end));
            saved.finish().unwrap();
            prop_assert_eq!(all(&[saved]), expected);
            let ends = ends_of(&keys, before);
            for cut in before + 1..end.min(before + 120) {
                let saved = [Runs::saved(file.try_clone().unwrap(), (before, cut))];
                let read = in_order(&saved).and_then(|mut merge| {
                    while merge.next()?.is_some() {}
                    Ok(())
                });
                prop_assert_eq!(read.is_ok(), ends.contains(&cut));
            }
        }
    }

    /// Where a run of such records may end.
    fn ends_of(keys: &[String], before: u64) -> Vec<u64> {
        let mut sorted: Vec<_> = keys.iter().map(|key| (hash(key.as_bytes()), key)).collect();
        sorted.sort();
        let lengths = sorted.iter().map(|(_, key)| (RECORD_BYTES + key.len()) as u64);
        lengths
            .scan(before, |at, length| {
                *at += length;
                Some(*at)
            })
            .collect()
    }

    #[test]
    fn a_key_longer_than_what_is_read_at_a_time_survives() {
        let mut runs = Runs::new(std::env::temp_dir(), 1);
        let long = vec![b'k'; 3 * READ_BYTES];
        for offset in 0..4 {
            runs.push(&long, offset).unwrap();
        }
        runs.finish().unwrap();
        assert!(runs.drawers.iter().all(|drawer| drawer.keys.capacity() == 0));
        let found = all(&[runs]);
        assert_eq!(found.len(), 4);
        assert!(found.iter().all(|record| record.1 == long));
    }
}
