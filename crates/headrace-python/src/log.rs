//! The append log: checked lines, their entries, and both against each other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headrace_core::{
    json::Limits,
    log::{
        self, Checking, Clock, ENTRY_BYTES, Entry, Fault, Form, Late, Limit, Lines, Merge, Pause,
        Stop, TailScan,
    },
    query::Watch,
};
use pyo3::{
    exceptions::{PyOverflowError, PyValueError},
    prelude::*,
    pybacked::PyBackedBytes,
    types::PyBytes,
};

use crate::{error::to_python, query::Program, signals, source::File};

/// Where the next line of a file goes; see `headrace.kernel.log.Place`.
#[derive(FromPyObject)]
pub(crate) struct Place {
    salt: u32,
    file_number: u32,
    base: u64,
    rows: u32,
    end: u64,
}

impl From<Place> for log::Place {
    fn from(place: Place) -> Self {
        let Place { salt, file_number, base, rows, end } = place;
        Self { salt, file_number, base, rows, end }
    }
}

/// Lines in a file, and their bytes.
type Reached = (u32, u64);

fn checking(max_depth: u32, max_line: usize, time: Option<&Program>) -> Checking {
    let time = time.map(|program| Arc::clone(&program.core));
    Checking::new(Limits { max_depth }, max_line, time, || Watch::new(signals::caught))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An entry of an index: where a line is, and its time. The checksum covers the line.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub(crate) struct LogEntry {
    start: u64,
    end: u64,
    time: i64,
    line: u64,
    line_of_file: u32,
    file_number: u32,
    extracted: bool,
    flags: u8,
    checksum: u32,
}

/// The entry in `data`; `None` if it is not one of the log with this salt.
#[pyfunction]
pub(crate) fn log_entry(data: &[u8], salt: u32) -> PyResult<Option<LogEntry>> {
    let bytes: &[u8; ENTRY_BYTES] =
        data.try_into().map_err(|_| PyValueError::new_err("not as long as an entry"))?;
    Ok(Entry::decode(bytes, salt).map(|entry| LogEntry {
        start: entry.start,
        end: entry.end,
        time: entry.time,
        line: entry.line,
        line_of_file: entry.line_of_file,
        file_number: entry.file_number,
        extracted: entry.extracted,
        flags: entry.flags,
        checksum: entry.checksum,
    }))
}

/// How many lines are before it, the byte of it that is wrong, and why.
type Refused = (usize, usize, String);

/// `end`, `whole`, `torn` or `bad`, the byte, and why.
type Stopped = (&'static str, u64, String);

/// Checks lines, and extracts their times.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct LogChecking {
    checking: Mutex<Checking>,
}

#[pymethods]
impl LogChecking {
    #[new]
    #[pyo3(signature = (*, max_depth, max_line, time = None))]
    fn new(max_depth: u32, max_line: usize, time: Option<&Program>) -> Self {
        Self { checking: Mutex::new(checking(max_depth, max_line, time)) }
    }

    /// The lines of `data`, up to one that is refused: how many are before it, the byte of
    /// it that is wrong, and why.
    fn lines(&self, py: Python<'_>, data: &[u8]) -> PyResult<(LogLines, Option<Refused>)> {
        let (lines, refusal) = py.detach(|| Lines::of(data, &mut locked(&self.checking)));
        signals::raised()?;
        let refusal = refusal.map(|refusal| (refusal.position, refusal.offset, refusal.reason));
        Ok((LogLines { lines }, refusal))
    }
}

/// Lines that were checked.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct LogLines {
    lines: Lines,
}

#[pymethods]
impl LogLines {
    fn __len__(&self) -> usize {
        self.lines.len()
    }

    /// Bytes of the first `count`.
    fn end_of(&self, count: usize) -> u64 {
        self.lines.end_of(count)
    }

    /// The number of lines from position `start` on that fit into `max_rows` and `max_bytes`.
    fn fitting(&self, start: usize, max_rows: u64, max_bytes: u64) -> usize {
        self.lines.fitting(start, max_rows, max_bytes)
    }

    /// How many have nothing in them.
    #[getter]
    fn blank(&self) -> usize {
        self.lines.blank()
    }

