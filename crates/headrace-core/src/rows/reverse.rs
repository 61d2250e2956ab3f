//! Rows from the end.

use memchr::memrchr_iter;

use crate::{Result, input::DataFile};

/// Bytes read at a time, backwards.
const WINDOW_BYTES: usize = 64 * 1024;

/// A run of whole rows that ends at a known place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Where its first row begins.
    pub offset: u64,
    /// How many rows it holds.
    pub rows: u64,
}

/// The run of rows that ends at `end`, the end of the file or the start of a row:
/// `max_rows` of them, fewer once it is longer than `max_bytes` or reaches `start`,
/// which is the start of a row, but at least one.
///
/// # Errors
/// Errors of reading.
pub fn reach_back(
    file: &DataFile,
    start: u64,
    end: u64,
    max_rows: u64,
    max_bytes: u64,
) -> Result<Reach> {
    let mut reach = Reach { offset: end, rows: 0 };
    if end <= start || max_rows == 0 {
        return Ok(reach);
    }
    let mut window = vec![0; WINDOW_BYTES];
    // The newline that ends the last row of the run begins no row of it.
    let mut top = end - 1;
    while top > start {
        let bottom = top.saturating_sub(WINDOW_BYTES as u64).max(start);
        let length = usize::try_from(top - bottom).unwrap_or(WINDOW_BYTES);
        file.read_exact_at(&mut window[..length], bottom)?;
        for newline in memrchr_iter(b'\n', &window[..length]) {
            reach = Reach { offset: bottom + newline as u64 + 1, rows: reach.rows + 1 };
            if reach.rows == max_rows || end - reach.offset >= max_bytes {
                return Ok(reach);
            }
        }
        top = bottom;
    }
    Ok(Reach { offset: start, rows: reach.rows + 1 })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reach(data: &[u8], rows: u64) -> Reach {
        let file = DataFile::new(data.to_vec());
        reach_back(&file, 0, data.len() as u64, rows, u64::MAX).unwrap()
    }

    #[test]
    fn the_last_rows_of_small_files() {
        assert_eq!(reach(b"", 3), Reach { offset: 0, rows: 0 });
        assert_eq!(reach(b"\n", 3), Reach { offset: 0, rows: 1 });
        assert_eq!(reach(b"1\n2\n3", 2), Reach { offset: 2, rows: 2 });
        assert_eq!(reach(b"1\n2\n\n", 1), Reach { offset: 4, rows: 1 });
        assert_eq!(reach(b"1\n2", 9), Reach { offset: 0, rows: 2 });
    }

    #[test]
    fn nothing_before_the_start_is_looked_at() {
        let file = DataFile::new(b"1\n2\n3\n4".to_vec());
        assert_eq!(reach_back(&file, 4, 7, 9, u64::MAX).unwrap(), Reach { offset: 4, rows: 2 });
        assert_eq!(reach_back(&file, 7, 7, 9, u64::MAX).unwrap(), Reach { offset: 7, rows: 0 });
        assert_eq!(file.bytes_read(), 2);
    }

    #[test]
    fn little_is_read_of_a_large_file() {
        let data = b"{\"id\": 1234567, \"name\": \"a person\"}\n".repeat(100_000);
        let file = DataFile::new(data);
        let end = file.stat().unwrap().size;
        assert_eq!(reach_back(&file, 0, end, 100, u64::MAX).unwrap().rows, 100);
        assert_eq!(file.bytes_read(), WINDOW_BYTES as u64);
    }

    proptest! {
        #[test]
        fn runs_joined_from_the_end_are_the_whole_file(
            lengths in proptest::collection::vec(0_usize..200_000, 0..8),
            terminated in any::<bool>(),
            max_rows in 1_u64..4,
        ) {
            let mut data: Vec<u8> = lengths.iter().flat_map(|&length| [vec![b'x'; length], vec![b'\n']].concat()).collect();
            if !terminated {
                data.extend(b"end");
            }
            let file = DataFile::new(data.clone());
            let (mut end, mut rows) = (data.len() as u64, 0);
            while end > 0 {
                let reach = reach_back(&file, 0, end, max_rows, u64::MAX).unwrap();
                prop_assert!(reach.rows >= 1 && reach.rows <= max_rows);
                let run = &data[usize::try_from(reach.offset).unwrap()..usize::try_from(end).unwrap()];
                prop_assert_eq!(run.split_inclusive(|&byte| byte == b'\n').count() as u64, reach.rows);
                rows += reach.rows;
                end = reach.offset;
            }
            prop_assert_eq!(rows, lengths.len() as u64 + u64::from(!terminated));
        }
    }
}
