//! Answers as a table.

use headrace_core::cells as core;
use pyo3::{prelude::*, types::PyBytes};

use crate::error::invalid_json;

/// The cells of each line, and the other columns with the position of the first line that has them.
type Cells = (Vec<Vec<Option<String>>>, Vec<(usize, String)>);

/// The columns of lines of JSON that are not `known`.
#[pyfunction]
#[pyo3(signature = (lines, known = Vec::new()))]
pub(crate) fn new_columns(
    py: Python<'_>,
    lines: &[u8],
    known: Vec<String>,
) -> PyResult<Vec<String>> {
    py.detach(|| core::new_columns(lines, &known)).map_err(|error| invalid_json(&error))
}

/// The cells of lines of JSON.
#[pyfunction]
pub(crate) fn cells(py: Python<'_>, lines: &[u8], columns: Vec<String>) -> PyResult<Cells> {
    let found = py.detach(|| core::cells(lines, &columns)).map_err(|error| invalid_json(&error))?;
    Ok((found.rows, found.others))
}

/// Lines of JSON as comma-separated values, how many, and the column of the next line that is not
/// among `columns`, if that ended them.
#[pyfunction]
pub(crate) fn csv_records<'py>(
    py: Python<'py>,
    lines: &[u8],
    columns: Vec<String>,
) -> PyResult<(Bound<'py, PyBytes>, usize, Option<String>)> {
    let records =
        py.detach(|| core::csv_records(lines, &columns)).map_err(|error| invalid_json(&error))?;
    Ok((PyBytes::new(py, &records.text), records.count, records.stranger))
}

/// The names of columns as comma-separated values.
#[pyfunction]
pub(crate) fn csv_header(py: Python<'_>, columns: Vec<String>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &core::csv_header(&columns))
}
