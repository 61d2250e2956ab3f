//! An index in two files: the *base*, and the *delta* of what was appended to the source since.
//!
//! A delta has the format of an index, and says which build it continues, and from which byte on.
//! The base answers for the rows before that byte, the delta for the others, so what is found is
//! in the order of the file. A base without a delta is the usual case.

use std::{fs::File, ops::Range};

use super::{
    About, HEADER_BYTES, SourceMark, id_text,
    source_hashes::{Both, Fit},
    trailer::Sealed,
    unusable,
};
use crate::{Result, input::DataFile};

/// What a kind of index has to say of itself.
pub trait Index: Sized {
    /// What it says of its source.
    type Meta: About;

    /// What it is called.
    const NAME: &'static str;

    /// The file.
    fn sealed(&self) -> &Sealed<Self::Meta>;

    /// Its version.
    fn version(&self) -> u32;

    /// The header of the same tables, made of a source that looks like this.
    fn header_with(&self, source: &SourceMark) -> [u8; HEADER_BYTES];

    /// Whether it is of the same fields of rows, in the same way.
    fn is_like(&self, other: &Self) -> bool;

    /// Whether it is the delta of a base.
    fn continues(&self, base: &Self) -> bool {
        let id = id_text(base.sealed().build_id);
        made_of(self).is_delta_of(made_of(base), &id) && self.is_like(base)
    }

    /// Compare all of it with its checksums, and its tables with each other. False if `go_on`
    /// says no.
    ///
    /// # Errors
    /// [`crate::Error::Sidecar`] with the first thing that is wrong.
    fn verify(&self, go_on: &dyn Fn() -> bool) -> Result<bool>;
}

/// A base, and its delta if there is one.
pub struct Segments<I> {
    base: I,
    delta: Option<I>,
}

impl<I: Index> Segments<I> {
    /// These two.
    ///
    /// # Errors
    /// [`crate::Error::Sidecar`] where the first is a delta, or the second is not that of the
    /// first.
    pub fn new(base: I, delta: Option<I>) -> Result<Self> {
        let name = I::NAME;
        if made_of(&base).covers.is_some() {
            return Err(unusable(0, format!("the delta of a {name}, not a {name}")));
        }
        if delta.as_ref().is_some_and(|delta| !delta.continues(&base)) {
            return Err(unusable(0, format!("the delta of another {name}")));
        }
        Ok(Self { base, delta })
    }

    /// The index of the first rows.
    pub fn base(&self) -> &I {
        &self.base
    }

    /// The index of the rows behind those.
    pub fn delta(&self) -> Option<&I> {
        self.delta.as_ref()
    }

    /// The one that knows the source as it was last.
    pub fn newest(&self) -> &I {
        self.delta.as_ref().unwrap_or(&self.base)
    }

    /// The byte from which on rows are not the business of the base.
    pub fn base_ends(&self) -> u64 {
        self.delta.as_ref().map_or(u64::MAX, |delta| made_of(delta).first_byte())
    }

    /// Each of them, and the byte from which on rows are not its business.
    pub fn parts(&self) -> impl Iterator<Item = (&I, u64)> {
        let delta = self.delta.as_ref().map(|delta| (delta, u64::MAX));
        [(&self.base, self.base_ends())].into_iter().chain(delta)
    }

    fn both(&self) -> Both<'_, I::Meta> {
        Both { base: self.base.sealed(), newest: self.newest().sealed() }
    }
}

/// What can be asked of an index of any kind.
pub trait AnySegments: Send + Sync {
    /// What base and delta say of themselves, as JSON, their versions and their sizes.
    fn files(&self) -> Vec<(String, u32, u64)>;

    /// The hash of what the base is of.
    fn build_id(&self) -> u64;

    /// How much of a source that has `size` bytes on disk is what the index was made of.
    /// `None` if `go_on` says no.
    ///
    /// # Errors
    /// What reading says; [`crate::Error::Sidecar`] where the index is damaged.
    fn fit(&self, file: &DataFile, size: u64, go_on: &dyn Fn() -> bool) -> Result<Option<Fit>>;

    /// The hashes of some blocks of the source.
    ///
    /// # Errors
    /// [`crate::Error::Sidecar`] where the index is damaged, or has none of them.
    fn hashes(&self, blocks: Range<u64>) -> Result<Vec<u64>>;

    /// All of them, and that of what lies behind the blocks: those of one index of it all.
    ///
    /// # Errors
    /// [`crate::Error::Sidecar`] where the index is damaged.
    fn all_hashes(&self) -> Result<Vec<u64>>;

    /// Write the file that knows the source as it was last, the delta or a base without one, to an
    /// empty file, as if it had been made of a source that looks like this. False if `go_on`
    /// says no.
    ///
    /// # Errors
    /// What writing says; [`crate::Error::Sidecar`] where it is damaged.
    fn restamp(&self, out: &File, source: SourceMark, go_on: &dyn Fn() -> bool) -> Result<bool>;

    /// Compare all of it with its checksums, and tables with each other. False if `go_on` says
    /// no.
    ///
    /// # Errors
    /// [`crate::Error::Sidecar`] with the first thing that is wrong.
    fn verify(&self, go_on: &dyn Fn() -> bool) -> Result<bool>;
}

impl<I: Index + Send + Sync> AnySegments for Segments<I> {
    fn files(&self) -> Vec<(String, u32, u64)> {
        let said =
            |index: &I| (index.sealed().meta.to_json(), index.version(), index.sealed().size);
        self.parts().map(|(index, _)| said(index)).collect()
    }

    fn build_id(&self) -> u64 {
        self.base.sealed().build_id
    }

    fn fit(&self, file: &DataFile, size: u64, go_on: &dyn Fn() -> bool) -> Result<Option<Fit>> {
        self.both().fit(file, size, go_on)
    }

    fn hashes(&self, blocks: Range<u64>) -> Result<Vec<u64>> {
        self.both().hashes(blocks)
    }

    fn all_hashes(&self) -> Result<Vec<u64>> {
        self.both().all_hashes()
    }

    fn restamp(&self, out: &File, source: SourceMark, go_on: &dyn Fn() -> bool) -> Result<bool> {
        let newest = self.newest();
        let header = newest.header_with(&source);
        let mut meta = newest.sealed().meta.clone();
        meta.made_of_mut().source = source;
        newest.sealed().copy_with(&header, &meta, out, go_on)
    }

    fn verify(&self, go_on: &dyn Fn() -> bool) -> Result<bool> {
        for (index, _) in self.parts() {
            if !index.verify(go_on)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn made_of<I: Index>(index: &I) -> &super::MadeOf {
    index.sealed().meta.made_of()
}
