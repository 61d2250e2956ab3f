//! One pass over a line, with every rule of RFC 8259 applied.
//!
//! The open arrays and objects are kept as one bit each in [`Nesting`]: no
//! input can make the walk use more stack, or any heap at all.

use super::error::{Inside, JsonError, Reason};
use super::token::{self, skip_space};
use super::{Limits, MAX_DEPTH};

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
    #[inline]
    fn key(&mut self, _raw: &str, _has_escapes: bool) {}

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

/// Check a line in full, hand its parts to `visitor`, and return it as text.
///
/// # Errors
///
/// The first thing wrong with the line. Invalid UTF-8 anywhere in it comes
/// before anything else, and no event is delivered then.
pub fn walk<'l, V: Visitor>(
    line: &'l [u8],
    limits: &Limits,
    visitor: &mut V,
) -> Result<&'l str, JsonError> {
    match simdutf8::basic::from_utf8(line) {
        Ok(text) => walk_text(text, *limits, visitor).map(|()| text),
        Err(_) => Err(invalid_utf8(line)),
    }
    .map_err(|error| explain(line, error))
}

fn walk_text<V: Visitor>(text: &str, limits: Limits, visitor: &mut V) -> Result<(), JsonError> {
    let bytes = text.as_bytes();
    let mut open = Nesting::new(limits);
    let mut at = skip_space(bytes, 0);
    // Each turn of the loop reads one value, which begins at `at`, and what
    // follows it up to the next.
    loop {
        let Some(&first) = bytes.get(at) else {
            return Err(open.cut_short(bytes));
        };
        match first {
            b'{' => {
                open.push(Container::Object, at)?;
                visitor.begin_object();
                at = skip_space(bytes, at + 1);
                if bytes.get(at) != Some(&b'}') {
                    at = key(text, at, visitor)?;
                    continue;
                }
            }
            b'[' => {
                open.push(Container::Array, at)?;
                visitor.begin_array();
                at = skip_space(bytes, at + 1);
                if bytes.get(at) != Some(&b']') {
                    continue;
                }
            }
            _ => at = scalar(text, at, first, visitor)?,
        }
        // After a value, or at the end of an empty container.
        loop {
            at = skip_space(bytes, at);
            let Some(&next) = bytes.get(at) else {
                return if open.is_empty() { Ok(()) } else { Err(open.cut_short(bytes)) };
            };
            match (open.innermost(), next) {
                (Some(Container::Object), b',') => {
                    at = key(text, skip_space(bytes, at + 1), visitor)?;
                    break;
                }
                (Some(Container::Array), b',') => {
                    at = skip_space(bytes, at + 1);
                    break;
                }
                (Some(Container::Object), b'}') => visitor.end_object(),
                (Some(Container::Array), b']') => visitor.end_array(),
                (Some(Container::Object), _) => {
                    return Err(JsonError::new(at, Reason::ExpectedCommaOrBrace));
                }
                (Some(Container::Array), _) => {
                    return Err(JsonError::new(at, Reason::ExpectedCommaOrBracket));
                }
                (None, _) => return Err(JsonError::new(at, Reason::TrailingCharacters)),
            }
            open.pop();
            at += 1;
        }
    }
}

/// Read a value that is not a container; gives the position after it.
#[inline]
fn scalar<V: Visitor>(
    text: &str,
    at: usize,
    first: u8,
    visitor: &mut V,
) -> Result<usize, JsonError> {
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
        _ => Err(JsonError::new(at, Reason::ExpectedValue)),
    }
}

/// Read a key and its colon; gives the position of the value.
#[inline]
fn key<V: Visitor>(text: &str, at: usize, visitor: &mut V) -> Result<usize, JsonError> {
    let bytes = text.as_bytes();
    match bytes.get(at) {
        Some(b'"') => {}
        Some(_) => return Err(JsonError::new(at, Reason::ExpectedKey)),
        None => return Err(JsonError::cut_short(bytes, Inside::Object)),
    }
    let key = token::string(bytes, at + 1)?;
    visitor.key(part(text, at + 1, key.close), key.has_escapes);
    let colon = skip_space(bytes, key.close + 1);
    match bytes.get(colon) {
        Some(b':') => Ok(skip_space(bytes, colon + 1)),
        Some(_) => Err(JsonError::new(colon, Reason::ExpectedColon)),
        None => Err(JsonError::cut_short(bytes, Inside::Object)),
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
    depth: u32,
    limit: u32,
}

impl Nesting {
    #[inline]
    fn new(limits: Limits) -> Self {
        Self { objects: [0; WORDS], depth: 0, limit: limits.max_depth.min(MAX_DEPTH) }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.depth == 0
    }

    #[inline]
    fn innermost(&self) -> Option<Container> {
        let level = self.depth.checked_sub(1)?;
        let word = self.objects[(level / u64::BITS) as usize];
        let is_object = word >> (level % u64::BITS) & 1 == 1;
        Some(if is_object { Container::Object } else { Container::Array })
    }

    #[inline]
    fn push(&mut self, container: Container, at: usize) -> Result<(), JsonError> {
        if self.depth == self.limit {
            return Err(JsonError::new(at, Reason::TooDeep(self.limit)));
        }
        let word = &mut self.objects[(self.depth / u64::BITS) as usize];
        let bit = 1 << (self.depth % u64::BITS);
        match container {
            Container::Object => *word |= bit,
            Container::Array => *word &= !bit,
        }
        self.depth += 1;
        Ok(())
    }

    #[inline]
    fn pop(&mut self) {
        self.depth -= 1;
    }

    /// The error of a line that ends where a value or a comma is due.
    #[cold]
    fn cut_short(&self, bytes: &[u8]) -> JsonError {
        match self.innermost() {
            Some(Container::Object) => JsonError::cut_short(bytes, Inside::Object),
            Some(Container::Array) => JsonError::cut_short(bytes, Inside::Array),
            None => JsonError::new(bytes.len(), Reason::Blank),
        }
    }
}

#[cold]
fn invalid_utf8(line: &[u8]) -> JsonError {
    // The fast validation does not say where.
    let offset = std::str::from_utf8(line).map_or_else(|error| error.valid_up_to(), str::len);
    JsonError::new(offset, Reason::InvalidUtf8)
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
        return JsonError::new(0, Reason::Utf16);
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
            JsonError::new(before.len() - 1, Reason::TrailingComma)
        }
        [0xEF, 0xBB, 0xBF, ..] => JsonError::new(error.offset, Reason::ByteOrderMark),
        [b'#', ..] | [b'/', b'/' | b'*', ..] => JsonError::new(error.offset, Reason::Comment),
        [b'\'', ..] => JsonError::new(error.offset, Reason::SingleQuote),
        [b'N' | b'n', b'a', b'N' | b'n', ..] | [b'I' | b'i', b'n', b'f', ..] => {
            JsonError::new(error.offset, Reason::NotFinite)
        }
        _ => error,
    }
}
