//! Comparing all rows of an index with all rows of its source.

use xxhash_rust::xxh3::xxh3_64;

use super::{
    Continued, Runs,
    continued_index::Table,
    layout::FINGERPRINT_BITS,
    runs::{ALL_BITS, Merge, merged},
    write::mask_of,
};
use crate::Result;

/// Records between two questions whether to go on.
const CHECK_EVERY: u64 = 1 << 16;

impl Continued<'_> {
    /// Whether the index has the rows of `runs`, each where its key leads, and no others. `None` if
    /// `go_on` returns false.
    ///
    /// # Errors
    /// Errors of reading; [`crate::ErrorKind::Sidecar`] where the index is damaged.
    pub fn is_of_all(&self, runs: &mut [Runs], go_on: &dyn Fn() -> bool) -> Result<Option<bool>> {
        for run in &mut *runs {
            run.finish()?;
        }
        let tables = self.tables();
        let known = tables.iter().filter_map(|table| table.bucket_bits()).min();
        let mask = known.map_or(ALL_BITS, |bits| mask_of(bits + FINGERPRINT_BITS));
        let mut rows = Groups::new(merged(runs, [], mask)?, mask)?;
        let mut index = Groups::new(merged(&[], tables.into_iter().map(Table::rows), mask)?, mask)?;
        loop {
            let [row, posting] = [rows.next(go_on)?, index.next(go_on)?];
            match (row, posting) {
                (Next::Stopped, _) | (_, Next::Stopped) => return Ok(None),
                (Next::End, Next::End) => return Ok(Some(true)),
                (row, posting) if row != posting => return Ok(Some(false)),
                _ => {}
            }
        }
    }
}

/// The rows whose hashes have equal bits, as far as they are known: how many, and a sum that does
/// not depend on their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Group {
    hash: u64,
    rows: u64,
    sum: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Group(Group),
    End,
    Stopped,
}

struct Groups<'a> {
    merge: Merge<'a>,
    mask: u64,
    /// Hash and offset of the first row of the next group.
    ahead: Option<(u64, u64)>,
    seen: u64,
}

impl<'a> Groups<'a> {
    fn new(mut merge: Merge<'a>, mask: u64) -> Result<Self> {
        let ahead = merge.next()?.map(|(record, _)| (record.hash & mask, record.offset));
        Ok(Self { merge, mask, ahead, seen: 0 })
    }

    fn next(&mut self, go_on: &dyn Fn() -> bool) -> Result<Next> {
        let Some((hash, _)) = self.ahead else { return Ok(Next::End) };
        let mut group = Group { hash, ..Group::default() };
        while let Some((_, offset)) = self.ahead.filter(|ahead| ahead.0 == hash) {
            if self.seen.is_multiple_of(CHECK_EVERY) && !go_on() {
                return Ok(Next::Stopped);
            }
            self.seen += 1;
            group.rows += 1;
            group.sum = group.sum.wrapping_add(xxh3_64(&offset.to_le_bytes()));
            let next = self.merge.next()?;
            self.ahead = next.map(|(record, _)| (record.hash & self.mask, record.offset));
        }
        Ok(Next::Group(group))
    }
}
