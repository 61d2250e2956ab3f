//! One skip a line, with every rule of RFC 8259 applied.
//!
//! The open arrays and objects are kept as one bit each in [`Nesting`]: no
//! input can make the walk use more stack, or any heap at all.

use super::error::{Checked, Failure, Inside, JsonError, Reason};
use super::token::{self, skip_space};
use super::{KeyHints, Limits, MAX_DEPTH};

/// Receives the parts of a value in the order they stand in the line.
///
/// Every method does nothing by default. A line that turns out to be invalid
/// has already delivered the events before the error: drop what was built.
pub trait Visitor {
    /// `null`
    #[inline]
    fn null(&mut self) {}

    /// `true` or `false`
    #[inline]
    fn boolean(&mut self, _value: bool) {}

    /// A number as written; an integer has neither fraction nor exponent.
    #[inline]
    fn number(&mut self, _text: &str, _is_integer: bool) {}

    /// What stands between the quotes, for [`unescape`](super::unescape) if
    /// it has escapes.
    #[inline]
    fn string(&mut self, _raw: &str, _has_escapes: bool) {}

    /// The key of the value that follows, otherwise as [`string`](Self::string).
    /// If it returns false, that value is checked, but none of its parts are delivered.
    #[inline]
    fn key(&mut self, _raw: &str, _has_escapes: bool) -> bool {
        true
    }

    /// The kind of the innermost object. [`key`](Self::key) is called once for each kind and its
    /// result holds for all objects of that kind.
    #[inline]
    fn object_kind(&self) -> u32 {
        0
    }

    /// `{`
    #[inline]
    fn begin_object(&mut self) {}

    /// `}`
    #[inline]
    fn end_object(&mut self) {}

    /// `[`
    #[inline]
    fn begin_array(&mut self) {}

    /// `]`
    #[inline]
    fn end_array(&mut self) {}
}

/// Wants nothing but the verdict.
pub(super) struct Ignore;

impl Visitor for Ignore {}

/// Check a line in full, hand its parts to `visitor`, and return it as text.
///
/// `hints` are for the next line; they change nothing but the time it takes.
///
/// # Errors
///
/// The first thing wrong with the line. Invalid UTF-8 anywhere in it comes
/// before anything else, and no event is delivered then.
pub fn walk<'l, V: Visitor>(
    line: &'l [u8],
    limits: &Limits,
    hints: &mut KeyHints,
    visitor: &mut V,
) -> Result<&'l str, JsonError> {
    match simdutf8::basic::from_utf8(line) {
        Ok(text) => walk_text(text, limits, hints, visitor).map(|()| text),
        Err(_) => Err(not_utf8(line)),
    }
}

/// [`walk`] for a line that is known to be UTF-8.
///
/// # Errors
///
/// See [`walk`].
#[inline]
pub fn walk_text<V: Visitor>(
    text: &str,
    limits: &Limits,
    hints: &mut KeyHints,
    visitor: &mut V,
) -> Result<(), JsonError> {
    hints.begin_row();
    let bytes = text.as_bytes();
    let mut walk = Walk { text, bytes, open: Nesting::new(*limits), hints };
    walk.line(visitor).map_err(|failure| explain(bytes, *failure.0))
}

/// A line, and what is open of it. Positions are given and returned by all functions.
struct Walk<'l, 'h> {
    text: &'l str,
    /// The line as bytes.
    bytes: &'l [u8],
    open: Nesting,
    hints: &'h mut KeyHints,
}

impl Walk<'_, '_> {
    fn line<V: Visitor>(&mut self, visitor: &mut V) -> Checked<()> {
        let end = self.value(skip_space(self.bytes, 0), visitor)?;
        let rest = skip_space(self.bytes, end);
        if rest < self.bytes.len() {
            return Err(Failure::new(rest, Reason::TrailingCharacters));
        }
        Ok(())
    }

