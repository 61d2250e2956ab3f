//! What fuzzing has found once is never found again: the targets of `fuzz/`, as plain tests.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

use std::{fs, path::Path};

#[path = "../../../fuzz/src/lib.rs"]
mod fuzz;

/// Run a target over all that was kept for it, and over every beginning of that.
fn replay(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/found").join(target);
    let mut replayed = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        for length in 0..=bytes.len() {
            run(&bytes[..length]);
        }
        replayed += 1;
    }
    assert!(replayed > 0, "nothing was kept for {target}");
}

#[test]
fn json() {
    replay("json", fuzz::json);
}

#[test]
fn rows() {
    replay("rows", fuzz::rows);
}

#[test]
fn frame() {
    replay("frame", fuzz::frame);
}

#[test]
fn log() {
    replay("log", fuzz::log);
}

#[test]
fn program() {
    replay("program", fuzz::program);
}

#[test]
fn blocks() {
    replay("blocks", fuzz::blocks);
}

#[test]
fn checkpoint() {
    replay("checkpoint", fuzz::checkpoint);
}

#[test]
fn key_index() {
    replay("key_index", fuzz::key_index);
}

#[test]
fn graph_index() {
    replay("graph_index", fuzz::graph_index);
}

#[test]
fn join() {
    replay("join", fuzz::join);
}

#[test]
fn columns() {
    replay("columns", fuzz::columns);
}

#[test]
fn variant() {
    replay("variant", fuzz::variant);
}
