//! The rows of postings, each compared with the requested key.

use std::ops::Range;

use memchr::memchr;

use super::{KeyIndex, KeyReader, Read, Request, hash};
use crate::{
    Error, ErrorKind, Result,
    input::DataFile,
    rows::{BOM, Row, RowBatch},
    sealed::unusable,
};

/// Read at first, at least and at most: about twice a row.
const LEAST_READ: usize = 256;
const FIRST_READ: usize = 1024;
/// A gap of at most this many bytes between two rows is read with them, which costs less than a
/// second read.
const GAP: u64 = 4096;
/// The most bytes of one read for rows that are near each other.
const MOST_READ: u64 = 1 << 18;
/// Postings that are looked at together.
pub(super) const TOGETHER: u64 = 512;

/// Bytes of a source that were read; rows that are near each other share them.
#[derive(Debug)]
pub(crate) struct Window {
    bytes: Vec<u8>,
    /// Where the first one is in the source.
    start: u64,
    /// How often the source was read.
    pub reads: u64,
    /// Sixteen times the length of rows, on average, the last ones counted most.
    lengths: usize,
}

impl Default for Window {
    fn default() -> Self {
        // Who reads one row only learns nothing.
        Self { bytes: Vec::new(), start: 0, reads: 0, lengths: 8 * FIRST_READ }
    }
}

impl Window {
    /// The position of a byte of the source, if it is there.
    fn position(&self, offset: u64) -> Option<usize> {
        let at = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        (at < self.bytes.len()).then_some(at)
    }

    /// Forget all that is there, and stand at another place.
    fn restart(&mut self, start: u64) {
        self.bytes.clear();
        self.start = start;
    }

    /// Forget what lies before a byte that is there.
    fn forget_before(&mut self, at: usize) {
        self.bytes.drain(..at);
        self.start += at as u64;
    }

    /// The bytes of a first read, enough for most rows.
    fn expected(&self) -> usize {
        (self.lengths / 8 + 64).clamp(LEAST_READ, FIRST_READ)
    }

    /// Learn how long a row was.
    fn learn(&mut self, length: usize) {
        self.lengths += length.min(FIRST_READ);
        self.lengths -= self.lengths / 16;
    }

    /// Read `count` more bytes.
    fn extend(&mut self, file: &DataFile, count: usize) -> Result<()> {
        let held = self.bytes.len();
        self.bytes.resize(held + count, 0);
        self.reads += 1;
        let read = file.read_exact_at(&mut self.bytes[held..], self.start + held as u64);
        if read.is_err() {
            self.bytes.truncate(held);
        }
        read
    }
}

/// A source whose rows are looked up.
#[derive(Clone, Copy)]
pub struct Lookup<'s> {
    /// The source, after decompression.
    pub file: &'s DataFile,
    /// How far it may be read.
    pub size: u64,
    /// Rows that begin here or later are not read.
    pub below: u64,
    /// Longest row.
    pub max_line: usize,
}