    /// The entries of lines `start` to `end`, and the place behind them.
    #[pyo3(signature = (start, end, place, clock, *, created, reconstructed))]
    fn entries<'py>(
        &self,
        py: Python<'py>,
        start: usize,
        end: usize,
        place: Place,
        clock: &LogClock,
        created: i64,
        reconstructed: bool,
    ) -> PyResult<(Bound<'py, PyBytes>, Reached)> {
        let at = place.into();
        let made = py.detach(|| {
            let mut clock = locked(&clock.clock);
            self.lines.entries((start, end), at, &mut clock, created, reconstructed)
        });
        let (entries, next) =
            made.ok_or_else(|| PyOverflowError::new_err("more lines than a file can have"))?;
        Ok((PyBytes::new(py, &entries), (next.rows, next.end)))
    }
}

/// The last time, the latest that was extracted, the earliest and the latest of the file, and how
/// many could not be extracted.
type Times = (Option<i64>, Option<i64>, Option<(i64, i64)>, u64);

/// The times of a log.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct LogClock {
    clock: Mutex<Clock>,
}

#[pymethods]
impl LogClock {
    /// `late` is by how many milliseconds a time may be earlier than one before it; None: by any.
    #[new]
    #[pyo3(signature = (late, *, last = None, latest_extracted = None, span = None))]
    fn new(
        late: Option<u64>,
        last: Option<i64>,
        latest_extracted: Option<i64>,
        span: Option<(i64, i64)>,
    ) -> Self {
        let late = late.map_or(Late::Any, Late::Milliseconds);
        let clock = Clock { last, latest_extracted, span, ..Clock::new(late) };
        Self { clock: Mutex::new(clock) }
    }

    #[getter]
    fn times(&self) -> Times {
        let clock = locked(&self.clock);
        (clock.last, clock.latest_extracted, clock.span, clock.fallbacks)
    }

    /// Forget the earliest and the latest: a file begins.
    fn begin_file(&self) {
        locked(&self.clock).span = None;
    }

    /// A clock that goes on from here by itself.
    fn copy(&self) -> Self {
        Self { clock: Mutex::new(*locked(&self.clock)) }
    }
}

/// Reads lines that have no entries.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct LogTail {
    scan: Mutex<TailScan>,
}

#[pymethods]
impl LogTail {
    /// A line begins at `offset` of the file, which has `size` bytes.
    #[new]
    #[pyo3(signature = (file, offset, size, *, max_depth, max_line, time = None))]
    fn new(
        file: &File,
        offset: u64,
        size: u64,
        max_depth: u32,
        max_line: usize,
        time: Option<&Program>,
    ) -> Self {
        let checking = checking(max_depth, max_line, time);
        Self { scan: Mutex::new(TailScan::new(Arc::clone(&file.data), offset, size, checking)) }
    }

    /// Where the next line begins, or what is no line.
    #[getter]
    fn offset(&self) -> u64 {
        locked(&self.scan).offset()
    }

    /// The next lines, about `enough` bytes of them, and why they end, if they do: `end`; `whole`
    /// or `torn`, if the rest has no newline; `bad`, with a reason.
    fn next(&self, py: Python<'_>, enough: u64) -> PyResult<(LogLines, Option<Stopped>)> {
        let (lines, stop) = py.detach(|| locked(&self.scan).next(enough)).map_err(to_python)?;
        signals::raised()?;
        let offset = self.offset();
        let stop = stop.map(|stop| match stop {
            Stop::End => ("end", offset, String::new()),
            Stop::Torn(true) => ("whole", offset, "it has no newline".into()),
            Stop::Torn(false) => ("torn", offset, "it has no newline".into()),
            Stop::Bad(at, reason) => ("bad", at, reason),
        });
        Ok((LogLines { lines }, stop))
    }

    /// The last line, given its newline, after `whole`.
    fn completed(&self) -> LogLines {
        LogLines { lines: locked(&self.scan).completed() }
    }
}

/// `entry`, `short` or `data`, and what is wrong.
type Wrong = Option<(&'static str, &'static str)>;

fn wrong(fault: Option<Fault>) -> Wrong {
    fault.map(|fault| match fault {
        Fault::Entry(reason) => ("entry", reason),
        Fault::Short(reason) => ("short", reason),
        Fault::Data(reason) => ("data", reason),
    })
}

