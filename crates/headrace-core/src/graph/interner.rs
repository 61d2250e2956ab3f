//! String interner: each distinct text gets the next number.

use crate::keys::hash;

const NONE: u32 = u32::MAX;
/// The longest probe. An input that is made to collide fills the table early instead of slowing
/// it down.
const FURTHEST: usize = 1024;

#[derive(Clone, Copy)]
struct Held {
    hash: u64,
    start: u32,
    length: u32,
}

/// An open-addressing hash table from texts to numbers.
#[derive(Default)]
pub(super) struct Interner {
    texts: Vec<u8>,
    held: Vec<Held>,
    /// The number of each text, at or behind the slot of its hash; the length is a power of two.
    slots: Vec<u32>,
}

impl Interner {
    /// Bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.texts.len() + self.held.len() * size_of::<Held>() + self.slots.len() * size_of::<u32>()
    }

    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    /// The number of a text; `None` if the table is full.
    pub(super) fn number(&mut self, text: &[u8]) -> Option<u32> {
        if self.held.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let hash = hash(text);
        let mask = self.slots.len() - 1;
        let first = slot_of(hash);
        for at in (first..first + FURTHEST).map(|at| at & mask) {
            let number = self.slots[at];
            if number == NONE {
                return self.push(hash, text, at);
            }
            let held = self.held[number as usize];
            if held.hash == hash && self.text(held) == text {
                return Some(number);
            }
        }
        None
    }

    /// Texts in the order of their numbers.
    pub(super) fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.held.iter().map(|&held| self.text(held))
    }

    /// The text of a number.
    pub(super) fn get(&self, number: u32) -> Option<&[u8]> {
        self.held.get(number as usize).map(|&held| self.text(held))
    }

    /// Remove all texts; the memory stays allocated.
    pub(super) fn clear(&mut self) {
        self.texts.clear();
        self.held.clear();
        self.slots.fill(NONE);
    }

    fn text(&self, held: Held) -> &[u8] {
        let start = held.start as usize;
        &self.texts[start..start + held.length as usize]
    }

    fn push(&mut self, hash: u64, text: &[u8], at: usize) -> Option<u32> {
        let number = u32::try_from(self.held.len()).ok().filter(|&number| number < NONE)?;
        let start = u32::try_from(self.texts.len()).ok()?;
        let length = u32::try_from(text.len()).ok()?;
        self.slots[at] = number;
        self.held.push(Held { hash, start, length });
        self.texts.extend_from_slice(text);
        Some(number)
    }

    fn grow(&mut self) {
        let count = (self.slots.len() * 2).max(256);
        self.slots = vec![NONE; count];
        for (number, held) in (0..).zip(&self.held) {
            let free = (slot_of(held.hash)..).map(|at| at & (count - 1));
            let mut free = free.skip_while(|&at| self.slots[at] != NONE);
            if let Some(at) = free.next() {
                self.slots[at] = number;
            }
        }
    }
}

fn slot_of(hash: u64) -> usize {
    // The low half, since no more than 2^32 texts have numbers.
    usize::try_from(hash & u64::from(u32::MAX)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_keeps_its_number(texts in prop::collection::vec("[ab]{0,6}", 0..600)) {
            let mut numbers = Interner::default();
            for _ in 0..2 {
                let mut expected = HashMap::new();
                for text in &texts {
                    let next = u32::try_from(expected.len()).unwrap();
                    let known = *expected.entry(text.clone()).or_insert(next);
                    prop_assert_eq!(numbers.number(text.as_bytes()), Some(known));
                    prop_assert_eq!(numbers.get(known), Some(text.as_bytes()));
                }
                prop_assert_eq!(numbers.len(), expected.len());
                prop_assert_eq!(numbers.texts().count(), expected.len());
                numbers.clear();
            }
        }
    }
}
