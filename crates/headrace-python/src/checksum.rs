//! Checksums of small files that Python writes.

use pyo3::prelude::*;

/// The CRC32C of `data`.
#[pyfunction]
pub(crate) fn crc32c(data: &[u8]) -> u32 {
    headrace_core::crc32c(data)
}
