//! Metadata of a graph index.

use serde::{Deserialize, Serialize};

use crate::sealed::{About, Lines, MadeOf};

/// The fields of a row that make it an edge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeFields {
    /// The field with the id of the node it leaves.
    pub from: String,
    /// The field with the predicate; without it, no edge has one.
    pub pred: Option<String>,
    /// The field with the id of the node it enters.
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

/// Metadata of an index, stored as JSON in the file.
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
    /// Counts of the lines of the source: edges, and lines that are none.
    pub lines: Lines,
    /// The source it was built from, and the options of the build.
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
