//! Where every thousandth row begins.
//!
//! A checkpoint is the byte offset of a row's first byte. The builder adds to the
//! index while other threads look rows up in what is there already. A file of blocks
//! that knows their rows has a checkpoint where each of them begins.

use std::sync::{
    Arc, PoisonError, RwLock, RwLockReadGuard,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use crate::{Error, ErrorKind, Result, blocks::BlockTable, rows::checkpoint_file::CheckpointFile};

/// The counts of a source that has been scanned as a whole.
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
    Blocks(Arc<BlockTable>),
}

impl RowIndex {
    /// An empty index with a checkpoint every `interval` rows; row 0 begins at byte 0.
    pub fn new(interval: u64) -> Self {
        Self::with(interval, Checkpoints::Built(vec![0]), Summary::default(), false)
    }

    /// The finished index that a sidecar holds. Checkpoints are read when needed, blocks
    /// all together.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where a table of blocks cannot be used.
    pub fn stored(file: CheckpointFile) -> Result<Self> {
        if file.header().has_blocks() {
            return Ok(Self::of_blocks(Arc::new(BlockTable::stored(&file)?)));
        }
        let (interval, summary) = (file.header().interval, file.header().summary());
        Ok(Self::with(interval, Checkpoints::Stored(Box::new(file)), summary, true))
    }

    /// The finished index of rows of which every `interval`th begins at one of `offsets`.
    pub fn known(interval: u64, offsets: Vec<u64>, summary: Summary) -> Self {
        let offsets = if offsets.is_empty() { vec![0] } else { offsets };
        Self::with(interval, Checkpoints::Built(offsets), summary, true)
    }

    /// The finished index of a file whose blocks have been counted.
    pub fn of_blocks(table: Arc<BlockTable>) -> Self {
        let summary = Summary {
            total_rows: table.total_rows(),
            logical_size: table.logical_size(),
            last_row_terminated: true,
            bom: false,
        };
        Self::with(0, Checkpoints::Blocks(table), summary, true)
    }

    /// Whether checkpoints need no check: blocks are checked when they are read. Without blocks, a
    /// reader checks the byte before the checkpoint.
    pub fn proven(&self) -> bool {
        self.blocks().is_some()
    }

    /// The blocks that the index is of, if it is.
    pub fn blocks(&self) -> Option<Arc<BlockTable>> {
        match &*self.read_checkpoints() {
            Checkpoints::Blocks(table) => Some(Arc::clone(table)),
            Checkpoints::Built(_) | Checkpoints::Stored(_) => None,
        }
    }

    fn read_checkpoints(&self) -> RwLockReadGuard<'_, Checkpoints> {
        self.checkpoints.read().unwrap_or_else(PoisonError::into_inner)
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
    /// [`crate::ErrorKind::Sidecar`] where a stored entry is damaged.
    pub fn checkpoint(&self, row: u64) -> Result<(u64, u64)> {
        let wanted = row / self.interval;
        let (position, offset) = match &*self.read_checkpoints() {
            Checkpoints::Blocks(table) => {
                let found = table.at_row(row).map(|block| (block.logical, row - block.first_row));
                return Ok(found.unwrap_or((0, row)));
            }
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
    /// [`crate::ErrorKind::Sidecar`] where a stored entry is damaged.
    pub fn checkpoints(&self) -> Result<Vec<u64>> {
        match &*self.read_checkpoints() {
            Checkpoints::Built(offsets) => Ok(offsets.clone()),
            Checkpoints::Stored(file) => file.all(),
            Checkpoints::Blocks(table) => {
                Ok(table.blocks().iter().map(|block| block.logical).collect())
            }
        }
    }

    /// An index that goes on where the last checkpoint of `self` stands, for a source that grew.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where a stored entry is damaged.
    pub fn resume(&self) -> Result<Self> {
        if self.proven() {
            let reason = "what follows a file of blocks is not known to be one";
            return Err(Error::at(ErrorKind::Sidecar, 0, reason));
        }
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
