//! Lines that have no entry: what a crash left at the end of a file, or a file without an index.
//!
//! A newline proves nothing: after a power failure, any part of what was not yet durable may
//! be missing. So every line is checked, and the first one that is no record ends the file, whatever
//! stands behind it.

use std::sync::Arc;

use memchr::memchr;

use super::{Checking, Lines};
use crate::{Result, input::DataFile, json};

/// Bytes read at a time.
const READ_BYTES: usize = 256 * 1024;

/// Why there are no more lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The file ends behind the last one.
    End,
    /// What is left is no line, for it has no newline; whether it is a whole record all the same.
    Torn(bool),
    /// A line is no record: the byte at which that shows, and why.
    Bad(u64, String),
}

/// Reads the lines of a file from a byte on.
pub struct TailScan {
    file: Arc<DataFile>,
    offset: u64,
    size: u64,
    checking: Checking,
    /// What was read from `offset` on.
    buffer: Vec<u8>,
}

impl TailScan {
    /// A line begins at `offset` of the file, which has `size` bytes.
    pub fn new(file: Arc<DataFile>, offset: u64, size: u64, checking: Checking) -> Self {
        Self { file, offset, size, checking, buffer: Vec::new() }
    }

    /// Where the next line begins, or what is no line.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next lines, about `bytes` bytes of them, and why they end, if they do.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn next(&mut self, bytes: u64) -> Result<(Lines, Option<Stop>)> {
        let mut lines = Lines::default();
        while lines.bytes() < bytes {
            let taken = self.take(&mut lines);
            let stop = match taken {
                Ok(()) => self.read_on()?,
                Err(stop) => Some(stop),
            };
            if stop.is_some() {
                return Ok((lines, stop));
            }
        }
        Ok((lines, None))
    }

    /// Take all lines that are in the buffer.
    fn take(&mut self, lines: &mut Lines) -> std::result::Result<(), Stop> {
        let mut start = 0;
        let mut taken = Ok(());
        while let Some(length) = memchr(b'\n', &self.buffer[start..]) {
            let line = &self.buffer[start..=start + length];
            if let Err((at, reason)) = lines.add(line, &mut self.checking) {
                taken = Err(Stop::Bad(self.offset + (start + at) as u64, reason));
                break;
            }
            start += length + 1;
        }
        self.buffer.drain(..start);
        self.offset += start as u64;
        taken
    }

    /// Read more of the file; what is in the buffer is part of one line.
    fn read_on(&mut self) -> Result<Option<Stop>> {
        let held = self.buffer.len();
        let left = self.size.saturating_sub(self.offset + held as u64);
        if left == 0 {
            return Ok(Some(if held == 0 { Stop::End } else { Stop::Torn(self.is_whole()) }));
        }
        if held > self.checking.max_line() {
            let most = self.checking.max_line();
            let reason = format!("over {most} bytes long, which is the limit");
            return Ok(Some(Stop::Bad(self.offset + most as u64, reason)));
        }
        let wanted = usize::try_from(left).unwrap_or(READ_BYTES).min(READ_BYTES.max(held));
        self.buffer.resize(held + wanted, 0);
        let read = self.file.read_exact_at(&mut self.buffer[held..], self.offset + held as u64);
        if let Err(error) = read {
            self.buffer.truncate(held);
            return Err(error);
        }
        Ok(None)
    }

    /// Whether the buffer holds a record that lacks nothing but its newline. A number, or a word
    /// such as `true`, may be half of a longer one.
    fn is_whole(&mut self) -> bool {
        let first = self.buffer.iter().find(|byte| !byte.is_ascii_whitespace());
        matches!(first, Some(b'{' | b'[' | b'"'))
            && !json::is_blank(&self.buffer)
            && self.checking.line(&self.buffer).is_ok()
    }

    /// The last line, given its newline, after [`Stop::Torn`] with true.
    pub fn completed(&mut self) -> Lines {
        let mut lines = Lines::default();
        self.buffer.push(b'\n');
        if lines.add(&self.buffer, &mut self.checking).is_ok() {
            lines.completed();
        }
        self.buffer.clear();
        lines
    }
}
