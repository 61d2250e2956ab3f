//! Ctrl-C while the core is at work.
//!
//! The core checks for signals now and then. Python's handlers then run, and the exception that
//! one of them raises is kept until the core has returned.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use headrace_core::query::Watch;
use pyo3::prelude::*;

thread_local! {
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Whether a handler of a signal has raised something. Only the main thread runs handlers.
pub(crate) fn caught() -> bool {
    #[allow(clippy::redundant_closure_for_method_calls, reason = "the method lives too short")]
    let checked = Python::attach(|py| py.check_signals());
    match checked {
        Ok(()) => false,
        Err(error) => {
            RAISED.set(Some(error));
            true
        }
    }
}

/// Raise it, where the core has come back.
///
/// # Errors
/// The exception that the handler has raised.
pub(crate) fn raised() -> PyResult<()> {
    RAISED.take().map_or(Ok(()), Err)
}

/// A flag that ends the queries of other threads, where no handler of a signal runs.
#[pyclass(frozen, module = "headrace._native")]
#[derive(Default)]
pub(crate) struct Cancel {
    cancelled: Arc<AtomicBool>,
}

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// End the queries, within a moment.
    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the queries are to end.
    #[getter]
    fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// The watch of a query: Ctrl-C ends it in the main thread, and `cancel` in the others.
pub(crate) fn watch(cancel: Option<&Cancel>) -> Watch {
    let Some(cancel) = cancel else { return Watch::new(caught) };
    let cancelled = Arc::clone(&cancel.cancelled);
    Watch::new(move || cancelled.load(Ordering::Relaxed) || caught())
}

/// How many threads can run at the same time: the cores that this process may use.
#[pyfunction]
pub(crate) fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
