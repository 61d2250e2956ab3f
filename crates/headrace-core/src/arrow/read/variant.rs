//! Values in Spark's and Parquet's Variant encoding.
//!
//! A value is two runs of bytes: its keys, each once (*metadata*), and the value, in which an
//! object has the numbers of its keys, sorted by what they are called. A container begins
//! with where its parts are, so these are moved behind that when it ends.
//!
//! Of equal keys the last one counts. Integers and decimals of up to 38 digits are exact, any
//! other number is the nearest double.

use std::collections::HashMap;

use super::{buffers::bytes_of, number};

/// Keys that are remembered from row to row.
const MOST_KEYS: usize = 1 << 16;

/// The values of a column, and the one that is being made.
#[derive(Debug)]
pub(super) struct Variants {
    values: Vec<u8>,
    value_ends: Vec<i32>,
    metadata: Vec<u8>,
    metadata_ends: Vec<i32>,
    keys: Keys,
    /// The entries of all containers that have not ended.
    entries: Vec<Entry>,
    open: Vec<Open>,
    header: Header,
}

/// The keys of the value that is being made.
#[derive(Debug, Default)]
struct Keys {
    /// Which value each key was in last, and its number there.
    known: HashMap<Box<str>, (u64, u32)>,
    value: u64,
    text: Vec<u8>,
    ends: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u32,
    /// From the beginning of the container's parts.
    offset: usize,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    start: usize,
    entries: usize,
    key: u32,
    is_object: bool,
}

impl Default for Variants {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            value_ends: vec![0],
            metadata: Vec::new(),
            metadata_ends: vec![0],
            keys: Keys::default(),
            entries: Vec::new(),
            open: Vec::new(),
            header: Header::default(),
        }
    }
}

