//! Neither indexing nor querying nor joining nor making columns allocates anything per row.

#![allow(clippy::unwrap_used, reason = "a failure here is the test's answer")]

use std::{io::Cursor, sync::Arc};

use headrace_core::{
    arrow::read::{Before, Columns, Shape},
    blocks::{BlockFile, BlockTable, Coding, Packer, Sizes, seek_table},
    codec::by_name,
    input::{DataFile, RangeReader},
    json::Limits,
    keys::{
        KeyFields, KeyScan,
        join::{Form, Join, Step, Terms},
    },
    query::{
        Output, Program, Prune, Reading, Reduction, RowQuery, Slot, Stage, StreamQuery, Watch,
        Writing, decode,
    },
    rows::{IndexBuild, RowBatch, RowIndex, RowStream},
};

/// Allocations while indexing `rows` rows, apart from setting up.
fn while_indexing(rows: usize) -> u64 {
    let data = b"{\"id\": 1234567, \"name\": \"a person\"}\n".repeat(rows);
    // One checkpoint, whatever the number of rows: what is left would be per row.
    let index = RowIndex::new(u64::MAX);
    let mut build = IndexBuild::new(Box::new(Cursor::new(data)), &index, None);
    let counted = allocation_counter::measure(|| while build.step(&index).unwrap() {});
    assert_eq!(index.total_rows(), rows as u64);
    counted.count_total
}

#[test]
fn indexing_allocates_nothing_at_all() {
    assert_eq!(while_indexing(1_000), 0);
    assert_eq!(while_indexing(200_000), 0);
}

#[test]
fn checkpoints_are_all_that_an_index_allocates() {
    let data = b"{}\n".repeat(1_000_000);
    let index = RowIndex::new(1000);
    let mut build = IndexBuild::new(Box::new(Cursor::new(data)), &index, None);
    let counted = allocation_counter::measure(|| while build.step(&index).unwrap() {});
    // A vector of 1,001 offsets that doubles each time it is full.
    assert!(counted.count_total <= 10, "{counted:?}");
}

#[test]
fn reading_rows_into_used_memory_allocates_nothing() {
    let data = b"{\"id\": 1234567, \"name\": \"a person\"}\n".repeat(100_000);
    let mut stream = RowStream::new(Cursor::new(data), 0, 0, u64::MAX, 1 << 20);
    let mut batch = RowBatch::default();
    // The buffers take their final size within the first megabytes.
    for _ in 0..40 {
        assert!(stream.next_batch(&mut batch, 1000, usize::MAX).unwrap());
    }
    let counted = allocation_counter::measure(|| {
        for _ in 0..50 {
            assert!(stream.next_batch(&mut batch, 1000, usize::MAX).unwrap());
        }
    });
    assert_eq!(counted.count_total, 0);
}

/// `$.id`, as the compiler writes it.
fn projection() -> Program {
    decode(b"HRQP\x02\x00\x00\x02\x01\x00\x01\x04\x01\x04\x00\x02id").unwrap()
}

fn rows() -> Vec<u8> {
    b"{\"id\": 1234567, \"name\": \"a person\", \"tags\": [1, 2, {\"a\": null}]}\n".repeat(9_000)
}

#[test]
fn asking_rows_one_by_one_allocates_nothing() {
    let (program, data) = (Arc::new(projection()), rows());
    let writing = Writing { output: Output::Answer, nulls: false, limit: u64::MAX };
    let mut run = RowQuery::new(
        program,
        writing,
        Reading { limits: Limits::default(), frame: None, whole: false },
        Watch::new(|| false),
    );
    let mut stream = RowStream::new(&data[..], 0, 0, u64::MAX, 1 << 20);
    let mut out = Vec::with_capacity(1 << 20);
    let mut evaluate = |count: usize| {
        for _ in 0..count {
            let row = stream.next_row().unwrap().unwrap();
            run.row(row, &mut out).unwrap();
        }
    };
    // The buffers take their final size within the first rows.
    evaluate(5_000);
    assert_eq!(allocation_counter::measure(|| evaluate(1_000)).count_total, 0);
    assert!(out.starts_with(b"1234567\n1234567\n"));
}

/// The stage of `$.filter(id > 5)`, as the compiler writes it.
fn filter() -> Program {
    decode(
        b"HRQP\x02\x00\x00\x07\x01\x00\x00\x14\x00\x00\x01\x00\x00\x02\t\x0b\x04\t\x0b\x02\x02id\
          \x00\x0e\x0f\x03\n\n\t\x0f\t\x03\x04\x18\x01\x10\x06filter\x01\x01\x00\x00\x05\x01\x00",
    )
    .unwrap()
}

