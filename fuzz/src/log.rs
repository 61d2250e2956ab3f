//! Any bytes as a segment of a log, and as its index.

use std::sync::Arc;

use headrace_core::{
    input::DataFile,
    json::Limits,
    log::{
        Checking, Clock, ENTRY_BYTES, Form, HEADER_BYTES, Late, Limit, Lines, Merge, Pause, Place,
        Stop, TailScan, select, span, verify, verify_lines,
    },
    query::Watch,
};

const PLACE: Place = Place { salt: 7, file_number: 1, base: 0, rows: 0, end: 0 };

/// Entries are refused or those of the data; lines are found again as they are, up to the
/// first that is none. Whatever is merged comes out once.
pub fn log(bytes: &[u8]) {
    let Some((&count, rest)) = bytes.split_first() else { return };
    let (entries, data) = rest.split_at(rest.len().min(usize::from(count % 8) * ENTRY_BYTES));
    compare(entries, data);
    compare(&with_checksums(entries), data);
    scan(data);
    merge(entries, data);
}

fn merge(entries: &[u8], data: &[u8]) {
    let whole = entries.len() / ENTRY_BYTES;
    let (chosen, lines) = select(entries, data, -1000..1000);
    assert!(chosen.len() <= entries.len() && lines.len() <= data.len());
    assert!(span(entries, PLACE.salt).is_none_or(|(earliest, latest)| earliest <= latest));
    let mut merge = Merge::new(2, Form::Picked);
    assert!(merge.give(0, entries.to_vec(), data.to_vec()));
    assert!(merge.give(1, chosen.clone(), lines));
    let limit = Limit { key: i64::MAX, rows: 3, bytes: 50 };
    let mut rows = 0;
    loop {
        let found = merge.next(limit);
        rows += found.rows;
        match found.pause {
            Pause::Wants(input) => merge.end(input),
            Pause::Full => assert!(found.rows > 0),
            Pause::Later(_) => unreachable!("no key is later"),
            Pause::End => break,
        }
    }
    assert_eq!(rows, whole + chosen.len() / ENTRY_BYTES);
}

fn compare(entries: &[u8], data: &[u8]) {
    let index = [&[b' '; HEADER_BYTES][..], entries].concat();
    let (index, file) = (DataFile::new(index), DataFile::new(data.to_vec()));
    let size = data.len() as u64;
    let mut clock = Clock::new(Late::Any);
    let found = verify(&index, Some(&file), size, PLACE, 8, &mut clock).expect("it is in memory");
    assert!(found.place.end <= size && found.place.rows as usize <= entries.len() / ENTRY_BYTES);
    assert!(found.fault.is_some(), "there are fewer than eight");
    let whole = entries.len() / ENTRY_BYTES * ENTRY_BYTES;
    let (good, _) = verify_lines(&entries[..whole], data, PLACE);
    assert_eq!(good, found.place.rows);
}

fn scan(data: &[u8]) {
    let file = Arc::new(DataFile::new(data.to_vec()));
    let checking = || Checking::new(Limits::default(), 100, None, || Watch::new(|| false));
    let mut scan = TailScan::new(file, 0, data.len() as u64, checking());
    let (mut entries, mut place, mut clock) = (Vec::new(), PLACE, Clock::new(Late::Any));
    let stop = loop {
        let (lines, stop) = scan.next(20).expect("it is in memory");
        let made = lines.entries((0, lines.len()), place, &mut clock, 5, false);
        let (more, next) = made.expect("there are few");
        entries.extend(more);
        place = next;
        if let Some(stop) = stop {
            break stop;
        }
    };
    let end = usize::try_from(place.end).expect("it is in memory");
    assert_eq!(stop == Stop::End, end == data.len());
    assert_eq!(verify_lines(&entries, &data[..end], PLACE), (place.rows, None));
    assert_eq!(Lines::of(&data[..end], &mut checking()).1, None);
}

/// Random bytes never match a checksum, so put the right ones in.
fn with_checksums(entries: &[u8]) -> Vec<u8> {
    let mut entries = entries.to_vec();
    for entry in entries.chunks_exact_mut(ENTRY_BYTES) {
        let (content, place) = entry.split_at_mut(ENTRY_BYTES - 4);
        place.copy_from_slice(&crc32c::crc32c_append(PLACE.salt, content).to_le_bytes());
    }
    entries
}
