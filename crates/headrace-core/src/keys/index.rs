//! A key index that was opened.

use std::ops::Range;

use super::{
    Meta, Request,
    layout::{
        Compact, ENTRY, ENTRY_BYTES, Entry, FINGERPRINT_BITS, Header, POSTING_BYTES, Tables, Texts,
    },
};
use crate::{
    Result,
    input::DataFile,
    sealed::{
        HEADER_BYTES, IndexFile, Sealed, SourceMark, chunk, contradiction, hash_search::HashSearch,
        unusable,
    },
};

/// Limits on the rows that are compared for one key. An input can be made whose hashes collide; past
/// these limits the file is scanned instead.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// Keys with one hash that are compared.
    pub(super) equal: u64,
    /// Rows with other keys that are read.
    pub(super) in_vain: u32,
}

const BOUNDS: Bounds = Bounds { equal: 1024, in_vain: 4096 };
/// Finds the postings of keys. Only the blocks that are touched are read, and each is checked;
/// any number of threads may use it concurrently.
pub struct KeyIndex {
    pub(super) sealed: Sealed<Meta>,
    pub(super) header: Header,
    pub(super) bounds: Bounds,
    search: HashSearch,
}

impl IndexFile for KeyIndex {
    type Meta = Meta;

    const NAME: &'static str = "key index";

    fn sealed(&self) -> &Sealed<Meta> {
        &self.sealed
    }

    fn version(&self) -> u32 {
        self.header.version()
    }

    fn header_with(&self, source: &SourceMark) -> [u8; HEADER_BYTES] {
        let (source_size, source_mtime) = source.in_header();
        Header { source_size, source_mtime, ..self.header }.encode()
    }

    fn is_like(&self, other: &Self) -> bool {
        let (made, of) = (self.meta(), other.meta());
        (&made.key, &made.mode) == (&of.key, &of.mode)
    }

    fn verify(&self, go_on: &dyn Fn() -> bool) -> Result<bool> {
        KeyIndex::verify(self, go_on)
    }
}

impl KeyIndex {
    /// Check both ends of a file.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where it is not a whole index of a version we know.
    pub fn open(file: DataFile) -> Result<Self> {
        let sealed = Sealed::<Meta>::open(file)?;
        let (header, meta) = (Header::decode(&sealed.header, sealed.end)?, &sealed.meta);
        let sound = meta.hash == "xxh3_64"
            && !meta.key.is_empty()
            && header.composite == (meta.key.len() > 1)
            && header.unique == (meta.mode == "unique");
        if !sound {
            return Err(contradiction());
        }
        let texts = matches!(header.tables, Tables::Texts(_));
        let search = HashSearch::new(if texts { u64::from(header.keys) } else { 0 });
        Ok(Self { sealed, header, bounds: BOUNDS, search })
    }

    /// How many postings there are.
    pub(super) fn count(&self) -> u64 {
        match self.header.tables {
            Tables::Texts(texts) => texts.count,
            Tables::Compact(compact) => compact.count,
        }
    }

    /// The numbers of the postings that may be those of a key; in those of other keys, the rows
    /// tell. None of it is missing.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where the file is damaged, or has too many keys with one hash.
    pub fn find(&self, request: &Request) -> Result<Range<u64>> {
        match self.header.tables {
            Tables::Texts(texts) => self.find_text(texts, request),
            Tables::Compact(compact) => self.find_fingerprint(compact, request.hash),
        }
    }

    /// Where the rows of some postings begin.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where the file is damaged.
    pub fn postings(&self, numbers: Range<u64>) -> Result<Vec<u64>> {
        let count = usize::try_from(numbers.end - numbers.start).unwrap_or(usize::MAX);
        match self.header.tables {
            Tables::Texts(texts) => {
                let mut bytes = vec![0; count.saturating_mul(size_of::<u64>())];
                self.sealed
                    .file
                    .read(&mut bytes, texts.postings + numbers.start * POSTING_BYTES)?;
                let offsets = bytes.chunks_exact(size_of::<u64>());
                Ok(offsets.map(|offset| u64::from_le_bytes(chunk(offset, 0))).collect())
            }
            Tables::Compact(compact) => {
                let mut offsets = Vec::with_capacity(count);
                self.each_posting(compact, numbers, |_fingerprint, offset| offsets.push(offset))?;
                Ok(offsets)
            }
        }
    }

    /// Whether a row whose key has the hash `row` can be behind a posting that was found for
    /// the hash `wanted`; if not, the index is not that of the source.
    pub fn agrees(&self, wanted: u64, row: u64) -> bool {
        self.known_of(wanted) == self.known_of(row)
    }

    /// What of a hash the index has.
    pub(super) fn known_of(&self, hash: u64) -> (u64, u64) {
        match self.header.tables {
            Tables::Texts(_) => (hash, 0),
            Tables::Compact(compact) => (compact.bucket(hash), compact.fingerprint(hash)),
        }
    }

