//! The main part of a key index; what follows it is the [`trailer`](crate::sealed::trailer).
//!
//! Version 1, little endian, with entries that are not aligned:
//!
//! | byte | type | content |
//! |---|---|---|
//! | 0 | 4 bytes | `JNX\x01` |
//! | 4 | u32 | version, 1 |
//! | 8 | u32 | flags: bit 0 unique, bit 1 composite, bit 8 has a trailer |
//! | 12 | u32 | keys |
//! | 16 | u64 | offset of the key table |
//! | 24 | u64 | size of the key table: entries and pool |
//! | 32 | u64 | offset of the offset table |
//! | 40 | u64 | size of the offset table |
//! | 48 | u64 | size of the source on disk when it was read |
//! | 56 | u64 | its time of change, in nanoseconds |
//! | key table | 20 each | entries, by hash, then by key; behind them the pool: the texts of the keys |
//! | offset table | u64 each | postings: where rows begin, after decompression; those of a key ascend |
//!
//! An entry:
//!
//! | byte | type | content |
//! |---|---|---|
//! | 0 | u64 | XXH3 of the key, 64 bits, seed 0 |
//! | 8 | u32 | where the key begins in the pool |
//! | 12 | u16 | bytes of the key |
//! | 14 | u32 | number of its first posting |
//! | 18 | u16 | how many postings it has |
//!
//! Version 2, for keys and postings that version 1 has no room for, or where it shall be small:
//!
//! | byte | type | content |
//! |---|---|---|
//! | 0 | 4 bytes | `JNX\x02` |
//! | 4 | u32 | version, 2 |
//! | 8 | u32 | flags, as in version 1 |
//! | 12 | u32 | keys, at most 4,294,967,295; the trailer says exactly |
//! | 16 | u64 | offset of the directory |
//! | 24 | u64 | offset of the postings |
//! | 32 | u64 | how many postings there are |
//! | 40 | u8 | b: bits of a bucket's number |
//! | 41 | u8 | bytes of a number in the directory: 4, or 8 |
//! | 42 | u8 | bits of a fingerprint: 16 |
//! | 43 | u8 | o: bits of an offset |
//! | 44 | u32 | 0 |
//! | 48 | u64 | as in version 1 |
//! | 56 | u64 | as in version 1 |
//! | directory | 2^b + 1 numbers | that of the first posting of each bucket, and how many there are |
//! | postings | 16 + o bits each | fingerprint in the low bits, offset above it; no gaps, the last byte filled with zeros, then 16 bytes of zeros |
//!
//! A posting stands in the bucket that the first b bits of its key's hash say; the next 16 bits
//! are its fingerprint. Within a bucket they are in the order of fingerprint and offset.
//! Flags from bit 16 on change the meaning: who does not know one leaves the file alone.

use crate::{
    Result,
    sealed::{HEADER_BYTES, aligned, chunk, unusable},
};

/// Bytes of an entry of version 1.
pub(crate) const ENTRY_BYTES: u64 = ENTRY as u64;
/// Bytes of a posting of version 1.
pub(crate) const POSTING_BYTES: u64 = 8;
pub(super) const ENTRY: usize = 20;
/// Bits of a fingerprint of version 2.
pub(crate) const FINGERPRINT_BITS: u32 = 16;
/// Zeros behind the postings of version 2, so that each can be read as 16 bytes.
pub(crate) const PADDING: usize = 16;

const UNIQUE: u32 = 1;
const COMPOSITE: u32 = 1 << 1;
const TRAILER: u32 = 1 << 8;
const UNKNOWN: u32 = 0xFFFF_0000;
/// Postings of a bucket, about.
const BUCKET: u64 = 64;

/// The first 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Whether no key has two rows.
    pub unique: bool,
    /// Whether keys have several parts.
    pub composite: bool,
    /// How many keys there are, as far as 32 bits can say.
    pub keys: u32,
    /// Size of the source on disk.
    pub source_size: u64,
    /// Its time of change.
    pub source_mtime: u64,
    /// Where the tables are.
    pub tables: Tables,
}

/// Where the tables are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tables {
    /// Of version 1.
    Texts(Texts),
    /// Of version 2.
    Compact(Compact),
}

/// Of version 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Texts {
    /// Offset of the entries.
    pub entries: u64,
    /// Bytes of entries and pool.
    pub key_table: u64,
    /// Offset of the postings.
    pub postings: u64,
    /// How many there are.
    pub count: u64,
}

