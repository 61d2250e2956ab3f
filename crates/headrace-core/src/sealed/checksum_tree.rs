//! A file whose blocks are compared with their checksums when they are read.
//!
//! The *body* is cut into blocks of 4 KiB, the last one shorter. Behind it stands the table of
//! their CRC32Cs, behind that the table of those of its own blocks, and so on up to a table that
//! is one block; the checksum of that one, the *root*, is stored by the caller. So
//! every byte is covered, tables too, and reading one of a body of 4 TiB takes four blocks.
//!
//! | table | offset | length |
//! |---|---|---|
//! | 1 | the end of the body | 4 for each block of the body |
//! | n + 1 | the end of table n | 4 for each block of table n; none if table n is one block |

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::unusable;
use crate::{Result, input::DataFile};

/// Bytes of a block.
pub(crate) const BLOCK_BYTES: u64 = BLOCK as u64;

const BLOCK: usize = 4096;
/// Blocks that are held at most, 4 MiB of them.
const MOST_HELD: u64 = 1024;
const CHECKSUM_BYTES: u64 = size_of::<u32>() as u64;

/// A part of the file that begins with a new block: the body, or a table.
#[derive(Clone, Copy, Debug)]
struct Level {
    offset: u64,
    length: u64,
}

impl Level {
    fn blocks(self) -> u64 {
        self.length.div_ceil(BLOCK_BYTES)
    }

    fn table(self) -> Self {
        Self { offset: self.offset + self.length, length: self.blocks() * CHECKSUM_BYTES }
    }
}

/// The body and its tables; `None` for a body too long for any file.
fn levels(body: u64) -> Option<Vec<Level>> {
    if body >= 1 << 60 {
        return None;
    }
    let mut level = Level { offset: 0, length: body };
    let mut levels = vec![level];
    while levels.len() == 1 || level.blocks() > 1 {
        level = level.table();
        levels.push(level);
    }
    Some(levels)
}

/// How many bytes the tables of a body have; `None` for a body too long for any file.
pub fn tables_length(body: u64) -> Option<u64> {
    Some(levels(body)?[1..].iter().map(|table| table.length).sum())
}

/// Give the tables of a body to `write`, in order, and return the root.
///
/// `read(buffer, offset)` reads of the body, or of what was given to `write`.
///
/// # Errors
/// Errors of `read` and `write`.
pub fn write_tables(
    body: u64,
    mut read: impl FnMut(&mut [u8], u64) -> Result<()>,
    mut write: impl FnMut(&[u8], u64) -> Result<()>,
) -> Result<u32> {
    let levels = levels(body).ok_or_else(|| unusable(body, "too long for an index"))?;
    let mut buffer = vec![0; 256 * BLOCK];
    for pair in levels.windows(2) {
        let (level, table) = (pair[0], pair[1]);
        let (mut done, mut at) = (0, table.offset);
        while done < level.length {
            let wanted = usize::try_from(level.length - done).unwrap_or(usize::MAX);
            let part = wanted.min(buffer.len());
            read(&mut buffer[..part], level.offset + done)?;
            let blocks = buffer[..part].chunks(BLOCK);
            let checksums: Vec<u8> =
                blocks.flat_map(|block| crc32c::crc32c(block).to_le_bytes()).collect();
            write(&checksums, at)?;
            at += checksums.len() as u64;
            done += part as u64;
        }
    }
    let top = levels[levels.len() - 1];
    let mut bytes = vec![0; usize::try_from(top.length).unwrap_or_default()];
    read(&mut bytes, top.offset)?;
    Ok(crc32c::crc32c(&bytes))
}

/// A body that can be read by several threads, and the blocks of it that were used last.
pub(crate) struct CheckedFile {
    file: DataFile,
    levels: Vec<Level>,
    root: u32,
    held: Vec<Mutex<Held>>,
}

/// A block that was found to be whole.
#[derive(Default)]
struct Held {
    block: Option<(usize, u64)>,
    bytes: Vec<u8>,
}

impl CheckedFile {
    /// The body of `file`, whose tables have this root.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where the body is too long for any file.
    pub(crate) fn new(file: DataFile, body: u64, root: u32) -> Result<Self> {
        let levels = levels(body).ok_or_else(|| unusable(body, "an impossible length"))?;
        let blocks: u64 = levels.iter().map(|level| level.blocks()).sum();
        let held = (0..blocks.min(MOST_HELD)).map(|_| Mutex::default()).collect();
        Ok(Self { file, levels, root, held })
    }

    /// Bytes of the body.
    pub(crate) fn length(&self) -> u64 {
        self.levels[0].length
    }

