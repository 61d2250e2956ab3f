//! Any bytes as a compiled query.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bumpalo::Bump;
use headrace_core::{
    json::{Limits, MAX_DEPTH, check},
    query::{Machine, Output, Program, Reading, RowQuery, Watch, Writing, decode},
    rows::Row,
    value::{Kept, Tape, equal, write_json},
};

/// Documents of every kind.
const DOCUMENTS: [&[u8]; 4] = [
    b"null",
    br#"{"a": 1, "b": [3, 1.5, null, "x"], "c": {"a": true, "k": "v"}, "d": "a-b c", "n": -1e400}"#,
    br#"[{"id": 1, "k": "x", "v": [1, 2]}, {"id": 2, "k": "x"}, [[1, 2], [3]], "text", 0, false]"#,
    "\"\\u00e9\\n1,2;x=<\u{e9}\u{1f600}>\"".as_bytes(),
];

/// How long a program runs before it is interrupted.
const PATIENCE: Duration = Duration::from_secs(1);

/// Bytes are refused, or they are a program; it has an answer that is JSON, or a fault. Over a
/// row of which only its lanes are recorded, the answer is the same.
pub fn program(bytes: &[u8]) {
    let Ok(program) = decode(bytes).map(Arc::new) else { return };
    for line in DOCUMENTS {
        let arena = Bump::new();
        let mut tape = Tape::once();
        let document = tape.parse(line, &Limits::default()).expect("JSON");
        let end = Instant::now() + PATIENCE;
        let watch = Watch::new(move || Instant::now() > end);
        let Ok(value) = Machine::new(&program, &arena, document.root(), &watch).run() else {
            continue;
        };
        let mut text = Vec::new();
        write_json(value, &mut text, &arena);
        // Parts of a row may stand as deep in a result as the row is deep.
        let limits = Limits { max_depth: MAX_DEPTH };
        check(&text, &limits).expect("what we write is JSON");
        // Two runs of `now()` return different times.
        let tells_time = bytes.windows(3).any(|part| part == b"now");
        if let Some(of_lanes) = over_row(Arc::clone(&program), line).filter(|_| !tells_time) {
            let answers = [of_lanes.into_bytes(), text].map(|text| {
                Kept::new(String::from_utf8(text).expect("what we write is UTF-8"), &limits)
            });
            let [one, other] = answers.map(|answer| answer.expect("what we write is JSON"));
            assert!(equal(one.value(&arena), other.value(&arena), &arena));
        }
    }
}

/// The answer over a row of which only its lanes are recorded; none if that took too long.
fn over_row(program: Arc<Program>, line: &[u8]) -> Option<String> {
    let reading = Reading { limits: Limits::default(), frame: None, whole: false };
    let writing = Writing { output: Output::Answer, nulls: true, limit: 1 };
    let end = Instant::now() + PATIENCE;
    let watch = Watch::new(move || Instant::now() > end);
    let mut run = RowQuery::new(program, writing, reading, watch);
    let mut out = Vec::new();
    let row = Row::new(0, 0, line);
    match run.row(row, &mut out) {
        Ok(()) => Some(String::from_utf8(out).expect("what we write is UTF-8")),
        Err(refusal) => {
            assert_eq!(refusal.reason, "interrupted");
            None
        }
    }
}
