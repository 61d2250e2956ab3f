//! The bytes of a file of blocks in order, decoded ahead by several threads.

use std::{
    io::{self, Read},
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    Result,
    blocks::{BlockFile, workers::Workers},
    input::ReadAt,
};

/// The number of blocks decoded before threads are started: often the first rows are enough.
const BLOCKS_ALONE: usize = 2;
/// Blocks decoded or being decoded for each thread.
const AHEAD_OF_EACH: usize = 2;

/// No more than this is decoded ahead, but one block.
const AHEAD_BYTES: u64 = 64 << 20;

type Spare = Arc<Mutex<Vec<Vec<u8>>>>;

/// Reads `[offset, end)` of a file of blocks, counted after decompression.
pub struct Ahead {
    file: Arc<BlockFile>,
    offset: u64,
    end: u64,
    threads: usize,
    /// The block that the last byte was of, and how many there were before it.
    last: Option<usize>,
    passed: usize,
    decoding: Option<Decoding>,
}

impl Ahead {
    /// A reader of the bytes from `offset` up to `end`. With one thread it decodes as it is read.
    pub fn new(file: Arc<BlockFile>, offset: u64, end: u64, threads: usize) -> Self {
        let end = end.min(file.table().logical_size());
        Self { file, offset, end, threads, last: None, passed: 0, decoding: None }
    }

    /// Count the blocks that are read without help; whether it is time for help.
    fn is_long(&mut self, at: usize) -> bool {
        if self.last != Some(at) {
            self.last = Some(at);
            self.passed += 1;
        }
        self.threads > 1 && self.passed > BLOCKS_ALONE
    }
}

impl Read for Ahead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(at) = self.file.table().at_offset(self.offset) else { return Ok(0) };
        let left = usize::try_from(self.end.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        if wanted == 0 {
            return Ok(0);
        }
        if self.decoding.as_ref().is_some_and(|decoding| !decoding.workers.are_here()) {
            (self.decoding, self.threads) = (None, 1);
        }
        if self.decoding.is_none() && self.is_long(at) {
            let behind = self.file.table().at_offset(self.end - 1).map_or(at, |last| last + 1);
            self.decoding = Some(Decoding::new(&self.file, at..behind, self.threads)?);
        }
        let count = match &mut self.decoding {
            None => self.file.read_at(&mut buffer[..wanted], self.offset)?,
            Some(decoding) => {
                let within = self.offset - self.file.table().blocks()[at].logical;
                match decoding.read(
                    at,
                    usize::try_from(within).unwrap_or_default(),
                    &mut buffer[..wanted],
                ) {
                    Ok(count) => count,
                    Err(error) => {
                        // A later read returns the same error.
                        (self.decoding, self.threads) = (None, 1);
                        return Err(error.into());
                    }
                }
            }
        };
        self.offset += count as u64;
        Ok(count)
    }
}

/// Threads at work on the blocks that come next.
struct Decoding {
    file: Arc<BlockFile>,
    workers: Workers<usize, Result<Vec<u8>>>,
    /// The next block to be given to them, and the one behind the last.
    next: usize,
    behind: usize,
    window: usize,
    most: usize,
    /// The block that is being read.
    current: (Option<usize>, Vec<u8>),
    spare: Spare,
}

impl Decoding {
    fn new(
        file: &Arc<BlockFile>,
        blocks: std::ops::Range<usize>,
        threads: usize,
    ) -> io::Result<Self> {
        let spare = Spare::default();
        let worker = || {
            let (file, spare) = (Arc::clone(file), Arc::clone(&spare));
            move |at| {
                let mut content = lock(&spare).pop().unwrap_or_default();
                file.decode(at, &mut content).map(|()| content)
            }
        };
        let workers = Workers::new((0..threads).map(|_| worker()))?;
        Ok(Self {
            file: Arc::clone(file),
            workers,
            next: blocks.start,
            behind: blocks.end,
            window: 1,
            most: threads * AHEAD_OF_EACH,
            current: (None, Vec::new()),
            spare,
        })
    }

