//! Keys on their way to the segments of an index.

use std::sync::{Mutex, MutexGuard, PoisonError};

use headrace_core::keys;
use pyo3::{prelude::*, types::PyBytes};

use crate::{
    error::to_python, key_index::KeyScan, row_stream::RowStream, sealed_index::ROWS_AT_ONCE,
};

/// Takes keys and where their rows begin, and gives them out by segments of an index.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct KeyPackets {
    packets: Mutex<keys::ShufflePackets>,
}

#[pymethods]
impl KeyPackets {
    /// `segments` is a power of two.
    #[new]
    fn new(segments: usize) -> Self {
        Self { packets: Mutex::new(keys::ShufflePackets::new(segments)) }
    }

    /// Take the keys of some thousand rows of a stream; false when it has ended.
    fn advance(&self, py: Python<'_>, scan: &KeyScan, stream: &RowStream) -> PyResult<bool> {
        py.detach(|| {
            let (mut stream, mut scan, mut packets) = (stream.lock(), scan.lock(), self.lock());
            for _ in 0..ROWS_AT_ONCE {
                let Some(row) = stream.next_row()? else { return Ok(false) };
                if let Some(key) = scan.key(&row) {
                    packets.push(key, row.offset)?;
                }
            }
            Ok(true)
        })
        .map_err(to_python)
    }

    /// The packets that have `least` bytes, each with the number of its segment.
    fn take<'py>(&self, py: Python<'py>, least: usize) -> Vec<(usize, Bound<'py, PyBytes>)> {
        let full = self.lock().take(least);
        full.into_iter().map(|(segment, packet)| (segment, PyBytes::new(py, &packet))).collect()
    }
}

impl KeyPackets {
    fn lock(&self) -> MutexGuard<'_, keys::ShufflePackets> {
        self.packets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
