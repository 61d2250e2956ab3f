//! Expansion: a breadth-first traversal from some nodes, level by level.
//!
//! Each node is reached once, at its smallest level, along the first edge that leads to it: nodes
//! of a level are taken in the order in which they were reached, edges of a node in the order of
//! the file. Only the set of reached nodes is kept in memory.

use std::collections::HashSet;

use super::{
    adjacency::Adjacency,
    events::{Event, Events, Id},
    follow::{Direction, Edges, Which},
    sweep::{Found, sweep},
    visit_order::{Visit, VisitOrder},
};
use crate::Result;

/// The number of nodes whose edges are followed together: at first, as few may be enough, and at
/// most.
const FIRST_TOGETHER: usize = 64;
const MOST_TOGETHER: usize = 1 << 18;
/// Edges and steps between two questions whether to go on.
const CHECK_EVERY: u32 = 1 << 12;

/// The events to report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Emit {
    /// No edges.
    #[default]
    Nodes,
    /// All that are followed, each once.
    Edges,
    /// Those that lead to a node for the first time.
    Tree,
}

/// How far to go, and what to tell of.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which edges are followed.
    pub which: Which,
    /// How many edges a node may be away.
    pub hops: Option<u32>,
    /// The most nodes to report.
    pub limit: Option<u64>,
    /// The events to report.
    pub emit: Emit,
    /// How many edges of several nodes are looked at together at most, before the caller can stop;
    /// with 0 nodes are looked at one by one, which is slower and gives the same.
    pub together: u64,
}

impl Default for Options {
    fn default() -> Self {
        let (which, hops, limit, emit) = Default::default();
        Self { which, hops, limit, emit, together: 1 << 23 }
    }
}

impl Options {
    /// Whether edges to nodes already reached are neither reported nor counted.
    fn only_first(&self) -> bool {
        self.emit != Emit::Edges && self.which.most.is_none() && self.together > 0
    }
}

/// A node whose edges are being followed, and its id among the last steps.
struct Current {
    node: u64,
    id: Option<Id>,
    edges: Edges,
}

/// Nodes found by a sweep, the last one first, and the first node of the sweep.
#[derive(Default)]
struct Swept {
    found: Vec<Found>,
    first: usize,
}

/// Nodes to begin with, and all that can be reached from them.
pub struct Expansion {
    options: Options,
    /// Nodes to begin with that were not looked at, the last one first.
    seeds: Vec<Vec<u8>>,
    missing: Vec<Vec<u8>>,
    known_missing: HashSet<Vec<u8>>,
    /// Nodes that were reached, in order, and the places they have there.
    order: Vec<u64>,
    places: VisitOrder,
    /// The next one whose edges are followed, and where its level ends.
    next: usize,
    level: u32,
    level_ends: usize,
    current: Option<Current>,
    swept: Swept,
    together: usize,
    emitted: u64,
    truncated: bool,
    capped: u64,
}

impl Expansion {
    /// Begin with nodes that have these ids.
    pub fn new(adjacency: &dyn Adjacency, mut seeds: Vec<Vec<u8>>, options: Options) -> Self {
        seeds.reverse();
        let nodes = adjacency.whole().map(|graph| graph.base().node_count());
        Self {
            options,
            seeds,
            missing: Vec::new(),
            known_missing: HashSet::new(),
            order: Vec::new(),
            places: VisitOrder::new(nodes),
            next: 0,
            level: 0,
            level_ends: 0,
            current: None,
            swept: Swept::default(),
            together: FIRST_TOGETHER,
            emitted: 0,
            truncated: false,
            capped: 0,
        }
    }

    /// Nodes to begin with that the graph does not have, so far.
    pub fn missing(&self) -> &[Vec<u8>] {
        &self.missing
    }

    /// Whether the limit left nodes out.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// How many nodes have more edges than are followed.
    pub fn capped(&self) -> u64 {
        self.capped
    }

    /// Add events to `into` until there are about `most`, or `go_on` returns false; adds none at the
    /// end.
    ///
    /// # Errors
    /// Errors of reading; [`crate::ErrorKind::Sidecar`] where an index cannot be used.
    pub fn advance(
        &mut self,
        adjacency: &mut dyn Adjacency,
        most: usize,
        go_on: &dyn Fn() -> bool,
        into: &mut Events,
    ) -> Result<()> {
        let begun = into.list().len();
        if let Some(current) = &mut self.current {
            // Its id was that of steps that are gone.
            current.id = None;
        }
        let mut steps = 0_u32;
        while into.list().len() - begun < most && !self.truncated {
            steps += 1;
            if steps.is_multiple_of(CHECK_EVERY) && !go_on() {
                break;
            }
            if let Some(seed) = self.seeds.pop() {
                self.begin(adjacency, &seed, into)?;
            } else if let Some(found) = self.swept.found.pop() {
                self.lead(&found, into);
            } else if self.current.is_some() {
                self.follow(adjacency, into)?;
            } else if !self.go_on(adjacency)? {
                break;
            }
        }
        into.read_ids(adjacency)
    }

