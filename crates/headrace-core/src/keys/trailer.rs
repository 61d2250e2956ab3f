//! What stands behind the tables of a key index, where a reader that follows the header does not look.
//!
//! | part | content |
//! |---|---|
//! | sections | each at a multiple of 8: `META`, one JSON object, see [`Meta`]; `BLKH`, hashes of the source, see [`SourceHashes`] |
//! | directory | 24 bytes for each section: its tag (4 bytes), 0 (u32), its offset (u64), its length (u64) |
//! | checksums | of the *body*, which is all before them: header, tables, sections and directory; see [`checked`](super::checked) |
//! | footer | 48 bytes |
//!
//! The footer, at the very end, little endian:
//!
//! | byte | type | content |
//! |---|---|---|
//! | 0 | u64 | offset of the directory |
//! | 8 | u32 | how many sections there are |
//! | 12 | u32 | the root of the checksums |
//! | 16 | u64 | size of this file |
//! | 24 | u64 | id of the build: XXH3 of `META` |
//! | 32 | u32 | 0 |
//! | 36 | u32 | CRC32C of bytes 0 to 35 |
//! | 40 | 8 bytes | `JNXTRAIL` |
//!
//! So every byte is covered: the footer by its own checksum, the tables of checksums by the
//! root in it, all else by the tables.

use std::{fs::File, ops::Range, os::unix::fs::FileExt};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    checked::{CheckedFile, tables_length, write_tables},
    layout::{HEADER_BYTES, Header, aligned, chunk},
    unusable,
};
use crate::{Result, input::DataFile};

/// Bytes of the footer.
pub const FOOTER_BYTES: usize = 48;

const SECTION: usize = 24;
const SECTION_BYTES: u64 = SECTION as u64;
const MAGIC: &[u8; 8] = b"JNXTRAIL";
const META: &[u8; 4] = b"META";
const HASHES: &[u8; 4] = b"BLKH";
/// More than any build writes.
const MOST_SECTIONS: u32 = 16;
const LONGEST_META: u64 = 1 << 20;
/// Of a last row without a newline: no row before has its key.
pub(super) const NEW_KEY: &str = "new_key";
/// Of a last row without a newline: a row before has its key.
pub(super) const KNOWN_KEY: &str = "known_key";

/// What the index is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// The fields of the key.
    pub key: Vec<String>,
    /// `multi` or `unique`.
    pub mode: String,
    /// How keys are hashed: `xxh3_64`.
    pub hash: String,
    /// Rows that have a key.
    pub records: u64,
    /// Different keys.
    pub keys: u64,
    /// All lines, and what became of those without a key.
    pub lines: Lines,
    /// Whether numbers that are the same double have the same key; if so, a query that compares
    /// doubles finds all of them. Not known of files that do not say so.
    #[serde(default)]
    pub plain_numbers: bool,
    /// Longest line that was read.
    pub max_line: u64,
    /// Deepest nesting that was read.
    pub max_depth: u32,
    /// Bytes of the source after decompression.
    pub logical_size: u64,
    /// The byte behind the last newline; what follows may be half a line.
    pub coverage_end: u64,
    /// Bytes of the source on disk that the hashes of whole blocks are about.
    pub hashed: u64,
    /// The source on disk.
    pub source: SourceMark,
    /// What a last row without a newline is, if there is one: `new_key`, `known_key` if a row
    /// before has its key too, or the field of [`Lines`] that counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// Of a delta: the id of the build that it continues, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Of a delta: the first byte that it covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covers: Option<u64>,
}

impl Meta {
    /// The first byte that it covers.
    pub fn first_byte(&self) -> u64 {
        self.covers.unwrap_or_default()
    }

    /// Rows with a key before the end of what it covers.
    pub fn covered_records(&self) -> u64 {
        let last = matches!(self.last.as_deref(), Some(NEW_KEY | KNOWN_KEY));
        self.records.saturating_sub(u64::from(last))
    }

    /// Their different keys.
    pub fn covered_keys(&self) -> u64 {
        self.keys.saturating_sub(u64::from(self.last.as_deref() == Some(NEW_KEY)))
    }

    fn sound(&self) -> bool {
        let delta = self.base.is_some() == self.covers.is_some();
        let covers = self.first_byte();
        delta && covers <= self.coverage_end && covers <= self.hashed
    }

