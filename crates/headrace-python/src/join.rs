//! Joins of rows by their keys.

use std::sync::{Mutex, MutexGuard, PoisonError};

use headrace_core::{
    Error,
    json::Limits,
    keys::{
        self, KeyFields, Lookup,
        join::{Access, Form, Step, Terms},
    },
    query::Refusal,
};
use pyo3::{prelude::*, types::PyBytes};

use crate::{
    answers::Refused,
    batch::RowBatch,
    error::to_python,
    key_index::{KeyIndex, KeyScan},
    source::File,
};

/// The form of a joined row; see `headrace.kernel.join.Form`.
#[derive(FromPyObject)]
pub(crate) struct PyForm {
    inner: bool,
    target: Option<String>,
    pick: Option<Vec<String>>,
    prefix: String,
    indicator: Option<String>,
}

/// Access to right rows by an index; see `headrace.kernel.join.RightIndex`.
#[derive(FromPyObject)]
pub(crate) struct PyRightIndex {
    known: Py<KeyIndex>,
    file: Py<File>,
    size: u64,
    below: u64,
}

/// rows, emitted, filtered, skipped, blank; lookups, hits, lines.
type Counts = (u64, u64, u64, u64, u64, u64, u64, u64);

/// Joins left rows with the right ones that have their keys.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct RowJoin {
    run: Mutex<Run>,
    index: Option<PyRightIndex>,
}

struct Run {
    join: keys::join::Join,
    batch: Option<Py<RowBatch>>,
    /// Lines of output, used again and again.
    out: Vec<u8>,
    /// What went wrong behind lines that were given out.
    failure: Option<Error>,
}

#[pymethods]
impl RowJoin {
    /// The keys of both sides have as many fields.
    #[new]
    #[pyo3(signature = (
        left, right, *, form, typed, max_depth, right_depth, max_memory, index = None
    ))]
    #[allow(clippy::too_many_arguments, reason = "they have names in Python")]
    fn new(
        left: Vec<String>,
        right: Vec<String>,
        form: PyForm,
        typed: bool,
        max_depth: u32,
        right_depth: u32,
        max_memory: usize,
        index: Option<PyRightIndex>,
    ) -> Self {
        let PyForm { inner, target, pick, prefix, indicator } = form;
        let terms = Terms {
            left: KeyFields::new(left),
            right: KeyFields::new(right),
            typed,
            form: Form { inner, target, pick, prefix, indicator },
            limits: Limits { max_depth },
            right_limits: Limits { max_depth: right_depth },
            max_memory,
        };
        let join = keys::join::Join::new(terms, index.is_some());
        let run = Run { join, batch: None, out: Vec::new(), failure: None };
        Self { run: Mutex::new(run), index }
    }

    /// Hold right rows in memory; false if there is no room for them.
    fn hold(&self, py: Python<'_>, batch: &RowBatch, scan: &KeyScan) -> bool {
        py.detach(|| self.lock().join.hold(&batch.rows, &mut scan.lock()))
    }

    /// Take up a batch of left rows, from position `start` on.
    #[pyo3(signature = (batch, start = 0))]
    fn begin(&self, batch: Py<RowBatch>, start: usize) {
        let mut run = self.lock();
        run.join.begin(start);
        run.batch = Some(batch);
    }

    /// Further lines of output, about `max_bytes` of them, and the left row that is refused, if
    /// one ended them; `None` behind the last row of the batch.
    fn take<'py>(
        &self,
        py: Python<'py>,
        max_bytes: usize,
    ) -> PyResult<Option<(Bound<'py, PyBytes>, Option<Refused>)>> {
        let step = py.detach(|| self.step(max_bytes)).map_err(to_python)?;
        let run = self.lock();
        let lines = PyBytes::new(py, &run.out);
        Ok(match step {
            Step::Done if run.out.is_empty() => None,
            Step::Done | Step::Enough => Some((lines, None)),
            Step::Refused(row) => {
                let keys::join::Refusal { number, offset, reason } = row;
                Some((lines, Some(Refusal { number, offset, span: None, reason }.into())))
            }
        })
    }

    /// The position of the left row that comes next, and whether it came in part.
    #[getter]
    fn position(&self) -> (usize, bool) {
        self.lock().join.position()
    }

    /// Counts of left rows.
    #[getter]
    fn counts(&self) -> Counts {
        let counts = self.lock().join.counts();
        (
            counts.rows,
            counts.emitted,
            counts.filtered,
            counts.skipped,
            counts.blank,
            counts.lookups,
            counts.hits,
            counts.lines,
        )
    }

    /// Bytes and number of the right rows in memory.
    #[getter]
    fn held(&self) -> (usize, usize) {
        let run = self.lock();
        (run.join.held_bytes(), run.join.held_rows())
    }

    /// The first side, `left` or `right`, with a field whose name the join itself adds.
    #[getter]
    fn clash(&self) -> Option<&'static str> {
        self.lock().join.clash().map(|clash| match clash {
            keys::join::Clash::Left => "left",
            keys::join::Clash::Right => "right",
        })
    }

    /// How often the right source was read for rows that the index has.
    #[getter]
    fn reads(&self) -> u64 {
        self.lock().join.reads()
    }
}

impl RowJoin {
    fn lock(&self) -> MutexGuard<'_, Run> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn step(&self, max_bytes: usize) -> headrace_core::Result<Step> {
        let mut run = self.lock();
        let Run { join, batch, out, failure } = &mut *run;
        out.clear();
        if let Some(failure) = failure.take() {
            return Err(failure);
        }
        let Some(batch) = batch else { return Ok(Step::Done) };
        let access = self.index.as_ref().map(|right| {
            let index = right.known.get();
            let source = index.source(right.file.get());
            let lookup = Lookup { size: right.size, below: right.below, ..source };
            Access { index: &index.index, lookup }
        });
        match join.take(&batch.get().rows, access.as_ref(), max_bytes, out) {
            Err(error) if !out.is_empty() => {
                *failure = Some(error);
                Ok(Step::Enough)
            }
            taken => taken,
        }
    }
}