    // Version 1

    pub(super) fn entry(&self, texts: Texts, number: u64) -> Result<Entry> {
        let mut bytes = [0; ENTRY];
        self.sealed.file.read(&mut bytes, texts.entries + number * ENTRY_BYTES)?;
        Ok(Entry::decode(&bytes))
    }

    /// The text of the key of an entry.
    pub(super) fn key(&self, texts: Texts, entry: Entry) -> Result<Vec<u8>> {
        let pool = u64::from(self.header.keys) * ENTRY_BYTES;
        let at = pool + u64::from(entry.key_offset);
        if at + u64::from(entry.key_length) > texts.key_table {
            return Err(unusable(texts.entries + at, "a key behind the pool"));
        }
        let mut key = vec![0; usize::from(entry.key_length)];
        self.sealed.file.read(&mut key, texts.entries + at)?;
        Ok(key)
    }

    fn find_text(&self, texts: Texts, request: &Request) -> Result<Range<u64>> {
        let keys = u64::from(self.header.keys);
        let hash_of = |number| Ok(self.entry(texts, number)?.hash);
        let mut number = self.search.first_not_below(request.hash, hash_of)?;
        let mut found: Option<Entry> = None;
        let first = number;
        while number < keys {
            let entry = self.entry(texts, number)?;
            if entry.hash != request.hash {
                break;
            }
            if number - first == self.bounds.equal {
                return Err(unusable(texts.entries, "too many keys with one hash"));
            }
            number += 1;
            // Of a hash that one key has, the rows tell whether it is the one.
            let next_differs = number == keys || self.entry(texts, number)?.hash != request.hash;
            let alone = number - first == 1 && next_differs;
            if alone || self.key(texts, entry)? == request.key {
                found = Some(entry);
                break;
            }
        }
        let Some(entry) = found else { return Ok(0..0) };
        let numbers = u64::from(entry.first)..u64::from(entry.first) + u64::from(entry.count);
        if numbers.end > texts.count {
            return Err(unusable(texts.postings, "postings behind the last"));
        }
        Ok(numbers)
    }

    // Version 2

    /// The numbers of the postings of a bucket.
    pub(super) fn bucket(&self, compact: Compact, bucket: u64) -> Result<Range<u64>> {
        let mut bytes = [0; 16];
        let width = usize::try_from(compact.width).unwrap_or_default();
        let at = compact.directory + bucket * compact.width;
        self.sealed.file.read(&mut bytes[..2 * width], at)?;
        let number = |at: usize| {
            let mut word = [0; 8];
            word[..width].copy_from_slice(&bytes[at..at + width]);
            u64::from_le_bytes(word)
        };
        let numbers = number(0)..number(width);
        if numbers.start > numbers.end || numbers.end > compact.count {
            return Err(unusable(at, "a bucket behind the last posting"));
        }
        Ok(numbers)
    }

    fn find_fingerprint(&self, compact: Compact, hash: u64) -> Result<Range<u64>> {
        let bucket = self.bucket(compact, compact.bucket(hash))?;
        let wanted = compact.fingerprint(hash);
        let start = self.partition(compact, bucket.clone(), |there| there < wanted)?;
        let end = self.partition(compact, start..bucket.end, |there| there == wanted)?;
        Ok(start..end)
    }

    /// The number of the first posting of a bucket whose fingerprint is not `before`.
    fn partition(
        &self,
        compact: Compact,
        bucket: Range<u64>,
        before: impl Fn(u64) -> bool,
    ) -> Result<u64> {
        let (mut low, mut high) = (bucket.start, bucket.end);
        while low < high {
            let middle = low + (high - low) / 2;
            let mut fingerprint = 0;
            self.each_posting(compact, middle..middle + 1, |found, _offset| fingerprint = found)?;
            if before(fingerprint) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// Show fingerprint and offset of each posting.
    pub(super) fn each_posting(
        &self,
        compact: Compact,
        numbers: Range<u64>,
        mut visit: impl FnMut(u64, u64),
    ) -> Result<()> {
        let bits = compact.posting_bits();
        for number in numbers {
            let mut bytes = [0; 16];
            // In range: `Header::decode` has seen that all postings are in the file.
            self.sealed.file.read(&mut bytes, compact.postings + number * bits / 8)?;
            let word = u128::from_le_bytes(bytes) >> (number * bits % 8);
            let [fingerprint, offset] = [word, word >> FINGERPRINT_BITS]
                .map(|part| u64::try_from(part & u128::from(u64::MAX)).unwrap_or_default());
            let mask = |bits: u32| u64::MAX >> (u64::BITS - bits);
            visit(fingerprint & mask(FINGERPRINT_BITS), offset & mask(compact.offset_bits));
        }
        Ok(())
    }
}
