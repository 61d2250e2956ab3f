//! Finding the end of a token: whitespace, a string, a number, a literal.
//!
//! The functions take the whole line and a position in it, so that the offsets
//! in their errors need no translation.

use super::MAX_NUMBER_BYTES;
use super::error::{Checked, Failure, Inside, Reason};
use super::{block, escape};

/// A string that has been checked.
pub(super) struct Quoted {
    /// The position of the closing quote.
    pub(super) close: usize,
    pub(super) has_escapes: bool,
}

/// A number that has been checked.
pub(super) struct Number {
    /// The position after the last byte.
    pub(super) end: usize,
    pub(super) is_integer: bool,
}

#[inline]
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// The position of the first byte at or after `at` that is not whitespace.
#[inline]
pub(super) fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|&byte| byte <= b' ' && is_space(byte)) {
        at += 1;
    }
    at
}

/// The string whose first byte after the opening quote is at `at`.
#[inline]
pub(super) fn string(bytes: &[u8], at: usize) -> Checked<Quoted> {
    let close = skip_plain(bytes, at);
    if bytes.get(close) == Some(&b'"') {
        return Ok(Quoted { close, has_escapes: false });
    }
    escaped_string(bytes, close).map(|close| Quoted { close, has_escapes: true })
}

/// The closing quote of a string that has something else at `at`.
fn escaped_string(bytes: &[u8], mut at: usize) -> Checked<usize> {
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok(at),
            Some(b'\\') => {
                let (_, len) = escape::decode(bytes, at)?;
                at = skip_plain(bytes, at + len);
            }
            Some(_) => return Err(Failure::new(at, Reason::ControlCharacter)),
            None => return Err(Failure::cut_short(bytes, Inside::String)),
        }
    }
}

/// The position of the first quote, backslash or control character.
#[inline]
pub(crate) fn skip_plain(bytes: &[u8], mut at: usize) -> usize {
    while let Some(block) = block::at(bytes, at) {
        let stops = block::not_plain(block);
        if stops != 0 {
            return at + stops.trailing_zeros() as usize;
        }
        at += block::WIDTH;
    }
    while bytes.get(at).is_some_and(|&byte| byte != b'"' && byte != b'\\' && byte >= b' ') {
        at += 1;
    }
    at
}

/// The number that begins at `start`, with a minus sign or a digit.
#[inline]
pub(super) fn number(bytes: &[u8], start: usize) -> Checked<Number> {
    match short_number(bytes, start) {
        Some(number) => Ok(number),
        None => any_number(bytes, start),
    }
}

/// A number of an integer and perhaps a fraction that ends within a block; most do.
#[inline]
fn short_number(bytes: &[u8], start: usize) -> Option<Number> {
    let integer = start + usize::from(bytes.get(start) == Some(&b'-'));
    let block = block::at(bytes, integer)?;
    let digits = block::digits(block);
    let length = digits.trailing_ones() as usize;
    let next = *block.get(length)?;
    if length == 0 || (length > 1 && block[0] == b'0') || next | 0x20 == b'e' {
        return None;
    }
    if next != b'.' {
        return Some(Number { end: integer + length, is_integer: true });
    }
    let fraction = (digits >> (length + 1)).trailing_ones() as usize;
    let end = length + 1 + fraction;
    if fraction == 0 || *block.get(end)? | 0x20 == b'e' {
        return None;
    }
    Some(Number { end: integer + end, is_integer: false })
}

/// Any number, or what is wrong with it.
fn any_number(bytes: &[u8], start: usize) -> Checked<Number> {
    let integer = start + usize::from(bytes.get(start) == Some(&b'-'));
    let mut at = digits(bytes, integer)?;
    if bytes.get(integer) == Some(&b'0') && at > integer + 1 {
        return Err(Failure::new(integer, Reason::LeadingZero));
    }
    let mut is_integer = true;
    if bytes.get(at) == Some(&b'.') {
        at = digits(bytes, at + 1)?;
        is_integer = false;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        let signed = matches!(bytes.get(at + 1), Some(b'+' | b'-'));
        at = digits(bytes, at + 1 + usize::from(signed))?;
        is_integer = false;
    }
    if at - start > MAX_NUMBER_BYTES {
        return Err(Failure::new(start, Reason::NumberTooLong));
    }
    Ok(Number { end: at, is_integer })
}

/// The position after at least one digit.
#[inline]
fn digits(bytes: &[u8], start: usize) -> Checked<usize> {
    let at = skip_digits(bytes, start);
    if at > start {
        Ok(at)
    } else if at < bytes.len() {
        Err(Failure::new(at, Reason::MissingDigit))
    } else {
        Err(Failure::cut_short(bytes, Inside::Number))
    }
}

/// The position of the first byte that is not a digit.
#[inline]
fn skip_digits(bytes: &[u8], mut at: usize) -> usize {
    while let Some(block) = block::at(bytes, at) {
        let digits = block::digits(block).trailing_ones() as usize;
        at += digits;
        if digits < block::WIDTH {
            return at;
        }
    }
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    at
}

/// The position after `word`, one of JSON's three, which begins at `at`.
#[inline]
pub(super) fn literal(bytes: &[u8], at: usize, word: &[u8]) -> Checked<usize> {
    let rest = &bytes[at..];
    if rest.starts_with(word) {
        Ok(at + word.len())
    } else if word.starts_with(rest) {
        Err(Failure::cut_short(bytes, Inside::Literal))
    } else {
        Err(Failure::new(at, Reason::ExpectedValue))
    }
}
