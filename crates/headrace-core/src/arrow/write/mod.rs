//! Columns of values to lines of JSON.
//!
//! The columns are those of an Arrow batch, handed over buffer by buffer: a row becomes one
//! object, with the columns as its keys, in their order. Whatever the buffers hold, nothing
//! is read outside of them, and what comes out is one JSON value a line.

mod column;
mod json_text;
mod time;
mod variant;

pub use column::{Column, Key, Kind};
use json_text::Writer;

use crate::json;

/// How values are written.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Fields that are null are left out.
    pub skip_nulls: bool,
    /// NaN and the infinities are null; else they are refused.
    pub null_for_nan: bool,
}

/// A value that has no JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The row it is in, from 0.
    pub row: usize,
    /// The column, and the way to it in there: `a.b[2]`.
    pub path: String,
    /// The error message.
    pub reason: String,
}

/// The rows of a batch, one line after the other.
pub struct Lines<B> {
    batch: Column<B>,
    style: Option<Style>,
    next: usize,
}

impl<B: AsRef<[u8]>> Lines<B> {
    /// The rows of `batch`, which is of kind [`Kind::Struct`], as objects.
    pub fn objects(batch: Column<B>, style: Style) -> Self {
        Self { batch, style: Some(style), next: 0 }
    }

    /// The values of `column`, text or binary, as the lines they are. They are not
    /// checked to be JSON, but no line is blank or two.
    pub fn as_they_are(column: Column<B>) -> Self {
        Self { batch: column, style: None, next: 0 }
    }

    /// Append the next lines to `out` until it has `enough` bytes; false if none are left.
    ///
    /// # Errors
    ///
    /// A value that has no JSON; its row is not in `out`.
    pub fn next(&mut self, enough: usize, out: &mut Vec<u8>) -> Result<bool, Fault> {
        if self.next >= self.batch.length {
            return Ok(false);
        }
        while self.next < self.batch.length && out.len() < enough {
            let start = out.len();
            let written = match self.style {
                Some(style) => Writer { style, out }.object(&self.batch, self.next),
                None => line(&self.batch, self.next, out),
            };
            if let Err(wrong) = written {
                out.truncate(start);
                return Err(Fault { row: self.next, path: wrong.path, reason: wrong.reason });
            }
            out.push(b'\n');
            self.next += 1;
        }
        Ok(true)
    }
}

/// What is wrong with a value; the way to it grows as its parents are left.
#[derive(Debug)]
struct Wrong {
    path: String,
    reason: String,
}

impl Wrong {
    fn new(reason: impl Into<String>) -> Self {
        Self { path: String::new(), reason: reason.into() }
    }

    fn damaged() -> Self {
        Self::new("the batch is damaged")
    }

    fn below(mut self, step: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{step}{dot}{}", self.path);
        self
    }
}

fn line<B: AsRef<[u8]>>(column: &Column<B>, at: usize, out: &mut Vec<u8>) -> Result<(), Wrong> {
    if column.is_null(at) {
        return Err(Wrong::new("it is null, which is no line"));
    }
    let line = column.bytes_at(at).ok_or_else(Wrong::damaged)?;
    if json::is_blank(line) {
        return Err(Wrong::new("it is blank, and a line holds a JSON value"));
    }
    if memchr::memchr(b'\n', line).is_some() {
        return Err(Wrong::new("it has a newline in it, which would end the line"));
    }
    out.extend_from_slice(line);
    Ok(())
}

#[cfg(test)]
mod tests;