/// Of version 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compact {
    /// Offset of the directory.
    pub directory: u64,
    /// Offset of the postings.
    pub postings: u64,
    /// How many there are.
    pub count: u64,
    /// Bits of a bucket's number.
    pub bucket_bits: u32,
    /// Bytes of a number in the directory.
    pub width: u64,
    /// Bits of an offset.
    pub offset_bits: u32,
}

impl Texts {
    /// The tables for these numbers of keys, bytes of keys, and postings.
    pub(crate) fn of(keys: u64, pool: u64, count: u64) -> Self {
        let entries = HEADER_BYTES as u64;
        let key_table = keys * ENTRY_BYTES + pool;
        Self { entries, key_table, postings: aligned(entries + key_table), count }
    }

    /// The byte behind the tables.
    pub(crate) fn end(self) -> u64 {
        self.postings + self.count * POSTING_BYTES
    }
}

impl Compact {
    /// The tables for `count` postings below `limit`.
    pub(crate) fn of(count: u64, limit: u64) -> Self {
        let buckets = count.div_ceil(BUCKET).next_power_of_two();
        Self::with_buckets(buckets.trailing_zeros(), count, limit)
    }

    /// The same with 2^`bucket_bits` buckets.
    pub(crate) fn with_buckets(bucket_bits: u32, count: u64, limit: u64) -> Self {
        let width = if u32::try_from(count).is_ok() { 4 } else { 8 };
        let directory = HEADER_BYTES as u64;
        Self {
            directory,
            postings: aligned(directory + ((1 << bucket_bits) + 1) * width),
            count,
            bucket_bits,
            width,
            offset_bits: (u64::BITS - limit.leading_zeros()).max(1),
        }
    }

    /// Bits of a posting.
    pub(crate) fn posting_bits(self) -> u64 {
        u64::from(FINGERPRINT_BITS + self.offset_bits)
    }

    /// Where they end; `None` if that is nowhere.
    pub(crate) fn end(self) -> Option<u64> {
        let bits = self.count.checked_mul(self.posting_bits())?;
        self.postings.checked_add(bits.div_ceil(8))?.checked_add(PADDING as u64)
    }

    /// The bucket of a hash.
    pub(crate) fn bucket(self, hash: u64) -> u64 {
        // A shift by all bits is none.
        hash.checked_shr(u64::BITS - self.bucket_bits).unwrap_or_default()
    }

    /// The fingerprint of a hash.
    pub(crate) fn fingerprint(self, hash: u64) -> u64 {
        hash << self.bucket_bits >> (u64::BITS - FINGERPRINT_BITS)
    }
}

impl Header {
    /// The version of the format.
    pub(crate) fn version(&self) -> u32 {
        match self.tables {
            Tables::Texts(_) => 1,
            Tables::Compact(_) => 2,
        }
    }

    /// Encode it.
    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let version = self.version();
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        let flags = flag(self.unique, UNIQUE) | flag(self.composite, COMPOSITE) | TRAILER;
        bytes[..3].copy_from_slice(b"JNX");
        bytes[3] = version.to_le_bytes()[0];
        bytes[4..8].copy_from_slice(&version.to_le_bytes());
        bytes[8..12].copy_from_slice(&flags.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.keys.to_le_bytes());
        let words = match self.tables {
            Tables::Texts(texts) => {
                let count = texts.count * POSTING_BYTES;
                [texts.entries, texts.key_table, texts.postings, count]
            }
            Tables::Compact(compact) => {
                let widths = u64::from(compact.bucket_bits)
                    | compact.width << 8
                    | u64::from(FINGERPRINT_BITS) << 16
                    | u64::from(compact.offset_bits) << 24;
                [compact.directory, compact.postings, compact.count, widths]
            }
        };
        let all = words.into_iter().chain([self.source_size, self.source_mtime]);
        for (place, word) in bytes[16..].chunks_exact_mut(8).zip(all) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Read it; all tables must end before `end`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where it is none, or contradicts itself.
    pub(crate) fn decode(bytes: &[u8; HEADER_BYTES], end: u64) -> Result<Self> {
        let short = |at: usize| u32::from_le_bytes(chunk(bytes, at));
        let long = |at: usize| u64::from_le_bytes(chunk(bytes, at));
        let (version, flags, keys) = (short(4), short(8), short(12));
        if &bytes[..3] != b"JNX" || u32::from(bytes[3]) != version {
            return Err(unusable(0, "not a key index"));
        }
        if flags & UNKNOWN != 0 || flags & TRAILER == 0 {
            return Err(unusable(8, "flags that we do not know"));
        }
        let words = [long(16), long(24), long(32), long(40)];
        let tables = match version {
            1 => texts(words, u64::from(keys), end).map(Tables::Texts),
            2 => compact(words, end).map(Tables::Compact),
            _ => return Err(unusable(4, format!("version {version}: not one we read"))),
        };
        Ok(Self {
            unique: flags & UNIQUE != 0,
            composite: flags & COMPOSITE != 0,
            keys,
            source_size: long(48),
            source_mtime: long(56),
            tables: tables.ok_or_else(|| unusable(16, "the header contradicts itself"))?,
        })
    }
}

