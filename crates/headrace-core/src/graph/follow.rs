//! The edges of a node that are to be followed, one by one.

use super::adjacency::{Adjacency, Cursor, Edge};
use crate::Result;

/// Which edges of a node are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Those that come from it.
    #[default]
    Out,
    /// Those that go to it.
    In,
    /// Both directions.
    Both,
}

/// Which edges are followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Which {
    /// The direction.
    pub direction: Direction,
    /// Those with one of these predicates only.
    pub predicates: Option<Vec<u32>>,
    /// The most edges of one node.
    pub most: Option<u64>,
}

/// An edge that is followed, and whether it is in its own direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The edge, seen from the node whose edges are followed.
    pub edge: Edge,
    /// Whether it comes from that node.
    pub outgoing: bool,
}

/// Edges of one direction, some of which were read.
#[derive(Default)]
struct Lane {
    cursor: Cursor,
    held: Vec<Edge>,
    at: usize,
}

impl Lane {
    fn of(adjacency: &mut dyn Adjacency, node: u64, incoming: bool) -> Result<Self> {
        Ok(Self { cursor: adjacency.cursor(node, incoming)?, ..Self::default() })
    }

    fn peek(&mut self, adjacency: &mut dyn Adjacency) -> Result<Option<Edge>> {
        while self.at == self.held.len() && !self.cursor.is_empty() {
            self.held.clear();
            self.at = 0;
            adjacency.advance(&mut self.cursor, &mut self.held)?;
        }
        Ok(self.held.get(self.at).copied())
    }
}

/// The edges of a node in the order of the file.
pub struct Edges {
    out: Lane,
    incoming: Lane,
    left: u64,
    capped: bool,
}

impl Edges {
    /// Those of a node.
    ///
    /// # Errors
    /// As [`Adjacency::cursor`].
    pub fn of(adjacency: &mut dyn Adjacency, node: u64, which: &Which) -> Result<Self> {
        let mut lanes = [Lane::default(), Lane::default()];
        let wanted = [which.direction != Direction::In, which.direction != Direction::Out];
        for (incoming, lane) in [false, true].into_iter().zip(&mut lanes) {
            if wanted[usize::from(incoming)] {
                *lane = Lane::of(adjacency, node, incoming)?;
            }
        }
        let [out, incoming] = lanes;
        Ok(Self { out, incoming, left: which.most.unwrap_or(u64::MAX), capped: false })
    }

    /// Whether there were more than are followed.
    pub fn capped(&self) -> bool {
        self.capped
    }

    /// The next edge.
    ///
    /// # Errors
    /// As [`Adjacency::advance`].
    pub fn next(
        &mut self,
        adjacency: &mut dyn Adjacency,
        which: &Which,
    ) -> Result<Option<Followed>> {
        while let Some(next) = self.any(adjacency)? {
            let wanted = which.predicates.as_ref();
            if wanted.is_some_and(|wanted| !wanted.contains(&next.edge.predicate)) {
                continue;
            }
            if self.left == 0 {
                self.capped = true;
                return Ok(None);
            }
            self.left -= 1;
            return Ok(Some(next));
        }
        Ok(None)
    }

    fn any(&mut self, adjacency: &mut dyn Adjacency) -> Result<Option<Followed>> {
        let out = self.out.peek(adjacency)?;
        let incoming = self.incoming.peek(adjacency)?;
        let place = |edge: Option<Edge>| edge.map_or(u64::MAX, |edge| edge.offset);
        let edge = if place(out) <= place(incoming) { out } else { incoming };
        let outgoing = place(out) <= place(incoming);
        // One from a node to itself is in both; it is one edge.
        self.out.at += usize::from(out.is_some() && place(out) <= place(incoming));
        self.incoming.at += usize::from(incoming.is_some() && place(incoming) <= place(out));
        Ok(edge.map(|edge| Followed { edge, outgoing }))
    }
}
