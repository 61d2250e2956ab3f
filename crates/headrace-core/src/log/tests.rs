//! Lines, their entries, and what is found again of both.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::{input::DataFile, json::Limits, query::Watch};

const SALT: u32 = 0x1234_5678;
const PLACE: Place = Place { salt: SALT, file_number: 7, base: 82_571, rows: 0, end: 0 };
const CREATED: i64 = 1_700_000_000_000;

fn checking(max_line: usize) -> Checking {
    Checking::new(Limits::default(), max_line, None, || Watch::new(|| false))
}

fn clock() -> Clock {
    Clock::new(Late::Milliseconds(0))
}

fn entries(data: &[u8]) -> (Vec<u8>, Place) {
    let (lines, refusal) = Lines::of(data, &mut checking(1 << 20));
    assert_eq!(refusal, None);
    lines.entries((0, lines.len()), PLACE, &mut clock(), CREATED, false).unwrap()
}

fn index_of(entries: &[u8]) -> DataFile {
    DataFile::new([vec![b' '; 256], entries.to_vec()].concat())
}

fn decoded(entries: &[u8]) -> Vec<Entry> {
    let (entries, rest) = entries.as_chunks::<ENTRY_BYTES>();
    assert!(rest.is_empty());
    entries.iter().map(|bytes| Entry::decode(bytes, SALT).unwrap()).collect()
}

const DATA: &[u8] = b"{\"a\":1}\n\n[2]\r\n\"three\"\n";

#[test]
fn every_line_has_one_entry() {
    let (bytes, place) = entries(DATA);
    let found = decoded(&bytes);
    let spans: Vec<_> = found.iter().map(|entry| (entry.start, entry.end)).collect();
    assert_eq!(spans, [(0, 8), (8, 9), (9, 14), (14, 22)]);
    let numbers: Vec<_> = found.iter().map(|entry| (entry.line_of_file, entry.line)).collect();
    assert_eq!(numbers, [(1, 82_572), (2, 82_573), (3, 82_574), (4, 82_575)]);
    let flags: Vec<_> = found.iter().map(|entry| entry.flags).collect();
    assert_eq!(flags, [0, flag::BLANK, flag::CRLF, 0]);
    assert!(found.iter().all(|entry| entry.time == CREATED && entry.file_number == 7));
    assert_eq!(found[0].checksum, crc32c::crc32c(b"{\"a\":1}\n"));
    assert_eq!(place, Place { rows: 4, end: 22, ..PLACE });
}

#[test]
fn the_first_bad_line_is_named() {
    let mut most = checking(10);
    let refused = |data: &[u8], most: &mut Checking| {
        let refusal = Lines::of(data, most).1.unwrap();
        (refusal.position, refusal.offset, refusal.reason)
    };
    let (position, offset, _) = refused(b"1\n{\"a\":x}\n2\n", &mut most);
    assert_eq!((position, offset), (1, 5));
    let (position, _, reason) = refused(b"1\n\"12345678\"\n\"123456789\"\n", &mut most);
    assert_eq!((position, reason.as_str()), (2, "11 bytes long, over the limit of 10"));
    let (position, _, reason) = refused(b"1\n2", &mut most);
    assert_eq!((position, reason.as_str()), (1, "it ends without a newline"));
}

#[test]
fn every_flipped_bit_of_an_entry_is_noticed() {
    let (bytes, _) = entries(b"{}\n");
    let bytes: [u8; ENTRY_BYTES] = bytes.try_into().unwrap();
    assert!(Entry::decode(&bytes, SALT).is_some());
    assert!(Entry::decode(&bytes, SALT + 1).is_none(), "another log");
    assert!(Entry::decode(&[0; ENTRY_BYTES], SALT).is_none(), "zeros");
    for bit in 0..ENTRY_BYTES * 8 {
        let mut flipped = bytes;
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(Entry::decode(&flipped, SALT).is_none(), "bit {bit}");
    }
}

