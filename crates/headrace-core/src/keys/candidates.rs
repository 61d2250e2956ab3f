//! Candidates: the rows that may have one of some keys, in file order.
//!
//! All rows with one of the keys are among them, and a few others may be; the caller checks the rows.

use std::{collections::HashSet, ops::Range};

use super::{
    KeyReader, Lookup, Read, Request, SetSegments, hash,
    rows::{TOGETHER, Window, no_fit},
};
use crate::{Result, rows::RowBatch, sealed::BaseDelta};

/// The segment of a hash, and the bits of the hash that it stores.
type Known = (usize, (u64, u64));

/// Where such rows begin.
pub struct Candidates {
    offsets: Vec<u64>,
    /// What base and delta know of the hashes of the keys.
    known: Vec<HashSet<Known>>,
}

impl Candidates {
    /// The byte at which each row begins.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Those that begin in some bytes.
    #[must_use]
    pub fn within(&self, bytes: Range<u64>) -> Self {
        let place = |byte| self.offsets.partition_point(|&offset| offset < byte);
        let (start, end) = (place(bytes.start), place(bytes.end));
        let offsets = self.offsets.get(start..end).unwrap_or_default().to_vec();
        Self { offsets, known: self.known.clone() }
    }
}

impl BaseDelta<SetSegments> {
    /// The rows that may have one of some keys; `None` if they are more than `most`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where a file is damaged, or has too many keys with one hash.
    pub fn candidates(&self, requests: &[Request], most: u64) -> Result<Option<Candidates>> {
        let mut offsets = Vec::new();
        let mut known = Vec::new();
        for (index, below) in self.parts() {
            for request in requests {
                let Range { start: mut number, end } = index.find(request)?;
                if end - number > most.saturating_sub(offsets.len() as u64) {
                    return Ok(None);
                }
                while number < end {
                    let next = end.min(number + TOGETHER);
                    let found = index.postings(number..next)?;
                    offsets.extend(found.into_iter().filter(|&offset| offset < below));
                    number = next;
                }
            }
            known.push(requests.iter().map(|request| index.known_of(request.hash)).collect());
        }
        offsets.sort_unstable();
        offsets.dedup();
        Ok(Some(Candidates { offsets, known }))
    }
}

impl Lookup<'_> {
    /// Add some of the rows to `batch`, until it holds `max_bytes`.
    ///
    /// # Errors
    /// Errors of reading; [`crate::ErrorKind::Sidecar`] where the index is not that of the source.
    pub fn candidates(
        &self,
        index: &BaseDelta<SetSegments>,
        candidates: &Candidates,
        numbers: Range<usize>,
        reader: &mut KeyReader,
        max_bytes: usize,
        batch: &mut RowBatch,
    ) -> Result<()> {
        let mut window = Window::default();
        let offsets = candidates.offsets.get(numbers).unwrap_or_default();
        for (at, &offset) in offsets.iter().enumerate() {
            if batch.data.len() >= max_bytes {
                break;
            }
            let row = self.row(offset, &offsets[at + 1..], &mut window)?;
            let Read::Key(key) = reader.read(row.content) else { return Err(no_fit(offset)) };
            let key = hash(key);
            let owner =
                index.parts().zip(&candidates.known).find(|((_, below), _)| offset < *below);
            let expected =
                owner.is_some_and(|((part, _), known)| known.contains(&part.known_of(key)));
            if !expected {
                return Err(no_fit(offset));
            }
            batch.push(row);
        }
        Ok(())
    }
}
