//! What stands behind the tables of an index, where a reader that follows the header does not look.
//!
//! | part | content |
//! |---|---|
//! | sections | each at a multiple of 8: `META`, one JSON object, see [`About`]; `BLKH`, hashes of the source, see [`SourceHashes`] |
//! | directory | 24 bytes for each section: its tag (4 bytes), 0 (u32), its offset (u64), its length (u64) |
//! | checksums | of the *body*, which is all before them: header, tables, sections and directory; see [`checksum_tree`](super::checksum_tree) |
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

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    HEADER_BYTES, MadeOf, aligned,
    checksum_tree::{CheckedFile, tables_length, write_tables},
    chunk, unusable,
};
use crate::{Error, Result, input::DataFile};

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
/// Read at a time where all is read.
const PART_BYTES: usize = 256 * 1024;

/// What an index says of itself in `META`.
pub trait About: Clone + Serialize + DeserializeOwned {
    /// The source it was built from.
    fn made_of(&self) -> &MadeOf;

    /// The same, to be changed.
    fn made_of_mut(&mut self) -> &mut MadeOf;

    /// As it stands in the file.
    fn to_json(&self) -> String {
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
    /// Records without the field.
    pub missing: u64,
    /// With `null` in it.
    pub null: u64,
    /// With an array or object in it.
    pub nested: u64,
    /// Lines over the limit.
    pub too_long: u64,
    /// A last line without a newline that is no JSON yet.
    pub pending: u64,
}

/// Size and times of the source on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceMark {
    /// Its size in bytes.
    pub size: u64,
    /// Last change of the content.
    pub mtime_ns: i64,
    /// Last change of content or metadata.
    pub ctime_ns: i64,
    /// The device it is on.
    pub device: u64,
    /// The inode.
    pub inode: u64,
    /// XXH3 of its first bytes, in hexadecimal.
    pub head_hash: String,
    /// XXH3 of its last bytes.
    pub tail_hash: String,
    /// How it is compressed.
    pub codec: String,
}

impl SourceMark {
    /// Size and time of change, as headers have them.
    pub(crate) fn in_header(&self) -> (u64, u64) {
        (self.size, u64::try_from(self.mtime_ns).unwrap_or_default())
    }
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

    /// The blocks that have a hash; the last hash covers the bytes behind them.
    pub(crate) fn blocks(self) -> Range<u64> {
        self.first..self.first + self.count - 1
    }

    /// The hashes of some blocks.
    pub(crate) fn read(self, file: &CheckedFile, blocks: Range<u64>) -> Result<Vec<u64>> {
        if blocks.start < self.first || blocks.end > self.first + self.count {
            return Err(unusable(self.offset, "a hash that is not there"));
        }
        let count = blocks.end.saturating_sub(blocks.start);
        let mut bytes = vec![0; usize::try_from(count * 8).unwrap_or(usize::MAX)];
        file.read(&mut bytes, self.offset + (blocks.start - self.first) * 8)?;
        Ok(bytes.chunks_exact(8).map(|hash| u64::from_le_bytes(chunk(hash, 0))).collect())
    }
}

/// An index whose ends were found to be whole.
pub struct Sealed<M> {
    pub(crate) file: CheckedFile,
    pub(crate) header: [u8; HEADER_BYTES],
    /// Where its tables have ended.
    pub(crate) end: u64,
    pub(crate) meta: M,
    pub(crate) hashes: SourceHashes,
    pub(crate) build_id: u64,
    pub(crate) size: u64,
}

