//! Estimating how many different values there are, in bounded memory.
//!
//! Exact while they are few; then a `HyperLogLog` of 2^14 registers, whose estimates are
//! within about 1 % of the truth. Two estimates of parts merge into that of the whole:
//! the hash is the same everywhere.

use std::collections::HashSet;

use bumpalo::Bump;
use xxhash_rust::xxh3::Xxh3Default;

use crate::value::{Value, same_key_hash};

/// Up to this many different values, the count is exact.
const FEW: usize = 4096;

/// Bits of a hash that choose the register.
const INDEX_BITS: u32 = 14;

const REGISTERS: usize = 1 << INDEX_BITS;

/// The highest number a register can hold: the zeros in front of what is left of a hash, and 1.
const HIGHEST: u32 = 64 - INDEX_BITS + 1;

/// How many different values there were.
#[derive(Clone, Debug)]
pub struct Distinct(State);

#[derive(Clone, Debug)]
enum State {
    /// The hashes themselves: two different values share one of 64 bits hardly ever.
    Few(HashSet<u64>),
    Many(Box<[u8; REGISTERS]>),
}

impl Default for Distinct {
    fn default() -> Self {
        Self(State::Few(HashSet::new()))
    }
}

impl Distinct {
    /// No value was seen.
    pub fn new() -> Self {
        Self::default()
    }

    /// Take note of a value.
    pub fn add<'r>(&mut self, value: Value<'r>, arena: &'r Bump) {
        let mut hasher = Xxh3Default::new();
        same_key_hash(value, &mut hasher, arena);
        self.add_hash(hasher.digest());
    }

    fn add_hash(&mut self, hash: u64) {
        match &mut self.0 {
            State::Few(hashes) => {
                hashes.insert(hash);
                if hashes.len() > FEW {
                    self.0 = State::Many(registers(hashes));
                }
            }
            State::Many(registers) => note(registers, hash),
        }
    }

    /// Take note of all that `other` took note of.
    pub fn merge(&mut self, other: &Self) {
        match (&mut self.0, &other.0) {
            (_, State::Few(hashes)) => hashes.iter().for_each(|hash| self.add_hash(*hash)),
            (State::Few(hashes), State::Many(others)) => {
                let mut merged = registers(hashes);
                take_maxima(&mut merged, others);
                self.0 = State::Many(merged);
            }
            (State::Many(registers), State::Many(others)) => take_maxima(registers, others),
        }
    }

    /// How much memory it takes, about.
    pub fn bytes(&self) -> u64 {
        match &self.0 {
            State::Few(hashes) => (2 * size_of::<u64>() * hashes.len()) as u64,
            State::Many(_) => REGISTERS as u64,
        }
    }

    /// All that was noted, for [`Self::from_bytes`].
    #[allow(clippy::iter_over_hash_type, reason = "sorted afterwards")]
    pub fn to_bytes(&self) -> Vec<u8> {
        match &self.0 {
            State::Few(hashes) => {
                let mut hashes: Vec<_> = hashes.iter().copied().collect();
                hashes.sort_unstable();
                let few = std::iter::once(0);
                few.chain(hashes.into_iter().flat_map(u64::to_le_bytes)).collect()
            }
            State::Many(registers) => [&[1], &registers[..]].concat(),
        }
    }

    /// What was noted by the one that gave these bytes; None if none did.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        if *kind == 1 {
            return Some(Self(State::Many(Box::new(rest.try_into().ok()?))));
        }
        let (hashes, []) = rest.as_chunks() else { return None };
        let hashes: HashSet<_> = hashes.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        (*kind == 0 && hashes.len() <= FEW).then_some(Self(State::Few(hashes)))
    }

    /// How many there were, or about how many.
    pub fn count(&self) -> u64 {
        match &self.0 {
            State::Few(hashes) => hashes.len() as u64,
            State::Many(registers) => estimate(registers),
        }
    }
}

