//! Row indexes: building, looking up, keeping.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use headrace_core::{
    input::{DataFile, Stat},
    rows::{
        self,
        checkpoint_file::{self, CheckpointFile, Fingerprint, Header},
    },
};
use pyo3::{prelude::*, types::PyBytes};

use crate::{
    batch::RowBatch,
    blocks::BlockTable,
    error::to_python,
    source::{Decoding, File, Source},
};

/// The row index of a source: the checkpoint of every `interval`-th row.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct RowIndex {
    index: rows::RowIndex,
}

impl RowIndex {
    pub(crate) fn new_of(index: rows::RowIndex) -> Self {
        Self { index }
    }

    fn stored(file: DataFile) -> headrace_core::Result<(Self, SidecarSource)> {
        let file = CheckpointFile::open(file)?;
        let made = SidecarSource::from(file.header());
        Ok((Self { index: rows::RowIndex::stored(file)? }, made))
    }
}

#[pymethods]
impl RowIndex {
    #[new]
    fn new(interval: u64) -> Self {
        Self { index: rows::RowIndex::new(interval) }
    }

    /// A finished index of known checkpoints: see the core's function.
    #[staticmethod]
    #[pyo3(signature = (interval, offsets, total_rows, size, *, terminated = true, bom = false))]
    fn known(
        interval: u64,
        offsets: Vec<u64>,
        total_rows: u64,
        size: u64,
        terminated: bool,
        bom: bool,
    ) -> Self {
        let summary =
            rows::Summary { total_rows, logical_size: size, last_row_terminated: terminated, bom };
        Self { index: rows::RowIndex::known(interval, offsets, summary) }
    }

    /// The index in the sidecar at `path`, with what it was made from.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<(Self, SidecarSource)> {
        py.detach(|| Self::stored(DataFile::open(&path)?)).map_err(to_python)
    }

    /// The same from the bytes of a sidecar.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: Vec<u8>) -> PyResult<(Self, SidecarSource)> {
        py.detach(|| Self::stored(DataFile::new(data))).map_err(to_python)
    }

    /// The blocks that the index is of, if it is.
    #[getter]
    fn blocks(&self) -> Option<BlockTable> {
        self.index.blocks().map(BlockTable::new)
    }

    /// The bytes of a sidecar for this finished index of `file`, which is `codec`-compressed.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        file: &File,
        stat: (u64, i64, i64),
        codec: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| {
            let fingerprint = Fingerprint::take(&file.data, stat_of(stat))?;
            let checkpoints = self.index.checkpoints()?;
            let entries = checkpoints.len() as u64;
            let header = Header::new(
                &fingerprint,
                codec,
                self.index.interval(),
                entries,
                self.index.summary(),
            );
            checkpoint_file::encode(&header, &checkpoints)
        });
        Ok(PyBytes::new(py, &bytes.map_err(to_python)?))
    }

    /// An index that goes on from the last checkpoint of this one.
    fn resume(&self, py: Python<'_>) -> PyResult<Self> {
        let index = py.detach(|| self.index.resume()).map_err(to_python)?;
        Ok(Self { index })
    }

    /// Byte offset of the nearest checkpoint at or before `row`, and the rows to skip from there.
    fn checkpoint(&self, row: u64) -> PyResult<(u64, u64)> {
        self.index.checkpoint(row).map_err(to_python)
    }

    /// All checkpoints.
    fn checkpoints(&self) -> PyResult<Vec<u64>> {
        self.index.checkpoints().map_err(to_python)
    }

    /// Rows found so far.
    #[getter]
    fn total_rows(&self) -> u64 {
        self.index.total_rows()
    }

    /// Decoded bytes looked at so far.
    #[getter]
    fn scanned(&self) -> u64 {
        self.index.scanned()
    }

    /// Whether the last row ends with a newline, once the whole source has been scanned.
    #[getter]
    fn terminated(&self) -> bool {
        self.index.summary().last_row_terminated
    }

    /// Whether the source begins with a byte order mark, once all of it has been scanned.
    #[getter]
    fn bom(&self) -> bool {
        self.index.summary().bom
    }

    /// Whether the whole source has been scanned.
    #[getter]
    fn complete(&self) -> bool {
        self.index.complete()
    }

    /// Rows `first` to `first + count` of `file`, as many as `max_bytes` and `size` allow.
    #[pyo3(signature = (file, *, size, first, count, max_line, max_bytes))]
    fn read(
        &self,
        py: Python<'_>,
        file: &File,
        size: u64,
        first: u64,
        count: usize,
        max_line: usize,
        max_bytes: usize,
    ) -> PyResult<RowBatch> {
        let limits = rows::ReadLimits { max_line, max_rows: count, max_bytes };
        let batch = py.detach(|| rows::read_at_row(&file.data, &self.index, size, first, &limits));
        Ok(RowBatch::new(batch.map_err(to_python)?))
    }
}

