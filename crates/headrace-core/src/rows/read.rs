//! Rows by number, and counting rows by where they begin.

use std::{fs::File, io, path::Path, sync::Arc};

use memchr::memchr_iter;

use crate::{
    Error, ErrorKind, Result,
    input::{DataFile, RangeReader},
    rows::{CHUNK_BYTES, RowBatch, RowIndex, RowStream},
};

/// How much one call may read.
#[derive(Clone, Copy, Debug)]
pub struct ReadLimits {
    /// Longest row.
    pub max_line: usize,
    /// Most rows.
    pub max_rows: usize,
    /// Most bytes of rows, about.
    pub max_bytes: usize,
}

/// The rows from `first` on, from the nearest checkpoint of `index`.
///
/// # Errors
/// Errors of reading; [`crate::ErrorKind::Sidecar`] where no row begins at the checkpoint.
pub fn read_at_row(
    file: &Arc<DataFile>,
    index: &RowIndex,
    size: u64,
    first: u64,
    limits: &ReadLimits,
) -> Result<RowBatch> {
    let mut batch = RowBatch::default();
    let (offset, skip) = index.checkpoint(first)?;
    // One byte more in front proves that a row begins where the checkpoint says.
    let from = if index.proven() { offset } else { offset.saturating_sub(1) };
    let reader = RangeReader::new(Arc::clone(file), from, size);
    let mut stream = RowStream::new(reader, from, first - skip, u64::MAX, limits.max_line);
    if offset > from && !stream.skip_newline()? {
        return Err(Error::at(ErrorKind::Sidecar, offset, "no row begins at the checkpoint"));
    }
    stream.skip_rows(skip)?;
    stream.next_batch(&mut batch, limits.max_rows, limits.max_bytes)?;
    Ok(batch)
}

/// How many rows of a plain file of `size` bytes begin in `[start, end)`.
///
/// # Errors
/// Errors of reading.
pub fn count_starts(file: &DataFile, size: u64, start: u64, end: u64) -> Result<u64> {
    // A row begins at byte 0 and behind every newline but one that ends the file.
    let end = end.min(size);
    if start >= end {
        return Ok(0);
    }
    let mut rows = u64::from(start == 0);
    let mut offset = start.saturating_sub(1);
    let mut buffer = vec![0; CHUNK_BYTES];
    while offset < end - 1 {
        let length = usize::try_from(end - 1 - offset).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        file.read_exact_at(&mut buffer[..length], offset)?;
        rows += memchr_iter(b'\n', &buffer[..length]).count() as u64;
        offset += length as u64;
    }
    Ok(rows)
}

/// A file in `dir` without a name, which vanishes with its last user.
///
/// # Errors
/// Whatever the operating system says.
pub fn nameless_file(dir: &Path) -> io::Result<File> {
    tempfile::tempfile_in(dir)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;
    use crate::rows::IndexBuild;

    fn indexed(data: &[u8], interval: u64) -> RowIndex {
        let index = RowIndex::new(interval);
        let mut build = IndexBuild::new(Box::new(Cursor::new(data.to_vec())), &index, None);
        while build.step(&index).unwrap() {}
        index
    }

    const LIMITS: ReadLimits = ReadLimits { max_line: 1000, max_rows: 3, max_bytes: 1 << 20 };

    #[test]
    fn a_checkpoint_inside_a_row_is_refused() {
        let index = indexed(b"1\n2\n3\n4\n", 2);
        let other = Arc::new(DataFile::new(b"1\n2 3\n4\n".to_vec()));
        let error = read_at_row(&other, &index, 8, 2, &LIMITS).unwrap_err();
        assert!(matches!(error, Error::At { kind: ErrorKind::Sidecar, offset: 4, .. }));
    }

    proptest! {
        #[test]
        fn any_row_is_the_one_counted_from_the_front(
            data in proptest::collection::vec(prop_oneof![3 => Just(b'a'), 1 => Just(b'\n'), 1 => Just(b'\r')], 0..300),
            interval in 1_u64..7,
            first in 0_u64..90,
        ) {
            let index = indexed(&data, interval);
            let file = Arc::new(DataFile::new(data.clone()));
            let found = read_at_row(&file, &index, data.len() as u64, first, &LIMITS).unwrap();
            let mut stream = RowStream::new(&data[..], 0, 0, u64::MAX, 1000);
            let mut expected = RowBatch::default();
            stream.next_batch(&mut expected, 1000, 1 << 20).unwrap();
            let expected: Vec<_> = expected.iter().map(|row| (row.number, row.offset, row.content)).collect();
            let expected: Vec<_> = expected.into_iter().skip(usize::try_from(first).unwrap()).take(3).collect();
            let found: Vec<_> = found.iter().map(|row| (row.number, row.offset, row.content)).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn counts_of_parts_add_up(
            data in proptest::collection::vec(prop_oneof![2 => Just(b'a'), 1 => Just(b'\n')], 0..200),
            size in 1_usize..40,
        ) {
            let file = DataFile::new(data.clone());
            let total = data.len() as u64;
            let parts: u64 = (0..data.len()).step_by(size)
                .map(|start| count_starts(&file, total, start as u64, (start + size) as u64).unwrap()).sum();
            prop_assert_eq!(parts, indexed(&data, 10).total_rows());
        }
    }
}
