//! What an index was made of, and how; every kind says it in the same words.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::SourceMark;

/// The last keys of `META`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeOf {
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
    /// What a last row without a newline is, if there is one: a record, in the word of the kind of
    /// index, or the field of [`Lines`](super::Lines) that counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// Of a delta: the id of the build that it continues, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Of a delta: the first byte that it covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covers: Option<u64>,
}

impl MadeOf {
    /// The same of a delta of another build; of nothing, as it is.
    pub(crate) fn continuing(&self, build: Option<(String, u64)>) -> Self {
        let (base, covers) = build.unzip();
        Self { base, covers, ..self.clone() }
    }

    /// The first byte that it covers.
    pub fn first_byte(&self) -> u64 {
        self.covers.unwrap_or(0)
    }

    /// The bytes that its rows begin in.
    pub(crate) fn bytes(&self) -> Range<u64> {
        self.first_byte()..self.logical_size
    }

    /// Whether it does not contradict itself.
    pub(crate) fn sound(&self) -> bool {
        let first = self.first_byte();
        first <= self.coverage_end && first <= self.hashed
    }

    /// Whether rows were read under the same limits.
    fn has_limits_of(&self, other: &Self) -> bool {
        (self.max_line, self.max_depth) == (other.max_line, other.max_depth)
    }

    /// Whether it is of a delta of the build `id` with these words; that both are of the same
    /// fields is for others to see.
    pub(crate) fn is_delta_of(&self, base: &Self, id: &str) -> bool {
        let plain = |made_of: &Self| made_of.source.codec == "none";
        self.base.as_deref() == Some(id)
            && self.covers == Some(base.coverage_end)
            && plain(self)
            && plain(base)
            && self.has_limits_of(base)
    }
}
