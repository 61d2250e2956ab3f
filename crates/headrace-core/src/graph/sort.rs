//! Sorting numbers in limited memory.
//!
//! What does not fit is written as a sorted run to a file without a name. The order is that of
//! the numbers, and does not depend on where the runs were cut.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
    fs::File,
    os::unix::fs::FileExt,
    path::PathBuf,
};

use crate::{Result, rows::nameless_file, sealed::chunk};

/// Three numbers that are sorted by the first, then by the second, then by the third.
pub(super) type Triple = [u64; 3];

const BYTES: usize = size_of::<Triple>();
/// Triples that are read at a time of each run that is merged.
const READ: usize = 1024;
const WRITE: usize = 8192;

/// Triples in no order yet.
pub(super) struct Sorter {
    directory: PathBuf,
    most: usize,
    held: Vec<Triple>,
    file: Option<File>,
    /// Bytes in the file.
    written: u64,
    /// Where each run begins and ends in the file.
    stored: Vec<(u64, u64)>,
}

impl Sorter {
    /// Triples that take about `budget` bytes of memory, and more room in `directory`.
    pub(super) fn new(directory: PathBuf, budget: usize) -> Self {
        let most = (budget / BYTES).max(READ);
        Self { directory, most, held: Vec::new(), file: None, written: 0, stored: Vec::new() }
    }

    pub(super) fn push(&mut self, triple: Triple) -> Result<()> {
        if self.held.len() >= self.most {
            self.spill()?;
        }
        self.held.push(triple);
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        let mut held = std::mem::take(&mut self.held);
        held.sort_unstable();
        let file = self.room()?;
        let run = Self::write(&file, self.written, held.iter().copied().map(Ok))?;
        self.written = run.1;
        self.stored.push(run);
        held.clear();
        self.held = held;
        Ok(())
    }

    /// The file of all runs; a second handle on it, since reading and writing are by position.
    fn room(&mut self) -> Result<File> {
        let file = match self.file.take() {
            Some(file) => file,
            None => nameless_file(&self.directory)?,
        };
        let second = file.try_clone()?;
        self.file = Some(file);
        Ok(second)
    }

    fn write(
        file: &File,
        start: u64,
        triples: impl Iterator<Item = Result<Triple>>,
    ) -> Result<(u64, u64)> {
        let mut at = start;
        let mut buffer = Vec::with_capacity(WRITE * BYTES);
        for triple in triples {
            buffer.extend(triple?.iter().flat_map(|number| number.to_le_bytes()));
            if buffer.len() >= WRITE * BYTES {
                file.write_all_at(&buffer, at)?;
                at += buffer.len() as u64;
                buffer.clear();
            }
        }
        file.write_all_at(&buffer, at)?;
        Ok((start, at + buffer.len() as u64))
    }

    /// Prepare to be read in order: all in memory, or all in no more runs than one merge can read.
    pub(super) fn finish(&mut self) -> Result<()> {
        if self.stored.is_empty() {
            self.held.sort_unstable();
            return Ok(());
        }
        self.spill()?;
        self.held = Vec::new();
        let at_once = (self.most / (2 * READ)).clamp(2, 256);
        while self.stored.len() > at_once {
            let rest = self.stored.split_off(at_once);
            let file = self.room()?;
            let run = Self::write(&file, self.written, self.in_order()?)?;
            self.written = run.1;
            self.stored = rest;
            self.stored.push(run);
        }
        Ok(())
    }

    /// The records in order, after [`Self::finish`]; may be called again.
    pub(super) fn in_order(&self) -> Result<InOrder<'_>> {
        let stored = self.file.iter().flat_map(|file| {
            self.stored.iter().map(move |&(at, end)| Run {
                file: Some((file, at, end)),
                triples: Vec::new(),
                held: &[],
                next: 0,
            })
        });
        let memory = Run { file: None, triples: Vec::new(), held: &self.held, next: 0 };
        let mut runs: Vec<_> = stored.chain([memory]).collect();
        let mut heap = BinaryHeap::new();
        for (number, run) in runs.iter_mut().enumerate() {
            heap.extend(run.next()?.map(|triple| Reverse((triple, number))));
        }
        Ok(InOrder { runs, heap })
    }
}

/// Triples of one run, in order.
struct Run<'a> {
    /// The file, and what of it was not read.
    file: Option<(&'a File, u64, u64)>,
    triples: Vec<Triple>,
    /// Those in memory, of a run without a file.
    held: &'a [Triple],
    next: usize,
}

impl Run<'_> {
    fn next(&mut self) -> Result<Option<Triple>> {
        if let Some((file, at, end)) = &mut self.file
            && self.next == self.triples.len()
        {
            let left = usize::try_from(*end - *at).unwrap_or(usize::MAX);
            let mut bytes = vec![0; left.min(READ * BYTES)];
            file.read_exact_at(&mut bytes, *at)?;
            *at += bytes.len() as u64;
            self.next = 0;
            self.triples.clear();
            self.triples.extend(
                bytes
                    .chunks_exact(BYTES)
                    .map(|three| [0, 8, 16].map(|at| u64::from_le_bytes(chunk(three, at)))),
            );
        }
        let all = if self.file.is_some() { &self.triples } else { self.held };
        let triple = all.get(self.next).copied();
        self.next += usize::from(triple.is_some());
        Ok(triple)
    }
}

/// Triples of several runs, in order.
pub(super) struct InOrder<'a> {
    runs: Vec<Run<'a>>,
    heap: BinaryHeap<Reverse<(Triple, usize)>>,
}

impl InOrder<'_> {
    /// The next one, which stays.
    pub(super) fn peek(&self) -> Option<Triple> {
        self.heap.peek().map(|Reverse((triple, _))| *triple)
    }

    fn take(&mut self) -> Result<Option<Triple>> {
        let Some(mut top) = self.heap.peek_mut() else { return Ok(None) };
        let Reverse((triple, run)) = *top;
        match self.runs[run].next()? {
            Some(next) => *top = Reverse((next, run)),
            None => {
                PeekMut::pop(top);
            }
        }
        Ok(Some(triple))
    }
}

impl Iterator for InOrder<'_> {
    type Item = Result<Triple>;

    fn next(&mut self) -> Option<Result<Triple>> {
        self.take().transpose()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_cut_gives_the_same_order(
            numbers in prop::collection::vec((0_u64..50, any::<u64>()), 0..9000),
            most in 1_usize..3000,
        ) {
            let triples = numbers.iter().map(|&(major, minor)| [major, minor, major ^ minor]);
            let mut expected: Vec<_> = triples.clone().collect();
            expected.sort_unstable();
            let mut sorter = Sorter::new(std::env::temp_dir(), 0);
            sorter.most = most;
            for triple in triples {
                sorter.push(triple).unwrap();
            }
            sorter.finish().unwrap();
            prop_assert!(sorter.stored.len() <= 2);
            for _ in 0..2 {
                let mut sorted = sorter.in_order().unwrap();
                prop_assert_eq!(sorted.peek(), expected.first().copied());
                let all: Vec<_> = sorted.by_ref().map(Result::unwrap).collect();
                prop_assert_eq!(&all, &expected);
                prop_assert_eq!(sorted.peek(), None);
            }
        }
    }
}
