//! Rows in order, from any reader.

use std::{
    cell::Cell,
    io::{self, Read},
    mem,
};

use memchr::{memchr, memchr_iter};

use crate::{
    Error, Result,
    rows::{BOM, CHUNK_BYTES},
};

/// The first read is small, since often one row is wanted.
const FIRST_READ: usize = 64 * 1024;

/// A buffer over this size is given back to the system.
const KEPT_BUFFER: usize = 1 << 20;

thread_local! {
    /// The buffer of the last stream: a look-up of a single row should not allocate one each time,
    /// nor should each fragment of a file.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// One row as it stands in the stream's buffer.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The row, counted from the first row of the stream.
    pub number: u64,
    /// Of the first byte, after decompression.
    pub offset: u64,
    /// Without line ending and byte order mark; empty where the row is too long.
    pub content: &'a [u8],
    /// The content as text, where it is known to be UTF-8 already.
    pub text: Option<&'a str>,
    /// The length of a row over the limit.
    pub too_long: Option<u64>,
    /// Whether a byte order mark stands before the content.
    pub marked: bool,
}

impl<'a> Row<'a> {
    /// A row that is neither too long nor behind a byte order mark.
    pub fn new(number: u64, offset: u64, content: &'a [u8]) -> Self {
        Self { number, offset, content, text: None, too_long: None, marked: false }
    }

    /// Of the first byte of the content.
    pub fn content_offset(&self) -> u64 {
        self.offset + if self.marked { BOM.len() as u64 } else { 0 }
    }
}

/// Splits a reader into rows; no more than the longest allowed row is in memory.
///
/// ```
/// # use headrace_core::rows::RowStream;
/// let mut rows = RowStream::new(&b"{\"id\": 1}\r\n\n[2]"[..], 0, 0, u64::MAX, 1 << 20);
/// let mut contents = Vec::new();
/// while let Some(row) = rows.next_row()? {
///     contents.push((row.offset, row.content.to_vec()));
/// }
/// let expected = [(0, &b"{\"id\": 1}"[..]), (11, b""), (12, b"[2]")];
/// assert_eq!(contents, expected.map(|(offset, row)| (offset, row.to_vec())));
/// # Ok::<(), headrace_core::Error>(())
/// ```
pub struct RowStream<R> {
    reader: R,
    buffer: Vec<u8>,
    begin: usize,
    filled: usize,
    offset: u64,
    number: u64,
    /// Rows that begin here or later belong to the next fragment.
    end: u64,
    max_line: usize,
    read_size: usize,
    live: bool,
    ends_at_long_row: bool,
    input_ended: bool,
    failure: Option<Error>,
}

impl<R: Read> RowStream<R> {
    /// A stream of the rows of `reader`, whose first byte is at `offset` and begins row `number`,
    /// up to the last row that begins before `end`.
    pub fn new(reader: R, offset: u64, number: u64, end: u64, max_line: usize) -> Self {
        Self {
            reader,
            buffer: BUFFER.take(),
            begin: 0,
            filled: 0,
            offset,
            number,
            end,
            max_line,
            read_size: FIRST_READ,
            live: false,
            ends_at_long_row: false,
            input_ended: false,
            failure: None,
        }
    }

    /// Where the next row begins.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Give out rows as they come: a batch never waits for input while it has rows.
    #[must_use]
    pub fn live(mut self) -> Self {
        self.live = true;
        self
    }

    /// End with the first row over the limit, as soon as it is: the rest of it may have no end.
    /// Its length is that of what was read.
    #[must_use]
    pub fn ending_at_long_row(mut self) -> Self {
        self.ends_at_long_row = true;
        self
    }

