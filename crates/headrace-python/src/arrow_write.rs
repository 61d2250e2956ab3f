//! Columns of a batch to lines.

use std::sync::{Mutex, PoisonError};

use headrace_core::arrow::write::{Column, Fault, Kind, Lines, Style};
use pyo3::{exceptions::PyValueError, prelude::*, pybacked::PyBackedBytes, types::PyBytes};

/// The row, the way to the value, why it has no JSON.
type PyFault = (usize, String, String);

/// A column as Python tells it: what it is, a number that belongs to that, the names of its
/// children; length, offset, validity, buffer, data; children.
#[derive(FromPyObject)]
pub(crate) struct Told(
    (String, i32, Vec<String>),
    (usize, usize),
    (Option<PyBackedBytes>, Option<PyBackedBytes>, Option<PyBackedBytes>),
    Vec<Told>,
);

/// The rows of a batch as lines, a few at a time.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct ColumnLines {
    lines: Mutex<Lines<PyBackedBytes>>,
}

#[pymethods]
impl ColumnLines {
    /// Rows of the struct `batch` as objects.
    #[staticmethod]
    fn objects(batch: Told, skip_nulls: bool, null_for_nan: bool) -> PyResult<Self> {
        let lines = Lines::objects(column(batch)?, Style { skip_nulls, null_for_nan });
        Ok(Self { lines: Mutex::new(lines) })
    }

    /// Values of `column`, text or binary, as lines.
    #[staticmethod]
    fn as_they_are(column: Told) -> PyResult<Self> {
        let lines = Lines::as_they_are(self::column(column)?);
        Ok(Self { lines: Mutex::new(lines) })
    }

    /// The next lines, about `enough` bytes, none at the end; and what is wrong with the row behind them.
    fn next<'py>(&self, py: Python<'py>, enough: usize) -> (Bound<'py, PyBytes>, Option<PyFault>) {
        let mut out = Vec::new();
        let done = py.detach(|| {
            self.lines.lock().unwrap_or_else(PoisonError::into_inner).next(enough, &mut out)
        });
        let fault = done.err().map(|Fault { row, path, reason }| (row, path, reason));
        (PyBytes::new(py, &out), fault)
    }
}

fn column(told: Told) -> PyResult<Column<PyBackedBytes>> {
    let Told((kind, number, names), (length, offset), (validity, buffer, data), children) = told;
    let width = usize::try_from(number).unwrap_or(0);
    let kind = match kind.as_str() {
        "null" => Kind::Null,
        "bool" => Kind::Bool,
        "int" => Kind::Int(width),
        "float" => Kind::Float,
        "double" => Kind::Double,
        "decimal" => Kind::Decimal(number),
        "text" => Kind::Text(width),
        "binary" => Kind::Binary(width),
        "date" => Kind::Date,
        "timestamp" => Kind::Timestamp(number == 1),
        "struct" => Kind::Struct(names.into_iter().map(Into::into).collect()),
        "list" => Kind::List(width),
        "map" => Kind::Map,
        "variant" => Kind::Variant,
        _ => return Err(PyValueError::new_err(format!("no kind of column: {kind}"))),
    };
    let children = children.into_iter().map(column).collect::<PyResult<_>>()?;
    Ok(Column { kind, length, offset, validity, buffer, data, children })
}