/// Go through entries from `place` on, up to row `rows` of the file or one that is wrong, and through the
/// lines as well if there is `data`: the place that was reached, and what is wrong there.
#[pyfunction]
pub(crate) fn verify_log(
    py: Python<'_>,
    index: &File,
    data: Option<&File>,
    size: u64,
    place: Place,
    rows: u32,
    clock: &LogClock,
) -> PyResult<(Reached, Wrong)> {
    let at = place.into();
    let verified = py.detach(|| {
        let data = data.map(|file| &*file.data);
        log::verify(&index.data, data, size, at, rows, &mut locked(&clock.clock))
    });
    let verified = verified.map_err(to_python)?;
    Ok(((verified.place.rows, verified.place.end), wrong(verified.fault)))
}

/// Compare lines with their entries, the first of which is at `place`: how many fit each other, and
/// what is wrong with the next.
#[pyfunction]
pub(crate) fn verify_log_lines(
    py: Python<'_>,
    entries: &[u8],
    lines: &[u8],
    place: Place,
) -> (u32, Wrong) {
    let at = place.into();
    let (good, fault) = py.detach(|| log::verify_lines(entries, lines, at));
    (good, wrong(fault))
}

/// The earliest and the latest time of entries, None if there are none or one is not good.
#[pyfunction]
pub(crate) fn log_time_span(py: Python<'_>, entries: &[u8], salt: u32) -> Option<(i64, i64)> {
    py.detach(|| log::span(entries, salt))
}

/// Those entries, of `lines`, whose times are from `since` to before `until`, and their lines.
#[pyfunction]
pub(crate) fn log_lines_between<'py>(
    py: Python<'py>,
    entries: &[u8],
    lines: &[u8],
    since: i64,
    until: i64,
) -> (Bound<'py, PyBytes>, Bound<'py, PyBytes>) {
    let (entries, lines) = py.detach(|| log::select(entries, lines, since..until));
    (PyBytes::new(py, &entries), PyBytes::new(py, &lines))
}

/// Lines, how many, where they are from, the key of the last, and why there are no more:
/// `wants` an input, `full`, `later` with the next key, `end`.
type MergedLines<'py> =
    (Bound<'py, PyBytes>, usize, Bound<'py, PyBytes>, Option<i64>, (&'static str, i64));

/// Lines of several logs in one order.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct LogMerge {
    merge: Mutex<Merge<PyBackedBytes>>,
}

#[pymethods]
impl LogMerge {
    /// A merge of `logs` logs. Lines come unchanged, with `picked` also their origins; or as objects
    /// with `names`, which are JSON.
    #[new]
    #[pyo3(signature = (logs, *, picked, names = None))]
    fn new(logs: usize, picked: bool, names: Option<Vec<Vec<u8>>>) -> PyResult<Self> {
        let form = match names {
            Some(names) if names.len() != logs => {
                return Err(PyValueError::new_err("a name for each log"));
            }
            Some(names) => Form::Tagged(names),
            None if picked => Form::Picked,
            None => Form::AsItIs,
        };
        Ok(Self { merge: Mutex::new(Merge::new(logs, form)) })
    }

    /// Give a log that wants them its next lines, and their entries.
    fn give(&self, log: usize, entries: PyBackedBytes, lines: PyBackedBytes) -> PyResult<()> {
        let taken = locked(&self.merge).give(log, entries, lines);
        taken.then_some(()).ok_or_else(|| PyValueError::new_err("it does not want any"))
    }

    /// Say that a log has no more.
    fn end(&self, log: usize) {
        locked(&self.merge).end(log);
    }

    /// The next lines with keys up to `key`.
    fn next<'py>(
        &self,
        py: Python<'py>,
        key: i64,
        max_rows: usize,
        max_bytes: usize,
    ) -> MergedLines<'py> {
        let limit = Limit { key, rows: max_rows, bytes: max_bytes };
        let merged = py.detach(|| locked(&self.merge).next(limit));
        let pause = match merged.pause {
            Pause::Wants(input) => ("wants", i64::try_from(input).unwrap_or(i64::MAX)),
            Pause::Full => ("full", 0),
            Pause::Later(key) => ("later", key),
            Pause::End => ("end", 0),
        };
        let (data, picks) = (PyBytes::new(py, &merged.data), PyBytes::new(py, &merged.picks));
        (data, merged.rows, picks, merged.key, pause)
    }
}
