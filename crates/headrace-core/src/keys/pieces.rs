//! An index in several files, its *pieces*: each has the keys whose hashes end alike.
//!
//! The last bits of a hash say the piece, so that the first ones are spread within it as they are
//! in an index of one file. Postings are numbered through all pieces.

use std::ops::Range;

use super::{KeyIndex, Meta, Request, index::Bounds};
use crate::{
    Result,
    sealed::{HEADER_BYTES, SourceMark, contradiction, segments::Index, trailer::Sealed, unusable},
};

/// More pieces than this are of no use.
const MOST: usize = 1 << 12;

/// The number of the piece, of so many, that has the keys with a hash.
pub fn piece_of(hash: u64, pieces: usize) -> usize {
    // Below `pieces`, a power of two.
    usize::try_from(hash & (pieces as u64).saturating_sub(1)).unwrap_or_default()
}

/// The files of an index, which answer as one.
pub struct Pieces {
    files: Vec<KeyIndex>,
    /// The number of the first posting of each.
    firsts: Vec<u64>,
}

impl Pieces {
    /// An index in one file.
    pub fn one(file: KeyIndex) -> Self {
        Self { files: vec![file], firsts: vec![0] }
    }

    /// These files.
    ///
    /// # Errors
    /// [`crate::Error::Sidecar`] where they do not belong together.
    pub fn new(files: Vec<KeyIndex>) -> Result<Self> {
        if !files.len().is_power_of_two() || files.len() > MOST {
            return Err(unusable(0, "not as many pieces as an index can have"));
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

    /// What the files are of is the same, but for how many rows are in them: it is asked of the
    /// first.
    pub fn meta(&self) -> &Meta {
        self.first().meta()
    }

    pub(super) fn bounds(&self) -> Bounds {
        self.first().bounds
    }

    fn piece_of(&self, hash: u64) -> usize {
        piece_of(hash, self.files.len())
    }

    /// The file that has the keys with a hash, and the number of its first posting.
    pub(super) fn of(&self, hash: u64) -> (&KeyIndex, u64) {
        let piece = self.piece_of(hash);
        (&self.files[piece], self.firsts[piece])
    }

    /// See [`KeyIndex::find`].
    ///
    /// # Errors
    /// As there.
    pub fn find(&self, request: &Request) -> Result<Range<u64>> {
        let (file, first) = self.of(request.hash);
        let found = file.find(request)?;
        Ok(if found.is_empty() { 0..0 } else { found.start + first..found.end + first })
    }

    /// See [`KeyIndex::postings`]; all are of one piece.
    ///
    /// # Errors
    /// As there.
    pub fn postings(&self, numbers: Range<u64>) -> Result<Vec<u64>> {
        let behind = self.firsts.partition_point(|&first| first <= numbers.start);
        let piece = behind.saturating_sub(1);
        let first = self.firsts[piece];
        self.files[piece].postings(numbers.start - first..numbers.end - first)
    }

    /// See [`KeyIndex::agrees`].
    pub fn agrees(&self, asked: u64, row: u64) -> bool {
        self.known_of(asked) == self.known_of(row)
    }

    /// What of a hash the index has: the piece, and what that knows.
    pub(super) fn known_of(&self, hash: u64) -> (usize, (u64, u64)) {
        let piece = self.piece_of(hash);
        (piece, self.files[piece].known_of(hash))
    }
}

impl Index for Pieces {
    type Meta = Meta;

    const NAME: &'static str = KeyIndex::NAME;

    fn sealed(&self) -> &Sealed<Meta> {
        self.first().sealed()
    }

    fn version(&self) -> u32 {
        Index::version(self.first())
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

/// Whether two files can be pieces of one index.
fn is_beside(one: &Meta, other: &Meta) -> bool {
    let (made, of) = (&one.made_of, &other.made_of);
    (&one.key, &one.mode) == (&other.key, &other.mode)
        && (made.max_line, made.max_depth) == (of.max_line, of.max_depth)
        && (made.logical_size, made.coverage_end) == (of.logical_size, of.coverage_end)
        && made.covers == of.covers
}
