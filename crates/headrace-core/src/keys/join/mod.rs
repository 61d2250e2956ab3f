//! Joining: left rows in order, each with the right rows that have its key.
//!
//! Right rows are in memory by their keys (a *hash join*), or an index leads to them, or both:
//! an index to those it has seen, memory for what came later. The rows are the same, byte for
//! byte: a key is the text that an index knows, and the rows of one key come in the order of
//! the file.

mod indexed;
mod joined_row;
mod members;
mod table;

pub use indexed::Access;
pub use joined_row::{Clash, Form};

use self::{
    indexed::{Indexed, Rows},
    joined_row::Writer,
    table::{KeyId, KeySpan, RowId, Table},
};
use super::{Found, KeyFields, KeyReader, KeyScan, Read, hash};
use crate::{
    Error, ErrorKind, Result,
    json::{JsonError, Limits},
    rows::{Row, RowBatch},
    value::Kind,
};

/// Left rows that are looked up together.
const TOGETHER: usize = 4096;
/// Those of them whose right rows are in memory; what they need stays in the processor's cache.
const NEAR: usize = 512;
/// Right rows that are put into memory together.
const HELD_TOGETHER: usize = 64;

/// Counts of left rows; rows = emitted + filtered + skipped + blank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Left rows.
    pub rows: u64,
    /// Those that are in the output.
    pub emitted: u64,
    /// Those that are not, since no right row has their key.
    pub filtered: u64,
    /// Those that are bad or too long.
    pub skipped: u64,
    /// Blank lines.
    pub blank: u64,
    /// Those that have a key.
    pub lookups: u64,
    /// Those whose key a right row has.
    pub hits: u64,
    /// Rows of output.
    pub lines: u64,
}

/// A left row that is no row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The row, counted from 0.
    pub number: u64,
    /// Where it goes wrong.
    pub offset: u64,
    /// The error message.
    pub reason: String,
}

/// How far a batch of left rows was taken.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// There is enough output; the rest comes next.
    Enough,
    /// Up to a row that is refused; those behind it come next.
    Refused(Refusal),
    /// The batch is joined to its end.
    Done,
}

/// Which rows are joined, and how.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The key of left rows.
    pub left: KeyFields,
    /// The key of right rows.
    pub right: KeyFields,
    /// Whether the kinds of values count, so that `1` is not `"1"`.
    pub typed: bool,
    /// The form of joined rows.
    pub form: Form,
    /// How deep left rows may be.
    pub limits: Limits,
    /// How deep right rows may be.
    pub right_limits: Limits,
    /// How much memory right rows may take.
    pub max_memory: usize,
}

/// A left row of the round that is looked up together.
struct Left {
    position: usize,
    is: Is,
}

enum Is {
    Blank,
    Bad(Refusal),
    /// The row has no key.
    Alone,
    Keyed {
        /// The number of the key among those of the round.
        number: usize,
        /// Whether it has none of the names that the reader looks out for.
        apart: bool,
    },
}

/// The keys of the left rows of a round.
#[derive(Default)]
struct Keys {
    texts: Vec<u8>,
    spans: Vec<KeySpan>,
    /// Where an index leads to their rows.
    indexed: Vec<Option<KeyId>>,
    /// Of how many of them those rows are there.
    loaded: usize,
    /// Of which of them rows are held in memory, from `held_from` to `held_to`.
    held: Vec<Option<KeyId>>,
    held_from: usize,
    held_to: usize,
}

impl Keys {
    fn clear(&mut self) {
        self.texts.clear();
        self.spans.clear();
        self.indexed.clear();
        self.held.clear();
        (self.loaded, self.held_from, self.held_to) = (0, 0, 0);
    }

    /// What is held of a key that is ready.
    fn held(&self, number: usize) -> Option<KeyId> {
        self.held.get(number - self.held_from).copied().flatten()
    }
}

/// Which right row comes next.
enum Cursor {
    Indexed(KeyId, RowId),
    Postings(KeyId, Found),
    Held(RowId),
    End,
}

/// Joins left rows, batch by batch.
pub struct Join {
    terms: Terms,
    reader: KeyReader,
    /// How many names the reader looks out for.
    looked_out_for: usize,
    writer: Writer,
    held: Table,
    indexed: Option<Indexed>,
    counts: Counts,
    /// The rows that are looked up together, the next of them, and how many are ready.
    round: Vec<Left>,
    keys: Keys,
    next: usize,
    ready: usize,
    /// The position in the batch behind the round.
    behind: usize,
    /// Within a row: the next right row.
    cursor: Option<Cursor>,
    matched: bool,
    /// Whether there is output of a left row that has not ended.
    begun: bool,
    addition: Vec<u8>,
    /// Where what right rows add ends, of rows that are put into memory.
    arrivals: Vec<usize>,
}

