//! Lines that are compared with their entries as they are read, against reading all of them first.

use std::{io::Read, sync::Arc};

use proptest::prelude::*;

use super::*;
use crate::{
    Error, ErrorKind,
    input::{DataFile, RangeReader},
    json::Limits,
    query::Watch,
};

const PLACE: Place = Place { salt: 5, file_number: 7, base: 100, rows: 0, end: 0 };

fn index_of(data: &[u8]) -> (Vec<u8>, u32) {
    let mut checking = Checking::new(Limits::default(), 1 << 20, None, || Watch::new(|| false));
    let (lines, refusal) = Lines::of(data, &mut checking);
    assert_eq!(refusal, None);
    let mut clock = Clock::new(Late::Any);
    let made = lines.entries((0, lines.len()), PLACE, &mut clock, 17, false);
    let (entries, place) = made.unwrap();
    ([vec![b' '; HEADER_BYTES], entries].concat(), place.rows)
}

fn opened(index: Vec<u8>, rows: u32) -> Arc<SegmentEntries> {
    Arc::new(SegmentEntries::open(Arc::new(DataFile::new(index)), PLACE, rows).unwrap())
}

/// What comes out from `offset` on, in pieces, and the first error.
fn in_order(
    data: &[u8],
    entries: &Arc<SegmentEntries>,
    offset: u64,
    piece: usize,
) -> (Vec<u8>, Option<Error>) {
    let file = Arc::new(DataFile::new(data.to_vec()));
    let end = data.len() as u64;
    let input = RangeReader::new(Arc::clone(&file), offset, end);
    let mut reader = CheckedRead::new(input, file, Arc::clone(entries), offset, end);
    let (mut read, mut buffer) = (Vec::new(), vec![0; piece]);
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return (read, None),
            Ok(count) => read.extend_from_slice(&buffer[..count]),
            Err(error) => {
                let again = reader.read(&mut buffer).unwrap_err();
                assert_eq!(Error::from(again).to_string(), error.to_string());
                return (read, Some(error.into()));
            }
        }
    }
}

/// What can be read from `offset` on at any position, in pieces, and the first error.
fn by_position(
    data: &[u8],
    entries: &Arc<SegmentEntries>,
    offset: u64,
    piece: usize,
) -> (Vec<u8>, Option<Error>) {
    let file = Arc::new(DataFile::new(data.to_vec()));
    let checked = DataFile::new(CheckedSegment::new(file, Arc::clone(entries)));
    let (mut read, mut buffer) = (Vec::new(), vec![0; piece]);
    loop {
        match checked.read_at(&mut buffer, offset + read.len() as u64) {
            Ok(0) => return (read, None),
            Ok(count) => read.extend_from_slice(&buffer[..count]),
            Err(error) => return (read, Some(error.into())),
        }
    }
}

/// Up to its last newline: what a reader of rows gets.
fn rows_of(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)]
}

fn lines() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(0_usize..40, 1..60).prop_map(|lengths| {
        let line = |length| format!("[\"{}\"]\n", "x".repeat(length));
        lengths.into_iter().map(line).collect::<String>().into_bytes()
    })
}

proptest! {
    #[test]
    fn lines_as_they_were_written_are_read(data in lines(), at: prop::sample::Index, piece in 1_usize..300) {
        let (index, rows) = index_of(&data);
        let entries = opened(index, rows);
        prop_assert_eq!(entries.size(), data.len() as u64);
        let offset = at.index(data.len());
        for read in [in_order, by_position] {
            let (found, error) = read(&data, &entries, offset as u64, piece);
            prop_assert!(error.is_none());
            prop_assert_eq!(&found[..], &data[offset..]);
        }
    }

    #[test]
    fn no_row_of_a_damaged_line_is_read(
        data in lines(),
        at: prop::sample::Index,
        bit in 0_u8..8,
        from: prop::sample::Index,
        piece in 1_usize..300,
    ) {
        let (index, rows) = index_of(&data);
        let entries = opened(index, rows);
        let at = at.index(data.len());
        let mut damaged = data.clone();
        damaged[at] ^= 1 << bit;
        let line = rows_of(&data[..at]).len();
        let behind = at + data[at..].iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let offset = from.index(data.len());
        for read in [in_order, by_position] {
            let (found, error) = read(&damaged, &entries, offset as u64, piece);
            if offset >= behind {
                prop_assert!(error.is_none());
                prop_assert_eq!(&found[..], &data[offset..]);
                continue;
            }
            let number = 101 + String::from_utf8_lossy(&data[..line]).lines().count();
            let expected = format!("line {number}: the line is not what was written (byte {line})");
            prop_assert_eq!(error.unwrap().to_string(), expected);
            prop_assert_eq!(rows_of(&found), data.get(offset..line).unwrap_or_default());
        }
    }

    #[test]
    fn a_damaged_entry_is_an_error(data in lines(), at: prop::sample::Index, piece in 1_usize..300) {
        let (mut index, rows) = index_of(&data);
        let last = index.len() - ENTRY_BYTES;
        let at = HEADER_BYTES + at.index(index.len() - HEADER_BYTES);
        index[at] ^= 1;
        let open = SegmentEntries::open(Arc::new(DataFile::new(index)), PLACE, rows);
        if at >= last {
            prop_assert!(open.is_err());
            return Ok(());
        }
        let entries = Arc::new(open.unwrap());
        let row = (at - HEADER_BYTES) / ENTRY_BYTES;
        let before: usize = data.split_inclusive(|byte| *byte == b'\n').take(row).map(<[u8]>::len).sum();
        for read in [in_order, by_position] {
            let (found, error) = read(&data, &entries, 0, piece);
            let place = HEADER_BYTES + row * ENTRY_BYTES;
            match error {
                Some(Error::At { kind: ErrorKind::Entry, offset, .. }) => prop_assert_eq!(offset, place as u64),
                other => panic!("{other:?}"),
            }
            // By position, entries are looked at that are not of these lines.
            prop_assert!(data[..before].starts_with(&found));
        }
    }
}

#[test]
fn data_that_is_cut_or_has_more_is_an_error() {
    let data = b"{}\n[1]\n7\n";
    let (index, rows) = index_of(data);
    let entries = opened(index, rows);
    let more = [&data[..], b"8\n"].concat();
    let cut = &data[..5];
    for (bytes, rows) in [(&more[..], &data[..]), (cut, b"{}\n")] {
        let file = Arc::new(DataFile::new(bytes.to_vec()));
        let input = std::io::Cursor::new(bytes.to_vec());
        let mut reader = CheckedRead::new(input, file, Arc::clone(&entries), 0, u64::MAX);
        let mut read = Vec::new();
        let error = Error::from(reader.read_to_end(&mut read).unwrap_err());
        assert!(matches!(error, Error::At { kind: ErrorKind::Line, .. }), "{error:?}");
        assert_eq!(rows_of(&read), rows);
    }
}
