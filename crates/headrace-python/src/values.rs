//! JSON as Python objects.
//!
//! Integers are exact whatever their length. A decimal that no finite double can
//! hold becomes a `Decimal`, never an infinity; one that no `Decimal` can hold, its text. Of equal keys the last one wins.

use headrace_core::{
    json::{self, KeyHints, Limits, Visitor},
    rows,
};
use pyo3::{
    prelude::*,
    sync::PyOnceLock,
    types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyType},
};

use crate::error::invalid_json;

static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Position in the batch, byte in the source, reason.
pub(crate) type Refused = (usize, u64, String);

/// The value of one line; `None` for a blank one.
#[pyfunction]
#[pyo3(signature = (line, max_depth = 256))]
pub(crate) fn parse<'py>(
    py: Python<'py>,
    line: &[u8],
    max_depth: u32,
) -> PyResult<Bound<'py, PyAny>> {
    match value(py, line, &Limits { max_depth })? {
        Ok(value) => Ok(value),
        Err(error) => Err(invalid_json(&error)),
    }
}

pub(crate) fn of_rows<'py, 'rows>(
    py: Python<'py>,
    rows: impl Iterator<Item = (usize, rows::Row<'rows>)>,
    max_depth: u32,
    skip_blank: bool,
) -> PyResult<(Bound<'py, PyList>, Option<Refused>)> {
    let limits = Limits { max_depth };
    let values = PyList::empty(py);
    for (position, row) in rows {
        if skip_blank && row.too_long.is_none() && json::is_blank(row.content) {
            continue;
        }
        if let Some(length) = row.too_long {
            let reason = format!("{length} bytes long, over the limit");
            return Ok((values, Some((position, row.offset, reason))));
        }
        match value(py, row.content, &limits)? {
            Ok(value) => values.append(value)?,
            Err(error) => {
                let offset = row.content_offset() + error.offset as u64;
                return Ok((values, Some((position, offset, error.reason.to_string()))));
            }
        }
    }
    Ok((values, None))
}

type Checked<T> = Result<T, json::JsonError>;

fn value<'py>(
    py: Python<'py>,
    line: &[u8],
    limits: &Limits,
) -> PyResult<Checked<Bound<'py, PyAny>>> {
    if json::is_blank(line) {
        return Ok(Ok(py.None().into_bound(py)));
    }
    let mut builder =
        Builder { py, open: Vec::new(), scratch: String::new(), root: None, failure: None };
    if let Err(error) = json::walk(line, limits, &mut KeyHints::none(), &mut builder) {
        return Ok(Err(error));
    }
    match builder.failure {
        Some(failure) => Err(failure),
        // A line that passed the check holds a value.
        None => Ok(Ok(builder.root.unwrap_or_else(|| py.None().into_bound(py)))),
    }
}

enum Container<'py> {
    Array(Bound<'py, PyList>),
    Object(Bound<'py, PyDict>, Option<Bound<'py, PyString>>),
}

struct Builder<'py> {
    py: Python<'py>,
    open: Vec<Container<'py>>,
    scratch: String,
    root: Option<Bound<'py, PyAny>>,
    /// What Python said; a visitor cannot stop the walk.
    failure: Option<PyErr>,
}

impl<'py> Builder<'py> {
    fn put(&mut self, value: Bound<'py, PyAny>) {
        let result = match self.open.last_mut() {
            None => {
                self.root = Some(value);
                Ok(())
            }
            Some(Container::Array(list)) => list.append(value),
            Some(Container::Object(object, key)) => match key.take() {
                Some(key) => object.set_item(key, value),
                None => Ok(()),
            },
        };
        self.note(result);
    }

    fn note<T>(&mut self, result: PyResult<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(failure) => {
                self.failure.get_or_insert(failure);
                None
            }
        }
    }

    fn text(&mut self, raw: &str, has_escapes: bool) -> Bound<'py, PyString> {
        let text = if has_escapes { json::unescape(raw, &mut self.scratch) } else { raw };
        PyString::new(self.py, text)
    }

    fn large(&self, text: &str, is_integer: bool) -> PyResult<Bound<'py, PyAny>> {
        if is_integer {
            return self.py.get_type::<PyInt>().call1((text,));
        }
        let decimal = DECIMAL.import(self.py, "decimal", "Decimal")?.call1((text,));
        // An exponent of more than eighteen digits is too much even for a Decimal.
        Ok(decimal.unwrap_or_else(|_| PyString::new(self.py, text).into_any()))
    }
}

impl Visitor for Builder<'_> {
    fn null(&mut self) {
        self.put(self.py.None().into_bound(self.py));
    }

    fn boolean(&mut self, value: bool) {
        self.put(PyBool::new(self.py, value).to_owned().into_any());
    }

    fn number(&mut self, text: &str, is_integer: bool) {
        let small = if is_integer {
            text.parse::<i64>()
                .ok()
                .and_then(|value| value.into_pyobject(self.py).ok())
                .map(Bound::into_any)
        } else {
            let finite = text.parse::<f64>().ok().filter(|value| value.is_finite());
            finite.map(|value| PyFloat::new(self.py, value).into_any())
        };
        let value = match small {
            Some(value) => Ok(value),
            None => self.large(text, is_integer),
        };
        if let Some(value) = self.note(value) {
            self.put(value);
        }
    }

    fn string(&mut self, raw: &str, has_escapes: bool) {
        let text = self.text(raw, has_escapes).into_any();
        self.put(text);
    }

    fn key(&mut self, raw: &str, has_escapes: bool) -> bool {
        let text = self.text(raw, has_escapes);
        if let Some(Container::Object(_, key)) = self.open.last_mut() {
            *key = Some(text);
        }
        true
    }

    fn begin_object(&mut self) {
        self.open.push(Container::Object(PyDict::new(self.py), None));
    }

    fn end_object(&mut self) {
        if let Some(Container::Object(object, _)) = self.open.pop() {
            self.put(object.into_any());
        }
    }

    fn begin_array(&mut self) {
        self.open.push(Container::Array(PyList::empty(self.py)));
    }

    fn end_array(&mut self) {
        if let Some(Container::Array(list)) = self.open.pop() {
            self.put(list.into_any());
        }
    }
}
