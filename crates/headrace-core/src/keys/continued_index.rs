//! What is kept of an index when a new one continues it: nothing of the source is read again but
//! single rows, where only they can tell.

use std::collections::HashSet;

use super::{
    KeyFields, KeyIndex, KeyReader, Lookup, Meta, Request, Runs, SetSegments,
    layout::Tables,
    meta::NEW_KEY,
    rows::Window,
    runs::{ALL_BITS, Record, merged},
    table_rows::TableRows,
    write::{Duplicate, each},
};
use crate::{
    Result,
    json::Limits,
    sealed::{BaseDelta, IndexFile, id_text, unusable},
};

/// An index whose rows go into a new one.
#[derive(Clone, Copy)]
pub struct Continued<'a> {
    /// The index.
    pub index: &'a BaseDelta<SetSegments>,
    /// The source of the index.
    pub source: Lookup<'a>,
    /// All of it, which becomes one index; or its delta only, which becomes a longer one.
    pub all: bool,
}

/// A file whose rows are kept.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    index: &'a KeyIndex,
    /// Or those only that a newline ended.
    whole: bool,
}

impl<'a> Table<'a> {
    pub(super) fn rows(self) -> TableRows<'a> {
        let end = self.index.meta().made_of.coverage_end;
        TableRows::new(self.index, if self.whole { u64::MAX } else { end })
    }

    fn meta(self) -> &'a Meta {
        self.index.meta()
    }

    pub(super) fn records(self) -> u64 {
        if self.whole { self.meta().records } else { self.meta().covered_records() }
    }

    pub(super) fn keys(self) -> u64 {
        if self.whole { self.meta().keys } else { self.meta().covered_keys() }
    }

    /// Whether its last row, which no newline ended, is the first one with its key.
    pub(super) fn has_new_key(self) -> bool {
        self.whole && self.meta().made_of.last.as_deref() == Some(NEW_KEY)
    }

    fn has_texts(self) -> bool {
        self.bucket_bits().is_none()
    }

    /// The bits of a bucket's number, if keys have no text.
    pub(super) fn bucket_bits(self) -> Option<u32> {
        match self.index.header.tables {
            Tables::Texts(_) => None,
            Tables::Compact(compact) => Some(compact.bucket_bits),
        }
    }
}

/// Keys that are in two parts of an index.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shared {
    pub(super) keys: u64,
    /// Whether that of a last row without a newline is one of them.
    pub(super) last: bool,
}

