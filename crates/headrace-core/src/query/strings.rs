//! Text in operators, casts and f-strings.

use bumpalo::Bump;

use crate::value::{Value, text_of};

/// `~=`: the left text contains the right one, whatever the case.
pub(super) fn alike<'r>(left: Value<'r>, right: Value<'r>, arena: &'r Bump) -> bool {
    let (left, right) = (text_of(left, arena).to_lowercase(), text_of(right, arena).to_lowercase());
    left.contains(&right)
}

/// A value cast by `as int`; `None` if it cannot be cast. No digit is lost, whatever their
/// number; a fraction is cut off.
pub(super) fn cast_integer<'r>(value: Value<'r>, arena: &'r Bump) -> Option<Value<'r>> {
    let (Value::Str(text) | Value::Big(text)) = value else {
        return match value {
            Value::Int(_) => Some(value),
            _ => cast_number(value).map(|number| without_fraction(number, arena)),
        };
    };
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return cast_number(value).map(|number| without_fraction(number, arena));
    }
    let digits = digits.trim_start_matches('0');
    let written = arena.alloc_str(&[sign, if digits.is_empty() { "0" } else { digits }].concat());
    Some(written.parse().map_or(Value::Big(written), Value::Int))
}

fn without_fraction(number: f64, arena: &Bump) -> Value<'_> {
    match super::numbers::whole(number.trunc()) {
        // All digits of a double this large are before its point.
        Value::Float(number) => Value::Big(arena.alloc_str(&format!("{number:.0}"))),
        whole => whole,
    }
}

/// A value cast by `as float`; `None` if it cannot be cast.
pub(super) fn cast_number(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Null => Some(0.0),
        Value::Bool(value) => Some(f64::from(u8::from(value))),
        Value::Str(text) => parse_number(text),
        number => super::numbers::double(number),
    }
}

/// A text that is a number and nothing else.
pub(super) fn parse_number(text: &str) -> Option<f64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    // Rust would take "inf" and "nan" as well.
    let numeric = digits.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    numeric.then(|| text.parse().ok()).flatten().filter(|value: &f64| value.is_finite())
}
