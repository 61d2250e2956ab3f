//! Columns of a batch to lines.

use std::sync::{Mutex, PoisonError};

use headrace_core::arrow::write::{Column, Fault, Kind, Lines, Style};
use pyo3::{exceptions::PyValueError, prelude::*, pybacked::PyBackedBytes, types::PyBytes};

/// The row, the way to the value, why it has no JSON.
type PyFault = (usize, String, String);

/// The type of a column; see `headrace.kernel.arrow.lines.Kind`.
#[derive(FromPyObject)]
pub(crate) struct PyKind {
    name: String,
    number: i32,
    fields: Vec<String>,
}

/// A column; see `headrace.kernel.arrow.lines.Column`.
#[derive(FromPyObject)]
pub(crate) struct PyColumn {
    kind: PyKind,
    length: usize,
    offset: usize,
    validity: Option<PyBackedBytes>,
    values: Option<PyBackedBytes>,
    data: Option<PyBackedBytes>,
    children: Vec<PyColumn>,
}

/// The rows of a batch as lines, a few at a time.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct ColumnLines {
    lines: Mutex<Lines<PyBackedBytes>>,
}

#[pymethods]
impl ColumnLines {
    /// Rows of the struct `batch` as objects.
    #[staticmethod]
    fn objects(batch: PyColumn, skip_nulls: bool, null_for_nan: bool) -> PyResult<Self> {
        let lines = Lines::objects(column(batch)?, Style { skip_nulls, null_for_nan });
        Ok(Self { lines: Mutex::new(lines) })
    }

    /// Values of `column`, text or binary, as lines.
    #[staticmethod]
    fn as_they_are(column: PyColumn) -> PyResult<Self> {
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

fn column(column: PyColumn) -> PyResult<Column<PyBackedBytes>> {
    let PyColumn { kind, length, offset, validity, values: buffer, data, children } = column;
    let PyKind { name, number, fields } = kind;
    let width = usize::try_from(number).unwrap_or(0);
    let kind = match name.as_str() {
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
        "struct" => Kind::Struct(fields.into_iter().map(Into::into).collect()),
        "list" => Kind::List(width),
        "map" => Kind::Map,
        "variant" => Kind::Variant,
        _ => return Err(PyValueError::new_err(format!("no kind of column: {name}"))),
    };
    let children = children.into_iter().map(self::column).collect::<PyResult<_>>()?;
    Ok(Column { kind, length, offset, validity, buffer, data, children })
}
