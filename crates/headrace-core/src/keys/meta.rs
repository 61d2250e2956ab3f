//! Metadata of a key index.

use serde::{Deserialize, Serialize};

use crate::sealed::{About, Lines, MadeOf};

/// Of a last row without a newline: no row before has its key.
pub(super) const NEW_KEY: &str = "new_key";
/// Of a last row without a newline: a row before has its key.
pub(super) const KNOWN_KEY: &str = "known_key";

/// Metadata of an index, stored as JSON in the file.
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
    /// Counts of the lines of the source: rows with a key, and lines without.
    pub lines: Lines,
    /// Whether numbers that are the same double have the same key; if so, a query that compares
    /// doubles finds all of them. Not known of files that do not say so.
    #[serde(default)]
    pub plain_numbers: bool,
    /// The source it was built from, and the options of the build.
    #[serde(flatten)]
    pub made_of: MadeOf,
}

impl Meta {
    /// Rows with a key before the end of what it covers.
    pub fn covered_records(&self) -> u64 {
        let last = matches!(self.made_of.last.as_deref(), Some(NEW_KEY | KNOWN_KEY));
        self.records.saturating_sub(u64::from(last))
    }

    /// The number of different keys of the covered rows.
    pub fn covered_keys(&self) -> u64 {
        self.keys.saturating_sub(u64::from(self.made_of.last.as_deref() == Some(NEW_KEY)))
    }
}

impl About for Meta {
    fn made_of(&self) -> &MadeOf {
        &self.made_of
    }

    fn made_of_mut(&mut self) -> &mut MadeOf {
        &mut self.made_of
    }
}
