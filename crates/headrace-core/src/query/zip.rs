//! The other side of a zip: its elements are read lazily.

use bumpalo::Bump;
use memchr::memchr;

use super::Fault;
use crate::value::{Lanes, Tape, Value, parse_text_on};

/// Gives the next lines of JSON, whole ones, as many as it likes; none at the end.
pub type More = Box<dyn FnMut() -> Option<Vec<u8>> + Send>;

/// The elements of the other side, one after the other.
pub struct Partners {
    more: More,
    /// Whether the shorter side is filled up with null.
    longest: bool,
    lines: Vec<u8>,
    at: usize,
    ended: bool,
    tape: Tape,
}

impl Partners {
    /// Partners that come from `more`.
    pub fn new(more: More, longest: bool) -> Self {
        Self {
            more,
            longest,
            lines: Vec::new(),
            at: 0,
            ended: false,
            tape: Tape::learning(Lanes::all()),
        }
    }

    /// The partner of the next element; `None` if there is none and it matters.
    ///
    /// # Errors
    /// When a line is no JSON.
    pub(super) fn next<'r>(&mut self, arena: &'r Bump) -> Result<Option<Value<'r>>, Fault> {
        let partner = self.line(arena)?;
        Ok(if partner.is_none() && self.longest { Some(Value::Null) } else { partner })
    }

    /// A partner that no element is left for, if such ones count.
    ///
    /// # Errors
    /// When a line is no JSON.
    pub(super) fn left_over<'r>(&mut self, arena: &'r Bump) -> Result<Option<Value<'r>>, Fault> {
        if self.longest { self.line(arena) } else { Ok(None) }
    }

    fn line<'r>(&mut self, arena: &'r Bump) -> Result<Option<Value<'r>>, Fault> {
        if self.at == self.lines.len() && !self.ended {
            self.at = 0;
            self.lines = (self.more)().unwrap_or_default();
            self.ended = self.lines.is_empty();
        }
        let ahead = &self.lines[self.at..];
        if ahead.is_empty() {
            return Ok(None);
        }
        let end = memchr(b'\n', ahead).unwrap_or(ahead.len());
        let text = std::str::from_utf8(&ahead[..end]).map_err(|_| Fault::new("not UTF-8"))?;
        self.at = self.lines.len().min(self.at + end + 1);
        parse_text_on(&mut self.tape, text, arena)
            .map(Some)
            .map_err(|error| Fault::new(error.to_string()))
    }
}
