//! Writing the tables of an index.

use std::{fs::File, os::unix::fs::FileExt};

use crate::Result;

const WRITE_BYTES: usize = 256 * 1024;

/// Writes one table, from a byte of the file on.
pub(crate) struct TableWriter<'f> {
    file: &'f File,
    at: u64,
    buffer: Vec<u8>,
}

impl<'f> TableWriter<'f> {
    pub(crate) fn at(file: &'f File, at: u64) -> Self {
        Self { file, at, buffer: Vec::new() }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= WRITE_BYTES { self.flush() } else { Ok(()) }
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        self.file.write_all_at(&self.buffer, self.at)?;
        self.at += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}
