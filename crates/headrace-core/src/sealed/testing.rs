//! Helpers of tests for all kinds of indexes.

use std::{
    fs::File,
    io::{Read as _, Seek as _},
};

use super::{
    MadeOf, SourceHashes, SourceMark,
    source_hashes::{hash_all, hash_blocks},
    trailer::FOOTER_BYTES,
};
use crate::input::DataFile;

/// The mark of a source of `size` bytes.
pub(crate) fn mark(size: u64) -> SourceMark {
    SourceMark {
        size,
        mtime_ns: 1,
        ctime_ns: 2,
        device: 3,
        inode: 4,
        head_hash: "h".into(),
        tail_hash: "t".into(),
        codec: "none".into(),
    }
}

/// What an index of all of `data` is made of, and the hashes of it from byte `first` on.
pub(crate) fn made_of(data: &[u8], first: u64, last: Option<String>) -> (MadeOf, Vec<u64>) {
    let (file, size) = (DataFile::new(data.to_vec()), data.len() as u64);
    let coverage_end = covered(data);
    let begins = SourceHashes::block_of(first) * SourceHashes::BLOCK_BYTES;
    let mut hashes = hash_blocks(&file, begins, coverage_end).unwrap();
    hashes.push(hash_all(&file, coverage_end, size).unwrap());
    let made_of = MadeOf {
        max_line: 1 << 20,
        max_depth: 256,
        logical_size: size,
        coverage_end,
        hashed: coverage_end,
        source: mark(size),
        last,
        base: None,
        covers: None,
    };
    (made_of, hashes)
}

/// The byte behind the last newline.
pub(crate) fn covered(data: &[u8]) -> u64 {
    data.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at as u64 + 1)
}

/// All of a file.
pub(crate) fn content(mut file: File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

/// Where the directory of an index begins, behind tables and sections.
pub(crate) fn directory(bytes: &[u8]) -> usize {
    let footer = bytes.len() - FOOTER_BYTES;
    usize::from_le_bytes(*bytes[footer..].first_chunk().unwrap())
}

/// Make the checksums of a small index right, whatever was changed in it.
pub(crate) fn put_checksums(bytes: &mut [u8]) {
    let body = directory(bytes) + 2 * 24;
    let footer = bytes.len() - FOOTER_BYTES;
    assert_eq!(body + 4, footer, "it has one block");
    let checksum = crc32c::crc32c(&bytes[..body]).to_le_bytes();
    bytes[body..footer].copy_from_slice(&checksum);
    let root = crc32c::crc32c(&checksum).to_le_bytes();
    bytes[footer + 12..footer + 16].copy_from_slice(&root);
    let checksum = crc32c::crc32c(&bytes[footer..footer + 36]).to_le_bytes();
    bytes[footer + 36..footer + 40].copy_from_slice(&checksum);
}
