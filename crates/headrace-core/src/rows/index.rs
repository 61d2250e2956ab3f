//! Where every thousandth row begins.
//!
//! A checkpoint is the byte offset of a row's first byte. The builder adds to the
//! index while other threads look rows up in what is there already.

use std::sync::{
    PoisonError, RwLock,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use crate::{Result, rows::checkpoint_file::CheckpointFile};

/// What is known of a source once all of it has been scanned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// All rows, a last one without a newline included.
    pub total_rows: u64,
    /// All bytes, after decompression.
    pub logical_size: u64,
    /// Whether the last row ends with a newline; true for an empty source.
    pub last_row_terminated: bool,
    /// Whether the source begins with a byte order mark.
    pub bom: bool,
}

/// The checkpoints of one source, growing until [`RowIndex::complete`].
pub struct RowIndex {
    interval: u64,
    checkpoints: RwLock<Checkpoints>,
    total_rows: AtomicU64,
    scanned: AtomicU64,
    complete: AtomicBool,
    summary: RwLock<Summary>,
}

enum Checkpoints {
    Built(Vec<u64>),
    Stored(Box<CheckpointFile>),
}

impl RowIndex {
    /// An empty index with a checkpoint every `interval` rows; row 0 begins at byte 0.
    pub fn new(interval: u64) -> Self {
        Self::with(interval, Checkpoints::Built(vec![0]), Summary::default(), false)
    }

    /// The finished index that a sidecar holds. Its entries are read when asked for.
    pub fn stored(file: CheckpointFile) -> Self {
        let (interval, summary) = (file.header().interval, file.header().summary());
        Self::with(interval, Checkpoints::Stored(Box::new(file)), summary, true)
    }

    fn with(interval: u64, checkpoints: Checkpoints, summary: Summary, complete: bool) -> Self {
        Self {
            interval: interval.max(1),
            checkpoints: RwLock::new(checkpoints),
            total_rows: AtomicU64::new(summary.total_rows),
            scanned: AtomicU64::new(summary.logical_size),
            complete: AtomicBool::new(complete),
            summary: RwLock::new(summary),
        }
    }

    /// Rows from one checkpoint to the next.
    pub fn interval(&self) -> u64 {
        self.interval
    }

    /// Rows found so far; all of them once the index is complete.
    pub fn total_rows(&self) -> u64 {
        self.total_rows.load(Ordering::Acquire)
    }

    /// Bytes looked at so far, after decompression.
    pub fn scanned(&self) -> u64 {
        self.scanned.load(Ordering::Acquire)
    }

    /// Whether the whole source has been scanned.
    pub fn complete(&self) -> bool {
        self.complete.load(Ordering::Acquire)
    }

    /// What the finished scan found; zeros before.
    pub fn summary(&self) -> Summary {
        *self.summary.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The nearest known checkpoint at or before `row`, and how many rows to skip from there.
    ///
    /// # Errors
    /// [`crate::Error::Sidecar`] where a stored entry is damaged.
    pub fn checkpoint(&self, row: u64) -> Result<(u64, u64)> {
        let checkpoints = self.checkpoints.read().unwrap_or_else(PoisonError::into_inner);
        let wanted = row / self.interval;
        let (position, offset) = match &*checkpoints {
            Checkpoints::Built(offsets) => {
                // Not empty: an index begins with the checkpoint of row 0.
                let last = offsets.len() as u64 - 1;
                let position = wanted.min(last);
                (position, offsets[usize::try_from(position).unwrap_or(usize::MAX)])
            }
            Checkpoints::Stored(file) => {
                let position = wanted.min(file.header().entries - 1);
                (position, file.offset(position)?)
            }
        };
        Ok((offset, row - position * self.interval))
    }

    /// All checkpoints, in order.
    ///
    /// # Errors
    /// [`crate::Error::Sidecar`] where a stored entry is damaged.
    pub fn checkpoints(&self) -> Result<Vec<u64>> {
        match &*self.checkpoints.read().unwrap_or_else(PoisonError::into_inner) {
            Checkpoints::Built(offsets) => Ok(offsets.clone()),
            Checkpoints::Stored(file) => file.all(),
        }
    }

    /// An index that goes on where the last checkpoint of `self` stands, for a source that grew.
    ///
    /// # Errors
    /// [`crate::Error::Sidecar`] where a stored entry is damaged.
    pub fn resume(&self) -> Result<Self> {
        let offsets = self.checkpoints()?;
        let rows = (offsets.len() as u64 - 1) * self.interval;
        let scanned = offsets.last().copied().unwrap_or_default();
        let summary = Summary { bom: self.summary().bom, ..Summary::default() };
        let index = Self::with(self.interval, Checkpoints::Built(offsets), summary, false);
        index.publish(rows, scanned);
        Ok(index)
    }

    pub(super) fn push(&self, offset: u64) {
        let mut checkpoints = self.checkpoints.write().unwrap_or_else(PoisonError::into_inner);
        if let Checkpoints::Built(offsets) = &mut *checkpoints {
            offsets.push(offset);
        }
    }

    pub(super) fn publish(&self, rows: u64, scanned: u64) {
        self.total_rows.store(rows, Ordering::Release);
        self.scanned.store(scanned, Ordering::Release);
    }

    pub(super) fn finish(&self, summary: Summary) {
        *self.summary.write().unwrap_or_else(PoisonError::into_inner) = summary;
        self.publish(summary.total_rows, summary.logical_size);
        self.complete.store(true, Ordering::Release);
    }
}
