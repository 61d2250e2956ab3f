//! All kinds of indexes: their metadata, and whether they fit a source.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use headrace_core::{
    Error, ErrorKind, Result,
    input::DataFile,
    sealed::{self, AnyBaseDelta, BaseDelta, Fit, IndexFile, Lines, MadeOf, SourceMark},
};
use pyo3::prelude::*;

use crate::{error::to_python, signals, source::File};

/// How many rows are looked at before a lock is given up.
pub(crate) const ROWS_AT_ONCE: usize = 4096;

/// Lines by kind; see `headrace.kernel.index_meta.Lines`.
#[derive(FromPyObject)]
pub(crate) struct PyLines {
    lines: u64,
    blank: u64,
    bad: u64,
    missing: u64,
    null: u64,
    nested: u64,
    too_long: u64,
    pending: u64,
}

impl From<PyLines> for Lines {
    fn from(counts: PyLines) -> Self {
        let PyLines { lines, blank, bad, missing, null, nested, too_long, pending } = counts;
        Self { lines, blank, bad, missing, null, nested, too_long, pending }
    }
}

/// The state of a source on disk; see `headrace.kernel.index_meta.SourceMark`.
#[derive(FromPyObject)]
pub(crate) struct PySourceMark {
    size: u64,
    mtime_ns: i64,
    ctime_ns: i64,
    device: u64,
    inode: u64,
    head_hash: String,
    tail_hash: String,
    codec: String,
}

impl From<PySourceMark> for SourceMark {
    fn from(source: PySourceMark) -> Self {
        let PySourceMark { size, mtime_ns, ctime_ns, device, inode, head_hash, tail_hash, codec } =
            source;
        Self { size, mtime_ns, ctime_ns, device, inode, head_hash, tail_hash, codec }
    }
}

/// What an index is made of; see `headrace.kernel.index_meta.MadeOf`.
#[derive(FromPyObject)]
pub(crate) struct PyMadeOf {
    max_line: u64,
    max_depth: u32,
    logical_size: u64,
    coverage_end: u64,
    hashed: u64,
    source: PySourceMark,
    last: Option<String>,
}

impl From<PyMadeOf> for MadeOf {
    fn from(made: PyMadeOf) -> Self {
        let PyMadeOf { max_line, max_depth, logical_size, coverage_end, hashed, source, last } =
            made;
        let source = source.into();
        Self {
            max_line,
            max_depth,
            logical_size,
            coverage_end,
            hashed,
            source,
            last,
            base: None,
            covers: None,
        }
    }
}

/// The hashes of the blocks of `[start, end)` of a file.
#[pyfunction]
pub(crate) fn hash_blocks(py: Python<'_>, file: &File, start: u64, end: u64) -> PyResult<Vec<u64>> {
    py.detach(|| sealed::hash_blocks(&file.data, start, end)).map_err(to_python)
}

/// The hash of all of `[start, end)` of a file.
#[pyfunction]
pub(crate) fn hash_all(py: Python<'_>, file: &File, start: u64, end: u64) -> PyResult<u64> {
    py.detach(|| sealed::hash_all(&file.data, start, end)).map_err(to_python)
}

/// An empty file that is there, to be written.
pub(crate) fn open_empty(path: &Path) -> Result<fs::File> {
    Ok(fs::OpenOptions::new().read(true).write(true).open(path)?)
}

/// The records that a thread collects for an index.
pub(crate) struct Collected<R> {
    runs: Mutex<Option<R>>,
    /// Why they are full or broken. Kept apart: it is not an error of the source that is read.
    failure: Mutex<Option<Error>>,
}

impl<R: Send> Collected<R> {
    pub(crate) fn new(runs: R) -> Self {
        Self { runs: Mutex::new(Some(runs)), failure: Mutex::default() }
    }

