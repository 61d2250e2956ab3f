//! Values as bytes that are in the order of the values.
//!
//! Comparing the keys of two values byte by byte, unsigned, is [`compare`](super::compare) of
//! the values: who knows nothing of JSON can sort, group and join by them. No key is the
//! beginning of another, and none is empty.
//!
//! ```text
//! null, false, true   the tag alone
//! number              its region, then within -2^63 .. 2^63: 8 bytes of the nearest double, 2 of
//!                     what is missing to an integer; beyond: 8 bytes of how many digits stand
//!                     before the point, the digits, 0; all but the region complemented below zero
//! string              UTF-8, 0 as 0 255; 0 0
//! array               the keys of the elements; 0
//! object              1 and the key as a string, for each in their order; 0; the keys of the values
//! ```

use bumpalo::Bump;

use super::{
    Value,
    compare::{Digits, beyond_i64},
};

/// What stands where an array or the keys of an object end: below every tag.
const END: u8 = 0;
const NULL: u8 = 1;
const FALSE: u8 = 2;
const TRUE: u8 = 3;
const NUMBER: u8 = 4;
const STRING: u8 = 5;
const ARRAY: u8 = 6;
const OBJECT: u8 = 7;

const FURTHER_KEY: u8 = 1;

const BELOW: u8 = 0;
const WITHIN: u8 = 1;
const ABOVE: u8 = 2;

/// Append the key of `value` to `out`.
pub fn write_order_key<'r>(value: Value<'r>, out: &mut Vec<u8>, arena: &'r Bump) {
    let value = value.resolved(arena);
    match value {
        Value::Null => out.push(NULL),
        Value::Bool(false) => out.push(FALSE),
        Value::Bool(true) => out.push(TRUE),
        Value::Int(_) | Value::Float(_) | Value::Big(_) => {
            out.push(NUMBER);
            write_number(value, out);
        }
        Value::Str(text) => {
            out.push(STRING);
            write_text(text, out);
        }
        Value::Array(_) | Value::Object(_) | Value::Node(_) => write_container(value, out, arena),
    }
}

