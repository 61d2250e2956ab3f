//! Rows of JSON and columns in Arrow's layout, in both directions.
//!
//! [`read`] makes columns of the rows of a file, [`write`] makes lines of JSON of the columns of an
//! Arrow batch. Neither depends on an Arrow library: buffers are handed over as bytes.

pub mod read;
pub mod write;
