//! What the packer makes of lines: files that obey their limits and lose nothing.

use std::io::{self, Read};

use memchr::memchr_iter;
use proptest::prelude::*;

use crate::{
    blocks::{
        Shard,
        pack::{Cause, Packer, Refusal, Sizes},
    },
    codec::{self, by_name},
    json::Limits,
};

const UNLIMITED: Sizes =
    Sizes { block_bytes: 1 << 18, max_bytes: None, max_logical_bytes: None, max_records: None };

struct Written {
    files: Vec<(Vec<u8>, Shard)>,
    refused: Vec<Refusal>,
}

/// Pack `data`, given `step` bytes of whole lines at a time, passing over what is refused.
fn pack(codec: &str, sizes: Sizes, threads: usize, data: &[u8], step: usize) -> Written {
    pack_checked(codec, sizes, threads, data, step, None)
}

fn pack_checked(
    codec: &str,
    sizes: Sizes,
    threads: usize,
    data: &[u8],
    step: usize,
    check: Option<Limits>,
) -> Written {
    let codec = by_name(codec).unwrap();
    let settings = codec.blocks.unwrap().defaults();
    let mut packer = Packer::new(codec, &settings, sizes, check, threads).unwrap();
    let (mut pieces, mut refused) = (Vec::new(), Vec::new());
    let lines: Vec<&[u8]> = data.split_inclusive(|&byte| byte == b'\n').collect();
    for chunk in lines.chunks(step) {
        let chunk = chunk.concat();
        let mut start = 0;
        while let Some(refusal) = packer.add(&chunk, start, &mut pieces).unwrap() {
            start = refusal.end;
            refused.push(refusal);
        }
    }
    packer.finish(false, &mut pieces).unwrap();
    let (mut files, mut current) = (Vec::new(), Vec::new());
    for piece in pieces {
        current.extend(piece.bytes);
        if let Some(shard) = piece.ended {
            files.push((std::mem::take(&mut current), shard));
        }
    }
    assert!(current.is_empty(), "bytes behind the last shard");
    Written { files, refused }
}

fn decoded(codec: &str, bytes: &[u8]) -> Vec<u8> {
    let mut output = Vec::new();
    let input = Box::new(io::Cursor::new(bytes.to_vec()));
    codec::decode(by_name(codec).unwrap(), input).unwrap().read_to_end(&mut output).unwrap();
    output
}

/// What a shard says of itself is what is in its bytes.
fn check_shard(codec: &str, bytes: &[u8], shard: &Shard) {
    let lines = decoded(codec, bytes);
    assert_eq!(shard.bytes, bytes.len() as u64);
    assert_eq!(shard.logical_bytes, lines.len() as u64);
    assert_eq!(shard.records, memchr_iter(b'\n', &lines).count() as u64);
    assert_eq!(shard.digest, xxhash_rust::xxh3::xxh3_64(bytes));
    let (mut row, mut logical, mut physical) = (0, 0, 0);
    for block in &shard.blocks {
        assert_eq!((block.first_row, block.logical, block.physical), (row, logical, physical));
        let end = physical + u64::from(block.comp_len);
        let own = &bytes[usize::try_from(physical).unwrap()..usize::try_from(end).unwrap()];
        assert_eq!(block.crc32c, crc32c::crc32c(own));
        let content = decoded(codec, own);
        assert_eq!(content.len(), block.raw_len as usize);
        assert_eq!(memchr_iter(b'\n', &content).count(), block.rows as usize);
        assert!(content.ends_with(b"\n"));
        row += u64::from(block.rows);
        logical += u64::from(block.raw_len);
        physical = end;
    }
}

fn noise(lines: u64, length: usize) -> Vec<u8> {
    let mut state = 7_u64;
    let mut data = Vec::new();
    for _ in 0..lines {
        for _ in 0..length {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            data.push(b'0' + u8::try_from(state >> 58).unwrap());
        }
        data.push(b'\n');
    }
    data
}

