//! Lines by time, and several logs in one order, against what is obviously right.

use proptest::prelude::*;

use super::*;

const SALT: u32 = 7;

/// A log: its entries and its lines. Each line says which it is.
fn log(name: usize, times: &[i64]) -> (Vec<u8>, Vec<u8>) {
    let (mut entries, mut lines) = (Vec::new(), Vec::new());
    for (row, &time) in times.iter().enumerate() {
        let start = lines.len() as u64;
        let line = format!("[{name},{row},{time}]{}\n", " ".repeat(row % 3));
        lines.extend_from_slice(line.as_bytes());
        let number = u32::try_from(row).unwrap() + 1;
        let entry = Entry {
            start,
            end: lines.len() as u64,
            time,
            line: u64::from(number),
            line_of_file: number,
            file_number: 1,
            extracted: true,
            flags: 0,
            checksum: crc32c::crc32c(line.as_bytes()),
        };
        entries.extend_from_slice(&entry.encode(SALT));
    }
    (entries, lines)
}

fn split(lines: &[u8]) -> Vec<&[u8]> {
    lines.split_inclusive(|&byte| byte == b'\n').collect()
}

/// Merge, given `some` lines of an input at a time.
fn merged(logs: &[Vec<i64>], some: usize, limit: Limit, form: Form) -> (Vec<u8>, Vec<u8>) {
    let mut merge = Merge::new(logs.len(), form);
    let mut given = vec![0; logs.len()];
    let (mut data, mut picks, mut rows) = (Vec::new(), Vec::new(), 0);
    let mut key = i64::MIN;
    loop {
        let found = merge.next(Limit { key, ..limit });
        assert!(found.rows <= limit.rows);
        rows += found.rows;
        let moved = |pick: [u8; 8]| (u64::from_le_bytes(pick) + data.len() as u64).to_le_bytes();
        for pick in found.picks.as_chunks::<PICK_BYTES>().0 {
            picks.extend_from_slice(&pick[..20]);
            picks.extend_from_slice(&moved(pick[20..].try_into().unwrap()));
        }
        data.extend_from_slice(&found.data);
        match found.pause {
            Pause::Wants(input) => {
                let times = &logs[input];
                if given[input] == times.len() {
                    merge.end(input);
                    continue;
                }
                let next = times.len().min(given[input] + some);
                let (entries, lines) = log(input, times);
                let before: usize =
                    split(&lines)[..given[input]].iter().map(|line| line.len()).sum();
                let rest = split(&lines[before..]);
                let lines = rest[..next - given[input]].concat();
                let entries = entries[given[input] * ENTRY_BYTES..next * ENTRY_BYTES].to_vec();
                assert!(merge.give(input, entries.clone(), lines.clone()));
                assert!(!merge.give(input, entries, lines));
                given[input] = next;
            }
            Pause::Full => assert!(found.rows > 0),
            Pause::Later(next) => {
                assert!(next > key);
                key = next;
            }
            Pause::End => break,
        }
    }
    assert_eq!(rows, logs.iter().map(Vec::len).sum::<usize>());
    (data, picks)
}

/// All lines, sorted by the latest time so far, the log and the line.
fn sorted(logs: &[Vec<i64>]) -> Vec<(i64, usize, usize, i64)> {
    let mut all = Vec::new();
    for (name, times) in logs.iter().enumerate() {
        for (row, &time) in times.iter().enumerate() {
            let latest = times[..=row].iter().copied().max().unwrap();
            all.push((latest, name, row, time));
        }
    }
    all.sort_unstable();
    all
}

fn times() -> impl Strategy<Value = Vec<i64>> {
    prop::collection::vec(prop_oneof![-3_i64..6, any::<i64>()], 0..12)
}

