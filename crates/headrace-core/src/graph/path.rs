//! The shortest way from one node to another.

use std::collections::{HashMap, hash_map::Entry};

use super::{
    adjacency::Adjacency,
    follow::{Edges, Followed, Which},
};
use crate::Result;

/// Edges between two questions whether to go on.
const CHECK_EVERY: u64 = 1 << 12;

/// An edge of a way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The predicate of the edge.
    pub predicate: u32,
    /// The id of the node that it leads to.
    pub id: Vec<u8>,
    /// Whether it is followed in its own direction.
    pub outgoing: bool,
    /// Where its row begins.
    pub offset: u64,
}

/// The result of a path search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// The edges of the way, none if both nodes are one.
    Found(Vec<Hop>),
    /// There is none, or none that is short enough.
    None,
    /// The graph has no such node: the first of both that it does not have.
    NoNode(Vec<u8>),
    /// `go_on` returned false.
    Stopped,
}

/// Find the way from one node to another that has the fewest edges, at most `hops`; of several, the
/// one that going level by level, edges in file order, comes upon first.
///
/// # Errors
/// Errors of reading; [`crate::ErrorKind::Sidecar`] where an index cannot be used.
pub fn shortest_path(
    adjacency: &mut dyn Adjacency,
    [from, to]: [&[u8]; 2],
    which: &Which,
    hops: Option<u32>,
    go_on: &dyn Fn() -> bool,
) -> Result<Way> {
    let mut ends = [0; 2];
    for (id, end) in [from, to].into_iter().zip(&mut ends) {
        match adjacency.find(id)? {
            Some(node) => *end = node,
            None => return Ok(Way::NoNode(id.to_vec())),
        }
    }
    let [start, goal] = ends;
    let mut search = Search { order: vec![start], ..Search::default() };
    search.reached.insert(start, None);
    while !search.reached.contains_key(&goal) {
        match search.level(adjacency, which, goal, go_on)? {
            None => return Ok(Way::Stopped),
            Some(false) => return Ok(Way::None),
            Some(true) => {}
        }
        let far_enough = hops.is_some_and(|hops| search.levels >= hops);
        if far_enough && !search.reached.contains_key(&goal) {
            return Ok(Way::None);
        }
    }
    let short_enough = start == goal || hops != Some(0);
    if short_enough { search.way(adjacency, goal).map(Way::Found) } else { Ok(Way::None) }
}

/// What was reached, along which edge from which node.
#[derive(Default)]
struct Search {
    reached: HashMap<u64, Option<(u64, Followed)>>,
    order: Vec<u64>,
    next: usize,
    levels: u32,
    seen: u64,
}

impl Search {
    /// Follow the edges of all nodes of a level, or until the goal is reached; false if there are
    /// none, `None` if `go_on` returns false.
    fn level(
        &mut self,
        adjacency: &mut dyn Adjacency,
        which: &Which,
        goal: u64,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<bool>> {
        let ends = self.order.len();
        self.levels += 1;
        while self.next < ends {
            let node = self.order[self.next];
            self.next += 1;
            let mut edges = Edges::of(adjacency, node, which)?;
            while let Some(followed) = edges.next(adjacency, which)? {
                self.seen += 1;
                if self.seen.is_multiple_of(CHECK_EVERY) && !go_on() {
                    return Ok(None);
                }
                let other = followed.edge.node;
                if let Entry::Vacant(new) = self.reached.entry(other) {
                    new.insert(Some((node, followed)));
                    self.order.push(other);
                }
                if other == goal {
                    return Ok(Some(true));
                }
            }
        }
        Ok(Some(self.order.len() > ends))
    }

    fn way(&self, adjacency: &mut dyn Adjacency, goal: u64) -> Result<Vec<Hop>> {
        let mut hops = Vec::new();
        let mut at = goal;
        while let Some(&Some((before, Followed { edge, outgoing }))) = self.reached.get(&at) {
            let mut id = Vec::new();
            adjacency.id(at, &mut id)?;
            let (predicate, offset) = (edge.predicate, edge.offset);
            hops.push(Hop { predicate, id, outgoing, offset });
            at = before;
        }
        hops.reverse();
        Ok(hops)
    }
}