/// The stage of `$.map(id)`, as the compiler writes it.
fn map() -> Program {
    decode(
        b"HRQP\x02\x00\x00\x05\x01\x00\x00\x14\x00\x00\x01\x00\x00\x02\x06\x08\x04\x06\x08\x02\x02id\
          \x18\x01\t\x03map\x01\x01\x00\x00\x03\x01\x00",
    )
    .unwrap()
}

/// The stage of `$.group(id, {n: count(), s: sum(id)})`, as the compiler writes it.
fn groups() -> Program {
    decode(b"HRQP\x02\x00\x00\x0b\x01\x00\x00\x14\x00\x00\x01\x00\x00\x02\x0f\x11\x04\x0f\x11\x02\x02id\x14\x00\x00\x01\x03\x00\x00\x00\x00\x02\x02')\x04')\x06\x02id\x14\x00\x00\x02\x05\x00\x07\x00\x14\x00\x00\x02\x04\x00\x08\x00\x18\x08,\x03map\x01\x01\x00\x00\x09\x01\x00").unwrap()
}

/// The keys of `$.sort(-id)`, as the compiler writes them.
fn keys() -> Program {
    decode(b"HRQP\x02\x00\x00\x03\x02\x0f\x11\x04\x0f\x11\x00\x02id\x14\x00\x00\x01\x01\x00")
        .unwrap()
}

/// A run that reduces what the stages give.
fn run_of(stages: Vec<Stage>, reduction: Reduction) -> StreamQuery {
    let reading = Reading { limits: Limits::default(), frame: None, whole: false };
    StreamQuery::new(stages, reduction, 1 << 20, reading, Watch::new(|| false))
}

/// The result over 6,000 rows, of which the last 1,000 allocate nothing.
fn reduced(program: Program, reduction: Reduction) -> Vec<u8> {
    result(run_of(vec![Stage::Each(program)], reduction))
}

/// The same of a run that has seen no rows.
fn result(mut run: StreamQuery) -> Vec<u8> {
    let data = rows();
    let mut stream = RowStream::new(&data[..], 0, 0, u64::MAX, 1 << 20);
    let mut evaluate = |count: usize| {
        for _ in 0..count {
            run.row(stream.next_row().unwrap().unwrap()).unwrap();
        }
    };
    // The buffers take their final size within the first rows.
    evaluate(5_000);
    assert_eq!(allocation_counter::measure(|| evaluate(1_000)).count_total, 0);
    run.finish().unwrap()
}

#[test]
fn reducing_rows_allocates_nothing() {
    assert_eq!(reduced(map(), Reduction::Sum), b"7407402000");
    assert_eq!(reduced(filter(), Reduction::Count), b"6000");
}

#[test]
fn grouping_rows_allocates_nothing() {
    let slots = vec![Slot::Count, Slot::Sum];
    let run = run_of(vec![Stage::Each(groups())], Reduction::Group).in_slots(slots);
    assert_eq!(result(run), b"[[[1234567],[6000,7407402000]]]");
    let counts = reduced(map(), Reduction::CountBy);
    assert_eq!(counts, b"{\"1234567\":6000}");
}

#[test]
fn keeping_the_best_rows_allocates_nothing() {
    let prune = Prune::new(keys(), vec![true], 2, Watch::new(|| false));
    let best = result(run_of(Vec::new(), Reduction::Collect(u64::MAX)).pruned(prune));
    assert!(best.starts_with(b"[{\"id\":1234567,"));
}

#[test]
fn passing_rows_on_allocates_nothing() {
    let lines = reduced(filter(), Reduction::Lines(u64::MAX, false));
    let all = rows();
    assert_eq!(lines, all[..all.len() / 9_000 * 6_000]);
}

/// All rows of some bytes, as one batch.
fn batch_of(data: &[u8]) -> RowBatch {
    let mut batch = RowBatch::default();
    RowStream::new(data, 0, 0, u64::MAX, 1 << 20)
        .next_batch(&mut batch, usize::MAX, usize::MAX)
        .unwrap();
    batch
}

