//! Rows in order.

use std::sync::{Arc, Mutex, PoisonError};

use headrace_core::{codec::Input, rows};
use pyo3::prelude::*;

use crate::{
    batch::{RowBatch, Spare},
    error::to_python,
    source::{Decoding, File, Source},
};

/// The rows of a source whose first byte lies in `[start, end)`.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct RowStream {
    pub(crate) rows: Mutex<rows::RowStream<Input>>,
    spare: Arc<Spare>,
}

#[pymethods]
impl RowStream {
    /// `size` is how far a file may be read; `start` and `end` cut files into fragments. With
    /// `at_row`, a row is known to begin at `start`. `decoding` is threads,
    /// greatest ratio and greatest size.
    #[new]
    #[pyo3(signature = (
        source, codec, *, size, start = 0, end = u64::MAX, first_row = 0, max_line,
        at_row = false, decoding = None
    ))]
    fn new(
        py: Python<'_>,
        source: Source<'_>,
        codec: &str,
        size: u64,
        start: u64,
        end: u64,
        first_row: u64,
        max_line: usize,
        at_row: bool,
        decoding: Option<Decoding>,
    ) -> PyResult<Self> {
        let from = if at_row { start } else { start.saturating_sub(1) };
        let input = source.input(codec, from, size, decoding.unwrap_or_default())?;
        let mut rows = rows::RowStream::new(input, from, first_row, end, max_line);
        if matches!(source, Source::Reader(_)) {
            rows = rows.live();
        }
        if start > from {
            py.detach(|| rows.skip_partial_row()).map_err(to_python)?;
        }
        Ok(Self { rows: Mutex::new(rows), spare: Arc::default() })
    }

    /// Where the next row begins.
    #[getter]
    fn offset(&self) -> u64 {
        self.lock().offset()
    }

    /// Pass over `count` rows, or all there are.
    fn skip_rows(&self, py: Python<'_>, count: u64) -> PyResult<()> {
        py.detach(|| self.lock().skip_rows(count)).map_err(to_python)
    }

    /// The next rows, at most `max_rows` and about `max_bytes`; `None` after the last.
    fn next_batch(
        &self,
        py: Python<'_>,
        max_rows: usize,
        max_bytes: usize,
    ) -> PyResult<Option<RowBatch>> {
        py.detach(|| {
            let mut batch = self.spare.take();
            let any = self.lock().next_batch(&mut batch, max_rows, max_bytes)?;
            Ok(any.then(|| RowBatch::returning(batch, &self.spare)))
        })
        .map_err(to_python)
    }
}

impl RowStream {
    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, rows::RowStream<Input>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many rows of a plain file begin in `[start, end)`; the file ends at `size`.
#[pyfunction]
pub(crate) fn count_rows(
    py: Python<'_>,
    file: &File,
    size: u64,
    start: u64,
    end: u64,
) -> PyResult<u64> {
    py.detach(|| rows::count_starts(&file.data, size, start, end)).map_err(to_python)
}
