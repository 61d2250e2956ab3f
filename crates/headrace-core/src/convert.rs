//! JSON values in lines, from JSON that is not in lines: one array, or values one after the
//! other, over any number of lines.
//!
//! Only where values end is found here, by brackets and quotes; each value is then checked as a
//! row is. So a bad value is refused, and the next one is found all the same. Memory is that of
//! one value.

use crate::json::{self, Limits};

/// An error in a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadValue {
    /// The line it begins in; the first is 1.
    pub line: u64,
    /// The byte that is to blame, or where the value begins.
    pub offset: u64,
    /// The error message.
    pub reason: String,
    /// Its bytes, unless they are too many.
    pub raw: Option<Vec<u8>>,
}

/// How values are found.
#[derive(Clone, Copy, Debug)]
pub struct Splitting {
    /// The longest value, in bytes.
    pub max_value: usize,
    /// How deep a value may be nested.
    pub limits: Limits,
    /// Whether an array that is not inside of anything is a value, not its elements.
    pub keeps_arrays: bool,
    /// Whether the first bad value is the last one.
    pub aborts: bool,
}

/// What may come next outside of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// A value, in no array.
    Top,
    /// The first element, or the end of the array.
    First,
    /// An element behind a comma.
    Element,
    /// A comma or the end of the array.
    Comma,
}

/// Splits text into values, as it comes.
#[allow(clippy::struct_excessive_bools, reason = "where a byte stands has that many sides")]
pub struct ValueSplitter {
    splitting: Splitting,
    expected: Expected,
    /// The value that has begun.
    value: Vec<u8>,
    begun: bool,
    /// Bytes of the value that are not kept.
    dropped: bool,
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// Where the value begins, and where its array does.
    start: (u64, u64),
    array: (u64, u64),
    line: u64,
    offset: u64,
    /// How many values were found.
    pub values: u64,
    /// How many of them were bad.
    pub bad: u64,
    stopped: bool,
}

/// The most of a bad value that is shown.
const MOST_RAW: usize = 1 << 20;

impl ValueSplitter {
    /// A splitter at the beginning of a text.
    pub fn new(splitting: Splitting) -> Self {
        Self {
            splitting,
            expected: Expected::Top,
            value: Vec::new(),
            begun: false,
            dropped: false,
            depth: 0,
            in_string: false,
            escaped: false,
            start: (1, 0),
            array: (1, 0),
            line: 1,
            offset: 0,
            values: 0,
            bad: 0,
            stopped: false,
        }
    }

    /// Whether a bad value has ended it.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// Go on with more of the text: values that end there are lines of `out`, or in `bad`.
    pub fn feed(&mut self, text: &[u8], out: &mut Vec<u8>, bad: &mut Vec<BadValue>) {
        let mut text = text;
        if self.offset == 0 && text.starts_with(crate::rows::BOM) {
            text = &text[crate::rows::BOM.len()..];
            self.offset = crate::rows::BOM.len() as u64;
        }
        for &byte in text {
            if self.stopped {
                return;
            }
            self.take(byte, out, bad);
            self.offset += 1;
            self.line += u64::from(byte == b'\n');
        }
    }

    /// The text has ended.
    pub fn end(&mut self, out: &mut Vec<u8>, bad: &mut Vec<BadValue>) {
        if self.begun && !self.stopped {
            self.finish(out, bad);
        }
        if self.expected != Expected::Top && !self.stopped {
            self.refuse(self.array, "the array is not closed", bad);
        }
    }

