//! Building a row index, a chunk at a time.

use std::{
    fs::File,
    io::{self, Read, Write},
};

use memchr::memchr_iter;

use crate::{
    Result,
    codec::Input,
    rows::{BOM, CHUNK_BYTES, RowIndex, Summary},
};

/// Newlines are counted in blocks of this size; only a block that holds a
/// checkpoint is searched for positions. Counting is several times faster.
const COUNT_BLOCK: usize = 4096;

/// Where a scan stands.
#[derive(Debug)]
struct Scan {
    offset: u64,
    /// Newlines passed.
    rows: u64,
    /// The row at which the next checkpoint is due.
    due: u64,
    last: u8,
    head: [u8; BOM.len()],
}

impl Scan {
    fn new(offset: u64, rows: u64, interval: u64) -> Self {
        Self { offset, rows, due: rows + interval, last: b'\n', head: [0; BOM.len()] }
    }

    fn feed(&mut self, chunk: &[u8], index: &RowIndex) {
        self.keep_head(chunk);
        for block in chunk.chunks(COUNT_BLOCK) {
            let newlines = memchr_iter(b'\n', block).count() as u64;
            if self.rows + newlines < self.due {
                self.rows += newlines;
            } else {
                self.pass_checkpoints(block, index);
            }
            self.offset += block.len() as u64;
        }
        if let Some(&last) = chunk.last() {
            self.last = last;
        }
        index.publish(self.rows, self.offset);
    }

    fn pass_checkpoints(&mut self, block: &[u8], index: &RowIndex) {
        for newline in memchr_iter(b'\n', block) {
            self.rows += 1;
            if self.rows == self.due {
                let next_row = self.offset + newline as u64 + 1;
                index.push(next_row);
                index.publish(self.rows, next_row);
                self.due += index.interval();
            }
        }
    }

    fn keep_head(&mut self, chunk: &[u8]) {
        if let Ok(at) = usize::try_from(self.offset)
            && at < self.head.len()
        {
            let count = chunk.len().min(self.head.len() - at);
            self.head[at..at + count].copy_from_slice(&chunk[..count]);
        }
    }

    fn summary(&self, began_with_bom: bool) -> Summary {
        let terminated = self.last == b'\n';
        Summary {
            total_rows: self.rows + u64::from(!terminated),
            logical_size: self.offset,
            last_row_terminated: terminated,
            bom: began_with_bom || self.head == BOM,
        }
    }
}

/// A row index under construction.
///
/// Each [`IndexBuild::step`] reads one chunk, so the caller can stop between two of them.
pub struct IndexBuild {
    input: Input,
    scan: Scan,
    buffer: Vec<u8>,
    copy: Option<File>,
}

impl IndexBuild {
    /// Scan `input`, which begins where `index` ends: at byte 0 for a new index.
    /// The decoded bytes are written to `copy` as well.
    pub fn new(input: Input, index: &RowIndex, copy: Option<File>) -> Self {
        let scan = Scan::new(index.scanned(), index.total_rows(), index.interval());
        Self { input, scan, buffer: vec![0; CHUNK_BYTES], copy }
    }

    /// Read one chunk into `index`; false when the input has ended and the index is complete.
    ///
    /// # Errors
    /// An error of reading or decoding; rows found before stay in the index.
    pub fn step(&mut self, index: &RowIndex) -> Result<bool> {
        let count = match self.input.read(&mut self.buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            result => result?,
        };
        if count == 0 {
            index.finish(self.scan.summary(index.summary().bom));
            return Ok(false);
        }
        let chunk = &self.buffer[..count];
        // The copy comes first: a row that is in the index can be read.
        if let Some(copy) = &mut self.copy {
            copy.write_all(chunk)?;
        }
        self.scan.feed(chunk, index);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    /// Hands out at most `step` bytes a read.
    struct Trickle(Cursor<Vec<u8>>, usize);

    impl Read for Trickle {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = buffer.len().min(self.1);
            self.0.read(&mut buffer[..count])
        }
    }

    fn indexed(data: &[u8], interval: u64, step: usize) -> RowIndex {
        let index = RowIndex::new(interval);
        let input = Box::new(Trickle(Cursor::new(data.to_vec()), step));
        let mut build = IndexBuild::new(input, &index, None);
        while build.step(&index).unwrap() {}
        index
    }

    fn numbered(rows: u32) -> String {
        let lines: Vec<_> = (0..rows).map(|id| format!("{{\"id\": {id}}}\n")).collect();
        lines.concat()
    }

    /// Row starts, by the definition.
    fn slow_starts(data: &[u8]) -> Vec<u64> {
        let mut starts = vec![0];
        for (at, _) in data.iter().enumerate().filter(|&(_, &byte)| byte == b'\n') {
            starts.push(at as u64 + 1);
        }
        starts
    }

    #[test]
    fn an_empty_file_has_no_rows_and_one_checkpoint() {
        let index = indexed(b"", 1000, 1);
        assert_eq!(index.total_rows(), 0);
        assert_eq!(index.checkpoints().unwrap(), [0]);
        assert!(index.complete() && index.summary().last_row_terminated);
    }

    #[test]
    fn a_last_row_without_newline_counts() {
        let index = indexed(b"{\"id\": 1}", 1000, 4);
        assert_eq!(index.total_rows(), 1);
        assert_eq!(index.checkpoints().unwrap(), [0]);
        assert!(!index.summary().last_row_terminated);
    }

    #[test]
    fn ten_thousand_rows_have_their_checkpoints_where_they_should_be() {
        let data = numbered(10_000);
        let index = indexed(data.as_bytes(), 1000, 1 << 20);
        assert_eq!(index.total_rows(), 10_000);
        assert_eq!(index.checkpoint(999).unwrap(), (0, 999));
        assert_eq!(index.checkpoint(1000).unwrap(), (11_890, 0));
        assert_eq!(index.checkpoint(1001).unwrap(), (11_890, 1));
        assert_eq!(index.checkpoint(u64::MAX).unwrap(), (data.len() as u64, u64::MAX - 10_000));
        assert_eq!(index.checkpoints().unwrap().len(), 11);
    }

    #[test]
    fn a_resumed_index_equals_one_built_at_once() {
        let data = numbered(2_500);
        let (before, grown) = (&data.as_bytes()[..20_000], data.as_bytes());
        let first = indexed(before, 1000, 777);
        let resumed = first.resume().unwrap();
        let rest = grown[usize::try_from(resumed.scanned()).unwrap()..].to_vec();
        let mut build = IndexBuild::new(Box::new(Cursor::new(rest)), &resumed, None);
        while build.step(&resumed).unwrap() {}
        let whole = indexed(grown, 1000, 1 << 20);
        assert_eq!(resumed.checkpoints().unwrap(), whole.checkpoints().unwrap());
        assert_eq!(resumed.summary(), whole.summary());
    }

    proptest! {
        #[test]
        fn checkpoints_are_the_starts_of_every_nth_row(
            data in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..9_000),
            interval in 1_u64..9,
            step in 1_usize..5_000,
        ) {
            let index = indexed(&data, interval, step);
            let starts = slow_starts(&data);
            let every: Vec<u64> = starts.iter().copied().step_by(usize::try_from(interval).unwrap()).collect();
            prop_assert_eq!(index.checkpoints().unwrap(), every);
            let rows = starts.len() as u64 - u64::from(data.is_empty() || data.ends_with(b"\n"));
            prop_assert_eq!(index.total_rows(), rows);
            prop_assert_eq!(index.summary().bom, data.starts_with(BOM));
        }
    }
}
