//! The seek table of a zstd file, in the seekable format of the zstd project.
//!
//! | byte | type | content |
//! |---|---|---|
//! | 0 | u32 | `0x184D2A5E`: a skippable frame |
//! | 4 | u32 | bytes that follow: 8 n + 9, or 12 n + 9 with checksums |
//! | 8 + 8 k | u32 | compressed size of frame k |
//! | 12 + 8 k | u32 | decompressed size of frame k |
//! | … | u32 | with checksums: the lower half of XXH64 of the content of frame k |
//! | 8 + 8 n | u32 | n, the number of frames |
//! | 12 + 8 n | u8 | bit 7: there are checksums; the other bits are 0 |
//! | 13 + 8 n | u32 | `0x8F92EAB1` |
//!
//! It is the last thing in the file, little endian, and frame 0 begins at byte 0. We
//! write it without checksums, since our frames carry their own, and read both kinds.

use crate::{Error, ErrorKind, Result};

/// Bytes at the end of a file that tell how long the table is.
pub const FOOTER_BYTES: usize = 9;

const HEADER_BYTES: usize = 8;
const SKIPPABLE_MAGIC: u32 = 0x184D_2A5E;
const SEEKABLE_MAGIC: u32 = 0x8F92_EAB1;
const CHECKSUM_FLAG: u8 = 0x80;
const RESERVED_BITS: u8 = 0x7c;
/// The format's own limit.
const MAX_FRAMES: u32 = 0x0800_0000;

/// One frame as the table has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its bytes in the file.
    pub comp_len: u32,
    /// Its bytes after decompression.
    pub raw_len: u32,
}

/// The length of a table of `frames` frames.
pub const fn encoded_len(frames: u64) -> u64 {
    frames * 8 + (HEADER_BYTES + FOOTER_BYTES) as u64
}

/// The bytes of the table of `frames`.
pub fn encode(frames: impl ExactSizeIterator<Item = Frame>) -> Vec<u8> {
    let count = u32::try_from(frames.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(frames.len() * 8 + HEADER_BYTES + FOOTER_BYTES);
    bytes.extend_from_slice(&SKIPPABLE_MAGIC.to_le_bytes());
    bytes.extend_from_slice(&(count * 8 + 9).to_le_bytes());
    for frame in frames {
        bytes.extend_from_slice(&frame.comp_len.to_le_bytes());
        bytes.extend_from_slice(&frame.raw_len.to_le_bytes());
    }
    bytes.extend_from_slice(&count.to_le_bytes());
    bytes.push(0);
    bytes.extend_from_slice(&SEEKABLE_MAGIC.to_le_bytes());
    bytes
}

/// How long the table is that ends with `footer`; `None` if no table does.
pub fn length(footer: &[u8; FOOTER_BYTES]) -> Option<u64> {
    let (count, descriptor) = (word(&footer[..4]), footer[4]);
    let ours = word(&footer[5..]) == SEEKABLE_MAGIC && descriptor & RESERVED_BITS == 0;
    (ours && count <= MAX_FRAMES).then(|| {
        u64::from(count) * entry_len(descriptor) as u64 + (HEADER_BYTES + FOOTER_BYTES) as u64
    })
}

/// The frames of a whole `table`, which must fill the `before` bytes of the file in front of it.
///
/// # Errors
/// [`crate::ErrorKind::Sidecar`] where the table contradicts itself or the file.
pub fn decode(table: &[u8], before: u64) -> Result<Vec<Frame>> {
    let sound =
        table.last_chunk().and_then(length).is_some_and(|length| length == table.len() as u64)
            && word(&table[..4]) == SKIPPABLE_MAGIC
            && word(&table[4..8]) as usize == table.len() - HEADER_BYTES;
    if !sound {
        return Err(unusable("its lengths contradict each other"));
    }
    let entries = &table[HEADER_BYTES..table.len() - FOOTER_BYTES];
    let frames: Vec<Frame> = entries
        .chunks_exact(entry_len(table[table.len() - FOOTER_BYTES + 4]))
        .map(|entry| Frame { comp_len: word(&entry[..4]), raw_len: word(&entry[4..8]) })
        .collect();
    let covered: u64 = frames.iter().map(|frame| u64::from(frame.comp_len)).sum();
    if covered != before {
        return Err(unusable("its frames are not all of the file"));
    }
    Ok(frames)
}

fn entry_len(descriptor: u8) -> usize {
    if descriptor & CHECKSUM_FLAG == 0 { 8 } else { 12 }
}

fn unusable(reason: &str) -> Error {
    Error::at(ErrorKind::Sidecar, 0, format!("the seek table cannot be used: {reason}"))
}

fn word(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES: [Frame; 2] =
        [Frame { comp_len: 100, raw_len: 1000 }, Frame { comp_len: 7, raw_len: 0 }];

    fn table() -> Vec<u8> {
        encode(FRAMES.into_iter())
    }

    #[test]
    fn what_is_written_is_read() {
        let table = table();
        assert_eq!(table.len() as u64, encoded_len(2));
        assert_eq!(length(table.last_chunk().unwrap()), Some(table.len() as u64));
        assert_eq!(decode(&table, 107).unwrap(), FRAMES);
        assert_eq!(decode(&encode([].into_iter()), 0).unwrap(), []);
    }

    #[test]
    fn checksums_of_other_writers_are_passed_over() {
        let mut table = Vec::new();
        table.extend_from_slice(&SKIPPABLE_MAGIC.to_le_bytes());
        table.extend_from_slice(&33_u32.to_le_bytes());
        for frame in FRAMES {
            table.extend_from_slice(&frame.comp_len.to_le_bytes());
            table.extend_from_slice(&frame.raw_len.to_le_bytes());
            table.extend_from_slice(b"hash");
        }
        table.extend_from_slice(&[2, 0, 0, 0, CHECKSUM_FLAG]);
        table.extend_from_slice(&SEEKABLE_MAGIC.to_le_bytes());
        assert_eq!(decode(&table, 107).unwrap(), FRAMES);
    }

    #[test]
    fn a_table_that_does_not_fit_the_file_is_refused() {
        assert!(decode(&table(), 106).is_err());
        assert!(decode(&table()[1..], 107).is_err());
        assert!(decode(&[table(), vec![0]].concat(), 107).is_err());
    }

    #[test]
    fn any_bytes_can_be_tried() {
        let table = table();
        for bit in 0..table.len() * 8 {
            let mut flipped = table.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let _ = decode(&flipped, 107);
        }
        for length in 0..table.len() {
            assert!(decode(&table[..length], 107).is_err(), "first {length}");
        }
    }
}
