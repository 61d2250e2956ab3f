//! Formats of f-strings: `[[fill]align][sign][#][0][width][, or _][.precision][type]`, as in
//! Python's format language.
//!
//! A format is read once, before any row. A number without a type is written as everywhere
//! in the language, so `1.0` is `1`; with a sign or grouping a very large or small one has an
//! exponent, as in Python. What needs a number fails on anything else.

use std::fmt::Write;

use bumpalo::{Bump, collections::String as BumpString};

use super::{
    Fault,
    numbers::{double, shown, whole},
};
use crate::value::{Value, text_of};

/// No field of a text needs to be wider, no number more exact.
const MOST: usize = 10_000;

const TYPES: &str = "b c d e E f F g G o s x X %";

/// On which side a text that is too short is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Align {
    Left,
    Right,
    Center,
    /// `=`: between the sign and the digits.
    AfterSign,
}

/// How a value is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatSpec {
    fill: char,
    align: Option<Align>,
    /// `+`, `-` or a space.
    sign: Option<char>,
    alternate: bool,
    zero: bool,
    width: usize,
    /// The separator of groups of digits.
    grouping: Option<char>,
    precision: Option<usize>,
    kind: Option<char>,
}

/// A number on its way to a text: what is before its digits, they, and what is behind them.
struct Written {
    negative: bool,
    prefix: &'static str,
    digits: String,
    tail: String,
}

impl FormatSpec {
    /// Read a format.
    ///
    /// # Errors
    /// What of it means nothing, or does not go together.
    pub fn parse(spec: &str) -> Result<Self, String> {
        let mut rest = spec;
        let mut found = Self {
            fill: ' ',
            align: None,
            sign: None,
            alternate: false,
            zero: false,
            width: 0,
            grouping: None,
            precision: None,
            kind: None,
        };
        let mut first = spec.chars();
        let mut is_filled = false;
        if let (Some(fill), Some(align)) = (first.next(), first.next().and_then(align_of)) {
            (found.fill, found.align, is_filled) = (fill, Some(align), true);
            rest = first.as_str();
        } else if let Some(align) = spec.chars().next().and_then(align_of) {
            found.align = Some(align);
            rest = &spec[1..];
        }
        found.sign = taken(&mut rest, &['+', '-', ' ']);
        found.alternate = taken(&mut rest, &['#']).is_some();
        // Behind a fill, a zero is a digit of the width.
        found.zero = !is_filled && taken(&mut rest, &['0']).is_some();
        if found.zero {
            found.fill = '0';
        }
        found.width = digits(&mut rest)?.unwrap_or(0);
        found.grouping = taken(&mut rest, &[',', '_']);
        if taken(&mut rest, &['.']).is_some() {
            let precision = digits(&mut rest)?;
            found.precision = Some(precision.ok_or("a point needs digits behind it, as in .2f")?);
        }
        let mut last = rest.chars();
        found.kind = last.next();
        if !last.as_str().is_empty() {
            return Err(format!("{rest} means nothing here"));
        }
        found.checked()
    }

    fn checked(self) -> Result<Self, String> {
        let Some(kind) = self.kind else { return Ok(self) };
        if !TYPES.split(' ').any(|each| each.starts_with(kind)) {
            return Err(format!("there is no type {kind}; there are {TYPES}"));
        }
        let of_text = matches!(kind, 's' | 'c');
        let of_integers = matches!(kind, 'b' | 'c' | 'd' | 'o' | 'x' | 'X');
        if of_text && self.is_about_digits() {
            return Err(format!("signs, grouping and zeros are for numbers, not for {kind}"));
        }
        if of_integers && self.precision.is_some() {
            return Err(format!("{kind} writes a whole number, which has no precision"));
        }
        if matches!(kind, 'b' | 'o' | 'x' | 'X') && self.grouping == Some(',') {
            return Err(format!("digits of {kind} are grouped with _"));
        }
        Ok(self)
    }

    /// Whether something is said of digits, which only numbers have.
    fn is_about_digits(&self) -> bool {
        self.sign.is_some()
            || self.alternate
            || self.zero
            || self.grouping.is_some()
            || self.align == Some(Align::AfterSign)
    }

