//! Lines of a segment, compared with their entries as they are read.
//!
//! [`CheckedSegment`] reads at any position, [`CheckedRead`] in order. Neither gives out the newline of
//! a line that differs from its checksum, nor a newline inside a line. So no reader that splits rows
//! at newlines gets a row that was not written.

use std::{
    io::{self, Read},
    sync::{Arc, Mutex, PoisonError},
};

use memchr::memchr;

use super::{ENTRY_BYTES, Entry, HEADER_BYTES, Place};
use crate::{
    Error, ErrorKind, Result,
    input::{DataFile, ReadAt, Stat},
};

/// Entries read at a time: few where one line may be enough.
const FEW: usize = 16;
const MANY: usize = 4096;
/// Bytes of a line before the first that is read, read at a time.
const PIECE_BYTES: usize = 64 * 1024;
/// Bytes of whole lines that are kept in memory, unless one line is longer.
const MOST_BYTES: u64 = 1 << 20;

/// The entries of the lines of one segment.
pub struct SegmentEntries {
    index: Arc<DataFile>,
    /// Where the first line goes.
    begin: Place,
    rows: u32,
    /// Bytes of all lines.
    size: u64,
}

impl SegmentEntries {
    /// The first `rows` entries of `index`, of a segment whose first line goes to `begin`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Entry`] if the last of them is not good; what reading says.
    pub fn open(index: Arc<DataFile>, begin: Place, rows: u32) -> Result<Self> {
        let mut entries = Self { index, begin, rows, size: 0 };
        if let Some(last) = rows.checked_sub(1) {
            entries.size = entries.entry(last)?.end;
        }
        Ok(entries)
    }

    /// Bytes of all lines.
    pub fn size(&self) -> u64 {
        self.size
    }

    fn wrong(&self, row: u32, reason: &str) -> Error {
        let offset = HEADER_BYTES as u64 + u64::from(row) * ENTRY_BYTES as u64;
        Error::at(ErrorKind::Entry, offset, format!("line {}: {reason}", self.line(row)))
    }

    /// The number of the line of row `row`, in the log.
    fn line(&self, row: u32) -> u64 {
        self.begin.base.saturating_add(u64::from(row) + 1)
    }

    /// The entries of some rows from `row` on, at least one.
    fn read(&self, row: u32, count: usize) -> Result<Vec<Entry>> {
        let left = usize::try_from(self.rows - row).unwrap_or(count);
        let mut bytes = vec![0; left.min(count) * ENTRY_BYTES];
        let at = HEADER_BYTES as u64 + u64::from(row) * ENTRY_BYTES as u64;
        let mut read = 0;
        while read < bytes.len() {
            match self.index.read_at(&mut bytes[read..], at + read as u64)? {
                0 => break,
                some => read += some,
            }
        }
        let mut entries = Vec::with_capacity(read / ENTRY_BYTES);
        let mut place = Place { rows: row, ..self.begin };
        for (number, bytes) in (row..).zip(bytes[..read].as_chunks::<ENTRY_BYTES>().0) {
            let reason = match Entry::decode(bytes, self.begin.salt) {
                None => "its entry does not match its checksum",
                Some(entry) => {
                    if entries.is_empty() {
                        place.end = entry.start;
                    }
                    if place.pass(&entry) {
                        entries.push(entry);
                        continue;
                    }
                    "its entry is not that of the line here"
                }
            };
            if entries.is_empty() {
                return Err(self.wrong(number, reason));
            }
            break; // the reader of the next lines reports it
        }
        if entries.is_empty() {
            return Err(self.wrong(row, "the index ends before its entry"));
        }
        Ok(entries)
    }

    fn entry(&self, row: u32) -> Result<Entry> {
        Ok(self.read(row, 1)?[0])
    }

    /// The row that has the byte `offset`, which is one of the lines.
    fn row_at(&self, offset: u64) -> Result<u32> {
        let (mut row, mut behind) = (0, self.rows);
        while behind - row > 1 {
            let middle = row + (behind - row) / 2;
            if self.entry(middle)?.start <= offset {
                row = middle;
            } else {
                behind = middle;
            }
        }
        Ok(row)
    }
}

fn changed(entry: &Entry) -> Error {
    let reason = format!("line {}: the line is not what was written", entry.line);
    Error::at(ErrorKind::Line, entry.start, reason)
}

