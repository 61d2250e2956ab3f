//! How many elements have which key, as `count_by` gives it.

use std::collections::HashMap;

use bumpalo::Bump;

use super::{Fault, numbers};
use crate::value::{Kind, Value, key_of, write_int, write_string};

/// Roughly what a key takes beside its bytes, which are there twice.
const KEY_BYTES: u64 = 96;

/// Counts by the keys of an object, in the order in which these came.
#[derive(Default)]
pub(super) struct KeyCounts {
    places: HashMap<Box<str>, usize>,
    counts: Vec<(Box<str>, Kind, u64)>,
    /// The first key that came with two kinds, and the second of these.
    colliding: Option<(Box<str>, Kind)>,
    bytes: u64,
}

impl KeyCounts {
    /// Count an element under the key that it is.
    pub(super) fn add<'r>(&mut self, key: Value<'r>, arena: &'r Bump) {
        self.count(key_of(key, arena), key.kind(), 1);
    }

    fn count(&mut self, key: &str, kind: Kind, further: u64) {
        if let Some(entry) = self.places.get(key).and_then(|at| self.counts.get_mut(*at)) {
            if entry.1 != kind {
                self.colliding.get_or_insert_with(|| (key.into(), kind));
            }
            entry.2 += further;
            return;
        }
        self.places.insert(key.into(), self.counts.len());
        self.counts.push((key.into(), kind, further));
        self.bytes += 2 * key.len() as u64 + KEY_BYTES;
    }

    /// How much memory it takes, about.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The object, as JSON.
    ///
    /// # Errors
    /// Two keys of different kinds would be one.
    pub(super) fn to_json(&self) -> Result<Vec<u8>, Fault> {
        if let Some((key, other)) = &self.colliding
            && let Some((_, kind, _)) = self.places.get(key).and_then(|at| self.counts.get(*at))
        {
            return Err(numbers::colliding(key, *kind, *other));
        }
        let mut text = vec![b'{'];
        for (at, (key, _, count)) in self.counts.iter().enumerate() {
            if at > 0 {
                text.push(b',');
            }
            write_string(key, &mut text);
            text.push(b':');
            write_int(i64::try_from(*count).unwrap_or(i64::MAX), &mut text);
        }
        text.push(b'}');
        Ok(text)
    }

    /// All counts, each with the kind of its key, the length of the key and the key.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let colliding = self.colliding.iter().map(|(key, kind)| (key, *kind, 0));
        let counts = self.counts.iter().map(|(key, kind, count)| (key, *kind, *count));
        for (key, kind, count) in counts.chain(colliding) {
            bytes.push(kind as u8);
            bytes.extend_from_slice(&count.to_le_bytes());
            bytes.extend_from_slice(&(key.len() as u64).to_le_bytes());
            bytes.extend_from_slice(key.as_bytes());
        }
        bytes
    }

    /// Add what [`Self::to_bytes`] gave of elements behind these; `None` for other bytes.
    pub(super) fn merge(&mut self, mut bytes: &[u8]) -> Option<()> {
        while !bytes.is_empty() {
            let (kind, rest) = bytes.split_first()?;
            let kind = *Kind::ALL.get(usize::from(*kind))?;
            let (count, rest) = rest.split_first_chunk()?;
            let (length, rest) = rest.split_first_chunk()?;
            let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
            let (key, rest) = rest.split_at_checked(length)?;
            self.count(std::str::from_utf8(key).ok()?, kind, u64::from_le_bytes(*count));
            bytes = rest;
        }
        Some(())
    }
}
