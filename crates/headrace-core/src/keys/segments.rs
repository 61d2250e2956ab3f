//! An index in two files: the *base*, and the *delta* of what was appended to the source since.
//!
//! A delta has the format of an index, and says which build it continues, and from which byte on.
//! The base answers for the rows before that byte, the delta for the others, so what is found is
//! in the order of the file. A base without a delta is the usual case.

use std::ops::Range;

use super::{KeyIndex, KeyReader, Lookup, Meta, Request};
use crate::{
    Result,
    input::DataFile,
    rows::RowBatch,
    sealed::{About, Both, source_hashes::Fit, unusable},
};

/// A base, and its delta if there is one.
pub struct Segments {
    base: KeyIndex,
    delta: Option<KeyIndex>,
}

/// The numbers of the postings that may be those of a key, in base and delta.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found(pub [Range<u64>; 2]);

impl Found {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Range::is_empty)
    }
}

impl Segments {
    /// These two.
    ///
    /// # Errors
    /// [`crate::Error::Sidecar`] where the first is a delta, or the second is not that of the
    /// first.
    pub fn new(base: KeyIndex, delta: Option<KeyIndex>) -> Result<Self> {
        if base.meta().covers.is_some() {
            return Err(unusable(0, "the delta of a key index, not a key index"));
        }
        if delta.as_ref().is_some_and(|delta| !continues(delta, &base)) {
            return Err(unusable(0, "the delta of another key index"));
        }
        Ok(Self { base, delta })
    }

    /// The index of the first rows.
    pub fn base(&self) -> &KeyIndex {
        &self.base
    }

    /// The index of the rows behind those.
    pub fn delta(&self) -> Option<&KeyIndex> {
        self.delta.as_ref()
    }

    /// The one that knows the source as it was last.
    pub fn newest(&self) -> &KeyIndex {
        self.delta.as_ref().unwrap_or(&self.base)
    }

    /// Each of them, and the byte from which on rows are not its business.
    pub fn parts(&self) -> impl Iterator<Item = (&KeyIndex, u64)> {
        let begins = self.delta.as_ref().map_or(u64::MAX, |delta| delta.meta().first_byte());
        [(&self.base, begins)].into_iter().chain(self.delta.as_ref().map(|delta| (delta, u64::MAX)))
    }

    /// The postings that may be those of a key; see [`KeyIndex::find`].
    ///
    /// # Errors
    /// [`crate::Error::Sidecar`] where a file is damaged, or has too many keys with one hash.
    pub fn find(&self, request: &Request) -> Result<Found> {
        let mut found = Found::default();
        for ((index, _), numbers) in self.parts().zip(&mut found.0) {
            *numbers = index.find(request)?;
        }
        Ok(found)
    }

    /// Add the rows of postings that have the key to `batch`, until it holds `max_bytes`;
    /// what was not looked at stays in `found`. See [`Lookup::postings`].
    ///
    /// # Errors
    /// What reading says; [`crate::Error::Sidecar`] where the index is not that of the source.
    pub fn rows(
        &self,
        source: &Lookup<'_>,
        found: &mut Found,
        request: &Request,
        reader: &mut KeyReader,
        max_bytes: usize,
        batch: &mut RowBatch,
    ) -> Result<()> {
        for ((index, below), numbers) in self.parts().zip(&mut found.0) {
            let part = Lookup { below: below.min(source.below), ..*source };
            let all = numbers.clone();
            numbers.start = part.postings(index, all, request, reader, max_bytes, batch)?;
            if !numbers.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Where the first row with a key begins.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn first(
        &self,
        source: &Lookup<'_>,
        request: &Request,
        reader: &mut KeyReader,
    ) -> Result<Option<u64>> {
        let mut found = self.find(request)?;
        let mut batch = RowBatch::default();
        if !found.is_empty() {
            self.rows(source, &mut found, request, reader, 1, &mut batch)?;
        }
        Ok(batch.offsets.first().copied())
    }

    /// Compare all of it with its checksums, and tables with each other. False if `go_on` says
    /// no.
    ///
    /// # Errors
    /// [`crate::Error::Sidecar`] with the first thing that is wrong.
    pub fn verify(&self, go_on: &dyn Fn() -> bool) -> Result<bool> {
        for (index, _) in self.parts() {
            if !index.verify(go_on)? {
                return Ok(false);
            }
        }
        Ok(true)
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
}

/// Whether a delta is that of a base.
fn continues(delta: &KeyIndex, base: &KeyIndex) -> bool {
    let (made, of) = (delta.meta(), base.meta());
    delta.sealed.is_delta_of(&base.sealed)
        && (&made.key, &made.mode) == (&of.key, &of.mode)
        && (made.max_line, made.max_depth) == (of.max_line, of.max_depth)
}