    /// Read the value that begins at `at`, whatever is in it; gives the position after it.
    fn value<V: Visitor>(&mut self, mut at: usize, visitor: &mut V) -> Checked<usize> {
        let bytes = self.bytes;
        let outside = self.open.depth;
        // Each turn of the loop reads one value, which begins at `at`, and what
        // follows it up to the next.
        'value: loop {
            let Some(&first) = bytes.get(at) else {
                return Err(self.open.cut_short(bytes));
            };
            let mut object_begins = false;
            match first {
                b'{' => {
                    self.open.push(Container::Object, at)?;
                    visitor.begin_object();
                    at = skip_space(bytes, at + 1);
                    object_begins = bytes.get(at) != Some(&b'}');
                }
                b'[' => {
                    self.open.push(Container::Array, at)?;
                    visitor.begin_array();
                    at = skip_space(bytes, at + 1);
                    if bytes.get(at) != Some(&b']') {
                        continue;
                    }
                }
                _ => at = scalar(self.text, at, first, visitor)?,
            }
            // After a value, after the `{` of an object, or at the end of an empty container.
            loop {
                if !object_begins {
                    if self.open.depth == outside {
                        return Ok(at);
                    }
                    at = skip_space(bytes, at);
                    let Some(&next) = bytes.get(at) else {
                        return Err(self.open.cut_short(bytes));
                    };
                    match (self.open.innermost, next) {
                        (Container::Object, b',') => at = skip_space(bytes, at + 1),
                        (Container::Array, b',') => {
                            at = skip_space(bytes, at + 1);
                            continue 'value;
                        }
                        (Container::Object, b'}') => {
                            visitor.end_object();
                            self.open.pop();
                            at += 1;
                            continue;
                        }
                        (Container::Array, b']') => {
                            visitor.end_array();
                            self.open.pop();
                            at += 1;
                            continue;
                        }
                        (container, _) => return Err(neither_comma_nor_end(container, at)),
                    }
                }
                object_begins = false;
                let wanted;
                (at, wanted) = self.key(at, visitor)?;
                if wanted {
                    continue 'value;
                }
                at = self.pass_over(at)?;
            }
        }
    }

    /// Check a value without visiting it; returns the position after it.
    #[inline]
    fn pass_over(&mut self, at: usize) -> Checked<usize> {
        match self.bytes.get(at) {
            Some(b'{' | b'[') => self.value(at, &mut Ignore),
            Some(&first) => scalar(self.text, at, first, &mut Ignore),
            None => Err(self.open.cut_short(self.bytes)),
        }
    }

    /// Read a key and its colon; gives the position of the value, and whether it is wanted.
    #[inline]
    fn key<V: Visitor>(&mut self, at: usize, visitor: &mut V) -> Checked<(usize, bool)> {
        if let Some(expected) = self.hints.expected(self.bytes, at) {
            let close = at + 1 + expected.length;
            let value = skip_space(self.bytes, close + 2);
            if expected.unwanted_in == Some(visitor.object_kind()) {
                return Ok((value, false));
            }
            let wanted = visitor.key(part(self.text, at + 1, close), false);
            if !wanted {
                self.hints.unwanted_in(visitor.object_kind());
            }
            return Ok((value, wanted));
        }
        self.unexpected_key(at, visitor)
    }

    fn unexpected_key<V: Visitor>(&mut self, at: usize, visitor: &mut V) -> Checked<(usize, bool)> {
        let bytes = self.bytes;
        match bytes.get(at) {
            Some(b'"') => {}
            Some(_) => return Err(Failure::new(at, Reason::ExpectedKey)),
            None => return Err(Failure::cut_short(bytes, Inside::Object)),
        }
        let key = token::string(bytes, at + 1)?;
        let wanted = visitor.key(part(self.text, at + 1, key.close), key.has_escapes);
        let colon = skip_space(bytes, key.close + 1);
        match bytes.get(colon) {
            Some(b':') => {}
            Some(_) => return Err(Failure::new(colon, Reason::ExpectedColon)),
            None => return Err(Failure::cut_short(bytes, Inside::Object)),
        }
        if !key.has_escapes {
            self.hints.learn(bytes, at, key.close);
        }
        Ok((skip_space(bytes, colon + 1), wanted))
    }
}

#[cold]
fn neither_comma_nor_end(container: Container, at: usize) -> Failure {
    let reason = match container {
        Container::Object => Reason::ExpectedCommaOrBrace,
        Container::Array => Reason::ExpectedCommaOrBracket,
    };
    Failure::new(at, reason)
}

/// Read a value that is not a container; gives the position after it.
#[inline]
fn scalar<V: Visitor>(text: &str, at: usize, first: u8, visitor: &mut V) -> Checked<usize> {
    let bytes = text.as_bytes();
    match first {
        b'"' => {
            let string = token::string(bytes, at + 1)?;
            visitor.string(part(text, at + 1, string.close), string.has_escapes);
            Ok(string.close + 1)
        }
        b'-' | b'0'..=b'9' => {
            let number = token::number(bytes, at)?;
            visitor.number(part(text, at, number.end), number.is_integer);
            Ok(number.end)
        }
        b't' => token::literal(bytes, at, b"true").inspect(|_| visitor.boolean(true)),
        b'f' => token::literal(bytes, at, b"false").inspect(|_| visitor.boolean(false)),
        b'n' => token::literal(bytes, at, b"null").inspect(|_| visitor.null()),
        _ => Err(Failure::new(at, Reason::ExpectedValue)),
    }
}

