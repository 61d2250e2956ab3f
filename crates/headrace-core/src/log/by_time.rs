//! Lines by their times, whatever the order of those.

use std::ops::Range;

use super::{ENTRY_BYTES, Entry};

/// The earliest and the latest time of entries, None if there are none or one is not good.
pub fn span(entries: &[u8], salt: u32) -> Option<(i64, i64)> {
    let (entries, rest) = entries.as_chunks::<ENTRY_BYTES>();
    if entries.is_empty() || !rest.is_empty() {
        return None;
    }
    entries.iter().try_fold((i64::MAX, i64::MIN), |(earliest, latest), bytes| {
        let time = Entry::decode(bytes, salt)?.time;
        Some((earliest.min(time), latest.max(time)))
    })
}

/// Those of `entries` whose times are in `times`, and their lines. The entries are those of `lines`, and
/// were compared with them before.
pub fn select(entries: &[u8], lines: &[u8], times: Range<i64>) -> (Vec<u8>, Vec<u8>) {
    let (mut chosen, mut text) = (Vec::new(), Vec::new());
    let mut rest = lines;
    for bytes in entries.as_chunks::<ENTRY_BYTES>().0 {
        let entry = Entry::believed(bytes);
        let (line, behind) = rest.split_at(entry.length(rest.len()));
        if times.contains(&entry.time) {
            chosen.extend_from_slice(bytes);
            text.extend_from_slice(line);
        }
        rest = behind;
    }
    (chosen, text)
}