#[test]
fn lines_are_cut_where_a_file_is_full() {
    let (lines, _) = Lines::of(DATA, &mut checking(100));
    assert_eq!(lines.fitting(0, u64::MAX, u64::MAX), 4);
    assert_eq!(lines.fitting(0, 3, u64::MAX), 3);
    assert_eq!(lines.fitting(0, u64::MAX, 7), 0);
    assert_eq!(lines.fitting(0, u64::MAX, 8), 1);
    assert_eq!(lines.fitting(1, u64::MAX, 6), 2);
    assert_eq!(lines.fitting(4, 9, 9), 0);
    assert_eq!((lines.end_of(0), lines.end_of(2), lines.end_of(9)), (0, 9, 22));
}

#[test]
fn times_go_forward_or_are_not_believed() {
    let mut strict = Clock::new(Late::Milliseconds(0));
    assert_eq!(strict.time(EventTime::Time(50), 900), (50, true));
    assert_eq!(strict.time(EventTime::Time(49), 900), (900, false));
    assert_eq!(strict.time(EventTime::Missing, 800), (900, false), "writing does not go back");
    assert_eq!(strict.time(EventTime::Time(i64::MAX), 901), (901, false));
    assert_eq!(strict.time(EventTime::Time(50), 902), (50, true), "equal is in order");
    assert_eq!(strict.time(EventTime::NotExtracted, 903), (903, false), "no times are extracted");
    assert_eq!((strict.fallbacks, strict.span), (3, Some((50, 903))));
    assert_eq!((strict.last, strict.latest_extracted), (Some(903), Some(50)));

    let mut tolerant = Clock::new(Late::Milliseconds(10));
    let times = [100, 90, 89, 101].map(|time| tolerant.time(EventTime::Time(time), 7).1);
    assert_eq!(times, [true, true, false, true]);

    let mut any = Clock::new(Late::Any);
    assert_eq!(any.time(EventTime::Time(100), 0), (100, true));
    assert_eq!(any.time(EventTime::Time(-5), 0), (-5, true));
    assert_eq!(any.time(EventTime::NotExtracted, 3), (3, false));
    assert_eq!(any.time(EventTime::NotExtracted, 2), (2, false));
}

fn scanned(data: &[u8]) -> (u64, usize, Stop) {
    let file = Arc::new(DataFile::new(data.to_vec()));
    let mut scan = TailScan::new(file, 0, data.len() as u64, checking(100));
    let mut count = 0;
    loop {
        let (lines, stop) = scan.next(5).unwrap();
        count += lines.len();
        if let Some(stop) = stop {
            return (scan.offset(), count, stop);
        }
    }
}

#[test]
fn what_a_crash_leaves() {
    let bad = |offset, data: &[u8]| {
        let (at, count, stop) = scanned(data);
        assert!(matches!(stop, Stop::Bad(..)), "{data:?}");
        assert_eq!((at, count), (offset, 1), "{data:?}");
    };
    bad(3, b"{}\n{\"a\"\n{}\n");
    bad(3, b"{}\n\0\0\0\n{}\n");
    bad(3, b"{}\n{}{}\n");
    bad(3, b"{}\n\"\xff\"\n");
    bad(3, &[b"{}\n", &vec![0; 300_000][..]].concat());
    assert_eq!(scanned(b""), (0, 0, Stop::End));
    assert_eq!(scanned(DATA), (22, 4, Stop::End));
    let torn = |data: &[u8]| match scanned(&[b"{}\n", data].concat()) {
        (3, 1, Stop::Torn(whole)) => whole,
        other => panic!("{data:?}: {other:?}"),
    };
    for whole in [&b"{\"a\":1}"[..], b"[1]", b"\"x\"", b" {} ", b"{}\r"] {
        assert!(torn(whole), "{whole:?}");
    }
    for half in [
        &b"{\"a\":1"[..],
        b"12",
        b"true",
        b"null",
        b"nul",
        b"\0\0",
        b"{}\0",
        b"\"\xc3",
        b"{}{}",
        b"\r",
        b" ",
    ] {
        assert!(!torn(half), "{half:?}");
    }
}

#[test]
fn a_completed_line_says_so() {
    let file = Arc::new(DataFile::new(b"[1]".to_vec()));
    let mut scan = TailScan::new(file, 0, 3, checking(100));
    assert_eq!(scan.next(100).unwrap().1, Some(Stop::Torn(true)));
    let lines = scan.completed();
    let (bytes, _) = lines.entries((0, 1), PLACE, &mut clock(), CREATED, true).unwrap();
    let entry = decoded(&bytes)[0];
    assert_eq!(entry.flags, flag::COMPLETED | flag::TIME_RECONSTRUCTED);
    assert_eq!((entry.end, entry.checksum), (4, crc32c::crc32c(b"[1]\n")));
}

