//! One equality and one order for all values.
//!
//! Numbers are equal across integers and decimals, objects whatever the order of
//! their keys. The order is total: null, false, true, numbers, strings, arrays,
//! objects; within strings by code points.

use std::{
    borrow::Cow,
    cmp::Ordering,
    hash::{Hash, Hasher},
};

use bumpalo::Bump;

use super::{Kind, Value};

/// Whether two values are the same.
pub fn equal<'r>(left: Value<'r>, right: Value<'r>, arena: &'r Bump) -> bool {
    left.kind() == right.kind() && compare(left, right, arena) == Ordering::Equal
}

/// The order of two values.
pub fn compare<'r>(left: Value<'r>, right: Value<'r>, arena: &'r Bump) -> Ordering {
    let (left, right) = (left.resolved(arena), right.resolved(arena));
    left.kind().cmp(&right.kind()).then_with(|| match left.kind() {
        Kind::Null => Ordering::Equal,
        Kind::Bool => left.truthy(arena).cmp(&right.truthy(arena)),
        Kind::Number => compare_numbers(left, right),
        Kind::String => left.as_str(arena).cmp(&right.as_str(arena)),
        Kind::Array => compare_arrays(left, right, arena),
        Kind::Object => compare_objects(left, right, arena),
    })
}

/// The order of two numbers.
#[inline]
pub(crate) fn compare_numbers(left: Value<'_>, right: Value<'_>) -> Ordering {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => left.cmp(&right),
        (Value::Float(left), Value::Float(right)) => compare_floats(left, right),
        (Value::Int(left), Value::Float(right)) => compare_mixed(left, right),
        (Value::Float(left), Value::Int(right)) => compare_mixed(right, left).reverse(),
        (Value::Big(left), Value::Big(right)) => compare_big(left, right),
        (Value::Big(text), other) => compare_beyond(text, other),
        (other, Value::Big(text)) => compare_beyond(text, other).reverse(),
        _ => Ordering::Equal,
    }
}

fn compare_floats(left: f64, right: f64) -> Ordering {
    // Values are finite, so they always compare.
    left.partial_cmp(&right).unwrap_or(Ordering::Equal)
}

/// Exact also for integers that no double can represent.
fn compare_mixed(left: i64, right: f64) -> Ordering {
    #[allow(clippy::cast_precision_loss, reason = "a tie is settled below")]
    let rounded = left as f64;
    compare_floats(rounded, right).then_with(|| {
        #[allow(clippy::cast_possible_truncation, reason = "equal to a rounded i64, so in i128")]
        i128::from(left).cmp(&(right as i128))
    })
}

/// A number that is beyond i64, or beyond every double, with one that is not: exact, as
/// every comparison of numbers is, so that what equals the same is equal.
fn compare_beyond(text: &str, other: Value<'_>) -> Ordering {
    match other {
        // A double this large has no fraction, and its digits are all written.
        Value::Float(other) if other.abs() >= BEYOND_I64 => {
            compare_big(text, &format!("{other:.0}"))
        }
        _ => sign_of(text),
    }
}

/// 2^63, where integers that are no i64 begin.
const BEYOND_I64: f64 = 9_223_372_036_854_775_808.0;

fn sign_of(text: &str) -> Ordering {
    if text.starts_with('-') { Ordering::Less } else { Ordering::Greater }
}

/// Numbers of any size by their digits, however they are written.
fn compare_big(left: &str, right: &str) -> Ordering {
    let negative = left.starts_with('-');
    if negative != right.starts_with('-') {
        return sign_of(left);
    }
    let order = Digits::of(left).cmp(&Digits::of(right));
    if negative { order.reverse() } else { order }
}

/// A number of at least 1 without its sign, the same for all ways to write it.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Digits {
    /// How many digits stand before the point.
    pub(super) whole: i64,
    /// All digits but the zeros at both ends.
    pub(super) digits: String,
}

