//! Errors of the core as Python exceptions.

use std::io;

use headrace_core::{DamagedBlock, Error, json::JsonError};
use pyo3::{
    PyErr, create_exception,
    exceptions::{PyException, PyOSError},
    import_exception,
};

import_exception!(headrace.errors, MemoryExceededError);
import_exception!(headrace.errors, QueryFailedError);
import_exception!(headrace.kernel.values, InvalidJsonError);

pub(crate) fn invalid_json(error: &JsonError) -> PyErr {
    InvalidJsonError::new_err((error.offset, error.reason.to_string()))
}

create_exception!(
    headrace._native,
    KernelError,
    PyException,
    "(kind, offset, reason), of a block also (number, rows, next)"
);

/// The Python exception for an error of the core. An exception that a Python
/// reader raised below the core comes back as itself.
pub(crate) fn to_python(error: Error) -> PyErr {
    let (kind, offset, reason) = match error {
        Error::Io(error) => {
            return match error.downcast::<PyErr>() {
                Ok(raised) => raised,
                Err(error) => os_error(error),
            };
        }
        Error::At { kind, offset, reason } => (kind.name(), offset, reason),
        Error::NoText { reason } => ("no_text", 0, reason),
        Error::DamagedBlock(damaged) => {
            let DamagedBlock { offset, block, rows, next, reason } = *damaged;
            return KernelError::new_err(("block", offset, reason, block, rows, next));
        }
    };
    KernelError::new_err((kind, offset, reason))
}

/// "Input/output error", on every system.
const EIO: i32 = 5;

/// What the operating system said, with its number, by which Python knows what kind it is. What
/// the standard library says itself, as of a file that ends early, is an error of input or output.
fn os_error(error: io::Error) -> PyErr {
    let number = error.raw_os_error().unwrap_or(EIO);
    let said = error.to_string();
    let words = said.strip_suffix(&format!(" (os error {number})")).unwrap_or(&said);
    PyOSError::new_err((number, words.to_owned()))
}
