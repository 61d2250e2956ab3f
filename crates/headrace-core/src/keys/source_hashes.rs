//! Hashes of a source, which tell whether it is still what an index was made of.

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::{KeyIndex, trailer::SourceHashes};
use crate::{Error, Result, input::DataFile};

const READ_BYTES: u64 = 1 << 18;
/// Blocks between two questions whether to go on.
const ASK_EVERY: u64 = 64;

/// The hashes of the blocks of `[start, end)`; the first one begins at `start`.
///
/// # Errors
/// What reading says.
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
/// What reading says.
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

impl KeyIndex {
    /// Whether the first bytes of `file` are those the index was made of: all of them, or, of
    /// one that has `grown`, those up to the last newline. `None` if `go_on` says no.
    ///
    /// # Errors
    /// What reading says; [`Error::Sidecar`] where the index is damaged.
    pub fn is_of(
        &self,
        file: &DataFile,
        grown: bool,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<bool>> {
        let hashed = self.meta().hashed;
        let blocks = SourceHashes::count_of(hashed) - 1;
        let compared = (|| {
            let mut block = 0;
            while block < blocks {
                if !go_on() {
                    return Ok(None);
                }
                let count = (blocks - block).min(ASK_EVERY);
                let start = block * SourceHashes::BLOCK_BYTES;
                let end = hashed.min(start + count * SourceHashes::BLOCK_BYTES);
                let known = self.hashes.read(&self.file, block, count)?;
                if hash_blocks(file, start, end)? != known {
                    return Ok(Some(false));
                }
                block += count;
            }
            let rest = self.hashes.read(&self.file, blocks, 1)?;
            Ok(Some(grown || rest == [hash_all(file, hashed, self.meta().source.size)?]))
        })();
        match compared {
            // Shorter than it was.
            Err(Error::Changed { .. }) => Ok(Some(false)),
            other => other,
        }
    }
}