impl<'a> Continued<'a> {
    /// The files whose rows are kept, in the order of the source.
    pub(super) fn tables(&self) -> Vec<Table<'a>> {
        let (base, delta) = (self.index.base().first(), self.index.delta().map(SetSegments::first));
        if self.all {
            let first = Table { index: base, whole: delta.is_none() };
            [first].into_iter().chain(delta.map(|index| Table { index, whole: true })).collect()
        } else {
            delta.map(|index| Table { index, whole: false }).into_iter().collect()
        }
    }

    /// The build that a new delta continues, and its first byte.
    pub(super) fn continued(&self) -> Option<(String, u64)> {
        let base = self.index.base().first();
        (!self.all).then(|| (id_text(base.build_id()), base.meta().made_of.coverage_end))
    }

    /// Rows that will be in one index with those of a new delta.
    pub(super) fn rows_before(&self) -> u64 {
        if self.all { 0 } else { self.index.base().meta().covered_records() }
    }

    fn reader(&self) -> KeyReader {
        let meta = self.index.base().meta();
        let limits = Limits { max_depth: meta.made_of.max_depth };
        KeyReader::new(KeyFields::new(meta.key.clone()), limits)
    }

    /// Find a key of `runs` that a row of the index has; of all such keys, and the one that is
    /// `found` already, that whose second row is first. False if `go_on` returns false.
    pub(super) fn duplicate(
        &self,
        runs: &[Runs],
        found: &mut Option<Duplicate>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<bool> {
        let mut reader = self.reader();
        let below = self.index.newest().meta().made_of.coverage_end;
        let source = Lookup { below, ..self.source };
        each(merged(runs, [], ALL_BITS)?, go_on, |record, same| {
            if same || found.as_ref().is_some_and(|found| found.second <= record.offset) {
                return Ok(());
            }
            let key = record.key.to_vec();
            let request = Request { key, hash: record.hash, kinds: None };
            if let Some(first) = self.index.first(&source, &request, &mut reader)? {
                *found = Some(Duplicate { key: request.key, first, second: record.offset });
            }
            Ok(())
        })
    }

    /// Count the keys that both `earlier` and `later` have, which is a table or `runs`, and of
    /// whose hashes the bits of `mask` are known. Where both have rows with equal bits, rows of
    /// the source are read. `None` if `go_on` returns false.
    ///
    /// `last` is the byte from which on a row of `later` is one that no newline ended.
    pub(super) fn shared(
        &self,
        earlier: Table<'a>,
        (runs, later): (&[Runs], Option<Table<'a>>),
        mask: u64,
        last: u64,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<Shared>> {
        let keys = |texts| KeyOf {
            source: self.source,
            texts,
            reader: self.reader(),
            window: Window::default(),
        };
        let mut known = keys(later.is_none_or(Table::has_texts));
        let mut rows = Earlier { rows: earlier.rows(), keys: keys(earlier.has_texts()), mask };
        let mut later = merged(runs, later.map(Table::rows), mask)?;
        let mut shared = Shared::default();
        let mut group = Group::default();
        let mut seen = 0_u64;
        while let Some((record, _)) = later.next()? {
            seen += 1;
            if seen.is_multiple_of(1024) && !go_on() {
                return Ok(None);
            }
            let hash = record.hash & mask;
            if group.hash != Some(hash) {
                shared.add(&rows.count(&mut group)?);
                group.begin(hash);
                group.met = rows.reach(hash)?;
            }
            if group.met {
                group.push(known.key(&record)?, record.offset >= last)?;
            }
        }
        shared.add(&rows.count(&mut group)?);
        Ok(Some(shared))
    }
}

impl Shared {
    fn add(&mut self, other: &Self) {
        self.keys += other.keys;
        self.last |= other.last;
    }
}

/// Tells the keys of rows.
struct KeyOf<'a> {
    source: Lookup<'a>,
    /// Whether records say them.
    texts: bool,
    reader: KeyReader,
    window: Window,
}

impl KeyOf<'_> {
    fn key<'k>(&'k mut self, record: &Record<'k>) -> Result<&'k [u8]> {
        if self.texts {
            Ok(record.key)
        } else {
            self.source.key_at(record.offset, &mut self.reader, &mut self.window)
        }
    }
}

/// Keys whose hashes have equal bits, as far as they are known.
#[derive(Default)]
struct Group {
    hash: Option<u64>,
    /// Whether the other side has such rows too.
    met: bool,
    keys: HashSet<Vec<u8>>,
    last: Option<Vec<u8>>,
}

/// More keys than share their bits by chance.
const MOST_KEYS: usize = 4096;

impl Group {
    fn begin(&mut self, hash: u64) {
        self.hash = Some(hash);
        self.keys.clear();
        self.last = None;
    }

    fn push(&mut self, key: &[u8], last: bool) -> Result<()> {
        if !self.keys.contains(key) {
            self.keys.insert(key.to_vec());
        }
        if last {
            self.last = Some(key.to_vec());
        }
        if self.keys.len() > MOST_KEYS {
            return Err(unusable(0, "too many keys with one fingerprint"));
        }
        Ok(())
    }
}

/// The rows of the other side.
struct Earlier<'a> {
    rows: TableRows<'a>,
    keys: KeyOf<'a>,
    mask: u64,
}

impl Earlier<'_> {
    /// Skip all rows with smaller hashes; false if none has this one.
    fn reach(&mut self, hash: u64) -> Result<bool> {
        while self.rows.ready()? {
            let there = self.rows.first().hash & self.mask;
            if there >= hash {
                return Ok(there == hash);
            }
            self.rows.pass();
        }
        Ok(false)
    }

    /// How many keys of a group the rows with its hash have.
    fn count(&mut self, group: &mut Group) -> Result<Shared> {
        let mut shared = Shared::default();
        while !group.keys.is_empty() && self.rows.ready()? {
            let record = self.rows.first();
            if Some(record.hash & self.mask) != group.hash {
                break;
            }
            let key = self.keys.key(&record)?;
            if group.keys.remove(key) {
                shared.keys += 1;
                shared.last |= group.last.as_deref() == Some(key);
            }
            self.rows.pass();
        }
        Ok(shared)
    }
}
