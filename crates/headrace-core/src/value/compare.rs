//! One equality and one order for all values.
//!
//! Numbers are equal across integers and decimals, objects whatever the order of
//! their keys. The order is total: null, false, true, numbers, strings, arrays,
//! objects; within strings by code points.

use std::{
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

fn compare_numbers(left: Value<'_>, right: Value<'_>) -> Ordering {
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

/// Exact also where the integer has no double of its own.
fn compare_mixed(left: i64, right: f64) -> Ordering {
    #[allow(clippy::cast_precision_loss, reason = "a tie is settled below")]
    let rounded = left as f64;
    compare_floats(rounded, right).then_with(|| {
        #[allow(clippy::cast_possible_truncation, reason = "equal to a rounded i64, so in i128")]
        i128::from(left).cmp(&(right as i128))
    })
}

/// A number that is beyond i64, or beyond every double, with one that is not.
fn compare_beyond(text: &str, other: Value<'_>) -> Ordering {
    match (text.parse::<f64>(), other) {
        (Ok(number), Value::Float(other)) if number.is_finite() => compare_floats(number, other),
        _ => sign_of(text),
    }
}

fn sign_of(text: &str) -> Ordering {
    if text.starts_with('-') { Ordering::Less } else { Ordering::Greater }
}

/// Integers of many digits by their digits; decimals beyond a double by their text.
fn compare_big(left: &str, right: &str) -> Ordering {
    let negative = left.starts_with('-');
    if negative != right.starts_with('-') {
        return sign_of(left);
    }
    let (left, right) = (left.trim_start_matches('-'), right.trim_start_matches('-'));
    let order = left.len().cmp(&right.len()).then_with(|| left.cmp(right));
    if negative { order.reverse() } else { order }
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
        Value::Big(text) | Value::Str(text) => text.hash(hasher),
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
