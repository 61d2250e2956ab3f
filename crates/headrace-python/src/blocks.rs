//! The blocks of compressed files.

use std::sync::Arc;

use headrace_core::{
    DamagedBlock, Error, ErrorKind,
    blocks::{self, BlockFile, Coding, member, seek_table},
    input::Stat,
    rows::{self, checkpoint_file::Fingerprint},
};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};

use crate::{
    error::to_python,
    row_index::RowIndex,
    source::{Decoding, File},
};

/// Whether a file of `codec` that begins with `head` and ends with `tail` says that it is made
/// of blocks.
#[pyfunction]
pub(crate) fn has_blocks(codec: &str, head: &[u8], tail: &[u8]) -> bool {
    match Coding::of(codec) {
        Some(Coding::Gzip) => head.first_chunk().and_then(member::Header::decode).is_some(),
        Some(Coding::Zstd) => tail.last_chunk().and_then(seek_table::length).is_some(),
        Some(Coding::Plain) | None => false,
    }
}

/// A block that does not decode to what the table says.
///
/// `rows` are its first row and the one behind its last, if known.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub(crate) struct BadBlock {
    block: usize,
    offset: u64,
    rows: Option<(u64, u64)>,
    reason: String,
}

/// All blocks of one file.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct BlockTable {
    table: Arc<blocks::BlockTable>,
}

impl BlockTable {
    pub(crate) fn new(table: Arc<blocks::BlockTable>) -> Self {
        Self { table }
    }
}

#[pymethods]
impl BlockTable {
    /// The table that a file of `size` bytes has in itself, if it has one.
    #[staticmethod]
    fn find(py: Python<'_>, file: &File, codec: &str, size: u64) -> PyResult<Option<Self>> {
        let Some(coding) = Coding::of(codec) else { return Ok(None) };
        let found = py.detach(|| blocks::BlockTable::find(&file.data, coding, size));
        Ok(found.map_err(to_python)?.map(Self::new))
    }

    /// `file`, which has `size` bytes, as it is after decompression, if it may be that long.
    /// `strict`: it is never changed, so a block that is not what the table says is damaged.
    #[pyo3(signature = (file, size, decoding = None, *, strict = false))]
    fn decoded(
        &self,
        py: Python<'_>,
        file: &File,
        size: u64,
        decoding: Option<Decoding>,
        strict: bool,
    ) -> PyResult<File> {
        py.detach(|| {
            self.table.check_end(&file.data, size)?;
            decoding.unwrap_or_default().limits().check(self.table.logical_size(), size)
        })
        .map_err(to_python)?;
        Ok(file.decoded(&self.table, strict))
    }

    /// The index of its rows, if they have been counted.
    fn index(&self) -> Option<RowIndex> {
        let table = Arc::clone(&self.table);
        table.counted().then(|| RowIndex::new_of(rows::RowIndex::of_blocks(table)))
    }

    /// Where the first block that begins at byte `physical` or later begins after decompression,
    /// and the number of its first row.
    fn at_physical(&self, physical: u64) -> (u64, u64) {
        self.table.at_physical(physical)
    }

    /// The block that has the byte `offset` of the decompressed file: its number, and where it
    /// begins and ends in the file. `None` behind the last byte.
    fn at_offset(&self, offset: u64) -> Option<(usize, u64, u64)> {
        let number = self.table.at_offset(offset)?;
        let block = &self.table.blocks()[number];
        Some((number, block.physical, block.physical + u64::from(block.comp_len)))
    }

    /// The block of `row`: where it begins and ends after decompression, and its first row.
    fn at_row(&self, row: u64) -> (u64, u64, u64) {
        self.table.at_row(row).map_or((0, 0, 0), |block| {
            (block.logical, block.logical + u64::from(block.raw_len), block.first_row)
        })
    }

    /// The bytes of a sidecar for `file`, which has `size` bytes.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        file: &File,
        size: u64,
        codec: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        if !(self.table.counted() && self.table.checked()) {
            return Err(PyValueError::new_err("its rows and checksums are not known"));
        }
        let stat = Stat { size, mtime_ns: 0, ctime_ns: 0 };
        let bytes = py.detach(|| {
            let fingerprint = Fingerprint::take(&file.data, stat)?;
            self.table.encode(codec, &fingerprint)
        });
        Ok(PyBytes::new(py, &bytes.map_err(to_python)?))
    }

    /// What is wrong with blocks `start` up to `stop` of `file`: the number of the block, its
    /// first byte, its rows if they were counted, and why.
    fn check(
        &self,
        py: Python<'_>,
        file: &File,
        start: usize,
        stop: usize,
    ) -> PyResult<Vec<BadBlock>> {
        py.detach(|| {
            let blocks = BlockFile::new(Arc::clone(&file.data), Arc::clone(&self.table));
            let mut content = Vec::new();
            let mut wrong = Vec::new();
            for at in start..stop.min(self.table.blocks().len()) {
                match blocks.decode(at, &mut content) {
                    Ok(()) => {}
                    Err(Error::DamagedBlock(found)) => {
                        let DamagedBlock { offset, rows, reason, .. } = *found;
                        wrong.push(BadBlock { block: at, offset, rows, reason });
                    }
                    Err(Error::At {
                        kind: ErrorKind::Table | ErrorKind::Sidecar,
                        offset,
                        reason,
                    }) => {
                        wrong.push(BadBlock { block: at, offset, rows: None, reason });
                    }
                    Err(error) => return Err(error),
                }
            }
            Ok(wrong)
        })
        .map_err(to_python)
    }

    /// How many blocks there are.
    fn __len__(&self) -> usize {
        self.table.blocks().len()
    }

    /// Whether each block begins with a row, and knows how many it has.
    #[getter]
    fn counted(&self) -> bool {
        self.table.counted()
    }

    /// All bytes after decompression.
    #[getter]
    fn logical_size(&self) -> u64 {
        self.table.logical_size()
    }
}