/// Whole lines that are what was written.
struct Kept {
    start: u64,
    bytes: Vec<u8>,
    /// The row behind them.
    next: u32,
}

/// A file of lines, read at any position.
pub struct CheckedSegment {
    file: Arc<DataFile>,
    entries: Arc<SegmentEntries>,
    kept: Mutex<Option<Arc<Kept>>>,
}

impl CheckedSegment {
    /// `file`, whose lines have `entries`.
    pub fn new(file: Arc<DataFile>, entries: Arc<SegmentEntries>) -> Self {
        Self { file, entries, kept: Mutex::default() }
    }

    /// Lines that have the byte `offset`, and those behind up to `end` if that is not too far.
    fn lines(&self, offset: u64, end: u64, last: Option<&Kept>) -> Result<Kept> {
        let row = match last {
            Some(kept) if kept.start + kept.bytes.len() as u64 == offset => kept.next,
            _ => self.entries.row_at(offset)?,
        };
        let mut entries = self.entries.read(row, FEW)?;
        let first = entries[0];
        if !(first.start..first.end).contains(&offset) {
            return Err(self.entries.wrong(row, "its entry is not that of the line here"));
        }
        let end = end.min(first.start + MOST_BYTES).min(self.entries.size);
        loop {
            let last = entries[entries.len() - 1];
            if last.end >= end || last.line_of_file >= self.entries.rows {
                break;
            }
            match self.entries.read(last.line_of_file, MANY) {
                Ok(more) if more[0].start == last.end => entries.extend(more),
                _ => break, // the reader of the next lines reports it
            }
        }
        let enough = entries.partition_point(|entry| entry.end < end) + 1;
        entries.truncate(enough);
        let behind = entries[entries.len() - 1].end;
        let length = usize::try_from(behind - first.start).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, first.start)?;
        let (mut good, mut next) = (0, row);
        for entry in &entries {
            let end = good + usize::try_from(entry.end - entry.start).unwrap_or(usize::MAX);
            let line = &bytes[good..end];
            if line.last() != Some(&b'\n') || crc32c::crc32c(line) != entry.checksum {
                if next == row {
                    return Err(changed(entry));
                }
                break; // the reader of the next lines reports it
            }
            (good, next) = (end, next + 1);
        }
        bytes.truncate(good);
        Ok(Kept { start: first.start, bytes, next })
    }
}

impl ReadAt for CheckedSegment {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset >= self.entries.size || buffer.is_empty() {
            return Ok(0);
        }
        let last = self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let has =
            |kept: &Kept| (kept.start..kept.start + kept.bytes.len() as u64).contains(&offset);
        let kept = match last {
            Some(kept) if has(&kept) => kept,
            last => {
                let end = offset.saturating_add(buffer.len() as u64);
                let kept = Arc::new(self.lines(offset, end, last.as_deref())?);
                *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&kept));
                kept
            }
        };
        let from = usize::try_from(offset - kept.start).unwrap_or(usize::MAX);
        let count = buffer.len().min(kept.bytes.len() - from);
        buffer[..count].copy_from_slice(&kept.bytes[from..from + count]);
        Ok(count)
    }

    fn stat(&self) -> io::Result<Stat> {
        self.file.stat()
    }
}

/// Lines that are read in order from some byte on.
pub struct CheckedRead<R> {
    input: R,
    file: Arc<DataFile>,
    entries: Arc<SegmentEntries>,
    /// The next byte, and the one up to which there must be some.
    offset: u64,
    end: u64,
    /// The entries of the line that `offset` is in, and of some behind it, the first of which is the
    /// last here.
    ahead: Vec<Entry>,
    /// The checksum of that line up to `offset`.
    checksum: u32,
    begun: bool,
    /// What was wrong; every later read returns it again.
    failure: Option<Error>,
}

impl<R: Read> CheckedRead<R> {
    /// `input` gives the bytes from `offset` on, and all up to `end`. They are those of `file`, from
    /// which the beginning of a line is read that has `offset` inside it.
    pub fn new(
        input: R,
        file: Arc<DataFile>,
        entries: Arc<SegmentEntries>,
        offset: u64,
        end: u64,
    ) -> Self {
        let end = end.min(entries.size);
        Self {
            input,
            file,
            entries,
            offset,
            end,
            ahead: Vec::new(),
            checksum: 0,
            begun: false,
            failure: None,
        }
    }

