//! What can go wrong below Python, and where.

use std::{error, fmt, io};

/// The core's result.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure with the byte at which it shows.
#[derive(Debug)]
pub enum Error {
    /// The operating system refused.
    Io(io::Error),
    /// Compressed bytes cannot be decoded; `offset` counts compressed bytes.
    Damaged {
        /// How much of the compressed input had been taken.
        offset: u64,
        /// What the decoder said.
        reason: String,
    },
    /// The file is no longer the one that was opened.
    Changed {
        /// The byte that could not be read.
        offset: u64,
        /// What changed.
        reason: String,
    },
    /// A sidecar file cannot be used; the data is not in doubt.
    Sidecar {
        /// The byte of the sidecar that does not fit.
        offset: u64,
        /// What does not fit.
        reason: String,
    },
    /// What a file says of its own blocks is wrong; read in order, it may be whole.
    Table {
        /// The compressed byte at which that shows.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// One block cannot be decoded; the others can.
    DamagedBlock(Box<DamagedBlock>),
    /// A line of a log is not what was written.
    Line {
        /// Its first byte, after decompression.
        offset: u64,
        /// Which line, and what is wrong.
        reason: String,
    },
    /// An index entry of a log cannot be used; its line may be good.
    Entry {
        /// Its first byte in the index.
        offset: u64,
        /// Of which line, and what is wrong.
        reason: String,
    },
    /// The data is no text, so it has no rows.
    NoText {
        /// What it is, and what helps.
        reason: String,
    },
    /// Compressed bytes stand for more than whoever reads them allows.
    TooLarge {
        /// How much of the compressed input had been taken.
        offset: u64,
        /// What was exceeded.
        reason: String,
    },
}

/// Which block is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedBlock {
    /// Where it begins in the file.
    pub offset: u64,
    /// Its number.
    pub block: u64,
    /// Its first row and the first behind it, where they were counted.
    pub rows: Option<(u64, u64)>,
    /// Where the next one begins, after decompression.
    pub next: u64,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Damaged { offset, reason }
            | Self::Changed { offset, reason }
            | Self::Sidecar { offset, reason }
            | Self::Table { offset, reason }
            | Self::Line { offset, reason }
            | Self::Entry { offset, reason }
            | Self::TooLarge { offset, reason } => write!(f, "{reason} (byte {offset})"),
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
