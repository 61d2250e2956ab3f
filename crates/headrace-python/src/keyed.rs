//! Elements of rows with keys to sort, group and join by.

use std::{
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

use headrace_core::query::{self, KeyedPlan, Refusal, Texts, Watch};
use pyo3::{exceptions::PyOverflowError, prelude::*, types::PyBytes};

use crate::{
    answers::{Counts, Refused},
    batch::RowBatch,
    error::to_python,
    query::{PyFrame, Sources, decoded, known, reading},
    signals,
    stage::Stage,
};

/// Arrow's buffers of texts: where each ends, 32 bits, beginning with 0; the bytes.
#[pyclass(frozen, get_all, name = "Texts", module = "headrace._native")]
pub(crate) struct PyTexts {
    ends: Py<PyBytes>,
    data: Py<PyBytes>,
}

/// The elements of a batch: where their rows stand, their lines, and their keys.
///
/// `positions` are those in the batch, 32 bits each, `offsets` bytes of the source, 64 bits.
/// `refused` are rows that have none. In `late` are those whose elements came out of the stages, but
/// have no key, or failed afterwards.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub(crate) struct KeyedElements {
    length: usize,
    positions: Py<PyBytes>,
    offsets: Py<PyBytes>,
    lines: Py<PyTexts>,
    keys: Py<PyTexts>,
    refused: Vec<Refused>,
    late: Vec<Refused>,
}

pub(crate) fn buffers(py: Python<'_>, texts: &Texts) -> PyResult<Py<PyTexts>> {
    let data = PyBytes::new(py, &texts.data).unbind();
    Py::new(py, PyTexts { ends: integers(py, &texts.ends), data })
}

/// 64-bit integers as Arrow has them.
pub(crate) fn longs(py: Python<'_>, numbers: &[u64]) -> Py<PyBytes> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    PyBytes::new(py, &bytes).unbind()
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
        key, *, stages = Vec::new(), then = Vec::new(), falling = Vec::new(), joins = false,
        compact = false, max_depth = 256, frame = None, whole = false, sources = None,
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

    /// The elements of the rows of a batch; an error if they take more than 2 GiB.
    fn of(&self, py: Python<'_>, batch: &RowBatch) -> PyResult<KeyedElements> {
        let keyed = self.keyed(py, batch)?;
        let offsets: Vec<u8> = keyed.offsets.iter().flat_map(|at| at.to_le_bytes()).collect();
        let (refused, late) = divided(keyed.refusals);
        Ok(KeyedElements {
            length: keyed.positions.len(),
            positions: integers(py, &keyed.positions),
            offsets: PyBytes::new(py, &offsets).unbind(),
            lines: buffers(py, &keyed.lines)?,
            keys: buffers(py, &keyed.keys)?,
            refused,
            late,
        })
    }

    /// How many elements came to each stage, and last how many came out of all of them.
    #[getter]
    fn arrived(&self) -> Vec<u64> {
        self.lock().arrived().to_vec()
    }

    /// What was counted so far; rows that are refused late are emitted as well.
    #[getter]
    fn counts(&self) -> Counts {
        self.lock().counts.into()
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
#[pyclass(frozen, subclass, module = "headrace._native")]
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

    /// Add the elements that `rows` makes of a batch; return the rows that are refused, and those
    /// that are refused late, as [`KeyedElements`] has them.
    fn add(
        &self,
        py: Python<'_>,
        rows: &KeyedRows,
        batch: &RowBatch,
    ) -> PyResult<(Vec<Refused>, Vec<Refused>)> {
        let mut keyed = rows.keyed(py, batch)?;
        let refusals = std::mem::take(&mut keyed.refusals);
        py.detach(|| self.lock().add(keyed)).map_err(to_python)?;
        Ok(divided(refusals))
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

/// The rows that are refused, and those that are refused late.
fn divided(refusals: Vec<(Refusal, bool)>) -> (Vec<Refused>, Vec<Refused>) {
    let (late, refused): (Vec<_>, Vec<_>) = refusals.into_iter().partition(|(_, is_late)| *is_late);
    let each =
        |some: Vec<(Refusal, bool)>| some.into_iter().map(|(refusal, _)| refusal.into()).collect();
    (each(refused), each(late))
}

fn integers(py: Python<'_>, integers: &[i32]) -> Py<PyBytes> {
    let bytes: Vec<u8> = integers.iter().flat_map(|integer| integer.to_le_bytes()).collect();
    PyBytes::new(py, &bytes).unbind()
}
