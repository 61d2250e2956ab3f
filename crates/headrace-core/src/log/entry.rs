//! One entry of an index, little endian:
//!
//! | byte | type | content |
//! |---|---|---|
//! | 0 | u64 | start: the first byte of the line |
//! | 8 | u64 | end: the first byte behind its newline |
//! | 16 | i64 | time, in milliseconds since the beginning of 1970 |
//! | 24 | u64 | number of the line in the log, from 1 |
//! | 32 | u32 | number of the line in the file, from 1 |
//! | 36 | u32 | number of the file |
//! | 40 | u8 | where the time is from: 0 created, 1 extracted |
//! | 41 | u8 | [`flag`]s |
//! | 42 | u16 | 0 |
//! | 44 | u32 | CRC32C of the line with its newline |
//! | 48 | u32 | 0 |
//! | 52 | u32 | CRC32C of bytes 0 to 51, begun with the salt of the log |

/// Bytes of the line of JSON that an index begins with.
pub const HEADER_BYTES: usize = 256;
/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 56;

const CHECKED: usize = ENTRY_BYTES - 4;

/// Flags of a line.
pub mod flag {
    /// It ends with `\r\n`.
    pub const CRLF: u8 = 1;
    /// There is nothing in it.
    pub const BLANK: u8 = 2;
    /// Recovery gave it its newline.
    pub const COMPLETED: u8 = 4;
    /// Its time was lost and is that of the file.
    pub const TIME_RECONSTRUCTED: u8 = 8;
    /// All flags.
    pub const ALL: u8 = 15;
}

/// The entry of a line in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The first byte.
    pub start: u64,
    /// The first byte behind it.
    pub end: u64,
    /// Milliseconds since the beginning of 1970.
    pub time: i64,
    /// From 1, in the log.
    pub line: u64,
    /// From 1, in the file.
    pub line_of_file: u32,
    /// The number of the file in the log.
    pub file_number: u32,
    /// Whether the time is that of the record.
    pub extracted: bool,
    /// See [`flag`].
    pub flags: u8,
    /// CRC32C of the line.
    pub checksum: u32,
}

impl Entry {
    /// Its bytes, in the log with this salt.
    pub fn encode(&self, salt: u32) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[0..8].copy_from_slice(&self.start.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.end.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.time.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.line.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.line_of_file.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.file_number.to_le_bytes());
        bytes[40] = u8::from(self.extracted);
        bytes[41] = self.flags;
        bytes[44..48].copy_from_slice(&self.checksum.to_le_bytes());
        let checksum = crc32c::crc32c_append(salt, &bytes[..CHECKED]);
        bytes[CHECKED..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// The entry in `bytes`, if they are one of the log with this salt.
    pub fn decode(bytes: &[u8; ENTRY_BYTES], salt: u32) -> Option<Self> {
        let sound = crc32c::crc32c_append(salt, &bytes[..CHECKED])
            == u32::from_le_bytes(array(bytes, CHECKED))
            && bytes[40] <= 1
            && bytes[41] <= flag::ALL
            && bytes[42..44] == [0; 2]
            && bytes[48..52] == [0; 4];
        sound.then(|| Self::believed(bytes))
    }

    /// The entry in `bytes`, which were compared with their checksum before.
    pub fn believed(bytes: &[u8; ENTRY_BYTES]) -> Self {
        let u32_at = |at| u32::from_le_bytes(array(bytes, at));
        let u64_at = |at| u64::from_le_bytes(array(bytes, at));
        Self {
            start: u64_at(0),
            end: u64_at(8),
            time: i64::from_le_bytes(array(bytes, 16)),
            line: u64_at(24),
            line_of_file: u32_at(32),
            file_number: u32_at(36),
            extracted: bytes[40] == 1,
            flags: bytes[41],
            checksum: u32_at(44),
        }
    }

    /// Bytes of the line with its newline, at most as many as are `left`.
    pub(super) fn length(&self, left: usize) -> usize {
        usize::try_from(self.end.saturating_sub(self.start)).unwrap_or(left).min(left)
    }
}

fn array<const N: usize>(bytes: &[u8; ENTRY_BYTES], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

/// Where the next line of a file goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The salt of the log.
    pub salt: u32,
    /// The number of the file in the log.
    pub file_number: u32,
    /// Lines of the log before the file.
    pub base: u64,
    /// Lines of the file before this one.
    pub rows: u32,
    /// The bytes of these lines.
    pub end: u64,
}

impl Place {
    /// Whether `entry` is that of the line here; the place is then that of the next one.
    pub fn pass(&mut self, entry: &Entry) -> bool {
        let Some(rows) = self.rows.checked_add(1) else { return false };
        let fits = entry.start == self.end
            && entry.end > entry.start
            && entry.line_of_file == rows
            && self.base.checked_add(u64::from(rows)) == Some(entry.line)
            && entry.file_number == self.file_number;
        if fits {
            self.rows = rows;
            self.end = entry.end;
        }
        fits
    }
}