    /// Skip everything up to and with the next newline: a reader that was set
    /// one byte before a fragment then stands at the fragment's first own row. A row that
    /// goes on behind the end of the fragment is not read.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn skip_partial_row(&mut self) -> Result<()> {
        while self.offset < self.end {
            let ahead = &self.buffer[self.begin..self.filled];
            let newline = memchr(b'\n', ahead);
            let passed = newline.map_or(ahead.len(), |at| at + 1);
            self.begin += passed;
            self.offset += passed as u64;
            if newline.is_some() || !self.fill()? {
                break;
            }
        }
        Ok(())
    }

    /// Skip one newline, if that is what comes next.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn skip_newline(&mut self) -> Result<bool> {
        if self.begin == self.filled {
            self.fill()?;
        }
        let found = self.buffer[self.begin..self.filled].first() == Some(&b'\n');
        if found {
            self.begin += 1;
            self.offset += 1;
        }
        Ok(found)
    }

    /// Skip `count` rows, or all there are.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn skip_rows(&mut self, count: u64) -> Result<()> {
        let mut left = count;
        while left > 0 {
            let ahead = &self.buffer[self.begin..self.filled];
            let mut last = None;
            for newline in
                memchr_iter(b'\n', ahead).take(usize::try_from(left).unwrap_or(usize::MAX))
            {
                last = Some(newline);
                left -= 1;
            }
            let passed = if left == 0 { last.map_or(0, |at| at + 1) } else { ahead.len() };
            self.begin += passed;
            self.offset += passed as u64;
            if left > 0 && !self.fill()? {
                break;
            }
        }
        self.number += count;
        Ok(())
    }

    /// The next row; `None` after the last.
    ///
    /// # Errors
    /// An error of reading, after all whole rows before the failure.
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>> {
        if self.offset >= self.end {
            return Ok(None);
        }
        let mut searched = 0;
        loop {
            let ahead = &self.buffer[self.begin..self.filled];
            if let Some(at) = memchr(b'\n', &ahead[searched..]) {
                return Ok(Some(self.take(searched + at, 1, 0)));
            }
            searched = ahead.len();
            // Two bytes more than the limit may still be a row at the limit: its `\r\n`.
            if searched > self.max_line.saturating_add(BOM.len() + 2) {
                return self.take_too_long().map(Some);
            }
            if !self.fill()? {
                return Ok((searched > 0).then(|| self.take(searched, 0, 0)));
            }
        }
    }

    /// Skip the rest of a row that does not fit, keeping nothing of it.
    fn take_too_long(&mut self) -> Result<Row<'_>> {
        let marked = self.offset == 0 && self.buffer[self.begin..self.filled].starts_with(BOM);
        if self.ends_at_long_row {
            self.input_ended = true;
            self.end = self.offset;
            return Ok(self.take(self.filled - self.begin, 0, 0));
        }
        let mut dropped = 0;
        let (length, ending) = loop {
            let ahead = &self.buffer[self.begin..self.filled];
            if let Some(at) = memchr(b'\n', ahead) {
                break (at, 1);
            }
            // The last byte stays: it may be the `\r` of the line ending.
            dropped += ahead.len() as u64 - 1;
            self.begin = self.filled - 1;
            if !self.fill()? {
                break (1, 0);
            }
        };
        let mut row = self.take(length, ending, dropped);
        if marked && !row.marked {
            // The mark was dropped, and is no part of the row.
            row.marked = true;
            row.too_long = row.too_long.map(|length| length - BOM.len() as u64);
        }
        Ok(row)
    }

    /// The row of `length` bytes at the front of the buffer, behind `dropped` bytes that were
    /// thrown away; `ending` is 1 if a newline follows.
    fn take(&mut self, length: usize, ending: usize, dropped: u64) -> Row<'_> {
        let mut content = &self.buffer[self.begin..self.begin + length];
        if ending == 1 && content.last() == Some(&b'\r') {
            content = &content[..length - 1];
        }
        let marked = self.offset == 0 && dropped == 0 && content.starts_with(BOM);
        if marked {
            content = &content[BOM.len()..];
        }
        let whole = content.len() as u64 + dropped;
        let too_long = (whole > self.max_line as u64).then_some(whole);
        if too_long.is_some() {
            content = &[];
        }
        let (number, offset) = (self.number, self.offset);
        let row = Row { number, offset, content, text: None, too_long, marked };
        self.begin += length + ending;
        self.offset += dropped + (length + ending) as u64;
        self.number += 1;
        row
    }

    /// Read more behind what is there; false at the end of the input.
    fn fill(&mut self) -> Result<bool> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if self.input_ended {
            return Ok(false);
        }
        if self.begin > 0 {
            self.buffer.copy_within(self.begin..self.filled, 0);
            self.filled -= self.begin;
            self.begin = 0;
        }
        let target = self.filled + self.read_size;
        if self.buffer.len() < target {
            self.buffer.resize(target, 0);
        }
        self.read_size = (self.read_size * 2).min(CHUNK_BYTES);
        loop {
            match self.reader.read(&mut self.buffer[self.filled..target]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
                Ok(count) => {
                    self.filled += count;
                    self.input_ended = count == 0;
                    return Ok(count > 0);
                }
            }
        }
    }

    /// Whether a whole row has been read already.
    fn row_is_there(&self) -> bool {
        memchr(b'\n', &self.buffer[self.begin..self.filled]).is_some()
    }

    /// Add rows to `batch` until it holds `max_rows` or `max_bytes`; false when there are none.
    ///
    /// # Errors
    /// Errors of reading; the rows before the error come first, in one batch.
    pub fn next_batch(
        &mut self,
        batch: &mut RowBatch,
        max_rows: usize,
        max_bytes: usize,
    ) -> Result<bool> {
        batch.clear(self.number);
        while batch.len() < max_rows && batch.data.len() < max_bytes {
            if self.live && !batch.is_empty() && !self.row_is_there() {
                break;
            }
            match self.next_row() {
                Ok(Some(row)) => batch.push(row),
                Ok(None) => break,
                Err(error) if batch.is_empty() => return Err(error),
                Err(error) => {
                    self.failure = Some(error);
                    break;
                }
            }
        }
        Ok(!batch.is_empty())
    }
}

