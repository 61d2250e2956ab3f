//! Where nodes are in the order in which they are reached.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// Of how many nodes one must have a place for them all to have room.
const SPARSE: usize = 16;
const NONE: u32 = u32::MAX;

/// The place of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It was reached as the so-many-th.
    Reached(usize),
    /// It is going to be reached, and is the so-many-th of those.
    Found(usize),
}

/// The places of nodes that have one: few by their numbers, or room for all of them.
pub(super) struct Places {
    few: HashMap<u64, u64, BuildHasherDefault<NumberHasher>>,
    all: Vec<u32>,
    /// How many nodes there are, if that is known.
    nodes: usize,
}

impl Places {
    /// None yet; of so many nodes, if that is known.
    pub(super) fn new(nodes: Option<u32>) -> Self {
        // A number of 32 bits must have room for a place and which one it is.
        let nodes = nodes.filter(|&nodes| nodes < NONE / 2).unwrap_or_default();
        Self { few: HashMap::default(), all: Vec::new(), nodes: nodes as usize }
    }

    pub(super) fn get(&self, node: u64) -> Option<Place> {
        let word = if self.all.is_empty() {
            self.few.get(&node).copied()
        } else {
            let place = self.all.get(usize::try_from(node).ok()?);
            place.filter(|&&word| word != NONE).map(|&word| word.into())
        }?;
        let place = usize::try_from(word / 2).unwrap_or(usize::MAX);
        Some(if word % 2 == 0 { Place::Reached(place) } else { Place::Found(place) })
    }

    pub(super) fn set(&mut self, node: u64, place: Place) {
        let word = match place {
            Place::Reached(place) => 2 * place as u64,
            Place::Found(place) => 2 * place as u64 + 1,
        };
        if self.all.is_empty() {
            self.few.insert(node, word);
            if self.few.len() * SPARSE > self.nodes && self.nodes > 0 {
                self.make_room();
            }
        } else if let Ok(node) = usize::try_from(node) {
            // In range: there are as many nodes as were told.
            self.all[node] = u32::try_from(word).unwrap_or(NONE);
        }
    }

    fn make_room(&mut self) {
        let mut all = vec![NONE; self.nodes];
        #[expect(clippy::iter_over_hash_type, reason = "each has a place of its own")]
        for (&node, &word) in &self.few {
            all[usize::try_from(node).unwrap_or_default()] = u32::try_from(word).unwrap_or(NONE);
        }
        (self.few, self.all) = (HashMap::default(), all);
    }
}

/// Spreads numbers, which are those of nodes and so in the order of hashes already.
#[derive(Default)]
pub(super) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(self.0 ^ u64::from(byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        let spread = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = spread ^ (spread >> 32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn places_are_those_of_a_map(
            nodes in prop::option::of(200_u32..4000),
            set in prop::collection::vec((0_u64..200, any::<bool>(), 0_usize..1000), 0..300),
        ) {
            let mut places = Places::new(nodes);
            let mut expected = HashMap::new();
            for (node, reached, place) in set {
                let place = if reached { Place::Reached(place) } else { Place::Found(place) };
                places.set(node, place);
                expected.insert(node, place);
                for node in 0..200 {
                    prop_assert_eq!(places.get(node), expected.get(&node).copied());
                }
            }
        }
    }
}