impl Join {
    /// A join in which an index leads to right rows, or not.
    pub fn new(terms: Terms, indexed: bool) -> Self {
        let right_names = terms.right.names().to_vec();
        let right_reader = KeyReader::new(terms.right.clone(), terms.right_limits);
        Self {
            reader: KeyReader::new(terms.left.clone(), terms.limits),
            looked_out_for: 0,
            writer: Writer::new(terms.form.clone(), right_names, terms.limits, terms.right_limits),
            held: Table::default(),
            indexed: indexed.then(|| Indexed::new(right_reader, terms.typed)),
            counts: Counts::default(),
            round: Vec::new(),
            keys: Keys::default(),
            next: 0,
            ready: 0,
            behind: 0,
            cursor: None,
            matched: false,
            begun: false,
            addition: Vec::new(),
            arrivals: Vec::new(),
            terms,
        }
    }

    /// Hold right rows in memory, as far as there is room; false if there is none.
    pub fn hold(&mut self, batch: &RowBatch, scan: &mut KeyScan) -> bool {
        let Self { terms, writer, held, keys, arrivals, addition, .. } = self;
        for first in (0..batch.len()).step_by(HELD_TOGETHER) {
            keys.clear();
            arrivals.clear();
            addition.clear();
            for position in first..batch.len().min(first + HELD_TOGETHER) {
                let row = batch.row(position);
                let Some(key) = scan.key(&row) else { continue };
                let (hash, start) = (hash(key), keys.texts.len());
                keys.texts.extend_from_slice(key);
                write_kinds(terms.typed.then(|| scan.kinds()), &mut keys.texts);
                keys.spans.push(KeySpan { hash, start, end: keys.texts.len() });
                // Never an error: the row was checked when its key was read.
                let written = writer.write_right(row.content, addition);
                arrivals.push(written.map_or(0, |()| addition.len()));
            }
            held.near(keys.spans.iter().map(|span| span.hash));
            let mut start = 0;
            for (span, &end) in keys.spans.iter().zip(arrivals.iter()) {
                let id = held.key(span.hash, &keys.texts[span.start..span.end]);
                held.push(id, &addition[start..end]);
                start = end;
            }
            if held.bytes() > terms.max_memory {
                return false;
            }
        }
        true
    }

    /// How much memory the right rows take.
    pub fn held_bytes(&self) -> usize {
        self.held.bytes()
    }

    /// How many right rows are held.
    pub fn held_rows(&self) -> usize {
        self.held.rows()
    }

    /// How often the right source was read for rows.
    pub fn reads(&self) -> u64 {
        self.indexed.as_ref().map_or(0, Indexed::reads)
    }

    /// Counts of the left rows so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Be ready for another batch of left rows, from one of them on.
    pub fn begin(&mut self, start: usize) {
        self.round.clear();
        (self.next, self.ready, self.behind) = (0, 0, start);
        self.cursor = None;
    }

    /// The first side that has a field with a name that the join itself adds.
    pub fn clash(&self) -> Option<Clash> {
        self.writer.added.clash
    }

    /// The position of the left row that comes next, and whether some of its right ones came
    /// already.
    pub fn position(&self) -> (usize, bool) {
        let next = self.round.get(self.next).map_or(self.behind, |left| left.position);
        (next, self.begun)
    }

