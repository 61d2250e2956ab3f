//! The byte loops of Headrace.
//!
//! Finding rows, reading them, checking them, decompressing them. No Python, no unsafe code,
//! and threads only on request ([`blocks`]); every loop can run over a byte slice.
//!
//! Each module is a namespace; its items have one path.

#![forbid(unsafe_code)]

pub mod arrow;
pub mod blocks;
pub mod cells;
pub mod codec;

pub mod convert;
pub mod decode;
mod error;
pub mod foreign;
pub mod graph;
pub mod input;
pub mod json;
pub mod keys;
pub mod log;
pub mod query;
pub mod rows;
pub mod sealed;
pub mod tally;
pub mod times;
pub mod value;

pub use crc32c::crc32c;
pub use error::{DamagedBlock, Error, ErrorKind, Result};
