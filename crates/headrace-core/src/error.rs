//! Errors of the core, each with the byte at which it shows.

use std::{error, fmt, io};

/// The core's result.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure, with the byte at which it shows.
#[derive(Debug)]
pub enum Error {
    /// The operating system refused.
    Io(io::Error),
    /// A byte of a file is wrong.
    At {
        /// Which file cannot be used, and why.
        kind: ErrorKind,
        /// The byte; see [`ErrorKind`].
        offset: u64,
        /// The error message.
        reason: String,
    },
    /// One block cannot be decoded; the others can.
    DamagedBlock(Box<DamagedBlock>),
    /// The data is not text, so it has no rows.
    NoText {
        /// The format that was recognised, and what to do.
        reason: String,
    },
}

/// The kinds of [`Error::At`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Compressed bytes cannot be decoded. The offset counts compressed bytes taken.
    Damaged,
    /// The file is no longer the one that was opened.
    Changed,
    /// A sidecar file or index cannot be used; the data is not in doubt. The offset is a byte of it.
    Sidecar,
    /// The block table inside a compressed file is wrong; read in order, the file may be whole.
    Table,
    /// A line of a log is not the one that was written. The offset is its first byte, decompressed.
    Line,
    /// An index entry of a log cannot be used; its line may be good. The offset is its first byte.
    Entry,
    /// The decoded data is larger than the reader allows. The offset counts compressed bytes taken.
    TooLarge,
}

impl ErrorKind {
    /// The name by which Python knows the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Damaged => "damaged",
            Self::Changed => "changed",
            Self::Sidecar => "sidecar",
            Self::Table => "table",
            Self::Line => "line",
            Self::Entry => "entry",
            Self::TooLarge => "too_large",
        }
    }
}

impl Error {
    /// The error of a byte.
    pub fn at(kind: ErrorKind, offset: u64, reason: impl Into<String>) -> Self {
        Self::At { kind, offset, reason: reason.into() }
    }
}

/// A block that cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedBlock {
    /// Its first byte in the file.
    pub offset: u64,
    /// Its number.
    pub block: u64,
    /// Its first row and the first one behind it, if the table counts rows.
    pub rows: Option<(u64, u64)>,
    /// The first byte of the next block, after decompression.
    pub next: u64,
    /// Why decoding failed.
    pub reason: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::At { offset, reason, .. } => write!(f, "{reason} (byte {offset})"),
            Self::NoText { reason } => f.write_str(reason),
            Self::DamagedBlock(damaged) => {
                write!(f, "{} (block {}, byte {})", damaged.reason, damaged.block, damaged.offset)
            }
        }
    }
}

impl error::Error for Error {}

impl From<io::Error> for Error {
    /// `Read` can only speak `io::Error`, so our own errors travel inside one.
    fn from(error: io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(ours) => ours,
            Err(error) => Self::Io(error),
        }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Io(error) => error,
            ours => Self::other(ours),
        }
    }
}
