//! Whole indexes: built, looked into, damaged.

mod updating;

use std::fmt::Display;

use proptest::prelude::*;

use super::{
    write::{Outcome, Plan},
    *,
};
use crate::{
    Result,
    input::DataFile,
    json::Limits,
    rows::{RowBatch, RowStream, nameless_file},
    sealed::{
        AnyBaseDelta, BaseDelta, Fit, IndexFile, Lines, SourceMark,
        testing::{content, covered, directory, made_of, mark, put_checksums},
    },
};

const ROWS: &str = r#"{"k":"a","n":1}
{"k":"b","n":2}
not json
{"k":1,"n":3}
{"k":"1","n":4}
{"k":null}
{"k":"a","n":5}
{"k":1.0,"n":6}
"#;
const KEYS: [&str; 5] = [r#""a""#, r#""b""#, "1", r#""c""#, r#""1.0""#];

fn fields() -> KeyFields {
    KeyFields::new(vec!["k".into()])
}

/// The result of a build, and the file.
fn build(data: &[u8], unique: bool, version: Option<u32>, budget: usize) -> (Outcome, Vec<u8>) {
    build_onto(None, data, (unique, version), budget)
}

/// The same of a source that an index was made of already.
fn build_onto(
    kept: Option<(&BaseDelta<SetSegments>, bool)>,
    data: &[u8],
    (unique, version): (bool, Option<u32>),
    budget: usize,
) -> (Outcome, Vec<u8>) {
    let size = data.len() as u64;
    let from = match kept {
        Some((_, true)) => size,
        Some((index, false)) => index.newest().meta().made_of.coverage_end,
        None => 0,
    };
    let first = kept
        .filter(|(_, all)| !all)
        .map_or(0, |(index, _)| index.base().meta().made_of.coverage_end);
    let coverage_end = covered(data);
    let mut runs = [Runs::new(std::env::temp_dir(), budget)];
    let unterminated = Some(coverage_end).filter(|&end| end < size);
    let mut scan = KeyScan::new(fields(), Limits::default(), unterminated);
    let start = usize::try_from(from).unwrap();
    let mut stream = RowStream::new(&data[start..], from, 0, u64::MAX, 1 << 20);
    while let Some(row) = stream.next_row().unwrap() {
        if let Some(key) = scan.key(&row) {
            runs[0].push(key, row.offset).unwrap();
        }
    }
    let file = DataFile::new(data.to_vec());
    // Of an index that is kept whole, the last row is that of its delta.
    let known = kept.and_then(|(index, _)| index.newest().meta().made_of.last.as_deref());
    let last = scan.last().or(known.map(|last| if last.ends_with("_key") { "key" } else { last }));
    let (made_of, hashes) = made_of(data, first, last.map(Into::into));
    let plan = Plan {
        fields: fields(),
        unique,
        version,
        lines: scan.lines(),
        plain_numbers: scan.plain_numbers(),
        made_of,
        hashes,
        directory: std::env::temp_dir(),
    };
    let source = Lookup { file: &file, size, below: u64::MAX, max_line: 1 << 20 };
    let kept = kept.map(|(index, all)| Continued { index, source, all });
    let out = nameless_file(&std::env::temp_dir()).unwrap();
    let outcome = write(&mut runs, kept.as_ref(), &out, &plan, &|| true).unwrap();
    (outcome, content(out))
}

fn rows_with(keys: impl IntoIterator<Item = impl Display>) -> String {
    keys.into_iter().fold(String::new(), |rows, key| rows + &format!("{{\"k\":{key}}}\n"))
}

fn index_of(data: &[u8], version: u32) -> Vec<u8> {
    let (outcome, bytes) = build(data, false, Some(version), 1 << 20);
    assert!(matches!(outcome, Outcome::Written(written) if written.size == bytes.len() as u64));
    bytes
}

fn open(index: &[u8]) -> Result<KeyIndex> {
    KeyIndex::open(DataFile::new(index.to_vec()))
}

fn base_delta(base: &[u8], delta: Option<&[u8]>) -> Result<BaseDelta<SetSegments>> {
    BaseDelta::new(
        SetSegments::one(open(base)?),
        delta.map(open).transpose()?.map(SetSegments::one),
    )
}

fn in_segments(
    base: Vec<KeyIndex>,
    delta: Option<Vec<KeyIndex>>,
) -> Result<BaseDelta<SetSegments>> {
    BaseDelta::new(SetSegments::new(base)?, delta.map(SetSegments::new).transpose()?)
}

/// Where the rows with a key begin, by the index.
fn found(index: &KeyIndex, data: &[u8], key: &str) -> Result<Vec<u64>> {
    let request = Request::parse(key, 1, false).unwrap();
    let source = DataFile::new(data.to_vec());
    let size = data.len() as u64;
    let lookup = Lookup { file: &source, size, below: u64::MAX, max_line: 1 << 20 };
    let mut reader = KeyReader::new(fields(), Limits::default());
    let mut batch = RowBatch::default();
    let numbers = index.find(&request)?;
    lookup.postings(index, numbers, &request, &mut reader, usize::MAX, &mut batch)?;
    Ok(batch.offsets)
}

/// Where the rows that several keys lead to begin.
fn candidates(index: &BaseDelta<SetSegments>, data: &[u8], keys: &[&str]) -> Result<Vec<u64>> {
    let requests: Vec<_> = keys.iter().map(|key| Request::parse(key, 1, false).unwrap()).collect();
    let source = DataFile::new(data.to_vec());
    let size = data.len() as u64;
    let lookup = Lookup { file: &source, size, below: u64::MAX, max_line: 1 << 20 };
    let mut reader = KeyReader::new(fields(), Limits::default());
    let mut batch = RowBatch::default();
    let found = index.candidates(&requests, u64::MAX)?.unwrap();
    let all = 0..found.offsets().len();
    lookup.candidates(index, &found, all, &mut reader, usize::MAX, &mut batch)?;
    assert_eq!(batch.offsets, found.offsets());
    Ok(batch.offsets)
}

/// The same, by looking at every row.
fn scanned(data: &[u8], key: &str) -> Vec<u64> {
    let wanted = scan::Wanted::new(vec![Request::parse(key, 1, false).unwrap()]);
    let mut scan = KeyScan::new(fields(), Limits::default(), None);
    let mut stream = RowStream::new(data, 0, 0, u64::MAX, 1 << 20);
    let mut rows = Vec::new();
    while let Some(row) = stream.next_row().unwrap() {
        wanted.look_at(&row, &mut scan, &mut rows);
    }
    rows.into_iter().map(|(_, offset)| offset).collect()
}

#[test]
fn several_keys_lead_to_their_rows_in_file_order() {
    for version in [1, 2] {
        let index = base_delta(&index_of(ROWS.as_bytes(), version), None).unwrap();
        let mut expected: Vec<_> =
            KEYS.iter().flat_map(|key| scanned(ROWS.as_bytes(), key)).collect();
        expected.sort_unstable();
        expected.dedup();
        assert!(!expected.is_empty());
        assert_eq!(candidates(&index, ROWS.as_bytes(), &KEYS).unwrap(), expected);
        let none = [Request::of_text("nothing that is there")];
        assert_eq!(index.candidates(&none, 0).unwrap().unwrap().offsets(), [0; 0]);
        let request = [Request::parse(KEYS[0], 1, false).unwrap()];
        assert!(index.candidates(&request, 0).unwrap().is_none());
        // A source whose rows have other keys.
        let other = ROWS.replace(['1', '7', 'a', 'b', 'c'], "9");
        assert!(candidates(&index, other.as_bytes(), &KEYS).is_err());
    }
}

#[test]
fn both_versions_find_what_a_scan_finds() {
    for version in [1, 2] {
        let index = open(&index_of(ROWS.as_bytes(), version)).unwrap();
        assert_eq!(index.version(), version);
        assert_eq!((index.meta().records, index.meta().keys), (6, 3));
        assert!(index.verify(&|| true).unwrap());
        for key in KEYS {
            let rows = found(&index, ROWS.as_bytes(), key).unwrap();
            assert_eq!(rows, scanned(ROWS.as_bytes(), key), "version {version}: {key}");
        }
        assert_eq!(found(&index, ROWS.as_bytes(), r#""a""#).unwrap(), [0, 82]);
    }
}

#[test]
fn the_same_rows_give_the_same_bytes_whatever_the_memory() {
    let data = rows_with((0..3000).map(|n| n * 7 % 1001));
    for version in [1, 2] {
        let (_, large) = build(data.as_bytes(), false, Some(version), 1 << 20);
        let (_, small) = build(data.as_bytes(), false, Some(version), 1000);
        assert_eq!(large, small);
    }
}

#[test]
fn every_truncation_and_growth_is_refused() {
    for version in [1, 2] {
        let bytes = index_of(ROWS.as_bytes(), version);
        for length in 0..bytes.len() {
            assert!(open(&bytes[..length]).is_err(), "first {length} bytes");
        }
        assert!(open(&[&bytes[..], &[0]].concat()).is_err());
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    for version in [1, 2] {
        let bytes = index_of(ROWS.as_bytes(), version);
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let verified = open(&flipped).and_then(|index| index.verify(&|| true));
            assert!(verified.is_err(), "version {version}, bit {bit}");
        }
    }
}

#[test]
fn flipped_bits_of_a_large_index_never_hide_a_row_or_give_another() {
    let data = rows_with((0..4000).map(|n| format!("\"key {}\"", n % 3000)));
    for version in [1, 2] {
        let bytes = index_of(data.as_bytes(), version);
        assert!(bytes.len() > 4 * 4096);
        let keys = ["\"key 0\"", "\"key 17\"", "\"key 2999\"", "\"none\""];
        let expected = keys.map(|key| scanned(data.as_bytes(), key));
        for bit in (0..bytes.len() * 8).step_by(997) {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let Ok(index) = open(&flipped) else { continue };
            for (key, expected) in keys.iter().zip(&expected) {
                if let Ok(rows) = found(&index, data.as_bytes(), key) {
                    assert_eq!(rows, *expected, "bit {bit}");
                }
            }
        }
    }
}

#[test]
fn a_key_with_very_many_rows_takes_version_2() {
    let data = "{\"k\":7}\n".repeat(70_000) + "{\"k\":8}\n";
    let (outcome, bytes) = build(data.as_bytes(), false, None, 1 << 16);
    let Outcome::Written(written) = outcome else { panic!("{outcome:?}") };
    assert_eq!((written.version, written.why), (2, Some("posting_count")));
    let index = open(&bytes).unwrap();
    assert_eq!(found(&index, data.as_bytes(), "7").unwrap().len(), 70_000);
    assert_eq!(found(&index, data.as_bytes(), "8").unwrap(), [560_000]);
    let (outcome, _) = build(data.as_bytes(), false, Some(1), 1 << 20);
    assert_eq!(outcome, Outcome::NoRoom("posting_count"));
}

#[test]
fn a_very_long_key_takes_version_2() {
    let long = "x".repeat(100_000);
    let data = format!("{{\"k\":1}}\n{{\"k\":\"{long}\"}}\n");
    let (outcome, bytes) = build(data.as_bytes(), false, None, 1 << 10);
    assert!(matches!(outcome, Outcome::Written(written) if written.why == Some("key_length")));
    let index = open(&bytes).unwrap();
    assert_eq!(found(&index, data.as_bytes(), &format!("\"{long}\"")).unwrap(), [8]);
}

#[test]
fn of_keys_that_are_there_twice_the_first_in_the_file_is_named() {
    let (outcome, _) = build(ROWS.as_bytes(), true, None, 1 << 20);
    let Outcome::Duplicate(duplicate) = outcome else { panic!("{outcome:?}") };
    assert_eq!((&duplicate.key[..], duplicate.first, duplicate.second), (&b"1"[..], 41, 55));
    let (outcome, bytes) = build(b"{\"k\":1}\n{\"k\":2}\n", true, None, 1 << 20);
    assert!(matches!(outcome, Outcome::Written(_)));
    assert!(open(&bytes).unwrap().verify(&|| true).unwrap());
}

#[test]
fn an_index_of_other_rows_is_noticed_at_the_first_of_them() {
    for version in [1, 2] {
        let index = open(&index_of(ROWS.as_bytes(), version)).unwrap();
        let edited = ROWS.replace(r#""k":"b""#, r#""k":"c""#);
        assert!(found(&index, edited.as_bytes(), r#""b""#).is_err());
        let moved = ROWS.replace("not json", "no json!!");
        assert!(found(&index, moved.as_bytes(), "1").is_err());
        let cut = &ROWS.as_bytes()[..60];
        assert!(found(&index, cut, r#""a""#).is_err());
    }
}

#[test]
fn hashes_tell_whether_the_source_is_the_same() {
    let data = "{\"k\":1}\n".repeat(300_000);
    let index = base_delta(&index_of(data.as_bytes(), 2), None).unwrap();
    let fit = |bytes: Vec<u8>| {
        let size = bytes.len() as u64;
        index.fit(&DataFile::new(bytes), size, &|| true).unwrap()
    };
    assert_eq!(fit(data.clone().into_bytes()), Some(Fit::Whole));
    assert_eq!(fit([&data, "{}\n"].concat().into_bytes()), Some(Fit::Covered));
    for at in [0, 1 << 20, data.len() - 2] {
        let mut edited = data.clone().into_bytes();
        edited[at] ^= 1;
        assert_eq!(fit(edited), Some(Fit::Not), "byte {at}");
    }
    assert_eq!(fit(data.as_bytes()[..9].to_vec()), Some(Fit::Not));
    let size = data.len() as u64;
    assert_eq!(index.fit(&DataFile::new(data.into_bytes()), size, &|| false).unwrap(), None);
}

#[test]
fn an_index_of_nothing_finds_nothing() {
    for version in [1, 2] {
        let index = open(&index_of(b"", version)).unwrap();
        assert!(index.verify(&|| true).unwrap());
        assert!(found(&index, b"", "1").unwrap().is_empty());
    }
}

#[test]
fn two_keys_with_one_hash_are_two_keys() {
    let keys = ["MJy%9I<{", "c_3Yal$"];
    assert_eq!(hash(keys[0].as_bytes()), hash(keys[1].as_bytes()));
    let row = |key: &str| format!("{{\"k\":\"{key}\"}}\n");
    let both = row(keys[0]) + &row(keys[1]) + &row(keys[0]);
    let one = row(keys[1]);
    for version in [1, 2] {
        let index = open(&index_of(both.as_bytes(), version)).unwrap();
        assert!(index.verify(&|| true).unwrap());
        for (key, rows) in [(keys[0], &[0, 33][..]), (keys[1], &[17])] {
            assert_eq!(found(&index, both.as_bytes(), &format!("{key:?}")).unwrap(), rows);
        }
        // A key that is not there, with the hash of one that is.
        let index = open(&index_of(one.as_bytes(), version)).unwrap();
        assert!(found(&index, one.as_bytes(), &format!("{:?}", keys[0])).unwrap().is_empty());
    }
    let (outcome, _) = build(both.as_bytes(), true, None, 1 << 20);
    assert!(matches!(outcome, Outcome::Duplicate(two) if (two.first, two.second) == (0, 33)));
}

#[test]
fn keys_of_equal_hashes_are_refused_so_that_a_scan_finds_them() {
    let row = |key: &str| format!("{{\"k\":\"{key}\"}}\n");
    let [key, other] = ["MJy%9I<{", "c_3Yal$"];
    let data = row(key) + &row(other).repeat(3);
    let mut index = open(&index_of(data.as_bytes(), 1)).unwrap();
    index.bounds.equal = 1;
    // Either key may come first.
    let refused = |key: &str| found(&index, data.as_bytes(), &format!("{key:?}")).is_err();
    assert!(refused(key) || refused(other));
    let mut index = open(&index_of(data.as_bytes(), 2)).unwrap();
    let rows = |index: &KeyIndex| found(index, data.as_bytes(), &format!("{key:?}"));
    index.bounds.in_vain = 3;
    assert_eq!(rows(&index).unwrap(), [0]);
    index.bounds.in_vain = 2;
    assert!(rows(&index).is_err());
}

proptest! {
    #[test]
    fn any_rows_are_found_as_a_scan_finds_them(
        keys in prop::collection::vec(
            "[0-9]{1,3}|\"[a-z]{0,2}\"|[0-9]\\.[0-9]|[1-9]e[0-9]|null|true|\\[\\]|oops", 0..60
        ),
        version in 1_u32..3,
    ) {
        let data = rows_with(&keys);
        let index = open(&index_of(data.as_bytes(), version)).unwrap();
        prop_assert!(index.verify(&|| true).unwrap());
        for key in keys.iter().filter(|key| Request::parse(key, 1, false).is_ok()) {
            let rows = found(&index, data.as_bytes(), key).unwrap();
            prop_assert_eq!(rows, scanned(data.as_bytes(), key));
        }
    }

    #[test]
    fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(open(&bytes).is_err());
    }

    #[test]
    fn what_lies_with_the_right_checksums_does_no_harm(
        lies in prop::collection::vec((0_usize..900, any::<u8>()), 1..6),
        version in 1_u32..3,
    ) {
        let mut bytes = index_of(ROWS.as_bytes(), version);
        let end = directory(&bytes);
        for (at, byte) in lies {
            bytes[at % end] = byte;
        }
        put_checksums(&mut bytes);
        if let Ok(index) = open(&bytes) {
            let _ = index.verify(&|| true);
            for key in KEYS {
                let rows = found(&index, ROWS.as_bytes(), key).unwrap_or_default();
                let all = scanned(ROWS.as_bytes(), key);
                prop_assert!(rows.iter().all(|row| all.contains(row)), "a wrong row");
            }
        }
    }
}

#[test]
fn pieces_that_do_not_belong_together_are_refused() {
    let segment = |rows: i32| open(&index_of(rows_with(0..rows).as_bytes(), 2)).unwrap();
    assert!(in_segments(vec![segment(3), segment(3)], None).is_ok());
    assert!(in_segments(vec![segment(3), segment(4)], None).is_err());
    assert!(in_segments(vec![segment(3), segment(3), segment(3)], None).is_err());
    assert!(in_segments(Vec::new(), None).is_err());
    assert!(in_segments(vec![segment(3)], Some(vec![segment(3)])).is_err());
}
