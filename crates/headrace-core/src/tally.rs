//! Accounting: what kind of line each line is.
//!
//! lines = records + blank + bad + too long, always.

use crate::{
    json::{self, Limits},
    rows::Row,
};

/// How many bad lines are remembered with their position.
pub const FIRST_BAD: usize = 10;

/// A line that is not a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRow {
    /// The row, counted from 0.
    pub number: u64,
    /// The byte of the source at which it stops being JSON.
    pub offset: u64,
    /// The error message.
    pub reason: String,
}

/// Counts of lines by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All lines.
    pub lines: u64,
    /// Lines that hold one JSON value.
    pub records: u64,
    /// Lines with nothing but white space.
    pub blank: u64,
    /// Lines that are not JSON.
    pub bad: u64,
    /// Lines over the limit, which were not looked at.
    pub too_long: u64,
    /// The first lines that are bad or too long.
    pub first_bad: Vec<BadRow>,
}

impl Tally {
    /// Look at one more row.
    pub fn add(&mut self, row: Row<'_>, limits: &Limits) {
        self.lines += 1;
        if let Some(length) = row.too_long {
            self.too_long += 1;
            self.remember(row, 0, || format!("{length} bytes long, over the limit"));
        } else if json::is_blank(row.content) {
            self.blank += 1;
        } else if let Err(error) = json::check(row.content, limits) {
            self.bad += 1;
            self.remember(row, error.offset, || error.reason.to_string());
        } else {
            self.records += 1;
        }
    }

    fn remember(&mut self, row: Row<'_>, within: usize, reason: impl FnOnce() -> String) {
        if self.first_bad.len() < FIRST_BAD {
            let offset = row.content_offset() + within as u64;
            self.first_bad.push(BadRow { number: row.number, offset, reason: reason() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::RowStream;

    #[test]
    fn every_line_is_counted_once() {
        let data = b"\xef\xbb\xbf[}\n{}\r\n\n \t\n1\nnot json\n\"much too long\"\n[1";
        let mut stream = RowStream::new(&data[..], 0, 0, u64::MAX, 10);
        let mut tally = Tally::default();
        while let Some(row) = stream.next_row().unwrap() {
            tally.add(row, &Limits::default());
        }
        assert_eq!(
            (tally.lines, tally.records, tally.blank, tally.bad, tally.too_long),
            (8, 2, 2, 3, 1)
        );
        let places: Vec<_> = tally.first_bad.iter().map(|bad| (bad.number, bad.offset)).collect();
        // The mark's three bytes count in the offset; a cut line is bad at its end.
        assert_eq!(places, [(0, 4), (5, 16), (6, 25), (7, 43)]);
    }
}