    /// As it stands in the file.
    pub fn to_json(&self) -> String {
        // Never the default: all of it is strings and numbers.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Lines by kind: lines = records + blank + bad + missing + null + nested + `too_long` + pending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    /// All lines.
    pub lines: u64,
    /// With nothing in them.
    pub blank: u64,
    /// No JSON.
    pub bad: u64,
    /// Without the field.
    pub missing: u64,
    /// With `null` in it.
    pub null: u64,
    /// With an array or object in it.
    pub nested: u64,
    /// Over the limit.
    pub too_long: u64,
    /// A last line without a newline that is no JSON yet.
    pub pending: u64,
}

/// What the source on disk looked like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceMark {
    /// Bytes.
    pub size: u64,
    /// Last change of the content.
    pub mtime_ns: i64,
    /// Last change of content or metadata.
    pub ctime_ns: i64,
    /// The device it is on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// XXH3 of its first bytes, in hexadecimal.
    pub head_hash: String,
    /// XXH3 of its last bytes.
    pub tail_hash: String,
    /// How it is compressed.
    pub codec: String,
}

/// Hashes of a source: XXH3 of each 1 MiB of the first `hashed` bytes, the last one shorter, and
/// of all bytes behind them; a u64 each. Of a delta, from the block on that its first byte is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceHashes {
    offset: u64,
    first: u64,
    count: u64,
}

impl SourceHashes {
    /// Bytes that a hash is about.
    pub const BLOCK_BYTES: u64 = 1 << 20;

    /// The block that a byte is in.
    pub fn block_of(offset: u64) -> u64 {
        offset / Self::BLOCK_BYTES
    }

    /// How many hashes there are from the block of `first` on.
    fn count_of(first: u64, hashed: u64) -> u64 {
        hashed.div_ceil(Self::BLOCK_BYTES) - Self::block_of(first) + 1
    }

    /// The blocks that have a hash of their own; behind them is that of the rest.
    pub(super) fn blocks(self) -> Range<u64> {
        self.first..self.first + self.count - 1
    }

    /// The hashes of some blocks.
    pub(super) fn read(self, file: &CheckedFile, blocks: Range<u64>) -> Result<Vec<u64>> {
        if blocks.start < self.first || blocks.end > self.first + self.count {
            return Err(unusable(self.offset, "a hash that is not there"));
        }
        let count = blocks.end.saturating_sub(blocks.start);
        let mut bytes = vec![0; usize::try_from(count * 8).unwrap_or(usize::MAX)];
        file.read(&mut bytes, self.offset + (blocks.start - self.first) * 8)?;
        Ok(bytes.chunks_exact(8).map(|hash| u64::from_le_bytes(chunk(hash, 0))).collect())
    }
}

/// A key index whose ends were found to be whole.
pub(super) struct Opened {
    pub(super) file: CheckedFile,
    pub(super) header: Header,
    pub(super) meta: Meta,
    pub(super) hashes: SourceHashes,
    pub(super) build_id: u64,
    pub(super) size: u64,
}

