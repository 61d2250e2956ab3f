//! Any bytes as a file of framed lines.

use std::sync::Arc;

use headrace_core::{
    json::{Limits, check},
    query::{Frame, NullPayload, Output, Reading, RowQuery, Watch, Writing, decode},
    rows::RowStream,
};

/// `$`, compiled.
const ROW: &[u8] = b"HRQP\x02\x00\x00\x01\x01\x00\x01";

/// Every line is accounted for, and what comes out is JSON.
pub fn frame(bytes: &[u8]) {
    let Some(([null_payload, length], rest)) = bytes.split_first_chunk() else { return };
    let null_payload = match null_payload % 3 {
        0 => NullPayload::Skip,
        1 => NullPayload::Keep,
        _ => NullPayload::Refuse,
    };
    let (separator, data) = rest.split_at(usize::from(length % 4).min(rest.len()));
    let reading = Reading {
        limits: Limits::default(),
        frame: Some(Frame { separator: separator.to_vec(), null_payload }),
        whole: false,
    };
    let writing = Writing { output: Output::Answer, nulls: true, limit: u64::MAX };
    let program = Arc::new(decode(ROW).expect("a program"));
    let mut run = RowQuery::new(program, writing, reading, Watch::new(|| false));
    let mut stream = RowStream::new(data, 0, 0, u64::MAX, 1 << 20);
    let mut out = Vec::new();
    while let Some(row) = stream.next_row().expect("memory can be read") {
        let number = row.number;
        if let Err(refusal) = run.row(row, &mut out) {
            assert_eq!(refusal.number, number);
            assert!(refusal.offset <= data.len() as u64);
        }
    }
    let counts = run.counts;
    assert_eq!(counts.rows, counts.emitted + counts.filtered + counts.skipped + counts.blank);
    let lines: Vec<_> = out.split_inclusive(|&byte| byte == b'\n').collect();
    assert_eq!(lines.len() as u64, counts.emitted);
    for line in lines {
        check(line, &Limits::default()).expect("what we write is JSON");
    }
}
