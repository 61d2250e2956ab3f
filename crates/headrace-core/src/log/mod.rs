//! The loops of the append log: lines to index entries, and both against each other.
//!
//! A segment of a log is a file of lines and an index with one [`Entry`] for each. Lines are
//! checked once, when they are given ([`Lines`]); entries are made when they are written, since
//! only then is their place ([`Place`]) and their time ([`Clock`]) known. After a crash, lines
//! that have no entry are read again ([`TailScan`]), and entries are compared with what they
//! say of themselves and of the data ([`verify`]). Readers compare every line with its entry
//! ([`CheckedSegment`], [`CheckedRead`]). Lines are read by their times ([`span`],
//! [`select`]), and those of several logs in the order of their times ([`Merge`]). Which file is what, and when anything is
//! written, is decided in Python (`store/log/`). Format: `docs/formats/log.md`.

mod by_time;
mod clock;
mod entry;
mod lines;
mod merge;
mod moment;
mod scan;
mod segment_reader;
mod verify;

#[cfg(test)]
mod merge_tests;
#[cfg(test)]
mod segment_reader_tests;
#[cfg(test)]
mod tests;

pub use by_time::{select, span};
pub use clock::{Clock, EventTime, Late};
pub use entry::{ENTRY_BYTES, Entry, HEADER_BYTES, Place, flag};
pub use lines::{Checking, Lines, Refusal};
pub use merge::{Form, Limit, Merge, Merged, PICK_BYTES, Pause};
pub use scan::{Stop, TailScan};
pub use segment_reader::{CheckedRead, CheckedSegment, SegmentEntries};
pub use verify::{Fault, Verified, verify, verify_lines};
