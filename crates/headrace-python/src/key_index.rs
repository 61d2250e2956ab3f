//! Key indexes: building, looking up, checking.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use headrace_core::{
    Error,
    input::DataFile,
    json::Limits,
    keys::{self, Continued, Found, KeyFields, Lookup, Outcome, Plan, SetSegments},
    rows,
    sealed::{BaseDelta, IndexFile, Lines},
};
use pyo3::{
    exceptions::{PyKeyboardInterrupt, PyValueError},
    prelude::*,
    types::PyBytes,
};

use crate::{
    batch::RowBatch,
    error::{KernelError, to_python},
    row_stream::RowStream,
    sealed_index::{
        Collected, PyLines, PyMadeOf, ROWS_AT_ONCE, SealedIndex, open_base_delta, open_empty,
    },
    signals,
    source::File,
};

/// A key to be looked up.
#[pyclass(frozen, eq, module = "headrace._native")]
#[derive(PartialEq)]
pub(crate) struct KeyRequest {
    request: keys::Request,
}

#[pymethods]
impl KeyRequest {
    /// The key of a JSON text, for an index with this number of fields.
    #[new]
    fn new(json: &str, fields: usize, typed: bool) -> PyResult<Self> {
        match keys::Request::parse(json, fields, typed) {
            Ok(request) => Ok(Self { request }),
            Err(reason) => Err(PyValueError::new_err(reason)),
        }
    }

    /// The key of one field that is this text, or whose text it is.
    #[staticmethod]
    fn of_text(text: &str) -> Self {
        Self { request: keys::Request::of_text(text) }
    }
}

/// Keys and postings that are being sorted.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct KeyRuns {
    runs: Collected<keys::Runs>,
}

#[pymethods]
impl KeyRuns {
    /// What takes more than `memory` bytes is put into a nameless file in `directory`.
    #[new]
    fn new(directory: PathBuf, memory: usize) -> Self {
        Self { runs: Collected::new(keys::Runs::new(directory, memory)) }
    }

    /// Add the keys of a packet.
    fn add(&self, py: Python<'_>, packet: &[u8]) -> PyResult<()> {
        py.detach(|| self.runs.with(|runs| runs.add(packet))).map_err(to_python)
    }

    /// Sort the records; several threads may do so at the same time. Raises an earlier failure as well.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.runs.finish(py, keys::Runs::finish)
    }

    /// Write all records to a new file, for another process. Raises also what went wrong
    /// before.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.runs.finish(py, |runs| runs.save(&fs::File::create_new(path)?, 0).map(drop))
    }

    /// The edges or keys that were saved in a file.
    #[staticmethod]
    fn saved(path: PathBuf) -> PyResult<Self> {
        let file = fs::File::open(path)?;
        let runs = keys::Runs::saved(file.try_clone()?, (0, file.metadata()?.len()));
        Ok(Self { runs: Collected::new(runs) })
    }
}

/// Takes the keys of the rows of a fragment.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct KeyScan {
    scan: Mutex<keys::KeyScan>,
}

