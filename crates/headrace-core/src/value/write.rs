//! Values as JSON text.
//!
//! Compact, with a space nowhere. Numbers and strings of the row keep the text they
//! were written with; computed doubles are printed as short as they can be read back.

use bumpalo::Bump;

use super::{Node, NodeKind, Value, compare::canonical_beyond};
use crate::json::skip_plain;

/// Append `value` to `out`.
pub fn write_json<'r>(value: Value<'r>, out: &mut Vec<u8>, arena: &'r Bump) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Int(value) => write_int(value, out),
        Value::Float(value) => {
            out.extend_from_slice(ryu::Buffer::new().format_finite(value).as_bytes());
        }
        Value::Big(text) => out.extend_from_slice(text.as_bytes()),
        Value::Str(text) => write_string(text, out),
        Value::Array(values) => {
            out.push(b'[');
            for (at, value) in values.iter().enumerate() {
                separate(at, out);
                write_json(*value, out, arena);
            }
            out.push(b']');
        }
        Value::Object(entries) => {
            out.push(b'{');
            for (at, (key, value)) in entries.iter().enumerate() {
                separate(at, out);
                write_string(key, out);
                out.push(b':');
                write_json(*value, out, arena);
            }
            out.push(b'}');
        }
        Value::Node(node) => write_node(node, out, arena),
    }
}

/// Append `value` so that equal values give equal texts: numbers by their value, keys sorted.
pub fn write_canonical<'r>(value: Value<'r>, out: &mut Vec<u8>, arena: &'r Bump) {
    if let Value::Node(node) = value
        && is_canonical(node)
    {
        return write_node(node, out, arena);
    }
    let value = value.resolved(arena);
    if let Some(values) = value.as_array(arena) {
        out.push(b'[');
        for (at, value) in values.iter().enumerate() {
            separate(at, out);
            write_canonical(*value, out, arena);
        }
        out.push(b']');
    } else if let Some(entries) = value.as_object(arena) {
        let mut entries = entries.to_vec();
        entries.sort_by_key(|entry| entry.0);
        out.push(b'{');
        for (at, (key, value)) in entries.into_iter().enumerate() {
            separate(at, out);
            write_string(key, out);
            out.push(b':');
            write_canonical(value, out, arena);
        }
        out.push(b'}');
    } else if let Value::Float(number) = value
        && let Some(integer) = as_integer(number)
    {
        write_int(integer, out);
    } else if let Some(number) = canonical_beyond(value) {
        out.extend_from_slice(number.as_bytes());
    } else {
        write_json(value, out, arena);
    }
}

/// Whether a part of a row is known to be written as its canonical text.
fn is_canonical(node: Node<'_>) -> bool {
    /// Any integer of so few digits is an i64.
    const FEW_DIGITS: usize = 18;
    match node.node_kind() {
        NodeKind::Null | NodeKind::True | NodeKind::False | NodeKind::Plain => true,
        NodeKind::Integer => node.raw().len() <= FEW_DIGITS && node.raw() != "-0",
        _ => false,
    }
}

/// The integer that a double is equal to, if there is one.
fn as_integer(number: f64) -> Option<i64> {
    #[allow(clippy::cast_precision_loss, reason = "2^63 is a double")]
    let limit = -(i64::MIN as f64);
    #[allow(clippy::cast_possible_truncation, reason = "in range, and without fraction")]
    (number.fract() == 0.0 && (-limit..limit).contains(&number)).then_some(number as i64)
}

fn write_node<'r>(node: Node<'r>, out: &mut Vec<u8>, arena: &'r Bump) {
    match node.node_kind() {
        NodeKind::Null => out.extend_from_slice(b"null"),
        NodeKind::True => out.extend_from_slice(b"true"),
        NodeKind::False => out.extend_from_slice(b"false"),
        NodeKind::Integer | NodeKind::Decimal => out.extend_from_slice(node.raw().as_bytes()),
        NodeKind::Plain | NodeKind::Escaped => write_raw_string(node, out),
        NodeKind::Array => {
            out.push(b'[');
            let mut at = 0;
            node.for_each_element(|element| {
                separate(at, out);
                at += 1;
                write_node(element, out, arena);
            });
            out.push(b']');
        }
        NodeKind::Object if node.repeats_a_key(arena) => {
            write_json(
                Value::Object(Value::Node(node).as_object(arena).unwrap_or(&[])),
                out,
                arena,
            );
        }
        NodeKind::Object => {
            out.push(b'{');
            let mut at = 0;
            node.for_each_entry(|key, value| {
                separate(at, out);
                at += 1;
                write_raw_string(key, out);
                out.push(b':');
                write_node(value, out, arena);
            });
            out.push(b'}');
        }
    }
}

fn write_raw_string(node: Node<'_>, out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(node.raw().as_bytes());
    out.push(b'"');
}

fn separate(at: usize, out: &mut Vec<u8>) {
    if at > 0 {
        out.push(b',');
    }
}

pub(crate) fn write_int(value: i64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// Append text as a JSON string. Only what must be escaped is.
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut start = 0;
    loop {
        let at = skip_plain(bytes, start);
        out.extend_from_slice(&bytes[start..at]);
        let Some(&byte) = bytes.get(at) else { break };
        write_escaped(byte, out);
        start = at + 1;
    }
    out.push(b'"');
}

fn write_escaped(byte: u8, out: &mut Vec<u8>) {
    let escape = match byte {
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        0..=0x1f => {
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&[hex(byte >> 4), hex(byte & 15)]);
            return;
        }
        _ => byte,
    };
    out.extend_from_slice(&[b'\\', escape]);
}

fn hex(digit: u8) -> u8 {
    if digit < 10 { b'0' + digit } else { b'a' + digit - 10 }
}
