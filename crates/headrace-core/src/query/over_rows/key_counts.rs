//! How many elements have which key, as `count_by` gives it.

use std::collections::HashMap;

use bumpalo::Bump;

use crate::value::{Value, key_of, write_int, write_string};

/// Roughly what a key takes beside its bytes, which are there twice.
const KEY_BYTES: u64 = 96;

/// Counts by the keys of an object, in the order in which these came.
#[derive(Default)]
pub(super) struct KeyCounts {
    places: HashMap<Box<str>, usize>,
    counts: Vec<(Box<str>, u64)>,
    bytes: u64,
}

impl KeyCounts {
    /// Count an element under the key that it is.
    pub(super) fn add<'r>(&mut self, key: Value<'r>, arena: &'r Bump) {
        self.count(key_of(key, arena), 1);
    }

    fn count(&mut self, key: &str, further: u64) {
        if let Some((_, count)) = self.places.get(key).and_then(|at| self.counts.get_mut(*at)) {
            *count += further;
            return;
        }
        self.places.insert(key.into(), self.counts.len());
        self.counts.push((key.into(), further));
        self.bytes += 2 * key.len() as u64 + KEY_BYTES;
    }

    /// How much memory it takes, about.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The object, as JSON.
    pub(super) fn to_json(&self) -> Vec<u8> {
        let mut text = vec![b'{'];
        for (at, (key, count)) in self.counts.iter().enumerate() {
            if at > 0 {
                text.push(b',');
            }
            write_string(key, &mut text);
            text.push(b':');
            write_int(i64::try_from(*count).unwrap_or(i64::MAX), &mut text);
        }
        text.push(b'}');
        text
    }

    /// All counts, each with the length of its key and the key.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (key, count) in &self.counts {
            bytes.extend_from_slice(&count.to_le_bytes());
            bytes.extend_from_slice(&(key.len() as u64).to_le_bytes());
            bytes.extend_from_slice(key.as_bytes());
        }
        bytes
    }

    /// Add what [`Self::to_bytes`] gave of elements behind these; `None` for other bytes.
    pub(super) fn merge(&mut self, mut bytes: &[u8]) -> Option<()> {
        while !bytes.is_empty() {
            let (count, rest) = bytes.split_first_chunk()?;
            let (length, rest) = rest.split_first_chunk()?;
            let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
            let (key, rest) = rest.split_at_checked(length)?;
            self.count(std::str::from_utf8(key).ok()?, u64::from_le_bytes(*count));
            bytes = rest;
        }
        Some(())
    }
}