/// One text for all numbers that are beyond i64 and equal; `None` for others.
pub(super) fn canonical_beyond(value: Value<'_>) -> Option<String> {
    let text = beyond_i64(value)?;
    let Digits { whole, digits } = Digits::of(&text);
    let sign = if text.starts_with('-') { "-" } else { "" };
    Some(format!("{sign}{digits}e{whole}"))
}

/// The digits of a number from 2^63 on, or as far below zero, as they can be written.
pub(super) fn beyond_i64(value: Value<'_>) -> Option<Cow<'_, str>> {
    match value {
        Value::Big(text) => Some(Cow::Borrowed(text)),
        Value::Float(number) if number.abs() >= BEYOND_I64 => {
            Some(Cow::Owned(format!("{number:.0}")))
        }
        _ => None,
    }
}

impl Digits {
    pub(super) fn of(text: &str) -> Self {
        let text = text.trim_start_matches('-');
        let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (before, after) = number.split_once('.').unwrap_or((number, ""));
        let digits = [before, after].concat();
        let significant = digits.trim_start_matches('0');
        let leading = digits.len() - significant.len();
        // An exponent beyond i64 is beyond every other number.
        let exponent: i64 = exponent.parse().unwrap_or(i64::MAX / 2);
        let whole = i64::try_from(before.len()).unwrap_or(i64::MAX / 4)
            - i64::try_from(leading).unwrap_or(i64::MAX / 4);
        Self {
            whole: exponent.saturating_add(whole),
            digits: significant.trim_end_matches('0').to_owned(),
        }
    }
}

fn compare_arrays<'r>(left: Value<'r>, right: Value<'r>, arena: &'r Bump) -> Ordering {
    let (left, right) = (left.as_array(arena).unwrap_or(&[]), right.as_array(arena).unwrap_or(&[]));
    let differing = left.iter().zip(right).map(|(left, right)| compare(*left, *right, arena));
    differing
        .into_iter()
        .find(|order| order.is_ne())
        .unwrap_or_else(|| left.len().cmp(&right.len()))
}

/// By sorted keys first, then by the values under them.
fn compare_objects<'r>(left: Value<'r>, right: Value<'r>, arena: &'r Bump) -> Ordering {
    let sorted = |value: Value<'r>| {
        let mut entries = value.as_object(arena).unwrap_or(&[]).to_vec();
        entries.sort_by_key(|entry| entry.0);
        entries
    };
    let (left, right) = (sorted(left), sorted(right));
    let keys = left.iter().map(|entry| entry.0).cmp(right.iter().map(|entry| entry.0));
    keys.then_with(|| {
        left.iter()
            .zip(&right)
            .map(|(left, right)| compare(left.1, right.1, arena))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    })
}

/// Feed a value to a hasher so that equal values give equal hashes.
pub fn same_key_hash<'r>(value: Value<'r>, hasher: &mut impl Hasher, arena: &'r Bump) {
    let value = value.resolved(arena);
    (value.kind() as u8).hash(hasher);
    match value {
        Value::Bool(value) => value.hash(hasher),
        #[allow(clippy::cast_precision_loss, reason = "equal numbers round to one double")]
        Value::Int(value) => (value as f64 + 0.0).to_bits().hash(hasher),
        // -0.0 equals 0.0.
        Value::Float(value) => (value + 0.0).to_bits().hash(hasher),
        // One that a double equals must have the hash of that double.
        Value::Big(text) => match text.parse::<f64>() {
            Ok(value) if value.is_finite() => value.to_bits().hash(hasher),
            _ => (text.starts_with('-'), Digits::of(text)).hash(hasher),
        },
        Value::Str(text) => text.hash(hasher),
        _ => hash_container(value, hasher, arena),
    }
}

fn hash_container<'r>(value: Value<'r>, hasher: &mut impl Hasher, arena: &'r Bump) {
    if let Some(values) = value.as_array(arena) {
        for value in values {
            same_key_hash(*value, hasher, arena);
        }
    } else if let Some(entries) = value.as_object(arena) {
        let mut entries = entries.to_vec();
        entries.sort_by_key(|entry| entry.0);
        for (key, value) in entries {
            key.hash(hasher);
            same_key_hash(value, hasher, arena);
        }
    }
}