impl<R> Drop for RowStream<R> {
    fn drop(&mut self) {
        if self.buffer.len() <= KEPT_BUFFER {
            // A thread that ends has none any more.
            let _ = BUFFER.try_with(|kept| kept.set(mem::take(&mut self.buffer)));
        }
    }
}

/// Some rows, copied out of the stream.
#[derive(Debug, Default)]
pub struct RowBatch {
    /// The number of the first row.
    pub first_row: u64,
    /// All contents, one behind the other.
    pub data: Vec<u8>,
    /// Where each content ends in `data`.
    pub ends: Vec<usize>,
    /// Of each row's first byte in the source, after decompression.
    pub offsets: Vec<u64>,
    /// Position in the batch and length of each row over the limit; its content is empty.
    pub too_long: Vec<(usize, u64)>,
    /// Whether a byte order mark stands before the first row.
    pub marked: bool,
}

impl RowBatch {
    /// How many rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Forget the rows, keep the memory.
    pub fn clear(&mut self, first_row: u64) {
        self.first_row = first_row;
        self.data.clear();
        self.ends.clear();
        self.offsets.clear();
        self.too_long.clear();
        self.marked = false;
    }

    /// Copy a row in.
    pub fn push(&mut self, row: Row<'_>) {
        if let Some(length) = row.too_long {
            self.too_long.push((self.len(), length));
        }
        self.marked |= row.marked;
        self.data.extend_from_slice(row.content);
        self.ends.push(self.data.len());
        self.offsets.push(row.offset);
    }

    /// Rows `start` to `start + count` of this batch, as far as there are any.
    #[must_use]
    pub fn slice(&self, start: usize, count: usize) -> Self {
        let start = start.min(self.len());
        let end = start.saturating_add(count).min(self.len());
        let from = if start == 0 { 0 } else { self.ends[start - 1] };
        let to = if end == 0 { 0 } else { self.ends[end - 1] };
        let long = self.too_long.iter().filter(|long| (start..end).contains(&long.0));
        Self {
            first_row: self.first_row + start as u64,
            data: self.data[from..to].to_vec(),
            ends: self.ends[start..end].iter().map(|at| at - from).collect(),
            offsets: self.offsets[start..end].to_vec(),
            too_long: long.map(|&(at, length)| (at - start, length)).collect(),
            marked: self.marked && start == 0 && end > 0,
        }
    }

