//! Any bytes as one row of JSON.

use bumpalo::Bump;
use headrace_core::{
    json::{Limits, check},
    value::{Lanes, Tape, equal, write_canonical, write_json},
};

/// The checker and the tape agree, and what is written can be read as the same value.
pub fn json(bytes: &[u8]) {
    let (limits, arena) = (Limits::default(), Bump::new());
    let mut tape = Tape::once();
    let document = match (check(bytes, &limits), tape.parse(bytes, &limits)) {
        (Ok(()), Ok(document)) => document,
        (Err(one), Err(other)) => {
            assert_eq!(one, other);
            assert!(one.offset <= bytes.len());
            return;
        }
        (one, other) => panic!("checked: {one:?}, taken apart: {:?}", other.map(|_| ())),
    };
    let mut text = Vec::new();
    write_json(document.root(), &mut text, &arena);
    let mut again = Tape::once();
    let again = again.parse(&text, &limits).expect("what we write is JSON");
    assert!(equal(document.root(), again.root(), &arena));

    // A tape that has learned the keys of the row finds the same in it.
    let mut learned = Tape::learning(Lanes::all());
    learned.parse(bytes, &limits).expect("it was before");
    let learned = learned.parse(bytes, &limits).expect("it was before");
    assert!(equal(document.root(), learned.root(), &arena));

    let (mut one, mut other) = (Vec::new(), Vec::new());
    write_canonical(document.root(), &mut one, &arena);
    write_canonical(again.root(), &mut other, &arena);
    assert_eq!(one, other);
}
