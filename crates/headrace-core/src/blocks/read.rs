//! A file of blocks, read like a plain file.
//!
//! Offsets are those after decompression. Whatever reads plain files by position reads
//! files of blocks through a [`BlockFile`]: it decodes the block that has the byte, and keeps
//! the last few, so that rows of one block do not decode it twice.

use std::{
    cell::RefCell,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use libdeflater::{Crc, DecompressionError, Decompressor as Inflate};
use memchr::{memchr_iter, memmem};
use zstd::{bulk::Decompressor, zstd_safe};

use crate::{
    DamagedBlock, Error, ErrorKind, Result,
    blocks::{Block, BlockTable, Coding, member},
    input::{DataFile, ReadAt, Stat},
};

/// Decoded blocks are kept up to this many bytes, and the last one whatever it takes.
const KEPT_BYTES: usize = 4 << 20;
/// The most blocks that are kept.
const KEPT_BLOCKS: usize = 8;
/// Compressed bytes beyond this are given back to the system.
const KEPT_INPUT: usize = 4 << 20;

/// A file of blocks, seen after decompression.
pub struct BlockFile {
    file: Arc<DataFile>,
    table: Arc<BlockTable>,
    strict: bool,
    kept: Mutex<Kept>,
}

/// The last blocks that were decoded, the newest first, and memory to decode into.
#[derive(Default)]
struct Kept {
    blocks: Vec<(usize, Arc<Vec<u8>>)>,
    spare: Vec<u8>,
}

impl Kept {
    fn find(&mut self, at: usize) -> Option<Arc<Vec<u8>>> {
        let found = self.blocks.iter().position(|kept| kept.0 == at)?;
        self.blocks[..=found].rotate_right(1);
        Some(Arc::clone(&self.blocks[0].1))
    }

    fn keep(&mut self, at: usize, content: &Arc<Vec<u8>>) {
        self.blocks.insert(0, (at, Arc::clone(content)));
        let held = |blocks: &[(usize, Arc<Vec<u8>>)]| -> usize {
            blocks.iter().map(|kept| kept.1.len()).sum()
        };
        while self.blocks.len() > KEPT_BLOCKS
            || (self.blocks.len() > 1 && held(&self.blocks) > KEPT_BYTES)
        {
            let oldest = self.blocks.pop().and_then(|(_, content)| Arc::into_inner(content));
            self.spare = oldest.unwrap_or_default();
        }
    }
}

impl BlockFile {
    /// `file`, whose blocks are those of `table`.
    pub fn new(file: Arc<DataFile>, table: Arc<BlockTable>) -> Self {
        Self { file, table, strict: false, kept: Mutex::default() }
    }

    /// The same of a file that is never changed once it was written: a plain block that
    /// does not match its checksum is damaged, not another one.
    #[must_use]
    pub fn strict(self) -> Self {
        Self { strict: true, ..self }
    }

    /// The table of its blocks.
    pub fn table(&self) -> &Arc<BlockTable> {
        &self.table
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The content of block `at`, decoded unless it was lately.
    fn content(&self, at: usize) -> Result<Arc<Vec<u8>>> {
        let mut kept = self.kept();
        if let Some(content) = kept.find(at) {
            return Ok(content);
        }
        let mut content = std::mem::take(&mut kept.spare);
        drop(kept);
        self.decode(at, &mut content)?;
        let content = Arc::new(content);
        self.kept().keep(at, &content);
        Ok(content)
    }

    /// Decode block `at` into `content`, whose memory is used again.
    ///
    /// # Errors
    /// [`Error::DamagedBlock`] where the block is damaged, [`crate::ErrorKind::Table`] where it is not what
    /// the table says, [`crate::ErrorKind::Changed`] where the file has become shorter.
    pub fn decode(&self, at: usize, content: &mut Vec<u8>) -> Result<()> {
        let block = &self.table.blocks()[at];
        // Taken out: reading a file through a caller's code may call this again.
        let mut decoders = DECODERS.take();
        let decoded = self.decode_with(&mut decoders, block, content);
        if decoders.input.capacity() > KEPT_INPUT {
            decoders.input = Vec::new();
        }
        DECODERS.set(decoders);
        match decoded? {
            Ok(()) if self.has_its_rows(block, content) => Ok(()),
            Ok(()) if self.is_plain_and_strict() => Err(self.lost(at, "it has other rows".into())),
            Ok(()) => Err(self.not_as_said(block, "it has other rows")),
            Err(Fault::NotAsSaid(reason)) => Err(self.not_as_said(block, reason)),
            Err(Fault::Damaged(reason)) => self.damaged(at, reason),
        }
    }

    fn decode_with(
        &self,
        decoders: &mut Decoders,
        block: &Block,
        content: &mut Vec<u8>,
    ) -> Result<std::result::Result<(), Fault>> {
        let input = &mut decoders.input;
        resize(input, block.comp_len as usize);
        self.file.read_exact_at(input, block.physical)?;
        resize(content, block.raw_len as usize);
        if self.table.checked() && crc32c::crc32c(input) != block.crc32c {
            return Ok(Err(Fault::Damaged("its bytes do not match their checksum".into())));
        }
        Ok(decoders.decode(self.table.coding(), block, content))
    }

    /// Whether there are as many rows as the table says, the last one ended.
    fn has_its_rows(&self, block: &Block, content: &[u8]) -> bool {
        if !self.table.counted() {
            return true;
        }
        let last = block.logical + u64::from(block.raw_len) == self.table.logical_size();
        let unended = content.last().is_some_and(|&byte| byte != b'\n');
        let rows = memchr_iter(b'\n', content).count() + usize::from(unended);
        rows == block.rows as usize && (last || !unended)
    }

    fn not_as_said(&self, block: &Block, reason: &str) -> Error {
        let reason = format!("a block is not what the table says: {reason}");
        match self.table.coding() {
            // The file is as good as ever; it was changed since the sidecar was made.
            Coding::Plain => Error::at(ErrorKind::Sidecar, block.physical, reason),
            Coding::Gzip | Coding::Zstd => Error::at(ErrorKind::Table, block.physical, reason),
        }
    }

    fn damaged(&self, at: usize, reason: String) -> Result<()> {
        let block = &self.table.blocks()[at];
        if self.is_plain_and_strict() {
            return Err(self.lost(at, reason));
        }
        if self.table.coding() == Coding::Plain {
            return Err(self.not_as_said(block, &reason));
        }
        if self.table.checked() && self.was_replaced(at) {
            return Err(self.not_as_said(block, "it is a good block of another file"));
        }
        if !self.table.checked() && !self.frame_follows(block)? {
            return Err(self.not_as_said(block, "it does not end where it should"));
        }
        Err(self.lost(at, reason))
    }

    fn is_plain_and_strict(&self) -> bool {
        self.strict && self.table.coding() == Coding::Plain
    }

    fn lost(&self, at: usize, reason: String) -> Error {
        let block = &self.table.blocks()[at];
        let behind = block.first_row + u64::from(block.rows);
        Error::DamagedBlock(Box::new(DamagedBlock {
            offset: block.physical,
            block: at as u64,
            rows: self.table.counted().then_some((block.first_row, behind)),
            next: block.logical + u64::from(block.raw_len),
            reason,
        }))
    }

    /// Whether the file is as good as ever, and not the one that the sidecar was made of: it has
    /// other blocks, or in the place of this one another that matches its own checksum.
    fn was_replaced(&self, at: usize) -> bool {
        let size = self.file.stat().map_or(0, |stat| stat.size);
        let Ok(Some(own)) = BlockTable::find(&self.file, self.table.coding(), size) else {
            return false;
        };
        let lengths = |block: &Block| (block.raw_len, block.comp_len);
        if !own.blocks().iter().map(lengths).eq(self.table.blocks().iter().map(lengths)) {
            return true;
        }
        let physical = own.blocks()[at].physical;
        let has_checksum = match own.coding() {
            Coding::Plain => false,
            Coding::Gzip => true,
            Coding::Zstd => self.frame_has_checksum(physical),
        };
        let file = Self::new(Arc::clone(&self.file), own);
        has_checksum && file.decode(at, &mut Vec::new()).is_ok()
    }

    fn frame_has_checksum(&self, physical: u64) -> bool {
        // Bit 2 of the byte behind the magic number.
        let mut start = [0; 5];
        self.file.read_exact_at(&mut start, physical).is_ok() && start[4] & 0b100 != 0
    }

    /// Whether a frame begins behind `block`. If none does, the table may be what is wrong.
    fn frame_follows(&self, block: &Block) -> Result<bool> {
        if self.table.coding() != Coding::Zstd {
            // The walk from member to member has read it.
            return Ok(true);
        }
        let mut magic = [0; 4];
        self.file.read_exact_at(&mut magic, block.physical + u64::from(block.comp_len))?;
        Ok(begins_frame(&magic))
    }
}

impl ReadAt for BlockFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let Some(at) = self.table.at_offset(offset) else { return Ok(0) };
        let content = self.content(at)?;
        let from = usize::try_from(offset - self.table.blocks()[at].logical).unwrap_or_default();
        let count = buffer.len().min(content.len() - from);
        buffer[..count].copy_from_slice(&content[from..from + count]);
        Ok(count)
    }

    fn stat(&self) -> io::Result<Stat> {
        Ok(Stat { size: self.table.logical_size(), ..self.file.stat()? })
    }
}

