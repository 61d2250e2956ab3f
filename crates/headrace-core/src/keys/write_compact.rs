//! Writing the tables of version 2.

use std::{fs::File, path::Path};

use super::{
    layout::{Compact, FINGERPRINT_BITS, PADDING},
    runs::{ALL_BITS, Merge, Runs, merged},
    write::each,
};
use crate::{
    Result,
    sealed::{TableWriter, unusable},
};

/// Postings with one fingerprint that are held in memory.
const FEW: usize = 1 << 14;
/// Memory for sorting more.
const SORT_BYTES: usize = 4 << 20;

/// Write them, and return where they end. Records come in the order of the bits of their hashes
/// that are written, and postings with equal ones are put into that of the source: it depends on
/// nothing that is not written.
pub(super) fn write_compact(
    merge: Merge<'_>,
    out: &File,
    compact: Compact,
    directory: &Path,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<u64>> {
    let mut tables = Writer {
        compact,
        directory: TableWriter::at(out, compact.directory),
        postings: Bits { table: TableWriter::at(out, compact.postings), held: 0, count: 0 },
        begun: 0,
        number: 0,
    };
    let mut equal = Equal { place: (0, 0), few: Vec::new(), many: None };
    let done = each(merge, go_on, |record, _same| {
        let place = (compact.bucket(record.hash), compact.fingerprint(record.hash));
        if place != equal.place {
            equal.write(&mut tables)?;
            equal.place = place;
        }
        equal.push(record.offset, directory)
    })?;
    equal.write(&mut tables)?;
    tables.end()?;
    let end = compact.end().ok_or_else(|| unusable(0, "too many postings"))?;
    Ok(done.then_some(end))
}

/// The postings of one fingerprint.
struct Equal {
    /// Bucket and fingerprint.
    place: (u64, u64),
    few: Vec<u64>,
    many: Option<Runs>,
}

impl Equal {
    fn push(&mut self, offset: u64, directory: &Path) -> Result<()> {
        if self.few.len() == FEW {
            let many = self.many.get_or_insert_with(|| Runs::new(directory.into(), SORT_BYTES));
            for offset in self.few.drain(..) {
                many.push(&[], offset)?;
            }
        }
        self.few.push(offset);
        Ok(())
    }

    /// Write them in the order of the source, and forget them.
    fn write(&mut self, tables: &mut Writer<'_>) -> Result<()> {
        let Some(mut many) = self.many.take() else {
            self.few.sort_unstable();
            return self.few.drain(..).try_for_each(|offset| tables.push(self.place, offset));
        };
        for offset in self.few.drain(..) {
            many.push(&[], offset)?;
        }
        many.finish()?;
        let many = [many];
        let mut merge = merged(&many, [], ALL_BITS)?;
        while let Some((record, _)) = merge.next()? {
            tables.push(self.place, record.offset)?;
        }
        Ok(())
    }
}

/// Writes directory and postings.
struct Writer<'f> {
    compact: Compact,
    directory: TableWriter<'f>,
    postings: Bits<'f>,
    /// Buckets that have a number in the directory.
    begun: u64,
    /// Postings so far.
    number: u64,
}

impl Writer<'_> {
    fn push(&mut self, (bucket, fingerprint): (u64, u64), offset: u64) -> Result<()> {
        self.begin(bucket)?;
        self.number += 1;
        let posting = u128::from(fingerprint) | u128::from(offset) << FINGERPRINT_BITS;
        self.postings.push(posting, FINGERPRINT_BITS + self.compact.offset_bits)
    }

    /// Say where all buckets up to this one begin.
    fn begin(&mut self, bucket: u64) -> Result<()> {
        let width = usize::try_from(self.compact.width).unwrap_or_default();
        while self.begun <= bucket {
            self.directory.push(&self.number.to_le_bytes()[..width])?;
            self.begun += 1;
        }
        Ok(())
    }

    fn end(mut self) -> Result<()> {
        self.begin(1 << self.compact.bucket_bits)?;
        self.directory.flush()?;
        self.postings.end()
    }
}

/// Writes numbers of any width.
struct Bits<'f> {
    table: TableWriter<'f>,
    held: u128,
    count: u32,
}

impl Bits<'_> {
    /// At most 80 bits; fewer than 8 are held from the numbers before.
    fn push(&mut self, number: u128, bits: u32) -> Result<()> {
        self.held |= number << self.count;
        self.count += bits;
        let whole = self.count / 8;
        self.table.push(&self.held.to_le_bytes()[..whole as usize])?;
        self.held >>= whole * 8;
        self.count %= 8;
        Ok(())
    }

    fn end(mut self) -> Result<()> {
        if self.count > 0 {
            self.table.push(&self.held.to_le_bytes()[..1])?;
        }
        self.table.push(&[0; PADDING])?;
        self.table.flush()
    }
}
