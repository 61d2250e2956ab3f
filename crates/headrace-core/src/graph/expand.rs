//! Going from nodes along edges, level by level.
//!
//! Each node is reached once, at its smallest level, along the first edge that leads to it: nodes
//! of a level are taken in the order in which they were reached, edges of a node in the order of
//! the file. What was reached is remembered, and nothing else.

use std::collections::{HashMap, HashSet};

use super::{
    adjacency::Adjacency,
    follow::{Direction, Edges, Which},
};
use crate::Result;

/// Which edges are told of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Emit {
    /// None.
    #[default]
    Nodes,
    /// All that are followed, each once.
    Edges,
    /// Those that lead to a node for the first time.
    Tree,
}

/// How far to go, and what to tell of.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Which edges are followed.
    pub which: Which,
    /// How many edges a node may be away.
    pub hops: Option<u32>,
    /// How many nodes are told of.
    pub limit: Option<u64>,
    /// Which edges are told of.
    pub emit: Emit,
}

/// What is told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A node that was reached.
    Node {
        /// Its id.
        id: Vec<u8>,
        /// How many edges it is away.
        level: u32,
        /// The predicate of the edge that led to it; `None` of one to begin with.
        via: Option<u32>,
    },
    /// An edge that was followed; it comes before the node that it leads to.
    Edge {
        /// The node it comes from.
        from: Vec<u8>,
        /// What it says.
        predicate: u32,
        /// The node it goes to.
        to: Vec<u8>,
        /// Where its row begins.
        offset: u64,
        /// Whether a node was reached along it for the first time.
        leads: bool,
    },
}

/// A node whose edges are being followed.
struct Current {
    id: Vec<u8>,
    edges: Edges,
}

/// Nodes to begin with, and all that can be reached from them.
pub struct Expansion {
    options: Options,
    /// Nodes to begin with that were not looked at, the last one first.
    seeds: Vec<Vec<u8>>,
    missing: Vec<Vec<u8>>,
    known_missing: HashSet<Vec<u8>>,
    /// Nodes that were reached, and the places they have in `order`.
    reached: HashMap<u64, usize>,
    order: Vec<u64>,
    /// The next one whose edges are followed, and where its level ends.
    next: usize,
    level: u32,
    level_ends: usize,
    current: Option<Current>,
    told: u64,
    truncated: bool,
    capped: u64,
}

impl Expansion {
    /// Begin with nodes that have these ids.
    pub fn new(mut seeds: Vec<Vec<u8>>, options: Options) -> Self {
        seeds.reverse();
        Self {
            options,
            seeds,
            missing: Vec::new(),
            known_missing: HashSet::new(),
            reached: HashMap::new(),
            order: Vec::new(),
            next: 0,
            level: 0,
            level_ends: 0,
            current: None,
            told: 0,
            truncated: false,
            capped: 0,
        }
    }

    /// Nodes to begin with that the graph does not have, so far.
    pub fn missing(&self) -> &[Vec<u8>] {
        &self.missing
    }

    /// Whether there were more nodes than may be told of.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// How many nodes have more edges than are followed.
    pub fn capped(&self) -> u64 {
        self.capped
    }

    /// Add steps until there are about so many; nothing is added when all is done.
    ///
    /// # Errors
    /// What reading says; [`crate::Error::Sidecar`] where an index cannot be used.
    pub fn advance(
        &mut self,
        adjacency: &mut dyn Adjacency,
        most: usize,
        into: &mut Vec<Step>,
    ) -> Result<()> {
        let begun = into.len();
        while into.len() - begun < most && !self.truncated {
            if let Some(seed) = self.seeds.pop() {
                self.begin(adjacency, seed, into)?;
            } else if self.current.is_some() {
                self.follow(adjacency, into)?;
            } else if !self.go_on(adjacency)? {
                break;
            }
        }
        Ok(())
    }

    fn begin(
        &mut self,
        adjacency: &mut dyn Adjacency,
        id: Vec<u8>,
        into: &mut Vec<Step>,
    ) -> Result<()> {
        let new = match adjacency.find(&id)? {
            Some(node) => !self.reached.contains_key(&node) && self.may_tell() && self.reach(node),
            None => {
                !self.known_missing.contains(&id) && self.may_tell() && {
                    self.known_missing.insert(id.clone());
                    self.missing.push(id.clone());
                    true
                }
            }
        };
        if new {
            into.push(Step::Node { id, level: 0, via: None });
        }
        self.level_ends = self.order.len();
        Ok(())
    }

    /// Whether one more node may be told of; if so, it is counted.
    fn may_tell(&mut self) -> bool {
        self.truncated |= self.options.limit == Some(self.told);
        self.told += u64::from(!self.truncated);
        !self.truncated
    }

    fn reach(&mut self, node: u64) -> bool {
        self.reached.insert(node, self.order.len());
        self.order.push(node);
        true
    }

    /// Begin with the edges of the next node; false if there is none.
    fn go_on(&mut self, adjacency: &mut dyn Adjacency) -> Result<bool> {
        if self.next == self.level_ends {
            self.level += 1;
            self.level_ends = self.order.len();
        }
        let far_enough = self.options.hops.is_some_and(|hops| self.level >= hops);
        let Some(&node) = self.order.get(self.next).filter(|_| !far_enough) else {
            return Ok(false);
        };
        let mut id = Vec::new();
        if self.options.emit != Emit::Nodes {
            adjacency.id(node, &mut id)?;
        }
        let edges = Edges::of(adjacency, node, &self.options.which)?;
        self.current = Some(Current { id, edges });
        Ok(true)
    }

    /// Follow the next edge of the node that is looked at.
    fn follow(&mut self, adjacency: &mut dyn Adjacency, into: &mut Vec<Step>) -> Result<()> {
        let Some(current) = &mut self.current else { return Ok(()) };
        let Some(next) = current.edges.next(adjacency, &self.options.which)? else {
            self.capped += u64::from(current.edges.capped());
            self.current = None;
            self.next += 1;
            return Ok(());
        };
        let (node, here) = (next.edge.node, self.next);
        let known = self.reached.get(&node).copied();
        // From the other end it was followed already, if that was looked at before.
        let both = self.options.which.direction == Direction::Both;
        let again = both && known.is_some_and(|known| known < here);
        if known.is_none() && !self.may_tell() {
            return Ok(());
        }
        let told = match self.options.emit {
            Emit::Nodes => false,
            Emit::Edges => !again,
            Emit::Tree => known.is_none(),
        };
        let mut id = Vec::new();
        if told || known.is_none() {
            adjacency.id(node, &mut id)?;
        }
        if told && let Some(current) = &self.current {
            let ends = (current.id.clone(), id.clone());
            let (from, to) = if next.outgoing { ends } else { (ends.1, ends.0) };
            let (predicate, offset) = (next.edge.predicate, next.edge.offset);
            into.push(Step::Edge { from, predicate, to, offset, leads: known.is_none() });
        }
        if known.is_none() {
            self.reach(node);
            let via = Some(next.edge.predicate);
            into.push(Step::Node { id, level: self.level + 1, via });
        }
        Ok(())
    }
}