/// Why a block gives no content.
enum Fault {
    /// Its bytes are wrong.
    Damaged(String),
    /// Its bytes may be right, and are not those of such a block.
    NotAsSaid(&'static str),
}

thread_local! {
    /// A decoder takes longer to set up than to use.
    static DECODERS: RefCell<Decoders> = RefCell::default();
}

#[derive(Default)]
struct Decoders {
    input: Vec<u8>,
    zstd: Option<Decompressor<'static>>,
    inflate: Option<Inflate>,
}

impl Decoders {
    fn decode(
        &mut self,
        coding: Coding,
        block: &Block,
        content: &mut [u8],
    ) -> std::result::Result<(), Fault> {
        match coding {
            Coding::Plain => {
                content.copy_from_slice(&self.input);
                Ok(())
            }
            Coding::Gzip => self.inflate(block, content),
            Coding::Zstd => self.unzstd(content),
        }
    }

    fn unzstd(&mut self, content: &mut [u8]) -> std::result::Result<(), Fault> {
        const OTHER_LENGTH: Fault = Fault::NotAsSaid("it has another length");
        let decoder = self.zstd.get_or_insert_default();
        match decoder.decompress_to_buffer(&self.input, content) {
            Ok(length) if length == content.len() => Ok(()),
            Ok(_) => Err(OTHER_LENGTH),
            Err(_) if !begins_frame(&self.input) => Err(Fault::NotAsSaid("no frame begins there")),
            Err(error) => match zstd_safe::get_frame_content_size(&self.input) {
                Ok(Some(length)) if length != content.len() as u64 => Err(OTHER_LENGTH),
                _ => Err(Fault::Damaged(format!("the zstd data is damaged: {error}"))),
            },
        }
    }

