//! Statistics of a graph.

use std::sync::Arc;

use super::{
    GraphIndex,
    adjacency::{Adjacency, Edge, GraphView},
};
use crate::{Result, sealed::BaseDelta};

/// Edges between two questions whether to go on.
const CHECK_EVERY: u64 = 1 << 16;

/// How many edges nodes have, in one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Degrees {
    /// How many nodes have none.
    pub none: u64,
    /// How many have 1, 2 or 3, 4 to 7, and so on.
    pub powers: Vec<u64>,
    /// The most that a node has.
    pub most: u64,
    /// The id of the first node with that degree.
    pub most_id: Vec<u8>,
}

/// Of a whole graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Nodes that have edges.
    pub nodes: u64,
    /// Edges.
    pub edges: u64,
    /// Edges from a node to itself.
    pub loops: u64,
    /// Edges of each predicate, in the order of their numbers.
    pub predicates: Vec<(Vec<u8>, u64)>,
    /// Outgoing edges.
    pub out: Degrees,
    /// Incoming edges.
    pub incoming: Degrees,
    /// Sets of nodes between which there are ways along edges in any direction.
    pub components: u64,
    /// Nodes of the largest of them.
    pub largest: u64,
}

/// Look at all edges; `None` if `go_on` returns false. Takes 12 bytes for each node.
///
/// # Errors
/// [`crate::ErrorKind::Sidecar`] where the index is damaged.
pub fn stats(
    graph: &Arc<BaseDelta<GraphIndex>>,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Stats>> {
    let mut counts = Counts::new(graph);
    let mut view = GraphView::new(Arc::clone(graph));
    let parts = [Some(graph.base()), graph.delta()];
    for (index, in_delta) in parts.into_iter().flatten().zip([false, true]) {
        if !counts.add(index, in_delta, &mut view, go_on)? {
            return Ok(None);
        }
    }
    counts.finish(&mut view).map(Some)
}

struct Counts {
    out: Vec<u32>,
    incoming: Vec<u32>,
    /// A node of the same set that is nearer to the one that stands for it.
    sets: Vec<u32>,
    predicates: Vec<u64>,
    edges: u64,
    loops: u64,
}

impl Counts {
    fn new(graph: &BaseDelta<GraphIndex>) -> Self {
        let parts = || [Some(graph.base()), graph.delta()].into_iter().flatten();
        let nodes: usize = parts().map(|index| index.node_count() as usize).sum();
        let predicates: usize = parts().map(|index| index.predicate_count() as usize).sum();
        Self {
            out: vec![0; nodes],
            incoming: vec![0; nodes],
            sets: (0..).take(nodes).collect(),
            predicates: vec![0; predicates],
            edges: 0,
            loops: 0,
        }
    }

    fn add(
        &mut self,
        index: &GraphIndex,
        in_delta: bool,
        view: &mut GraphView,
        go_on: &dyn Fn() -> bool,
    ) -> Result<bool> {
        let mut edges = Vec::new();
        for number in 0..index.node_count() {
            let node = if in_delta { view.named_here(number, index)? } else { number.into() };
            let mut cursor = view.cursor(node, false)?;
            // Those of the other part are counted with it.
            cursor.left[usize::from(!in_delta)] = 0..0;
            while !cursor.is_empty() {
                view.advance(&mut cursor, &mut edges)?;
                for edge in edges.drain(..) {
                    self.count(node, &edge);
                    if self.edges.is_multiple_of(CHECK_EVERY) && !go_on() {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    fn count(&mut self, from: u64, edge: &Edge) {
        // In range: a view gives no others.
        let [from, to] = [from, edge.node].map(|node| usize::try_from(node).unwrap_or(usize::MAX));
        self.edges += 1;
        self.loops += u64::from(from == to);
        self.predicates[edge.predicate as usize] += 1;
        self.out[from] += 1;
        self.incoming[to] += 1;
        let [one, other] = [from, to].map(|node| self.set_of(node));
        // The smaller number stands for both, so that numbers do not grow along a way.
        self.sets[one.max(other)] = u32::try_from(one.min(other)).unwrap_or(u32::MAX);
    }

    fn set_of(&mut self, mut node: usize) -> usize {
        while self.sets[node] as usize != node {
            let beyond = self.sets[self.sets[node] as usize];
            self.sets[node] = beyond;
            node = beyond as usize;
        }
        node
    }

    fn finish(mut self, view: &mut GraphView) -> Result<Stats> {
        let mut stats = Stats { edges: self.edges, loops: self.loops, ..Stats::default() };
        let mut sizes = vec![0_u32; self.sets.len()];
        let mut hubs = [None, None];
        for node in 0..self.sets.len() {
            let degrees = [self.out[node], self.incoming[node]];
            if degrees == [0, 0] {
                // Of an edge that the delta has again, or one that is gone.
                continue;
            }
            stats.nodes += 1;
            let set = self.set_of(node);
            sizes[set] += 1;
            let directions = [&mut stats.out, &mut stats.incoming].into_iter().zip(&mut hubs);
            for ((direction, hub), degree) in directions.zip(degrees) {
                if direction.add(degree.into()) {
                    *hub = Some(node as u64);
                }
            }
        }
        stats.components = sizes.iter().filter(|&&size| size > 0).count() as u64;
        stats.largest = sizes.iter().copied().max().unwrap_or_default().into();
        for (direction, hub) in [&mut stats.out, &mut stats.incoming].into_iter().zip(hubs) {
            if let Some(node) = hub {
                view.id(node, &mut direction.most_id)?;
            }
        }
        for (number, count) in (0..).zip(self.predicates).filter(|&(_, count)| count > 0) {
            let mut text = Vec::new();
            view.predicate(number, &mut text)?;
            stats.predicates.push((text, count));
        }
        Ok(stats)
    }
}

impl Degrees {
    /// Count a node; true if none had as many edges before.
    fn add(&mut self, edges: u64) -> bool {
        let Some(power) = edges.checked_ilog2() else {
            self.none += 1;
            return false;
        };
        let power = power as usize;
        if self.powers.len() <= power {
            self.powers.resize(power + 1, 0);
        }
        self.powers[power] += 1;
        let new = edges > self.most;
        self.most = self.most.max(edges);
        new
    }
}