#[pymethods]
impl KeyScan {
    /// `unterminated` is where a last row without a newline begins, if there is one. Unless
    /// `all_skipped`, only the first rows without a key are remembered. Texts that are kept
    /// `apart` are no key, but parts of an edge.
    #[new]
    #[pyo3(signature = (
        fields, *, max_depth, unterminated = None, all_skipped = false, apart = false
    ))]
    fn new(
        fields: Vec<String>,
        max_depth: u32,
        unterminated: Option<u64>,
        all_skipped: bool,
        apart: bool,
    ) -> Self {
        let limits = Limits { max_depth };
        let fields = KeyFields::new(fields);
        let new = if apart { keys::KeyScan::apart } else { keys::KeyScan::new };
        let scan = new(fields, limits, unterminated);
        Self { scan: Mutex::new(if all_skipped { scan.remembering_all() } else { scan }) }
    }

    /// Put the keys of some thousand rows of a stream into `runs`; false when it has ended, or
    /// when nothing more can be put there.
    fn advance(&self, py: Python<'_>, stream: &RowStream, runs: &KeyRuns) -> PyResult<bool> {
        py.detach(|| {
            let (mut stream, mut scan) = (stream.lock(), self.lock());
            runs.runs.with(|into| {
                for _ in 0..ROWS_AT_ONCE {
                    let Some(row) = stream.next_row()? else { return Ok(false) };
                    if let Some(key) = scan.key(&row)
                        && let Err(failure) = into.push(key, row.offset)
                    {
                        runs.runs.fail(failure);
                        return Ok(false);
                    }
                }
                Ok(true)
            })
        })
        .map_err(to_python)
    }

    /// Find the rows that have wanted keys among some thousand rows of a stream: numbers of the
    /// requests, and where the rows begin. `None` when it has ended.
    fn find(
        &self,
        py: Python<'_>,
        stream: &RowStream,
        wanted: &WantedKeys,
    ) -> PyResult<Option<Vec<(usize, u64)>>> {
        py.detach(|| {
            let (mut stream, mut scan) = (stream.lock(), self.lock());
            let mut found = Vec::new();
            for looked_at in 0..ROWS_AT_ONCE {
                match stream.next_row()? {
                    Some(row) => wanted.wanted.look_at(&row, &mut scan, &mut found),
                    None if looked_at == 0 => return Ok(None),
                    None => break,
                }
            }
            Ok(Some(found))
        })
        .map_err(to_python)
    }

    /// The positions of the rows of a batch that have a wanted key.
    fn among(&self, py: Python<'_>, batch: &RowBatch, wanted: &WantedKeys) -> Vec<usize> {
        py.detach(|| {
            let mut scan = self.lock();
            let rows = batch.rows.iter().enumerate();
            rows.filter(|(_, row)| wanted.wanted.has(row, &mut scan))
                .map(|(position, _)| position)
                .collect()
        })
    }

    /// The lines read so far: all, then blank, bad, missing, null, nested, too long, pending.
    #[getter]
    fn lines(&self) -> (u64, u64, u64, u64, u64, u64, u64, u64) {
        let Lines { lines, blank, bad, missing, null, nested, too_long, pending } =
            self.lock().lines();
        (lines, blank, bad, missing, null, nested, too_long, pending)
    }

    /// Rows with keys.
    #[getter]
    fn records(&self) -> u64 {
        self.lock().records()
    }

    /// What a last row without a newline is, if it was seen: `key`, or the count it is in.
    #[getter]
    fn last(&self) -> Option<&'static str> {
        self.lock().last()
    }

    /// Whether numbers that are the same double had the same key.
    #[getter]
    fn plain_numbers(&self) -> bool {
        self.lock().plain_numbers()
    }

    /// Number, byte, cause and reason of the first rows without a key.
    #[getter]
    fn first_skipped(&self) -> Vec<(u64, u64, &'static str, String)> {
        let scan = self.lock();
        let skipped = scan.first_skipped().iter();
        skipped.map(|row| (row.number, row.offset, row.cause, row.reason.clone())).collect()
    }
}

impl KeyScan {
    pub(crate) fn lock(&self) -> MutexGuard<'_, keys::KeyScan> {
        self.scan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keys to be found in one pass.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct WantedKeys {
    wanted: keys::Wanted,
}

#[pymethods]
impl WantedKeys {
    #[new]
    fn new(requests: Vec<Py<KeyRequest>>) -> Self {
        let requests = requests.iter().map(|request| request.get().request.clone());
        Self { wanted: keys::Wanted::new(requests.collect()) }
    }
}

/// What to write; see `headrace.kernel.key_index.Plan`.
#[derive(FromPyObject)]
pub(crate) struct PyPlan {
    fields: Vec<String>,
    unique: bool,
    version: Option<u32>,
    lines: PyLines,
    plain_numbers: bool,
    made_of: PyMadeOf,
    hashes: Vec<u64>,
}

/// An index to continue; see `headrace.kernel.key_index.Kept`.
#[derive(FromPyObject)]
pub(crate) struct PyKept {
    known: Py<KeyIndex>,
    file: Py<File>,
    whole: bool,
}

/// Version, the reason for it, records, keys, size.
type Written = (u32, Option<String>, u64, u64, u64);

/// Write the index of `runs`, and of `kept` if given, to the empty file at `path`.
///
/// Raises `KernelError` with `duplicate`, a key and the offsets of two rows; with `no_room` and the
/// reason; or with `no_bits` if the index that is continued has too few bits of its keys.
#[pyfunction]
#[pyo3(signature = (runs, path, plan, kept = None))]
pub(crate) fn write_key_index(
    py: Python<'_>,
    runs: Vec<Py<KeyRuns>>,
    path: PathBuf,
    plan: PyPlan,
    kept: Option<PyKept>,
) -> PyResult<Written> {
    let plan = Plan {
        fields: KeyFields::new(plan.fields),
        unique: plan.unique,
        version: plan.version,
        lines: plan.lines.into(),
        plain_numbers: plan.plain_numbers,
        made_of: plan.made_of.into(),
        hashes: plan.hashes,
        directory: path.parent().map(PathBuf::from).unwrap_or_default(),
    };
    let outcome = py.detach(|| {
        let mut taken = take(&runs)?;
        let kept = kept.as_ref().map(|kept| kept.known.get().kept(kept.file.get(), kept.whole));
        keys::write(&mut taken, kept.as_ref(), &open_empty(&path)?, &plan, &|| !signals::caught())
    });
    let outcome = outcome.map_err(to_python)?;
    signals::raised()?;
    match outcome {
        Outcome::Written(made) => {
            Ok((made.version, made.why.map(Into::into), made.records, made.keys, made.size))
        }
        Outcome::Duplicate(two) => {
            let key = PyBytes::new(py, &two.key).unbind();
            Err(KernelError::new_err(("duplicate", key, two.first, two.second)))
        }
        Outcome::NoRoom(why) => Err(KernelError::new_err(("no_room", why))),
        Outcome::NoBits => Err(KernelError::new_err(("no_bits",))),
        // Raised above, unless another thread has taken it.
        Outcome::Stopped => Err(PyKeyboardInterrupt::new_err(())),
    }
}

/// Take the runs; they cannot be used again.
fn take(runs: &[Py<KeyRuns>]) -> Result<Vec<keys::Runs>, Error> {
    runs.iter().map(|runs| runs.get().runs.take()).collect()
}

/// Where rows of a key are that were not looked at yet, in base and delta.
type At = ((u64, u64), (u64, u64));

/// A key index that was opened, with or without a delta.
#[pyclass(frozen, extends = SealedIndex, module = "headrace._native")]
pub(crate) struct KeyIndex {
    pub(crate) index: Arc<BaseDelta<SetSegments>>,
    readers: Mutex<Vec<keys::KeyReader>>,
}

#[pymethods]
impl KeyIndex {
    #[new]
    #[pyo3(signature = (path, delta = None))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        delta: Option<PathBuf>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let open = |file| keys::KeyIndex::open(file).map(SetSegments::one);
        Ok(Self::of(open_base_delta(py, path, delta, open)?))
    }

