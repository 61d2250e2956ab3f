//! Rows as typed columns, and which types they need.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headrace_core::{
    arrow::read::{Before, Buffers, Columns, FaultKind, Inferred, Shape},
    json::Limits,
    query::{Output, Reading, RowQuery, Watch, Writing},
};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};

use crate::{batch::RowBatch, query::Program, signals};

/// How many values, which of them are not null, and Arrow's other buffers.
type Column<'py> = (usize, Option<Bound<'py, PyBytes>>, Vec<Bound<'py, PyBytes>>);

/// Position in the batch, row of the columns, byte in the source, whether it is JSON, reason.
type Fault = (usize, Option<usize>, u64, bool, String);

/// The columns, positions in the batch as 32-bit integers if some rows were left out, and faults.
type Filled<'py> = (Vec<Column<'py>>, Option<Bound<'py, PyBytes>>, Vec<Fault>);

/// Makes columns of batches of rows.
#[pyclass(frozen, module = "headrace._native")]
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
    fn fill<'py>(&self, py: Python<'py>, batch: &RowBatch) -> PyResult<Filled<'py>> {
        let filled = py.detach(|| {
            let mut columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
            batch.rows.iter().for_each(|row| columns.push(row));
            columns.take()
        });
        signals::raised()?;
        let columns = filled.buffers.iter().map(|buffers| column(py, buffers)).collect();
        let positions = filled.positions.map(|positions| {
            let bytes: Vec<u8> = positions.iter().flat_map(|at| at.to_le_bytes()).collect();
            PyBytes::new(py, &bytes)
        });
        let faults = filled.faults.into_iter().map(|fault| {
            let is_json = fault.kind == FaultKind::Mismatch;
            (fault.position, fault.row, fault.offset, is_json, fault.reason)
        });
        Ok((columns, positions, faults.collect()))
    }
}

fn per_row(program: &Program, output: Output, limits: Limits) -> RowQuery {
    let writing = Writing { output, nulls: false, limit: u64::MAX };
    let reading = Reading { limits, frame: None, whole: false };
    RowQuery::new(Arc::clone(&program.program), writing, reading, Watch::new(signals::caught))
}

fn column<'py>(py: Python<'py>, buffers: &Buffers) -> Column<'py> {
    (
        buffers.length,
        buffers.validity.as_ref().map(|bits| PyBytes::new(py, bits)),
        buffers.others.iter().map(|bytes| PyBytes::new(py, bytes)).collect(),
    )
}

/// Finds out which columns rows need.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct Inference {
    inferred: Mutex<Inferred>,
}

#[pymethods]
impl Inference {
    #[new]
    fn new(max_depth: u32) -> Self {
        Self { inferred: Mutex::new(Inferred::new(Limits { max_depth })) }
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
    fn shape(&self) -> (String, Vec<(String, String)>) {
        let (shape, mixed) = self.lock().shape();
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