    /// Append a value.
    ///
    /// # Errors
    /// A format of numbers, and a value that is none or does not fit it.
    pub(super) fn write<'r>(
        &self,
        value: Value<'r>,
        out: &mut BumpString<'r>,
        arena: &'r Bump,
    ) -> Result<(), Fault> {
        let value = value.resolved(arena);
        let is_number = matches!(value, Value::Int(_) | Value::Float(_) | Value::Big(_));
        match self.kind {
            Some('s') => self.write_text(text_of(value, arena), Align::Left, out),
            Some('c') => {
                let character = integer(value)
                    .and_then(|code| u32::try_from(code).ok())
                    .and_then(char::from_u32);
                let Some(character) = character else { return Err(unfit("c", value, arena)) };
                self.write_text(character.encode_utf8(&mut [0; 4]), Align::Left, out);
            }
            kind if is_number => {
                let written = self.number(kind, value, arena)?;
                self.write_number(written, out);
            }
            None if !self.is_about_digits() => {
                self.write_text(text_of(value, arena), Align::Left, out);
            }
            _ => {
                let reason = format!("the format needs a number, not {}", shown(value, arena));
                return Err(Fault::new(reason));
            }
        }
        Ok(())
    }

    fn write_text(&self, text: &str, usual: Align, out: &mut BumpString<'_>) {
        let end = self.precision.and_then(|most| text.char_indices().nth(most));
        let text = end.map_or(text, |(end, _)| &text[..end]);
        let missing = self.width.saturating_sub(text.chars().count());
        let before = match self.align.unwrap_or(usual) {
            Align::Left => 0,
            Align::Right | Align::AfterSign => missing,
            Align::Center => missing / 2,
        };
        out.extend(std::iter::repeat_n(self.fill, before));
        out.push_str(text);
        out.extend(std::iter::repeat_n(self.fill, missing - before));
    }

    fn number<'r>(
        &self,
        kind: Option<char>,
        value: Value<'r>,
        arena: &'r Bump,
    ) -> Result<Written, Fault> {
        let kind = match kind {
            None if self.precision.is_none() => {
                let is_as_in_python = self.sign.is_some() || self.grouping.is_some();
                return Ok(match value {
                    Value::Float(number) if is_as_in_python && has_exponent(number) => {
                        plain(&with_exponent(&format!("{number:e}"), ""))
                    }
                    _ => plain(text_of(value, arena)),
                });
            }
            None => 'g',
            Some('d') => {
                let value = match value {
                    Value::Float(number) if number.fract() != 0.0 => {
                        return Err(unfit("a whole number", value, arena));
                    }
                    Value::Float(number) => whole(number),
                    Value::Big(text) if text.contains(['.', 'e', 'E']) => {
                        let number = double(value).ok_or_else(|| unfit("d", value, arena))?;
                        whole(number.trunc())
                    }
                    _ => value,
                };
                return Ok(plain(text_of(value, arena)));
            }
            Some(kind) => kind,
        };
        if let Some((radix, prefix)) = radix_of(kind) {
            let number = integer(value);
            let Some(number) = number else { return Err(unfit(radix, value, arena)) };
            let size = number.unsigned_abs();
            let digits = match kind {
                'b' => format!("{size:b}"),
                'o' => format!("{size:o}"),
                'x' => format!("{size:x}"),
                _ => format!("{size:X}"),
            };
            let prefix = if self.alternate { prefix } else { "" };
            return Ok(Written { negative: number < 0, prefix, digits, tail: String::new() });
        }
        let number = double(value).ok_or_else(|| unfit("a double", value, arena))?;
        let precision = self.precision.unwrap_or(6);
        let size = number.abs();
        let text = match kind {
            'e' | 'E' => exponential(size, precision, self.alternate),
            'g' | 'G' => general(size, precision.max(1), self.alternate),
            '%' => {
                let percent = size * 100.0;
                if !percent.is_finite() {
                    return Err(unfit("%", value, arena));
                }
                format!("{}%", fixed(percent, precision, self.alternate))
            }
            _ => fixed(size, precision, self.alternate),
        };
        let text = if kind.is_ascii_uppercase() { text.to_uppercase() } else { text };
        Ok(Written { negative: number.is_sign_negative(), ..plain(&text) })
    }

    fn write_number(&self, written: Written, out: &mut BumpString<'_>) {
        let Written { negative, prefix, mut digits, tail } = written;
        let sign = match self.sign {
            _ if negative => "-",
            Some('+') => "+",
            Some(' ') => " ",
            _ => "",
        };
        let beside = sign.len() + prefix.len() + tail.chars().count();
        let align = self.align.unwrap_or(if self.zero { Align::AfterSign } else { Align::Right });
        let fill = self.fill;
        let size = if radix_of(self.kind.unwrap_or('d')).is_some() { 4 } else { 3 };
        if let Some(separator) = self.grouping {
            let mut grouped = grouped(&digits, separator, size);
            // Zeros in front are digits, with separators between them.
            while align == Align::AfterSign && fill == '0' && grouped.len() + beside < self.width {
                digits.insert(0, '0');
                grouped = self::grouped(&digits, separator, size);
            }
            digits = grouped;
        }
        let missing = self.width.saturating_sub(beside + digits.len());
        let filled = |count| std::iter::repeat_n(fill, count);
        let (before, between) = match align {
            Align::Left => (0, 0),
            Align::Right => (missing, 0),
            Align::Center => (missing / 2, 0),
            Align::AfterSign => (0, missing),
        };
        out.extend(filled(before));
        out.push_str(sign);
        out.push_str(prefix);
        out.extend(filled(between));
        out.push_str(&digits);
        out.push_str(&tail);
        out.extend(filled(missing - before - between));
    }
}

