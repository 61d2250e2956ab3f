//! Edge scan: find the edges of some nodes by reading every edge.
//!
//! Used without an index, or when one scan costs less than the index lookups of all the nodes.

use std::collections::{HashMap, HashSet};

use super::{columns::Texts, follow::Direction};

/// The filter of a scan.
///
/// ```
/// # use headrace_core::graph::{Direction, EdgeScan, ScannedEdges};
/// let scan = EdgeScan::new(Some(vec![b"ann".to_vec()]), None, Direction::Both);
/// let mut found = ScannedEdges::default();
/// scan.take(b"ann", b"knows", b"bob", 0, &mut found);
/// scan.take(b"eve", b"knows", b"bob", 40, &mut found);
/// scan.take(b"bob", b"pays", b"ann", 80, &mut found);
/// assert_eq!((found.offsets, found.outgoing), (vec![0, 80], vec![1, 0]));
/// ```
pub struct EdgeScan {
    /// Wanted nodes and their positions in the request; `None` for all nodes.
    nodes: Option<HashMap<Vec<u8>, u64>>,
    predicates: Option<HashSet<Vec<u8>>>,
    direction: Direction,
}

/// Matching edges, each from the side of a wanted node, as columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScannedEdges {
    /// Positions of the nodes in the request; empty if all nodes are wanted.
    pub places: Vec<u64>,
    /// Ids of the nodes; empty if only some nodes are wanted.
    pub ids: Texts,
    /// The predicates.
    pub predicates: Texts,
    /// Ids of the nodes at the other ends.
    pub nodes: Texts,
    /// Bytes at which the rows begin.
    pub offsets: Vec<u64>,
    /// 1 if the edge leaves the node, 0 if it enters it.
    pub outgoing: Vec<u8>,
}

impl EdgeScan {
    /// Match edges of `nodes` (default: all) with any of `predicates` (default: all).
    ///
    /// If a node is given twice, its last position counts.
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

    /// Append the edge to `into` once for each end that matches.
    pub fn take(
        &self,
        from: &[u8],
        predicate: &[u8],
        to: &[u8],
        offset: u64,
        into: &mut ScannedEdges,
    ) {
        if self.predicates.as_ref().is_some_and(|wanted| !wanted.contains(predicate)) {
            return;
        }
        let outgoing = self.direction != Direction::In;
        // An edge from a node to itself counts once.
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

    /// Append the node if it is wanted; false if it is not.
    fn is_of(&self, end: &[u8], into: &mut ScannedEdges) -> bool {
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

    fn found(scan: &EdgeScan) -> ScannedEdges {
        let mut found = ScannedEdges::default();
        for ([from, predicate, to], offset) in EDGES.into_iter().zip(0..) {
            scan.take(from, predicate, to, offset, &mut found);
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
            let found = found(&EdgeScan::new(Some(texts(b"ca")), None, direction));
            assert_eq!((found.places, found.offsets), (places, offsets), "{direction:?}");
            assert_eq!((found.outgoing, &found.nodes.bytes[..]), (outgoing, nodes));
            assert_eq!(found.ids, Texts::default());
        }
    }

    #[test]
    fn edges_of_all_nodes_have_their_ids() {
        let found = found(&EdgeScan::new(None, Some(texts(b"q")), Direction::Both));
        assert_eq!((&found.ids.bytes[..], &found.nodes.bytes[..]), (&b"baac"[..], &b"abca"[..]));
        assert_eq!((&found.predicates.bytes[..], found.offsets), (&b"qqqq"[..], vec![1, 1, 3, 3]));
        assert!(found.places.is_empty());
    }
}
