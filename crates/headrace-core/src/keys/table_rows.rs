//! The rows of an index, in its order.

use std::ops::Range;

use super::{
    KeyIndex,
    layout::{FINGERPRINT_BITS, Tables},
    runs::Record,
};
use crate::{Result, sealed::unusable};

/// Postings that are read together.
const TOGETHER: u64 = 512;

/// Of version 1, rows have hash and key; of version 2, the bits of the hash that are known, with
/// zeros behind them, and no key.
pub(super) struct TableRows<'a> {
    index: &'a KeyIndex,
    below: u64,
    /// The entry, or the bucket, that comes next.
    next: u64,
    /// Postings of the one before it that were not read.
    numbers: Range<u64>,
    hash: u64,
    key: Vec<u8>,
    held: Vec<(u64, u64)>,
    at: usize,
}

impl<'a> TableRows<'a> {
    /// The rows that begin before `below`.
    pub(super) fn new(index: &'a KeyIndex, below: u64) -> Self {
        let (next, numbers, hash, key, held, at) = (0, 0..0, 0, Vec::new(), Vec::new(), 0);
        Self { index, below, next, numbers, hash, key, held, at }
    }

    /// Make the first row ready; false if there is none.
    pub(super) fn ready(&mut self) -> Result<bool> {
        loop {
            while let Some(&(_, offset)) = self.held.get(self.at) {
                if offset < self.below {
                    return Ok(true);
                }
                self.at += 1;
            }
            if !self.load()? {
                return Ok(false);
            }
        }
    }

    /// The first row, which was made ready.
    pub(super) fn first(&self) -> Record<'_> {
        let (hash, offset) = self.held[self.at];
        Record { hash, offset, key: &self.key }
    }

    /// Skip it.
    pub(super) fn pass(&mut self) {
        self.at += 1;
    }

    fn load(&mut self) -> Result<bool> {
        self.held.clear();
        self.at = 0;
        while self.numbers.is_empty() {
            if !self.begin_next()? {
                return Ok(false);
            }
        }
        let part = self.numbers.start..self.numbers.end.min(self.numbers.start + TOGETHER);
        self.numbers.start = part.end;
        let Self { index, hash, held, .. } = self;
        match index.header.tables {
            Tables::Texts(_) => {
                held.extend(index.postings(part)?.into_iter().map(|offset| (*hash, offset)));
            }
            Tables::Compact(compact) => {
                let shift = u64::BITS - compact.bucket_bits - FINGERPRINT_BITS;
                index.each_posting(compact, part, |fingerprint, offset| {
                    held.push((*hash | fingerprint << shift, offset));
                })?;
            }
        }
        Ok(true)
    }

    /// Go on with the next entry or bucket.
    fn begin_next(&mut self) -> Result<bool> {
        let (index, number) = (self.index, self.next);
        match index.header.tables {
            Tables::Texts(texts) => {
                if number == u64::from(index.header.keys) {
                    return Ok(false);
                }
                let entry = index.entry(texts, number)?;
                self.key = index.key(texts, entry)?;
                self.hash = entry.hash;
                let first = u64::from(entry.first);
                self.numbers = first..first + u64::from(entry.count);
                if self.numbers.end > texts.count {
                    return Err(unusable(texts.postings, "postings behind the last"));
                }
            }
            Tables::Compact(compact) => {
                if number == 1 << compact.bucket_bits {
                    return Ok(false);
                }
                // A shift by all bits is none.
                let hash = number.checked_shl(u64::BITS - compact.bucket_bits);
                self.hash = hash.unwrap_or_default();
                self.numbers = index.bucket(compact, number)?;
            }
        }
        self.next += 1;
        Ok(true)
    }
}
