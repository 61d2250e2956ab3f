//! What a key index is of.

use serde::{Deserialize, Serialize};

use crate::sealed::{About, Lines, SourceMark};

/// Of a last row without a newline: no row before has its key.
pub(super) const NEW_KEY: &str = "new_key";
/// Of a last row without a newline: a row before has its key.
pub(super) const KNOWN_KEY: &str = "known_key";

/// What the index is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// The fields of the key.
    pub key: Vec<String>,
    /// `multi` or `unique`.
    pub mode: String,
    /// How keys are hashed: `xxh3_64`.
    pub hash: String,
    /// Rows that have a key.
    pub records: u64,
    /// Different keys.
    pub keys: u64,
    /// All lines, and what became of those without a key.
    pub lines: Lines,
    /// Whether numbers that are the same double have the same key; if so, a query that compares
    /// doubles finds all of them. Not known of files that do not say so.
    #[serde(default)]
    pub plain_numbers: bool,
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
    /// What a last row without a newline is, if there is one: `new_key`, `known_key` if a row
    /// before has its key too, or the field of [`Lines`] that counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// Of a delta: the id of the build that it continues, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Of a delta: the first byte that it covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covers: Option<u64>,
}

impl Meta {
    /// Rows with a key before the end of what it covers.
    pub fn covered_records(&self) -> u64 {
        let last = matches!(self.last.as_deref(), Some(NEW_KEY | KNOWN_KEY));
        self.records.saturating_sub(u64::from(last))
    }

    /// Their different keys.
    pub fn covered_keys(&self) -> u64 {
        self.keys.saturating_sub(u64::from(self.last.as_deref() == Some(NEW_KEY)))
    }
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
