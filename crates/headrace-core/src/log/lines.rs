//! Lines that were checked, and are to have entries.

use std::sync::Arc;

use memchr::memchr_iter;

use super::{Clock, ENTRY_BYTES, Entry, EventTime, Place, flag, moment::milliseconds};
use crate::{
    json::{self, Limits},
    query::{Output, Program, Reading, RowQuery, Watch, Writing},
    rows::Row,
};

/// How lines are checked, and how their times are found.
pub struct Checking {
    limits: Limits,
    max_line: usize,
    time: Option<Extractor>,
}

/// Asks records for their time.
struct Extractor {
    run: RowQuery,
    answer: Vec<u8>,
}

/// A line that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// How many good ones are before it.
    pub position: usize,
    /// The byte that is wrong, counted from the beginning of the line.
    pub offset: usize,
    /// The error message.
    pub reason: String,
}

/// The facts of a line before it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    /// Behind its newline, counted from the first of the lines.
    end: u64,
    checksum: u32,
    flags: u8,
    event_time: EventTime,
}

/// Lines one after the other.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Lines {
    lines: Vec<Line>,
}

impl Checking {
    /// Lines have up to `max_line` bytes without their newline; `time` extracts their times.
    pub fn new(
        limits: Limits,
        max_line: usize,
        time: Option<Arc<Program>>,
        watch: impl Fn() -> Watch,
    ) -> Self {
        let time = time.map(|program| {
            let writing = Writing { output: Output::Answer, nulls: false, limit: u64::MAX };
            let reading = Reading { limits, frame: None, whole: false };
            Extractor { run: RowQuery::new(program, writing, reading, watch()), answer: Vec::new() }
        });
        Self { limits, max_line: max_line.min(u32::MAX as usize - 1), time }
    }

    /// The longest line, without its newline.
    pub fn max_line(&self) -> usize {
        self.max_line
    }

    /// Look at one line, given without its newline.
    ///
    /// # Errors
    /// The byte at which it is no record, and why.
    pub fn line(&mut self, content: &[u8]) -> Result<(u8, EventTime), (usize, String)> {
        if content.len() > self.max_line {
            let reason =
                format!("{} bytes long, over the limit of {}", content.len(), self.max_line);
            return Err((self.max_line, reason));
        }
        let crlf = if content.ends_with(b"\r") { flag::CRLF } else { 0 };
        if json::is_blank(content) {
            return Ok((crlf | flag::BLANK, EventTime::NotExtracted));
        }
        if let Some(extractor) = &mut self.time {
            return Ok((crlf, extractor.time(content)?));
        }
        match json::check(content, &self.limits) {
            Ok(()) => Ok((crlf, EventTime::NotExtracted)),
            Err(error) => Err((error.offset, error.reason.to_string())),
        }
    }
}

impl Extractor {
    /// Check a record in full and extract its time.
    fn time(&mut self, content: &[u8]) -> Result<EventTime, (usize, String)> {
        self.answer.clear();
        let row = Row::new(0, 0, content);
        match self.run.row(row, &mut self.answer) {
            Ok(()) => Ok(milliseconds(&self.answer).map_or(EventTime::Missing, EventTime::Time)),
            // The record is valid; the query of the time failed on it.
            Err(refusal) if refusal.span.is_some() => Ok(EventTime::Missing),
            Err(refusal) => {
                let offset = usize::try_from(refusal.offset).unwrap_or(content.len());
                Err((offset, refusal.reason))
            }
        }
    }
}

impl Lines {
    /// The lines of `data`, up to one that is refused. Each has its newline.
    pub fn of(data: &[u8], checking: &mut Checking) -> (Self, Option<Refusal>) {
        let mut lines = Self::default();
        let mut start = 0;
        for newline in memchr_iter(b'\n', data) {
            if let Err((offset, reason)) = lines.add(&data[start..=newline], checking) {
                let position = lines.len();
                return (lines, Some(Refusal { position, offset, reason }));
            }
            start = newline + 1;
        }
        if start < data.len() {
            let (position, offset) = (lines.len(), data.len() - start);
            let reason = "it ends without a newline".into();
            return (lines, Some(Refusal { position, offset, reason }));
        }
        (lines, None)
    }

    /// Add a line, given with its newline.
    ///
    /// # Errors
    /// The byte at which it is no record, and why.
    pub fn add(&mut self, line: &[u8], checking: &mut Checking) -> Result<(), (usize, String)> {
        let (flags, event_time) = checking.line(&line[..line.len() - 1])?;
        let end = self.bytes() + line.len() as u64;
        self.lines.push(Line { end, checksum: crc32c::crc32c(line), flags, event_time });
        Ok(())
    }

    /// Say that recovery gave the last line its newline.
    pub fn completed(&mut self) {
        if let Some(line) = self.lines.last_mut() {
            line.flags |= flag::COMPLETED;
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// How many have nothing in them.
    pub fn blank(&self) -> usize {
        self.lines.iter().filter(|line| line.flags & flag::BLANK != 0).count()
    }

    /// Bytes of all of them.
    pub fn bytes(&self) -> u64 {
        self.end_of(self.len())
    }

    /// Bytes of the first `count`.
    pub fn end_of(&self, count: usize) -> u64 {
        match count.checked_sub(1).and_then(|last| self.lines.get(last)) {
            Some(line) => line.end,
            None if count == 0 => 0,
            None => self.lines.last().map_or(0, |line| line.end),
        }
    }

    /// The number of lines from position `start` on that fit into `rows` and `bytes`.
    pub fn fitting(&self, start: usize, rows: u64, bytes: u64) -> usize {
        let most = self.end_of(start).saturating_add(bytes);
        let left = &self.lines[start.min(self.len())..];
        let by_bytes = left.partition_point(|line| line.end <= most);
        usize::try_from(rows).map_or(by_bytes, |rows| by_bytes.min(rows))
    }

    /// The entries of lines `start` to `end`, the first of which goes to `place`. They are written
    /// at `created`, or that is but the time of the file, with `reconstructed`.
    pub fn entries(
        &self,
        (start, end): (usize, usize),
        mut place: Place,
        clock: &mut Clock,
        created: i64,
        reconstructed: bool,
    ) -> Option<(Vec<u8>, Place)> {
        let lines = self.lines.get(start..end)?;
        let mut entries = Vec::with_capacity(lines.len() * ENTRY_BYTES);
        // Where the file would have begun if all of these lines were in it.
        let mut begin = self.end_of(start);
        for line in lines {
            let (time, extracted) = clock.time(line.event_time, created);
            let rows = place.rows.checked_add(1)?;
            let entry = Entry {
                start: place.end,
                end: place.end.checked_add(line.end - begin)?,
                time,
                line: place.base.checked_add(u64::from(rows))?,
                line_of_file: rows,
                file_number: place.file_number,
                extracted,
                flags: line.flags | Clock::flags(extracted, reconstructed),
                checksum: line.checksum,
            };
            entries.extend_from_slice(&entry.encode(place.salt));
            begin = line.end;
            place = Place { rows, end: entry.end, ..place };
        }
        Some((entries, place))
    }
}