    /// Append rows of output to `out`, until it holds about `max_bytes`.
    ///
    /// # Errors
    /// Errors of reading; [`crate::ErrorKind::Sidecar`] where the index is not that of the source. What
    /// was appended stands, and the join can go on without the index from no earlier row.
    pub fn take(
        &mut self,
        batch: &RowBatch,
        access: Option<&Access<'_>>,
        max_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<Step> {
        loop {
            if self.next == self.round.len() {
                if self.behind == batch.len() {
                    return Ok(Step::Done);
                }
                self.read_round(batch, access)?;
            }
            if self.next == self.ready {
                self.load(access)?;
            }
            while self.next < self.ready {
                if out.len() >= max_bytes {
                    return Ok(Step::Enough);
                }
                let ended = self.row(batch, access, max_bytes, out)?;
                if ended {
                    self.begun = false;
                    self.next += 1;
                    self.counts.rows += 1;
                    if let Is::Bad(refusal) = &self.round[self.next - 1].is {
                        return Ok(Step::Refused(refusal.clone()));
                    }
                }
            }
        }
    }

    /// Read the keys of some left rows, and find them.
    fn read_round(&mut self, batch: &RowBatch, access: Option<&Access<'_>>) -> Result<()> {
        self.look_out();
        self.round.clear();
        self.keys.clear();
        (self.next, self.ready) = (0, 0);
        if let Some(indexed) = &mut self.indexed {
            indexed.make_room();
        }
        let last = batch.len().min(self.behind + TOGETHER);
        for position in self.behind..last {
            let row = batch.row(position);
            let is = self.read_left(&row);
            self.round.push(Left { position, is });
        }
        self.behind = last;
        if let (Some(indexed), Some(access)) = (&mut self.indexed, access) {
            indexed.look_up(&self.keys.spans, &self.keys.texts, &mut self.keys.indexed);
            indexed.find(access, self.terms.left.names().len())?;
        }
        Ok(())
    }

    /// Let the reader look out for all names that right rows have.
    fn look_out(&mut self) {
        if self.writer.added.exceeds(self.looked_out_for)
            && let Some(names) = self.writer.added.names()
        {
            self.looked_out_for = names.len();
            self.reader = KeyReader::looking_out(self.terms.left.clone(), names, self.terms.limits);
        }
    }

    fn read_left(&mut self, row: &Row<'_>) -> Is {
        let start = row.content_offset();
        let bad = |offset, reason| Is::Bad(Refusal { number: row.number, offset, reason });
        if let Some(length) = row.too_long {
            return bad(start, format!("{length} bytes long, over the limit"));
        }
        match self.reader.read(row.content) {
            Read::Blank => Is::Blank,
            Read::Bad(error) => bad(start + error.offset as u64, error.reason.to_string()),
            Read::None(_) => {
                let is_object = row.content.trim_ascii_start().first() == Some(&b'{');
                if is_object || !self.writer.form().adds_to_all() {
                    Is::Alone
                } else {
                    bad(start, "no object, so that no field can be added to it".into())
                }
            }
            Read::Key(key) => {
                let Keys { texts, spans, .. } = &mut self.keys;
                let (hash, start) = (hash(key), texts.len());
                texts.extend_from_slice(key);
                write_kinds(self.terms.typed.then(|| self.reader.kinds()), texts);
                spans.push(KeySpan { hash, start, end: texts.len() });
                Is::Keyed { number: spans.len() - 1, apart: !self.reader.has_others() }
            }
        }
    }

    /// Have the right rows of some further left rows near.
    fn load(&mut self, access: Option<&Access<'_>>) -> Result<()> {
        let Self { indexed, writer, round, keys, ready, held, .. } = self;
        keys.held_from = keys.held_to;
        match (indexed, access) {
            (Some(indexed), Some(access)) => {
                if keys.loaded == keys.held_from {
                    keys.loaded += indexed.load(access, &keys.indexed[keys.loaded..], writer)?;
                }
            }
            _ => keys.loaded = keys.spans.len(),
        }
        for left in round[*ready..].iter().take(NEAR) {
            if let Is::Keyed { number, .. } = left.is {
                if number == keys.loaded {
                    break;
                }
                keys.held_to = number + 1;
            }
            *ready += 1;
        }
        let spans = &keys.spans[keys.held_from..keys.held_to];
        held.find_all(spans, &keys.texts, &mut keys.held);
        held.fetch(&keys.held);
        Ok(())
    }

    /// Append the rows that the next left row gives; false if there are more.
    fn row(
        &mut self,
        batch: &RowBatch,
        access: Option<&Access<'_>>,
        max_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let left = &self.round[self.next];
        let line = batch.row(left.position).content;
        match left.is {
            Is::Blank => self.counts.blank += 1,
            Is::Bad(_) => self.counts.skipped += 1,
            Is::Alone => self.alone(line, out)?,
            Is::Keyed { number, apart } => {
                let held = self.keys.held(number);
                let indexed = self.keys.indexed.get(number).copied().flatten();
                let cursor = self.cursor.take().unwrap_or_else(|| {
                    self.matched = false;
                    self.counts.lookups += 1;
                    self.first(held, indexed)
                });
                if self.terms.form.target.is_some() {
                    self.array(line, held, cursor, apart, access, out)?;
                    return Ok(true);
                }
                self.each(line, held, cursor, apart, access, (max_bytes, out))?;
                if self.cursor.is_some() {
                    return Ok(false);
                }
                if self.matched {
                    self.counts.hits += 1;
                    self.counts.emitted += 1;
                } else {
                    self.alone(line, out)?;
                }
            }
        }
        Ok(true)
    }

    /// The first right row.
    fn first(&self, held: Option<KeyId>, indexed: Option<KeyId>) -> Cursor {
        if let (Some(index), Some(id)) = (&self.indexed, indexed) {
            match index.rows(id) {
                Rows::Held(Some(row)) => return Cursor::Indexed(id, row),
                Rows::Postings(found) => return Cursor::Postings(id, found),
                Rows::Held(None) => {}
            }
        }
        self.first_held(held)
    }

    fn first_held(&self, held: Option<KeyId>) -> Cursor {
        held.and_then(|id| self.held.first(id)).map_or(Cursor::End, Cursor::Held)
    }

    /// Visit the right rows from a cursor on until `visit` returns false; returns the cursor to go on
    /// from.
    fn right_rows(
        &mut self,
        held: Option<KeyId>,
        mut cursor: Cursor,
        access: Option<&Access<'_>>,
        mut visit: impl FnMut(&mut Writer, &[u8]) -> Result<bool>,
    ) -> Result<()> {
        loop {
            let Self { indexed, writer, .. } = self;
            let mut more = true;
            let mut show = |writer: &mut Writer, text: &[u8]| {
                self.matched = true;
                more = visit(writer, text)?;
                Ok(more)
            };
            cursor = match (cursor, indexed, access) {
                (Cursor::Indexed(id, row), Some(indexed), _) => {
                    show(writer, indexed.table().text(row))?;
                    match indexed.table().next(row) {
                        Some(row) => Cursor::Indexed(id, row),
                        None => self.first_held(held),
                    }
                }
                (Cursor::Postings(id, mut found), Some(indexed), Some(access)) => {
                    indexed.stream(access, id, &mut found, writer, show)?;
                    if found.is_empty() {
                        self.first_held(held)
                    } else {
                        Cursor::Postings(id, found)
                    }
                }
                (Cursor::Held(row), ..) => {
                    show(writer, self.held.text(row))?;
                    self.held.next(row).map_or(Cursor::End, Cursor::Held)
                }
                _ => Cursor::End,
            };
            if matches!(cursor, Cursor::End) {
                return Ok(());
            }
            if !more {
                self.cursor = Some(cursor);
                return Ok(());
            }
        }
    }

    /// Append a row for each right one.
    fn each(
        &mut self,
        line: &[u8],
        held: Option<KeyId>,
        cursor: Cursor,
        apart: bool,
        access: Option<&Access<'_>>,
        (max_bytes, out): (usize, &mut Vec<u8>),
    ) -> Result<()> {
        let (known, mut lines) = (self.looked_out_for, 0);
        let taken = self.right_rows(held, cursor, access, |writer, text| {
            let apart = apart && !writer.added.exceeds(known);
            writer.write_joined(line, text, apart, out).map_err(changed)?;
            out.push(b'\n');
            lines += 1;
            Ok(out.len() < max_bytes)
        });
        self.counts.lines += lines;
        self.begun |= lines > 0;
        taken
    }

    /// Append one row with an array of the right ones.
    fn array(
        &mut self,
        line: &[u8],
        held: Option<KeyId>,
        cursor: Cursor,
        apart: bool,
        access: Option<&Access<'_>>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let mut addition = std::mem::take(&mut self.addition);
        addition.clear();
        self.writer.begin_array(&mut addition);
        let begun = addition.len();
        self.right_rows(held, cursor, access, |_writer, text| {
            if addition.len() > begun {
                addition.push(b',');
            }
            addition.extend_from_slice(text);
            Ok(true)
        })?;
        self.counts.hits += u64::from(self.matched);
        if self.matched || !self.terms.form.inner {
            self.writer.end_array(self.matched, &mut addition);
            self.writer.write_joined(line, &addition, apart, out).map_err(changed)?;
            out.push(b'\n');
            self.counts.emitted += 1;
            self.counts.lines += 1;
        } else {
            self.counts.filtered += 1;
        }
        self.addition = addition;
        Ok(())
    }

    /// Append a left row that has no right one, unless such are left out.
    fn alone(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<()> {
        if self.terms.form.inner {
            self.counts.filtered += 1;
            return Ok(());
        }
        let mut addition = std::mem::take(&mut self.addition);
        addition.clear();
        if self.terms.form.target.is_some() {
            self.writer.begin_array(&mut addition);
            self.writer.end_array(false, &mut addition);
        } else {
            self.writer.write_alone(&mut addition);
        }
        self.writer.write_joined(line, &addition, false, out).map_err(changed)?;
        out.push(b'\n');
        self.addition = addition;
        self.counts.emitted += 1;
        self.counts.lines += 1;
        Ok(())
    }
}

/// Append the kinds of the values of a key, if they count, to its text.
fn write_kinds(kinds: Option<&[Kind]>, key: &mut Vec<u8>) {
    key.extend(kinds.unwrap_or_default().iter().map(|&kind| kind as u8));
}

/// Never: each row was checked when its key was read.
fn changed(error: JsonError) -> Error {
    Error::at(ErrorKind::Changed, error.offset as u64, error.reason.to_string())
}
