//! Ctrl-C while the core is at work.
//!
//! The core asks now and then whether to go on. Python's handlers then run, and what one of
//! them raises is kept until the core has come back.

use std::cell::RefCell;

use pyo3::prelude::*;

thread_local! {
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Whether a handler of a signal has raised something. Only the main thread runs handlers.
pub(crate) fn caught() -> bool {
    #[allow(clippy::redundant_closure_for_method_calls, reason = "the method lives too short")]
    let asked = Python::attach(|py| py.check_signals());
    match asked {
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
/// What the handler has raised.
pub(crate) fn raised() -> PyResult<()> {
    RAISED.take().map_or(Ok(()), Err)
}
