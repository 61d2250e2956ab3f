//! Keys that are expected, since the row before had them.
//!
//! Where a key ends decides where everything behind it is looked for, so that reading
//! keys one after the other is waiting more than computing. The rows of a file mostly
//! have the same keys in the same order. A key that is the expected one, byte for byte
//! with its quotes and its colon, need not be searched for its end, and the processor
//! goes on behind it before it knows that it was right to.

/// More keys than this are not remembered.
const MOST: usize = 512;

/// The number of bytes that one comparison covers.
const WIDTH: usize = size_of::<u128>();

/// The keys of the row before, in the order they came.
#[derive(Debug)]
pub struct KeyHints {
    hints: Vec<Hint>,
    next: usize,
    most: usize,
}

/// A key with its quotes and its colon.
#[derive(Clone, Copy, Debug)]
struct Hint {
    bytes: u128,
    mask: u128,
    /// Of the key alone.
    length: usize,
    /// The kind of object in which its value was not read.
    unwanted_in: Option<u32>,
}

/// A key that was expected, and is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) length: usize,
    /// The kind of object in which its value was not read.
    pub(super) unwanted_in: Option<u32>,
}

impl KeyHints {
    /// Hints that are learned from row to row.
    pub fn learning() -> Self {
        Self { hints: Vec::new(), next: 0, most: MOST }
    }

    /// For one row: nothing is learned, and no memory is taken.
    pub fn none() -> Self {
        Self { hints: Vec::new(), next: 0, most: 0 }
    }

    #[inline]
    pub(super) fn begin_row(&mut self) {
        self.next = 0;
    }

    /// The key whose opening quote is at `at`, if it is one that is expected, and a
    /// colon follows directly.
    #[inline]
    pub(super) fn expected(&mut self, line: &[u8], at: usize) -> Option<Expected> {
        let hint = self.hints.get(self.next)?;
        let bytes = u128::from_le_bytes(*line.get(at..)?.first_chunk::<WIDTH>()?);
        if hint.is(bytes) {
            self.next += 1;
            return Some(Expected { length: hint.length, unwanted_in: hint.unwanted_in });
        }
        // A key that most rows have may be missing in this one.
        let hint = self.hints.get(self.next + 1).filter(|hint| hint.is(bytes))?;
        self.next += 2;
        Some(Expected { length: hint.length, unwanted_in: hint.unwanted_in })
    }

    /// Remember that the value of the last key was not read.
    #[inline]
    pub(super) fn unwanted_in(&mut self, object: u32) {
        if let Some(hint) = self.next.checked_sub(1).and_then(|last| self.hints.get_mut(last)) {
            hint.unwanted_in = Some(object);
        }
    }

    /// Expect a key, which has no escapes, at this place of the next row.
    #[inline]
    pub(super) fn learn(&mut self, line: &[u8], at: usize, close: usize) {
        if self.next >= self.most {
            return;
        }
        let hint = Hint::of(line, at, close);
        match self.hints.get_mut(self.next) {
            Some(known) => *known = hint,
            None => self.hints.push(hint),
        }
        self.next += 1;
    }
}

impl Hint {
    #[inline]
    fn is(&self, bytes: u128) -> bool {
        (bytes ^ self.bytes) & self.mask == 0
    }

    /// A hint that no key matches.
    const NEVER: Self = Self { bytes: 0, mask: u128::MAX, length: 0, unwanted_in: None };

    /// A key too long for one comparison is never the expected one.
    fn of(line: &[u8], at: usize, close: usize) -> Self {
        let length = close + 2 - at;
        let mut bytes = [0; WIDTH];
        match (line.get(at..at + length), bytes.get_mut(..length)) {
            (Some(key), Some(room)) if key.ends_with(b":") => room.copy_from_slice(key),
            _ => return Self::NEVER,
        }
        let mask = u128::MAX >> (8 * (WIDTH - length));
        Self { bytes: u128::from_le_bytes(bytes), mask, length: close - at - 1, unwanted_in: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Learn the keys of a row such as `"a":"bc":`, then look for those of another.
    fn found(learned: &str, expected: &str) -> Vec<Option<usize>> {
        let mut hints = KeyHints::learning();
        for (line, learning) in [(learned, true), (expected, false)] {
            hints.begin_row();
            let line = format!("{line}{}", " ".repeat(WIDTH));
            let mut at = 0;
            let mut lengths = Vec::new();
            while let Some(length) = line[at..].strip_prefix('"').and_then(|key| key.find('"')) {
                if learning {
                    hints.learn(line.as_bytes(), at, at + 1 + length);
                } else {
                    lengths.push(hints.expected(line.as_bytes(), at).map(|key| key.length));
                }
                at += length + 2;
                at += usize::from(line[at..].starts_with(':'));
            }
            if !learning {
                return lengths;
            }
        }
        Vec::new()
    }

    #[test]
    fn a_key_is_expected_where_it_was() {
        assert_eq!(found(r#""a":"bc":"":"#, r#""a":"bc":"":"#), [Some(1), Some(2), Some(0)]);
        assert_eq!(found(r#""a":"bc":"d":"#, r#""a":"d":"#), [Some(1), Some(1)]);
        assert_eq!(found(r#""a":"bc":"d":"e":"#, r#""a":"e":"#), [Some(1), None]);
    }

    #[test]
    fn a_key_is_expected_only_as_it_was() {
        for other in [r#""ab":"#, r#""":"#, r#""b":"#, r#""a""#, r#""a\":"#] {
            assert_eq!(found(r#""a":"#, other)[0], None, "{other}");
        }
        // Thirteen bytes, two quotes and a colon; one more is too much.
        assert_eq!(found(r#""thirteenbytes":"#, r#""thirteenbytes":"#), [Some(13)]);
        assert_eq!(found(r#""fourteen bytes":"#, r#""fourteen bytes":"#), [None]);
        assert_eq!(found(r#""a""#, r#""a""#), [None]);
    }

    #[test]
    fn nothing_is_expected_without_room_behind_it() {
        let mut hints = KeyHints::learning();
        hints.learn(br#""a":1,"b":2}    "#, 0, 2);
        hints.begin_row();
        assert_eq!(hints.expected(br#""a":1}"#, 0), None);
        let there = Expected { length: 1, unwanted_in: None };
        assert_eq!(hints.expected(br#""a":1,"b":23456}"#, 0), Some(there));
        assert_eq!(hints.expected(br#""a":1,"b":23456}"#, 99), None);
    }

    #[test]
    fn what_nobody_wanted_is_remembered() {
        let line = br#""a":1,"b":23456}       "#;
        let mut hints = KeyHints::learning();
        hints.learn(line, 0, 2);
        hints.unwanted_in(7);
        hints.learn(line, 6, 8);
        hints.begin_row();
        assert_eq!(hints.expected(line, 0), Some(Expected { length: 1, unwanted_in: Some(7) }));
        assert_eq!(hints.expected(line, 6), Some(Expected { length: 1, unwanted_in: None }));
    }

    #[test]
    fn hints_for_one_row_learn_nothing() {
        let mut hints = KeyHints::none();
        hints.learn(br#""a":1,"b":23456}"#, 0, 2);
        hints.begin_row();
        assert_eq!(hints.expected(br#""a":1,"b":23456}"#, 0), None);
    }
}
