//! The checkpoint sidecar, `.ckpt`: where rows begin, or where blocks do.
//!
//! | byte | length | content |
//! |---|---|---|
//! | 0 | 512 | header: one JSON object padded with spaces, a `\n` as byte 511 |
//! | 512 + 48 k | 48 | entry k: in rows mode the checkpoint of row k · interval, in blocks mode block k |
//!
//! An entry, little endian:
//!
//! | byte | type | content |
//! |---|---|---|
//! | 0 | u64 | first row: k · interval, or that of the block |
//! | 8 | u64 | logical offset: where that row begins, after decompression |
//! | 16 | u64 | physical offset: the same in plain files; in compressed ones where the block begins, 0 in rows mode |
//! | 24 | u32 | raw length of the block, 0 in rows mode |
//! | 28 | u32 | compressed length of the block, 0 in rows mode |
//! | 32 | u32 | rows up to the next entry |
//! | 36 | u32 | CRC32C of the block as it lies in the file, 0 in rows mode |
//! | 40 | u32 | 0 |
//! | 44 | u32 | CRC32C of bytes 0 to 43, begun with the header's CRC32C |
//!
//! The header's `crc32c` is that of its 512 bytes with the eight digits of the
//! checksum itself as `0`. Every entry is checked when it is read, and belongs to
//! its header, so that entries of another file are noticed. The file is written
//! once and replaced whole. In blocks mode, the interval and both times are 0, and it is not
//! said which file it is: the same
//! data gives the same sidecar wherever it is.

use serde::{Deserialize, Serialize};

use crate::{
    Error, ErrorKind, Result,
    blocks::Block,
    input::{DataFile, Stat},
    rows::Summary,
};

/// Bytes of the header.
pub const HEADER_BYTES: usize = 512;
/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 48;
/// The only version there is.
pub const VERSION: u32 = 1;

const MAGIC: &str = "NDCK";
const ROWS: &str = "rows";
const BLOCKS: &str = "blocks";
const CHECKSUM_KEY: &str = "\"crc32c\":\"";
const CHECKSUM_DIGITS: usize = 8;

/// What the sidecar says of its data, and of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// Always `header`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Always `NDCK`.
    pub magic: String,
    /// [`VERSION`].
    pub version: u32,
    /// `rows` or `blocks`.
    pub mode: String,
    /// Rows from one entry to the next; 0 in blocks mode.
    pub interval: u64,
    /// [`ENTRY_BYTES`].
    pub entry_size: usize,
    /// How many entries follow; at least one in rows mode.
    pub entries: u64,
    /// Size of the data file on disk.
    pub size: u64,
    /// Its last change of content.
    pub mtime_ns: i64,
    /// Its last change of content or metadata.
    pub ctime_ns: i64,
    /// XXH3 of its first bytes, in hexadecimal.
    pub head_hash: String,
    /// XXH3 of its last bytes, in hexadecimal.
    pub tail_hash: String,
    /// [`ReadAt::identity`](crate::input::ReadAt::identity) of the data file, in hexadecimal; absent
    /// in blocks mode, and in what was written before there was this field.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// How it is compressed.
    pub codec: String,
    /// Its size after decompression.
    pub logical_size: u64,
    /// All rows.
    pub total_rows: u64,
    /// Whether the last row ends with a newline.
    pub last_row_terminated: bool,
    /// Whether the data begins with a byte order mark.
    pub bom: bool,
    /// Whether the whole file was scanned; always true in version 1.
    pub complete: bool,
    /// The checksum; see the module.
    pub crc32c: String,
}

/// What identifies the data a sidecar was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Size and times.
    pub stat: Stat,
    /// Hash of the first bytes.
    pub head_hash: u64,
    /// Hash of the last bytes.
    pub tail_hash: u64,
    /// Which file of its file system it is.
    pub identity: u64,
}

/// How many bytes at each end a fingerprint covers.
pub const FINGERPRINT_BYTES: u64 = 4096;

impl Fingerprint {
    /// The fingerprint of the first `stat.size` bytes of `file`.
    ///
    /// # Errors
    /// Errors of reading; [`crate::ErrorKind::Changed`] where the file is shorter.
    pub fn take(file: &DataFile, stat: Stat) -> Result<Self> {
        let length = stat.size.min(FINGERPRINT_BYTES);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
        file.read_exact_at(&mut bytes, 0)?;
        let head_hash = xxhash_rust::xxh3::xxh3_64(&bytes);
        file.read_exact_at(&mut bytes, stat.size - length)?;
        let tail_hash = xxhash_rust::xxh3::xxh3_64(&bytes);
        Ok(Self { stat, head_hash, tail_hash, identity: file.identity()? })
    }
}

