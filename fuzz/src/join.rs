//! Any bytes as the rows of both sides of a join.

use headrace_core::{
    json::{Limits, check},
    keys::{
        KeyFields, KeyScan,
        join::{Form, Join, Step, Terms},
    },
    rows::{RowBatch, RowStream},
};

/// Every left row is accounted for, what comes out is JSON, and is the same piece by piece.
pub fn join(bytes: &[u8]) {
    let Some((&how, data)) = bytes.split_first() else { return };
    let name = |bit: u8, name: &str| (how & bit != 0).then(|| name.to_owned());
    let form = Form {
        inner: how & 1 != 0,
        target: name(2, "a"),
        pick: (how & 4 != 0).then(|| vec!["a".into(), "b".into()]),
        prefix: name(8, "\"").unwrap_or_default(),
        indicator: name(16, "b"),
    };
    let mut batch = RowBatch::default();
    let mut stream = RowStream::new(data, 0, 0, u64::MAX, 1 << 20);
    // A row for each pair: few rows are enough.
    stream.next_batch(&mut batch, 64, usize::MAX).expect("memory can be read");
    let all = joined(&batch, &form, how & 32 != 0, usize::MAX);
    assert_eq!(all, joined(&batch, &form, how & 32 != 0, 1));
    for line in all.split_inclusive(|&byte| byte == b'\n') {
        // An array of rows in a row is deeper than they are.
        check(line, &Limits { max_depth: 258 }).expect("what we write is JSON");
    }
}

fn joined(batch: &RowBatch, form: &Form, typed: bool, max_bytes: usize) -> Vec<u8> {
    let key = KeyFields::new(vec!["k".into()]);
    let terms = Terms {
        left: key.clone(),
        right: key.clone(),
        typed,
        form: form.clone(),
        limits: Limits::default(),
        right_limits: Limits::default(),
        max_memory: usize::MAX,
    };
    let mut join = Join::new(terms, false);
    assert!(join.hold(batch, &mut KeyScan::new(key, Limits::default(), None)));
    join.begin(0);
    let mut out = Vec::new();
    loop {
        let mut piece = Vec::new();
        let step = join.take(batch, None, max_bytes, &mut piece).expect("memory can be read");
        out.extend_from_slice(&piece);
        if step == Step::Done {
            break;
        }
    }
    let counts = join.counts();
    assert_eq!(counts.rows, batch.len() as u64);
    assert_eq!(counts.rows, counts.emitted + counts.filtered + counts.skipped + counts.blank);
    assert_eq!(counts.lines, out.split(|&byte| byte == b'\n').count() as u64 - 1);
    out
}
