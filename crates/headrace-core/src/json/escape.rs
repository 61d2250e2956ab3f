//! The escapes of JSON strings: measuring one, and decoding all of a string's.
//!
//! Both directions read an escape through [`decode`], so what the checker lets
//! pass is what [`unescape`] understands.

use memchr::memchr;

use super::error::{Checked, Failure, Inside, Reason};

/// Decode the escapes of a string the walker has accepted.
///
/// `raw` is what stands between the quotes. `scratch` is overwritten; reusing
/// it saves an allocation per string. In an unchecked string,
/// anything that is not an escape is kept.
///
/// ```
/// # use headrace_core::json::unescape;
/// let mut scratch = String::new();
/// assert_eq!(unescape(r"a\tb \ud83d\ude00", &mut scratch), "a\tb 😀");
/// ```
pub fn unescape<'a>(raw: &str, scratch: &'a mut String) -> &'a str {
    scratch.clear();
    let mut rest = raw;
    while let Some(plain) = memchr(b'\\', rest.as_bytes()) {
        let (before, escape) = rest.split_at(plain);
        scratch.push_str(before);
        let (character, len) = decode(escape.as_bytes(), 0).unwrap_or(('\\', 1));
        scratch.push(character);
        rest = &escape[len..];
    }
    scratch.push_str(rest);
    scratch
}

/// The character written by the escape whose backslash is at `at`, and the
/// escape's length. A surrogate pair is one escape of 12 bytes.
pub(super) fn decode(bytes: &[u8], at: usize) -> Checked<(char, usize)> {
    let short = match bytes.get(at + 1) {
        Some(b'u') => return decode_unicode(bytes, at),
        Some(&same @ (b'"' | b'\\' | b'/')) => char::from(same),
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(_) => return Err(Failure::new(at, Reason::UnknownEscape)),
        None => return Err(Failure::cut_short(bytes, Inside::String)),
    };
    Ok((short, 2))
}

fn decode_unicode(bytes: &[u8], at: usize) -> Checked<(char, usize)> {
    let first = code_unit(bytes, at)?;
    if let Some(character) = char::from_u32(first) {
        return Ok((character, 6));
    }
    let lone = || Failure::new(at, Reason::LoneSurrogate);
    if first >= 0xDC00 || bytes.get(at + 6..at + 8) != Some(br"\u") {
        return Err(lone());
    }
    let second = code_unit(bytes, at + 6)?;
    // Outside the low surrogates the difference wraps to something large.
    let low = second.wrapping_sub(0xDC00);
    if low >= 0x400 {
        return Err(lone());
    }
    let character = char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + low).ok_or_else(lone)?;
    Ok((character, 12))
}

/// The four digits of the `\u` at `at`.
fn code_unit(bytes: &[u8], at: usize) -> Checked<u32> {
    let mut unit = 0;
    for position in at + 2..at + 6 {
        let Some(&digit) = bytes.get(position) else {
            return Err(Failure::cut_short(bytes, Inside::String));
        };
        let Some(value) = char::from(digit).to_digit(16) else {
            return Err(Failure::new(at, Reason::BadUnicodeEscape));
        };
        unit = unit << 4 | value;
    }
    Ok(unit)
}