    /// Fill `out` with what stands at `offset`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where a block is damaged, or the body ends before.
    pub(crate) fn read(&self, out: &mut [u8], offset: u64) -> Result<()> {
        let end = offset.checked_add(out.len() as u64);
        if end.is_none_or(|end| end > self.length()) {
            return Err(unusable(offset, "a place behind the end"));
        }
        let (mut done, mut at) = (0, offset);
        while done < out.len() {
            let within = usize::try_from(at % BLOCK_BYTES).unwrap_or_default();
            let part = (out.len() - done).min(BLOCK - within);
            self.copy(0, at / BLOCK_BYTES, within, &mut out[done..done + part])?;
            done += part;
            at += part as u64;
        }
        Ok(())
    }

    /// Copy a part of a block out, which is within it.
    fn copy(&self, level: usize, block: u64, within: usize, out: &mut [u8]) -> Result<()> {
        // Tables are held where blocks of the body seldom are: at the end.
        let places = self.held.len() as u64;
        let place = if level == 0 { block % places } else { places - 1 - block % places };
        let place = &self.held[usize::try_from(place).unwrap_or_default()];
        let range = within..within + out.len();
        let unused = {
            let mut held = lock(place);
            if held.block == Some((level, block)) {
                out.copy_from_slice(&held.bytes[range]);
                return Ok(());
            }
            // Its memory is used again; getting it anew takes as long as checking the block.
            held.block = None;
            std::mem::take(&mut held.bytes)
        };
        // No lock is held here: two locks could deadlock.
        let bytes = self.fetch(level, block, unused)?;
        out.copy_from_slice(&bytes[range]);
        *lock(place) = Held { block: Some((level, block)), bytes };
        Ok(())
    }

    /// Read a block from disk into unused memory, and compare it with its checksum.
    fn fetch(&self, level: usize, block: u64, mut bytes: Vec<u8>) -> Result<Vec<u8>> {
        self.fetch_some(level, block, 1, &mut bytes)?;
        Ok(bytes)
    }

    /// Read blocks that lie behind each other, and compare them with their checksums.
    fn fetch_some(&self, level: usize, first: u64, count: u64, bytes: &mut Vec<u8>) -> Result<()> {
        let Level { offset, length } = self.levels[level];
        let start = first * BLOCK_BYTES;
        let part = (length - start).min(count * BLOCK_BYTES);
        bytes.resize(usize::try_from(part).unwrap_or_default(), 0);
        let at = offset + start;
        self.file.read_exact_at(bytes, at).map_err(|_| unusable(at, "cannot be read"))?;
        for (block, bytes) in (first..).zip(bytes.chunks(BLOCK)) {
            if crc32c::crc32c(bytes) != self.checksum(level, block)? {
                let at = offset + block * BLOCK_BYTES;
                return Err(unusable(at, "a block does not match its checksum"));
            }
        }
        Ok(())
    }

    /// What a block must have.
    fn checksum(&self, level: usize, block: u64) -> Result<u32> {
        if level + 1 == self.levels.len() {
            return Ok(self.root);
        }
        let mut checksum = [0; size_of::<u32>()];
        let at = block * CHECKSUM_BYTES;
        let within = usize::try_from(at % BLOCK_BYTES).unwrap_or_default();
        self.copy(level + 1, at / BLOCK_BYTES, within, &mut checksum)?;
        Ok(u32::from_le_bytes(checksum))
    }
}

/// Reads a body from its begin to its end, some places of it or all: blocks that are near each
/// other are read together. Any order will do, but only a rising one is fast.
pub(crate) struct Forward<'f> {
    file: &'f CheckedFile,
    bytes: Vec<u8>,
    /// The first block that is held.
    first: u64,
    /// How many are read together, a power of two.
    together: u64,
}

/// Blocks that are read together at most, 64 KiB, and that are skipped by reading on.
const MOST_TOGETHER: u64 = 16;
const NEAR: u64 = 4;

impl<'f> Forward<'f> {
    /// A reader of a body.
    pub(crate) fn new(file: &'f CheckedFile) -> Self {
        Self { file, bytes: Vec::new(), first: 0, together: 1 }
    }

    /// What stands at `offset`.
    ///
    /// # Errors
    /// As [`CheckedFile::read`].
    pub(crate) fn get(&mut self, offset: u64, length: usize) -> Result<&[u8]> {
        let end = offset.checked_add(length as u64);
        let Some(end) = end.filter(|&end| end <= self.file.length()) else {
            return Err(unusable(offset, "a place behind the end"));
        };
        let held = self.first * BLOCK_BYTES;
        if offset < held || end > held + self.bytes.len() as u64 {
            self.load(offset / BLOCK_BYTES, end.div_ceil(BLOCK_BYTES))?;
        }
        let start = usize::try_from(offset - self.first * BLOCK_BYTES).unwrap_or_default();
        Ok(&self.bytes[start..start + length])
    }

