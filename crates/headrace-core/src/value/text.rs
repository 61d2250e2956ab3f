//! Values as text inside strings.

use bumpalo::{Bump, collections::String as BumpString};

use super::{Kind, Value, write_canonical, write_json};

/// A value as the key of an object: equal arrays and objects have the same text.
pub fn key_of<'r>(value: Value<'r>, arena: &'r Bump) -> &'r str {
    if !matches!(value.kind(), Kind::Array | Kind::Object) {
        return text_of(value, arena);
    }
    let mut text = Vec::new();
    write_canonical(value, &mut text, arena);
    // What is written is UTF-8.
    arena.alloc_str(std::str::from_utf8(&text).unwrap_or_default())
}

/// A value as `to_string`, f-strings, `join` and object keys show it: strings as they are,
/// numbers without exponent and without a zero fraction, containers as JSON.
pub fn text_of<'r>(value: Value<'r>, arena: &'r Bump) -> &'r str {
    match value.resolved(arena) {
        Value::Str(text) | Value::Big(text) => text,
        Value::Null => "null",
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Int(value) => display(value, arena),
        // Rust never writes an exponent here, and no fraction where it is zero.
        Value::Float(value) => display(value, arena),
        container => json_text(container, arena),
    }
}

/// A value as JSON.
pub fn json_text<'r>(value: Value<'r>, arena: &'r Bump) -> &'r str {
    let mut bytes = Vec::new();
    write_json(value, &mut bytes, arena);
    // What is written is UTF-8: parts of a checked line, and our own strings.
    arena.alloc_str(std::str::from_utf8(&bytes).unwrap_or_default())
}

fn display(value: impl std::fmt::Display, arena: &Bump) -> &str {
    let mut text = BumpString::new_in(arena);
    let _ = std::fmt::Write::write_fmt(&mut text, format_args!("{value}"));
    text.into_bump_str()
}