#[allow(clippy::iter_over_hash_type, reason = "maxima do not depend on the order")]
fn registers(hashes: &HashSet<u64>) -> Box<[u8; REGISTERS]> {
    let mut registers = Box::new([0; REGISTERS]);
    for hash in hashes {
        note(&mut registers, *hash);
    }
    registers
}

fn note(registers: &mut [u8; REGISTERS], hash: u64) {
    #[allow(clippy::cast_possible_truncation, reason = "14 bits")]
    let at = (hash >> (64 - INDEX_BITS)) as usize;
    let rank = ((hash << INDEX_BITS).leading_zeros() + 1).min(HIGHEST);
    #[allow(clippy::cast_possible_truncation, reason = "51 at most")]
    let rank = rank as u8;
    if let Some(register) = registers.get_mut(at) {
        *register = rank.max(*register);
    }
}

fn take_maxima(registers: &mut [u8; REGISTERS], others: &[u8; REGISTERS]) {
    for (register, other) in registers.iter_mut().zip(others) {
        *register = (*register).max(*other);
    }
}

/// Ertl's estimator ("New cardinality estimation algorithms for `HyperLogLog` sketches", 2017):
/// one formula without corrections by ranges.
fn estimate(registers: &[u8; REGISTERS]) -> u64 {
    let mut counts = [0_u32; HIGHEST as usize + 1];
    for register in registers {
        if let Some(count) = counts.get_mut(usize::from(*register)) {
            *count += 1;
        }
    }
    #[allow(clippy::cast_precision_loss, reason = "2^14")]
    let all = REGISTERS as f64;
    let [empty, ranks @ .., full] = counts;
    let mut sum = all * tau(1.0 - f64::from(full) / all);
    for count in ranks.iter().rev() {
        sum = 0.5 * (sum + f64::from(*count));
    }
    sum += all * sigma(f64::from(empty) / all);
    let estimate = all * all / (2.0 * std::f64::consts::LN_2 * sum);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let rounded = estimate.round() as u64;
    rounded
}

/// What registers that are empty say: x + x² + 2x⁴ + 4x⁸ + …
fn sigma(mut x: f64) -> f64 {
    if x >= 1.0 {
        return f64::INFINITY;
    }
    let (mut weight, mut sum) = (1.0, x);
    loop {
        x *= x;
        let before = sum;
        sum += x * weight;
        weight *= 2.0;
        if sum <= before {
            return sum;
        }
    }
}

/// What registers that are full say.
fn tau(mut x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return 0.0;
    }
    let (mut weight, mut sum) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = sum;
        weight *= 0.5;
        sum -= (1.0 - x).powi(2) * weight;
        if sum >= before {
            return sum / 3.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(range: std::ops::Range<i64>) -> Distinct {
        let arena = Bump::new();
        let mut distinct = Distinct::new();
        range.for_each(|value| distinct.add(Value::Int(value), &arena));
        distinct
    }

    #[test]
    fn few_are_counted() {
        assert_eq!(Distinct::new().count(), 0);
        assert_eq!(of(0..4096).count(), 4096);
    }

    #[test]
    fn many_are_estimated() {
        for total in [5_000_i64, 20_000, 40_000, 100_000, 1_000_000] {
            let count = of(0..total).count();
            let total = total.unsigned_abs();
            assert!(count.abs_diff(total) * 33 < total, "{count} instead of {total}");
        }
    }

    #[test]
    fn equal_values_count_once() {
        let arena = Bump::new();
        let mut distinct = Distinct::new();
        let texts = ["1", "1", "a"].map(Value::Str);
        let numbers = [Value::Int(1), Value::Float(1.0), Value::Float(-0.0), Value::Int(0)];
        texts.into_iter().chain(numbers).for_each(|value| distinct.add(value, &arena));
        assert_eq!(distinct.count(), 4);
    }

    #[test]
    fn parts_merge_into_the_whole() {
        for total in [100, 6_000, 30_000] {
            for cut in [0, 50, total / 2, total] {
                let mut left = of(0..cut);
                left.merge(&of(cut / 2..total));
                assert_eq!(left.count(), of(0..total).count(), "{cut} of {total}");
            }
        }
    }
}
