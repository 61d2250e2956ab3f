//! Compressed output.

use std::sync::{Mutex, PoisonError};

use headrace_core::codec::{self, Encoder};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};

use crate::source::codec_named;

/// Compresses what is added to it.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct Compressor {
    encoder: Mutex<Option<Box<dyn Encoder>>>,
}

impl Compressor {
    fn take(&self) -> PyResult<Box<dyn Encoder>> {
        let mut encoder = self.encoder.lock().unwrap_or_else(PoisonError::into_inner);
        encoder.take().ok_or_else(|| PyValueError::new_err("it was finished"))
    }
}

#[pymethods]
impl Compressor {
    #[new]
    fn new(codec: &str) -> PyResult<Self> {
        let encoder = codec::encoder(codec_named(codec)?)?;
        Ok(Self { encoder: Mutex::new(Some(encoder)) })
    }

    /// The compressed bytes that are ready when `data` was added.
    fn add<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let mut encoder = self.take()?;
        let ready = py.detach(|| encoder.write_all(data).map(|()| encoder.ready()))?;
        *self.encoder.lock().unwrap_or_else(PoisonError::into_inner) = Some(encoder);
        Ok(PyBytes::new(py, &ready))
    }

    /// The last of them.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let encoder = self.take()?;
        let last = py.detach(|| encoder.finish())?;
        Ok(PyBytes::new(py, &last))
    }
}
