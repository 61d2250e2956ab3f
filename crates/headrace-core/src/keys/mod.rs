//! The key index, `.jnx`: from the value of a field to the rows that have it.
//!
//! A *key* is the text of a field's value, or of several; how it is written does not count, so
//! that `1.0` and `1` are one key. A *posting* is the byte at which a row with the key begins.
//! The index is coarse: a lookup reads the rows that the index names, and keeps those that have the
//! key.
//!
//! Two forms of the file exist, [`v1`](layout) with the texts of the keys, and the compact v2 with
//! fingerprints of them; both end with the [`trailer`](crate::sealed::trailer), which has a checksum for each 4 KiB.

mod candidates;
mod compare;
mod continued_index;
mod fields;
mod index;
pub mod join;
mod layout;
mod meta;
mod number;
mod request;
mod rows;
pub(crate) mod runs;
mod scan;
mod set_segments;
mod shuffle_packets;
mod table_rows;
#[cfg(test)]
mod tests;
mod verify;
mod write;
mod write_compact;

pub use candidates::Candidates;
pub use continued_index::Continued;
pub use fields::{KeyFields, KeyReader, NoKey, Read};
pub use index::KeyIndex;
pub use meta::Meta;
pub use request::Request;
pub use rows::Lookup;
pub use runs::Runs;
pub use scan::{KeyScan, Skipped, Wanted};
pub use set_segments::{Found, SetSegments};
pub use shuffle_packets::ShufflePackets;

pub use write::{Duplicate, Outcome, Plan, Written, write};

use xxhash_rust::xxh3::xxh3_64;

/// The hash that keys are sorted by.
pub fn hash(key: &[u8]) -> u64 {
    xxh3_64(key)
}
