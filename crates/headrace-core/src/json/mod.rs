//! The check of a row, and the walk through it.
//!
//! A row is one JSON value of any kind, in UTF-8, exactly as RFC 8259 has it.
//! What that document leaves open is decided here: a number may have any
//! magnitude and is handed on as text; half a surrogate pair is refused; a
//! repeated key is not an error; a byte order mark outside a string is one,
//! since the reader of a file takes off the one that may begin it.
//!
//! [`walk`] is the only JSON grammar in headrace: whatever counts, builds or
//! skips values does so through a [`Visitor`], so all of them agree on which
//! rows are good.

mod block;
mod error;
mod escape;
mod key_hints;
mod token;
mod walk;

#[cfg(test)]
mod serde_json_tests;
#[cfg(test)]
mod tests;

pub use error::{Inside, JsonError, Reason};
pub use escape::unescape;
pub use key_hints::KeyHints;
pub(crate) use token::skip_plain;
pub(crate) use walk::not_utf8;
pub use walk::{Visitor, walk, walk_text};

/// The greatest depth [`Limits`] can allow.
pub const MAX_DEPTH: u32 = 1000;

/// The longest text of a number. Every finite double written out in full is shorter.
pub const MAX_NUMBER_BYTES: usize = 1100;

/// The limits on a row that is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The deepest nesting of arrays and objects; at most [`MAX_DEPTH`].
    pub max_depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_depth: 256 }
    }
}

/// Check a line in full: grammar, UTF-8, surrogates and limits.
///
/// A blank line is an error here; check [`is_blank`] first where blank lines are allowed.
///
/// ```
/// # use headrace_core::json::{Limits, check};
/// assert_eq!(check(br#"{"big": 1e400}"#, &Limits::default()), Ok(()));
/// let error = check(b"[1, 2", &Limits::default()).unwrap_err();
/// assert_eq!(error.to_string(), "unexpected end of the line inside an array (byte 5)");
/// ```
///
/// # Errors
///
/// The first thing wrong with the line, as [`walk`] finds it.
pub fn check(line: &[u8], limits: &Limits) -> Result<(), JsonError> {
    walk(line, limits, &mut KeyHints::none(), &mut walk::Ignore).map(|_| ())
}

/// Whether a line holds nothing but JSON's whitespace.
pub fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|&byte| token::is_space(byte))
}
