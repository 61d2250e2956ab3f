//! Placing finished blocks into files of limited size.

use xxhash_rust::xxh3::Xxh3;

use crate::{
    Result,
    blocks::{Block, BlockTable, Coding, encode::BlockFormat},
    codec::Codec,
    rows::checkpoint_file::Fingerprint,
};

/// A finished file of blocks.
pub struct Shard {
    /// How its blocks are compressed.
    pub codec: &'static Codec,
    /// All blocks.
    pub blocks: Vec<Block>,
    /// The size of the file.
    pub bytes: u64,
    /// Its size after decompression.
    pub logical_bytes: u64,
    /// The number of rows.
    pub records: u64,
    /// XXH3 of all its bytes.
    pub digest: u64,
}

impl Shard {
    /// The bytes of the sidecar of this file, which has `fingerprint`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Table`] where there are more blocks than a table may have.
    pub fn checkpoints(&self, fingerprint: &Fingerprint) -> Result<Vec<u8>> {
        // In range: what has blocks has a coding.
        let coding = Coding::of(self.codec.name).unwrap_or(Coding::Plain);
        let table = BlockTable::new(coding, self.blocks.clone(), true, true)?;
        table.encode(self.codec.name, fingerprint)
    }
}

/// What comes next in the file that is being written.
pub struct Piece {
    /// To be appended; may be empty.
    pub bytes: Vec<u8>,
    /// The file that ends behind them; the next piece begins another.
    pub ended: Option<Shard>,
}

/// A block as the encoder gives it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Content {
    pub raw_len: u32,
    pub rows: u32,
}

/// The file that is being written.
pub(super) struct Placing {
    codec: &'static Codec,
    format: &'static BlockFormat,
    max_bytes: u64,
    blocks: Vec<Block>,
    bytes: u64,
    logical_bytes: u64,
    records: u64,
    digest: Xxh3,
}

impl Placing {
    pub(super) fn new(codec: &'static Codec, format: &'static BlockFormat, max_bytes: u64) -> Self {
        Self {
            codec,
            format,
            max_bytes,
            blocks: Vec::new(),
            bytes: 0,
            logical_bytes: 0,
            records: 0,
            digest: Xxh3::new(),
        }
    }

    /// Rows and logical bytes of the current file.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.records, self.logical_bytes)
    }

    /// Whether a block of `comp_len` bytes fits into an empty file.
    pub(super) fn can_ever_fit(&self, comp_len: u64) -> bool {
        comp_len + (self.format.tail_len)(1) <= self.max_bytes
    }

    /// Put a block that can fit behind the others, or into the next file.
    pub(super) fn push(&mut self, mut bytes: Vec<u8>, content: Content, pieces: &mut Vec<Piece>) {
        let comp_len = bytes.len() as u64;
        let tail = (self.format.tail_len)(self.blocks.len() as u64 + 1);
        if self.bytes + comp_len + tail > self.max_bytes {
            self.end(pieces);
        }
        (self.format.set_first_row)(&mut bytes, self.records);
        self.blocks.push(Block {
            first_row: self.records,
            logical: self.logical_bytes,
            physical: self.bytes,
            raw_len: content.raw_len,
            // In range: the encoders refuse longer blocks.
            comp_len: u32::try_from(comp_len).unwrap_or(u32::MAX),
            rows: content.rows,
            crc32c: crc32c::crc32c(&bytes),
        });
        self.records += u64::from(content.rows);
        self.logical_bytes += u64::from(content.raw_len);
        self.append(bytes, pieces);
    }

    /// End the current file, if there is one.
    pub(super) fn end(&mut self, pieces: &mut Vec<Piece>) {
        if self.blocks.is_empty() {
            return;
        }
        let tail = (self.format.tail)(&self.blocks);
        self.append(tail, pieces);
        let next = Self::new(self.codec, self.format, self.max_bytes);
        let done = std::mem::replace(self, next);
        let ended = Shard {
            codec: done.codec,
            blocks: done.blocks,
            bytes: done.bytes,
            logical_bytes: done.logical_bytes,
            records: done.records,
            digest: done.digest.digest(),
        };
        if let Some(last) = pieces.last_mut()
            && last.ended.is_none()
        {
            last.ended = Some(ended);
        } else {
            pieces.push(Piece { bytes: Vec::new(), ended: Some(ended) });
        }
    }

    fn append(&mut self, bytes: Vec<u8>, pieces: &mut Vec<Piece>) {
        if !bytes.is_empty() {
            self.digest.update(&bytes);
            self.bytes += bytes.len() as u64;
            pieces.push(Piece { bytes, ended: None });
        }
    }
}
