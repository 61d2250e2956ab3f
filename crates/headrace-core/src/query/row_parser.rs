//! Row parser: from a row of a file to the document of a query.

use bumpalo::Bump;

use super::{Refusal, frame::Frame, frame::Payload};
use crate::{
    json::{self, Limits},
    rows::Row,
    value::{Document, Lanes, Tape},
};

/// How rows are read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// What a row may be at most.
    pub limits: Limits,
    /// How lines are framed, if they are.
    pub frame: Option<Frame>,
    /// Whether all of a row is recorded, whatever is read of it, and nothing expected of it: the
    /// slow way, which gives the same answers.
    pub whole: bool,
}

/// The outcome of parsing a row.
pub(super) enum Parsed<'r> {
    /// A document, and where it begins in the source.
    Document(&'r Document<'r>, u64),
    /// The row is blank.
    Blank,
    /// A framed line that ends what its key stood for.
    Deleted,
}

/// Takes rows apart, using its memory again and again.
pub(super) struct RowParser {
    reading: Reading,
    tape: Tape,
}

impl RowParser {
    pub(super) fn new(reading: Reading, lanes: Lanes) -> Self {
        let tape = if reading.whole { Tape::once() } else { Tape::learning(lanes) };
        Self { reading, tape }
    }

    /// Take these lanes of rows apart from now on, unless it is all of them.
    pub(super) fn read_lanes(&mut self, lanes: Lanes) {
        if !self.reading.whole {
            self.tape = Tape::learning(lanes);
        }
    }

    /// Check a row in full and take the lanes of it apart, into memory of `arena`.
    ///
    /// # Errors
    /// Why it is no document.
    #[inline]
    pub(super) fn parse<'r>(
        &'r mut self,
        row: &Row<'r>,
        arena: &'r Bump,
    ) -> Result<Parsed<'r>, Refusal> {
        let refusal = |offset: u64, reason: String| Refusal {
            number: row.number,
            offset,
            span: None,
            reason,
        };
        if row.too_long.is_some() {
            let reason = "the line is longer than max_line (--max-line) allows";
            return Err(refusal(row.offset, reason.to_owned()));
        }
        if json::is_blank(row.content) {
            return Ok(Parsed::Blank);
        }
        let start = row.content_offset();
        let limits = &self.reading.limits;
        let (content, at) = match &self.reading.frame {
            None => (row.content, 0),
            Some(frame) => match frame.payload(row.content) {
                Payload::Record(payload, at) => (payload, at),
                Payload::Deleted => return Ok(Parsed::Deleted),
                Payload::Refused(reason, at) => {
                    return Err(refusal(start + at as u64, reason.to_owned()));
                }
            },
        };
        let start = start + at as u64;
        let parsed = match row.text {
            Some(text) if self.reading.frame.is_none() => {
                self.tape.parse_text_in(text, limits, arena)
            }
            _ => self.tape.parse_in(content, limits, arena),
        };
        match parsed {
            Ok(document) => Ok(Parsed::Document(document, start)),
            Err(error) => Err(refusal(start + error.offset as u64, error.reason.to_string())),
        }
    }
}
