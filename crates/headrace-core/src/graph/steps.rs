//! What an expansion tells of.

use std::ops::Range;

use super::adjacency::Adjacency;
use crate::Result;

/// The id of a node, as a number among those of the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(usize);

/// What is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A node that was reached.
    Node {
        /// Its id.
        id: Id,
        /// How many edges it is away.
        level: u32,
        /// The predicate of the edge that led to it; `None` of one to begin with.
        via: Option<u32>,
    },
    /// An edge that was followed; it comes before the node that it leads to.
    Edge {
        /// The node it comes from.
        from: Id,
        /// What it says.
        predicate: u32,
        /// The node it goes to.
        to: Id,
        /// Where its row begins.
        offset: u64,
        /// Whether a node was reached along it for the first time.
        leads: bool,
    },
}

/// Steps behind each other, and the ids of their nodes.
#[derive(Default)]
pub struct Steps {
    list: Vec<Step>,
    texts: Vec<u8>,
    ids: Vec<Range<usize>>,
    /// Nodes whose ids were not read yet, and the ids that are theirs.
    unread: Vec<(u64, Id)>,
}

impl Steps {
    /// The steps, in order.
    pub fn list(&self) -> &[Step] {
        &self.list
    }

    /// The text of an id.
    pub fn text(&self, id: Id) -> &[u8] {
        &self.texts[self.ids[id.0].clone()]
    }

    /// Forget all, and keep the memory.
    pub fn clear(&mut self) {
        self.list.clear();
        self.texts.clear();
        self.ids.clear();
        self.unread.clear();
    }

    pub(super) fn push(&mut self, step: Step) {
        self.list.push(step);
    }

    /// The id of a node; it is read with those of the other ones.
    pub(super) fn id_of(&mut self, node: u64) -> Id {
        let id = Id(self.ids.len());
        self.ids.push(0..0);
        self.unread.push((node, id));
        id
    }

    /// An id that is known.
    pub(super) fn known(&mut self, text: &[u8]) -> Id {
        let id = Id(self.ids.len());
        self.ids.push(self.texts.len()..self.texts.len() + text.len());
        self.texts.extend_from_slice(text);
        id
    }

    /// Read the ids of all nodes.
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
