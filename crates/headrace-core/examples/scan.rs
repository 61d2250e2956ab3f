//! Runs a compiled query over a file, and nothing else: what `make check-speed` counts the
//! instructions of.
//!
//! `scan REDUCTION CODE FILE`: `rows` runs CODE over each row; `lines`, `count`, `sum`, `count_by`
//! and `group` run it as the stage of a stream query. CODE is the program in hexadecimal digits,
//! FILE has only good rows. It prints the number of rows and of bytes of output.

use std::{env, error::Error, fs::File, sync::Arc};

use headrace_core::{
    json::Limits,
    query::{self, Output, Reading, Reduction, RowQuery, Slot, Stage, StreamQuery, Watch, Writing},
    rows::{RowBatch, RowStream},
};

const BATCH_ROWS: usize = 1 << 16;
const BATCH_BYTES: usize = 1 << 19;
const MAX_MEMORY: u64 = 1 << 30;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [reduction, code, path] = &arguments[..] else {
        return Err("usage: scan REDUCTION CODE FILE".into());
    };
    let program = query::decode(&bytes(code)?).map_err(|malformed| malformed.0)?;
    let reading = Reading { limits: Limits::default(), frame: None, whole: false };
    let watch = Watch::new(|| false);
    let reduction = match reduction.as_str() {
        "rows" => {
            let writing = Writing { output: Output::Answer, nulls: false, limit: u64::MAX };
            let run = RowQuery::new(Arc::new(program), writing, reading, watch);
            return query_rows(run, path);
        }
        "lines" => Reduction::Lines(u64::MAX, false),
        "count" => Reduction::Count,
        "sum" => Reduction::Sum,
        "count_by" => Reduction::CountBy,
        "group" => Reduction::Group,
        other => return Err(format!("no reduction {other:?}").into()),
    };
    let run = StreamQuery::new(vec![Stage::Each(program)], reduction, MAX_MEMORY, reading, watch);
    reduce(run.in_slots(vec![Slot::Count, Slot::Sum]), path)
}

fn bytes(digits: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?)).collect()
}

fn rows_of(path: &str) -> Result<RowStream<File>, Box<dyn Error>> {
    Ok(RowStream::new(File::open(path)?, 0, 0, u64::MAX, usize::MAX >> 1))
}

fn query_rows(mut run: RowQuery, path: &str) -> Result<(), Box<dyn Error>> {
    let (mut rows, mut batch) = (rows_of(path)?, RowBatch::default());
    let (mut out, mut written) = (Vec::new(), 0);
    while rows.next_batch(&mut batch, BATCH_ROWS, BATCH_BYTES)? {
        out.clear();
        for row in batch.texts() {
            run.row(row, &mut out).map_err(|refusal| refusal.reason)?;
        }
        written += out.len();
    }
    report(run.counts.rows, written);
    Ok(())
}

fn reduce(mut run: StreamQuery, path: &str) -> Result<(), Box<dyn Error>> {
    let (mut rows, mut batch) = (rows_of(path)?, RowBatch::default());
    let mut written = 0;
    while rows.next_batch(&mut batch, BATCH_ROWS, BATCH_BYTES)? {
        for row in batch.texts() {
            run.row(row).map_err(|obstacle| format!("{obstacle:?}"))?;
        }
        written += run.lines().len();
        run.forget_lines();
    }
    report(run.counts.rows, written);
    Ok(())
}

#[allow(clippy::print_stdout, reason = "it is a program")]
fn report(rows: u64, written: usize) {
    println!("{rows} rows, {written} bytes");
}
