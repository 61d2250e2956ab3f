//! Lines to the bytes of shards.

use std::{
    io,
    sync::{Mutex, PoisonError},
};

use headrace_core::{
    blocks::{self, Cause, Piece, Refusal, Settings, Sizes},
    codec::CODECS,
    input::Stat,
    json::Limits,
    rows::{BOM, checkpoint_file::Fingerprint},
};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};

use crate::{
    batch::RowBatch,
    error,
    source::{File, codec_named},
};

/// Bytes to append to the current file, and the shard that ends behind them.
type PyPiece<'py> = (Bound<'py, PyBytes>, Option<Shard>);

/// A line that was not taken: `[begin, end)` of the data, and the byte at fault.
///
/// `kind` is `json` or `too_large`.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub(crate) struct LineRefusal {
    begin: usize,
    end: usize,
    kind: String,
    offset: usize,
    reason: String,
}

#[pymethods]
impl LineRefusal {
    #[new]
    fn new(begin: usize, end: usize, kind: String, offset: usize, reason: String) -> Self {
        Self { begin, end, kind, offset, reason }
    }
}

/// A row that was not taken: its position in the batch, and the byte of its source at fault.
///
/// `kind` is `json`, `too_long` or `too_large`.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub(crate) struct RowRefusal {
    position: usize,
    kind: String,
    offset: u64,
    reason: String,
}

#[pymethods]
impl RowRefusal {
    #[new]
    fn new(position: usize, kind: String, offset: u64, reason: String) -> Self {
        Self { position, kind, offset, reason }
    }
}

/// Turns lines into the bytes of shards.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct Packer {
    /// Boxed: it is aligned to 64 bytes, and Python aligns an object to no more than 16.
    packer: Box<Mutex<blocks::Packer>>,
}

#[pymethods]
impl Packer {
    /// `values` are in the order of the codec's choices; without `max_depth` lines are not checked.
    #[new]
    #[pyo3(signature = (codec, *, level, values, block_bytes, max_bytes = None, max_logical_bytes = None, max_records = None, max_depth = None, threads = 1))]
    fn new(
        codec: &str,
        level: i32,
        values: Vec<u32>,
        block_bytes: usize,
        max_bytes: Option<u64>,
        max_logical_bytes: Option<u64>,
        max_records: Option<u64>,
        max_depth: Option<u32>,
        threads: usize,
    ) -> PyResult<Self> {
        let sizes = Sizes { block_bytes, max_bytes, max_logical_bytes, max_records };
        let check = max_depth.map(|max_depth| Limits { max_depth });
        let settings = Settings { level, values };
        let packer = blocks::Packer::new(codec_named(codec)?, &settings, sizes, check, threads)
            .map_err(|error| match error.kind() {
                io::ErrorKind::InvalidInput => PyValueError::new_err(error.to_string()),
                _ => error.into(),
            })?;
        Ok(Self { packer: Box::new(Mutex::new(packer)) })
    }

    /// Take the lines of `data` from byte `start` on, up to one that is refused.
    #[pyo3(signature = (data, start = 0))]
    fn add<'py>(
        &self,
        py: Python<'py>,
        data: &[u8],
        start: usize,
    ) -> PyResult<(Vec<PyPiece<'py>>, Option<LineRefusal>)> {
        let mut pieces = Vec::new();
        let refusal = py.detach(|| self.lock().add(data, start.min(data.len()), &mut pieces))?;
        Ok((to_python(py, pieces), refusal.map(refused)))
    }

    /// Take the rows of `batch` from position `start` on, up to one that is refused.
    #[pyo3(signature = (batch, start = 0))]
    fn add_rows<'py>(
        &self,
        py: Python<'py>,
        batch: &RowBatch,
        start: usize,
    ) -> PyResult<(Vec<PyPiece<'py>>, Option<RowRefusal>)> {
        let rows = &batch.rows;
        let mut pieces = Vec::new();
        let refused = py.detach(|| self.lock().add_rows(rows, start, &mut pieces))?;
        let refused = refused.map(|(position, cause)| {
            let mark = if rows.marked && position == 0 { BOM.len() } else { 0 };
            let (kind, offset, reason) = said(cause);
            let offset = rows.offsets[position] + (mark + offset) as u64;
            RowRefusal { position, kind: kind.into(), offset, reason }
        });
        Ok((to_python(py, pieces), refused))
    }

    /// The rest; with `always`, a file even of no lines.
    #[pyo3(signature = (*, always = false))]
    fn finish<'py>(&self, py: Python<'py>, always: bool) -> PyResult<Vec<PyPiece<'py>>> {
        let mut pieces = Vec::new();
        py.detach(|| self.lock().finish(always, &mut pieces))?;
        Ok(to_python(py, pieces))
    }

    /// Give back memory that is not lines: another packer is used next.
    fn rest(&self) {
        self.lock().rest();
    }

    /// Lines taken.
    #[getter]
    fn records(&self) -> u64 {
        self.lock().records
    }

    /// Of them blank.
    #[getter]
    fn blank(&self) -> u64 {
        self.lock().blank
    }

    /// Their bytes, with newlines.
    #[getter]
    fn logical_bytes(&self) -> u64 {
        self.lock().logical_bytes
    }
}