#[test]
fn no_shard_exceeds_its_limit_and_none_is_much_smaller() {
    let repeated: Vec<u8> = (0..60_000)
        .flat_map(|id| format!("{{\"id\":{id},\"name\":\"the same each time\"}}\n").into_bytes())
        .collect();
    for codec in ["gzip", "zstd"] {
        for (data, limits) in
            [(repeated.clone(), [2048, 4096, 6000]), (noise(20_000, 90), [2048, 65_536, 1 << 20])]
        {
            for limit in limits {
                let sizes = Sizes { max_bytes: Some(limit), ..UNLIMITED };
                let written = pack(codec, sizes, 1, &data, 1000);
                let sizes: Vec<_> = written.files.iter().map(|(bytes, _)| bytes.len()).collect();
                assert!(sizes.len() >= 2, "{codec} {limit}: {sizes:?}");
                assert!(
                    sizes.iter().all(|&size| size as u64 <= limit),
                    "{codec} {limit}: {sizes:?}"
                );
                let full: usize = sizes[..sizes.len() - 1].iter().sum();
                assert!(full * 10 >= (sizes.len() - 1) * usize::try_from(limit).unwrap() * 7);
                let all: Vec<u8> =
                    written.files.iter().flat_map(|(bytes, _)| decoded(codec, bytes)).collect();
                assert_eq!(all, data);
            }
        }
    }
}

#[test]
fn checking_changes_no_byte() {
    let data: Vec<u8> = (0..20_000).flat_map(|id| format!("[{id}]\n").into_bytes()).collect();
    for block_bytes in [100, 5000] {
        let sizes = Sizes { block_bytes, max_bytes: Some(40_000), ..UNLIMITED };
        let checked = pack_checked("zstd", sizes, 1, &data, 999, Some(Limits::default()));
        let unchecked = pack("zstd", sizes, 1, &data, 999);
        let bytes = |written: Written| -> Vec<Vec<u8>> {
            written.files.into_iter().map(|(bytes, _)| bytes).collect()
        };
        assert_eq!(bytes(checked), bytes(unchecked));
    }
}

#[test]
fn records_and_logical_bytes_are_counted_exactly() {
    let data = noise(1000, 9);
    for codec in ["none", "gzip", "zstd"] {
        let sizes = Sizes { max_records: Some(300), ..UNLIMITED };
        let written = pack(codec, sizes, 2, &data, 7);
        let records: Vec<_> = written.files.iter().map(|(_, shard)| shard.records).collect();
        assert_eq!(records, [300, 300, 300, 100], "{codec}");
        let sizes = Sizes { max_logical_bytes: Some(3005), ..UNLIMITED };
        let written = pack(codec, sizes, 2, &data, 7);
        let bytes: Vec<_> = written.files.iter().map(|(_, shard)| shard.logical_bytes).collect();
        assert_eq!(bytes, [3000, 3000, 3000, 1000], "{codec}");
    }
    let sizes = Sizes { max_bytes: Some(3005), ..UNLIMITED };
    let written = pack("none", sizes, 1, &data, 7);
    assert_eq!(written.files[0].0.len(), 3000);
}

#[test]
fn a_line_that_no_shard_can_hold_is_refused_and_the_others_are_not() {
    let long = noise(1, 5000);
    let data = [&b"1\n"[..], &long, b"2\n"].concat();
    for codec in ["none", "gzip", "zstd"] {
        let sizes = Sizes { max_bytes: Some(2048), ..UNLIMITED };
        let written = pack(codec, sizes, 1, &data, 3);
        let [refusal] = &written.refused[..] else { panic!("{:?}", written.refused) };
        assert_eq!((refusal.begin, refusal.end), (2, 5003));
        assert!(matches!(refusal.cause, Cause::TooLarge { limit: 2048, .. }), "{codec}");
        let [(bytes, _)] = &written.files[..] else { panic!("more than one file") };
        assert_eq!(decoded(codec, bytes), b"1\n2\n");
    }
    // Long as it is, this one is small when compressed.
    let easy = [&b"1\n"[..], &b"0".repeat(50_000), b"\n2\n"].concat();
    for codec in ["gzip", "zstd"] {
        let sizes = Sizes { max_bytes: Some(2048), ..UNLIMITED };
        let written = pack(codec, sizes, 1, &easy, 3);
        assert_eq!(written.refused, []);
        let all: Vec<u8> =
            written.files.iter().flat_map(|(bytes, _)| decoded(codec, bytes)).collect();
        assert_eq!(all, easy);
    }
}

