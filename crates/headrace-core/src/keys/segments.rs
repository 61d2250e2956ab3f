//! A key index, and the delta of it if there is one: a file each, or as many [`Pieces`] each.

use std::ops::Range;

use super::{KeyIndex, KeyReader, Lookup, Meta, Pieces, Request, layout::Header};
use crate::{
    Result,
    rows::RowBatch,
    sealed::{HEADER_BYTES, SourceMark, segments::Index, trailer::Sealed},
};

/// A base, and its delta if there is one.
pub type Segments = crate::sealed::Segments<Pieces>;

impl Index for KeyIndex {
    type Meta = Meta;

    const NAME: &'static str = "key index";

    fn sealed(&self) -> &Sealed<Meta> {
        &self.sealed
    }

    fn version(&self) -> u32 {
        self.header.version()
    }

    fn header_with(&self, source: &SourceMark) -> [u8; HEADER_BYTES] {
        let (source_size, source_mtime) = source.in_header();
        Header { source_size, source_mtime, ..self.header }.encode()
    }

    fn is_like(&self, other: &Self) -> bool {
        let (made, of) = (self.meta(), other.meta());
        (&made.key, &made.mode) == (&of.key, &of.mode)
    }

    fn verify(&self, go_on: &dyn Fn() -> bool) -> Result<bool> {
        KeyIndex::verify(self, go_on)
    }
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
            let (file, first) = index.of(request.hash);
            let all = numbers.start.saturating_sub(first)..numbers.end.saturating_sub(first);
            let next = part.postings(file, all, request, reader, max_bytes, batch)?;
            numbers.start = next + first;
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
}
