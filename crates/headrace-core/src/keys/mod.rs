//! The key index, `.jnx`: from the value of a field to the rows that have it.
//!
//! A *key* is the text of a field's value, or of several; how it is written does not count, so
//! that `1.0` and `1` are one key. A *posting* is the byte at which a row with the key begins.
//! The index is coarse, the source decides: whoever looks a key up reads the rows that the index
//! names, and takes those that have the key.
//!
//! Two forms of the file exist, [`v1`](layout) with the texts of the keys, and the compact v2 with
//! fingerprints of them; both end with the [`trailer`](crate::sealed::trailer), which has a checksum for each 4 KiB.

pub mod candidates;
mod compare;
pub mod continued;
pub mod fields;
pub mod index;
pub mod join;
pub mod layout;
mod meta;
mod number;
pub mod request;
pub mod rows;
pub mod runs;
pub mod scan;
pub mod set_segments;
pub mod shuffle_packets;
mod table_rows;
#[cfg(test)]
mod tests;
mod verify;
pub mod write;
mod write_compact;

pub use candidates::Candidates;
pub use continued::Continued;
pub use fields::{KeyFields, KeyReader, NoKey, Read};
pub use index::KeyIndex;
pub use meta::Meta;
pub use request::Request;
pub use rows::Lookup;
pub use runs::Runs;
pub use scan::{KeyScan, Skipped};
pub use set_segments::{Found, SetSegments};
pub use shuffle_packets::ShufflePackets;

pub use write::write;

use xxhash_rust::xxh3::xxh3_64;

/// The hash that keys are sorted by.
pub fn hash(key: &[u8]) -> u64 {
    xxh3_64(key)
}