    fn begin(&mut self, adjacency: &mut dyn Adjacency, id: &[u8], into: &mut Events) -> Result<()> {
        let new = match adjacency.find(id)? {
            Some(node) => self.places.get(node).is_none() && self.may_tell() && self.reach(node),
            None => {
                !self.known_missing.contains(id) && self.may_tell() && {
                    self.known_missing.insert(id.to_vec());
                    self.missing.push(id.to_vec());
                    true
                }
            }
        };
        if new {
            let id = into.known(id);
            into.push(Event::Node { id, level: 0, via: None });
        }
        self.level_ends = self.order.len();
        Ok(())
    }

    /// Count one more node; false if the limit is reached.
    fn may_tell(&mut self) -> bool {
        self.truncated |= self.options.limit == Some(self.emitted);
        self.emitted += u64::from(!self.truncated);
        !self.truncated
    }

    fn reach(&mut self, node: u64) -> bool {
        self.places.set(node, Visit::Reached(self.order.len()));
        self.order.push(node);
        true
    }

    /// Begin with the edges of the next nodes; false if there are none.
    fn go_on(&mut self, adjacency: &mut dyn Adjacency) -> Result<bool> {
        if self.next == self.level_ends {
            self.level += 1;
            self.level_ends = self.order.len();
        }
        let far_enough = self.options.hops.is_some_and(|hops| self.level >= hops);
        if far_enough || self.next == self.level_ends {
            return Ok(false);
        }
        let swept = self.options.only_first() && self.sweep(adjacency)?;
        if !swept {
            let node = self.order[self.next];
            let edges = Edges::of(adjacency, node, &self.options.which)?;
            self.current = Some(Current { node, id: None, edges });
        }
        Ok(true)
    }

    /// Follow the edges of the next nodes in one sweep; false if that is not possible.
    fn sweep(&mut self, adjacency: &dyn Adjacency) -> Result<bool> {
        let Some(graph) = adjacency.whole() else { return Ok(false) };
        let last = self.level_ends.min(self.next + self.together);
        let nodes = &self.order[self.next..last];
        let Swept { found, first } = &mut self.swept;
        let Options { which, together, limit, .. } = &self.options;
        // Where few nodes are wanted, edges that lead to more of them are not looked at.
        let wanted = limit.map_or(u64::MAX, |limit| limit.saturating_sub(self.emitted));
        let most = wanted.saturating_mul(2).min(*together);
        let swept = sweep(graph.base(), nodes, which, most, &mut self.places, found)?;
        found.reverse();
        *first = self.next;
        self.next += swept;
        let all = swept == nodes.len();
        self.together = if all { self.together * 16 } else { swept + 1 };
        self.together = self.together.clamp(1, MOST_TOGETHER);
        Ok(swept > 0)
    }

    /// Reach a node found by a sweep.
    fn lead(&mut self, found: &Found, into: &mut Events) {
        if !self.may_tell() {
            return;
        }
        let id = into.id_of(found.node);
        if self.options.emit == Emit::Tree {
            let other = into.id_of(self.order[self.swept.first + found.by]);
            let (from, to) = if found.outgoing { (other, id) } else { (id, other) };
            let (predicate, offset) = (found.predicate, found.offset);
            into.push(Event::Edge { from, predicate, to, offset, leads: true });
        }
        self.reach(found.node);
        into.push(Event::Node { id, level: self.level + 1, via: Some(found.predicate) });
    }

    /// Follow the next edge of the node that is looked at.
    fn follow(&mut self, adjacency: &mut dyn Adjacency, into: &mut Events) -> Result<()> {
        let Some(current) = &mut self.current else { return Ok(()) };
        let Some(next) = current.edges.next(adjacency, &self.options.which)? else {
            self.capped += u64::from(current.edges.capped());
            self.current = None;
            self.next += 1;
            return Ok(());
        };
        let node = next.edge.node;
        let known = self.places.get(node);
        // From the other end it was followed already, if that was looked at before.
        let before = matches!(known, Some(Visit::Reached(place)) if place < self.next);
        let again = before && self.options.which.direction == Direction::Both;
        let is_emitted = match self.options.emit {
            Emit::Nodes => false,
            Emit::Edges => !again,
            Emit::Tree => known.is_none(),
        };
        let other = (current.node, current.id);
        if known.is_none() && !self.may_tell() {
            return Ok(());
        }
        let id = (is_emitted || known.is_none()).then(|| into.id_of(node));
        if let Some(id) = id.filter(|_| is_emitted) {
            let other = other.1.unwrap_or_else(|| into.id_of(other.0));
            self.current.iter_mut().for_each(|current| current.id = Some(other));
            let (from, to) = if next.outgoing { (other, id) } else { (id, other) };
            let (predicate, offset) = (next.edge.predicate, next.edge.offset);
            into.push(Event::Edge { from, predicate, to, offset, leads: known.is_none() });
        }
        if let Some(id) = id.filter(|_| known.is_none()) {
            self.reach(node);
            into.push(Event::Node { id, level: self.level + 1, via: Some(next.edge.predicate) });
        }
        Ok(())
    }
}