impl Packer {
    fn lock(&self) -> std::sync::MutexGuard<'_, blocks::Packer> {
        self.packer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn to_python(py: Python<'_>, pieces: Vec<Piece>) -> Vec<PyPiece<'_>> {
    pieces
        .into_iter()
        .map(|piece| (PyBytes::new(py, &piece.bytes), piece.ended.map(|shard| Shard { shard })))
        .collect()
}

fn refused(refusal: Refusal) -> LineRefusal {
    let Refusal { begin, end, cause } = refusal;
    let (kind, offset, reason) = said(cause);
    LineRefusal { begin, end, kind: kind.into(), offset: begin + offset, reason }
}

/// The kind of refusal, the byte of the line at fault, why.
fn said(cause: Cause) -> (&'static str, usize, String) {
    match cause {
        Cause::Json { offset, reason } => ("json", offset, reason),
        Cause::TooLong { length } => ("too_long", 0, length.to_string()),
        Cause::TooLarge { needed, limit } => {
            ("too_large", 0, format!("it needs {needed} bytes, and there can be {limit}"))
        }
    }
}

/// A finished file of blocks.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct Shard {
    shard: blocks::Shard,
}

#[pymethods]
impl Shard {
    #[getter]
    fn records(&self) -> u64 {
        self.shard.records
    }

    /// Its size.
    #[getter]
    fn bytes(&self) -> u64 {
        self.shard.bytes
    }

    #[getter]
    fn logical_bytes(&self) -> u64 {
        self.shard.logical_bytes
    }

    #[getter]
    fn blocks(&self) -> usize {
        self.shard.blocks.len()
    }

    /// The bytes of the sidecar for `file`, which this is.
    fn checkpoints<'py>(&self, py: Python<'py>, file: &File) -> PyResult<Bound<'py, PyBytes>> {
        let stat = Stat { size: self.shard.bytes, mtime_ns: 0, ctime_ns: 0 };
        let bytes = py.detach(|| {
            let fingerprint = Fingerprint::take(&file.data, stat)?;
            self.shard.checkpoints(&fingerprint)
        });
        Ok(PyBytes::new(py, &bytes.map_err(error::to_python)?))
    }

    /// XXH3 of all its bytes, as it is written.
    #[getter]
    fn digest(&self) -> String {
        format!("xxh3:{:016x}", self.shard.digest)
    }
}

/// Name, ending, levels (least, default, most) and choices (name, default, most) of every
/// codec; no levels where it has no blocks.
type CodecRow =
    (&'static str, &'static str, Option<(i32, i32, i32)>, Vec<(&'static str, u32, u32)>);

/// The table of codecs.
#[pyfunction]
pub(crate) fn codec_table() -> Vec<CodecRow> {
    CODECS
        .iter()
        .map(|codec| {
            let levels = codec
                .blocks
                .map(|format| (*format.levels.start(), format.default_level, *format.levels.end()));
            let choices = codec.blocks.map_or(&[][..], |format| format.choices);
            let choices = choices.iter().map(|choice| (choice.name, choice.default, choice.most));
            (codec.name, codec.suffix, levels, choices.collect())
        })
        .collect()
}
