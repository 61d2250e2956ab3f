//! The order in which a traversal visits nodes.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// Switch from the map to the array once one node in this many is in the map.
const SPARSE: usize = 16;
const NONE: u32 = u32::MAX;

/// The state of a node that the traversal has met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visit {
    /// Visited; the position in the order of visits.
    Reached(usize),
    /// Queued for the next level; the position in that queue.
    Found(usize),
}

/// The visits of nodes: a hash map while they are few, then one array entry for every node.
pub(super) struct VisitOrder {
    few: HashMap<u64, u64, BuildHasherDefault<NumberHasher>>,
    all: Vec<u32>,
    /// The number of nodes in the graph; 0 if unknown.
    nodes: usize,
}

impl VisitOrder {
    /// No node is visited. `nodes` is the number of nodes in the graph, if known.
    pub(super) fn new(nodes: Option<u32>) -> Self {
        // 31 bits hold the position, one the variant.
        let nodes = nodes.filter(|&nodes| nodes < NONE / 2).unwrap_or_default();
        Self { few: HashMap::default(), all: Vec::new(), nodes: nodes as usize }
    }

    pub(super) fn get(&self, node: u64) -> Option<Visit> {
        let word = if self.all.is_empty() {
            self.few.get(&node).copied()
        } else {
            let place = self.all.get(usize::try_from(node).ok()?);
            place.filter(|&&word| word != NONE).map(|&word| word.into())
        }?;
        let place = usize::try_from(word / 2).unwrap_or(usize::MAX);
        Some(if word % 2 == 0 { Visit::Reached(place) } else { Visit::Found(place) })
    }

    pub(super) fn set(&mut self, node: u64, place: Visit) {
        let word = match place {
            Visit::Reached(place) => 2 * place as u64,
            Visit::Found(place) => 2 * place as u64 + 1,
        };
        if self.all.is_empty() {
            self.few.insert(node, word);
            if self.few.len() * SPARSE > self.nodes && self.nodes > 0 {
                self.make_room();
            }
        } else if let Ok(node) = usize::try_from(node) {
            // In range: `new` was given the number of nodes.
            self.all[node] = u32::try_from(word).unwrap_or(NONE);
        }
    }

    fn make_room(&mut self) {
        let mut all = vec![NONE; self.nodes];
        #[expect(clippy::iter_over_hash_type, reason = "each writes its own entry")]
        for (&node, &word) in &self.few {
            all[usize::try_from(node).unwrap_or_default()] = u32::try_from(word).unwrap_or(NONE);
        }
        (self.few, self.all) = (HashMap::default(), all);
    }
}

/// Mixes node numbers: they follow the order of the hashes of ids, so they are not spread over the
/// low bits.
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
            let mut places = VisitOrder::new(nodes);
            let mut expected = HashMap::new();
            for (node, reached, place) in set {
                let place = if reached { Visit::Reached(place) } else { Visit::Found(place) };
                places.set(node, place);
                expected.insert(node, place);
                for node in 0..200 {
                    prop_assert_eq!(places.get(node), expected.get(&node).copied());
                }
            }
        }
    }
}
