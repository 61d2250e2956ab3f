//! All blocks of one file, and where they are found.
//!
//! A table comes from a sidecar, from the seek table of a zstd file or from the headers of
//! gzip members. Its blocks fill the file from byte 0 on without a gap, so what decoding them
//! one after the other gives is what decoding the whole file gives. A table whose numbers
//! cannot be right is refused here; a block that is not what its table says, when it is read.

use std::sync::Arc;

use crate::{
    Error, ErrorKind, Result,
    blocks::{
        Block, member,
        read::BlockFile,
        seek_table::{self, Frame},
    },
    input::DataFile,
    rows::{
        Summary,
        checkpoint_file::{self, CheckpointFile, Fingerprint, Header},
    },
};

/// The longest block that is entered by itself. It is decoded whole; a file of longer ones is
/// read in order, which takes no memory.
pub(crate) const MAX_RAW_LEN: u32 = 256 << 20;
/// The most blocks a table may have: they are held in memory.
pub(crate) const MAX_BLOCKS: u64 = 1 << 22;

/// The most bytes that an empty block takes; a skippable frame may take any number.
const EMPTY_BLOCK_BYTES: u32 = 64;
const SKIPPABLE_HEADER_BYTES: usize = 8;

/// How the blocks of a file are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// Not compressed.
    Plain,
    /// A gzip member of ours each.
    Gzip,
    /// A zstd frame each, or several.
    Zstd,
}

impl Coding {
    /// That of a codec, if it can be cut into blocks.
    pub fn of(codec: &str) -> Option<Self> {
        match codec {
            "none" => Some(Self::Plain),
            "gzip" => Some(Self::Gzip),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The most bytes that one compressed byte can stand for.
    fn max_ratio(self) -> u64 {
        match self {
            Self::Plain => 1,
            // A deflate symbol of two bits stands for 258 bytes.
            Self::Gzip => 1032,
            // A zstd block of four bytes stands for 128 KiB.
            Self::Zstd => 32_768,
        }
    }
}

/// All blocks of one file, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockTable {
    coding: Coding,
    blocks: Vec<Block>,
    counted: bool,
    checked: bool,
    logical_size: u64,
    total_rows: u64,
    physical_size: u64,
}

impl BlockTable {
    /// The table of `blocks`. `counted`: each begins with a row and knows its rows. `checked`:
    /// the checksums are known.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Table`] where the numbers cannot be right.
    pub fn new(coding: Coding, blocks: Vec<Block>, counted: bool, checked: bool) -> Result<Self> {
        let mut table = Self {
            coding,
            blocks,
            counted,
            checked,
            logical_size: 0,
            total_rows: 0,
            physical_size: 0,
        };
        if table.blocks.len() as u64 > MAX_BLOCKS {
            return Err(unusable(0, "it has too many blocks"));
        }
        for block in &table.blocks {
            let follows = block.logical == table.logical_size
                && block.physical == table.physical_size
                && block.first_row == table.total_rows;
            let rows_fit = !counted
                || (block.rows <= block.raw_len && (block.rows == 0) == (block.raw_len == 0));
            if !follows || !rows_fit {
                return Err(unusable(block.physical, "its numbers contradict each other"));
            }
            let most = u64::from(block.comp_len) * coding.max_ratio();
            if block.raw_len > MAX_RAW_LEN || u64::from(block.raw_len) > most {
                return Err(unusable(block.physical, "a block of it is larger than blocks are"));
            }
            // No overflow: at most `MAX_BLOCKS` numbers of 32 bits.
            table.logical_size += u64::from(block.raw_len);
            table.physical_size += u64::from(block.comp_len);
            table.total_rows += u64::from(block.rows);
        }
        Ok(table)
    }

    /// The table that a file of `size` bytes has in itself; `None` if it has none.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Table`] where there is one that cannot be used.
    pub fn find(file: &Arc<DataFile>, coding: Coding, size: u64) -> Result<Option<Arc<Self>>> {
        match coding {
            Coding::Plain => Ok(None),
            Coding::Gzip => from_members(file, size),
            Coding::Zstd => from_seek_table(file, size),
        }
    }