    /// The rows again.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Row<'_>> + ExactSizeIterator {
        (0..self.len()).map(|position| self.row(position))
    }

    /// The rows, with their text where all rows are UTF-8: that is found out faster for all of them
    /// than for each.
    pub fn texts(&self) -> impl DoubleEndedIterator<Item = Row<'_>> + ExactSizeIterator {
        let all = simdutf8::basic::from_utf8(&self.data).ok();
        (0..self.len()).map(move |position| {
            let row = self.row(position);
            let end = self.ends[position];
            Row { text: all.and_then(|all| all.get(end - row.content.len()..end)), ..row }
        })
    }

    /// The row at a position, which must be in the batch.
    pub fn row(&self, position: usize) -> Row<'_> {
        let start = if position == 0 { 0 } else { self.ends[position - 1] };
        let long = self.too_long.binary_search_by_key(&position, |long| long.0);
        Row {
            number: self.first_row + position as u64,
            offset: self.offsets[position],
            content: &self.data[start..self.ends[position]],
            text: None,
            too_long: long.ok().map(|at| self.too_long[at].1),
            marked: self.marked && position == 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ErrorKind;
    use proptest::prelude::*;

    use super::*;

    type Owned = (u64, u64, Vec<u8>, Option<u64>);

    fn rows(stream: &mut RowStream<impl Read>) -> Vec<Owned> {
        let mut found = Vec::new();
        while let Some(row) = stream.next_row().unwrap() {
            found.push((row.number, row.offset, row.content.to_vec(), row.too_long));
        }
        found
    }

    fn rows_of(data: &[u8], max_line: usize) -> Vec<Owned> {
        rows(&mut RowStream::new(data, 0, 0, u64::MAX, max_line))
    }

    /// By the definition, with everything in memory.
    fn slow_rows(data: &[u8], max_line: usize) -> Vec<Owned> {
        let mut found = Vec::new();
        let mut offset = 0;
        for line in data.split_inclusive(|&byte| byte == b'\n') {
            let content = line
                .strip_suffix(b"\n")
                .map_or(line, |body| body.strip_suffix(b"\r").unwrap_or(body));
            let content =
                if offset == 0 { content.strip_prefix(BOM).unwrap_or(content) } else { content };
            let too_long = (content.len() > max_line).then_some(content.len() as u64);
            let kept = if too_long.is_some() { Vec::new() } else { content.to_vec() };
            found.push((found.len() as u64, offset, kept, too_long));
            offset += line.len() as u64;
        }
        found
    }

    #[test]
    fn blank_lines_are_rows_and_the_tail_is_not() {
        let contents: Vec<_> =
            rows_of(b"\n\n{}\n\n\n[1]\r\n", 100).into_iter().map(|row| row.2).collect();
        assert_eq!(contents, [&b""[..], b"", b"{}", b"", b"", b"[1]"]);
    }

    #[test]
    fn a_mark_counts_only_at_byte_zero() {
        let found = rows_of(b"\xef\xbb\xbf1\n\xef\xbb\xbf2", 100);
        assert_eq!(found[0], (0, 0, b"1".to_vec(), None));
        assert_eq!(found[1], (1, 5, b"\xef\xbb\xbf2".to_vec(), None));
    }

    #[test]
    fn a_row_over_the_limit_leaves_its_neighbours_alone() {
        let data = [b"1\n".to_vec(), vec![b'x'; 3_000_000], b"\r\n2".to_vec()].concat();
        let found = rows_of(&data, 1000);
        assert_eq!(found[0].2, b"1");
        assert_eq!(found[1], (1, 2, vec![], Some(3_000_000)));
        assert_eq!(found[2], (2, 3_000_004, b"2".to_vec(), None));
    }

    /// A line without end, of which little may be read.
    struct Endless(usize);

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(buffer.len()).expect("no more is read");
            buffer.fill(0);
            Ok(buffer.len())
        }
    }

    #[test]
    fn an_endless_row_ends_the_stream_behind_its_limit() {
        let input = (&b"1\n"[..]).chain(Endless(3 << 20));
        let mut stream = RowStream::new(input, 0, 0, u64::MAX, 1 << 20).ending_at_long_row();
        let found = rows(&mut stream);
        assert_eq!((found.len(), found[0].2.as_slice(), found[1].1), (2, &b"1"[..], 2));
        assert!(found[1].3.unwrap() > 1 << 20);
        let mut stream = RowStream::new(&b"long\n2\n"[..], 0, 0, u64::MAX, 1).ending_at_long_row();
        assert_eq!(rows(&mut stream)[0].3, Some(4));
    }

    /// Fails after its bytes are out.
    struct Broken<'a>(&'a [u8]);

    impl Read for Broken<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(Error::at(ErrorKind::Damaged, 9, "cut").into()),
                count => Ok(count),
            }
        }
    }

    #[test]
    fn whole_rows_come_before_the_failure() {
        let mut stream = RowStream::new(Broken(b"1\n2\n3"), 0, 0, u64::MAX, 100);
        let mut batch = RowBatch::default();
        assert!(stream.next_batch(&mut batch, 100, 100).unwrap());
        assert_eq!(batch.data, b"12");
        let error = stream.next_batch(&mut batch, 100, 100).unwrap_err();
        assert!(matches!(error, Error::At { kind: ErrorKind::Damaged, offset: 9, .. }));
    }

    /// Hands out one piece a read.
    struct Pieces(Vec<&'static [u8]>);

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let piece = if self.0.is_empty() { &[] } else { self.0.remove(0) };
            buffer[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    #[test]
    fn a_live_stream_gives_rows_as_they_come() {
        let pieces = Pieces(vec![b"1\n2\n3", b"3\n", b"4"]);
        let mut stream = RowStream::new(pieces, 0, 0, u64::MAX, 100).live();
        let mut batch = RowBatch::default();
        let mut came = Vec::new();
        while stream.next_batch(&mut batch, 100, 100).unwrap() {
            came.push(batch.iter().map(|row| row.content.to_vec()).collect::<Vec<_>>());
        }
        assert_eq!(
            came,
            [vec![b"1".to_vec(), b"2".to_vec()], vec![b"33".to_vec()], vec![b"4".to_vec()]]
        );
    }

    #[test]
    fn a_slice_keeps_numbers_offsets_and_long_rows() {
        let mut stream = RowStream::new(&b"1\ntoo long\n3\n"[..], 0, 0, u64::MAX, 3);
        let mut batch = RowBatch::default();
        stream.next_batch(&mut batch, 10, 100).unwrap();
        let part = batch.slice(1, 9);
        let found: Vec<_> =
            part.iter().map(|row| (row.number, row.offset, row.content, row.too_long)).collect();
        assert_eq!(found, [(1, 2, &b""[..], Some(8)), (2, 11, &b"3"[..], None)]);
    }

    proptest! {
        #[test]
        fn rows_are_what_the_definition_says(
            data in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(0xef), Just(0xbb), Just(0xbf), Just(b'a')], 0..400),
            max_line in 0_usize..20,
        ) {
            prop_assert_eq!(rows_of(&data, max_line), slow_rows(&data, max_line));
        }

        #[test]
        fn fragments_share_out_the_rows(
            data in proptest::collection::vec(prop_oneof![3 => Just(b'a'), 1 => Just(b'\n')], 1..200),
            size in 1_usize..50,
        ) {
            let mut found = Vec::new();
            for start in (0..data.len()).step_by(size) {
                let end = (start + size) as u64;
                let from = start.saturating_sub(1);
                let mut stream = RowStream::new(&data[from..], from as u64, 0, end, 1000);
                if start > 0 {
                    stream.skip_partial_row().unwrap();
                }
                found.extend(rows(&mut stream).into_iter().map(|row| (row.1, row.2)));
            }
            let expected: Vec<_> = slow_rows(&data, 1000).into_iter().map(|row| (row.1, row.2)).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn skipping_equals_reading(
            data in proptest::collection::vec(prop_oneof![3 => Just(b'a'), 1 => Just(b'\n')], 0..300),
            count in 0_u64..80,
        ) {
            let mut stream = RowStream::new(&data[..], 0, 0, u64::MAX, 1000);
            stream.skip_rows(count).unwrap();
            let expected: Vec<_> = slow_rows(&data, 1000).into_iter().skip(usize::try_from(count).unwrap()).collect();
            prop_assert_eq!(rows(&mut stream), expected);
        }
    }
}
