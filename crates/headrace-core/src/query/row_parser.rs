//! From a row of a file to the document that a query is asked of.

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

/// What a row is.
pub(super) enum Parsed<'r> {
    /// A document, and where it begins in the source.
    Document(&'r Document<'r>, u64),
    /// Nothing.
    Blank,
    /// A framed line without a record.
    NoRecord,
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
        if let Some(length) = row.too_long {
            return Err(refusal(
                row.offset,
                format!("{length} bytes long, over the limit that max_line (--max-line) sets"),
            ));
        }
        if json::is_blank(row.content) {
            return Ok(Parsed::Blank);
        }
        let start = row.content_offset();
        let limits = &self.reading.limits;
        let Some(frame) = &self.reading.frame else {
            return match self.tape.parse_in(row.content, limits, arena) {
                Ok(document) => Ok(Parsed::Document(document, start)),
                Err(error) => Err(refusal(start + error.offset as u64, error.reason.to_string())),
            };
        };
        match frame.payload(row.content) {
            // Framed lines come from logs of other things; what is no JSON there is no record.
            Payload::Record(payload, at) => match self.tape.parse_in(payload, limits, arena) {
                Ok(document) => Ok(Parsed::Document(document, start + at as u64)),
                Err(_) => Ok(Parsed::NoRecord),
            },
            Payload::None => Ok(Parsed::NoRecord),
            Payload::Deleted => Ok(Parsed::Deleted),
            Payload::Refused(reason) => Err(refusal(start, reason.to_owned())),
        }
    }
}
