//! Looking at every byte of an index.

use super::{
    KeyIndex, hash,
    layout::{Compact, Tables, Texts},
};
use crate::{
    Result,
    sealed::{IndexFile, unusable},
};

/// Postings between two questions whether to go on.
const CHECK_EVERY: u64 = 1 << 16;

impl KeyIndex {
    /// Compare all of it with its checksums, and its tables with each other. False if `go_on`
    /// returns false.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] with the first thing that is wrong.
    pub fn verify(&self, go_on: &dyn Fn() -> bool) -> Result<bool> {
        if !self.sealed.verify(go_on)? {
            return Ok(false);
        }
        match self.header.tables {
            Tables::Texts(texts) => self.verify_texts(texts, go_on),
            Tables::Compact(compact) => self.verify_compact(compact, go_on),
        }
    }

    fn verify_texts(&self, texts: Texts, go_on: &dyn Fn() -> bool) -> Result<bool> {
        let keys = u64::from(self.header.keys);
        let (mut before, mut first) = (None, 0);
        for number in 0..keys {
            if number % CHECK_EVERY == 0 && !go_on() {
                return Ok(false);
            }
            let entry = self.entry(texts, number)?;
            let at = texts.entries + number * super::layout::ENTRY_BYTES;
            let key = self.key(texts, entry)?;
            let wrong = |reason: &str| Err(unusable(at, reason));
            if hash(&key) != entry.hash {
                return wrong("a key does not have the hash of its entry");
            }
            let place = (entry.hash, key);
            if before.as_ref().is_some_and(|before| *before >= place) {
                return wrong("entries are not in order");
            }
            before = Some(place);
            let end = first + u64::from(entry.count);
            if u64::from(entry.first) != first || entry.count == 0 || end > texts.count {
                return wrong("an entry has the postings of another");
            }
            if self.header.unique && entry.count > 1 {
                return wrong("a key of a unique index has several rows");
            }
            self.verify_offsets(self.postings(first..end)?, at)?;
            first = end;
        }
        let all = keys == self.meta().keys && first == self.meta().records && first == texts.count;
        if all { Ok(true) } else { Err(unusable(0, "not as many keys as the metadata says")) }
    }

    fn verify_compact(&self, compact: Compact, go_on: &dyn Fn() -> bool) -> Result<bool> {
        let mut begins = 0;
        for bucket in 0..1 << compact.bucket_bits {
            if bucket % (CHECK_EVERY / 64) == 0 && !go_on() {
                return Ok(false);
            }
            let numbers = self.bucket(compact, bucket)?;
            let at = compact.directory + bucket * compact.width;
            let source = self.meta().made_of.bytes();
            let (mut sorted, mut inside, mut before) = (true, true, 0);
            self.each_posting(compact, numbers.clone(), |fingerprint, offset| {
                sorted &= before <= fingerprint;
                inside &= source.contains(&offset);
                before = fingerprint;
            })?;
            if numbers.start != begins || !sorted {
                return Err(unusable(at, "a bucket is not in order"));
            }
            if !inside {
                return Err(unusable(at, "a posting outside of the source"));
            }
            begins = numbers.end;
        }
        let all = begins == compact.count && compact.count == self.meta().records;
        if all { Ok(true) } else { Err(unusable(0, "not as many rows as the metadata says")) }
    }

    fn verify_offsets(&self, offsets: Vec<u64>, at: u64) -> Result<()> {
        let source = self.meta().made_of.bytes();
        let inside = offsets.iter().all(|offset| source.contains(offset));
        let ascending = offsets.windows(2).all(|pair| pair[0] < pair[1]);
        if inside && ascending { Ok(()) } else { Err(unusable(at, "postings are not in order")) }
    }
}
