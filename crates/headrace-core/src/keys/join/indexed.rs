//! Right rows by a key index.
//!
//! Keys are looked up in the order of their hashes, and rows are read in the order of the file:
//! neighbours share what is read. Rows stay in memory until there are too many, so that a key
//! that comes again is not read again. A key with more rows than fit has none in
//! memory: they are read each time.

use super::{
    joined_row::Writer,
    table::{KeyId, KeySpan, RowId, Table},
    write_kinds,
};
use crate::{
    Result,
    keys::{
        Found, KeyReader, Lookup, Read, Request, SetSegments, hash,
        rows::{Window, no_fit},
    },
    sealed::{BaseDelta, unusable},
};

/// Rows of one key that are held; those of a key with more are read one by one.
const MOST_OF_A_KEY: u64 = 4096;
/// Rows that are fetched together.
const MOST_TOGETHER: u64 = 16_384;
/// Bytes of rows that are held.
const MOST_BYTES: usize = 32 << 20;
/// Keys that are remembered, found or not.
const MOST_KEYS: usize = 1 << 17;
/// Postings that are read together where rows are read one by one.
const POSTINGS: u64 = 512;

/// An index, and the source it is of.
#[derive(Clone, Copy)]
pub struct Access<'a> {
    /// The index.
    pub index: &'a BaseDelta<SetSegments>,
    /// The source.
    pub lookup: Lookup<'a>,
}

impl Access<'_> {
    /// Each file of the index, and the byte behind the rows that it covers.
    fn parts(&self) -> impl Iterator<Item = (&SetSegments, u64)> {
        self.index.parts().map(|(index, below)| (index, below.min(self.lookup.below)))
    }

    /// Show where the rows of postings begin.
    fn each_offset(&self, found: &Found, mut visit: impl FnMut(u64)) -> Result<()> {
        for ((index, below), numbers) in self.parts().zip(&found.0) {
            let offsets = index.postings(numbers.clone())?;
            offsets.into_iter().filter(|&offset| offset < below).for_each(&mut visit);
        }
        Ok(())
    }

    /// Whether a row at `offset` whose key has the hash `row` can be found for the hash `wanted`.
    fn agrees(&self, offset: u64, wanted: u64, row: u64) -> bool {
        let mut parts = self.parts();
        parts.find(|part| offset < part.1).is_some_and(|(index, _)| index.agrees(wanted, row))
    }
}

/// How many postings there are.
fn count(found: &Found) -> u64 {
    found.0.iter().map(|numbers| numbers.end - numbers.start).sum()
}

/// What is known of a key.
#[derive(Clone, Debug)]
enum Known {
    Nothing,
    /// Its postings; its rows are not in the table.
    Postings(Found),
    /// The same; its rows are in the table.
    Rows(Found),
}

/// The right rows of the last requested keys.
pub(super) struct Indexed {
    table: Table,
    /// By number of the key.
    known: Vec<Known>,
    reader: KeyReader,
    typed: bool,
    request: Request,
    window: Window,
    text: Vec<u8>,
    key: Vec<u8>,
    to_find: Vec<(u64, KeyId)>,
    to_read: Vec<(u64, KeyId)>,
    ahead: Vec<u64>,
}

impl Indexed {
    pub(super) fn new(reader: KeyReader, typed: bool) -> Self {
        Self {
            table: Table::default(),
            known: Vec::new(),
            reader,
            typed,
            request: Request { key: Vec::new(), hash: 0, kinds: None },
            window: Window::default(),
            text: Vec::new(),
            key: Vec::new(),
            to_find: Vec::new(),
            to_read: Vec::new(),
            ahead: Vec::new(),
        }
    }

    /// How often the source was read.
    pub(super) fn reads(&self) -> u64 {
        self.window.reads
    }

    /// Look keys up; a text is followed by the kinds of its values where these count.
    pub(super) fn look_up(
        &mut self,
        spans: &[KeySpan],
        texts: &[u8],
        ids: &mut Vec<Option<KeyId>>,
    ) {
        self.table.find_all(spans, texts, ids);
        for (span, id) in spans.iter().zip(ids) {
            if id.is_none() {
                let key = self.table.key(span.hash, &texts[span.start..span.end]);
                if key.number() == self.known.len() {
                    self.known.push(Known::Nothing);
                    self.to_find.push((span.hash, key));
                }
                *id = Some(key);
            }
        }
    }

    /// Remove all rows if memory is full; earlier key ids are then invalid.
    pub(super) fn make_room(&mut self) {
        if self.table.keys() > MOST_KEYS || self.table.bytes() > 2 * MOST_BYTES {
            self.table.clear();
            self.known.clear();
        }
    }

    /// Find the postings of the requested keys.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where the index is damaged.
    pub(super) fn find(&mut self, access: &Access<'_>, parts: usize) -> Result<()> {
        self.to_find.sort_unstable_by_key(|wanted| wanted.0);
        for &(hash, id) in &self.to_find {
            let key = self.table.key_text(id);
            let text = if self.typed { &key[..key.len() - parts] } else { key };
            self.request.hash = hash;
            self.request.key.clear();
            self.request.key.extend_from_slice(text);
            self.known[id.number()] = Known::Postings(access.index.find(&self.request)?);
        }
        self.to_find.clear();
        Ok(())
    }