fn align_of(sign: char) -> Option<Align> {
    match sign {
        '<' => Some(Align::Left),
        '>' => Some(Align::Right),
        '^' => Some(Align::Center),
        '=' => Some(Align::AfterSign),
        _ => None,
    }
}

/// Take one of some signs from the front.
fn taken(rest: &mut &str, signs: &[char]) -> Option<char> {
    let first = rest.chars().next().filter(|first| signs.contains(first))?;
    *rest = &rest[first.len_utf8()..];
    Some(first)
}

/// Take a number from the front.
fn digits(rest: &mut &str) -> Result<Option<usize>, String> {
    let end = rest.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(rest.len());
    let (number, behind) = rest.split_at(end);
    *rest = behind;
    if number.is_empty() {
        return Ok(None);
    }
    let number = number.parse().ok().filter(|number| *number <= MOST);
    number.map(Some).ok_or_else(|| format!("a width or precision is at most {MOST}"))
}

/// A number without fraction.
fn integer(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Int(number) => Some(number),
        Value::Float(number) if number.fract() == 0.0 => match whole(number) {
            Value::Int(number) => Some(number),
            _ => None,
        },
        _ => None,
    }
}

fn radix_of(kind: char) -> Option<(&'static str, &'static str)> {
    match kind {
        'b' => Some(("b", "0b")),
        'o' => Some(("o", "0o")),
        'x' => Some(("x", "0x")),
        'X' => Some(("X", "0X")),
        _ => None,
    }
}

/// A number as text, taken apart: the digits before the point, and all that follows.
fn plain(text: &str) -> Written {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let end = text.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(text.len());
    let (digits, tail) = text.split_at(end);
    Written { negative, prefix: "", digits: digits.to_owned(), tail: tail.to_owned() }
}

fn fixed(number: f64, precision: usize, alternate: bool) -> String {
    let point = if alternate && precision == 0 { "." } else { "" };
    format!("{number:.precision$}{point}")
}

/// Whether Python's `repr` of a number has an exponent.
fn has_exponent(number: f64) -> bool {
    let size = number.abs();
    size >= 1e16 || (size > 0.0 && size < 1e-4)
}

fn exponential(number: f64, precision: usize, alternate: bool) -> String {
    let point = if alternate && precision == 0 { "." } else { "" };
    with_exponent(&format!("{number:.precision$e}"), point)
}