    /// An index in segments, and its delta in as many.
    #[staticmethod]
    #[pyo3(signature = (segments, deltas = None))]
    fn in_segments(
        py: Python<'_>,
        segments: Vec<PathBuf>,
        deltas: Option<Vec<PathBuf>>,
    ) -> PyResult<Py<Self>> {
        let open = |paths: Vec<PathBuf>| {
            let open = |path: PathBuf| keys::KeyIndex::open(DataFile::open(&path)?);
            SetSegments::new(paths.into_iter().map(open).collect::<Result<_, Error>>()?)
        };
        let index = py
            .detach(|| BaseDelta::new(open(segments)?, deltas.map(open).transpose()?))
            .map_err(to_python)?;
        Py::new(py, Self::of(Arc::new(index)))
    }

    /// The ids of the builds, and the sizes, of all segments; those of the delta come last.
    #[getter]
    fn segments(&self) -> Vec<(u64, u64)> {
        let files = self.index.parts().flat_map(|(segments, _)| segments.files());
        files.map(|file| (file.build_id(), file.size())).collect()
    }

    /// Whether it has the rows of `runs`, which are all of its source, and no others.
    fn is_of_all(&self, py: Python<'_>, runs: Vec<Py<KeyRuns>>, file: &File) -> PyResult<bool> {
        let same = py
            .detach(|| self.kept(file, true).is_of_all(&mut take(&runs)?, &|| !signals::caught()));
        let same = same.map_err(to_python)?;
        signals::raised()?;
        Ok(same.unwrap_or(false))
    }

    /// The rows of `file` that have a key, about `max_bytes` of them, and where to go on:
    /// `at` of the next call, `None` behind the last. Rows from `below` on are left out.
    #[pyo3(signature = (file, request, *, size, below, max_bytes, at = None))]
    fn get(
        &self,
        py: Python<'_>,
        file: &File,
        request: &KeyRequest,
        size: u64,
        below: u64,
        max_bytes: usize,
        at: Option<At>,
    ) -> PyResult<(RowBatch, Option<At>)> {
        let found = py.detach(|| {
            let request = &request.request;
            let mut found = match at {
                Some(((start, end), (then, last))) => Found([start..end, then..last]),
                None => self.index.find(request)?,
            };
            let mut batch = rows::RowBatch::default();
            if found.is_empty() {
                return Ok((batch, None));
            }
            let source = Lookup { size, below, ..self.source(file) };
            let mut reader = self.reader();
            let read =
                self.index.rows(&source, &mut found, request, &mut reader, max_bytes, &mut batch);
            self.readers().push(reader);
            read?;
            let [base, delta] = &found.0;
            let next = ((base.start, base.end), (delta.start, delta.end));
            Ok((batch, (!found.is_empty()).then_some(next)))
        });
        let (batch, next) = found.map_err(to_python)?;
        Ok((RowBatch::new(batch), next))
    }

    /// The rows that may have one of some keys, `None` if they are more than `most`.
    fn candidates(
        &self,
        py: Python<'_>,
        requests: Vec<Py<KeyRequest>>,
        most: u64,
    ) -> PyResult<Option<KeyCandidates>> {
        let requests: Vec<_> =
            requests.iter().map(|request| request.get().request.clone()).collect();
        let found = py.detach(|| self.index.candidates(&requests, most)).map_err(to_python)?;
        Ok(found.map(|candidates| KeyCandidates { candidates }))
    }

