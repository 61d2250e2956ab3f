//! Looking at every byte of a graph index.

use super::{GraphIndex, layout::EdgeRun};
use crate::{
    Result,
    keys::hash,
    sealed::{IndexFile, unusable},
};

/// Nodes between two questions whether to go on.
const CHECK_EVERY: u32 = 1 << 14;

impl GraphIndex {
    /// Compare all of it with its checksums, and its tables with each other. False if `go_on`
    /// returns false.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] with the first thing that is wrong.
    pub fn verify(&self, go_on: &dyn Fn() -> bool) -> Result<bool> {
        if !self.sealed.verify(go_on)? {
            return Ok(false);
        }
        self.verify_predicates()?;
        let tables = self.header.tables;
        // Each edge once from where it comes, and once from where it goes, if that is there.
        let mut next = (0, tables.edge_count);
        let mut sums = (0, 0);
        let mut before = None;
        for number in 0..tables.node_count {
            if number % CHECK_EVERY == 0 && !go_on() {
                return Ok(false);
            }
            let at = tables.nodes + u64::from(number) * tables.node_bytes();
            let entry = self.node(number)?;
            let mut id = Vec::new();
            self.id_of(&entry, &mut id)?;
            if hash(&id) != entry.hash {
                return Err(unusable(at, "an id does not have the hash of its node"));
            }
            let place = (entry.hash, id);
            if before.as_ref().is_some_and(|before| *before >= place) {
                return Err(unusable(at, "nodes are not in order"));
            }
            before = Some(place);
            if entry.out.count == 0 && entry.incoming.count == 0 && tables.reverse {
                return Err(unusable(at, "a node without edges"));
            }
            let out = self.verify_run(number, false, entry.out, &mut next.0)?;
            sums.0 = sum(sums.0, out);
            if tables.reverse {
                let incoming = self.verify_run(number, true, entry.incoming, &mut next.1)?;
                sums.1 = sum(sums.1, incoming);
            }
        }
        let all = next.0 == tables.edge_count && next.1 == tables.edge_entries().max(next.0);
        if !all || (tables.reverse && sums.0 != sums.1) {
            return Err(unusable(tables.edges, "edges that no node has"));
        }
        Ok(true)
    }

    /// Whether another index has the same nodes, edges and predicates. `None` if `go_on` returns false.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where one of both is damaged.
    pub fn has_edges_of(&self, other: &Self, go_on: &dyn Fn() -> bool) -> Result<Option<bool>> {
        if self.header.tables != other.header.tables {
            return Ok(Some(false));
        }
        self.sealed.has_tables_of(&other.sealed, go_on)
    }

    /// Look at the edges of a node, and return their sum: the same from both ends of all edges.
    fn verify_run(&self, node: u32, incoming: bool, run: EdgeRun, next: &mut u64) -> Result<u64> {
        let wrong = |reason: &str| Err(unusable(self.header.tables.edges, reason));
        if run.count > 0 && run.first != *next {
            return wrong("a node has the edges of another");
        }
        *next += u64::from(run.count);
        let mut numbers = self.edge_numbers(node, incoming)?;
        let (mut edges, mut before, mut total) = (Vec::new(), None, 0);
        let source = self.meta().made_of.bytes();
        while !numbers.is_empty() {
            self.edges(&mut numbers, &mut edges)?;
            for edge in edges.drain(..) {
                if before.is_some_and(|before| before >= edge.offset) {
                    return wrong("edges are not in the order of the file");
                }
                if !source.contains(&edge.offset) {
                    return wrong("an edge outside of the source");
                }
                before = Some(edge.offset);
                let [from, to] = if incoming { [edge.node, node] } else { [node, edge.node] };
                let words = [from, to, edge.predicate].map(u32::to_le_bytes).concat();
                total = sum(total, hash(&[&words[..], &edge.offset.to_le_bytes()].concat()));
            }
        }
        Ok(total)
    }

    fn verify_predicates(&self) -> Result<()> {
        let mut before: Option<(u64, Vec<u8>)> = None;
        for number in 0..self.predicate_count() {
            let mut text = Vec::new();
            self.predicate(number, &mut text)?;
            let place = (hash(&text), text);
            if before.as_ref().is_some_and(|before| *before >= place) {
                return Err(unusable(self.header.tables.predicates, "predicates are not in order"));
            }
            before = Some(place);
        }
        Ok(())
    }
}

fn sum(left: u64, right: u64) -> u64 {
    left.wrapping_add(right)
}