/// A number with an exponent as C writes it: with a sign and at least two digits.
fn with_exponent(text: &str, point: &str) -> String {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (sign, size) = exponent.strip_prefix('-').map_or(('+', exponent), |size| ('-', size));
    format!("{mantissa}{point}e{sign}{size:0>2}")
}

/// The shorter of both notations with `precision` significant digits, without trailing zeros.
fn general(number: f64, precision: usize, alternate: bool) -> String {
    let rounded = format!("{number:.*e}", precision - 1);
    let exponent = rounded.split_once('e').and_then(|(_, exponent)| exponent.parse::<i64>().ok());
    let exponent = exponent.unwrap_or(0);
    let digits = i64::try_from(precision).unwrap_or(i64::MAX);
    let text = if (-4..digits).contains(&exponent) {
        let places = usize::try_from(digits - 1 - exponent).unwrap_or(0);
        fixed(number, places, alternate)
    } else {
        exponential(number, precision - 1, alternate)
    };
    if alternate || !text.contains('.') {
        return text;
    }
    let (mantissa, exponent) = text.split_at(text.find('e').unwrap_or(text.len()));
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    format!("{mantissa}{exponent}")
}

/// Digits with a separator between groups, counted from the right.
fn grouped(digits: &str, separator: char, size: usize) -> String {
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(size) {
            text.push(separator);
        }
        text.push(digit);
    }
    text
}

fn unfit<'r>(kind: &str, value: Value<'r>, arena: &'r Bump) -> Fault {
    let mut reason = String::new();
    let _ = write!(reason, "{} cannot be written as {kind}", shown(value, arena));
    Fault::new(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: Value<'_>, spec: &str) -> Result<String, String> {
        let arena = Bump::new();
        let mut out = BumpString::new_in(&arena);
        let spec = FormatSpec::parse(spec)?;
        spec.write(value.resolved(&arena), &mut out, &arena).map_err(|fault| fault.reason)?;
        Ok(out.to_string())
    }

    #[test]
    fn numbers_are_written_as_in_python() {
        for (number, spec, wanted) in [
            (1234.5, ",.2f", "1,234.50"),
            (32.0, "05d", "00032"),
            (32.0, "8.2f", "   32.00"),
            (-1234.0, "010,", "-0,001,234"),
            (1234.0, "08,", "0,001,234"),
            (0.5, ".0%", "50%"),
            (1e-7, "g", "1e-07"),
            (1_234_567.0, "g", "1.23457e+06"),
            (1.5, "+.1e", "+1.5e+00"),
            (255.0, "#x", "0xff"),
            (65535.0, "_x", "ffff"),
            (1_048_575.0, "_X", "F_FFFF"),
            (5.0, "*^7", "***5***"),
            (-5.0, "*=7d", "-*****5"),
            (97.0, "c", "a"),
            (3.0, "b", "11"),
            (-0.0, ".1f", "-0.0"),
            (1.0, "", "1"),
            (1e15, ",", "1,000,000,000,000,000"),
            (1e16, ",", "1e+16"),
            (-1.5e20, ",", "-1.5e+20"),
            (1e-4, ",", "0.0001"),
            (1e-7, ",", "1e-07"),
            (1e-7, "012,", "0,000,001e-07"),
            (1e22, "+", "+1e+22"),
        ] {
            assert_eq!(written(Value::Float(number), spec).as_deref(), Ok(wanted), "{spec}");
        }
        assert_eq!(written(Value::Big("123456789012345678901"), ",").unwrap().len(), 27);
        assert_eq!(written(Value::Str("abc"), "_>5.2").as_deref(), Ok("___ab"));
    }

    #[test]
    fn what_means_nothing_is_refused() {
        for spec in ["z", ".f", "5q", ".2d", ",x", "+s", "=s", "99999", "..", "5 5", "é"] {
            assert!(FormatSpec::parse(spec).is_err(), "{spec}");
        }
        for spec in [".2f", "+", ",", "05", "x", "c"] {
            assert!(written(Value::Str("abc"), spec).is_err(), "{spec}");
            assert!(written(Value::Null, spec).is_err(), "{spec}");
        }
        assert!(written(Value::Float(1.5), "x").is_err());
    }
}
