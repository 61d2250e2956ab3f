//! Finding a hash among sorted ones that are in a file.
//!
//! Hashes are spread evenly, so that a guess is near, and the next one, from there, nearer; after
//! some guesses halves are sure to end. Where a hash was found is remembered, for those near it.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::Result;

/// Guesses before a search goes by halves.
const GUESSES: u32 = 4;
/// Entries that are compared one by one: those of about a block.
const NEAR: u64 = 128;
/// Bits of a hash: each value of these first bits has a remembered position.
const HINT_BITS: u32 = 12;

/// Searches sorted hashes; threads may share it.
pub(crate) struct HashSearch {
    count: u64,
    hints: Vec<AtomicU64>,
}

impl HashSearch {
    /// A search among `count` hashes.
    pub(crate) fn new(count: u64) -> Self {
        // Numbers of more than 32 bits are not remembered.
        let hints = if (1..1 << u32::BITS).contains(&count) { 1 << HINT_BITS } else { 0 };
        Self { count, hints: (0..hints).map(|_| AtomicU64::default()).collect() }
    }

    /// The number of the first entry whose hash is `hash` or greater; `hash_of` tells that of an
    /// entry.
    ///
    /// # Errors
    /// An error of `hash_of`.
    pub(crate) fn first_not_below(
        &self,
        hash: u64,
        mut hash_of: impl FnMut(u64) -> Result<u64>,
    ) -> Result<u64> {
        let (mut low, mut high) = (0, self.count);
        let count = u128::from(high);
        let share = |hash: u64| (u128::from(hash) * count) >> u64::BITS;
        let mut guess = self.hinted(hash, share);
        let mut guesses = 0;
        while high - low > NEAR {
            let middle = if guesses < GUESSES {
                u64::try_from(guess).unwrap_or(high).clamp(low, high - 1)
            } else {
                low + (high - low) / 2
            };
            guesses += 1;
            let there = hash_of(middle)?;
            if there < hash {
                low = middle + 1;
                // A step beyond, so that the place is soon between two.
                guess = u128::from(middle) + share(hash - there) + u128::from(NEAR / 4);
            } else {
                high = middle;
                guess =
                    u128::from(middle).saturating_sub(share(there - hash) + u128::from(NEAR / 4));
            }
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if hash_of(middle)? < hash {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.remember(hash, low);
        Ok(low)
    }

    /// A guess where a hash is, from where one near it was. Whatever it says, the search ends
    /// at the same place.
    fn hinted(&self, hash: u64, share: impl Fn(u64) -> u128) -> u128 {
        let hint = self.hint(hash).map_or(0, |hint| hint.load(Ordering::Relaxed));
        if hint == 0 {
            return share(hash);
        }
        let (number, rest) = (u128::from(hint >> u32::BITS), hint << u32::BITS >> HINT_BITS);
        let known = hash >> (u64::BITS - HINT_BITS) << (u64::BITS - HINT_BITS) | rest;
        if known < hash {
            number + share(hash - known)
        } else {
            number.saturating_sub(share(known - hash))
        }
    }

    /// Remember where a hash is: the number and the 32 bits behind those that say for whom.
    fn remember(&self, hash: u64, number: u64) {
        if let Some(hint) = self.hint(hash) {
            let rest = hash << HINT_BITS >> u32::BITS;
            hint.store(number << u32::BITS | rest, Ordering::Relaxed);
        }
    }

    fn hint(&self, hash: u64) -> Option<&AtomicU64> {
        self.hints.get(usize::try_from(hash >> (u64::BITS - HINT_BITS)).unwrap_or(usize::MAX))
    }
}