    fn read(&mut self, at: usize, within: usize, buffer: &mut [u8]) -> Result<usize> {
        let rest = &self.content(at)?[within..];
        let count = buffer.len().min(rest.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    /// Whether the next block may be given to the threads.
    fn has_room(&self) -> bool {
        let pending = self.workers.pending();
        let blocks = self.file.table().blocks();
        let bytes = blocks[self.next].logical - blocks[self.next - pending].logical;
        pending == 0
            || (pending < self.window
                && bytes + u64::from(blocks[self.next].raw_len) <= AHEAD_BYTES)
    }

    /// The content of block `at`: the one of the last call, or the next that is not empty.
    fn content(&mut self, at: usize) -> Result<&[u8]> {
        while self.current.0 != Some(at) {
            // A longer read gets more threads.
            self.window = (self.window + 1).min(self.most);
            while self.next < self.behind && self.has_room() {
                self.workers.give(self.next);
                self.next += 1;
            }
            let taken = self.next - self.workers.pending();
            let Some(content) = self.workers.take()? else {
                return Err(io::Error::other("a block was decoded that was not requested").into());
            };
            let before = std::mem::replace(&mut self.current, (Some(taken), content?)).1;
            lock(&self.spare).push(before);
        }
        Ok(&self.current.1)
    }
}

fn lock(spare: &Spare) -> std::sync::MutexGuard<'_, Vec<Vec<u8>>> {
    spare.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        Error,
        blocks::{BlockTable, Coding, made},
        input::DataFile,
    };

    fn opened(bytes: Vec<u8>) -> (Arc<DataFile>, Arc<BlockFile>) {
        let size = bytes.len() as u64;
        let file = Arc::new(DataFile::new(bytes));
        let table = BlockTable::find(&file, Coding::Gzip, size).unwrap().unwrap();
        (Arc::clone(&file), Arc::new(BlockFile::new(file, table)))
    }

    fn parts(count: usize) -> Vec<Vec<u8>> {
        (0..count).map(|part| format!("{part}\n").repeat(part % 7 + 1).into_bytes()).collect()
    }

    #[test]
    fn the_first_bytes_take_few_blocks() {
        let parts = parts(200);
        let bytes = made::gzip(&parts);
        let (data, file) = opened(bytes);
        let found = data.bytes_read();
        let mut reader = Ahead::new(file, 0, u64::MAX, 4);
        reader.read_exact(&mut [0; 3]).unwrap();
        assert!(data.bytes_read() - found < 150);
        assert!(reader.decoding.is_none());
    }

    #[test]
    fn a_failure_comes_behind_all_bytes_before_it_and_again() {
        let parts = parts(40);
        let mut bytes = made::gzip(&parts);
        let (_, whole) = opened(bytes.clone());
        let block = whole.table().blocks()[30];
        let at = usize::try_from(block.physical).unwrap() + block.comp_len as usize - 5;
        bytes[at] ^= 1;
        for threads in [1, 3] {
            let (_, file) = opened(bytes.clone());
            let mut reader = Ahead::new(file, 0, u64::MAX, threads);
            let mut content = Vec::new();
            let error = reader.read_to_end(&mut content).unwrap_err();
            assert_eq!(content, parts[..30].concat(), "{threads} threads");
            assert!(
                matches!(Error::from(error), Error::DamagedBlock(damage) if damage.block == 30)
            );
            assert!(reader.read(&mut [0]).is_err());
        }
    }

    proptest! {
        #[test]
        fn any_range_is_the_slice(
            count in 1_usize..40,
            (start, length) in (0_usize..300, 0_usize..300),
            threads in 1_usize..4,
            step in 1_usize..30,
        ) {
            let parts = parts(count);
            let data = parts.concat();
            let (_, file) = opened(made::gzip(&parts));
            let mut reader = Ahead::new(file, start as u64, (start + length) as u64, threads);
            let mut found = Vec::new();
            let mut buffer = vec![0; step];
            loop {
                match reader.read(&mut buffer).unwrap() {
                    0 => break,
                    read => found.extend_from_slice(&buffer[..read]),
                }
            }
            let begin = start.min(data.len());
            prop_assert_eq!(&found[..], &data[begin..(start + length).min(data.len())]);
        }
    }
}
