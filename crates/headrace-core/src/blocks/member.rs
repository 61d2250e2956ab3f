//! A gzip member that says how long it is.
//!
//! | byte | type | content |
//! |---|---|---|
//! | 0 | 4 bytes | `1f 8b 08 04`: gzip, deflate, with an extra field |
//! | 4 | u32 | modification time [default: 0] |
//! | 8 | u8 | 2 for the best, 4 for the fastest compression, else 0 |
//! | 9 | u8 | operating system [default: 255, unknown] |
//! | 10 | u16 | length of the extra field: 24 |
//! | 12 | 2 bytes | `HR`: our subfield |
//! | 14 | u16 | its length: 20 |
//! | 16 | u32 | bytes of the whole member |
//! | 20 | u32 | bytes after decompression |
//! | 24 | u32 | rows |
//! | 28 | u64 | number of its first row in the file |
//! | 36 | | deflate data |
//! | … | u32 | CRC-32 of the content |
//! | … | u32 | bytes after decompression |
//!
//! Little endian. A reader can hop from member to member without decompressing, and find the
//! rows on the way.

/// Bytes in front of the deflate data.
pub const HEADER_BYTES: usize = 36;
/// Bytes of the trailer of a member.
pub const TRAILER_BYTES: usize = 8;

const START: [u8; 4] = [0x1f, 0x8b, 0x08, 0x04];
const EXTRA: [u8; 6] = [24, 0, b'H', b'R', 20, 0];
const FIRST_ROW_AT: usize = 28;

/// The header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Time of change, in seconds since the epoch.
    pub mtime: u32,
    /// How hard was compressed.
    pub effort: u8,
    /// Operating system.
    pub system: u8,
    /// Bytes of the whole member.
    pub comp_len: u32,
    /// Bytes after decompression.
    pub raw_len: u32,
    /// The number of rows.
    pub rows: u32,
    /// Number of its first row in the file.
    pub first_row: u64,
}

impl Header {
    /// Encode it.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&START);
        bytes[4..8].copy_from_slice(&self.mtime.to_le_bytes());
        bytes[8] = self.effort;
        bytes[9] = self.system;
        bytes[10..16].copy_from_slice(&EXTRA);
        bytes[16..20].copy_from_slice(&self.comp_len.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.raw_len.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.rows.to_le_bytes());
        bytes[FIRST_ROW_AT..].copy_from_slice(&self.first_row.to_le_bytes());
        bytes
    }

    /// The header of a member of ours; `None` for any other.
    pub fn decode(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let header = Self {
            mtime: word(&bytes[4..8]),
            effort: bytes[8],
            system: bytes[9],
            comp_len: word(&bytes[16..20]),
            raw_len: word(&bytes[20..24]),
            rows: word(&bytes[24..28]),
            first_row: u64::from(word(&bytes[28..32])) | u64::from(word(&bytes[32..36])) << 32,
        };
        let ours = bytes.starts_with(&START)
            && bytes[10..16] == EXTRA
            && header.comp_len as usize >= HEADER_BYTES + TRAILER_BYTES;
        ours.then_some(header)
    }
}

/// Say in a finished member which row of the file it begins with.
pub fn set_first_row(member: &mut [u8], first_row: u64) {
    member[FIRST_ROW_AT..HEADER_BYTES].copy_from_slice(&first_row.to_le_bytes());
}

fn word(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header {
        mtime: 1,
        effort: 2,
        system: 255,
        comp_len: 44,
        raw_len: 0x0102_0304,
        rows: 7,
        first_row: 0x1122_3344_5566_7788,
    };

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Header::decode(&HEADER.encode()), Some(HEADER));
        let mut bytes = Header { first_row: 0, ..HEADER }.encode();
        set_first_row(&mut bytes, HEADER.first_row);
        assert_eq!(Header::decode(&bytes), Some(HEADER));
    }

    #[test]
    fn other_members_are_not_ours() {
        for at in [0, 1, 2, 3, 10, 12, 13, 14] {
            let mut bytes = HEADER.encode();
            bytes[at] ^= 1;
            assert_eq!(Header::decode(&bytes), None, "byte {at}");
        }
        assert_eq!(Header::decode(&Header { comp_len: 43, ..HEADER }.encode()), None);
    }
}