    /// The table in a sidecar in blocks mode.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where it cannot be used.
    pub fn stored(file: &CheckpointFile) -> Result<Self> {
        let header = file.header();
        let coding = Coding::of(&header.codec).ok_or_else(|| contradicts("its codec"))?;
        if header.entries > MAX_BLOCKS {
            return Err(contradicts("the number of its blocks"));
        }
        let blocks = file.blocks()?;
        // Writers of blocks write no empty one.
        if blocks.iter().any(|block| block.raw_len == 0) {
            return Err(contradicts("an empty block"));
        }
        let table = Self::new(coding, blocks, true, true).map_err(|error| match error {
            Error::At { kind: ErrorKind::Table, offset, reason } => {
                Error::at(ErrorKind::Sidecar, offset, reason)
            }
            other => other,
        })?;
        let fits = table.logical_size == header.logical_size
            && table.total_rows == header.total_rows
            && match coding {
                Coding::Zstd => table.physical_size <= header.size,
                Coding::Plain | Coding::Gzip => table.physical_size == header.size,
            };
        if fits { Ok(table) } else { Err(contradicts("its sums")) }
    }

    /// The bytes of a sidecar in blocks mode, for the file that `fingerprint` was taken of.
    ///
    /// # Errors
    /// Never in practice: when the header does not fit.
    pub fn encode(&self, codec: &str, fingerprint: &Fingerprint) -> Result<Vec<u8>> {
        let summary = Summary {
            total_rows: self.total_rows,
            logical_size: self.logical_size,
            last_row_terminated: true,
            bom: false,
        };
        let header = Header::of_blocks(fingerprint, codec, self.blocks.len() as u64, summary);
        checkpoint_file::encode_blocks(&header, &self.blocks)
    }

    /// Look whether nothing but a seek table stands behind the blocks of a file of `size` bytes.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Table`] where something else does.
    pub fn check_end(&self, file: &DataFile, size: u64) -> Result<()> {
        let behind = size.checked_sub(self.physical_size);
        let fits = match (self.coding, behind) {
            (_, Some(0)) => true,
            (Coding::Zstd, Some(behind)) => {
                skippable_len(file, self.physical_size, behind)? == Some(behind)
            }
            _ => false,
        };
        if fits {
            Ok(())
        } else {
            Err(unusable(self.physical_size, "its blocks are not all of the file"))
        }
    }

    /// How the blocks are compressed.
    pub fn coding(&self) -> Coding {
        self.coding
    }

    /// The blocks.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Whether each block begins with a row, and knows how many it has.
    pub fn counted(&self) -> bool {
        self.counted
    }

    /// Whether the checksums of the blocks are known.
    pub fn checked(&self) -> bool {
        self.checked
    }

    /// All bytes after decompression.
    pub fn logical_size(&self) -> u64 {
        self.logical_size
    }

    /// All rows; 0 where they were not counted.
    pub fn total_rows(&self) -> u64 {
        self.total_rows
    }

    /// The block that has the byte `offset` of the decompressed file.
    pub fn at_offset(&self, offset: u64) -> Option<usize> {
        // Of several that begin there, the last is the one that is not empty.
        let behind = self.blocks.partition_point(|block| block.logical <= offset);
        (offset < self.logical_size).then(|| behind - 1)
    }

    /// The block of `row`, or the last one if there is no such row; `None` without blocks.
    pub fn at_row(&self, row: u64) -> Option<&Block> {
        let behind = self.blocks.partition_point(|block| block.first_row <= row);
        behind.checked_sub(1).map(|at| &self.blocks[at])
    }