    fn load(&mut self, first: u64, end: u64) -> Result<()> {
        let behind = self.first + (self.bytes.len() as u64).div_ceil(BLOCK_BYTES);
        let near = (self.first..=behind + NEAR).contains(&first);
        self.together = if near { MOST_TOGETHER.min(self.together * 2) } else { 1 };
        // Where the last ones cannot be used, none can.
        let bytes = std::mem::take(&mut self.bytes);
        self.first = first;
        self.bytes = self.fetched(first, self.together.max(end - first), bytes)?;
        Ok(())
    }

    fn fetched(&self, first: u64, count: u64, mut bytes: Vec<u8>) -> Result<Vec<u8>> {
        self.file.fetch_some(0, first, count, &mut bytes)?;
        Ok(bytes)
    }
}

fn lock(place: &Mutex<Held>) -> MutexGuard<'_, Held> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn sealed(body: &[u8]) -> (Vec<u8>, u32) {
        let bytes = RefCell::new(body.to_vec());
        let read = |buffer: &mut [u8], offset: u64| {
            let from = usize::try_from(offset).unwrap();
            buffer.copy_from_slice(&bytes.borrow()[from..from + buffer.len()]);
            Ok(())
        };
        let write = |part: &[u8], offset: u64| {
            assert_eq!(bytes.borrow().len() as u64, offset);
            bytes.borrow_mut().extend_from_slice(part);
            Ok(())
        };
        let root = write_tables(body.len() as u64, read, write).unwrap();
        let length = tables_length(body.len() as u64).unwrap();
        assert_eq!(bytes.borrow().len() as u64, body.len() as u64 + length);
        (bytes.into_inner(), root)
    }

    fn content(length: usize) -> Vec<u8> {
        (0..length).map(|at| u8::try_from(at * 7 % 251).unwrap()).collect()
    }

    #[test]
    fn what_was_sealed_is_read() {
        // One block, one table; and enough blocks for a table of the table.
        for length in [1, 4095, 4096, 4097, 5_000_000] {
            let body = content(length);
            let (bytes, root) = sealed(&body);
            let file = CheckedFile::new(DataFile::new(bytes), body.len() as u64, root).unwrap();
            for from in [0, length / 2, length.saturating_sub(9000)] {
                let mut out = vec![0; 9000.min(length - from)];
                file.read(&mut out, from as u64).unwrap();
                assert_eq!(out, body[from..from + out.len()]);
            }
            assert!(file.read(&mut [0; 2], length as u64 - 1).is_err());
            assert!(file.read(&mut [0; 2], u64::MAX).is_err());
        }
    }

    #[test]
    fn reading_forward_gives_the_same_bytes() {
        let body = content(4096 * 70 + 5);
        let (bytes, root) = sealed(&body);
        let file = CheckedFile::new(DataFile::new(bytes), body.len() as u64, root).unwrap();
        for step in [1, 700, 4096, 9000, 40_000, 200_000] {
            let mut forward = Forward::new(&file);
            // And once more from the begin, which is slow and right.
            for from in (0..body.len()).step_by(step).chain([3]) {
                let length = 5000.min(body.len() - from);
                assert_eq!(forward.get(from as u64, length).unwrap(), &body[from..from + length]);
            }
            assert!(forward.get(body.len() as u64 - 1, 2).is_err());
            assert!(forward.get(u64::MAX, 2).is_err());
            assert_eq!(forward.get(7, 0).unwrap(), b"");
        }
    }

    #[test]
    fn reading_forward_notices_a_damaged_block_whoever_reads_it_first() {
        let body = content(4096 * 40);
        let (mut bytes, root) = sealed(&body);
        bytes[4096 * 20 + 1] ^= 1;
        let file = CheckedFile::new(DataFile::new(bytes), body.len() as u64, root).unwrap();
        let mut forward = Forward::new(&file);
        let readable = |block: &u64| forward.get(block * BLOCK_BYTES, 9).is_ok();
        let read: Vec<u64> = (0..40).filter(readable).collect();
        assert!(!read.contains(&20));
        assert!((0..10).chain(36..40).all(|block| read.contains(&block)), "{read:?}");
    }

    #[test]
    fn a_damaged_byte_of_body_or_table_is_noticed_by_who_needs_it() {
        let body = content(4096 * 1030);
        let (bytes, root) = sealed(&body);
        for at in [0, 4096 * 1029 + 5, body.len() + 2, body.len() + 4100, bytes.len() - 1] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            let file = CheckedFile::new(DataFile::new(damaged), body.len() as u64, root).unwrap();
            let mut unread = 0;
            for block in 0..1030 {
                unread += u32::from(file.read(&mut [0; 64], block * BLOCK_BYTES).is_err());
            }
            assert!(unread > 0, "byte {at}");
        }
    }

    #[test]
    fn no_body_is_too_long_to_be_refused() {
        assert!(CheckedFile::new(DataFile::new(vec![0; 9]), u64::MAX, 0).is_err());
        let file = CheckedFile::new(DataFile::new(vec![0; 9]), 1 << 59, 0).unwrap();
        assert!(file.read(&mut [0; 8], 1 << 58).is_err());
    }
}