    fn inflate(&mut self, block: &Block, content: &mut [u8]) -> std::result::Result<(), Fault> {
        let (input, member) = (&self.input, self.input.first_chunk());
        let Some(header) = member.and_then(member::Header::decode) else {
            return Err(Fault::NotAsSaid("no member of ours begins there"));
        };
        let said = (header.comp_len, header.raw_len, header.rows);
        if said != (block.comp_len, block.raw_len, block.rows) {
            return Err(Fault::NotAsSaid("its header says something else"));
        }
        // In range: a header of ours is of a member that has room for its ends.
        let (data, trailer) = input[member::HEADER_BYTES..]
            .split_at(input.len() - member::HEADER_BYTES - member::TRAILER_BYTES);
        if trailer[4..] != block.raw_len.to_le_bytes() {
            return Err(Fault::NotAsSaid("its header and its end contradict each other"));
        }
        let decoder = self.inflate.get_or_insert_with(Inflate::new);
        // With its header, since only then the trailer has to follow the deflate data.
        match decoder.gzip_decompress(input, content) {
            Ok(length) if length == content.len() => {
                // A trailer like the last one: the data may end there, and more may follow.
                let last = input.len() - member::TRAILER_BYTES;
                let earlier = memmem::find_iter(&input[..input.len() - 1], trailer);
                for end in earlier.filter(|at| *at < last).map(|at| at + trailer.len()) {
                    if decoder.gzip_decompress(&input[..end], content).is_ok() {
                        return Err(damaged_gzip("it does not end where it should"));
                    }
                    let _ = decoder.gzip_decompress(input, content);
                }
                Ok(())
            }
            Ok(_) | Err(DecompressionError::InsufficientSpace) => {
                Err(damaged_gzip("it does not end where it should"))
            }
            Err(DecompressionError::BadData) => {
                let mut sum = Crc::new();
                let reason = match decoder.deflate_decompress(data, content) {
                    Err(DecompressionError::BadData) => "it is not deflate data",
                    Ok(length) if length == content.len() => {
                        sum.update(content);
                        if trailer[..4] == sum.sum().to_le_bytes() {
                            "it does not end where it should"
                        } else {
                            "its checksum does not match"
                        }
                    }
                    _ => "it does not end where it should",
                };
                Err(damaged_gzip(reason))
            }
        }
    }
}

fn damaged_gzip(reason: &str) -> Fault {
    Fault::Damaged(format!("the gzip data is damaged: {reason}"))
}

fn begins_frame(bytes: &[u8]) -> bool {
    match bytes {
        [0x28, 0xb5, 0x2f, 0xfd, ..] => true,
        [first, 0x2a, 0x4d, 0x18, ..] => (0x50..=0x5f).contains(first),
        _ => false,
    }
}

/// Give `buffer` a length, what it has is of no use. Memory that is new comes from the system
/// as zeros, and is not touched before it is written to.
fn resize(buffer: &mut Vec<u8>, length: usize) {
    if buffer.capacity() < length {
        *buffer = vec![0; length];
    } else {
        buffer.resize(length, 0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::blocks::{made, seek_table};

    fn opened(bytes: Vec<u8>, coding: Coding) -> BlockFile {
        let size = bytes.len() as u64;
        let file = Arc::new(DataFile::new(bytes));
        let table = BlockTable::find(&file, coding, size).unwrap().unwrap();
        BlockFile::new(file, table)
    }

    fn all(file: &BlockFile) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        let mut buffer = [0; 7];
        loop {
            match file.read_at(&mut buffer, content.len() as u64)? {
                0 => return Ok(content),
                count => content.extend_from_slice(&buffer[..count]),
            }
        }
    }

    const PARTS: [&[u8]; 4] =
        [b"{\"a\": 1}\n{\"a\": 2}\n", b"[3]\n", b"\n\n", b"{\"a\": \"last\"}\n"];

    /// Each flipped bit of the frames or members: the content is right, or there is an error.
    #[test]
    fn no_flipped_bit_gives_other_bytes() {
        for (bytes, coding) in
            [(made::gzip(&PARTS), Coding::Gzip), (made::zstd(&PARTS), Coding::Zstd)]
        {
            for bit in 0..bytes.len() * 8 {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let size = flipped.len() as u64;
                let file = Arc::new(DataFile::new(flipped));
                if let Ok(Some(table)) = BlockTable::find(&file, coding, size)
                    && let Ok(content) = all(&BlockFile::new(file, table))
                {
                    assert_eq!(content, PARTS.concat(), "{coding:?}, bit {bit}");
                }
            }
        }
    }

    #[test]
    fn a_damaged_block_leaves_the_others_alone() {
        let bytes = made::gzip(&PARTS);
        let whole = opened(bytes.clone(), Coding::Gzip);
        let block = whole.table().blocks()[1];
        let mut damaged = bytes;
        let at = usize::try_from(block.physical).unwrap() + block.comp_len as usize - 6;
        damaged[at] ^= 1;
        let file = opened(damaged, Coding::Gzip);
        let mut buffer = [0; 100];
        let error = Error::from(file.read_at(&mut buffer, block.logical).unwrap_err());
        let Error::DamagedBlock(damage) = error else { panic!("{error}") };
        assert_eq!((damage.block, damage.offset, damage.rows), (1, block.physical, Some((2, 3))));
        assert_eq!(file.read_at(&mut buffer, damage.next).unwrap(), 2);
        assert_eq!(file.read_at(&mut buffer, 0).unwrap(), PARTS[0].len());
    }

    #[test]
    fn a_block_is_compared_with_the_checksum_of_its_sidecar() {
        let bytes = made::zstd(&PARTS);
        let table = Arc::new(made::counted(&bytes, &PARTS));
        let mut damaged = bytes;
        // The checksum of the frame itself would not cover its magic number.
        damaged[0] ^= 1;
        let file = BlockFile::new(Arc::new(DataFile::new(damaged)), table);
        let error = Error::from(file.read_at(&mut [0], 0).unwrap_err());
        assert!(matches!(error, Error::DamagedBlock(_)), "{error}");
        assert_eq!(file.read_at(&mut [0], 18).unwrap(), 1);
    }

    #[test]
    fn a_file_that_was_replaced_is_not_damaged() {
        let others: [&[u8]; 4] = [PARTS[0], b"[4]\n", PARTS[2], PARTS[3]];
        let longer: [&[u8]; 4] = [PARTS[0], b"[4, 5]\n", PARTS[2], PARTS[3]];
        let table = Arc::new(made::counted(&made::zstd(&PARTS), &PARTS));
        for parts in [others, longer] {
            let data = Arc::new(DataFile::new(made::zstd(&parts)));
            let file = BlockFile::new(data, Arc::clone(&table));
            let error = all(&file).unwrap_err();
            assert!(matches!(error, Error::At { kind: ErrorKind::Table, .. }), "{error}");
        }
    }

    #[test]
    fn a_seek_table_with_wrong_lengths_is_not_damage() {
        let bytes = made::zstd(&PARTS);
        let frames = |change: fn(&mut Vec<seek_table::Frame>)| {
            let file = opened(bytes.clone(), Coding::Zstd);
            let mut frames: Vec<_> = file
                .table()
                .blocks()
                .iter()
                .map(|block| seek_table::Frame { comp_len: block.comp_len, raw_len: block.raw_len })
                .collect();
            change(&mut frames);
            let before: u32 = frames.iter().map(|frame| frame.comp_len).sum();
            let table = seek_table::encode(frames.into_iter());
            [&bytes[..before as usize], &table].concat()
        };
        let changes: [fn(&mut Vec<seek_table::Frame>); 4] = [
            |frames| frames[1].raw_len += 1,
            |frames| frames[1].raw_len -= 1,
            |frames| {
                frames[1].comp_len -= 1;
                frames[2].comp_len += 1;
            },
            |frames| {
                frames[1].comp_len += 1;
                frames[2].comp_len -= 1;
            },
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let file = opened(frames(change), Coding::Zstd);
            let error = all(&file).unwrap_err();
            assert!(
                matches!(error, Error::At { kind: ErrorKind::Table, .. }),
                "change {number}: {error}"
            );
        }
    }

    #[test]
    fn rows_of_one_block_and_reading_backwards_decode_it_once() {
        let bytes = made::zstd(&PARTS);
        let length = bytes.len() as u64;
        let file = opened(bytes, Coding::Zstd);
        let found = file.file.bytes_read();
        for offset in (0..file.table().logical_size()).rev() {
            assert_eq!(file.read_at(&mut [0], offset).unwrap(), 1);
        }
        let table = seek_table::encoded_len(4);
        assert_eq!(file.file.bytes_read() - found, length - table);
    }

    proptest! {
        #[test]
        fn any_read_gives_the_bytes_that_are_there(
            parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 0..12),
            reads in proptest::collection::vec((0_u64..700, 0_usize..90), 1..20),
        ) {
            let data = parts.concat();
            let file = opened(made::zstd(&parts), Coding::Zstd);
            for (offset, length) in reads {
                let mut buffer = vec![0; length];
                let count = file.read_at(&mut buffer, offset).unwrap();
                let from = usize::try_from(offset).unwrap().min(data.len());
                let rest = &data[from..];
                prop_assert!(count > 0 || length == 0 || rest.is_empty());
                prop_assert_eq!(&buffer[..count], &rest[..count]);
            }
        }
    }
}
