//! Indexes that are continued: deltas, and one index made of two.

use super::*;

/// Rows whose number is some of many keys, from one on.
fn rows_from(first: u32, count: u32, keys: u32) -> String {
    rows_with((first..first + count).map(|n| n.wrapping_mul(7919) % keys))
}

fn written(made: (Outcome, Vec<u8>)) -> Vec<u8> {
    assert!(matches!(made.0, Outcome::Written(_)), "{:?}", made.0);
    made.1
}

/// The rows of a key by both files.
fn found_in(index: &BaseDelta<SetSegments>, data: &[u8], key: &str) -> Result<Vec<u64>> {
    let request = Request::parse(key, 1, false).unwrap();
    let file = DataFile::new(data.to_vec());
    let size = data.len() as u64;
    let source = Lookup { file: &file, size, below: u64::MAX, max_line: 1 << 20 };
    let mut reader = KeyReader::new(fields(), Limits::default());
    let (mut found, mut offsets) = (index.find(&request)?, Vec::new());
    while !found.is_empty() {
        // A row at a time, so that every place to go on from is one.
        let mut batch = RowBatch::default();
        index.rows(&source, &mut found, &request, &mut reader, 1, &mut batch)?;
        offsets.extend(batch.offsets);
    }
    Ok(offsets)
}

/// An index that is continued as often as there are states of the source.
fn continued(states: &[&[u8]], version: Option<u32>) -> (Vec<u8>, Vec<u8>) {
    let base = written(build(states[0], false, version, 1 << 20));
    let mut delta: Option<Vec<u8>> = None;
    for state in &states[1..] {
        let index = base_delta(&base, delta.as_deref()).unwrap();
        delta = Some(written(build_onto(Some((&index, false)), state, (false, version), 500)));
    }
    (base, delta.unwrap())
}

fn compacted(base: &[u8], delta: &[u8], data: &[u8], version: Option<u32>) -> (Outcome, Vec<u8>) {
    let index = base_delta(base, Some(delta)).unwrap();
    build_onto(Some((&index, true)), data, (false, version), 500)
}

/// What an index says of itself without what a merge does not know: lines are counted elsewhere.
fn tables_and_counts(index: &[u8]) -> (Vec<u8>, Meta) {
    let opened = open(index).unwrap();
    let end = index.windows(6).position(|at| at == b"{\"key\"").unwrap();
    let lines = Lines::default();
    (index[..end].to_vec(), Meta { lines, ..opened.meta().clone() })
}

#[test]
fn base_and_delta_find_what_a_scan_finds() {
    let [first, second, third] =
        [rows_from(0, 300, 90), rows_from(300, 70, 90), "{\"k\":5}".into()];
    let all = [first.as_str(), &second, &third].concat();
    let states =
        [&all.as_bytes()[..first.len() + 5], &all.as_bytes()[..all.len() - 9], all.as_bytes()];
    for version in [1, 2] {
        let (base, delta) = continued(&states, Some(version));
        let index = base_delta(&base, Some(&delta)).unwrap();
        assert!(index.verify(&|| true).unwrap());
        assert_eq!(index.newest().meta().made_of.covers, Some(first.len() as u64));
        for key in ["0", "5", "89", "90"] {
            let rows = found_in(&index, all.as_bytes(), key).unwrap();
            assert_eq!(rows, scanned(all.as_bytes(), key), "version {version}: {key}");
        }
    }
}

#[test]
fn a_delta_of_another_index_is_refused() {
    let data = rows_from(0, 50, 9);
    let (half, more) = (&data.as_bytes()[..data.len() / 2], data.as_bytes());
    let (base, delta) = continued(&[half, more], Some(1));
    assert!(base_delta(&base, Some(&delta)).is_ok());
    let other = index_of(&data.as_bytes()[..data.len() / 3], 1);
    assert!(base_delta(&other, Some(&delta)).is_err());
    assert!(base_delta(&index_of(more, 1), Some(&delta)).is_err());
    assert!(base_delta(&base, Some(&base)).is_err());
    assert!(base_delta(&delta, None).is_err());
}

#[test]
fn every_flipped_bit_and_truncation_of_a_delta_is_noticed() {
    let states = [&ROWS.as_bytes()[..41], &ROWS.as_bytes()[..60], ROWS.as_bytes()];
    for version in [1, 2] {
        let (base, delta) = continued(&states, Some(version));
        for length in 0..delta.len() {
            assert!(base_delta(&base, Some(&delta[..length])).is_err(), "first {length} bytes");
        }
        for bit in 0..delta.len() * 8 {
            let mut flipped = delta.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let verified =
                base_delta(&base, Some(&flipped)).and_then(|index| index.verify(&|| true));
            assert!(verified.is_err(), "version {version}, bit {bit}");
        }
    }
}