    /// Find the line that the first byte is in.
    fn begin(&mut self) -> Result<()> {
        self.begun = true;
        if self.offset == 0 || self.offset >= self.entries.size {
            return Ok(());
        }
        let row = self.entries.row_at(self.offset)?;
        self.load(row)?;
        let mut at = self.ahead[self.ahead.len() - 1].start;
        let mut piece = vec![0; PIECE_BYTES];
        while at < self.offset {
            let length = usize::try_from(self.offset - at).unwrap_or(PIECE_BYTES);
            let part = &mut piece[..length.min(PIECE_BYTES)];
            self.file.read_exact_at(part, at)?;
            self.checksum = crc32c::crc32c_append(self.checksum, part);
            at += part.len() as u64;
        }
        Ok(())
    }

    fn load(&mut self, row: u32) -> Result<()> {
        let many = if row == 0 { FEW } else { MANY };
        self.ahead = self.entries.read(row, many)?;
        self.ahead.reverse();
        Ok(())
    }

    /// Look at the bytes that come next: how many of them may be given out, and what is wrong with
    /// those behind.
    fn pass(&mut self, bytes: &[u8]) -> (usize, Option<Error>) {
        let mut good = 0;
        while good < bytes.len() {
            let entry = match self.entry() {
                Ok(entry) => entry,
                Err(error) => return (good, Some(error)),
            };
            let left = usize::try_from(entry.end - self.offset).unwrap_or(usize::MAX);
            let part = &bytes[good..good + left.min(bytes.len() - good)];
            self.checksum = crc32c::crc32c_append(self.checksum, part);
            let whole = part.len() == left;
            let wrong = if whole {
                part.last() != Some(&b'\n') || self.checksum != entry.checksum
            } else {
                memchr(b'\n', part).is_some()
            };
            if wrong {
                return (good, Some(changed(&entry)));
            }
            good += part.len();
            self.offset += part.len() as u64;
            if whole {
                self.checksum = 0;
                self.ahead.pop();
                if self.ahead.is_empty()
                    && entry.line_of_file < self.entries.rows
                    && let Err(error) = self.load(entry.line_of_file)
                {
                    return (good, Some(error));
                }
            }
        }
        (good, None)
    }

    /// The entry of the line that the next byte is of.
    fn entry(&mut self) -> Result<Entry> {
        if self.offset >= self.entries.size {
            let reason = "there are bytes behind the last line";
            return Err(Error::at(ErrorKind::Line, self.entries.size, reason));
        }
        if self.ahead.is_empty() {
            self.load(0)?;
        }
        let entry = self.ahead[self.ahead.len() - 1];
        if !(entry.start..entry.end).contains(&self.offset) {
            let row = entry.line_of_file - 1;
            return Err(self.entries.wrong(row, "its entry is not that of the line here"));
        }
        Ok(entry)
    }

    fn fail(&mut self, error: Error) -> io::Error {
        self.failure = Some(again(&error));
        error.into()
    }
}

/// The same error once more.
fn again(error: &Error) -> Error {
    match error {
        Error::At { kind, offset, reason } => Error::at(*kind, *offset, reason.clone()),
        Error::Io(error) => Error::Io(match error.raw_os_error() {
            Some(number) => io::Error::from_raw_os_error(number),
            None => io::Error::other(error.to_string()),
        }),
        other => Error::Io(io::Error::other(other.to_string())),
    }
}

impl<R: Read> Read for CheckedRead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = &self.failure {
            return Err(again(error).into());
        }
        if !self.begun
            && let Err(error) = self.begin()
        {
            return Err(self.fail(error));
        }
        let count = self.input.read(buffer)?;
        if count == 0 && !buffer.is_empty() && self.offset < self.end {
            let reason = "the data ends before its lines do";
            return Err(self.fail(Error::at(ErrorKind::Line, self.offset, reason)));
        }
        match self.pass(&buffer[..count]) {
            (good, None) => Ok(good),
            (0, Some(error)) => Err(self.fail(error)),
            (good, Some(error)) => {
                // What is good is given out first.
                self.fail(error);
                Ok(good)
            }
        }
    }
}
