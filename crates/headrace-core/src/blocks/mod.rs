//! Compressed files that can be entered in the middle.
//!
//! A *block* is a run of whole lines, compressed by itself: one zstd frame, one gzip
//! member, or with codec `none` just the bytes. A file of blocks is read by every
//! tool that knows its codec, and any row of it by decoding one block. What a zstd
//! frame does not say is in the seek table at the end of the file ([`seek_table`]),
//! what a gzip member does not say in a field of its header ([`member`]), and rows
//! and checksums of both in the sidecar ([`crate::rows::checkpoint_file`]).
//!
//! Together the blocks are the [`table`] of the file, and with it the file is read like a
//! plain one ([`read`]), in order by several threads ([`ahead`]). [`pack`] makes such
//! files of lines, cut into shards.

pub mod ahead;
pub mod encode;
pub mod member;
pub mod pack;
mod place;
pub mod read;
pub mod seek_table;
pub mod table;
pub mod workers;

pub use read::BlockFile;
pub use table::{BlockTable, Coding};

/// Where one block is, and what is in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The number of its first row in the file.
    pub first_row: u64,
    /// Where it begins after decompression.
    pub logical: u64,
    /// Where it begins in the file.
    pub physical: u64,
    /// Its bytes after decompression.
    pub raw_len: u32,
    /// Its bytes in the file.
    pub comp_len: u32,
    /// How many rows it holds.
    pub rows: u32,
    /// CRC32C of its bytes in the file.
    pub crc32c: u32,
}
