//! Events of an expansion: nodes reached and edges followed.

use std::ops::Range;

use super::adjacency::Adjacency;
use crate::Result;

/// Reference to the id of a node in [`Events`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(usize);

/// One event of an expansion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A node was reached.
    Node {
        /// The id of the node.
        id: Id,
        /// Distance from the nearest seed, in edges.
        level: u32,
        /// The predicate of the edge that led to the node; `None` for a seed.
        via: Option<u32>,
    },
    /// An edge was followed; this event precedes that of the node the edge leads to.
    Edge {
        /// The source node.
        from: Id,
        /// The predicate.
        predicate: u32,
        /// The target node.
        to: Id,
        /// The byte at which the row of the edge begins.
        offset: u64,
        /// Whether this edge reached its node first.
        leads: bool,
    },
}

/// A batch of events, and the ids of their nodes.
#[derive(Default)]
pub struct Events {
    list: Vec<Event>,
    texts: Vec<u8>,
    ids: Vec<Range<usize>>,
    /// Nodes whose ids [`Self::read_ids`] has yet to read.
    unread: Vec<(u64, Id)>,
}

impl Events {
    /// The events, in order.
    pub fn list(&self) -> &[Event] {
        &self.list
    }

    /// The text of a node id.
    pub fn text(&self, id: Id) -> &[u8] {
        &self.texts[self.ids[id.0].clone()]
    }

    /// Remove all events; the memory stays allocated.
    pub fn clear(&mut self) {
        self.list.clear();
        self.texts.clear();
        self.ids.clear();
        self.unread.clear();
    }

    pub(super) fn push(&mut self, event: Event) {
        self.list.push(event);
    }

    /// A reference to the id of a node, which [`Self::read_ids`] reads later.
    pub(super) fn id_of(&mut self, node: u64) -> Id {
        let id = Id(self.ids.len());
        self.ids.push(0..0);
        self.unread.push((node, id));
        id
    }

    /// A reference to an id whose text the caller has.
    pub(super) fn known(&mut self, text: &[u8]) -> Id {
        let id = Id(self.ids.len());
        self.ids.push(self.texts.len()..self.texts.len() + text.len());
        self.texts.extend_from_slice(text);
        id
    }

    /// Read the texts of all ids that are still missing, in the order of the index.
    pub(super) fn read_ids(&mut self, adjacency: &mut dyn Adjacency) -> Result<()> {
        self.unread.sort_unstable_by_key(|&(node, _)| node);
        let Self { texts, ids, unread, .. } = self;
        let mut taken = unread.iter();
        adjacency.ids(&mut unread.iter().map(|&(node, _)| node), &mut |text| {
            if let Some(&(_, id)) = taken.next() {
                ids[id.0] = texts.len()..texts.len() + text.len();
                texts.extend_from_slice(text);
            }
        })?;
        unread.clear();
        Ok(())
    }
}