    /// Rows of `file`, about `max_bytes` of them: those of `candidates` from number `first` on,
    /// `count` at most. Where they begin is counted from byte `begins` of `file` on.
    #[pyo3(signature = (file, candidates, *, size, first, count, max_bytes, begins = 0))]
    #[allow(clippy::too_many_arguments, reason = "they have names in Python")]
    fn rows(
        &self,
        py: Python<'_>,
        file: &File,
        candidates: &KeyCandidates,
        size: u64,
        first: usize,
        count: usize,
        max_bytes: usize,
        begins: u64,
    ) -> PyResult<RowBatch> {
        let read = py.detach(|| {
            let candidates = &candidates.candidates;
            let end = first.saturating_add(count).min(candidates.offsets().len());
            let mut batch = rows::RowBatch::default();
            let max_line = self.index.base().meta().made_of.max_line;
            let max_line = usize::try_from(max_line).unwrap_or(usize::MAX);
            let lookup = Lookup { file: &file.data, size, below: u64::MAX, max_line };
            let mut reader = self.reader();
            let read = lookup.candidates(
                &self.index,
                candidates,
                first..end,
                &mut reader,
                max_bytes,
                &mut batch,
            );
            self.readers().push(reader);
            for offset in &mut batch.offsets {
                *offset = offset.saturating_sub(begins);
            }
            read.map(|()| batch)
        });
        read.map(RowBatch::new).map_err(to_python)
    }
}

/// The rows that some keys lead to, in file order.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct KeyCandidates {
    candidates: keys::Candidates,
}

#[pymethods]
impl KeyCandidates {
    fn __len__(&self) -> usize {
        self.candidates.offsets().len()
    }

    /// Where each begins.
    #[getter]
    fn offsets(&self) -> Vec<u64> {
        self.candidates.offsets().to_vec()
    }

    /// Those that begin in `[start, end)`.
    fn within(&self, start: u64, end: u64) -> Self {
        Self { candidates: self.candidates.within(start..end) }
    }

    /// Where the row of a number begins, `None` behind the last.
    fn offset(&self, number: usize) -> Option<u64> {
        self.candidates.offsets().get(number).copied()
    }
}

impl KeyIndex {
    fn of(index: Arc<BaseDelta<SetSegments>>) -> PyClassInitializer<Self> {
        let sealed = SealedIndex::of(&index);
        PyClassInitializer::from(sealed).add_subclass(Self { index, readers: Mutex::default() })
    }

    fn kept<'a>(&'a self, file: &'a File, all: bool) -> Continued<'a> {
        Continued { index: &self.index, source: self.source(file), all }
    }

    /// All of a file, as far as the index knows it.
    pub(crate) fn source<'a>(&self, file: &'a File) -> Lookup<'a> {
        let meta = self.index.newest().meta();
        let max_line = usize::try_from(meta.made_of.max_line).unwrap_or(usize::MAX);
        Lookup { file: &file.data, size: meta.made_of.logical_size, below: u64::MAX, max_line }
    }

    fn readers(&self) -> MutexGuard<'_, Vec<keys::KeyReader>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Take an unused reader, or make one.
    fn reader(&self) -> keys::KeyReader {
        let meta = self.index.base().meta();
        let limits = Limits { max_depth: meta.made_of.max_depth };
        let unused = self.readers().pop();
        unused.unwrap_or_else(|| keys::KeyReader::new(KeyFields::new(meta.key.clone()), limits))
    }
}

/// The rows of a file that begin at `offsets` and have a key, about `max_bytes` of them, and how
/// many of the offsets they are.
#[pyfunction]
#[pyo3(signature = (file, request, offsets, *, fields, size, max_line, max_depth, max_bytes))]
#[allow(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn rows_at(
    py: Python<'_>,
    file: &File,
    request: &KeyRequest,
    offsets: Vec<u64>,
    fields: Vec<String>,
    size: u64,
    max_line: usize,
    max_depth: u32,
    max_bytes: usize,
) -> PyResult<(RowBatch, usize)> {
    let read = py.detach(|| {
        let mut reader = keys::KeyReader::new(KeyFields::new(fields), Limits { max_depth });
        let lookup = Lookup { file: &file.data, size, below: u64::MAX, max_line };
        let mut batch = rows::RowBatch::default();
        let request = &request.request;
        let done = lookup.offsets(&offsets, request, &mut reader, max_bytes, &mut batch)?;
        Ok((batch, done))
    });
    let (batch, done) = read.map_err(to_python)?;
    Ok((RowBatch::new(batch), done))
}