impl Variants {
    /// Whether the value is in the middle of a container.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    pub(super) fn null(&mut self) {
        self.begin_part();
        self.values.push(0);
    }

    pub(super) fn boolean(&mut self, value: bool) {
        self.begin_part();
        self.values.push(primitive(if value { 1 } else { 2 }));
    }

    /// False if no double is near the number.
    pub(super) fn number(&mut self, text: &str, is_integer: bool) -> bool {
        self.begin_part();
        if is_integer && let Ok(value) = text.parse::<i64>() {
            self.integer(value);
        } else if let Some((value, scale)) = decimal(text) {
            self.decimal(value, scale);
        } else {
            let Some(value) = text.parse::<f64>().ok().filter(|value| value.is_finite()) else {
                self.values.push(0);
                return false;
            };
            self.values.push(primitive(7));
            self.values.extend_from_slice(&value.to_le_bytes());
        }
        true
    }

    fn integer(&mut self, value: i64) {
        let (kind, bytes) = match value {
            -0x80..=0x7F => (3, 1),
            -0x8000..=0x7FFF => (4, 2),
            -0x8000_0000..=0x7FFF_FFFF => (5, 4),
            _ => (6, 8),
        };
        self.values.push(primitive(kind));
        self.values.extend_from_slice(&value.to_le_bytes()[..bytes]);
    }

    /// A decimal of the least width that has room for its digits and for its scale.
    fn decimal(&mut self, value: i128, scale: u8) {
        let (kind, bytes) = match (value.unsigned_abs(), scale) {
            (0..1_000_000_000, 0..=9) => (8, 4),
            (0..1_000_000_000_000_000_000, 0..=18) => (9, 8),
            _ => (10, 16),
        };
        self.values.extend_from_slice(&[primitive(kind), scale]);
        self.values.extend_from_slice(&value.to_le_bytes()[..bytes]);
    }

    pub(super) fn string(&mut self, text: &str) {
        self.begin_part();
        if let Ok(length @ 0..64) = u8::try_from(text.len()) {
            self.values.push(length << 2 | 1);
        } else {
            self.values.push(primitive(16));
            self.values.extend_from_slice(&size(text.len()).to_le_bytes());
        }
        self.values.extend_from_slice(text.as_bytes());
    }

    pub(super) fn key(&mut self, name: &str) {
        let number = self.keys.number(name);
        if let Some(object) = self.open.last_mut() {
            object.key = number;
        }
    }

    pub(super) fn begin(&mut self, is_object: bool) {
        self.begin_part();
        let (start, entries) = (self.values.len(), self.entries.len());
        self.open.push(Open { start, entries, key: 0, is_object });
    }

    pub(super) fn end(&mut self) {
        let Some(Open { start, entries: first, is_object, .. }) = self.open.pop() else { return };
        if is_object {
            let keys = &self.keys;
            let name = |entry: &Entry| keys.text(entry.key);
            self.entries[first..]
                .sort_unstable_by(|a, b| name(a).cmp(name(b)).then(a.offset.cmp(&b.offset)));
            self.keep_last(first);
        }
        let entries = &self.entries[first..];
        let length = self.values.len() - start;
        let offset_bytes = bytes_for(length);
        let key_bytes =
            bytes_for(entries.iter().map(|entry| entry.key).max().unwrap_or(0) as usize);
        let is_large = entries.len() > 255;

        let (offset_bits, key_bits) = (size(offset_bytes - 1), size(key_bytes - 1));
        let kind = if is_object {
            (u32::from(is_large) << 4 | key_bits << 2 | offset_bits) << 2 | 2
        } else {
            (u32::from(is_large) << 2 | offset_bits) << 2 | 3
        };
        let header = &mut self.header;
        header.0.clear();
        header.push(kind as usize, 1);
        header.push(entries.len(), if is_large { 4 } else { 1 });
        if is_object {
            for entry in entries {
                header.push(entry.key as usize, key_bytes);
            }
        }
        for entry in entries {
            header.push(entry.offset, offset_bytes);
        }
        header.push(length, offset_bytes);
        self.values.splice(start..start, header.0.iter().copied());
        self.entries.truncate(first);
    }

    /// Of the entries from `first` on, which are sorted, leave the last of each key.
    fn keep_last(&mut self, first: usize) {
        let mut kept = first;
        for at in first..self.entries.len() {
            let entry = self.entries[at];
            if self.entries.get(at + 1).is_some_and(|next| next.key == entry.key) {
                continue;
            }
            self.entries[kept] = entry;
            kept += 1;
        }
        self.entries.truncate(kept);
    }

    fn begin_part(&mut self) {
        if let Some(container) = self.open.last() {
            let offset = self.values.len() - container.start;
            self.entries.push(Entry { key: container.key, offset });
        }
    }

    /// End the value; false if Arrow cannot count the bytes.
    pub(super) fn push(&mut self) -> bool {
        self.keys.write(&mut self.metadata);
        self.keys.clear();
        let ends = (i32::try_from(self.values.len()), i32::try_from(self.metadata.len()));
        let (Ok(value), Ok(metadata)) = ends else {
            self.truncate(self.value_ends.len() - 1);
            return false;
        };
        self.value_ends.push(value);
        self.metadata_ends.push(metadata);
        true
    }

    pub(super) fn push_null(&mut self) {
        self.truncate(self.value_ends.len() - 1);
        self.value_ends.extend_from_within(self.value_ends.len() - 1..);
        self.metadata_ends.extend_from_within(self.metadata_ends.len() - 1..);
    }

    pub(super) fn truncate(&mut self, length: usize) {
        let end = |ends: &mut Vec<i32>| {
            ends.truncate(length + 1);
            ends.last().map_or(0, |&end| usize::try_from(end).unwrap_or(0))
        };
        self.values.truncate(end(&mut self.value_ends));
        self.metadata.truncate(end(&mut self.metadata_ends));
        self.keys.clear();
        self.entries.clear();
        self.open.clear();
    }

    pub(super) fn take(&mut self) -> [Vec<u8>; 4] {
        let keys = std::mem::take(&mut self.keys);
        let taken = std::mem::take(self);
        self.keys = keys;
        [bytes_of(&taken.value_ends), taken.values, bytes_of(&taken.metadata_ends), taken.metadata]
    }
}

impl Keys {
    fn number(&mut self, name: &str) -> u32 {
        let next = size(self.ends.len());
        match self.known.get_mut(name) {
            Some((value, number)) if *value == self.value => return *number,
            Some(known) => *known = (self.value, next),
            None => {
                self.known.insert(name.into(), (self.value, next));
            }
        }
        self.text.extend_from_slice(name.as_bytes());
        self.ends.push(self.text.len());
        next
    }

