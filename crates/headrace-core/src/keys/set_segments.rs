//! Set index: a key index in several files, its *segments*, partitioned by the hashes of keys.
//!
//! The last bits of a hash select the segment, so the first bits are spread within it as in an
//! index of one file. Postings are numbered through all segments.

use std::ops::Range;

use super::{KeyIndex, KeyReader, Lookup, Meta, Request, index::Bounds};
use crate::{
    Result,
    rows::RowBatch,
    sealed::{BaseDelta, HEADER_BYTES, IndexFile, Sealed, SourceMark, contradiction, unusable},
};

/// More segments than this are of no use.
const MOST: usize = 1 << 12;

/// The number of the segment, of `segments`, that has the keys with a hash.
pub(crate) fn segment_of(hash: u64, segments: usize) -> usize {
    // Below `segments`, a power of two.
    usize::try_from(hash & (segments as u64).saturating_sub(1)).unwrap_or_default()
}

/// The files of an index, which answer as one.
pub struct SetSegments {
    files: Vec<KeyIndex>,
    /// The number of the first posting of each.
    firsts: Vec<u64>,
}

impl SetSegments {
    /// An index in one file.
    pub fn one(file: KeyIndex) -> Self {
        Self { files: vec![file], firsts: vec![0] }
    }

    /// An index in several files.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where they do not belong together.
    pub fn new(files: Vec<KeyIndex>) -> Result<Self> {
        if !files.len().is_power_of_two() || files.len() > MOST {
            return Err(unusable(0, "not as many segments as an index can have"));
        }
        let mut postings = 0_u64;
        let mut firsts = Vec::with_capacity(files.len());
        for file in &files {
            if !is_beside(file.meta(), files[0].meta()) {
                return Err(contradiction());
            }
            firsts.push(postings);
            postings = postings.checked_add(file.count()).ok_or_else(contradiction)?;
        }
        Ok(Self { files, firsts })
    }

    /// The files.
    pub fn files(&self) -> &[KeyIndex] {
        &self.files
    }

    /// The first file.
    pub(super) fn first(&self) -> &KeyIndex {
        // In range: there is one at least.
        &self.files[0]
    }

    pub(super) fn bounds(&self) -> Bounds {
        self.first().bounds
    }

    fn segment_of(&self, hash: u64) -> usize {
        segment_of(hash, self.files.len())
    }

    /// The file that has the keys with a hash, and the number of its first posting.
    pub(super) fn of(&self, hash: u64) -> (&KeyIndex, u64) {
        let segment = self.segment_of(hash);
        (&self.files[segment], self.firsts[segment])
    }

    /// See [`KeyIndex::find`].
    ///
    /// # Errors
    /// See there.
    pub fn find(&self, request: &Request) -> Result<Range<u64>> {
        let (file, first) = self.of(request.hash);
        let found = file.find(request)?;
        Ok(if found.is_empty() { 0..0 } else { found.start + first..found.end + first })
    }

    /// See [`KeyIndex::postings`]; all are of one segment.
    ///
    /// # Errors
    /// See there.
    pub fn postings(&self, numbers: Range<u64>) -> Result<Vec<u64>> {
        let behind = self.firsts.partition_point(|&first| first <= numbers.start);
        let segment = behind.saturating_sub(1);
        let first = self.firsts[segment];
        self.files[segment].postings(numbers.start - first..numbers.end - first)
    }

    /// See [`KeyIndex::agrees`].
    pub fn agrees(&self, wanted: u64, row: u64) -> bool {
        self.known_of(wanted) == self.known_of(row)
    }

    /// What of a hash the index has: the segment, and what that knows.
    pub(super) fn known_of(&self, hash: u64) -> (usize, (u64, u64)) {
        let segment = self.segment_of(hash);
        (segment, self.files[segment].known_of(hash))
    }
}

impl IndexFile for SetSegments {
    type Meta = Meta;

    const NAME: &'static str = KeyIndex::NAME;

    fn sealed(&self) -> &Sealed<Meta> {
        self.first().sealed()
    }

    fn version(&self) -> u32 {
        self.first().version()
    }

    fn header_with(&self, source: &SourceMark) -> [u8; HEADER_BYTES] {
        self.first().header_with(source)
    }

    fn is_like(&self, other: &Self) -> bool {
        self.first().is_like(other.first())
    }

    fn continues(&self, base: &Self) -> bool {
        let (made, of) = (&self.files, &base.files);
        made.len() == of.len() && made.iter().zip(of).all(|(made, of)| made.continues(of))
    }

    fn verify(&self, go_on: &dyn Fn() -> bool) -> Result<bool> {
        for file in &self.files {
            if !file.verify(go_on)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The numbers of the postings that may be those of a key, in base and delta.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found(pub [Range<u64>; 2]);

impl Found {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Range::is_empty)
    }
}

impl BaseDelta<SetSegments> {
    /// The postings that may be those of a key; see [`KeyIndex::find`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where a file is damaged, or has too many keys with one hash.
    pub fn find(&self, request: &Request) -> Result<Found> {
        let mut found = Found::default();
        for ((index, _), numbers) in self.parts().zip(&mut found.0) {
            *numbers = index.find(request)?;
        }
        Ok(found)
    }

    /// Add the rows of postings that have the key to `batch`, until it holds `max_bytes`;
    /// what was not looked at stays in `found`. See [`Lookup::postings`].
    ///
    /// # Errors
    /// Errors of reading; [`crate::ErrorKind::Sidecar`] where the index is not that of the source.
    pub fn rows(
        &self,
        source: &Lookup<'_>,
        found: &mut Found,
        request: &Request,
        reader: &mut KeyReader,
        max_bytes: usize,
        batch: &mut RowBatch,
    ) -> Result<()> {
        for ((index, below), numbers) in self.parts().zip(&mut found.0) {
            let part = Lookup { below: below.min(source.below), ..*source };
            let (file, first) = index.of(request.hash);
            let all = numbers.start.saturating_sub(first)..numbers.end.saturating_sub(first);
            let next = part.postings(file, all, request, reader, max_bytes, batch)?;
            numbers.start = next + first;
            if !numbers.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Where the first row with a key begins.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn first(
        &self,
        source: &Lookup<'_>,
        request: &Request,
        reader: &mut KeyReader,
    ) -> Result<Option<u64>> {
        let mut found = self.find(request)?;
        let mut batch = RowBatch::default();
        if !found.is_empty() {
            self.rows(source, &mut found, request, reader, 1, &mut batch)?;
        }
        Ok(batch.offsets.first().copied())
    }
}

/// Whether two files can be segments of one index.
fn is_beside(one: &Meta, other: &Meta) -> bool {
    let (made, of) = (&one.made_of, &other.made_of);
    (&one.key, &one.mode) == (&other.key, &other.mode)
        && (made.max_line, made.max_depth) == (of.max_line, of.max_depth)
        && (made.logical_size, made.coverage_end) == (of.logical_size, of.coverage_end)
        && made.covers == of.covers
}
