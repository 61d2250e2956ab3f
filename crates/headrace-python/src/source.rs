//! Where bytes come from: files by position, and readers in order.

use std::{
    io::{self, Read},
    os::fd::AsFd,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use headrace_core::{
    blocks::{Ahead, BlockFile, BlockTable},
    codec::{self, CODECS, Codec, Input},
    decode::{self, DecodeLimits},
    foreign,
    input::{DataFile, RangeReader, ReadAt, Stat},
    log::{CheckedRead, CheckedSegment, Place, SegmentEntries},
    rows::checkpoint_file::Fingerprint,
};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyBytes, PyList},
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::to_python;

/// The name of the codec of a file that begins with `head`.
#[pyfunction]
pub(crate) fn sniff(head: &[u8]) -> &'static str {
    codec::sniff(head).name
}

/// What data is that begins with `head`, and what helps, if it is no text.
#[pyfunction]
pub(crate) fn foreign_format(head: &[u8]) -> Option<&'static str> {
    foreign::recognise(head)
}

/// The names of all codecs.
#[pyfunction]
pub(crate) fn codecs(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    PyList::new(py, CODECS.iter().map(|codec| codec.name))
}

pub(crate) fn codec_named(name: &str) -> PyResult<&'static Codec> {
    codec::by_name(name).ok_or_else(|| PyValueError::new_err(format!("no codec {name:?}")))
}

/// A file read by position.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct File {
    pub(crate) data: Arc<DataFile>,
    /// What `data` decodes, if it is made of blocks.
    blocks: Option<Arc<BlockFile>>,
    /// The entries of its lines, and what `data` checks, if it is a segment of a log.
    segment: Option<(Arc<SegmentEntries>, Arc<DataFile>)>,
    /// Whether it is read through Python. Worker threads must not read it: they would need the GIL,
    /// which the thread that waits for them may hold.
    through_python: bool,
}

impl File {
    pub(crate) fn new(data: DataFile) -> Self {
        Self { data: Arc::new(data), blocks: None, segment: None, through_python: false }
    }

    /// The decoded content of this file, which is made of blocks.
    pub(crate) fn decoded(&self, table: &Arc<BlockTable>, strict: bool) -> Self {
        let blocks = BlockFile::new(Arc::clone(&self.data), Arc::clone(table));
        let blocks = Arc::new(if strict { blocks.strict() } else { blocks });
        let data = Arc::new(DataFile::new(Arc::clone(&blocks)));
        Self { data, blocks: Some(blocks), segment: None, through_python: self.through_python }
    }
}

#[pymethods]
impl File {
    #[new]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let data = py.detach(|| DataFile::open(&path))?;
        Ok(Self::new(data))
    }

    /// A file read through `read_at(offset, length) -> bytes`; `stat()` gives its size, the time
    /// of its last change, and in place of the other time what stands for its version.
    #[staticmethod]
    fn remote(read_at: Py<PyAny>, stat: Py<PyAny>) -> Self {
        let data = DataFile::new(Remote { read_at, stat });
        Self { through_python: true, ..Self::new(data) }
    }

    /// Size, and times of the last change of content and of metadata in nanoseconds.
    fn stat(&self, py: Python<'_>) -> PyResult<(u64, i64, i64)> {
        let stat = py.detach(|| self.data.stat()).map_err(|error| to_python(error.into()))?;
        Ok((stat.size, stat.mtime_ns, stat.ctime_ns))
    }

    /// At most `length` bytes from `offset`, fewer at the end of the file.
    fn read_at<'py>(
        &self,
        py: Python<'py>,
        offset: u64,
        length: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut buffer = vec![0; length];
        let count = py.detach(|| {
            let mut done = 0;
            while done < length {
                match self.data.read_at(&mut buffer[done..], offset + done as u64)? {
                    0 => break,
                    count => done += count,
                }
            }
            io::Result::Ok(done)
        });
        let count = count.map_err(|error| to_python(error.into()))?;
        Ok(PyBytes::new(py, &buffer[..count]))
    }

    /// The inode, which no other file of the file system has.
    fn identity(&self, py: Python<'_>) -> PyResult<String> {
        let identity =
            py.detach(|| self.data.identity()).map_err(|error| to_python(error.into()))?;
        Ok(format!("{identity:016x}"))
    }

    /// Hashes of the first and the last bytes of the first `size` bytes.
    fn fingerprint(&self, py: Python<'_>, size: u64) -> PyResult<(String, String)> {
        let stat = Stat { size, mtime_ns: 0, ctime_ns: 0 };
        let taken = py.detach(|| Fingerprint::take(&self.data, stat)).map_err(to_python)?;
        Ok((format!("{:016x}", taken.head_hash), format!("{:016x}", taken.tail_hash)))
    }

    /// This file, every line of which is compared with its entry when it is read: a segment of a
    /// log with `rows` lines, whose `index` has the salt, the number and the base of `place`.
    /// With `positions`, bytes are those of the lines; without, they are still compressed, and
    /// only read in order.
    fn checked(
        &self,
        py: Python<'_>,
        index: &Self,
        place: (u32, u32, u64),
        rows: u32,
        positions: bool,
    ) -> PyResult<Self> {
        let (salt, file_number, base) = place;
        let begin = Place { salt, file_number, base, rows: 0, end: 0 };
        let index = Arc::clone(&index.data);
        let entries = py.detach(|| SegmentEntries::open(index, begin, rows)).map_err(to_python)?;
        let (entries, file) = (Arc::new(entries), Arc::clone(&self.data));
        let data = if positions {
            Arc::new(DataFile::new(CheckedSegment::new(Arc::clone(&file), Arc::clone(&entries))))
        } else {
            Arc::clone(&file)
        };
        let segment = Some((entries, file));
        Ok(Self { data, blocks: self.blocks.clone(), segment, through_python: false })
    }

    /// Bytes of the lines that are checked, as their entries say.
    #[getter]
    fn checked_size(&self) -> Option<u64> {
        self.segment.as_ref().map(|(entries, _file)| entries.size())
    }

    /// All bytes ever read through this object.
    #[getter]
    fn bytes_read(&self) -> u64 {
        self.data.bytes_read()
    }
}

