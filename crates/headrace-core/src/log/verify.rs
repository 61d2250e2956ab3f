//! Entries against each other, and against the lines they are of.

use super::{Clock, ENTRY_BYTES, Entry, HEADER_BYTES, Place};
use crate::{Result, input::DataFile};

/// Entries read at a time.
const MANY: usize = 16 * 1024;
/// Bytes of data read at a time, unless a line is longer.
const READ_BYTES: u64 = 256 * 1024;

/// What is wrong with the entry at the place that was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is none of this file: the index ends before it, or it was never written, or damaged.
    Entry(&'static str),
    /// The data ends before its line does.
    Short(&'static str),
    /// The data is not what it says.
    Data(&'static str),
}

/// How far entries are good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Behind the last good one.
    pub place: Place,
    /// What is wrong with the next, if that ended it.
    pub fault: Option<Fault>,
}

/// Go through the entries of `index` from `place` on, up to row `rows` of the file or a wrong one.
/// The data has `size` bytes; it is read and compared if there is `data`.
///
/// # Errors
/// Errors of reading.
pub fn verify(
    index: &DataFile,
    data: Option<&DataFile>,
    size: u64,
    mut place: Place,
    rows: u32,
    clock: &mut Clock,
) -> Result<Verified> {
    let index_size = index.stat()?.size;
    let mut entries = Vec::new();
    let mut lines = Vec::new();
    while place.rows < rows {
        let at = HEADER_BYTES as u64 + u64::from(place.rows) * ENTRY_BYTES as u64;
        let there = usize::try_from(index_size.saturating_sub(at)).unwrap_or(usize::MAX);
        let wanted = usize::try_from(rows - place.rows).unwrap_or(MANY).min(MANY);
        let count = wanted.min(there / ENTRY_BYTES);
        if count == 0 {
            let fault = Some(Fault::Entry("the index ends before it"));
            return Ok(Verified { place, fault });
        }
        entries.resize(count * ENTRY_BYTES, 0);
        index.read_exact_at(&mut entries, at)?;
        let mut left = entries.as_slice();
        while !left.is_empty() {
            let before = place;
            let (taken, mut fault) = chain(left, &mut place, size, data.is_some());
            if let Some(data) = data {
                lines.resize(usize::try_from(place.end - before.end).unwrap_or(usize::MAX), 0);
                data.read_exact_at(&mut lines, before.end)?;
                if let Some(wrong) = compare(&left[..taken], &lines, before) {
                    (place, fault) = wrong;
                }
            }
            let good = (place.rows - before.rows) as usize * ENTRY_BYTES;
            for bytes in left[..good].as_chunks::<ENTRY_BYTES>().0 {
                if let Some(entry) = Entry::decode(bytes, place.salt) {
                    clock.see(&entry);
                }
            }
            if fault.is_some() {
                return Ok(Verified { place, fault });
            }
            left = &left[taken..];
        }
    }
    Ok(Verified { place, fault: None })
}

/// Skip entries that fit each other, at least one, and if `few` only some; their bytes, and
/// what is wrong with the next.
fn chain(entries: &[u8], place: &mut Place, size: u64, few: bool) -> (usize, Option<Fault>) {
    let begin = place.end;
    let mut taken = 0;
    for bytes in entries.as_chunks::<ENTRY_BYTES>().0 {
        let Some(entry) = Entry::decode(bytes, place.salt) else {
            return (taken, Some(Fault::Entry("it does not match its checksum")));
        };
        if few && taken > 0 && entry.end.saturating_sub(begin) > READ_BYTES {
            break;
        }
        let mut next = *place;
        if !next.pass(&entry) {
            return (taken, Some(Fault::Entry("it is not that of the line here")));
        }
        if entry.end > size {
            return (taken, Some(Fault::Short("the data ends before its line does")));
        }
        *place = next;
        taken += ENTRY_BYTES;
    }
    (taken, None)
}

/// Compare lines with their entries; where and what is wrong, if anything is.
fn compare(entries: &[u8], lines: &[u8], mut place: Place) -> Option<(Place, Option<Fault>)> {
    let mut rest = lines;
    for bytes in entries.as_chunks::<ENTRY_BYTES>().0 {
        let entry = Entry::decode(bytes, place.salt)?;
        let length = usize::try_from(entry.end - entry.start).ok()?;
        let (line, behind) = rest.split_at_checked(length)?;
        if !line.ends_with(b"\n") || crc32c::crc32c(line) != entry.checksum {
            return Some((place, Some(Fault::Data("the line is not what was written"))));
        }
        rest = behind;
        place.pass(&entry);
    }
    None
}

/// Compare `lines` with `entries`, the first of which is at `place`: how many fit each other, and what
/// is wrong with the next.
pub fn verify_lines(entries: &[u8], lines: &[u8], place: Place) -> (u32, Option<Fault>) {
    let mut end = place;
    let size = place.end.saturating_add(lines.len() as u64);
    let (taken, fault) = chain(entries, &mut end, size, false);
    match compare(&entries[..taken], lines, place) {
        Some((wrong, fault)) => (wrong.rows - place.rows, fault),
        None => (end.rows - place.rows, fault),
    }
}
