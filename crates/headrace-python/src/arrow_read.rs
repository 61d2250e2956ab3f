//! Rows as typed columns, and which types they need.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headrace_core::{
    arrow::read::{Before, Buffers, Columns, FaultKind, Filled, Inferred, Rules, Shape},
    json::Limits,
    query::{Output, Reading, RowQuery, Watch, Writing},
};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};

use crate::{batch::RowBatch, query::Program, signals};

/// The buffers of one Arrow array: a validity bitmap, and the others in Arrow's order.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub(crate) struct ColumnBuffers {
    length: usize,
    validity: Option<Py<PyBytes>>,
    others: Vec<Py<PyBytes>>,
}

/// A row that is not JSON, or has a value that is not of the type of its column.
///
/// `position` is the row's in its batch, `row` in the columns, `None` if it was left out; `offset`
/// is the byte of the source at fault.
#[pyclass(frozen, get_all, module = "headrace._native")]
#[derive(Clone)]
pub(crate) struct ColumnFault {
    position: usize,
    row: Option<usize>,
    offset: u64,
    is_json: bool,
    reason: String,
}

/// The columns of a batch, each followed by its children.
///
/// `positions` are the rows of the batch that became rows of the columns, as 32-bit integers;
/// `None` for all.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub(crate) struct FilledColumns {
    columns: Vec<Py<ColumnBuffers>>,
    positions: Option<Py<PyBytes>>,
    faults: Vec<ColumnFault>,
}

/// Makes columns of batches of rows.
#[pyclass(frozen, subclass, module = "headrace._native")]
pub(crate) struct ColumnBuilder {
    columns: Mutex<Columns>,
}

#[pymethods]
impl ColumnBuilder {
    /// `shape` is JSON; only rows that match `keep` become rows, of the answers of `project`.
    #[new]
    #[pyo3(signature = (shape, *, max_depth, keep_faulty, keep = None, project = None))]
    fn new(
        shape: &str,
        max_depth: u32,
        keep_faulty: bool,
        keep: Option<&Program>,
        project: Option<&Program>,
    ) -> PyResult<Self> {
        let shape = Shape::parse(shape).map_err(PyValueError::new_err)?;
        let limits = Limits { max_depth };
        let before = Before {
            keep: keep.map(|program| per_row(program, Output::Match, limits)),
            project: project.map(|program| per_row(program, Output::Answer, limits)),
        };
        let columns = Columns::new(&shape, limits, before, keep_faulty);
        Ok(Self { columns: Mutex::new(columns) })
    }

    /// The columns of a batch, each followed by those inside it.
    fn fill(&self, py: Python<'_>, batch: &RowBatch) -> PyResult<FilledColumns> {
        let filled = py.detach(|| {
            let mut columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
            batch.rows.iter().for_each(|row| columns.push(row));
            columns.take()
        });
        filled_columns(py, filled)
    }
}

fn filled_columns(py: Python<'_>, filled: Filled) -> PyResult<FilledColumns> {
    signals::raised()?;
    let columns = filled.buffers.iter().map(|buffers| column(py, buffers));
    let positions = filled.positions.map(|positions| {
        let bytes: Vec<u8> = positions.iter().flat_map(|at| at.to_le_bytes()).collect();
        PyBytes::new(py, &bytes).unbind()
    });
    let faults = filled.faults.into_iter().map(|fault| ColumnFault {
        position: fault.position,
        row: fault.row,
        offset: fault.offset,
        is_json: fault.kind == FaultKind::Mismatch,
        reason: fault.reason,
    });
    Ok(FilledColumns {
        columns: columns.collect::<PyResult<_>>()?,
        positions,
        faults: faults.collect(),
    })
}

/// Makes columns of answers.
#[pyclass(frozen, subclass, module = "headrace._native")]
pub(crate) struct AnswerColumns {
    columns: Mutex<Columns>,
}

#[pymethods]
impl AnswerColumns {
    /// `shape` is JSON.
    #[new]
    fn new(shape: &str, max_depth: u32) -> PyResult<Self> {
        let shape = Shape::parse(shape).map_err(PyValueError::new_err)?;
        let columns = Columns::of_answers(&shape, Limits { max_depth });
        Ok(Self { columns: Mutex::new(columns) })
    }

    /// The columns of lines of JSON, up to one that does not fit.
    fn fill(&self, py: Python<'_>, lines: &[u8]) -> PyResult<FilledColumns> {
        let filled = py.detach(|| {
            let mut columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
            columns.push_lines(lines);
            columns.take()
        });
        filled_columns(py, filled)
    }
}

fn per_row(program: &Program, output: Output, limits: Limits) -> RowQuery {
    let writing = Writing { output, nulls: false, limit: u64::MAX };
    let reading = Reading { limits, frame: None, whole: false };
    RowQuery::new(Arc::clone(&program.core), writing, reading, Watch::new(signals::caught))
}

fn column(py: Python<'_>, buffers: &Buffers) -> PyResult<Py<ColumnBuffers>> {
    let bytes = |bytes: &Vec<u8>| PyBytes::new(py, bytes).unbind();
    let column = ColumnBuffers {
        length: buffers.length,
        validity: buffers.validity.as_ref().map(bytes),
        others: buffers.others.iter().map(bytes).collect(),
    };
    Py::new(py, column)
}

/// Finds out which columns rows need.
#[pyclass(frozen, subclass, module = "headrace._native")]
pub(crate) struct Inference {
    inferred: Mutex<Inferred>,
}

#[pymethods]
impl Inference {
    /// With `expected`, of answers, whose columns begin with these.
    #[new]
    #[pyo3(signature = (max_depth, expected = None))]
    fn new(max_depth: u32, expected: Option<Vec<String>>) -> Self {
        let rules = if expected.is_none() { Rules::Rows } else { Rules::Answers };
        let expected = expected.unwrap_or_default();
        Self { inferred: Mutex::new(Inferred::new(rules, Limits { max_depth }, &expected)) }
    }

    /// Look at answers, lines of JSON; `first` is the number of the first one.
    fn add_lines(&self, py: Python<'_>, lines: &[u8], first: u64) {
        py.detach(|| self.lock().push_lines(lines, first));
    }

    /// How many columns there are.
    #[getter]
    fn width(&self) -> usize {
        self.lock().fields()
    }

    /// Look at the rows of a batch.
    fn add(&self, py: Python<'_>, batch: &RowBatch) {
        py.detach(|| {
            let mut inferred = self.lock();
            batch.rows.iter().for_each(|row| inferred.push(row));
        });
    }

    /// Add what another one saw of the rows behind these.
    fn merge(&self, py: Python<'_>, other: &Self) {
        py.detach(|| self.lock().add(&other.lock()));
    }

    /// The shape of the rows, and each place with what is mixed there.
    #[pyo3(signature = (*, may_follow = false))]
    fn shape(&self, may_follow: bool) -> (String, Vec<(String, String)>) {
        let (shape, mixed) = self.lock().shape(may_follow);
        (shape.spelled(), mixed)
    }

    /// Rows that are objects, and all others that are not blank.
    #[getter]
    fn counts(&self) -> (u64, u64) {
        let inferred = self.lock();
        (inferred.objects, inferred.others)
    }
}

impl Inference {
    fn lock(&self) -> MutexGuard<'_, Inferred> {
        self.inferred.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
