//! Builds the row index of a file in memory and prints how many rows it has.
//!
//! `row_index FILE`

#![allow(clippy::print_stdout, reason = "a program says its answer there")]

use std::{env, error::Error, path::Path, sync::Arc};

use headrace_core::{
    input::{DataFile, RangeReader},
    rows::{IndexBuild, RowIndex},
};

/// Rows between two checkpoints, as in a sidecar.
const INTERVAL: u64 = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args_os().nth(1).ok_or("usage: row_index FILE")?;
    let file = Arc::new(DataFile::open(Path::new(&path))?);
    let size = file.stat()?.size;
    let index = RowIndex::new(INTERVAL);
    let mut build = IndexBuild::new(Box::new(RangeReader::new(file, 0, size)), &index, None);
    while build.step(&index)? {}
    println!("{}", index.total_rows());
    Ok(())
}