fn texts([entries, key_table, postings, size]: [u64; 4], keys: u64, end: u64) -> Option<Texts> {
    let pool_begins = keys * ENTRY_BYTES;
    let inside = entries.checked_add(key_table)? <= end && postings.checked_add(size)? <= end;
    let sound = inside && key_table >= pool_begins && size % POSTING_BYTES == 0;
    sound.then_some(Texts { entries, key_table, postings, count: size / POSTING_BYTES })
}

fn compact([directory, postings, count, widths]: [u64; 4], end: u64) -> Option<Compact> {
    let [bucket_bits, width, fingerprint, offset_bits, rest @ ..] = widths.to_le_bytes();
    let known = u32::from(fingerprint) == FINGERPRINT_BITS && rest == [0; 4];
    let possible = bucket_bits <= 40 && [4, 8].contains(&width) && (1..=64).contains(&offset_bits);
    if !known || !possible {
        return None;
    }
    let compact = Compact {
        directory,
        postings,
        count,
        bucket_bits: u32::from(bucket_bits),
        width: u64::from(width),
        offset_bits: u32::from(offset_bits),
    };
    let numbers = (1_u64 << bucket_bits) + 1;
    let inside = directory.checked_add(numbers * u64::from(width))? <= end
        && compact.end().is_some_and(|last| last <= end);
    inside.then_some(compact)
}

/// An entry of version 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The hash of the key.
    pub hash: u64,
    /// Where it begins in the pool.
    pub key_offset: u32,
    /// The length of the key in bytes.
    pub key_length: u16,
    /// The number of its first posting.
    pub first: u32,
    /// How many it has.
    pub count: u16,
}

impl Entry {
    /// Encode it.
    pub(crate) fn encode(self) -> [u8; ENTRY] {
        let mut bytes = [0; ENTRY];
        bytes[..8].copy_from_slice(&self.hash.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.key_offset.to_le_bytes());
        bytes[12..14].copy_from_slice(&self.key_length.to_le_bytes());
        bytes[14..18].copy_from_slice(&self.first.to_le_bytes());
        bytes[18..].copy_from_slice(&self.count.to_le_bytes());
        bytes
    }

    /// Decode one.
    pub(crate) fn decode(bytes: &[u8; ENTRY]) -> Self {
        Self {
            hash: u64::from_le_bytes(chunk(bytes, 0)),
            key_offset: u32::from_le_bytes(chunk(bytes, 8)),
            key_length: u16::from_le_bytes(chunk(bytes, 12)),
            first: u32::from_le_bytes(chunk(bytes, 14)),
            count: u16::from_le_bytes(chunk(bytes, 18)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let texts = Texts::of(3, 31, 5);
        let compact = Compact::of(5_000_000, 1_000_000_000);
        assert_eq!((compact.bucket_bits, compact.offset_bits, compact.width), (17, 30, 4));
        for (tables, end) in [
            (Tables::Texts(texts), texts.end()),
            (Tables::Compact(compact), compact.end().unwrap()),
        ] {
            let header = Header {
                unique: true,
                composite: false,
                keys: 3,
                source_size: 99,
                source_mtime: 1_700_000_000_000_000_000,
                tables,
            };
            assert_eq!(Header::decode(&header.encode(), end).unwrap(), header);
            assert!(Header::decode(&header.encode(), end - 1).is_err());
        }
    }

    #[test]
    fn a_hash_falls_into_one_bucket() {
        let one = Compact::of(10, 100);
        assert_eq!((one.bucket_bits, one.bucket(u64::MAX)), (0, 0));
        assert_eq!(one.fingerprint(0xABCD << 48), 0xABCD);
        let many = Compact::of(64 * 16, 100);
        assert_eq!((many.bucket_bits, many.bucket(0xABCD << 48)), (4, 10));
        assert_eq!(many.fingerprint(0xABCD << 48), 0xBCD0);
    }
}