impl Lookup<'_> {
    /// Add the rows of postings `numbers` that have the key to `batch`, until it holds
    /// `max_bytes`; returns the number of the first posting that was not looked at.
    ///
    /// # Errors
    /// Errors of reading; [`crate::ErrorKind::Sidecar`] where the index is not that of the source.
    pub fn postings(
        &self,
        index: &KeyIndex,
        numbers: Range<u64>,
        request: &Request,
        reader: &mut KeyReader,
        max_bytes: usize,
        batch: &mut RowBatch,
    ) -> Result<u64> {
        let (mut number, mut in_vain) = (numbers.start, 0);
        let mut window = Window::default();
        while number < numbers.end {
            let offsets = index.postings(number..numbers.end.min(number + TOGETHER))?;
            for (at, &offset) in offsets.iter().enumerate() {
                if batch.data.len() >= max_bytes {
                    return Ok(number);
                }
                number += 1;
                if offset >= self.below {
                    continue;
                }
                let row = self.row(offset, &offsets[at + 1..], &mut window)?;
                let Read::Key(key) = reader.read(row.content) else { return Err(no_fit(offset)) };
                let found = hash(key);
                if !index.agrees(request.hash, found) {
                    return Err(no_fit(offset));
                }
                if found == request.hash && reader.is(request) {
                    batch.push(row);
                } else {
                    in_vain += 1;
                }
                if in_vain > index.bounds.in_vain {
                    return Err(unusable(offset, "too many keys with one fingerprint"));
                }
            }
        }
        Ok(number)
    }

    /// Add the rows that begin at `offsets` and have the key to `batch`, until it holds
    /// `max_bytes`; returns how many were looked at.
    ///
    /// # Errors
    /// Errors of reading; [`crate::ErrorKind::Changed`] where there is no such row any more.
    pub fn offsets(
        &self,
        offsets: &[u64],
        request: &Request,
        reader: &mut KeyReader,
        max_bytes: usize,
        batch: &mut RowBatch,
    ) -> Result<usize> {
        let mut window = Window::default();
        for (done, &offset) in offsets.iter().enumerate() {
            if batch.data.len() >= max_bytes {
                return Ok(done);
            }
            let changed = || Error::at(ErrorKind::Changed, offset, "a row has another key now");
            let row = self.row(offset, &offsets[done + 1..], &mut window);
            let row = row.map_err(|_| changed())?;
            let has_key = matches!(reader.read(row.content), Read::Key(_));
            if !has_key || !reader.is(request) {
                return Err(changed());
            }
            batch.push(row);
        }
        Ok(offsets.len())
    }

    /// The key of the row that begins at `offset`.
    ///
    /// # Errors
    /// Errors of reading; [`crate::ErrorKind::Sidecar`] where there is no row with a key.
    pub(super) fn key_at<'r>(
        &self,
        offset: u64,
        reader: &'r mut KeyReader,
        window: &mut Window,
    ) -> Result<&'r [u8]> {
        match reader.read(self.row(offset, &[], window)?.content) {
            Read::Key(key) => Ok(key),
            _ => Err(no_fit(offset)),
        }
    }

    /// The row that begins at `offset`; the byte in front of it proves that one does. Rows
    /// `ahead`, in order, are read along if they are near.
    pub(super) fn row<'w>(
        &self,
        offset: u64,
        ahead: &[u64],
        window: &'w mut Window,
    ) -> Result<Row<'w>> {
        let from = offset.saturating_sub(1);
        let front = usize::from(offset > 0);
        let longest = self.max_line.saturating_add(BOM.len() + 2 + front);
        let left = usize::try_from(self.size.saturating_sub(from)).unwrap_or(usize::MAX);
        let mut start = window.position(from).unwrap_or_else(|| {
            window.restart(from);
            0
        });
        let mut searched = front;
        let newline = loop {
            let held = window.bytes.len() - start;
            if let Some(at) =
                window.bytes[start..].get(searched..).and_then(|rest| memchr(b'\n', rest))
            {
                break Some(searched + at);
            }
            if held >= left {
                break None;
            }
            if held > longest {
                return Err(no_fit(offset));
            }
            searched = held.max(front);
            window.forget_before(start);
            start = 0;
            let wanted = (held * 4).min(longest.saturating_add(1));
            let wanted = wanted.max(self.first_read(from, ahead, window.expected())).min(left);
            window.extend(self.file, wanted.max(held + 1) - held)?;
        };
        window.learn(newline.unwrap_or(left));
        let window = &window.bytes[start..];
        if (front == 1 && window.first() != Some(&b'\n')) || window.len() <= front {
            return Err(no_fit(offset));
        }
        let mut content = &window[front..newline.unwrap_or(left.min(window.len()))];
        if newline.is_some() {
            content = content.strip_suffix(b"\r").unwrap_or(content);
        }
        let unmarked = content.strip_prefix(BOM).filter(|_| offset == 0);
        let marked = unmarked.is_some();
        let content = unmarked.unwrap_or(content);
        if content.len() > self.max_line {
            return Err(no_fit(offset));
        }
        Ok(Row { marked, ..Row::new(0, offset, content) })
    }

    /// How much to read from a byte on: a row, and those near behind it.
    fn first_read(&self, from: u64, ahead: &[u64], row: usize) -> usize {
        let mut end = from + row as u64;
        for &next in ahead {
            let with_it = next.saturating_add(row as u64);
            if next < from || next > end + GAP || with_it - from > MOST_READ {
                break;
            }
            end = end.max(with_it);
        }
        usize::try_from(end.min(self.size).saturating_sub(from)).unwrap_or(row)
    }
}

pub(super) fn no_fit(offset: u64) -> Error {
    unusable(offset, "no row with that key begins where the index says")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::RowStream;

    #[test]
    fn a_row_is_what_a_stream_of_rows_gives() {
        let long = format!("\u{feff}first\r\n{}\n\nlast\r", "x".repeat(9000));
        let data = long.into_bytes();
        let file = DataFile::new(data.clone());
        let size = data.len() as u64;
        let lookup = Lookup { file: &file, size, below: size, max_line: 9000 };
        let mut stream = RowStream::new(&data[..], 0, 0, u64::MAX, 9000);
        let mut seen = 0;
        while let Some(row) = stream.next_row().unwrap() {
            let mut window = Window::default();
            let found = lookup.row(row.offset, &[], &mut window).unwrap();
            assert_eq!((found.content, found.marked), (row.content, row.marked));
            seen += 1;
        }
        assert_eq!(seen, 4);
        for offset in [1, 3, 9, 11, size, size + 1, u64::MAX] {
            assert!(lookup.row(offset, &[], &mut Window::default()).is_err(), "{offset}");
        }
        let short = Lookup { max_line: 100, ..lookup };
        assert!(short.row(10, &[], &mut Window::default()).is_err());
    }

    #[test]
    fn rows_that_are_near_each_other_are_read_at_once() {
        let mut data = Vec::new();
        let mut offsets = Vec::new();
        for number in 0..3000 {
            offsets.push(data.len() as u64);
            let length = if number % 500 == 7 { 20_000 } else { number % 50 };
            data.extend_from_slice(format!("{number}{}\n", "x".repeat(length)).as_bytes());
        }
        let file = DataFile::new(data.clone());
        let size = data.len() as u64;
        let lookup = Lookup { file: &file, size, below: size, max_line: 1 << 20 };
        for step in [1, 3, 400] {
            let some: Vec<_> = offsets.iter().copied().step_by(step).collect();
            let mut window = Window::default();
            for (at, &offset) in some.iter().enumerate() {
                let row = lookup.row(offset, &some[at + 1..], &mut window).unwrap();
                let start = usize::try_from(offset).unwrap();
                let line = data[start..].split(|&byte| byte == b'\n').next().unwrap();
                assert_eq!(row.content, line, "row {at} of every {step}");
            }
            assert!(window.reads < if step == 400 { 20 } else { 40 }, "{}", window.reads);
            // Backwards nothing is shared, and nothing goes wrong.
            for &offset in some.iter().rev() {
                assert!(!lookup.row(offset, &[], &mut window).unwrap().content.is_empty());
            }
        }
    }
}
