//! The rows behind postings, each compared with the key that was asked for.

use std::ops::Range;

use memchr::memchr;

use super::{KeyIndex, KeyReader, Read, Request, hash, unusable};
use crate::{
    Error, Result,
    input::DataFile,
    rows::{BOM, Row, RowBatch},
};

/// Read at first: most rows are shorter.
const FIRST_READ: usize = 1024;
/// Postings that are looked at together.
const TOGETHER: u64 = 512;

/// A source whose rows are looked up.
#[derive(Clone, Copy)]
pub struct Lookup<'s> {
    /// The source, after decompression.
    pub file: &'s DataFile,
    /// How far it may be read.
    pub size: u64,
    /// Rows that begin here or later are somebody else's.
    pub below: u64,
    /// Longest row.
    pub max_line: usize,
}

impl Lookup<'_> {
    /// Add the rows of postings `numbers` that have the key to `batch`, until it holds
    /// `max_bytes`; returns the number of the first posting that was not looked at.
    ///
    /// # Errors
    /// What reading says; [`Error::Sidecar`] where the index is not that of the source.
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
        let mut window = Vec::new();
        while number < numbers.end {
            for offset in index.postings(number..numbers.end.min(number + TOGETHER))? {
                if batch.data.len() >= max_bytes {
                    return Ok(number);
                }
                number += 1;
                if offset >= self.below {
                    continue;
                }
                let row = self.row(offset, &mut window)?;
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
    /// What reading says; [`Error::Changed`] where there is no such row any more.
    pub fn offsets(
        &self,
        offsets: &[u64],
        request: &Request,
        reader: &mut KeyReader,
        max_bytes: usize,
        batch: &mut RowBatch,
    ) -> Result<usize> {
        let mut window = Vec::new();
        for (done, &offset) in offsets.iter().enumerate() {
            if batch.data.len() >= max_bytes {
                return Ok(done);
            }
            let changed = || Error::Changed { offset, reason: "a row has another key now".into() };
            let row = self.row(offset, &mut window).map_err(|_| changed())?;
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
    /// What reading says; [`Error::Sidecar`] where there is no row with a key.
    pub(super) fn key_at<'r>(
        &self,
        offset: u64,
        reader: &'r mut KeyReader,
        window: &mut Vec<u8>,
    ) -> Result<&'r [u8]> {
        match reader.read(self.row(offset, window)?.content) {
            Read::Key(key) => Ok(key),
            _ => Err(no_fit(offset)),
        }
    }

    /// The row that begins at `offset`; the byte in front of it proves that one does.
    fn row<'w>(&self, offset: u64, window: &'w mut Vec<u8>) -> Result<Row<'w>> {
        let from = offset.saturating_sub(1);
        let front = usize::from(offset > 0);
        let longest = self.max_line.saturating_add(BOM.len() + 2 + front);
        let left = usize::try_from(self.size.saturating_sub(from)).unwrap_or(usize::MAX);
        window.clear();
        let mut newline = None;
        while newline.is_none() && window.len() < left {
            if window.len() > longest {
                return Err(no_fit(offset));
            }
            let held = window.len();
            let wanted = (held * 4).max(FIRST_READ).min(left).min(longest.saturating_add(1));
            window.resize(wanted.max(held + 1), 0);
            self.file.read_exact_at(&mut window[held..], from + held as u64)?;
            let searched = held.max(front);
            newline = memchr(b'\n', &window[searched..]).map(|at| searched + at);
        }
        if (front == 1 && window.first() != Some(&b'\n')) || window.len() <= front {
            return Err(no_fit(offset));
        }
        let mut content = &window[front..newline.unwrap_or(window.len())];
        if newline.is_some() {
            content = content.strip_suffix(b"\r").unwrap_or(content);
        }
        let unmarked = content.strip_prefix(BOM).filter(|_| offset == 0);
        let marked = unmarked.is_some();
        Ok(Row { number: 0, offset, content: unmarked.unwrap_or(content), too_long: None, marked })
    }
}

fn no_fit(offset: u64) -> Error {
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
            let mut window = Vec::new();
            let found = lookup.row(row.offset, &mut window).unwrap();
            assert_eq!((found.content, found.marked), (row.content, row.marked));
            seen += 1;
        }
        assert_eq!(seen, 4);
        for offset in [1, 3, 9, 11, size, size + 1, u64::MAX] {
            assert!(lookup.row(offset, &mut Vec::new()).is_err(), "{offset}");
        }
        let short = Lookup { max_line: 100, ..lookup };
        assert!(short.row(10, &mut Vec::new()).is_err());
    }
}
