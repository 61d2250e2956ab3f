//! Any bytes as a compiled query.

use std::time::{Duration, Instant};

use bumpalo::Bump;
use headrace_core::{
    json::{Limits, MAX_DEPTH, check},
    query::{Machine, Watch, decode},
    value::{Tape, write_json},
};

/// Documents of every kind.
const DOCUMENTS: [&[u8]; 4] = [
    b"null",
    br#"{"a": 1, "b": [3, 1.5, null, "x"], "c": {"a": true, "k": "v"}, "d": "a-b c", "n": -1e400}"#,
    br#"[{"id": 1, "k": "x", "v": [1, 2]}, {"id": 2, "k": "x"}, [[1, 2], [3]], "text", 0, false]"#,
    "\"\\u00e9\\n1,2;x=<\u{e9}\u{1f600}>\"".as_bytes(),
];

/// How long a program runs before it is told to stop.
const PATIENCE: Duration = Duration::from_secs(1);

/// Bytes are refused, or they are a program; it has an answer that is JSON, or a fault.
pub fn program(bytes: &[u8]) {
    let Ok(program) = decode(bytes) else { return };
    for line in DOCUMENTS {
        let arena = Bump::new();
        let mut tape = Tape::default();
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
    }
}
