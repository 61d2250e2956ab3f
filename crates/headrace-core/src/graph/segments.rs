//! A graph index, and the delta of it if there is one.

use super::{GraphIndex, Meta, layout::Header};
use crate::{
    Result,
    sealed::{HEADER_BYTES, SourceMark, segments::Index, trailer::Sealed},
};

/// A base, and its delta if there is one.
pub type Segments = crate::sealed::Segments<GraphIndex>;

impl Index for GraphIndex {
    type Meta = Meta;

    const NAME: &'static str = "graph index";

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
        (&made.fields, made.reverse) == (&of.fields, of.reverse)
    }

    fn verify(&self, go_on: &dyn Fn() -> bool) -> Result<bool> {
        GraphIndex::verify(self, go_on)
    }
}