/// The file that a sidecar was made from: size, times, hashes of its ends, codec and identity.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub(crate) struct SidecarSource {
    size: u64,
    mtime_ns: i64,
    ctime_ns: i64,
    head_hash: String,
    tail_hash: String,
    codec: String,
    file: String,
}

impl From<&Header> for SidecarSource {
    fn from(header: &Header) -> Self {
        Self {
            size: header.size,
            mtime_ns: header.mtime_ns,
            ctime_ns: header.ctime_ns,
            head_hash: header.head_hash.clone(),
            tail_hash: header.tail_hash.clone(),
            codec: header.codec.clone(),
            file: header.file.clone(),
        }
    }
}

fn stat_of((size, mtime_ns, ctime_ns): (u64, i64, i64)) -> Stat {
    Stat { size, mtime_ns, ctime_ns }
}

/// A row index under construction.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct IndexBuild {
    build: Mutex<rows::IndexBuild>,
    index: Py<RowIndex>,
    copy: Option<Py<File>>,
}

#[pymethods]
impl IndexBuild {
    /// Scan `source` up to byte `size`, from where `index` ends. With `copy_dir` the decoded
    /// bytes are kept in a nameless file there, for reading by position.
    #[new]
    #[pyo3(signature = (source, codec, *, size, index, copy_dir = None, decoding = None))]
    fn new(
        py: Python<'_>,
        source: Source<'_>,
        codec: &str,
        size: u64,
        index: Py<RowIndex>,
        copy_dir: Option<PathBuf>,
        decoding: Option<Decoding>,
    ) -> PyResult<Self> {
        let decoding = decoding.unwrap_or_default();
        let input = source.input(codec, index.get().index.scanned(), size, decoding)?;
        let (write, copy) = match copy_dir {
            None => (None, None),
            Some(dir) => {
                let file = rows::nameless_file(&dir)?;
                let read = File::new(DataFile::new(file.try_clone()?));
                (Some(file), Some(Py::new(py, read)?))
            }
        };
        let build = rows::IndexBuild::new(input, &index.get().index, write);
        Ok(Self { build: Mutex::new(build), index, copy })
    }

    /// Scan about `max_bytes` more; false when all is done.
    fn advance(&self, py: Python<'_>, max_bytes: u64) -> PyResult<bool> {
        let index = &self.index.get().index;
        py.detach(|| {
            let mut build = self.build.lock().unwrap_or_else(PoisonError::into_inner);
            let until = index.scanned().saturating_add(max_bytes);
            while index.scanned() < until {
                if !build.step(index)? {
                    return Ok(false);
                }
            }
            Ok(true)
        })
        .map_err(to_python)
    }

    /// The file of decoded bytes.
    #[getter]
    fn copy(&self, py: Python<'_>) -> Option<Py<File>> {
        self.copy.as_ref().map(|copy| copy.clone_ref(py))
    }
}

/// Where the run of rows begins that ends at `end`, and how many rows it holds: `max_rows`,
/// or fewer once it is longer than `max_bytes` or reaches `start`, but at least one.
#[pyfunction]
#[pyo3(signature = (file, *, start = 0, end, max_rows, max_bytes))]
pub(crate) fn reach_back(
    py: Python<'_>,
    file: &File,
    start: u64,
    end: u64,
    max_rows: u64,
    max_bytes: u64,
) -> PyResult<(u64, u64)> {
    let reach = py
        .detach(|| rows::reach_back(&file.data, start, end, max_rows, max_bytes))
        .map_err(to_python)?;
    Ok((reach.offset, reach.rows))
}
