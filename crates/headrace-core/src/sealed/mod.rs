//! Index files: a header, tables, and a trailer that proves that the file is whole and fits its
//! source.
//!
//! Each kind of index ([`keys`](crate::keys), [`graph`](crate::graph)) defines its tables; all share
//! the [`trailer`], the [`checked`] reading of blocks, and the comparison with the source.

mod base_delta;
pub(crate) mod checksum_tree;
pub(crate) mod hash_search;
mod made_of;
mod source_hashes;
mod table_writer;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod trailer;

pub use base_delta::{AnyBaseDelta, BaseDelta, IndexFile};
pub use checksum_tree::{tables_length, write_tables};
pub use made_of::MadeOf;
pub use source_hashes::{Fit, hash_all, hash_blocks};
pub(crate) use table_writer::TableWriter;
pub use trailer::{About, FOOTER_BYTES, Lines, SourceHashes, SourceMark};
pub(crate) use trailer::{Sealed, contradiction, id_text};

use crate::{Error, ErrorKind};

/// Bytes of the header of every index.
pub const HEADER_BYTES: usize = 64;

pub(crate) fn unusable(offset: u64, reason: impl Into<String>) -> Error {
    Error::at(ErrorKind::Sidecar, offset, reason.into())
}

/// The next multiple of 8.
pub fn aligned(offset: u64) -> u64 {
    offset.next_multiple_of(8)
}

/// The `N` bytes at `at`, which the caller has checked to be there.
pub(crate) fn chunk<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
}
