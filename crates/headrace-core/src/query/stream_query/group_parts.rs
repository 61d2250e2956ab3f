//! Groups one by one, for a shuffle that brings those of the same name together.
//!
//! Each is a part of its own. Those of one name that are merged in the order of their places give
//! what one run over all of their elements would have given.

use super::{Fault, State, StreamQuery, parts::malformed};
use crate::query::Texts;

/// The groups of some elements, in the order of the first of each.
#[derive(Debug, PartialEq, Eq)]
pub struct GroupParts {
    /// How many elements came.
    pub came: u64,
    /// How many of them came before the first of each group.
    pub firsts: Vec<u64>,
    /// What tells groups apart.
    pub names: Texts,
    /// For [`StreamQuery::merge_group`].
    pub parts: Texts,
}

/// Groups that were merged, in the order in which they were.
#[derive(Debug, PartialEq, Eq)]
pub struct MergedGroups {
    /// The place of the first element of each.
    pub firsts: Vec<u64>,
    /// Each an array of its keys and its slots, or of its name and its value.
    pub texts: Texts,
    /// The place of the first element whose name came with two kinds, and what is wrong.
    pub colliding: Option<(u64, String)>,
    /// The place of the first group with a slot that has no result, which is not in `texts`.
    pub failed: Option<(u64, String)>,
}

impl GroupParts {
    pub(super) fn new(came: u64) -> Self {
        Self { came, firsts: Vec::new(), names: Texts::new(), parts: Texts::new() }
    }

    pub(super) fn push(&mut self, first: u64, name: &[u8], part: &[u8]) {
        self.firsts.push(first);
        self.names.push(name);
        self.parts.push(part);
    }
}

impl MergedGroups {
    pub(super) fn new() -> Self {
        Self { firsts: Vec::new(), texts: Texts::new(), colliding: None, failed: None }
    }

    pub(super) fn push(&mut self, first: u64, text: &[u8]) {
        self.firsts.push(first);
        self.texts.push(text);
    }

    pub(super) fn fail(&mut self, first: u64, reason: String) {
        if self.failed.as_ref().is_none_or(|(earlier, _)| first < *earlier) {
            self.failed = Some((first, reason));
        }
    }
}

impl StreamQuery {
    /// The groups so far; `None` in a run without groups, or if Arrow cannot count their bytes.
    pub fn into_group_parts(self) -> Option<GroupParts> {
        let State::Groups(groups) = self.state else { return None };
        let parts = groups.into_parts();
        (!parts.names.too_long && !parts.parts.too_long).then_some(parts)
    }

    /// Take in a group of [`Self::into_group_parts`] of a run like this one, whose first element
    /// stands at a place; those of one name come in the order of their places.
    ///
    /// # Errors
    /// If such a run cannot have given these bytes.
    pub fn merge_group(&mut self, place: u64, part: &[u8]) -> Result<(), Fault> {
        let State::Groups(groups) = &mut self.state else { return Err(malformed()) };
        groups.merge_part(place, part).ok_or_else(malformed)?
    }

    /// The groups that were merged; `None` as above.
    pub fn into_merged_groups(self) -> Option<MergedGroups> {
        let State::Groups(groups) = self.state else { return None };
        let merged = groups.into_merged();
        (!merged.texts.too_long).then_some(merged)
    }
}
