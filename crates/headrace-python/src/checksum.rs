//! Checksums: of small files that Python writes, and of whole files of blocks.

use pyo3::prelude::*;

use crate::{error::to_python, source::File};

/// XXH3 of the first `size` bytes of `file`, as the metadata of a set writes it.
#[pyfunction]
pub(crate) fn digest(py: Python<'_>, file: &File, size: u64) -> PyResult<String> {
    let digest = py.detach(|| headrace_core::input::digest(&file.data, size));
    Ok(format!("xxh3:{:016x}", digest.map_err(to_python)?))
}

/// The CRC32C of `data`.
#[pyfunction]
pub(crate) fn crc32c(data: &[u8]) -> u32 {
    headrace_core::crc32c(data)
}
