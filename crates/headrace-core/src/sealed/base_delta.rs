//! An index in two files: the *base*, and the *delta* of the rows appended to the source since.
//!
//! A delta has the format of an index and names the build that it continues and its first byte.
//! The base covers the rows before that byte, the delta those from it on, so results come in the
//! order of the source. Most indexes are a base without a delta.

use std::{fs::File, ops::Range};

use super::{
    About, HEADER_BYTES, SourceMark, id_text,
    source_hashes::{Both, Fit},
    trailer::Sealed,
    unusable,
};
use crate::{Result, input::DataFile};

/// The file of a key index or a graph index.
pub trait IndexFile: Sized {
    /// The metadata in its trailer.
    type Meta: About;

    /// The name of the kind, for errors.
    const NAME: &'static str;

    /// The file, opened and checked.
    fn sealed(&self) -> &Sealed<Self::Meta>;

    /// The version of the format.
    fn version(&self) -> u32;

    /// The header of the same tables, with the size and time of another source.
    fn header_with(&self, source: &SourceMark) -> [u8; HEADER_BYTES];

    /// Whether both index the same fields in the same mode.
    fn is_like(&self, other: &Self) -> bool;

    /// The metadata in its trailer.
    fn meta(&self) -> &Self::Meta {
        &self.sealed().meta
    }

    /// The hash that names the build.
    fn build_id(&self) -> u64 {
        self.sealed().build_id
    }

    /// Bytes of the file.
    fn size(&self) -> u64 {
        self.sealed().size
    }

    /// Whether this is the delta of `base`.
    fn continues(&self, base: &Self) -> bool {
        let id = id_text(base.build_id());
        made_of(self).is_delta_of(made_of(base), &id) && self.is_like(base)
    }

    /// Check the checksums of the whole file and compare its tables with each other. False if
    /// `go_on` returned false.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] with the first fault.
    fn verify(&self, go_on: &dyn Fn() -> bool) -> Result<bool>;
}

/// A base, and its delta if there is one.
pub struct BaseDelta<I> {
    base: I,
    delta: Option<I>,
}

impl<I: IndexFile> BaseDelta<I> {
    /// Pair a base with its delta.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] if `base` is a delta, or `delta` is not one of `base`.
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

    /// The base.
    pub fn base(&self) -> &I {
        &self.base
    }

    /// The delta, if any.
    pub fn delta(&self) -> Option<&I> {
        self.delta.as_ref()
    }

    /// The newer file: the delta, or the base without one.
    pub fn newest(&self) -> &I {
        self.delta.as_ref().unwrap_or(&self.base)
    }

    /// The byte behind the rows that the base covers.
    pub fn base_ends(&self) -> u64 {
        self.delta.as_ref().map_or(u64::MAX, |delta| made_of(delta).first_byte())
    }

    /// Base and delta, each with the byte behind the rows that it covers.
    pub fn parts(&self) -> impl Iterator<Item = (&I, u64)> {
        let delta = self.delta.as_ref().map(|delta| (delta, u64::MAX));
        [(&self.base, self.base_ends())].into_iter().chain(delta)
    }

    fn both(&self) -> Both<'_, I::Meta> {
        Both { base: self.base.sealed(), newest: self.newest().sealed() }
    }
}

/// The operations of base and delta that do not depend on the kind of index.
pub trait AnyBaseDelta: Send + Sync {
    /// For base and delta: the metadata as JSON, the version and the size.
    fn files(&self) -> Vec<(String, u32, u64)>;

    /// The build of the base.
    fn build_id(&self) -> u64;

    /// How much of a source with `size` bytes on disk is the source that was indexed. `None` if
    /// `go_on` returned false.
    ///
    /// # Errors
    /// Errors of reading; [`crate::ErrorKind::Sidecar`] if the index is damaged.
    fn fit(&self, file: &DataFile, size: u64, go_on: &dyn Fn() -> bool) -> Result<Option<Fit>>;

    /// The stored hashes of some blocks of the source.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] if the index is damaged, or has no hash for one of them.
    fn hashes(&self, blocks: Range<u64>) -> Result<Vec<u64>>;

    /// The hashes of all blocks and of the bytes behind the last one, as one index of the whole
    /// source has them.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] if the index is damaged.
    fn all_hashes(&self) -> Result<Vec<u64>>;

    /// Copy the newer file to the empty file `out`, with the size and time of `source`. False if
    /// `go_on` returned false.
    ///
    /// # Errors
    /// Errors of writing; [`crate::ErrorKind::Sidecar`] if it is damaged.
    fn restamp(&self, out: &File, source: SourceMark, go_on: &dyn Fn() -> bool) -> Result<bool>;

    /// Check the checksums of both files and compare their tables. False if `go_on` returned
    /// false.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] with the first fault.
    fn verify(&self, go_on: &dyn Fn() -> bool) -> Result<bool>;
}

impl<I: IndexFile + Send + Sync> AnyBaseDelta for BaseDelta<I> {
    fn files(&self) -> Vec<(String, u32, u64)> {
        let facts = |index: &I| (index.meta().to_json(), index.version(), index.size());
        self.parts().map(|(index, _)| facts(index)).collect()
    }

    fn build_id(&self) -> u64 {
        self.base.build_id()
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
        let mut meta = newest.meta().clone();
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

fn made_of<I: IndexFile>(index: &I) -> &super::MadeOf {
    index.meta().made_of()
}
