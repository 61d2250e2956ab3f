//! Batches of rows for Python.

use std::sync::{Arc, Mutex, PoisonError};

use headrace_core::rows;
use pyo3::{
    prelude::*,
    pybacked::PyBackedBytes,
    types::{PyBytes, PyList},
};

use crate::values;

/// Rows that were read together.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct RowBatch {
    pub(crate) rows: rows::RowBatch,
    spare: Option<Arc<Spare>>,
}

impl RowBatch {
    pub(crate) fn new(rows: rows::RowBatch) -> Self {
        Self { rows, spare: None }
    }

    /// A batch whose memory goes back to `spare` when it is dropped.
    pub(crate) fn returning(rows: rows::RowBatch, spare: &Arc<Spare>) -> Self {
        Self { rows, spare: Some(Arc::clone(spare)) }
    }
}

impl Drop for RowBatch {
    fn drop(&mut self) {
        if let Some(spare) = &self.spare {
            spare.give(std::mem::take(&mut self.rows));
        }
    }
}

/// More than a batch has, except for very long rows.
const KEPT_BYTES: usize = 8 << 20;

/// The memory of a dropped batch: allocating it anew for each batch takes as long as reading the
/// rows into it.
#[derive(Default)]
pub(crate) struct Spare(Mutex<rows::RowBatch>);

impl Spare {
    pub(crate) fn take(&self) -> rows::RowBatch {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn give(&self, batch: rows::RowBatch) {
        if batch.data.capacity() <= KEPT_BYTES {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = batch;
        }
    }
}

#[pymethods]
impl RowBatch {
    /// Rows that are in no file; offsets count from the beginning of each row.
    #[staticmethod]
    fn of_contents(first_row: u64, contents: Vec<PyBackedBytes>) -> Self {
        let mut rows = rows::RowBatch::default();
        rows.clear(first_row);
        for (number, content) in (first_row..).zip(&contents) {
            rows.push(rows::Row::new(number, 0, content));
        }
        Self::new(rows)
    }

    fn __len__(&self) -> usize {
        self.rows.len()
    }

    /// The number of the first row.
    #[getter]
    fn first_row(&self) -> u64 {
        self.rows.first_row
    }

    /// Where each row begins in its source.
    #[getter]
    fn offsets(&self) -> Vec<u64> {
        self.rows.offsets.clone()
    }

    /// Position in the batch and length of each row over the limit.
    #[getter]
    fn too_long(&self) -> Vec<(usize, u64)> {
        self.rows.too_long.clone()
    }

    /// The content of each row; `None` for a row over the limit.
    fn contents<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let contents = self.rows.iter().map(|row| match row.too_long {
            None => PyBytes::new(py, row.content).into_any(),
            Some(_) => py.None().into_bound(py),
        });
        let contents: Vec<_> = contents.collect();
        PyList::new(py, contents)
    }

    /// All rows, each with a newline behind it; rows over the limit are left out.
    fn lines<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let joined = py.detach(|| {
            let mut joined = Vec::with_capacity(self.rows.data.len() + self.rows.len());
            for row in self.rows.iter().filter(|row| row.too_long.is_none()) {
                joined.extend_from_slice(row.content);
                joined.push(b'\n');
            }
            joined
        });
        PyBytes::new(py, &joined)
    }

    /// Rows `start` to `start + count` of this batch, or up to its end.
    fn slice(&self, py: Python<'_>, start: usize, count: usize) -> Self {
        Self::new(py.detach(|| self.rows.slice(start, count)))
    }

    /// The rows from position `start` on as values, blank rows as `None` or not at all, up to the
    /// first row that is no value; that row's position, its byte in the source and the reason
    /// come second.
    #[pyo3(signature = (max_depth, *, start = 0, skip_blank = false))]
    fn values<'py>(
        &self,
        py: Python<'py>,
        max_depth: u32,
        start: usize,
        skip_blank: bool,
    ) -> PyResult<(Bound<'py, PyList>, Option<values::Refused>)> {
        values::of_rows(py, self.rows.iter().enumerate().skip(start), max_depth, skip_blank)
    }

    /// The contents for Arrow: 32-bit ends, beginning with 0, and the bytes.
    fn arrow_buffers<'py>(&self, py: Python<'py>) -> (Bound<'py, PyBytes>, Bound<'py, PyBytes>) {
        let ends = py.detach(|| {
            let mut ends = Vec::with_capacity((self.rows.len() + 1) * 4);
            ends.extend_from_slice(&0_i32.to_le_bytes());
            for &end in &self.rows.ends {
                ends.extend_from_slice(&i32::try_from(end).unwrap_or(i32::MAX).to_le_bytes());
            }
            ends
        });
        (PyBytes::new(py, &ends), PyBytes::new(py, &self.rows.data))
    }

    /// The offsets for Arrow: 64-bit integers.
    fn offsets_buffer<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes: Vec<u8> =
            self.rows.offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
        PyBytes::new(py, &bytes)
    }
}