impl Header {
    /// The header of a finished index.
    pub fn new(
        fingerprint: &Fingerprint,
        codec: &str,
        interval: u64,
        entries: u64,
        summary: Summary,
    ) -> Self {
        Self {
            kind: "header".into(),
            magic: MAGIC.into(),
            version: VERSION,
            mode: ROWS.into(),
            interval,
            entry_size: ENTRY_BYTES,
            entries,
            size: fingerprint.stat.size,
            mtime_ns: fingerprint.stat.mtime_ns,
            ctime_ns: fingerprint.stat.ctime_ns,
            head_hash: hex(fingerprint.head_hash),
            tail_hash: hex(fingerprint.tail_hash),
            file: hex(fingerprint.identity),
            codec: codec.into(),
            logical_size: summary.logical_size,
            total_rows: summary.total_rows,
            last_row_terminated: summary.last_row_terminated,
            bom: summary.bom,
            complete: true,
            crc32c: "0".repeat(CHECKSUM_DIGITS),
        }
    }

    /// The header of a table of blocks.
    pub fn of_blocks(
        fingerprint: &Fingerprint,
        codec: &str,
        entries: u64,
        summary: Summary,
    ) -> Self {
        let header = Self::new(fingerprint, codec, 0, entries, summary);
        Self { mode: BLOCKS.into(), mtime_ns: 0, ctime_ns: 0, file: String::new(), ..header }
    }

    /// Whether entries are blocks.
    pub fn has_blocks(&self) -> bool {
        self.mode == BLOCKS
    }

    /// What the scan had found.
    pub fn summary(&self) -> Summary {
        Summary {
            total_rows: self.total_rows,
            logical_size: self.logical_size,
            last_row_terminated: self.last_row_terminated,
            bom: self.bom,
        }
    }

    /// Whether the bytes at both ends of the data are those the sidecar was made from.
    #[cfg(test)]
    pub(crate) fn same_ends(&self, fingerprint: &Fingerprint) -> bool {
        self.head_hash == hex(fingerprint.head_hash) && self.tail_hash == hex(fingerprint.tail_hash)
    }

    fn encode(&self) -> Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(self).map_err(|error| unusable(0, error.to_string()))?;
        if bytes.len() >= HEADER_BYTES {
            return Err(unusable(0, "the header does not fit".into()));
        }
        bytes.resize(HEADER_BYTES - 1, b' ');
        bytes.push(b'\n');
        let at = checksum_position(&bytes).ok_or_else(|| unusable(0, "no checksum".into()))?;
        let digits = format!("{:08x}", crc32c::crc32c(&bytes));
        bytes[at..at + CHECKSUM_DIGITS].copy_from_slice(digits.as_bytes());
        Ok(bytes)
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let header: Self = serde_json::from_slice(bytes)
            .map_err(|_| unusable(0, "not a checkpoint header".into()))?;
        let known = header.magic == MAGIC
            && header.kind == "header"
            && [ROWS, BLOCKS].contains(&header.mode.as_str());
        if !known || header.version != VERSION {
            let reason = format!("{} version {}: not one we read", header.magic, header.version);
            return Err(unusable(0, reason));
        }
        let mut blank = bytes.to_vec();
        if let Some(at) = checksum_position(bytes) {
            blank[at..at + CHECKSUM_DIGITS].fill(b'0');
        }
        if format!("{:08x}", crc32c::crc32c(&blank)) != header.crc32c {
            return Err(unusable(0, "the header does not match its checksum".into()));
        }
        let sound = if header.has_blocks() {
            header.interval == 0
        } else {
            header.interval > 0 && header.entries > 0
        };
        if !sound || header.entry_size != ENTRY_BYTES {
            return Err(unusable(0, "the header contradicts itself".into()));
        }
        Ok(header)
    }

    /// Begins the checksums of the entries.
    fn seed(&self) -> u32 {
        u32::from_str_radix(&self.crc32c, 16).unwrap_or_default()
    }
}

fn checksum_position(bytes: &[u8]) -> Option<usize> {
    let at = memchr::memmem::rfind(bytes, CHECKSUM_KEY.as_bytes())? + CHECKSUM_KEY.len();
    (at + CHECKSUM_DIGITS <= bytes.len()).then_some(at)
}

fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}