    /// Use them under the lock.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut R) -> Result<T>) -> Result<T> {
        work(self.lock().as_mut().ok_or_else(used_up)?)
    }

    /// Note that nothing more can be put into them.
    pub(crate) fn fail(&self, failure: Error) {
        *self.failure() = Some(failure);
    }

    /// Sort what is there, or put it away. Raises an earlier failure as well.
    pub(crate) fn finish(
        &self,
        py: Python<'_>,
        sort: impl FnOnce(&mut R) -> Result<()> + Send,
    ) -> PyResult<()> {
        py.detach(|| match self.failure().take() {
            Some(failure) => Err(failure),
            None => self.with(sort),
        })
        .map_err(to_python)
    }

    /// Take them; they cannot be used again.
    pub(crate) fn take(&self) -> Result<R> {
        self.lock().take().ok_or_else(used_up)
    }

    fn lock(&self) -> MutexGuard<'_, Option<R>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failure(&self) -> MutexGuard<'_, Option<Error>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn used_up() -> Error {
    Error::at(ErrorKind::Sidecar, 0, "these runs are in an index already")
}

/// An index of some kind that was opened, with or without a delta.
#[pyclass(frozen, subclass, module = "headrace._native")]
pub(crate) struct SealedIndex {
    index: Arc<dyn AnyBaseDelta>,
    /// Of each file what it is of, its version and its size.
    files: Vec<(String, u32, u64)>,
}

impl SealedIndex {
    pub(crate) fn of<I: IndexFile + Send + Sync + 'static>(index: &Arc<BaseDelta<I>>) -> Self {
        let index: Arc<dyn AnyBaseDelta> = Arc::<BaseDelta<I>>::clone(index);
        Self { files: index.files(), index }
    }
}

/// Open an index, and its delta.
pub(crate) fn open_base_delta<I: IndexFile + Send>(
    py: Python<'_>,
    path: PathBuf,
    delta: Option<PathBuf>,
    open: fn(DataFile) -> Result<I>,
) -> PyResult<Arc<BaseDelta<I>>> {
    let open = |path: PathBuf| open(DataFile::open(&path)?);
    py.detach(|| BaseDelta::new(open(path)?, delta.map(open).transpose()?))
        .map(Arc::new)
        .map_err(to_python)
}

#[pymethods]
impl SealedIndex {
    /// The metadata, as JSON.
    #[getter]
    fn meta(&self) -> &str {
        &self.files[0].0
    }

    /// Its version.
    #[getter]
    fn version(&self) -> u32 {
        self.files[0].1
    }

    /// Bytes of the file.
    #[getter]
    fn size(&self) -> u64 {
        self.files[0].2
    }

    /// The hash of what it is of.
    #[getter]
    fn build_id(&self) -> u64 {
        self.index.build_id()
    }

    /// What the delta is of, its version and its size.
    #[getter]
    fn delta(&self) -> Option<(String, u32, u64)> {
        self.files.get(1).cloned()
    }

    /// Compare all of it with its checksums, and its tables with each other.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.index.verify(&|| !signals::caught())).map_err(to_python)?;
        signals::raised()
    }

    /// How much of a file with `size` bytes on disk is what the index was made of: `whole`, what it
    /// `covered`, or `None`.
    fn fit(&self, py: Python<'_>, file: &File, size: u64) -> PyResult<Option<&'static str>> {
        let fit = py
            .detach(|| self.index.fit(&file.data, size, &|| !signals::caught()))
            .map_err(to_python)?;
        signals::raised()?;
        Ok(match fit {
            Some(Fit::Whole) => Some("whole"),
            Some(Fit::Covered) => Some("covered"),
            Some(Fit::Not) | None => None,
        })
    }

    /// The hashes of blocks `first` up to `end` of the source.
    fn hashes(&self, py: Python<'_>, first: u64, end: u64) -> PyResult<Vec<u64>> {
        py.detach(|| self.index.hashes(first..end)).map_err(to_python)
    }

    /// All of them, and that of what lies behind the blocks.
    fn all_hashes(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        py.detach(|| self.index.all_hashes()).map_err(to_python)
    }

    /// Write its newest file to the empty file at `path`, as if it had been made of a source that
    /// looks like this.
    fn restamp(&self, py: Python<'_>, path: PathBuf, source: PySourceMark) -> PyResult<()> {
        let written = py.detach(|| {
            self.index.restamp(&open_empty(&path)?, source.into(), &|| !signals::caught())
        });
        written.map_err(to_python)?;
        signals::raised()
    }
}