impl<M: About> Sealed<M> {
    /// Check footer and sections; header and metadata are for others to judge.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where it is not a whole file.
    pub(crate) fn open(file: DataFile) -> Result<Self> {
        let size = file.stat()?.size;
        let begins = size.checked_sub(FOOTER_BYTES as u64);
        let begins = begins.ok_or_else(|| unusable(size, "the file ends early"))?;
        let mut footer = [0; FOOTER_BYTES];
        file.read_exact_at(&mut footer, begins).map_err(|_| unusable(begins, "cannot be read"))?;
        let wrong = |reason: &str| unusable(begins, reason);
        if &footer[40..] != MAGIC {
            return Err(wrong("no footer of an index"));
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
        let (at, length) = section(&file, directory, sections, META)?;
        if length > LONGEST_META {
            return Err(unusable(at, "too much metadata"));
        }
        let mut text = vec![0; usize::try_from(length).unwrap_or_default()];
        file.read(&mut text, at)?;
        let build_id = u64::from_le_bytes(chunk(&footer, 24));
        let meta: M = serde_json::from_slice(&text)
            .map_err(|_| unusable(at, "metadata that we do not know"))?;
        let made_of = meta.made_of();
        let (offset, length) = section(&file, directory, sections, HASHES)?;
        let first = SourceHashes::block_of(made_of.first_byte());
        let hashes = SourceHashes { offset, first, count: length / 8 };
        let sound = xxh3_64(&text) == build_id
            && made_of.sound()
            && hashes.count == SourceHashes::count_of(made_of.first_byte(), made_of.hashed);
        if !sound {
            return Err(contradiction());
        }
        Ok(Self { file, header, end: at, meta, hashes, build_id, size })
    }

    /// Compare all of it with its checksums. False if `go_on` returns false.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where a block is damaged.
    pub(crate) fn verify(&self, go_on: &dyn Fn() -> bool) -> Result<bool> {
        self.each_part(0, self.file.length(), go_on, |_part, _at| Ok(()))
    }

    /// Whether another file has the same tables; headers are for others to compare. `None` if
    /// `go_on` returns false.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where one of both is damaged.
    pub(crate) fn has_tables_of(
        &self,
        other: &Self,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<bool>> {
        let mut same = self.end == other.end;
        let mut buffer = Vec::new();
        let end = if same { self.end } else { 0 };
        let all = self.each_part(HEADER_BYTES as u64, end, go_on, |part, at| {
            buffer.resize(part.len(), 0);
            other.file.read(&mut buffer, at)?;
            same &= buffer == part;
            Ok(())
        })?;
        Ok(all.then_some(same))
    }

    /// Write it to an empty file with another header and other metadata.
    /// False if `go_on` returns false.
    ///
    /// # Errors
    /// Errors of writing; [`crate::ErrorKind::Sidecar`] where it is damaged.
    pub(crate) fn copy_with(
        &self,
        header: &[u8; HEADER_BYTES],
        meta: &M,
        out: &File,
        go_on: &dyn Fn() -> bool,
    ) -> Result<bool> {
        out.write_all_at(header, 0)?;
        let copy = |part: &[u8], at: u64| Ok(out.write_all_at(part, at)?);
        if !self.each_part(HEADER_BYTES as u64, self.end, go_on, copy)? {
            return Ok(false);
        }
        let blocks = self.hashes.blocks();
        let hashes = self.hashes.read(&self.file, blocks.start..blocks.end + 1)?;
        write(out, self.end, meta, &hashes)?;
        Ok(true)
    }

    fn each_part(
        &self,
        start: u64,
        end: u64,
        go_on: &dyn Fn() -> bool,
        mut visit: impl FnMut(&[u8], u64) -> Result<()>,
    ) -> Result<bool> {
        let mut buffer = vec![0; PART_BYTES];
        let mut at = start;
        while at < end {
            let left = usize::try_from(end - at).unwrap_or(usize::MAX);
            let part = &mut buffer[..left.min(PART_BYTES)];
            self.file.read(part, at)?;
            visit(part, at)?;
            at += part.len() as u64;
            if !go_on() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The id of a build as metadata says it.
pub(crate) fn id_text(build_id: u64) -> String {
    format!("{build_id:016x}")
}

/// Metadata and header do not belong together.
pub(crate) fn contradiction() -> Error {
    unusable(0, "the metadata contradicts the file")
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
/// An error of the operating system.
pub(crate) fn write(out: &File, end: u64, meta: &impl About, hashes: &[u64]) -> Result<u64> {
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
