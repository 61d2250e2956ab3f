//! What a graph index is of.

use serde::{Deserialize, Serialize};

use crate::sealed::{About, Lines, SourceMark};

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
    /// Longest line that was read.
    pub max_line: u64,
    /// Deepest nesting that was read.
    pub max_depth: u32,
    /// Bytes of the source after decompression.
    pub logical_size: u64,
    /// The byte behind the last newline; what follows may be half a line.
    pub coverage_end: u64,
    /// Bytes of the source on disk that the hashes of whole blocks are about.
    pub hashed: u64,
    /// The source on disk.
    pub source: SourceMark,
    /// What a last row without a newline is, if there is one: `edge`, or the field of [`Lines`]
    /// that counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// Of a delta: the id of the build that it continues, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Of a delta: the first byte that it covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covers: Option<u64>,
}

impl About for Meta {
    fn coverage_end(&self) -> u64 {
        self.coverage_end
    }

    fn hashed(&self) -> u64 {
        self.hashed
    }

    fn source(&self) -> &SourceMark {
        &self.source
    }

    fn continues(&self) -> Option<(&str, u64)> {
        self.base.as_deref().zip(self.covers)
    }
}
