//! Rows in order.

use std::{
    io::{self, Read},
    sync::{Arc, Mutex, PoisonError},
};

use headrace_core::{codec::Input, rows};
use pyo3::prelude::*;

use crate::{
    batch::{RowBatch, Spare},
    error::to_python,
    source::{Decoding, File, Source},
};

/// Hears Ctrl-C while a long line is read.
struct Interruptible {
    input: Input,
    reads: u32,
}

thread_local! {
    /// The streams of a thread are mostly read one after the other.
    static SPARE: Arc<Spare> = Arc::default();
}

/// Reads from one look for signals to the next: some MiB.
const READS: u32 = 64;

impl Read for Interruptible {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reads += 1;
        if self.reads.is_multiple_of(READS) {
            Python::attach(|py| py.check_signals().map_err(io::Error::other))?;
        }
        self.input.read(buffer)
    }
}

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
    /// greatest ratio and greatest size. With `ends_at_long_row`, nothing behind the limit of a
    /// row is read.
    #[new]
    #[pyo3(signature = (
        source, codec, *, size, start = 0, end = u64::MAX, first_row = 0, max_line,
        at_row = false, decoding = None, ends_at_long_row = false
    ))]
    #[allow(
        clippy::fn_params_excessive_bools,
        clippy::too_many_arguments,
        reason = "they have names in Python"
    )]
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
        ends_at_long_row: bool,
    ) -> PyResult<Self> {
        let from = if at_row { start } else { start.saturating_sub(1) };
        let input = source.input(codec, from, size, decoding.unwrap_or_default())?;
        let input: Input = Box::new(Interruptible { input, reads: 0 });
        let mut rows = rows::RowStream::new(input, from, first_row, end, max_line);
        if ends_at_long_row {
            rows = rows.ending_at_long_row();
        }
        if matches!(source, Source::Reader(_)) {
            rows = rows.live();
        }
        if start > from {
            py.detach(|| rows.skip_partial_row()).map_err(to_python)?;
        }
        Ok(Self { rows: Mutex::new(rows), spare: SPARE.with(Arc::clone) })
    }

    /// Where the next row begins.
    #[getter]
    fn offset(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.lock().offset())
    }

    /// Skip `count` rows, or all there are.
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
