//! The different values among elements, as an array in the order in which they first came.

use std::{collections::HashSet, str};

use bumpalo::Bump;

use crate::value::{Value, parse_text, write_canonical, write_json};

/// Roughly what a value takes beside its bytes.
const VALUE_BYTES: usize = 48;

#[derive(Default)]
pub(super) struct DistinctValues {
    /// Canonical texts.
    seen: HashSet<Vec<u8>>,
    /// As they were written where they first came, with commas between them.
    texts: Vec<u8>,
    bytes: usize,
    /// The canonical text of the element at hand, in memory that is used again.
    canonical: Vec<u8>,
}

impl DistinctValues {
    pub(super) fn add<'r>(&mut self, value: Value<'r>, arena: &'r Bump) {
        self.canonical.clear();
        write_canonical(value, &mut self.canonical, arena);
        if self.seen.contains(&self.canonical) {
            return;
        }
        self.seen.insert(self.canonical.clone());
        let before = self.texts.len();
        if before > 0 {
            self.texts.push(b',');
        }
        write_json(value, &mut self.texts, arena);
        self.bytes += self.canonical.len() + self.texts.len() - before + VALUE_BYTES;
    }

    /// How much memory they take, about.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Append the values to `out` as an array.
    pub(super) fn write_json(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        out.extend_from_slice(&self.texts);
        out.push(b']');
    }

    /// Add the values of an array that [`Self::write_json`] wrote; `None` for other bytes.
    pub(super) fn merge(&mut self, array: &[u8]) -> Option<()> {
        let arena = Bump::new();
        let values = parse_text(str::from_utf8(array).ok()?, &arena).ok()?;
        for value in values.as_array(&arena)? {
            self.add(*value, &arena);
        }
        Some(())
    }
}