#[test]
fn hashes_of_both_tell_whether_the_source_is_the_same() {
    let data = rows_from(0, 330_000, 1000);
    let at = data[..1_500_000].rfind('\n').unwrap() + 1;
    let (base, delta) = continued(&[&data.as_bytes()[..at], data.as_bytes()], Some(2));
    let index = base_delta(&base, Some(&delta)).unwrap();
    let fit = |bytes: Vec<u8>| {
        let size = bytes.len() as u64;
        index.fit(&DataFile::new(bytes), size, &|| true).unwrap()
    };
    assert_eq!(fit(data.clone().into_bytes()), Some(Fit::Whole));
    assert_eq!(fit([&data, "{}"].concat().into_bytes()), Some(Fit::Covered));
    for byte in [0, 1 << 20, at - 3, at + 3, data.len() - 2] {
        let mut edited = data.clone().into_bytes();
        edited[byte] ^= 1;
        assert_eq!(fit(edited), Some(Fit::Not), "byte {byte}");
    }
    let whole = base_delta(&index_of(data.as_bytes(), 2), None).unwrap();
    assert_eq!(index.all_hashes().unwrap(), whole.all_hashes().unwrap());
}

#[test]
fn two_that_become_one_are_the_index_of_it_all() {
    // 5,000 rows of 700 keys have the buckets of 4,200.
    for (rows, keys) in [(120, 9), (5000, 700), (5000, 100_000)] {
        let data = rows_from(0, rows, keys) + "{\"k\":3}";
        let cut = data.len() * 84 / 100;
        let states = [&data.as_bytes()[..cut], &data.as_bytes()[..cut + 90], data.as_bytes()];
        for version in [1, 2] {
            let (base, delta) = continued(&states, Some(version));
            let one = written(compacted(&base, &delta, data.as_bytes(), Some(version)));
            let anew = index_of(data.as_bytes(), version);
            assert_eq!(tables_and_counts(&one), tables_and_counts(&anew), "{rows} rows, {version}");
        }
    }
}

#[test]
fn buckets_are_kept_until_they_are_four_times_as_full() {
    let data = rows_from(0, 1100, 5000);
    let until = |row: usize| data.match_indices('\n').nth(row - 1).unwrap().0 + 1;
    let base = index_of(&data.as_bytes()[..until(64)], 2);
    let grown = |rows: usize| {
        let state = &data.as_bytes()[..until(rows)];
        let index = base_delta(&base, None).unwrap();
        let delta = written(build_onto(Some((&index, false)), state, (false, Some(2)), 1 << 20));
        (compacted(&base, &delta, state, Some(2)), state)
    };
    let ((outcome, one), state) = grown(256);
    let index = open(&written((outcome, one))).unwrap();
    assert!(matches!(index.header.tables, layout::Tables::Compact(made) if made.bucket_bits == 0));
    assert!(index.verify(&|| true).unwrap());
    for key in ["0", "7919", "2919", "4999"] {
        assert_eq!(found(&index, state, key).unwrap(), scanned(state, key));
    }
    assert_eq!(index.meta().keys, open(&index_of(state, 2)).unwrap().meta().keys);
    assert_eq!(grown(257).0.0, Outcome::NoBits);
}

#[test]
fn what_version_1_has_no_room_for_becomes_version_2() {
    let data = "{\"k\":7}\n".repeat(70_000) + "{\"k\":8}\n";
    // The rows of the base and of all; a delta with too many rows of a key is of version 2 itself.
    for (first, all, version, why) in [
        (40_000, 60_000, 1, None),
        (40_000, 70_001, 2, Some("posting_count")),
        (1000, 70_001, 2, Some("delta")),
    ] {
        let base = index_of(&data.as_bytes()[..8 * first], 1);
        let state = &data.as_bytes()[..8 * all];
        let index = base_delta(&base, None).unwrap();
        let delta = written(build_onto(Some((&index, false)), state, (false, None), 1 << 16));
        let (outcome, one) = compacted(&base, &delta, state, None);
        let Outcome::Written(made) = outcome else { panic!("{outcome:?}") };
        assert_eq!((made.version, made.why), (version, why));
        assert_eq!(tables_and_counts(&one), tables_and_counts(&index_of(state, version)));
    }
}

#[test]
fn a_key_that_the_base_has_is_there_twice() {
    let data = rows_with([1, 2, 3, 4, 2, 5, 1]);
    for version in [1, 2] {
        let base = build(&data.as_bytes()[..24], true, Some(version), 1 << 20).1;
        let index = base_delta(&base, None).unwrap();
        let (outcome, _) =
            build_onto(Some((&index, false)), data.as_bytes(), (true, None), 1 << 20);
        let Outcome::Duplicate(two) = outcome else { panic!("{outcome:?}") };
        assert_eq!((&two.key[..], two.first, two.second), (&b"2"[..], 8, 32));
        let half = &data.as_bytes()[..32];
        let delta = build_onto(Some((&index, false)), half, (true, Some(version)), 1 << 20);
        let index = base_delta(&base, Some(&written(delta))).unwrap();
        let later = rows_with([1, 2, 3, 4, 6, 4]);
        let (outcome, _) =
            build_onto(Some((&index, false)), later.as_bytes(), (true, Some(version)), 1 << 20);
        let Outcome::Duplicate(two) = outcome else { panic!("{outcome:?}") };
        assert_eq!((&two.key[..], two.first, two.second), (&b"4"[..], 24, 40));
    }
}