    fn take(&mut self, byte: u8, out: &mut Vec<u8>, bad: &mut Vec<BadValue>) {
        if !self.begun {
            self.between(byte, bad);
        } else if self.in_string {
            self.keep(byte);
            self.in_string = self.escaped || byte != b'"';
            self.escaped = byte == b'\\' && !self.escaped;
            if !self.in_string && self.depth == 0 {
                self.finish(out, bad);
            }
        } else {
            match byte {
                b'"' => {
                    if self.depth == 0 {
                        self.finish(out, bad);
                        if !self.stopped {
                            self.between(byte, bad);
                        }
                        return;
                    }
                    self.keep(byte);
                    self.in_string = true;
                }
                b'{' | b'[' if self.depth > 0 => {
                    self.keep(byte);
                    self.depth += 1;
                }
                b'}' | b']' if self.depth > 0 => {
                    self.close_up();
                    self.keep(byte);
                    self.depth -= 1;
                    if self.depth == 0 {
                        self.finish(out, bad);
                    }
                }
                // A line is one value: line ends go, and the space of other layout with them.
                b' ' | b'\t' | b'\r' | b'\n' if self.depth > 0 => {
                    if !matches!(self.value.last(), Some(b' ' | b'{' | b'[' | b',' | b':')) {
                        self.keep(b' ');
                    }
                }
                b',' | b':' if self.depth > 0 => {
                    self.close_up();
                    self.keep(byte);
                }
                b' ' | b'\t' | b'\r' | b'\n' | b'{' | b'}' | b'[' | b']' | b',' | b':'
                    if self.depth == 0 =>
                {
                    self.finish(out, bad);
                    if !self.stopped {
                        self.between(byte, bad);
                    }
                }
                _ => self.keep(byte),
            }
        }
    }

    /// A byte outside of values.
    fn between(&mut self, byte: u8, bad: &mut Vec<BadValue>) {
        let here = (self.line, self.offset);
        match (byte, self.expected) {
            (b' ' | b'\t' | b'\r' | b'\n', _) => {}
            (b'[', Expected::Top) if !self.splitting.keeps_arrays => {
                self.array = here;
                self.expected = Expected::First;
            }
            (b']', Expected::First | Expected::Comma) => self.expected = Expected::Top,
            (b']', Expected::Element) => {
                self.expected = Expected::Top;
                self.refuse(here, "a value is missing behind the comma", bad);
            }
            (b',', Expected::Comma) => self.expected = Expected::Element,
            (b',', Expected::First | Expected::Element) => {
                self.expected = Expected::Element;
                self.refuse(here, "a value is missing before the comma", bad);
            }
            (b',', Expected::Top) => self.refuse(here, "a comma outside of an array", bad),
            (b']' | b'}' | b':', _) => {
                self.refuse(here, "a bracket or colon that belongs to nothing", bad);
            }
            (_, expected) => {
                if expected == Expected::Comma {
                    self.refuse(here, "a comma is missing before the value", bad);
                    if self.stopped {
                        return;
                    }
                }
                self.start = here;
                self.begun = true;
                self.in_string = byte == b'"';
                self.depth = u32::from(matches!(byte, b'{' | b'['));
                self.keep(byte);
            }
        }
    }