/// `text[start..end]`, in a form that costs nothing if the visitor ignores it.
#[inline]
fn part(text: &str, start: usize, end: usize) -> &str {
    // Never the default: a token has ASCII on both sides.
    text.get(start..end).unwrap_or_default()
}

#[derive(Clone, Copy)]
enum Container {
    Array,
    Object,
}

const WORDS: usize = MAX_DEPTH.div_ceil(u64::BITS) as usize;

/// The open containers, one bit each, set for an object.
struct Nesting {
    objects: [u64; WORDS],
    /// Meaningless while nothing is open.
    innermost: Container,
    depth: u32,
    limit: u32,
}

impl Nesting {
    #[inline]
    fn new(limits: Limits) -> Self {
        Self {
            objects: [0; WORDS],
            innermost: Container::Array,
            depth: 0,
            limit: limits.max_depth.min(MAX_DEPTH),
        }
    }

    #[inline]
    fn push(&mut self, container: Container, at: usize) -> Checked<()> {
        if self.depth == self.limit {
            return Err(Failure::new(at, Reason::TooDeep(self.limit)));
        }
        let word = &mut self.objects[(self.depth / u64::BITS) as usize];
        let bit = 1 << (self.depth % u64::BITS);
        match container {
            Container::Object => *word |= bit,
            Container::Array => *word &= !bit,
        }
        self.innermost = container;
        self.depth += 1;
        Ok(())
    }

    #[inline]
    fn pop(&mut self) {
        self.depth -= 1;
        let Some(level) = self.depth.checked_sub(1) else { return };
        let word = self.objects[(level / u64::BITS) as usize];
        let is_object = word >> (level % u64::BITS) & 1 == 1;
        self.innermost = if is_object { Container::Object } else { Container::Array };
    }

    /// The error of a line that ends where a value or a comma is due.
    #[cold]
    fn cut_short(&self, bytes: &[u8]) -> Failure {
        match self.innermost {
            _ if self.depth == 0 => Failure::new(bytes.len(), Reason::Blank),
            Container::Object => Failure::cut_short(bytes, Inside::Object),
            Container::Array => Failure::cut_short(bytes, Inside::Array),
        }
    }
}

/// The error of a line that is not UTF-8.
#[cold]
pub(crate) fn not_utf8(line: &[u8]) -> JsonError {
    // The fast validation does not say where.
    let offset = std::str::from_utf8(line).map_or_else(|error| error.valid_up_to(), str::len);
    explain(line, JsonError { offset, reason: Reason::InvalidUtf8 })
}

/// Replace an error by one that names what was probably meant.
#[cold]
fn explain(line: &[u8], error: JsonError) -> JsonError {
    // A text in UTF-16 that begins with ASCII has a NUL in every second byte.
    if let [0xFF, 0xFE, ..]
    | [0xFE, 0xFF, ..]
    | [0, 1..=255, 0, 1..=255, ..]
    | [1..=255, 0, 1..=255, 0, ..] = line
    {
        return JsonError { offset: 0, reason: Reason::Utf16 };
    }
    let another_byte_was_due = matches!(
        error.reason,
        Reason::ExpectedValue
            | Reason::ExpectedKey
            | Reason::ExpectedColon
            | Reason::ExpectedCommaOrBracket
            | Reason::ExpectedCommaOrBrace
            | Reason::TrailingCharacters
            | Reason::MissingDigit
    );
    if !another_byte_was_due {
        return error;
    }
    let (before, found) = line.split_at(error.offset);
    let before = before.trim_ascii_end();
    match found {
        [b']' | b'}', ..] if before.ends_with(b",") => {
            JsonError { offset: before.len() - 1, reason: Reason::TrailingComma }
        }
        [0xEF, 0xBB, 0xBF, ..] => JsonError { offset: error.offset, reason: Reason::ByteOrderMark },
        [b'#', ..] | [b'/', b'/' | b'*', ..] => {
            JsonError { offset: error.offset, reason: Reason::Comment }
        }
        [b'\'', ..] => JsonError { offset: error.offset, reason: Reason::SingleQuote },
        [b'N' | b'n', b'a', b'N' | b'n', ..] | [b'I' | b'i', b'n', b'f', ..] => {
            JsonError { offset: error.offset, reason: Reason::NotFinite }
        }
        _ => error,
    }
}