fn unusable(offset: u64, reason: String) -> Error {
    Error::at(ErrorKind::Sidecar, offset, reason)
}

/// The bytes of a sidecar that holds `checkpoints`.
///
/// # Errors
/// Never in practice: when the header does not fit its 512 bytes.
pub fn encode(header: &Header, checkpoints: &[u64]) -> Result<Vec<u8>> {
    let plain = header.codec == "none";
    let entries = (0_u64..).zip(checkpoints).map(|(position, &logical)| {
        let first_row = position * header.interval;
        let rows = header.total_rows.saturating_sub(first_row).min(header.interval);
        Block {
            first_row,
            logical,
            physical: if plain { logical } else { 0 },
            rows: u32::try_from(rows).unwrap_or(u32::MAX),
            ..Block::default()
        }
    });
    encode_entries(header, entries)
}

/// The bytes of a sidecar that holds `blocks`.
///
/// # Errors
/// Never in practice: when the header does not fit its 512 bytes.
pub fn encode_blocks(header: &Header, blocks: &[Block]) -> Result<Vec<u8>> {
    encode_entries(header, blocks.iter().copied())
}

fn encode_entries(header: &Header, entries: impl Iterator<Item = Block>) -> Result<Vec<u8>> {
    let mut bytes = header.encode()?;
    let seed = Header::decode(&bytes)?.seed();
    bytes.reserve(entries.size_hint().0 * ENTRY_BYTES);
    for block in entries {
        let mut entry = [0; ENTRY_BYTES];
        entry[0..8].copy_from_slice(&block.first_row.to_le_bytes());
        entry[8..16].copy_from_slice(&block.logical.to_le_bytes());
        entry[16..24].copy_from_slice(&block.physical.to_le_bytes());
        entry[24..28].copy_from_slice(&block.raw_len.to_le_bytes());
        entry[28..32].copy_from_slice(&block.comp_len.to_le_bytes());
        entry[32..36].copy_from_slice(&block.rows.to_le_bytes());
        entry[36..40].copy_from_slice(&block.crc32c.to_le_bytes());
        let checksum = crc32c::crc32c_append(seed, &entry[..ENTRY_BYTES - 4]);
        entry[ENTRY_BYTES - 4..].copy_from_slice(&checksum.to_le_bytes());
        bytes.extend_from_slice(&entry);
    }
    Ok(bytes)
}

/// An opened sidecar. Opening reads the header; entries are read one at a time.
pub struct CheckpointFile {
    file: DataFile,
    header: Header,
    seed: u32,
}