    /// Where the first block that begins at byte `physical` of the file or later begins after
    /// decompression, and the number of its first row.
    pub fn at_physical(&self, physical: u64) -> (u64, u64) {
        let at = self.blocks.partition_point(|block| block.physical < physical);
        self.blocks
            .get(at)
            .map_or((self.logical_size, self.total_rows), |block| (block.logical, block.first_row))
    }
}

fn from_seek_table(file: &Arc<DataFile>, size: u64) -> Result<Option<Arc<BlockTable>>> {
    let Some(footer_at) = size.checked_sub(seek_table::FOOTER_BYTES as u64) else {
        return Ok(None);
    };
    let mut footer = [0; seek_table::FOOTER_BYTES];
    file.read_exact_at(&mut footer, footer_at)?;
    let Some(length) = seek_table::length(&footer) else { return Ok(None) };
    let before = size
        .checked_sub(length)
        .ok_or_else(|| unusable(footer_at, "it is longer than the file"))?;
    if seek_table::encoded_len(MAX_BLOCKS) < length {
        return Err(unusable(footer_at, "it has too many blocks"));
    }
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
    file.read_exact_at(&mut bytes, before)?;
    let frames = seek_table::decode(&bytes, before).map_err(|error| match error {
        Error::At { kind: ErrorKind::Sidecar, reason, .. } => {
            Error::at(ErrorKind::Table, before, reason)
        }
        other => other,
    })?;
    let table = Arc::new(BlockTable::new(Coding::Zstd, of_frames(&frames), false, false)?);
    check_empty(file, &table)?;
    Ok(Some(table))
}

fn of_frames(frames: &[Frame]) -> Vec<Block> {
    let (mut logical, mut physical) = (0, 0);
    frames
        .iter()
        .map(|&Frame { comp_len, raw_len }| {
            let block = Block { logical, physical, raw_len, comp_len, ..Block::default() };
            logical += u64::from(raw_len);
            physical += u64::from(comp_len);
            block
        })
        .collect()
}

fn from_members(file: &Arc<DataFile>, size: u64) -> Result<Option<Arc<BlockTable>>> {
    let mut blocks: Vec<Block> = Vec::new();
    // Members whose number of rows no other member confirms.
    let mut unconfirmed = Vec::new();
    let (mut logical, mut physical, mut total_rows, mut began) = (0, 0, 0, 0);
    while physical < size {
        let Some(header) = hop(file, size, physical, blocks.last())? else {
            return if blocks.is_empty() {
                Ok(None)
            } else {
                Err(unusable(physical, "a member that is not ours follows"))
            };
        };
        if header.first_row == 0 && !blocks.is_empty() {
            // Another file of ours was put behind this one.
            unconfirmed.push(blocks.len() - 1);
            began = total_rows;
        }
        if header.first_row != total_rows - began || blocks.len() as u64 >= MAX_BLOCKS {
            return Err(unusable(physical, "its numbers contradict each other"));
        }
        blocks.push(Block {
            first_row: total_rows,
            logical,
            physical,
            raw_len: header.raw_len,
            comp_len: header.comp_len,
            rows: header.rows,
            crc32c: 0,
        });
        logical += u64::from(header.raw_len);
        physical += u64::from(header.comp_len);
        total_rows += u64::from(header.rows);
    }
    if physical != size {
        return Err(unusable(physical, "the last member is longer than the file"));
    }
    let Some(last) = blocks.len().checked_sub(1) else { return Ok(None) };
    unconfirmed.push(last);
    let table = Arc::new(BlockTable::new(Coding::Gzip, blocks, true, false)?);
    check_empty(file, &table)?;
    let reader = BlockFile::new(Arc::clone(file), Arc::clone(&table));
    let mut content = Vec::new();
    for at in unconfirmed {
        reader.decode(at, &mut content).or_else(pass_damage)?;
    }
    Ok(Some(table))
}

/// Damage is reported when the block is read.
fn pass_damage(error: Error) -> Result<()> {
    match error {
        Error::DamagedBlock(_) => Ok(()),
        other => Err(other),
    }
}

/// The header of the member at `physical`, if it is ours and the one before ends as it said.
fn hop(
    file: &DataFile,
    size: u64,
    physical: u64,
    before: Option<&Block>,
) -> Result<Option<member::Header>> {
    const TRAILER: usize = member::TRAILER_BYTES;
    let skip = if before.is_some() { 0 } else { TRAILER };
    let mut bytes = [0; TRAILER + member::HEADER_BYTES];
    if physical + (member::HEADER_BYTES as u64) > size {
        return Ok(None);
    }
    file.read_exact_at(&mut bytes[skip..], physical - (TRAILER - skip) as u64)?;
    let (trailer, header) = bytes.split_at(TRAILER);
    let length = &trailer[TRAILER - 4..];
    if before.is_some_and(|block| block.raw_len.to_le_bytes() != length) {
        return Err(unusable(physical, "a member does not end as its header says"));
    }
    Ok(header.first_chunk().and_then(member::Header::decode))
}

/// A block that is said to be empty is never read by those who look for bytes, so it is read
/// here: rows must not hide in it.
fn check_empty(file: &Arc<DataFile>, table: &Arc<BlockTable>) -> Result<()> {
    let mut content = Vec::new();
    let reader = BlockFile::new(Arc::clone(file), Arc::clone(table));
    for (at, block) in table.blocks.iter().enumerate() {
        if block.raw_len != 0 || block.comp_len == 0 {
            continue;
        }
        let length = u64::from(block.comp_len);
        let skippable = table.coding == Coding::Zstd
            && skippable_len(file, block.physical, length)? == Some(length);
        if skippable {
            continue;
        }
        if block.comp_len > EMPTY_BLOCK_BYTES {
            return Err(unusable(block.physical, "a block that should be empty is not"));
        }
        reader.decode(at, &mut content)?;
    }
    Ok(())
}

/// How long the skippable frame at `offset` is, if one is there and fits `room`.
fn skippable_len(file: &DataFile, offset: u64, room: u64) -> Result<Option<u64>> {
    let mut bytes = [0; SKIPPABLE_HEADER_BYTES];
    if room < SKIPPABLE_HEADER_BYTES as u64 {
        return Ok(None);
    }
    file.read_exact_at(&mut bytes, offset)?;
    let [0x50..=0x5f, 0x2a, 0x4d, 0x18, length @ ..] = bytes else { return Ok(None) };
    Ok(Some(u64::from(u32::from_le_bytes(length)) + SKIPPABLE_HEADER_BYTES as u64))
}

fn unusable(offset: u64, reason: &str) -> Error {
    Error::at(ErrorKind::Table, offset, format!("the table of its blocks cannot be used: {reason}"))
}

fn contradicts(what: &str) -> Error {
    Error::at(ErrorKind::Sidecar, 0, format!("the sidecar contradicts itself: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::made;

    fn find(bytes: &[u8], coding: Coding) -> Result<Option<Arc<BlockTable>>> {
        let size = bytes.len() as u64;
        BlockTable::find(&Arc::new(DataFile::new(bytes.to_vec())), coding, size)
    }

    const PARTS: [&[u8]; 3] = [b"1\n22\n", b"333\n", b"4\n5\n"];

    #[test]
    fn members_tell_their_rows() {
        let table = find(&made::gzip(&PARTS), Coding::Gzip).unwrap().unwrap();
        assert!(table.counted());
        assert_eq!((table.logical_size(), table.total_rows()), (13, 5));
        let rows: Vec<_> =
            table.blocks().iter().map(|block| (block.first_row, block.rows)).collect();
        assert_eq!(rows, [(0, 2), (2, 1), (3, 2)]);
        assert_eq!(table.at_row(2).unwrap().logical, 5);
        assert_eq!(table.at_row(9).unwrap().first_row, 3);
    }

    #[test]
    fn offsets_are_found_in_the_block_that_is_not_empty() {
        let parts: [&[u8]; 5] = [b"", b"1\n", b"", b"", b"2\n"];
        for (bytes, coding) in
            [(made::gzip(&parts), Coding::Gzip), (made::zstd(&parts), Coding::Zstd)]
        {
            let table = find(&bytes, coding).unwrap().unwrap();
            let found: Vec<_> = (0..5).map(|offset| table.at_offset(offset)).collect();
            assert_eq!(found, [Some(1), Some(1), Some(4), Some(4), None], "{coding:?}");
        }
    }

    #[test]
    fn parts_of_the_file_are_parts_of_what_it_decodes_to() {
        let bytes = made::gzip(&PARTS);
        let table = find(&bytes, Coding::Gzip).unwrap().unwrap();
        let second = table.blocks()[1].physical;
        assert_eq!(table.at_physical(0), (0, 0));
        assert_eq!(table.at_physical(1), (5, 2));
        assert_eq!(table.at_physical(second), (5, 2));
        assert_eq!(table.at_physical(second + 1), (9, 3));
        assert_eq!(table.at_physical(bytes.len() as u64), (13, 5));
    }

    #[test]
    fn files_of_others_have_no_table() {
        assert!(
            find(b"\x1f\x8b\x08\x00 and so on, for a while longer than that", Coding::Gzip)
                .unwrap()
                .is_none()
        );
        let parts = zstd::bulk::compress(b"1\n", 1).unwrap();
        assert!(find(&parts, Coding::Zstd).unwrap().is_none());
        assert!(find(b"{}\n", Coding::Plain).unwrap().is_none());
    }

    #[test]
    fn members_of_others_behind_ours_make_the_table_unusable() {
        let ours = made::gzip(&PARTS);
        for behind in [&b"\0\0\0\0"[..], &[0; 100], b"\x1f\x8b\x08\x00"] {
            let error = find(&[&ours, behind].concat(), Coding::Gzip).unwrap_err();
            assert!(matches!(error, Error::At { kind: ErrorKind::Table, .. }), "{error}");
        }
        assert!(find(&ours[..ours.len() - 1], Coding::Gzip).is_err());
    }

    #[test]
    fn files_of_ours_may_be_put_together() {
        let both = [made::gzip(&PARTS), made::gzip(&PARTS)].concat();
        assert_eq!(find(&both, Coding::Gzip).unwrap().unwrap().total_rows(), 10);
        let both = [made::zstd(&PARTS), made::zstd(&PARTS)].concat();
        assert!(matches!(find(&both, Coding::Zstd), Err(Error::At { kind: ErrorKind::Table, .. })));
    }

    /// A wrong bit in the header of a member never makes another table.
    #[test]
    fn a_flipped_bit_of_a_header_is_noticed_or_of_no_importance() {
        let bytes = made::gzip(&PARTS);
        let table = find(&bytes, Coding::Gzip).unwrap().unwrap();
        for block in table.blocks() {
            let begin = usize::try_from(block.physical).unwrap();
            for bit in begin * 8..(begin + member::HEADER_BYTES) * 8 {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                if let Ok(Some(found)) = find(&flipped, Coding::Gzip) {
                    assert_eq!(found, table, "bit {bit}");
                }
            }
        }
    }

    #[test]
    fn rows_do_not_hide_in_blocks_that_are_said_to_be_empty() {
        let mut encoder = zstd::bulk::Compressor::new(1).unwrap();
        let frames = [b"1\n", b"2\n"].map(|part| encoder.compress(part).unwrap());
        let said = frames.iter().zip([2, 0]).map(|(frame, raw_len)| Frame {
            comp_len: u32::try_from(frame.len()).unwrap(),
            raw_len,
        });
        let table = seek_table::encode(said.collect::<Vec<_>>().into_iter());
        let error = find(&[frames.concat(), table].concat(), Coding::Zstd).unwrap_err();
        assert!(matches!(error, Error::At { kind: ErrorKind::Table, .. }), "{error}");
    }

    #[test]
    fn numbers_that_no_codec_reaches_are_refused() {
        let block = |raw_len, comp_len| Block { raw_len, comp_len, ..Block::default() };
        let refused = |coding, block| BlockTable::new(coding, vec![block], false, false).is_err();
        assert!(refused(Coding::Zstd, block(MAX_RAW_LEN + 1, u32::MAX)));
        assert!(refused(Coding::Zstd, block(256 << 20, 100)));
        assert!(refused(Coding::Gzip, block(256 << 20, 1 << 17)));
        assert!(refused(Coding::Plain, block(101, 100)));
        assert!(!refused(Coding::Zstd, block(256 << 20, 1 << 20)));
    }

    #[test]
    fn a_table_is_the_same_from_its_sidecar() {
        let bytes = made::zstd(&PARTS);
        let file = DataFile::new(bytes.clone());
        let table = made::counted(&bytes, &PARTS);
        let fingerprint = Fingerprint::take(&file, file.stat().unwrap()).unwrap();
        let sidecar = table.encode("zstd", &fingerprint).unwrap();
        let opened = CheckpointFile::open(DataFile::new(sidecar.clone())).unwrap();
        assert_eq!(BlockTable::stored(&opened).unwrap(), table);
        assert!(opened.header().same_ends(&fingerprint));
        table.check_end(&file, bytes.len() as u64).unwrap();
        assert!(table.check_end(&file, bytes.len() as u64 - 1).is_err());
        for bit in 0..sidecar.len() * 8 {
            let mut flipped = sidecar.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let read = CheckpointFile::open(DataFile::new(flipped))
                .and_then(|file| BlockTable::stored(&file));
            assert!(read.is_err(), "bit {bit}");
        }
        for length in 0..sidecar.len() {
            let cut = DataFile::new(sidecar[..length].to_vec());
            assert!(CheckpointFile::open(cut).is_err(), "first {length}");
        }
    }
}
