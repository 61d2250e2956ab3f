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

/// So many blocks are decoded here before threads are started: often the first rows are enough.
const BLOCKS_ALONE: usize = 2;
/// Blocks decoded or being decoded for each thread.
const AHEAD_OF_EACH: usize = 2;

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
                        // Whoever reads again is told again.
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

    /// The content of block `at`: the one of the last call, or the next that is not empty.
    fn content(&mut self, at: usize) -> Result<&[u8]> {
        while self.current.0 != Some(at) {
            // Whoever reads on is given more and more help.
            self.window = (self.window + 1).min(self.most);
            while self.next < self.behind && self.workers.pending() < self.window {
                self.workers.give(self.next);
                self.next += 1;
            }
            let taken = self.next - self.workers.pending();
            let Some(content) = self.workers.take()? else {
                return Err(io::Error::other("a block was read that nobody asked for").into());
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