    /// Drop the space before a comma, a colon or a closing bracket; strings end with a quote.
    fn close_up(&mut self) {
        if self.value.last() == Some(&b' ') {
            self.value.pop();
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.value.len() >= self.splitting.max_value {
            self.dropped = true;
        } else {
            self.value.push(byte);
        }
    }

    /// The value ends: it is a line, or bad.
    fn finish(&mut self, out: &mut Vec<u8>, bad: &mut Vec<BadValue>) {
        self.begun = false;
        self.depth = 0;
        (self.in_string, self.escaped) = (false, false);
        if self.expected != Expected::Top {
            self.expected = Expected::Comma;
        }
        let value = std::mem::take(&mut self.value);
        if std::mem::take(&mut self.dropped) {
            let reason = "the value is longer than max_line (--max-line) allows";
            self.refuse(self.start, reason, bad);
        } else if let Err(error) = json::check(&value, &self.splitting.limits) {
            self.refuse(self.start, &error.reason.to_string(), bad);
            if let Some(last) = bad.last_mut() {
                last.raw = (value.len() <= MOST_RAW).then(|| value.clone());
            }
        } else {
            out.extend_from_slice(&value);
            out.push(b'\n');
            self.values += 1;
        }
        self.value = value;
        self.value.clear();
    }

    fn refuse(&mut self, at: (u64, u64), reason: &str, bad: &mut Vec<BadValue>) {
        let (line, offset) = at;
        bad.push(BadValue { line, offset, reason: reason.to_owned(), raw: None });
        self.values += 1;
        self.bad += 1;
        self.stopped = self.splitting.aborts;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(text: &[u8], pieces: usize, splitting: Splitting) -> (Vec<u8>, Vec<BadValue>) {
        let (mut out, mut bad) = (Vec::new(), Vec::new());
        let mut splitter = ValueSplitter::new(splitting);
        for piece in text.chunks(pieces) {
            splitter.feed(piece, &mut out, &mut bad);
        }
        splitter.end(&mut out, &mut bad);
        assert_eq!(splitter.bad, bad.len() as u64);
        (out, bad)
    }

    const SKIP: Splitting = Splitting {
        max_value: 100,
        limits: Limits { max_depth: 256 },
        keeps_arrays: false,
        aborts: false,
    };

    fn lines(text: &str) -> String {
        let (out, bad) = split(text.as_bytes(), 1000, SKIP);
        assert_eq!(bad, [], "{text}");
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_end_where_their_brackets_close() {
        assert_eq!(
            lines("[{\"a\": 1.50},\n {\"b\":\n  [1, 2]} ]"),
            "{\"a\":1.50}\n{\"b\":[1,2]}\n"
        );
        assert_eq!(lines("{\"a\":\n 1}{\"b\": \"x \\\" ]\"}"), "{\"a\":1}\n{\"b\":\"x \\\" ]\"}\n");
        assert_eq!(lines("1 2\n\"a\"\"b\"null\n[]\n[3]4"), "1\n2\n\"a\"\n\"b\"\nnull\n3\n4\n");
        assert_eq!(lines("\u{feff}[[1, [2]], []]\n"), "[1,[2]]\n[]\n");
        assert_eq!(lines(" \n"), "");
        let kept = Splitting { keeps_arrays: true, ..SKIP };
        assert_eq!(split(b"[1,\n2] [3]", 3, kept).0, b"[1,2]\n[3]\n");
    }

    #[test]
    #[allow(clippy::type_complexity, reason = "a table")]
    fn bad_values_are_refused_and_the_next_is_found() {
        let table: [(&str, &str, &[(u64, u64)]); 10] = [
            ("[1, {\"a\": 1 2}, 2]", "1\n2\n", &[(1, 4)]),
            ("[1,,2]", "1\n2\n", &[(1, 3)]),
            ("[1,]", "1\n", &[(1, 3)]),
            ("[1 2]", "1\n2\n", &[(1, 3)]),
            ("[1,\n2", "1\n2\n", &[(1, 0)]),
            ("{\"a\":\n", "", &[(1, 0)]),
            ("1, 2", "1\n2\n", &[(1, 1)]),
            ("] 1", "1\n", &[(1, 0)]),
            ("ab\nc 1", "1\n", &[(1, 0), (2, 3)]),
            ("[\n\"a\nb\", 1]", "1\n", &[(2, 2)]),
        ];
        for (text, out, places) in table {
            let (found, bad) = split(text.as_bytes(), 2, SKIP);
            assert_eq!(String::from_utf8(found).unwrap(), out, "{text}");
            let at: Vec<_> = bad.iter().map(|bad| (bad.line, bad.offset)).collect();
            assert_eq!(at, places, "{text}: {bad:?}");
            let aborting = Splitting { aborts: true, ..SKIP };
            assert_eq!(split(text.as_bytes(), 2, aborting).1, bad[..1], "{text}");
        }
    }

    #[test]
    fn a_value_that_is_too_long_is_not_held() {
        let text = format!("[1, \"{}\", 2]", "x".repeat(1000));
        let (out, bad) = split(text.as_bytes(), 7, SKIP);
        assert_eq!((out.as_slice(), bad.len(), bad[0].raw.is_none()), (&b"1\n2\n"[..], 1, true));
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(
            text in proptest::collection::vec(proptest::sample::select(b"[]{},:\"\\ \n1a".to_vec()), 0..60),
            pieces in 1_usize..10,
        ) {
            prop_assert_eq!(split(&text, pieces, SKIP), split(&text, 1000, SKIP));
        }
    }
}
