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

mod ahead;
pub(crate) mod encode;
pub mod member;
mod pack;
#[cfg(test)]
mod pack_tests;
mod read;
pub mod seek_table;
mod shard_files;
mod table;
mod workers;

pub use ahead::Ahead;
pub use encode::Settings;
pub use pack::{Cause, Packer, Refusal, Sizes};
pub use read::BlockFile;
pub use shard_files::{Piece, Shard};
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

/// Files of blocks for tests, made with no code that reads them.
#[cfg(test)]
mod made {
    use std::io::Write;

    use super::{Block, BlockTable, Coding, member, seek_table};

    fn rows(part: &[u8]) -> u32 {
        let unended = part.last().is_some_and(|&byte| byte != b'\n');
        let newlines = memchr::memchr_iter(b'\n', part).count();
        u32::try_from(newlines + usize::from(unended)).unwrap()
    }

    fn len(bytes: &[u8]) -> u32 {
        u32::try_from(bytes.len()).unwrap()
    }

    /// A gzip file with a member for each of `parts`.
    pub(super) fn gzip(parts: &[impl AsRef<[u8]>]) -> Vec<u8> {
        let mut file = Vec::new();
        let mut first_row = 0;
        for part in parts.iter().map(AsRef::as_ref) {
            let level = flate2::Compression::default();
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), level);
            encoder.write_all(part).unwrap();
            let data = encoder.finish().unwrap();
            let header = member::Header {
                system: 255,
                comp_len: len(&data) + 44,
                raw_len: len(part),
                rows: rows(part),
                first_row,
                ..member::Header::default()
            };
            first_row += u64::from(rows(part));
            let mut sum = flate2::Crc::new();
            sum.update(part);
            file.extend_from_slice(&header.encode());
            file.extend_from_slice(&data);
            file.extend_from_slice(&sum.sum().to_le_bytes());
            file.extend_from_slice(&len(part).to_le_bytes());
        }
        file
    }

    fn frames(parts: &[impl AsRef<[u8]>]) -> Vec<Vec<u8>> {
        let mut encoder = zstd::bulk::Compressor::new(1).unwrap();
        encoder.include_checksum(true).unwrap();
        parts.iter().map(|part| encoder.compress(part.as_ref()).unwrap()).collect()
    }

    /// A zstd file with a frame for each of `parts`, and its seek table.
    pub(super) fn zstd(parts: &[impl AsRef<[u8]>]) -> Vec<u8> {
        let frames = frames(parts);
        let table: Vec<_> = frames
            .iter()
            .zip(parts)
            .map(|(frame, part)| seek_table::Frame {
                comp_len: len(frame),
                raw_len: len(part.as_ref()),
            })
            .collect();
        [frames.concat(), seek_table::encode(table.into_iter())].concat()
    }

    /// The table of `file`, a zstd file of `parts`, as its writer has it.
    pub(super) fn counted(file: &[u8], parts: &[impl AsRef<[u8]>]) -> BlockTable {
        let mut next = Block::default();
        let mut blocks = Vec::new();
        for (frame, part) in frames(parts).iter().zip(parts) {
            let begin = usize::try_from(next.physical).unwrap();
            assert_eq!(&file[begin..begin + frame.len()], frame);
            let block = Block {
                raw_len: len(part.as_ref()),
                comp_len: len(frame),
                rows: rows(part.as_ref()),
                crc32c: crc32c::crc32c(frame),
                ..next
            };
            next = Block {
                first_row: block.first_row + u64::from(block.rows),
                logical: block.logical + u64::from(block.raw_len),
                physical: block.physical + u64::from(block.comp_len),
                ..next
            };
            blocks.push(block);
        }
        BlockTable::new(Coding::Zstd, blocks, true, true).unwrap()
    }
}
