//! The edges of some nodes, found by looking at all edges one after the other.
//!
//! So they are found where there is no index, or where there are so many nodes that an index would
//! not save much.

use std::collections::{HashMap, HashSet};

use super::{columns::Texts, follow::Direction};

/// Which edges are wanted.
pub struct Sift {
    /// Those of these nodes, which are known by the places they were given in; or of all.
    nodes: Option<HashMap<Vec<u8>, u64>>,
    predicates: Option<HashSet<Vec<u8>>>,
    direction: Direction,
}

/// Edges as they were found, each seen from a node that is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sifted {
    /// The places of the nodes, if some are wanted only.
    pub places: Vec<u64>,
    /// Their ids, if all are.
    pub ids: Texts,
    /// What edges say.
    pub predicates: Texts,
    /// The nodes at the other ends.
    pub nodes: Texts,
    /// Where rows begin.
    pub offsets: Vec<u64>,
    /// Whether edges come from their nodes: 1, or 0.
    pub outgoing: Vec<u8>,
}

impl Sift {
    /// Edges of `nodes`, or of all of them, with any of `predicates`.
    ///
    /// Of a node that is given twice, the last place counts.
    pub fn new(
        nodes: Option<Vec<Vec<u8>>>,
        predicates: Option<Vec<Vec<u8>>>,
        direction: Direction,
    ) -> Self {
        Self {
            nodes: nodes.map(|nodes| nodes.into_iter().zip(0..).collect()),
            predicates: predicates.map(|predicates| predicates.into_iter().collect()),
            direction,
        }
    }

    /// Add an edge as often as it is wanted: from one end, from both, or not at all.
    pub fn look_at(
        &self,
        from: &[u8],
        predicate: &[u8],
        to: &[u8],
        offset: u64,
        into: &mut Sifted,
    ) {
        if self.predicates.as_ref().is_some_and(|wanted| !wanted.contains(predicate)) {
            return;
        }
        let outgoing = self.direction != Direction::In;
        // One from a node to itself is one edge of it.
        let incoming =
            self.direction == Direction::In || (self.direction == Direction::Both && from != to);
        for (wanted, end, node, outgoing) in
            [(outgoing, from, to, true), (incoming, to, from, false)]
        {
            if wanted && self.is_of(end, into) {
                into.predicates.push(predicate);
                into.nodes.push(node);
                into.offsets.push(offset);
                into.outgoing.push(outgoing.into());
            }
        }
    }

    /// Whether a node is wanted; if so, it is added.
    fn is_of(&self, end: &[u8], into: &mut Sifted) -> bool {
        match &self.nodes {
            None => into.ids.push(end),
            Some(nodes) => match nodes.get(end) {
                Some(&place) => into.places.push(place),
                None => return false,
            },
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDGES: [[&[u8]; 3]; 4] =
        [[b"a", b"p", b"b"], [b"b", b"q", b"a"], [b"c", b"p", b"c"], [b"a", b"q", b"c"]];

    fn found(sift: &Sift) -> Sifted {
        let mut found = Sifted::default();
        for ([from, predicate, to], offset) in EDGES.into_iter().zip(0..) {
            sift.look_at(from, predicate, to, offset, &mut found);
        }
        found
    }

    fn texts(texts: &[u8]) -> Vec<Vec<u8>> {
        texts.iter().map(|&letter| vec![letter]).collect()
    }

    #[test]
    fn edges_are_seen_from_the_nodes_that_are_wanted() {
        for (direction, places, offsets, outgoing, nodes) in [
            (Direction::Out, vec![1, 0, 1], vec![0, 2, 3], vec![1, 1, 1], &b"bcc"[..]),
            (Direction::In, vec![1, 0, 0], vec![1, 2, 3], vec![0, 0, 0], b"bca"),
            (
                Direction::Both,
                vec![1, 1, 0, 1, 0],
                vec![0, 1, 2, 3, 3],
                vec![1, 0, 1, 1, 0],
                b"bbcca",
            ),
        ] {
            let found = found(&Sift::new(Some(texts(b"ca")), None, direction));
            assert_eq!((found.places, found.offsets), (places, offsets), "{direction:?}");
            assert_eq!((found.outgoing, &found.nodes.bytes[..]), (outgoing, nodes));
            assert_eq!(found.ids, Texts::default());
        }
    }

    #[test]
    fn edges_of_all_nodes_have_their_ids() {
        let found = found(&Sift::new(None, Some(texts(b"q")), Direction::Both));
        assert_eq!((&found.ids.bytes[..], &found.nodes.bytes[..]), (&b"baac"[..], &b"abca"[..]));
        assert_eq!((&found.predicates.bytes[..], found.offsets), (&b"qqqq"[..], vec![1, 1, 3, 3]));
        assert!(found.places.is_empty());
    }
}
