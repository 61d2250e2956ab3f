//! What a graph index is of.

use serde::{Deserialize, Serialize};

use crate::sealed::{About, Lines, MadeOf};

/// The fields of a row that make it an edge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeFields {
    /// The node it comes from.
    pub from: String,
    /// What it says; without such a field, all edges say the same: nothing.
    pub pred: Option<String>,
    /// The node it goes to.
    pub to: String,
}

impl EdgeFields {
    /// All of them, in the order of an edge.
    pub fn names(&self) -> Vec<String> {
        [Some(&self.from), self.pred.as_ref(), Some(&self.to)]
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }
}

/// What the index is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// The fields of an edge.
    #[serde(flatten)]
    pub fields: EdgeFields,
    /// Whether it has incoming edges.
    pub reverse: bool,
    /// How ids are hashed: `xxh3_64`.
    pub hash: String,
    /// How many nodes it has.
    pub nodes: u64,
    /// How many edges.
    pub edges: u64,
    /// How many different predicates.
    pub predicates: u64,
    /// All lines, and what became of those that are no edges.
    pub lines: Lines,
    /// What it was made of, and how.
    #[serde(flatten)]
    pub made_of: MadeOf,
}

impl About for Meta {
    fn made_of(&self) -> &MadeOf {
        &self.made_of
    }

    fn made_of_mut(&mut self) -> &mut MadeOf {
        &mut self.made_of
    }
}