#[test]
fn what_is_not_json_is_refused_where_it_is_wrong() {
    let codec = by_name("zstd").unwrap();
    let settings = codec.blocks.unwrap().defaults();
    let check = Some(Limits::default());
    let mut packer = Packer::new(codec, &settings, UNLIMITED, check, 1).unwrap();
    let mut pieces = Vec::new();
    let data = b"{\"a\":1}\n \n[1,}\n\xff\n7";
    let first = packer.add(data, 0, &mut pieces).unwrap().unwrap();
    assert_eq!((first.begin, first.end), (10, 15));
    assert!(matches!(first.cause, Cause::Json { offset: 2, .. }), "{:?}", first.cause);
    let second = packer.add(data, first.end, &mut pieces).unwrap().unwrap();
    assert_eq!((second.begin, second.end), (15, 17));
    assert_eq!(packer.add(data, second.end, &mut pieces).unwrap(), None);
    packer.finish(false, &mut pieces).unwrap();
    assert_eq!((packer.records, packer.blank, packer.logical_bytes), (3, 1, 12));
    let bytes: Vec<u8> = pieces.into_iter().flat_map(|piece| piece.bytes).collect();
    assert_eq!(decoded("zstd", &bytes), b"{\"a\":1}\n \n7\n");
}

#[test]
fn a_limit_below_an_empty_file_is_refused_and_a_file_can_be_empty() {
    for codec in ["gzip", "zstd"] {
        let codec = by_name(codec).unwrap();
        let settings = codec.blocks.unwrap().defaults();
        let sizes = Sizes { max_bytes: Some(20), ..UNLIMITED };
        assert!(Packer::new(codec, &settings, sizes, None, 1).is_err());
        let mut packer = Packer::new(codec, &settings, UNLIMITED, None, 1).unwrap();
        let mut pieces = Vec::new();
        packer.finish(true, &mut pieces).unwrap();
        let bytes: Vec<u8> = pieces.into_iter().flat_map(|piece| piece.bytes).collect();
        assert_eq!(decoded(codec.name, &bytes), b"");
        assert!(!bytes.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn threads_and_portions_change_no_byte_and_nothing_is_lost(
        codec in prop_oneof![Just("none"), Just("gzip"), Just("zstd")],
        lines in proptest::collection::vec(
            prop_oneof![4 => "[ab]{0,40}", 2 => "[a-z0-9]{0,300}", 1 => "[a-z]{2000,4000}"], 0..120),
        block_bytes in 1_usize..2000,
        max_bytes in proptest::option::of(prop_oneof![300_u64..3000, 16_000_u64..20_000]),
        max_logical_bytes in proptest::option::of(300_u64..5000),
        max_records in proptest::option::of(1_u64..40),
        steps in (1_usize..200, 1_usize..200),
    ) {
        let data: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
        let sizes = Sizes { block_bytes, max_bytes, max_logical_bytes, max_records };
        let one = pack(codec, sizes, 1, &data, steps.0);
        let two = pack(codec, sizes, 3, &data, steps.1);
        let bytes = |written: &Written| -> Vec<Vec<u8>> {
            written.files.iter().map(|(bytes, _)| bytes.clone()).collect()
        };
        prop_assert_eq!(bytes(&one), bytes(&two));
        let kept: Vec<u8> = one.files.iter().flat_map(|(bytes, _)| decoded(codec, bytes)).collect();
        let lost: usize = one.refused.iter().map(|refusal| refusal.end - refusal.begin).sum();
        prop_assert_eq!(kept.len() + lost, data.len());
        if one.refused.is_empty() {
            prop_assert_eq!(kept, data);
        }
        for (bytes, shard) in &one.files {
            check_shard(codec, bytes, shard);
            prop_assert!(max_bytes.is_none_or(|most| shard.bytes <= most));
            prop_assert!(max_logical_bytes.is_none_or(|most| shard.logical_bytes <= most));
            prop_assert!(max_records.is_none_or(|most| shard.records <= most));
            let fits = |block: &crate::blocks::Block| block.rows == 1 || block.raw_len as usize <= block_bytes;
            prop_assert!(shard.blocks.iter().all(fits));
        }
    }
}