struct Remote {
    read_at: Py<PyAny>,
    stat: Py<PyAny>,
}

impl ReadAt for Remote {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        Python::attach(|py| copy_out(&self.read_at.bind(py).call1((offset, buffer.len()))?, buffer))
            .map_err(io::Error::other)
    }

    fn stat(&self) -> io::Result<Stat> {
        let said: PyResult<_> = Python::attach(|py| self.stat.bind(py).call0()?.extract());
        let (size, mtime_ns, ctime_ns) = said.map_err(io::Error::other)?;
        Ok(Stat { size, mtime_ns, ctime_ns })
    }
}

/// Bytes in order, once: a pipe.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct Reader {
    input: Mutex<Option<Input>>,
}

#[pymethods]
impl Reader {
    /// A pipe or device by its path.
    #[new]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let file = py.detach(|| std::fs::File::open(&path))?;
        Ok(Self::new(Box::new(Pipe(file))))
    }

    /// Standard input.
    #[staticmethod]
    fn stdin() -> PyResult<Self> {
        let file = std::fs::File::from(io::stdin().as_fd().try_clone_to_owned()?);
        Ok(Self::new(Box::new(Pipe(file))))
    }

    /// Bytes that are there already.
    #[staticmethod]
    fn of_bytes(data: Vec<u8>) -> Self {
        Self::new(Box::new(io::Cursor::new(data)))
    }

    /// The bytes that `read(length) -> bytes` returns, at most `length` each time, none at the end.
    #[staticmethod]
    fn calling(read: Py<PyAny>) -> Self {
        Self::new(Box::new(Called(read)))
    }

    /// The first `length` bytes of what is to come; they stay unread. Fewer if a row ends
    /// before: a pipe may hold no more than one short row for a long time.
    fn peek<'py>(&self, py: Python<'py>, length: usize) -> PyResult<Bound<'py, PyBytes>> {
        let mut input = self.take()?;
        let head = py.detach(|| peek(&mut input, length))?;
        let bytes = PyBytes::new(py, &head);
        *self.lock() = Some(Box::new(io::Cursor::new(head).chain(input)));
        Ok(bytes)
    }
}

impl Reader {
    fn new(input: Input) -> Self {
        Self { input: Mutex::new(Some(input)) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Input>> {
        self.input.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> PyResult<Input> {
        self.lock().take().ok_or_else(|| PyValueError::new_err("a pipe can be read only once"))
    }
}

fn peek(input: &mut Input, length: usize) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    // A zero byte before the newline is no text: that head must be whole.
    while head.len() < length && (head.contains(&0) || !head.contains(&b'\n')) {
        let mut byte = [0];
        if input.read(&mut byte)? == 0 {
            break;
        }
        head.push(byte[0]);
    }
    Ok(head)
}

/// Bytes that a Python function gives.
struct Called(Py<PyAny>);

impl Read for Called {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| copy_out(&self.0.bind(py).call1((buffer.len(),))?, buffer))
            .map_err(io::Error::other)
    }
}

/// A pipe, which may keep its reader waiting for ever: Ctrl-C must end that.
struct Pipe(std::fs::File);

