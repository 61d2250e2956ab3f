//! A graph index in two files: the *base*, and the *delta* of what was appended to the source
//! since. The base answers for the rows before the delta's first byte.

use std::{fs::File, ops::Range};

use super::{GraphIndex, Meta, layout::Header};
use crate::{
    Result,
    input::DataFile,
    sealed::{About, Both, SourceMark, source_hashes::Fit, unusable},
};

/// A base, and its delta if there is one.
pub struct Segments {
    base: GraphIndex,
    delta: Option<GraphIndex>,
}

impl Segments {
    /// These two.
    ///
    /// # Errors
    /// [`crate::Error::Sidecar`] where the first is a delta, or the second is not that of the
    /// first.
    pub fn new(base: GraphIndex, delta: Option<GraphIndex>) -> Result<Self> {
        if base.meta().covers.is_some() {
            return Err(unusable(0, "the delta of a graph index, not a graph index"));
        }
        if delta.as_ref().is_some_and(|delta| !continues(delta, &base)) {
            return Err(unusable(0, "the delta of another graph index"));
        }
        Ok(Self { base, delta })
    }

    /// The index of the first rows.
    pub fn base(&self) -> &GraphIndex {
        &self.base
    }

    /// The index of the rows behind those.
    pub fn delta(&self) -> Option<&GraphIndex> {
        self.delta.as_ref()
    }

    /// The one that knows the source as it was last.
    pub fn newest(&self) -> &GraphIndex {
        self.delta.as_ref().unwrap_or(&self.base)
    }

    /// The byte from which on rows are not the business of the base.
    pub fn base_ends(&self) -> u64 {
        self.delta.as_ref().map_or(u64::MAX, |delta| delta.meta().first_byte())
    }

    fn both(&self) -> Both<'_, Meta> {
        Both { base: &self.base.sealed, newest: &self.newest().sealed }
    }

    /// How much of a source that has `size` bytes on disk is what the index was made of.
    /// `None` if `go_on` says no.
    ///
    /// # Errors
    /// What reading says; [`crate::Error::Sidecar`] where the index is damaged.
    pub fn fit(&self, file: &DataFile, size: u64, go_on: &dyn Fn() -> bool) -> Result<Option<Fit>> {
        self.both().fit(file, size, go_on)
    }

    /// The hashes of some blocks of the source.
    ///
    /// # Errors
    /// [`crate::Error::Sidecar`] where the index is damaged, or has none of them.
    pub fn hashes(&self, blocks: Range<u64>) -> Result<Vec<u64>> {
        self.both().hashes(blocks)
    }

    /// All of them, and that of what lies behind the blocks: those of one index of it all.
    ///
    /// # Errors
    /// [`crate::Error::Sidecar`] where the index is damaged.
    pub fn all_hashes(&self) -> Result<Vec<u64>> {
        self.both().all_hashes()
    }

    /// Write the file that knows the source as it was last to an empty file, as if it had been made
    /// of a source that looks like this. False if `go_on` says no.
    ///
    /// # Errors
    /// What writing says; [`crate::Error::Sidecar`] where it is damaged.
    pub fn restamp(
        &self,
        out: &File,
        source: SourceMark,
        go_on: &dyn Fn() -> bool,
    ) -> Result<bool> {
        let newest = self.newest();
        let source_mtime = u64::try_from(source.mtime_ns).unwrap_or_default();
        let header = Header { source_size: source.size, source_mtime, ..newest.header };
        let meta = Meta { source, ..newest.meta().clone() };
        newest.sealed.copy_with(&header.encode(), &meta, out, go_on)
    }

    /// Compare all of it with its checksums, and tables with each other. False if `go_on` says
    /// no.
    ///
    /// # Errors
    /// [`crate::Error::Sidecar`] with the first thing that is wrong.
    pub fn verify(&self, go_on: &dyn Fn() -> bool) -> Result<bool> {
        let all = [Some(&self.base), self.delta.as_ref()];
        for index in all.into_iter().flatten() {
            if !index.verify(go_on)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether a delta is that of a base.
fn continues(delta: &GraphIndex, base: &GraphIndex) -> bool {
    let (made, of) = (delta.meta(), base.meta());
    delta.sealed.is_delta_of(&base.sealed)
        && (&made.fields, made.reverse) == (&of.fields, of.reverse)
        && (made.max_line, made.max_depth) == (of.max_line, of.max_depth)
}
