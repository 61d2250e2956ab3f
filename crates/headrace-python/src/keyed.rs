//! Elements of rows with keys to sort, group and join by.

use std::{
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

use headrace_core::query::{self, KeyedPlan, Texts, Watch};
use pyo3::{exceptions::PyOverflowError, prelude::*, types::PyBytes};

use crate::{
    batch::RowBatch,
    error::to_python,
    query::{PyFrame, Refused, Sources, decoded, known, reading, refused},
    signals,
    stage::Stage,
};

/// How many, their rows' positions in the batch and bytes in the source, ends and bytes of their lines, of their keys, and
/// rows without any: with each whether only what comes behind the stages is to blame.
type Keyed<'py> = (
    usize,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    PyTexts<'py>,
    PyTexts<'py>,
    Vec<(Refused, bool)>,
);

/// Where texts end, and their bytes, as Arrow has them.
pub(crate) type PyTexts<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

pub(crate) fn buffers<'py>(py: Python<'py>, texts: &Texts) -> PyTexts<'py> {
    (integers(py, &texts.ends), PyBytes::new(py, &texts.data))
}

/// 64-bit integers as Arrow has them.
pub(crate) fn longs<'py>(py: Python<'py>, numbers: &[u64]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    PyBytes::new(py, &bytes)
}

/// Makes elements with keys of rows.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct KeyedRows {
    run: Mutex<query::KeyedRows>,
}

#[pymethods]
impl KeyedRows {
    /// `key` is the code of a program that returns the key of an element of `stages`; the element
    /// then goes through `then`. Without `key`, keys are empty. With `falling`, the program returns
    /// an array with a key for each entry, true for descending. With `joins`, a key that matches
    /// nothing is empty; with `compact`, rows that are elements lose their spaces. With
    /// `counts_elements`, `arrived` has the elements that came to each of `stages`.
    #[new]
    #[pyo3(signature = (
        key, *, stages, then, falling, joins, compact, max_depth, frame = None, whole = false, sources = None,
        counts_elements = false
    ))]
    #[allow(
        clippy::fn_params_excessive_bools,
        clippy::too_many_arguments,
        reason = "they have names in Python"
    )]
    fn new(
        key: Option<&[u8]>,
        stages: Vec<Py<Stage>>,
        then: Vec<Py<Stage>>,
        falling: Vec<bool>,
        joins: bool,
        compact: bool,
        max_depth: u32,
        frame: Option<PyFrame>,
        whole: bool,
        sources: Option<&Sources>,
        counts_elements: bool,
    ) -> PyResult<Self> {
        let taken = |stages: Vec<Py<Stage>>| {
            stages.iter().map(|stage| stage.get().take()).collect::<PyResult<_>>()
        };
        let plan = KeyedPlan {
            stages: taken(stages)?,
            key: key.map(decoded).transpose()?,
            then: taken(then)?,
            falling,
            joins,
            compact,
        };
        let reading = reading(max_depth, frame, whole)?;
        let run = query::KeyedRows::new(plan, reading, || Watch::new(signals::caught));
        let run = if counts_elements { run.counting_elements() } else { run };
        Ok(Self { run: Mutex::new(run.knowing(known(sources))) })
    }

    /// The elements of the rows of a batch.
    fn take<'py>(&self, py: Python<'py>, batch: &RowBatch) -> PyResult<Keyed<'py>> {
        let keyed = self.keyed(py, batch)?;
        let offsets: Vec<u8> =
            keyed.offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
        Ok((
            keyed.positions.len(),
            integers(py, &keyed.positions),
            PyBytes::new(py, &offsets),
            buffers(py, &keyed.lines),
            buffers(py, &keyed.keys),
            keyed.refusals.into_iter().map(|(refusal, late)| (refused(refusal), late)).collect(),
        ))
    }

    /// How many elements came to each stage, and last how many came out of all of them.
    #[getter]
    fn arrived(&self) -> Vec<u64> {
        self.lock().arrived().to_vec()
    }

    /// Rows, used, filtered, skipped, blank.
    #[getter]
    fn counts(&self) -> (u64, u64, u64, u64, u64) {
        let counts = self.lock().counts;
        (counts.rows, counts.used, counts.filtered, counts.skipped, counts.blank)
    }
}

impl KeyedRows {
    fn lock(&self) -> MutexGuard<'_, query::KeyedRows> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keyed(&self, py: Python<'_>, batch: &RowBatch) -> PyResult<query::Keyed> {
        let keyed = py.detach(|| {
            let mut run = self.lock();
            batch.rows.texts().enumerate().for_each(|(position, row)| run.row(position, &row));
            run.take()
        });
        signals::raised()?;
        keyed
            .ok_or_else(|| PyOverflowError::new_err("the elements of a batch take more than 2 GiB"))
    }
}

/// Lines in the order of their keys; what does not fit into memory is in a nameless file.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct SortedLines {
    lines: Mutex<query::SortedLines>,
}

/// How many bytes of lines are returned at a time.
const LINE_BYTES: usize = 1 << 20;

#[pymethods]
impl SortedLines {
    /// Lines take about `memory` bytes, and more room in `directory`.
    #[new]
    fn new(directory: PathBuf, memory: u64, threads: usize) -> Self {
        Self { lines: Mutex::new(query::SortedLines::new(directory, memory, threads)) }
    }

    /// Add the elements that `rows` makes of a batch; returns what [`KeyedRows::take`] says of
    /// rows without any.
    fn add(
        &self,
        py: Python<'_>,
        rows: &KeyedRows,
        batch: &RowBatch,
    ) -> PyResult<Vec<(Refused, bool)>> {
        let mut keyed = rows.keyed(py, batch)?;
        let refusals = std::mem::take(&mut keyed.refusals);
        py.detach(|| self.lock().add(keyed)).map_err(to_python)?;
        Ok(refusals.into_iter().map(|(refusal, late)| (refused(refusal), late)).collect())
    }

    /// Add the lines of another, which has none afterwards, behind those that are here.
    fn append(&self, py: Python<'_>, other: &Self) -> PyResult<()> {
        py.detach(|| {
            let none = query::SortedLines::new(PathBuf::new(), u64::MAX, 1);
            let lines = std::mem::replace(&mut *other.lock(), none);
            self.lock().append(lines)
        })
        .map_err(to_python)
    }

    /// Sort the lines; none can be added afterwards.
    fn sort(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.lock().sort()).map_err(to_python)
    }

    /// The next lines, `left` at most, and how many they are; no bytes at the end.
    fn next<'py>(
        &self,
        py: Python<'py>,
        nulls: bool,
        left: u64,
    ) -> PyResult<(Bound<'py, PyBytes>, u64)> {
        let mut out = Vec::new();
        let written = py.detach(|| self.lock().lines(&mut out, LINE_BYTES, nulls, left));
        Ok((PyBytes::new(py, &out), written.map_err(to_python)?))
    }

    /// How many bytes are in memory.
    #[getter]
    fn held(&self) -> u64 {
        self.lock().held_bytes()
    }
}

impl SortedLines {
    fn lock(&self) -> MutexGuard<'_, query::SortedLines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn integers<'py>(py: Python<'py>, integers: &[i32]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = integers.iter().flat_map(|integer| integer.to_le_bytes()).collect();
    PyBytes::new(py, &bytes)
}
