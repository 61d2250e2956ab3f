//! Index files: tables that a header leads to, and behind them what proves that they are whole and
//! those of a source.
//!
//! What stands in the tables is the business of each kind of index ([`keys`](crate::keys),
//! [`graph`](crate::graph)); their [`trailer`] is the same, and so is how blocks are
//! [`checked`] when they are touched, and how a source is compared with what an index was made of.

mod base_delta;
pub mod checked;
pub(crate) mod hash_search;
mod made_of;
mod part;
pub mod source_hashes;
#[cfg(test)]
pub(crate) mod testing;
pub mod trailer;

pub use base_delta::{AnyBaseDelta, BaseDelta, IndexFile};
pub use made_of::MadeOf;
pub(crate) use part::Part;
pub use trailer::{About, Lines, SourceHashes, SourceMark};
pub(crate) use trailer::{Sealed, contradiction, id_text};

use crate::Error;

/// Bytes of the header of every index.
pub const HEADER_BYTES: usize = 64;

pub(crate) fn unusable(offset: u64, reason: impl Into<String>) -> Error {
    Error::Sidecar { offset, reason: reason.into() }
}

/// The next multiple of 8.
pub fn aligned(offset: u64) -> u64 {
    offset.next_multiple_of(8)
}

/// So many bytes; the callers know that they are there.
pub(crate) fn chunk<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
}