impl CheckpointFile {
    /// Read and check the header.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where the file is not a whole sidecar of a version we know.
    pub fn open(file: DataFile) -> Result<Self> {
        let size = file.stat()?.size;
        let mut bytes = vec![0; HEADER_BYTES];
        file.read_exact_at(&mut bytes, 0)
            .map_err(|_| unusable(size, "the file ends early".into()))?;
        let header = Header::decode(&bytes)?;
        let wanted = header
            .entries
            .checked_mul(ENTRY_BYTES as u64)
            .and_then(|length| length.checked_add(HEADER_BYTES as u64));
        if wanted != Some(size) {
            return Err(unusable(size, "the file is not as long as its header says".into()));
        }
        let seed = header.seed();
        Ok(Self { file, header, seed })
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Where row `position` · interval begins.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where the entry is damaged.
    pub fn offset(&self, position: u64) -> Result<u64> {
        let mut entry = [0; ENTRY_BYTES];
        let at = entry_position(position);
        self.file
            .read_exact_at(&mut entry, at)
            .map_err(|_| unusable(at, "cannot be read".into()))?;
        self.checkpoint(position, &entry)
    }

    /// All checkpoints.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where an entry is damaged.
    pub fn all(&self) -> Result<Vec<u64>> {
        self.entries(|position, entry| self.checkpoint(position, entry))
    }

    /// All blocks.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where an entry is damaged.
    pub fn blocks(&self) -> Result<Vec<Block>> {
        self.entries(|position, entry| self.checked(position, entry))
    }

    fn entries<T>(&self, decode: impl Fn(u64, &[u8]) -> Result<T>) -> Result<Vec<T>> {
        let count = usize::try_from(self.header.entries).unwrap_or(usize::MAX);
        // Bounded by the size of the file, which `open` compared with the header.
        let mut bytes = vec![0; count.saturating_mul(ENTRY_BYTES)];
        let at = entry_position(0);
        self.file
            .read_exact_at(&mut bytes, at)
            .map_err(|_| unusable(at, "cannot be read".into()))?;
        (0..)
            .zip(bytes.chunks_exact(ENTRY_BYTES))
            .map(|(position, entry)| decode(position, entry))
            .collect()
    }

    fn checkpoint(&self, position: u64, entry: &[u8]) -> Result<u64> {
        let Block { first_row, logical, .. } = self.checked(position, entry)?;
        let sound = Some(first_row) == position.checked_mul(self.header.interval)
            && logical <= self.header.logical_size;
        if sound { Ok(logical) } else { Err(damaged(position)) }
    }

    fn checked(&self, position: u64, entry: &[u8]) -> Result<Block> {
        let (content, checksum) = entry.split_at(ENTRY_BYTES - 4);
        if crc32c::crc32c_append(self.seed, content).to_le_bytes() != checksum {
            return Err(damaged(position));
        }
        // No number is longer than its bytes.
        let short = |bytes| u32::try_from(word(bytes)).unwrap_or(u32::MAX);
        Ok(Block {
            first_row: word(&content[0..8]),
            logical: word(&content[8..16]),
            physical: word(&content[16..24]),
            raw_len: short(&content[24..28]),
            comp_len: short(&content[28..32]),
            rows: short(&content[32..36]),
            crc32c: short(&content[36..40]),
        })
    }
}

fn damaged(position: u64) -> Error {
    unusable(entry_position(position), "a damaged entry".into())
}

fn entry_position(position: u64) -> u64 {
    (HEADER_BYTES as u64).saturating_add(position.saturating_mul(ENTRY_BYTES as u64))
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECKPOINTS: [u64; 3] = [0, 11_890, 24_890];

    fn sidecar() -> Vec<u8> {
        let data = DataFile::new(vec![b'x'; 30_000]);
        let fingerprint = Fingerprint::take(&data, data.stat().unwrap()).unwrap();
        let summary = Summary {
            total_rows: 2_500,
            logical_size: 30_000,
            last_row_terminated: false,
            bom: false,
        };
        encode(&Header::new(&fingerprint, "none", 1000, 3, summary), &CHECKPOINTS).unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let file = CheckpointFile::open(DataFile::new(sidecar())).unwrap();
        assert_eq!(file.all().unwrap(), CHECKPOINTS);
        assert_eq!(file.offset(1).unwrap(), 11_890);
        assert_eq!(file.header().summary().total_rows, 2_500);
    }

    #[test]
    fn the_same_input_gives_the_same_bytes() {
        assert_eq!(sidecar(), sidecar());
    }

    #[test]
    fn every_truncation_and_growth_is_refused() {
        let bytes = sidecar();
        for length in 0..bytes.len() {
            assert!(
                CheckpointFile::open(DataFile::new(bytes[..length].to_vec())).is_err(),
                "first {length}"
            );
        }
        assert!(CheckpointFile::open(DataFile::new([bytes, vec![0]].concat())).is_err());
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let bytes = sidecar();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let read = CheckpointFile::open(DataFile::new(flipped)).and_then(|file| file.all());
            assert!(read.is_err(), "bit {bit}");
        }
    }

    #[test]
    fn entries_of_another_sidecar_are_noticed() {
        let mut other = sidecar();
        let data = DataFile::new(vec![b'y'; 30_000]);
        let fingerprint = Fingerprint::take(&data, data.stat().unwrap()).unwrap();
        let summary = Summary {
            total_rows: 2_500,
            logical_size: 30_000,
            last_row_terminated: true,
            bom: false,
        };
        let mine =
            encode(&Header::new(&fingerprint, "none", 1000, 3, summary), &CHECKPOINTS).unwrap();
        other[..HEADER_BYTES].copy_from_slice(&mine[..HEADER_BYTES]);
        assert!(CheckpointFile::open(DataFile::new(other)).unwrap().offset(0).is_err());
    }

    #[test]
    fn the_largest_numbers_fit_the_header() {
        let fingerprint = Fingerprint {
            stat: Stat { size: u64::MAX, mtime_ns: i64::MIN, ctime_ns: i64::MIN },
            head_hash: u64::MAX,
            tail_hash: u64::MAX,
            identity: u64::MAX,
        };
        let summary = Summary {
            total_rows: u64::MAX,
            logical_size: u64::MAX,
            last_row_terminated: false,
            bom: false,
        };
        let header = Header::new(&fingerprint, "bzip2", u64::MAX, u64::MAX, summary);
        assert_eq!(header.encode().unwrap().len(), HEADER_BYTES);
    }
}