proptest! {
    #[test]
    fn logs_are_merged_as_if_sorted(
        logs in prop::collection::vec(times(), 0..5),
        some in 1_usize..5,
        rows in 1_usize..5,
        bytes in 1_usize..40,
    ) {
        let limit = Limit { key: i64::MIN, rows, bytes };
        let (data, picks) = merged(&logs, some, limit, Form::Picked);
        let expected = sorted(&logs);
        let found: Vec<_> = split(&data).iter().map(|line| line.trim_ascii_end().to_vec()).collect();
        let lines: Vec<_> = expected
            .iter()
            .map(|(_, name, row, time)| format!("[{name},{row},{time}]").into_bytes())
            .collect();
        prop_assert_eq!(found, lines);
        let mut end = 0;
        for ((pick, line), (_, name, row, time)) in
            picks.as_chunks::<PICK_BYTES>().0.iter().zip(split(&data)).zip(&expected)
        {
            end += line.len();
            prop_assert_eq!(&pick[..4], u32::try_from(*name).unwrap().to_le_bytes());
            prop_assert_eq!(&pick[4..12], (*row as u64 + 1).to_le_bytes());
            prop_assert_eq!(&pick[12..20], time.to_le_bytes());
            prop_assert_eq!(&pick[20..], (end as u64).to_le_bytes());
        }
        let (plain, none) = merged(&logs, some + 1, limit, Form::AsItIs);
        prop_assert_eq!((plain, none), (data, Vec::new()));
    }

    #[test]
    fn lines_are_selected_by_time(times in times(), since in -4_i64..7, length in 0_i64..9) {
        let (entries, lines) = log(0, &times);
        let range = since..since + length;
        let wanted = |row: &usize| range.contains(&times[*row]);
        let rows: Vec<_> = (0..times.len()).filter(wanted).collect();
        let (chosen, text) = select(&entries, &lines, range.clone());
        let expected: Vec<_> = rows.iter().map(|&row| split(&lines)[row]).collect();
        prop_assert_eq!(text, expected.concat());
        let expected: Vec<_> =
            rows.iter().map(|&row| &entries[row * ENTRY_BYTES..][..ENTRY_BYTES]).collect();
        prop_assert_eq!(chosen, expected.concat());
        let both = times.iter().min().zip(times.iter().max());
        prop_assert_eq!(span(&entries, SALT), both.map(|(&earliest, &latest)| (earliest, latest)));
    }
}

#[test]
fn entries_that_are_not_good_have_no_span() {
    let (entries, _) = log(0, &[5, 3, 9]);
    assert_eq!(span(&entries, SALT), Some((3, 9)));
    assert_eq!(span(&entries, SALT + 1), None);
    assert_eq!(span(&entries[..=ENTRY_BYTES], SALT), None);
    assert_eq!(span(&[], SALT), None);
}

#[test]
fn a_tag_says_where_a_line_is_from() {
    let (entries, _) = log(0, &[-5, 3]);
    let names = vec![b"\"a/b\"".to_vec()];
    let mut merge = Merge::new(1, Form::Tagged(names));
    let limit = Limit { key: i64::MAX, rows: 9, bytes: 99 };
    let mut second = Entry::believed(entries.as_chunks().0.last().unwrap());
    second.end = second.start + 2;
    let entries = [&entries[..ENTRY_BYTES], &second.encode(SALT)].concat();
    let end = usize::try_from(second.start).unwrap();
    let lines = [format!("{:1$}\n", 7, end - 1).into_bytes(), b"\r\n".to_vec()].concat();
    assert!(merge.give(0, entries, lines));
    let found = merge.next(limit);
    assert_eq!(found.pause, Pause::Wants(0));
    assert_eq!(found.key, Some(3));
    assert_eq!(
        String::from_utf8(found.data).unwrap(),
        "{\"partition\":\"a/b\",\"line\":1,\"time\":-5,\"record\":7}\n\
         {\"partition\":\"a/b\",\"line\":2,\"time\":3,\"record\":null}\n"
    );
    merge.end(0);
    assert_eq!(merge.next(limit).pause, Pause::End);
}
