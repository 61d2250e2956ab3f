//! The context of a program: named values, and the place of the row.

use std::sync::Arc;

use crate::value::Value;

/// Values that were found before, by number, and where the row stands, if that is known.
#[derive(Clone, Copy, Default)]
pub struct Known<'r> {
    /// What was found of other rows.
    pub sources: &'r [Value<'r>],
    /// Where the row stands.
    pub place: Option<Place<'r>>,
}

/// Where a row stands.
#[derive(Clone, Copy)]
pub struct Place<'r> {
    /// The file it is in.
    pub file: &'r str,
    /// Its line in the file; the first is 1.
    pub line: u64,
    /// Its number among the rows of all files; the first is 0.
    pub row: u64,
}

/// The file that the query reads, and the lines and rows before it that count as well.
pub struct Input {
    /// The name of the file.
    pub file: Arc<str>,
    /// Lines of the file before its row 0.
    pub lines_before: u64,
    /// Rows of other files before it.
    pub rows_before: u64,
}

impl Input {
    /// Where a row stands.
    pub fn place(&self, number: u64) -> Place<'_> {
        let line = self.lines_before + number;
        Place { file: &self.file, line: line + 1, row: self.rows_before + line }
    }
}