#[test]
fn an_index_is_stamped_anew() {
    let data = rows_from(0, 300, 90);
    for version in [1, 2] {
        let index = base_delta(&index_of(data.as_bytes(), version), None).unwrap();
        let seen = SourceMark { mtime_ns: 77, ..mark(data.len() as u64) };
        let out = nameless_file(&std::env::temp_dir()).unwrap();
        assert!(index.restamp(&out, seen.clone(), &|| true).unwrap());
        let again = open(&content(out)).unwrap();
        assert!(again.verify(&|| true).unwrap());
        let mut expected = index.base().meta().clone();
        expected.made_of.source = seen;
        assert_eq!(again.meta(), &expected);
        assert_eq!(again.header.source_mtime, 77);
        assert_eq!(found(&again, data.as_bytes(), "7").unwrap(), scanned(data.as_bytes(), "7"));
    }
}

#[test]
fn an_index_is_compared_with_all_rows() {
    let data = rows_from(0, 400, 90);
    let half = data[..data.len() / 2].rfind('\n').unwrap() + 1;
    let runs_of = |data: &str| {
        let mut runs = [Runs::new(std::env::temp_dir(), 500)];
        let mut scan = KeyScan::new(fields(), Limits::default(), None);
        let mut stream = RowStream::new(data.as_bytes(), 0, 0, u64::MAX, 1 << 20);
        while let Some(row) = stream.next_row().unwrap() {
            runs[0].push(scan.key(&row).unwrap(), row.offset).unwrap();
        }
        runs
    };
    let file = DataFile::new(data.clone().into_bytes());
    let size = data.len() as u64;
    let source = Lookup { file: &file, size, below: u64::MAX, max_line: 1 << 20 };
    for version in [1, 2] {
        let (base, delta) = continued(&[&data.as_bytes()[..half], data.as_bytes()], Some(version));
        let index = base_delta(&base, Some(&delta)).unwrap();
        let kept = Continued { index: &index, source, all: true };
        let same = |rows: &str| kept.is_of_all(&mut runs_of(rows), &|| true).unwrap();
        assert_eq!(same(&data), Some(true));
        assert_eq!(same(&data[..half]), Some(false));
        assert_eq!(same(&(data.clone() + "{\"k\":1}\n")), Some(false));
        let at = half + data[half..].find(':').unwrap() + 1;
        assert_eq!(same(&format!("{}9{}", &data[..at], &data[at + 1..])), Some(false));
        assert_eq!(kept.is_of_all(&mut runs_of(&data), &|| false).unwrap(), None);
    }
}

#[test]
fn an_index_in_segments_finds_what_a_scan_finds() {
    let all = rows_from(0, 400, 90);
    let old: String = all.split_inclusive('\n').take(300).collect();
    // The rows of other segments are blank.
    let of_segment = |data: &str, segment: usize, segments: usize| {
        let line = |line: &str| {
            let key = line.trim_end_matches(['}', '\n']).rsplit(':').next().unwrap_or_default();
            let here = set_segments::segment_of(hash(key.as_bytes()), segments) == segment;
            if here { line.to_string() } else { " ".repeat(line.len() - 1) + "\n" }
        };
        data.split_inclusive('\n').map(line).collect::<String>().into_bytes()
    };
    for (segments, version) in [(1, 2), (2, 1), (8, 2)] {
        let base: Vec<_> =
            (0..segments).map(|at| index_of(&of_segment(&old, at, segments), version)).collect();
        let delta = base.iter().enumerate().map(|(at, base)| {
            let index = base_delta(base, None).unwrap();
            let data = of_segment(&all, at, segments);
            written(build_onto(Some((&index, false)), &data, (false, Some(version)), 500))
        });
        let open = |bytes: Vec<u8>| super::open(&bytes).unwrap();
        let delta = delta.map(open).collect();
        let index = in_segments(base.into_iter().map(open).collect(), Some(delta)).unwrap();
        assert!(index.verify(&|| true).unwrap());
        for key in ["0", "7", "69", "70", "89", "90"] {
            let expected = scanned(all.as_bytes(), key);
            assert_eq!(found_in(&index, all.as_bytes(), key).unwrap(), expected);
            assert_eq!(candidates(&index, all.as_bytes(), &[key]).unwrap(), expected);
        }
        let both = candidates(&index, all.as_bytes(), &["0", "7"]).unwrap();
        let few = [Request::parse("0", 1, false).unwrap(), Request::parse("7", 1, false).unwrap()];
        let some = index.candidates(&few, 1000).unwrap().unwrap().within(100..2000);
        let expected = both.into_iter().filter(|offset| (100..2000).contains(offset));
        assert_eq!(some.offsets(), expected.collect::<Vec<_>>());
    }
}
