//! Positional reading.
//!
//! Data is read with `pread` and never through a mapping: if another process truncates a
//! mapped file, ours is killed; a short `pread` is an error we can report.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::UNIX_EPOCH,
};

use crate::{Error, ErrorKind};

/// Bytes read at a time where nothing but their sum is wanted.
const DIGEST_BYTES: usize = 256 * 1024;

/// What a file looked like: enough to notice that it is another one now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Its size in bytes.
    pub size: u64,
    /// Last change of the content, in nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Last change of content or metadata; users cannot set it back.
    pub ctime_ns: i64,
}

/// Bytes that can be read at any position, by several threads at the same time.
pub trait ReadAt: Send + Sync {
    /// Read into `buffer` from `offset` on; 0 means the end.
    ///
    /// # Errors
    /// Whatever the operating system says.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// What the file looks like now.
    ///
    /// # Errors
    /// Whatever the operating system says.
    fn stat(&self) -> io::Result<Stat>;

    /// What no other file of the file system has, not even one that takes the place of this
    /// one: its inode, which is used again, with the time at which it was made. 0 if unknown.
    ///
    /// # Errors
    /// Whatever the operating system says.
    fn identity(&self) -> io::Result<u64> {
        Ok(0)
    }
}

impl ReadAt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }

    fn stat(&self) -> io::Result<Stat> {
        let metadata = self.metadata()?;
        let nanoseconds = |seconds: i64, rest: i64| seconds * 1_000_000_000 + rest;
        Ok(Stat {
            size: metadata.size(),
            mtime_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            ctime_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    fn identity(&self) -> io::Result<u64> {
        let metadata = self.metadata()?;
        // Not every file system knows when a file was made.
        let made = metadata.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let nanoseconds = made.map_or(0, |since| since.as_nanos());
        let mut bytes = metadata.ino().to_le_bytes().to_vec();
        bytes.extend(nanoseconds.to_le_bytes());
        Ok(xxhash_rust::xxh3::xxh3_64(&bytes))
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let start = usize::try_from(offset).map_or(self.len(), |offset| offset.min(self.len()));
        let count = buffer.len().min(self.len() - start);
        buffer[..count].copy_from_slice(&self[start..start + count]);
        Ok(count)
    }

    fn stat(&self) -> io::Result<Stat> {
        Ok(Stat { size: self.len() as u64, mtime_ns: 0, ctime_ns: 0 })
    }
}

impl<T: ReadAt> ReadAt for Arc<T> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        T::read_at(self, buffer, offset)
    }

    fn stat(&self) -> io::Result<Stat> {
        T::stat(self)
    }

    fn identity(&self) -> io::Result<u64> {
        T::identity(self)
    }
}

/// An opened input that counts the bytes read from it.
pub struct DataFile {
    input: Box<dyn ReadAt>,
    bytes_read: AtomicU64,
}

impl DataFile {
    /// Open a local file for reading.
    ///
    /// # Errors
    /// Whatever the operating system says.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self::new(File::open(path)?))
    }

    /// Read from `input`.
    pub fn new(input: impl ReadAt + 'static) -> Self {
        Self { input: Box::new(input), bytes_read: AtomicU64::new(0) }
    }

    /// All bytes ever read through this handle.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// What the file looks like now.
    ///
    /// # Errors
    /// Whatever the operating system says.
    pub fn stat(&self) -> io::Result<Stat> {
        self.input.stat()
    }

    /// See [`ReadAt::identity`].
    ///
    /// # Errors
    /// Whatever the operating system says.
    pub fn identity(&self) -> io::Result<u64> {
        self.input.identity()
    }

    /// One positional read, repeated when interrupted; 0 means the end.
    ///
    /// # Errors
    /// Whatever the operating system says.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        loop {
            match self.input.read_at(buffer, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(count) => {
                    self.bytes_read.fetch_add(count as u64, Ordering::Relaxed);
                    return Ok(count);
                }
            }
        }
    }

    /// Fill all of `buffer`; a file that ends earlier has shrunk.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Changed`] where the file ends too early.
    pub fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> crate::Result<()> {
        let mut done = 0;
        while done < buffer.len() {
            match self.read_at(&mut buffer[done..], offset + done as u64)? {
                0 => return Err(shrank(offset + done as u64)),
                count => done += count,
            }
        }
        Ok(())
    }
}

fn shrank(offset: u64) -> Error {
    Error::at(ErrorKind::Changed, offset, "the file became shorter while it was being read")
}

/// XXH3 of the first `size` bytes of `file`.
///
/// # Errors
/// Errors of reading; [`crate::ErrorKind::Changed`] where the file is shorter.
pub fn digest(file: &DataFile, size: u64) -> crate::Result<u64> {
    let mut state = xxhash_rust::xxh3::Xxh3::new();
    let mut buffer = vec![0; DIGEST_BYTES];
    let mut offset = 0;
    while offset < size {
        let left = usize::try_from(size - offset).unwrap_or(DIGEST_BYTES);
        let part = &mut buffer[..left.min(DIGEST_BYTES)];
        file.read_exact_at(part, offset)?;
        state.update(part);
        offset += part.len() as u64;
    }
    Ok(state.digest())
}

/// Reads `[offset, end)` of a file in order.
pub struct RangeReader {
    file: Arc<DataFile>,
    offset: u64,
    end: u64,
}

impl RangeReader {
    /// A reader of the bytes from `offset` up to `end`, which the file had when it was opened.
    pub fn new(file: Arc<DataFile>, offset: u64, end: u64) -> Self {
        Self { file, offset, end }
    }
}

impl Read for RangeReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        if wanted == 0 {
            return Ok(0);
        }
        match self.file.read_at(&mut buffer[..wanted], self.offset)? {
            0 => Err(shrank(self.offset).into()),
            count => {
                self.offset += count as u64;
                Ok(count)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_ends_where_it_was_told_to() {
        let file = Arc::new(DataFile::new(b"0123456789".to_vec()));
        let mut text = String::new();
        RangeReader::new(Arc::clone(&file), 3, 7).read_to_string(&mut text).unwrap();
        assert_eq!(text, "3456");
        assert_eq!(file.bytes_read(), 4);
    }

    #[test]
    fn a_file_that_shrank_is_an_error_with_its_position() {
        let file = Arc::new(DataFile::new(b"0123".to_vec()));
        let error = RangeReader::new(file, 0, 10).read_to_end(&mut Vec::new()).unwrap_err();
        assert!(matches!(
            Error::from(error),
            Error::At { kind: ErrorKind::Changed, offset: 4, .. }
        ));
    }
}
