//! Counting lines by kind.

use std::sync::{Mutex, PoisonError};

use headrace_core::{json::Limits, tally};
use pyo3::prelude::*;

use crate::{batch::RowBatch, error::to_python, row_stream::RowStream};

/// How many rows are looked at before the lock is given up.
const ROWS_AT_ONCE: usize = 4096;

/// Counts of the lines of a file by kind.
#[pyclass(frozen, subclass, module = "headrace._native")]
pub(crate) struct Tally {
    /// The path of the file, which may be no text.
    path: Py<PyAny>,
    limits: Limits,
    counts: Mutex<tally::Tally>,
}

#[pymethods]
impl Tally {
    #[new]
    fn new(path: Py<PyAny>, max_depth: u32) -> Self {
        Self { path, limits: Limits { max_depth }, counts: Mutex::default() }
    }

    /// Count the rows of a batch.
    fn add(&self, py: Python<'_>, batch: &RowBatch) {
        py.detach(|| {
            let mut counts = self.lock();
            for row in batch.rows.iter() {
                counts.add(row, &self.limits);
            }
        });
    }

    /// Count some thousand more rows of a stream; false when it has ended.
    fn advance(&self, py: Python<'_>, stream: &RowStream) -> PyResult<bool> {
        py.detach(|| {
            let (mut rows, mut counts) = (stream.lock(), self.lock());
            for _ in 0..ROWS_AT_ONCE {
                let Some(row) = rows.next_row()? else { return Ok(false) };
                counts.add(row, &self.limits);
            }
            Ok(true)
        })
        .map_err(to_python)
    }

    /// lines, records, blank, bad, too long.
    #[getter]
    fn counts(&self) -> (u64, u64, u64, u64, u64) {
        let counts = self.lock();
        (counts.lines, counts.records, counts.blank, counts.bad, counts.too_long)
    }

    /// Path, line, byte and reason of the first lines that are bad or too long.
    #[getter]
    fn first_bad(&self, py: Python<'_>) -> Vec<(Py<PyAny>, u64, u64, String)> {
        let counts = self.lock();
        let bad = counts.first_bad.iter();
        bad.map(|bad| (self.path.clone_ref(py), bad.number + 1, bad.offset, bad.reason.clone()))
            .collect()
    }
}

impl Tally {
    fn lock(&self) -> std::sync::MutexGuard<'_, tally::Tally> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
