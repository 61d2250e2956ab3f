//! The best of elements by their keys: those that a stable sort that is cut would leave.
//!
//! Keys are bytes in the order of their values. An element that is not among the best so far costs
//! its key and one comparison.

use std::{cmp::Ordering, collections::BinaryHeap};

use bumpalo::Bump;

use super::keyed::write_key;
use crate::value::{Document, Value, parse_text, write_json};

/// Roughly what an element takes beside its key and its text.
const ELEMENT_BYTES: usize = 64;

/// The best elements so far, as JSON, with the worst of them at hand.
#[derive(Debug)]
pub(super) struct Best {
    keep: usize,
    heap: BinaryHeap<Element>,
    came: u64,
    bytes: usize,
    /// Whether there are rows among the elements, whose texts may have spaces.
    rows: bool,
    /// The key of the element at hand, in memory that is used again.
    key: Vec<u8>,
}

#[derive(Debug)]
struct Element {
    key: Vec<u8>,
    came: u64,
    text: Vec<u8>,
}

impl Best {
    /// One that has seen no elements and keeps `keep` of them.
    pub(super) fn new(keep: u64) -> Self {
        let keep = usize::try_from(keep).unwrap_or(usize::MAX);
        Self { keep, heap: BinaryHeap::new(), came: 0, bytes: 0, rows: false, key: Vec::new() }
    }

    /// Take in an element by its keys; `falling` are those in descending order.
    pub(super) fn consider<'r>(
        &mut self,
        keys: Value<'r>,
        falling: &[bool],
        element: Value<'r>,
        arena: &'r Bump,
    ) {
        self.set_key(keys, falling, arena);
        self.take(|text| write_json(element, text, arena));
    }

    /// Take in a row by its keys. Its line is kept as it stands, so all else of the row need not
    /// be on its tape.
    pub(super) fn consider_row<'r>(
        &mut self,
        keys: Value<'r>,
        falling: &[bool],
        row: &Document<'r>,
        arena: &'r Bump,
    ) {
        self.set_key(keys, falling, arena);
        self.rows = true;
        self.take(|text| text.extend_from_slice(row.line().as_bytes()));
    }

    fn set_key<'r>(&mut self, keys: Value<'r>, falling: &[bool], arena: &'r Bump) {
        self.key.clear();
        write_key(keys, falling, &mut self.key, arena);
    }

    /// Take in the element that has the key at hand.
    fn take(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let came = self.came;
        self.came += 1;
        if self.heap.len() < self.keep {
            let mut text = Vec::new();
            write(&mut text);
            let element = Element { key: self.key.clone(), came, text };
            self.bytes += element.bytes();
            self.heap.push(element);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && self.key < worst.key
        {
            self.bytes -= worst.bytes();
            worst.key.clone_from(&self.key);
            worst.came = came;
            worst.text.clear();
            write(&mut worst.text);
            self.bytes += worst.bytes();
        }
    }

    /// How much memory they take, about.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Append the best elements to `out` as an array, the best first.
    pub(super) fn write_json(self, out: &mut Vec<u8>) {
        out.push(b'[');
        for (at, element) in self.into_sorted().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            out.extend_from_slice(&element.text);
        }
        out.push(b']');
    }

    fn into_sorted(self) -> impl Iterator<Item = Element> {
        let rows = self.rows;
        self.heap.into_sorted_vec().into_iter().map(move |mut element| {
            if rows {
                element.text = compact(&element.text);
            }
            element
        })
    }

    /// The best elements with their keys, for [`Self::merge`].
    pub(super) fn into_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for element in self.into_sorted() {
            write_part(&element.key, &mut bytes);
            write_part(&element.text, &mut bytes);
        }
        bytes
    }

    /// Take in what [`Self::into_bytes`] gave of elements behind these; `None` for other bytes.
    pub(super) fn merge(&mut self, mut bytes: &[u8]) -> Option<()> {
        while !bytes.is_empty() {
            let (key, text) = (part_of(&mut bytes)?, part_of(&mut bytes)?);
            self.key.clear();
            self.key.extend_from_slice(key);
            self.take(|out| out.extend_from_slice(text));
        }
        Some(())
    }
}

impl Element {
    fn bytes(&self) -> usize {
        self.key.len() + self.text.len() + ELEMENT_BYTES
    }
}

impl Ord for Element {
    /// Worse elements are greater; of equal ones, the later.
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key).then(self.came.cmp(&other.came))
    }
}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Element {}

/// A text of JSON as it is written.
fn compact(text: &[u8]) -> Vec<u8> {
    let arena = Bump::new();
    let value = str::from_utf8(text).ok().and_then(|text| parse_text(text, &arena).ok());
    let mut out = Vec::with_capacity(text.len());
    // Only what was taken apart before is in there.
    write_json(value.unwrap_or(Value::Null), &mut out, &arena);
    out
}

/// Append some bytes with their length in front of them.
pub(super) fn write_part(part: &[u8], bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
    bytes.extend_from_slice(part);
}

/// Take what [`write_part`] has written off the front; `None` for other bytes.
pub(super) fn part_of<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (part, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some(part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json(best: Best) -> String {
        let mut out = Vec::new();
        best.write_json(&mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    fn best_of(elements: &[(i64, i64)], keep: u64, falling: bool) -> Best {
        let arena = Bump::new();
        let mut best = Best::new(keep);
        for (key, element) in elements {
            let keys = [Value::Int(*key)];
            best.consider(Value::Array(&keys), &[falling], Value::Int(*element), &arena);
        }
        best
    }

    proptest! {
        #[test]
        fn the_best_are_those_that_a_stable_sort_puts_first(
            keys in prop::collection::vec(-3..3_i64, 0..40),
            keep in 0..12_usize,
            falling in any::<bool>(),
            cut in 0..40_usize,
        ) {
            let elements: Vec<_> = keys.into_iter().zip(0..).collect();
            let mut sorted = elements.clone();
            sorted.sort_by_key(|(key, _)| if falling { -key } else { *key });
            sorted.truncate(keep);
            let expected: Vec<_> = sorted.iter().map(|(_, element)| element.to_string()).collect();
            let expected = format!("[{}]", expected.join(","));
            let few = keep as u64;
            prop_assert_eq!(&json(best_of(&elements, few, falling)), &expected);
            let (first, rest) = elements.split_at(cut.min(elements.len()));
            let mut merged = best_of(first, few, falling);
            prop_assert!(merged.merge(&best_of(rest, few, falling).into_bytes()).is_some());
            prop_assert_eq!(json(merged), expected);
        }
    }
}
