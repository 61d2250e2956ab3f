//! Why a line is not JSON, in words for the person who has to repair it.

use std::error::Error;
use std::fmt;

/// The first thing wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonError {
    /// Where in the line, in bytes. The line's length if the line ends too early.
    pub offset: usize,
    /// The error message.
    pub reason: Reason,
}

/// An error in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The line holds nothing but whitespace.
    Blank,
    /// The line ends before the value does.
    UnexpectedEnd(Inside),
    /// Something else stands where a value must begin.
    ExpectedValue,
    /// Something else stands where a key must begin.
    ExpectedKey,
    /// A key is not followed by a colon.
    ExpectedColon,
    /// An array element is followed by neither `,` nor `]`.
    ExpectedCommaOrBracket,
    /// An object member is followed by neither `,` nor `}`.
    ExpectedCommaOrBrace,
    /// A comma is followed by `]` or `}`.
    TrailingComma,
    /// The value is complete, the line is not.
    TrailingCharacters,
    /// A comment in one of the styles other formats know.
    Comment,
    /// A string in single quotes.
    SingleQuote,
    /// `NaN` or an infinity.
    NotFinite,
    /// A number such as `01`.
    LeadingZero,
    /// A number such as `-`, `1.` or `1e+`.
    MissingDigit,
    /// A number longer than [`MAX_NUMBER_BYTES`](super::MAX_NUMBER_BYTES).
    NumberTooLong,
    /// A byte below 0x20 between quotes.
    ControlCharacter,
    /// A backslash followed by a character that has no meaning there.
    UnknownEscape,
    /// `\u` without four hexadecimal digits.
    BadUnicodeEscape,
    /// One half of a surrogate pair without the other, or the wrong way round.
    LoneSurrogate,
    /// More open arrays and objects than this limit allows.
    TooDeep(u32),
    /// Bytes that are not UTF-8.
    InvalidUtf8,
    /// The line looks like UTF-16.
    Utf16,
    /// A byte order mark outside a string.
    ByteOrderMark,
    /// More bytes than positions in a line can count.
    LineTooLong,
}

/// What the line was in the middle of when it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside {
    /// Between `[` and `]`.
    Array,
    /// Between `{` and `}`.
    Object,
    /// Between quotes.
    String,
    /// In a number that needs another digit.
    Number,
    /// In `true`, `false` or `null`.
    Literal,
}

/// What reading a token gives.
pub(super) type Checked<T> = Result<T, Failure>;

/// An error behind a pointer: what the functions of the walk return then fits in
/// registers, which makes it faster by a tenth.
pub(super) struct Failure(pub(super) Box<JsonError>);

impl Failure {
    #[cold]
    pub(super) fn new(offset: usize, reason: Reason) -> Self {
        Self(Box::new(JsonError { offset, reason }))
    }

    #[cold]
    pub(super) fn cut_short(line: &[u8], inside: Inside) -> Self {
        Self::new(line.len(), Reason::UnexpectedEnd(inside))
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {})", self.reason, self.offset)
    }
}

impl Error for JsonError {}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blank => "no value on the line",
            Self::UnexpectedEnd(inside) => {
                return write!(f, "unexpected end of the line inside {inside}");
            }
            Self::ExpectedValue => "expected a value",
            Self::ExpectedKey => "expected a key in double quotes",
            Self::ExpectedColon => "expected a colon after the key",
            Self::ExpectedCommaOrBracket => "expected a comma or ] in the array",
            Self::ExpectedCommaOrBrace => "expected a comma or } in the object",
            Self::TrailingComma => "trailing comma",
            Self::TrailingCharacters => "trailing characters after the value",
            Self::Comment => "comments are not part of JSON",
            Self::SingleQuote => "single quotes (JSON takes double quotes)",
            Self::NotFinite => "NaN and Infinity are not JSON numbers",
            Self::LeadingZero => "leading zero in a number",
            Self::MissingDigit => "a digit is missing in a number",
            Self::NumberTooLong => {
                return write!(f, "a number of more than {} bytes", super::MAX_NUMBER_BYTES);
            }
            Self::ControlCharacter => "control character in a string (escape it)",
            Self::UnknownEscape => "unknown escape in a string",
            Self::BadUnicodeEscape => r"\u without four hexadecimal digits",
            Self::LoneSurrogate => "a lone surrogate escape",
            Self::TooDeep(limit) => return write!(f, "nested deeper than {limit} levels"),
            Self::InvalidUtf8 => "invalid UTF-8",
            Self::LineTooLong => "the line is longer than 4 GiB",
            Self::Utf16 => "this looks like UTF-16 (convert it to UTF-8)",
            Self::ByteOrderMark => "a byte order mark (only a file may begin with one)",
        })
    }
}

impl fmt::Display for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Array => "an array",
            Self::Object => "an object",
            Self::String => "a string",
            Self::Number => "a number",
            Self::Literal => "true, false or null",
        })
    }
}
