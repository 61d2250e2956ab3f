//! JSON that is not in lines, as lines.

use std::sync::{Mutex, MutexGuard, PoisonError};

use headrace_core::{
    convert::{BadValue, Splitting, ValueSplitter as Splitter},
    json::Limits,
};
use pyo3::{prelude::*, types::PyBytes};

/// Line, byte, reason, and the bytes of a bad value.
type Bad<'py> = (u64, u64, String, Option<Bound<'py, PyBytes>>);

/// Splits text into values, as it comes.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct ValueSplitter {
    splitter: Mutex<Splitter>,
}

#[pymethods]
impl ValueSplitter {
    #[new]
    #[pyo3(signature = (*, max_value, max_depth, keeps_arrays, aborts))]
    fn new(max_value: usize, max_depth: u32, keeps_arrays: bool, aborts: bool) -> Self {
        let limits = Limits { max_depth };
        let splitting = Splitting { max_value, limits, keeps_arrays, aborts };
        Self { splitter: Mutex::new(Splitter::new(splitting)) }
    }

    /// Go on with more of the text, which ends if there is none: values as lines, and bad ones.
    fn feed<'py>(&self, py: Python<'py>, text: &[u8]) -> (Bound<'py, PyBytes>, Vec<Bad<'py>>) {
        let (out, bad) = py.detach(|| {
            let (mut out, mut bad) = (Vec::new(), Vec::new());
            let mut splitter = self.lock();
            if text.is_empty() {
                splitter.end(&mut out, &mut bad);
            } else {
                splitter.feed(text, &mut out, &mut bad);
            }
            (out, bad)
        });
        let bad = bad.into_iter().map(|each| {
            let BadValue { line, offset, reason, raw } = each;
            (line, offset, reason, raw.map(|raw| PyBytes::new(py, raw.as_slice())))
        });
        let bad = bad.collect();
        (PyBytes::new(py, &out), bad)
    }

    /// How many values were found, and how many of them are bad.
    #[getter]
    fn counts(&self) -> (u64, u64) {
        let splitter = self.lock();
        (splitter.values, splitter.bad)
    }
}

impl ValueSplitter {
    fn lock(&self) -> MutexGuard<'_, Splitter> {
        self.splitter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