fn write_container<'r>(value: Value<'r>, out: &mut Vec<u8>, arena: &'r Bump) {
    if let Some(elements) = value.as_array(arena) {
        out.push(ARRAY);
        for element in elements {
            write_order_key(*element, out, arena);
        }
        out.push(END);
    } else if let Some(entries) = value.as_object(arena) {
        let mut entries = entries.to_vec();
        entries.sort_by_key(|entry| entry.0);
        out.push(OBJECT);
        for (key, _) in &entries {
            out.push(FURTHER_KEY);
            write_text(key, out);
        }
        out.push(END);
        for (_, value) in entries {
            write_order_key(value, out, arena);
        }
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    for part in text.split_inclusive('\0') {
        out.extend_from_slice(part.as_bytes());
        if part.ends_with('\0') {
            out.push(u8::MAX);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

fn write_number(value: Value<'_>, out: &mut Vec<u8>) {
    let (double, missing) = match value {
        Value::Int(integer) => rounded(integer),
        #[allow(clippy::cast_precision_loss, reason = "-2^63 is a double")]
        Value::Float(double) if double < i64::MIN as f64 || double >= -(i64::MIN as f64) => {
            return write_beyond(value, out);
        }
        // -0.0 equals 0.0.
        Value::Float(double) => (double + 0.0, NOTHING_MISSING),
        _ => return write_beyond(value, out),
    };
    out.push(WITHIN);
    let bits = double.to_bits();
    let ordered = if double < 0.0 { !bits } else { bits | 1 << 63 };
    out.extend_from_slice(&ordered.to_be_bytes());
    out.extend_from_slice(&missing.to_be_bytes());
}

/// What is missing is counted from here, so that it is never below zero.
const NOTHING_MISSING: u16 = 1 << 15;

/// The nearest double, and what is missing to the integer.
fn rounded(integer: i64) -> (f64, u16) {
    #[allow(clippy::cast_precision_loss, reason = "the rest is kept")]
    let double = integer as f64;
    #[allow(clippy::cast_possible_truncation, reason = "at most 2^63")]
    let missing = i128::from(integer) - double as i128;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 512")]
    let counted = (missing + i128::from(NOTHING_MISSING)) as u16;
    (double, counted)
}

fn write_beyond(value: Value<'_>, out: &mut Vec<u8>) {
    let Some(text) = beyond_i64(value) else { return };
    let Digits { whole, digits } = Digits::of(&text);
    let negative = text.starts_with('-');
    out.push(if negative { BELOW } else { ABOVE });
    let start = out.len();
    out.extend_from_slice(&whole.to_be_bytes());
    out.extend_from_slice(digits.as_bytes());
    out.push(END);
    if negative {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use proptest::{prelude::*, sample::select};

    use super::*;
    use crate::value::{Tape, compare, equal, parse_text_on};

    /// Values next to each other, most of all numbers.
    const NEIGHBOURS: &[&str] = &[
        "null",
        "false",
        "true",
        "0",
        "-0",
        "-0.0",
        "0.0",
        "1",
        "1.0",
        "10e-1",
        "1.5",
        "-1",
        "5e-324",
        "-5e-324",
        "2.2250738585072014e-308",
        "1.7976931348623157e308",
        "-1.7976931348623157e308",
        "9007199254740992",
        "9007199254740993",
        "9007199254740992.0",
        "9007199254740994.0",
        "9223372036854775807",
        "9223372036854775806",
        "9223372036854775295",
        "9223372036854774784",
        "9223372036854775296.0",
        "9223372036854775807.0",
        "9223372036854775808",
        "9223372036854775809",
        "9223372036854775808.0",
        "9223372036854777856",
        "9223372036854777856.0",
        "9223372036854777857",
        "-9223372036854775807",
        "-9223372036854775808",
        "-9223372036854775808.0",
        "-9223372036854775809",
        "-9223372036854777856",
        "-9223372036854777856.0",
        "18446744073709551616",
        "100000000000000000000",
        "100000000000000000001",
        "1e20",
        "1e+20",
        "1e21",
        "-1e20",
        "-100000000000000000001",
        "1e308",
        "1e309",
        "10e308",
        "0.1e310",
        "1.0001e309",
        "-1e309",
        "-1e400",
        "1e99999999999999999999",
        "1e400",
        r#""""#,
        r#""\u0000""#,
        r#""\u0000\u0000""#,
        r#""\u0001""#,
        r#""a""#,
        r#""a\u0000""#,
        r#""a\u0000b""#,
        r#""ab""#,
        r#""\u00ff""#,
        r#""\ud83d\ude00""#,
        r#""\uffff""#,
    ];

    fn json() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            4 => select(NEIGHBOURS).prop_map(str::to_owned),
            1 => any::<i64>().prop_map(|value| value.to_string()),
            1 => (any::<i64>(), -3_i64..3).prop_map(|(value, near)| {
                #[allow(clippy::cast_precision_loss, reason = "a double is wanted")]
                let double = value.saturating_add(near) as f64;
                format!("{double:.1}")
            }),
            1 => any::<i128>().prop_map(|value| value.to_string()),
            1 => (any::<i32>(), -330_i32..330).prop_map(|(value, at)| format!("{value}.5e{at}")),
            1 => "[\0-\u{3}a]{0,3}".prop_map(|text| {
                let mut out = Vec::new();
                super::super::write_string(&text, &mut out);
                String::from_utf8(out).unwrap()
            }),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            let key = select(vec!["", "a", "b", "a\\u0000", "ab"]);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4)
                    .prop_map(|values| format!("[{}]", values.join(","))),
                prop::collection::vec((key, inner), 0..4).prop_map(|entries| {
                    let entries =
                        entries.into_iter().map(|(key, value)| format!("\"{key}\":{value}"));
                    format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
                }),
            ]
        })
    }

    fn assert_in_order(left: &str, right: &str) {
        let (arena, mut tapes) = (Bump::new(), [Tape::once(), Tape::once()]);
        let [first, second] = &mut tapes;
        let left_value = parse_text_on(first, left, &arena).unwrap();
        let right_value = parse_text_on(second, right, &arena).unwrap();
        let key = |value| {
            let mut key = Vec::new();
            write_order_key(value, &mut key, &arena);
            key
        };
        let (left_key, right_key) = (key(left_value), key(right_value));
        let order = compare(left_value, right_value, &arena);
        assert_eq!(left_key.cmp(&right_key), order, "{left} and {right}");
        assert_eq!(
            left_key == right_key,
            equal(left_value, right_value, &arena),
            "{left}, {right}"
        );
        assert!(!left_key.is_empty());
        let begins = left_key.starts_with(&right_key) || right_key.starts_with(&left_key);
        assert_eq!(begins, order == Ordering::Equal, "{left} begins {right}");
        let copied = left_value.copied(&arena, &arena);
        assert_eq!(key(copied), left_key, "{left}, away from its row");
    }

    #[test]
    fn neighbours_are_in_order() {
        for left in NEIGHBOURS {
            for right in NEIGHBOURS {
                assert_in_order(left, right);
                assert_in_order(&format!("[{left}]"), &format!("[{right},0]"));
                assert_in_order(&format!("[{left},1]"), &format!("[{right},0]"));
                assert_in_order(
                    &format!(r#"{{"a":{left},"b":1}}"#),
                    &format!(r#"{{"a":{right}}}"#),
                );
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3000) })]

        #[test]
        fn any_values_are_in_order(left in json(), right in json()) {
            assert_in_order(&left, &right);
        }
    }
}
