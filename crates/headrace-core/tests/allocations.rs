//! The scan of the row index allocates nothing per row.

#![allow(clippy::unwrap_used, reason = "a failure here is the test's answer")]

use std::io::Cursor;

use headrace_core::rows::{IndexBuild, RowBatch, RowIndex, RowStream};

/// Allocations while indexing `rows` rows, apart from setting up.
fn while_indexing(rows: usize) -> u64 {
    let data = b"{\"id\": 1234567, \"name\": \"somebody\"}\n".repeat(rows);
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
    let data = b"{\"id\": 1234567, \"name\": \"somebody\"}\n".repeat(100_000);
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
