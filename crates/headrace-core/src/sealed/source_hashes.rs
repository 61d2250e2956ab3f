//! Hashes of a source, which tell whether it is still what an index was made of.

use std::ops::Range;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::trailer::{About, Sealed, SourceHashes};
use crate::{Error, ErrorKind, Result, input::DataFile};

const READ_BYTES: u64 = 1 << 18;
/// Blocks between two questions whether to go on.
const CHECK_EVERY: u64 = 64;

/// The hashes of the blocks of `[start, end)`; the first one begins at `start`.
///
/// # Errors
/// Errors of reading.
pub fn hash_blocks(file: &DataFile, start: u64, end: u64) -> Result<Vec<u64>> {
    let mut buffer = Vec::new();
    let mut hashes = Vec::new();
    let mut at = start;
    while at < end {
        let part = (end - at).min(SourceHashes::BLOCK_BYTES);
        buffer.resize(usize::try_from(part).unwrap_or_default(), 0);
        file.read_exact_at(&mut buffer, at)?;
        hashes.push(xxh3_64(&buffer));
        at += part;
    }
    Ok(hashes)
}

/// The hash of all of `[start, end)`.
///
/// # Errors
/// Errors of reading.
pub fn hash_all(file: &DataFile, start: u64, end: u64) -> Result<u64> {
    let mut state = Xxh3::new();
    let mut buffer = Vec::new();
    let mut at = start;
    while at < end {
        let part = (end - at).min(READ_BYTES);
        buffer.resize(usize::try_from(part).unwrap_or_default(), 0);
        file.read_exact_at(&mut buffer, at)?;
        state.update(&buffer);
        at += part;
    }
    Ok(state.digest())
}

/// How much of a source is what an index was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The whole source was indexed.
    Whole,
    /// All up to the last newline then; what follows is other rows, or more of them.
    Covered,
    /// The source is not the one that was indexed.
    Not,
}

impl<M: About> Sealed<M> {
    /// Whether some blocks of a source are what they were; `None` if `go_on` returns false.
    fn holds(
        &self,
        file: &DataFile,
        blocks: Range<u64>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<bool>> {
        let mut block = blocks.start;
        while block < blocks.end {
            if !go_on() {
                return Ok(None);
            }
            let some = block..blocks.end.min(block + CHECK_EVERY);
            let start = some.start * SourceHashes::BLOCK_BYTES;
            let end = self.meta.made_of().hashed.min(some.end * SourceHashes::BLOCK_BYTES);
            block = some.end;
            if hash_blocks(file, start, end)? != self.hashes.read(&self.file, some)? {
                return Ok(Some(false));
            }
        }
        Ok(Some(true))
    }

    /// The hash of what lies behind the blocks.
    fn rest_hash(&self) -> Result<u64> {
        let rest = self.hashes.blocks().end;
        Ok(self.hashes.read(&self.file, rest..rest + 1)?[0])
    }
}

/// An index and its delta, or the same index twice.
pub(crate) struct Both<'a, M> {
    pub(crate) base: &'a Sealed<M>,
    pub(crate) newest: &'a Sealed<M>,
}

impl<M: About> Both<'_, M> {
    /// How much of a source that has `size` bytes on disk is what the index was made of.
    /// `None` if `go_on` returns false.
    ///
    /// # Errors
    /// Errors of reading; [`crate::ErrorKind::Sidecar`] where the index is damaged.
    pub(crate) fn fit(
        &self,
        file: &DataFile,
        size: u64,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<Fit>> {
        let newest = self.newest;
        let compared = (|| {
            // The block that a delta begins in is its own.
            let own = newest.hashes.blocks();
            for (index, blocks) in [(self.base, 0..own.start), (newest, own)] {
                match index.holds(file, blocks, go_on)? {
                    Some(true) => {}
                    Some(false) => return Ok(Some(Fit::Not)),
                    None => return Ok(None),
                }
            }
            let (hashed, known) = (newest.meta.made_of().hashed, newest.meta.made_of().source.size);
            let same = size == known && newest.rest_hash()? == hash_all(file, hashed, size)?;
            Ok(Some(if same { Fit::Whole } else { Fit::Covered }))
        })();
        match compared {
            // Shorter than it was.
            Err(Error::At { kind: ErrorKind::Changed, .. }) => Ok(Some(Fit::Not)),
            other => other,
        }
    }

    /// The hashes of some blocks of the source.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where the index is damaged, or has none of them.
    pub(crate) fn hashes(&self, blocks: Range<u64>) -> Result<Vec<u64>> {
        let newest = self.newest;
        let own = newest.hashes.blocks().start.max(blocks.start).min(blocks.end);
        let mut hashes = self.base.hashes.read(&self.base.file, blocks.start..own)?;
        hashes.extend(newest.hashes.read(&newest.file, own..blocks.end)?);
        Ok(hashes)
    }

    /// All of them, and that of what lies behind the blocks: those of one index of it all.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where the index is damaged.
    pub(crate) fn all_hashes(&self) -> Result<Vec<u64>> {
        self.hashes(0..self.newest.hashes.blocks().end + 1)
    }
}