    /// Read the rows of keys, in the order they are needed, as far as there is room; returns of
    /// how many of the keys.
    ///
    /// # Errors
    /// Errors of reading; [`crate::ErrorKind::Sidecar`] where the index is not that of the source.
    pub(super) fn load(
        &mut self,
        access: &Access<'_>,
        keys: &[Option<KeyId>],
        writer: &mut Writer,
    ) -> Result<usize> {
        if self.table.row_bytes() > MOST_BYTES {
            self.table.clear_rows();
            for known in &mut self.known {
                if let Known::Rows(found) = known {
                    *known = Known::Postings(std::mem::take(found));
                }
            }
        }
        self.to_read.clear();
        let (mut ready, mut together) = (0, 0);
        for &key in keys {
            if let Some(id) = key
                && let Known::Postings(found) = &mut self.known[id.number()]
                && count(found) <= MOST_OF_A_KEY
            {
                together += count(found);
                if together > MOST_TOGETHER && ready > 0 {
                    break;
                }
                access.each_offset(found, |offset| self.to_read.push((offset, id)))?;
                self.known[id.number()] = Known::Rows(std::mem::take(found));
            }
            ready += 1;
        }
        self.read(access, writer)?;
        Ok(ready)
    }

    /// Read rows in the order of the source.
    fn read(&mut self, access: &Access<'_>, writer: &mut Writer) -> Result<()> {
        self.to_read.sort_unstable_by_key(|wanted| wanted.0);
        let mut ahead = std::mem::take(&mut self.ahead);
        ahead.clear();
        ahead.extend(self.to_read.iter().map(|wanted| wanted.0));
        let before = self.table.row_bytes();
        for at in 0..self.to_read.len() {
            if self.table.row_bytes() - before > MOST_BYTES {
                self.give_up(at);
                break;
            }
            let (offset, id) = self.to_read[at];
            if self.fetch(access, id, offset, &ahead[at + 1..], writer)? {
                self.table.push(id, &self.text);
            }
        }
        self.ahead = ahead;
        Ok(())
    }

    /// Hold no rows of keys of which not all are there: they are read when they are needed.
    fn give_up(&mut self, at: usize) {
        for &(_, id) in &self.to_read[at..] {
            if let Known::Rows(found) = &mut self.known[id.number()] {
                self.known[id.number()] = Known::Postings(std::mem::take(found));
                self.table.drop_rows(id);
            }
        }
    }

    /// Read a row, and if it has the key, what it adds.
    fn fetch(
        &mut self,
        access: &Access<'_>,
        id: KeyId,
        offset: u64,
        ahead: &[u64],
        writer: &mut Writer,
    ) -> Result<bool> {
        let row = access.lookup.row(offset, ahead, &mut self.window)?;
        let Read::Key(key) = self.reader.read(row.content) else { return Err(no_fit(offset)) };
        if !access.agrees(offset, self.table.hash(id), hash(key)) {
            return Err(no_fit(offset));
        }
        self.key.clear();
        self.key.extend_from_slice(self.reader.key());
        write_kinds(self.typed.then(|| self.reader.kinds()), &mut self.key);
        if self.key != self.table.key_text(id) {
            return Ok(false);
        }
        self.text.clear();
        writer.write_right(row.content, &mut self.text).map_err(|_| no_fit(offset))?;
        Ok(true)
    }

    /// The rows of a key: the first one in the table, or the postings of all.
    pub(super) fn rows(&self, id: KeyId) -> Rows {
        match &self.known[id.number()] {
            Known::Nothing => Rows::Held(None),
            Known::Postings(found) => Rows::Postings(found.clone()),
            Known::Rows(_) => Rows::Held(self.table.first(id)),
        }
    }

    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    /// Read the rows of a key one by one until `visit` returns false; the postings that are left stay
    /// in `found`.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub(super) fn stream(
        &mut self,
        access: &Access<'_>,
        id: KeyId,
        found: &mut Found,
        writer: &mut Writer,
        mut visit: impl FnMut(&mut Writer, &[u8]) -> Result<bool>,
    ) -> Result<()> {
        let mut in_vain = 0;
        for ((index, below), numbers) in access.parts().zip(&mut found.0) {
            while numbers.start < numbers.end {
                let some = numbers.start..numbers.end.min(numbers.start + POSTINGS);
                let offsets = index.postings(some)?;
                for (at, &offset) in offsets.iter().enumerate() {
                    numbers.start += 1;
                    if offset >= below {
                        continue;
                    }
                    if !self.fetch(access, id, offset, &offsets[at + 1..], writer)? {
                        in_vain += 1;
                        if in_vain > index.bounds().in_vain {
                            return Err(unusable(offset, "too many keys with one fingerprint"));
                        }
                    } else if !visit(writer, &self.text)? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }
}

/// The rows of a key.
pub(super) enum Rows {
    /// The first one in the table.
    Held(Option<RowId>),
    /// Where they are in the index.
    Postings(Found),
}