/// Check footer, header and sections.
pub(super) fn open(file: DataFile) -> Result<Opened> {
    let size = file.stat()?.size;
    let begins = size.checked_sub(FOOTER_BYTES as u64);
    let begins = begins.ok_or_else(|| unusable(size, "the file ends early"))?;
    let mut footer = [0; FOOTER_BYTES];
    file.read_exact_at(&mut footer, begins).map_err(|_| unusable(begins, "cannot be read"))?;
    let wrong = |reason: &str| unusable(begins, reason);
    if &footer[40..] != MAGIC {
        return Err(wrong("no footer of a key index"));
    }
    if crc32c::crc32c(&footer[..36]).to_le_bytes() != footer[36..40] {
        return Err(wrong("the footer does not match its checksum"));
    }
    let directory = u64::from_le_bytes(chunk(&footer, 0));
    let sections = u32::from_le_bytes(chunk(&footer, 8));
    if u64::from_le_bytes(chunk(&footer, 16)) != size {
        return Err(wrong("the file is not as long as its footer says"));
    }
    let length = u64::from(sections) * SECTION_BYTES;
    let body = directory.checked_add(length);
    let whole = body.and_then(|body| body.checked_add(tables_length(body)?)) == Some(begins);
    if sections > MOST_SECTIONS || directory < HEADER_BYTES as u64 || !whole {
        return Err(wrong("the footer contradicts the file"));
    }
    let root = u32::from_le_bytes(chunk(&footer, 12));
    let file = CheckedFile::new(file, directory + length, root)?;
    let mut header = [0; HEADER_BYTES];
    file.read(&mut header, 0)?;
    let header = Header::decode(&header, directory)?;
    let (at, length) = section(&file, directory, sections, META)?;
    if length > LONGEST_META {
        return Err(unusable(at, "too much metadata"));
    }
    let mut text = vec![0; usize::try_from(length).unwrap_or_default()];
    file.read(&mut text, at)?;
    let build_id = u64::from_le_bytes(chunk(&footer, 24));
    let meta: Meta =
        serde_json::from_slice(&text).map_err(|_| unusable(at, "metadata that we do not know"))?;
    let (offset, length) = section(&file, directory, sections, HASHES)?;
    let first = SourceHashes::block_of(meta.first_byte());
    let hashes = SourceHashes { offset, first, count: length / 8 };
    let sound = xxh3_64(&text) == build_id
        && meta.sound()
        && hashes.count == SourceHashes::count_of(meta.first_byte(), meta.hashed)
        && meta.hash == "xxh3_64"
        && !meta.key.is_empty()
        && header.composite == (meta.key.len() > 1)
        && header.unique == (meta.mode == "unique");
    if !sound {
        return Err(unusable(at, "the metadata contradicts the file"));
    }
    Ok(Opened { file, header, meta, hashes, build_id, size })
}

/// Offset and length of a section.
fn section(file: &CheckedFile, directory: u64, count: u32, tag: &[u8; 4]) -> Result<(u64, u64)> {
    for number in 0..u64::from(count) {
        let mut bytes = [0; SECTION];
        file.read(&mut bytes, directory + number * SECTION_BYTES)?;
        let offset = u64::from_le_bytes(chunk(&bytes, 8));
        let length = u64::from_le_bytes(chunk(&bytes, 16));
        if bytes[..4] == tag[..] && offset.checked_add(length).is_some_and(|end| end <= directory) {
            return Ok((offset, length));
        }
    }
    Err(unusable(directory, "a section is not there"))
}

/// Write the trailer of a file whose tables end at `end`, and return the size of the file.
///
/// # Errors
/// What the operating system says.
pub(super) fn write(out: &File, end: u64, meta: &Meta, hashes: &[u64]) -> Result<u64> {
    let text = meta.to_json().into_bytes();
    let hashes: Vec<u8> = hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect();
    let mut at = end;
    let mut directory = Vec::new();
    for (tag, content) in [(META, &text), (HASHES, &hashes)] {
        at = aligned(at);
        out.write_all_at(content, at)?;
        directory.extend_from_slice(tag);
        directory.extend_from_slice(&[0; 4]);
        directory.extend_from_slice(&at.to_le_bytes());
        directory.extend_from_slice(&(content.len() as u64).to_le_bytes());
        at += content.len() as u64;
    }
    let begins = aligned(at);
    out.write_all_at(&directory, begins)?;
    let body = begins + directory.len() as u64;
    let read = |buffer: &mut [u8], offset: u64| Ok(out.read_exact_at(buffer, offset)?);
    let root = write_tables(body, read, |part, offset| Ok(out.write_all_at(part, offset)?))?;
    // Known to be some: the tables are written.
    let at = body + tables_length(body).unwrap_or_default();
    let size = at + FOOTER_BYTES as u64;
    let mut footer = [0; FOOTER_BYTES];
    footer[..8].copy_from_slice(&begins.to_le_bytes());
    footer[8..12].copy_from_slice(&2_u32.to_le_bytes());
    footer[12..16].copy_from_slice(&root.to_le_bytes());
    footer[16..24].copy_from_slice(&size.to_le_bytes());
    footer[24..32].copy_from_slice(&xxh3_64(&text).to_le_bytes());
    let checksum = crc32c::crc32c(&footer[..36]);
    footer[36..40].copy_from_slice(&checksum.to_le_bytes());
    footer[40..].copy_from_slice(MAGIC);
    out.write_all_at(&footer, at)?;
    Ok(size)
}
