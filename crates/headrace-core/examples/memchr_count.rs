//! Counts the rows of a file as plainly as can be: the bar for the row index.
//!
//! `memchr_count FILE [BUFFER_BYTES]`; [default: the buffer of the row index].

#![allow(clippy::print_stdout, reason = "a program says its answer there")]

use std::{env, error::Error, fs::File, os::unix::fs::FileExt};

use headrace_core::rows::CHUNK_BYTES;
use memchr::memchr_iter;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1);
    let path = arguments.next().ok_or("usage: memchr_count FILE [BUFFER_BYTES]")?;
    let buffer_bytes = match arguments.next() {
        Some(text) => text.to_string_lossy().parse()?,
        None => CHUNK_BYTES,
    };

    let file = File::open(path)?;
    let mut buffer = vec![0; buffer_bytes];
    let (mut rows, mut offset, mut last) = (0, 0, b'\n');
    loop {
        let count = file.read_at(&mut buffer, offset)?;
        let Some(&end) = buffer[..count].last() else { break };
        rows += memchr_iter(b'\n', &buffer[..count]).count();
        offset += count as u64;
        last = end;
    }
    println!("{}", rows + usize::from(last != b'\n'));
    Ok(())
}