#[test]
fn joining_allocates_nothing() {
    for (right, form) in [
        (&b"{\"id\": 1234567, \"more\": [1]}\n{\"id\": 7}\n"[..], Form::default()),
        (b"{\"id\": 1234567, \"name\": \"else\"}\n", Form::default()),
        (
            b"{\"id\": 1234567, \"name\": \"else\"}\n",
            Form { target: Some("name".into()), indicator: Some("i".into()), ..Form::default() },
        ),
    ] {
        let fields = KeyFields::new(vec!["id".into()]);
        let terms = Terms {
            left: fields.clone(),
            right: fields.clone(),
            typed: false,
            form,
            limits: Limits::default(),
            right_limits: Limits::default(),
            max_memory: 1 << 30,
        };
        let mut join = Join::new(terms, false);
        let mut scan = KeyScan::new(fields, Limits::default(), None);
        assert!(join.hold(&batch_of(right), &mut scan));
        let left = batch_of(&rows());
        let mut out = Vec::with_capacity(4 << 20);
        let mut joined = || {
            out.clear();
            join.begin(0);
            assert_eq!(join.take(&left, None, usize::MAX, &mut out).unwrap(), Step::Done);
        };
        // The buffers take their final size with the first rows.
        joined();
        assert_eq!(allocation_counter::measure(joined).count_total, 0);
        assert_eq!(out.split(|&byte| byte == b'\n').count(), 9_001);
    }
}

/// A zstd file of `count` equal blocks, with its seek table.
fn file_of_blocks(block: &[u8], count: usize) -> Vec<u8> {
    let frame = zstd::bulk::compress(block, 1).unwrap();
    let frames = vec![
        seek_table::Frame {
            comp_len: u32::try_from(frame.len()).unwrap(),
            raw_len: u32::try_from(block.len()).unwrap(),
        };
        count
    ];
    [frame.repeat(count), seek_table::encode(frames.into_iter())].concat()
}

#[test]
fn blocks_are_decoded_into_used_memory() {
    let block = b"{\"id\": 1234567, \"name\": \"a person\"}\n".repeat(30_000);
    let bytes = file_of_blocks(&block, 60);
    let size = bytes.len() as u64;
    let file = Arc::new(DataFile::new(bytes));
    let table = BlockTable::find(&file, Coding::Zstd, size).unwrap().unwrap();
    let logical = table.logical_size();
    let file = Arc::new(DataFile::new(BlockFile::new(file, table)));
    let reader = RangeReader::new(file, 0, logical);
    let mut stream = RowStream::new(reader, 0, 0, u64::MAX, 1 << 20);
    let mut batch = RowBatch::default();
    let mut read = |blocks: usize| {
        for _ in 0..blocks * 30 {
            assert!(stream.next_batch(&mut batch, 1000, usize::MAX).unwrap());
        }
    };
    // Each of the kept blocks has its own memory.
    read(20);
    let counted = allocation_counter::measure(|| read(20));
    // What is shared between those who read a block, and nothing for its 30,000 rows.
    assert!(counted.count_total <= 2 * 20, "{}", counted.count_total);
    assert!(counted.bytes_total < 4096, "{}", counted.bytes_total);
}

#[test]
fn columns_allocate_their_buffers_and_nothing_per_row() {
    let shape = r#"{"struct": [["id", {"integer": 8}], ["name", "string"], ["tags", {"array": "variant"}]]}"#;
    let shape = Shape::parse(shape).unwrap();
    let mut columns = Columns::new(&shape, Limits::default(), Before::default(), true);
    let data = rows();
    let mut fill = || {
        let mut stream = RowStream::new(&data[..], 0, 0, u64::MAX, 1 << 20);
        while let Some(row) = stream.next_row().unwrap() {
            columns.push(row);
        }
    };
    let counted = allocation_counter::measure(&mut fill);
    assert_eq!(columns.len(), 9_000);
    // A dozen buffers that double each time they are full.
    assert!(counted.count_total < 300, "{counted:?}");
    assert_eq!(columns.take().faults, []);
}

#[test]
fn packing_holds_no_more_the_longer_it_goes_on() {
    let codec = by_name("gzip").unwrap();
    let settings = codec.blocks.unwrap().defaults();
    let sizes = Sizes {
        block_bytes: 1 << 18,
        max_bytes: Some(16 << 10),
        max_logical_bytes: None,
        max_records: None,
    };
    let mut packer = Packer::new(codec, &settings, sizes, None, 1).unwrap();
    // Blocks that are begun with the first lines turn out to be too large with the others.
    let mut lines = [&[b'x'; 999][..], b"\n"].concat().repeat(60);
    let mut state = 1_u64;
    for _ in 0..80 * 100 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        lines.extend_from_slice(format!("{:08x}", state >> 32).as_bytes());
        lines.extend_from_slice(if state.is_multiple_of(100) { b"\n" } else { b"" });
    }
    lines.push(b'\n');
    let mut pack = |rounds: usize| {
        for _ in 0..rounds {
            let mut pieces = Vec::new();
            assert_eq!(packer.add(&lines, 0, &mut pieces).unwrap(), None);
        }
    };
    pack(5);
    let held = allocation_counter::measure(|| pack(50)).bytes_current;
    assert!(held < 1 << 19, "{held}");
}