/// A signal that comes just before a wait, or to another thread, does not interrupt it: it is
/// noticed after this time.
const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let found = match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&WAIT)) {
                Ok(0) => Err(io::ErrorKind::Interrupted.into()),
                Ok(_) => self.0.read(buffer),
                Err(error) => Err(error.into()),
            };
            match found {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    Python::attach(|py| py.check_signals().map_err(io::Error::other))?;
                }
                done => return done,
            }
        }
    }
}

/// Anything rows can be read from.
#[derive(FromPyObject)]
pub(crate) enum Source<'py> {
    File(PyRef<'py, File>),
    Reader(PyRef<'py, Reader>),
}

impl Source<'_> {
    /// The decoded bytes of `[offset, end)`, counted before decoding; a pipe has no positions.
    /// `decoding` says how many threads decode blocks.
    pub(crate) fn input(
        &self,
        codec: &str,
        offset: u64,
        end: u64,
        decoding: Decoding,
    ) -> PyResult<Input> {
        let raw: Input = match self {
            Self::File(file) => match (&file.blocks, &file.segment) {
                (Some(blocks), _) => {
                    let threads = if file.through_python { 1 } else { decoding.threads };
                    Box::new(Ahead::new(Arc::clone(blocks), offset, end, threads))
                }
                (None, Some((_entries, data))) => {
                    Box::new(RangeReader::new(Arc::clone(data), offset, end))
                }
                (None, None) => Box::new(RangeReader::new(Arc::clone(&file.data), offset, end)),
            },
            Self::Reader(reader) => reader.take()?,
        };
        let codec = codec_named(codec)?;
        let input = decode::decode(codec, raw, decoding.limits())?;
        let Self::File(file) = self else { return Ok(input) };
        let Some((entries, data)) = &file.segment else { return Ok(input) };
        // Where bytes are compressed, `end` is not one of the lines.
        let end = if codec.name == "none" { end } else { u64::MAX };
        let (entries, data) = (Arc::clone(entries), Arc::clone(data));
        Ok(Box::new(CheckedRead::new(input, data, entries, offset, end)))
    }
}

/// How compressed bytes are decoded; see `headrace.kernel.rows.Decoding`.
#[derive(Clone, Copy, FromPyObject)]
pub(crate) struct Decoding {
    pub(crate) threads: usize,
    max_ratio: u64,
    max_decoded: u64,
}

impl Decoding {
    pub(crate) fn limits(self) -> DecodeLimits {
        DecodeLimits { max_ratio: self.max_ratio, max_decoded: self.max_decoded }
    }
}

impl Default for Decoding {
    fn default() -> Self {
        let DecodeLimits { max_ratio, max_decoded } = DecodeLimits::default();
        Self { threads: 1, max_ratio, max_decoded }
    }
}

/// The decoded bytes of a source, in order.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct Decoded {
    input: Mutex<Input>,
    /// Memory of the call before.
    spare: Mutex<Vec<u8>>,
}

#[pymethods]
impl Decoded {
    /// `size` is how far a file may be read.
    #[new]
    #[pyo3(signature = (source, codec, *, size, decoding = None))]
    fn new(
        source: Source<'_>,
        codec: &str,
        size: u64,
        decoding: Option<Decoding>,
    ) -> PyResult<Self> {
        let input = source.input(codec, 0, size, decoding.unwrap_or_default())?;
        Ok(Self { input: Mutex::new(input), spare: Mutex::default() })
    }

    /// The next bytes, at most `most`; none at the end.
    #[pyo3(signature = (most = 1 << 18))]
    fn read<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Bound<'py, PyBytes>> {
        let read = py.detach(|| {
            let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
            let mut buffer = std::mem::take(&mut *self.spare());
            buffer.resize(most, 0);
            let count = fill(&mut input, &mut buffer)?;
            io::Result::Ok((buffer, count))
        });
        let (buffer, count) = read.map_err(|error| to_python(error.into()))?;
        let bytes = PyBytes::new(py, &buffer[..count]);
        *self.spare() = buffer;
        Ok(bytes)
    }
}

impl Decoded {
    fn spare(&self) -> MutexGuard<'_, Vec<u8>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Read until `buffer` is full or the input has ended; a failure comes after what is there.
fn fill(input: &mut Input, buffer: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match input.read(&mut buffer[done..]) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if done == 0 => return Err(error),
            // A reader that has failed fails again.
            Err(_) => break,
        }
    }
    Ok(done)
}

fn copy_out(bytes: &Bound<'_, PyAny>, buffer: &mut [u8]) -> PyResult<usize> {
    let bytes: &[u8] = bytes.extract()?;
    let count = bytes.len().min(buffer.len());
    buffer[..count].copy_from_slice(&bytes[..count]);
    Ok(count)
}