    fn text(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[number]]
    }

    fn write(&self, out: &mut Vec<u8>) {
        let bytes = bytes_for(self.text.len().max(self.ends.len()));
        let mut header = Header(std::mem::take(out));
        // Version 1; the keys are not sorted.
        header.push(1 | (bytes - 1) << 6, 1);
        header.push(self.ends.len(), bytes);
        header.push(0, bytes);
        for &end in &self.ends {
            header.push(end, bytes);
        }
        header.0.extend_from_slice(&self.text);
        *out = header.0;
    }

    fn clear(&mut self) {
        self.value += 1;
        self.text.clear();
        self.ends.clear();
        if self.known.len() > MOST_KEYS {
            self.known.clear();
        }
    }
}

#[derive(Debug, Default)]
struct Header(Vec<u8>);

impl Header {
    fn push(&mut self, value: usize, bytes: usize) {
        self.0.extend_from_slice(&value.to_le_bytes()[..bytes]);
    }
}

fn primitive(kind: u8) -> u8 {
    kind << 2
}

/// How many bytes a number takes.
fn bytes_for(value: usize) -> usize {
    match value {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFF_FFFF => 3,
        _ => 4,
    }
}

/// No line is 4 GiB long.
fn size(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// A number without exponent as digits, and how many of them are behind the point.
fn decimal(text: &str) -> Option<(i128, u8)> {
    if text.contains(['e', 'E']) {
        return None;
    }
    let behind = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let scale = u8::try_from(behind).ok().filter(|scale| *scale <= 38)?;
    Some((number::decimal(text, 38, scale)?, scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of one value and its metadata.
    fn one(make: impl FnOnce(&mut Variants)) -> (Vec<u8>, Vec<u8>) {
        let mut variants = Variants::default();
        make(&mut variants);
        assert!(variants.push());
        let [_, value, _, metadata] = variants.take();
        (value, metadata)
    }

    #[test]
    fn numbers_take_the_least_room() {
        for (text, is_integer, expected) in [
            ("-1", true, &[0x0C, 0xFF][..]),
            ("300", true, &[0x10, 0x2C, 0x01]),
            ("1.50", false, &[0x20, 2, 150, 0, 0, 0]),
            ("0.123456789", false, &[0x20, 9, 0x15, 0xCD, 0x5B, 0x07]),
            ("0.0123456789", false, &[0x24, 10, 0x15, 0xCD, 0x5B, 0x07, 0, 0, 0, 0]),
            ("0.00000000000", false, &[0x24, 11, 0, 0, 0, 0, 0, 0, 0, 0]),
            (
                "0.0000000000000000001",
                false,
                &[0x28, 19, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            ),
            ("1e0", false, &[0x1C, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F]),
            (
                "10000000000000000000",
                true,
                &[0x28, 0, 0, 0, 0xE8, 0x89, 0x04, 0x23, 0xC7, 0x8A, 0, 0, 0, 0, 0, 0, 0, 0],
            ),
        ] {
            let (value, metadata) = one(|variants| assert!(variants.number(text, is_integer)));
            assert_eq!(value, expected, "{text}");
            assert_eq!(metadata, [1, 0, 0]);
        }
        assert!(!Variants::default().number("1e400", false));
    }

    #[test]
    fn keys_are_sorted_and_the_last_of_equal_ones_counts() {
        let (value, metadata) = one(|variants| {
            variants.begin(true);
            variants.key("b");
            variants.boolean(true);
            variants.key("a");
            variants.begin(false);
            variants.null();
            variants.string("x");
            variants.end();
            variants.key("b");
            variants.boolean(false);
            variants.end();
        });
        assert_eq!(metadata, [1, 2, 0, 1, 2, b'b', b'a']);
        let array = [3, 2, 0, 1, 3, 0, 5, b'x'];
        let object = [2, 2, 1, 0, 1, 9, 10, 4];
        assert_eq!(value, [&object[..], &array, &[8]].concat());
    }

    #[test]
    fn what_was_not_ended_leaves_nothing() {
        let mut variants = Variants::default();
        variants.begin(true);
        variants.key("a");
        variants.push_null();
        variants.string("");
        assert!(variants.push());
        let [ends, values, ..] = variants.take();
        assert_eq!((ends, values), (bytes_of(&[0, 0, 1]), vec![1]));
    }
}