#[test]
fn damage_is_found_where_it_is() {
    let (bytes, end) = entries(DATA);
    let data = || DataFile::new(DATA.to_vec());
    let sound = verify(&index_of(&bytes), Some(&data()), 22, PLACE, 4, &mut clock()).unwrap();
    assert_eq!(sound, Verified { place: end, fault: None });

    for byte in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[byte] ^= 1;
        let mut seen = clock();
        let found = verify(&index_of(&damaged), None, 22, PLACE, 4, &mut seen).unwrap();
        assert_eq!(found.place.rows as usize, byte / ENTRY_BYTES, "byte {byte}");
        assert!(matches!(found.fault, Some(Fault::Entry(_))));
    }
    for (byte, row) in [(0, 0), (7, 0), (8, 1), (10, 2), (21, 3)] {
        let mut damaged = DATA.to_vec();
        damaged[byte] ^= 1;
        let damaged = DataFile::new(damaged);
        let found = verify(&index_of(&bytes), Some(&damaged), 22, PLACE, 4, &mut clock()).unwrap();
        assert_eq!(found.place.rows, row, "byte {byte}");
        assert!(matches!(found.fault, Some(Fault::Data(_))));
    }
    let short = verify(&index_of(&bytes), None, 21, PLACE, 4, &mut clock()).unwrap();
    assert_eq!(short.place, Place { rows: 3, end: 14, ..PLACE });
    assert!(matches!(short.fault, Some(Fault::Short(_))));
    let cut = &bytes[..3 * ENTRY_BYTES + 55];
    let found = verify(&index_of(cut), None, 22, PLACE, 4, &mut clock()).unwrap();
    assert_eq!((found.place.rows, found.fault.is_some()), (3, true));
    // Entries of another place, though good ones of this log.
    let moved = [&bytes[ENTRY_BYTES..], &bytes[..ENTRY_BYTES]].concat();
    let found = verify(&index_of(&moved), None, 22, PLACE, 4, &mut clock()).unwrap();
    assert_eq!((found.place.rows, found.fault.is_some()), (0, true));
}

#[test]
fn what_was_read_is_compared() {
    let (bytes, _) = entries(DATA);
    assert_eq!(verify_lines(&bytes, DATA, PLACE), (4, None));
    let from = Place { rows: 1, end: 8, ..PLACE };
    assert_eq!(verify_lines(&bytes[ENTRY_BYTES..], &DATA[8..], from), (3, None));
    assert!(matches!(verify_lines(&bytes, &DATA[..21], PLACE), (3, Some(Fault::Short(_)))));
    assert!(matches!(verify_lines(&bytes, DATA, from), (0, Some(Fault::Entry(_)))));
}

proptest! {
    #[test]
    fn what_is_written_is_found_again(numbers in prop::collection::vec(any::<u32>(), 0..2000)) {
        let lines: Vec<_> = numbers.iter().map(|n| format!("{{\"n\":{n}}}\n")).collect();
        let text = lines.concat();
        let (bytes, end) = entries(text.as_bytes());
        let size = text.len() as u64;
        let data = Arc::new(DataFile::new(text.into_bytes()));
        let rows = u32::try_from(numbers.len()).unwrap();
        let found = verify(&index_of(&bytes), Some(&data), size, PLACE, rows, &mut clock()).unwrap();
        prop_assert_eq!(found, Verified { place: end, fault: None });

        let mut scan = TailScan::new(data, 0, size, checking(100));
        let (mut again, mut place, mut times) = (Vec::new(), PLACE, clock());
        loop {
            let (lines, stop) = scan.next(300).unwrap();
            let made = lines.entries((0, lines.len()), place, &mut times, CREATED, false).unwrap();
            again.extend_from_slice(&made.0);
            place = made.1;
            if let Some(stop) = stop {
                prop_assert_eq!(stop, Stop::End);
                break;
            }
        }
        prop_assert_eq!(again, bytes);
    }
}
