//! What runs of queries return, and what they counted.

use headrace_core::query::{self, Refusal, StreamCounts};
use pyo3::{prelude::*, types::PyBytes};

/// Rows of a query by what became of them; see `headrace.kernel.programs`.
#[pyclass(frozen, get_all, eq, hash, from_py_object, module = "headrace._native")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Counts {
    rows: i64,
    emitted: i64,
    filtered: i64,
    skipped: i64,
    blank: i64,
    outside: i64,
}

#[pymethods]
impl Counts {
    #[new]
    #[pyo3(signature = (rows = 0, emitted = 0, filtered = 0, skipped = 0, blank = 0, outside = 0))]
    fn new(rows: i64, emitted: i64, filtered: i64, skipped: i64, blank: i64, outside: i64) -> Self {
        Self { rows, emitted, filtered, skipped, blank, outside }
    }

    fn __add__(&self, other: &Self) -> Self {
        self.with(other, 1)
    }

    fn __sub__(&self, other: &Self) -> Self {
        self.with(other, -1)
    }

    fn __getnewargs__(&self) -> (i64, i64, i64, i64, i64, i64) {
        (self.rows, self.emitted, self.filtered, self.skipped, self.blank, self.outside)
    }

    fn __repr__(&self) -> String {
        let Self { rows, emitted, filtered, skipped, blank, outside } = self;
        format!(
            "Counts(rows={rows}, emitted={emitted}, filtered={filtered}, skipped={skipped}, \
             blank={blank}, outside={outside})"
        )
    }
}

impl Counts {
    fn with(&self, other: &Self, sign: i64) -> Self {
        Self {
            rows: self.rows + sign * other.rows,
            emitted: self.emitted + sign * other.emitted,
            filtered: self.filtered + sign * other.filtered,
            skipped: self.skipped + sign * other.skipped,
            blank: self.blank + sign * other.blank,
            outside: self.outside + sign * other.outside,
        }
    }

    fn of(counts: [u64; 5]) -> Self {
        let [rows, emitted, filtered, skipped, blank] = counts.map(u64::cast_signed);
        Self { rows, emitted, filtered, skipped, blank, outside: 0 }
    }

    /// The core reads no lines outside the times.
    fn numbers(self) -> [u64; 5] {
        [self.rows, self.emitted, self.filtered, self.skipped, self.blank].map(i64::cast_unsigned)
    }
}

impl From<query::Counts> for Counts {
    fn from(counts: query::Counts) -> Self {
        let query::Counts { rows, emitted, filtered, skipped, blank } = counts;
        Self::of([rows, emitted, filtered, skipped, blank])
    }
}

impl From<StreamCounts> for Counts {
    fn from(counts: StreamCounts) -> Self {
        let StreamCounts { rows, used, filtered, skipped, blank } = counts;
        Self::of([rows, used, filtered, skipped, blank])
    }
}

impl From<Counts> for query::Counts {
    fn from(counts: Counts) -> Self {
        let [rows, emitted, filtered, skipped, blank] = counts.numbers();
        Self { rows, emitted, filtered, skipped, blank }
    }
}

impl From<Counts> for StreamCounts {
    fn from(counts: Counts) -> Self {
        let [rows, used, filtered, skipped, blank] = counts.numbers();
        Self { rows, used, filtered, skipped, blank }
    }
}

/// A row that has no answer. `column` is where in the query, if the row is good.
#[pyclass(frozen, get_all, eq, hash, from_py_object, module = "headrace._native")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Refused {
    row: u64,
    offset: u64,
    reason: String,
    column: Option<u32>,
}

#[pymethods]
impl Refused {
    #[new]
    fn new(row: u64, offset: u64, reason: String, column: Option<u32>) -> Self {
        Self { row, offset, reason, column }
    }

    fn __getnewargs__(&self) -> (u64, u64, &str, Option<u32>) {
        (self.row, self.offset, &self.reason, self.column)
    }

    fn __repr__(&self) -> String {
        let Self { row, offset, reason, column } = self;
        let column = column.map_or("None".to_owned(), |column| column.to_string());
        format!("Refused(row={row}, offset={offset}, reason={reason:?}, column={column})")
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        let Refusal { number, offset, span, reason } = refusal;
        Self { row: number, offset, reason, column: span.map(|(start, _)| start + 1) }
    }
}

/// Lines of output; `end` is the position in the batch behind the last evaluated row.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub(crate) struct Answers {
    lines: Py<PyBytes>,
    end: usize,
    refused: Option<Refused>,
}

#[pymethods]
impl Answers {
    #[new]
    pub(crate) fn new(lines: Py<PyBytes>, end: usize, refused: Option<Refused>) -> Self {
        Self { lines, end, refused }
    }
}

/// A row that is passed on: its position in its batch, its byte in the source, its content.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub(crate) struct SiftedRow {
    position: usize,
    offset: u64,
    content: Py<PyBytes>,
}

#[pymethods]
impl SiftedRow {
    #[new]
    pub(crate) fn new(position: usize, offset: u64, content: Py<PyBytes>) -> Self {
        Self { position, offset, content }
    }

    fn __getnewargs__(&self, py: Python<'_>) -> (usize, u64, Py<PyBytes>) {
        (self.position, self.offset, self.content.clone_ref(py))
    }
}
