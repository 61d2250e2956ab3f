//! The values of the query language.
//!
//! A value borrows from its row: from the line, the tape over it, or the arena that
//! is emptied between two rows. It is `Copy`, so an expression can be evaluated
//! without counting references or allocating.
//!
//! Numbers and strings of the row stay as they are written until an expression computes with
//! them, so a field that only passes through keeps its text.

mod compare;
mod lanes;
mod order_key;
mod tape;
mod text;
mod write;

use bumpalo::Bump;

pub(crate) use compare::compare_numbers;
pub use compare::{compare, equal, same_key_hash};
pub use lanes::{LaneId, Lanes};
pub use order_key::write_order_key;
pub use tape::{Document, Kept, Node, NodeKind, Tape, parse_text, parse_text_on, values_of};
pub use text::{json_text, key_of, text_of};
pub use write::{write_canonical, write_json};
pub(crate) use write::{write_int, write_string};

/// One value.
#[derive(Clone, Copy, Debug)]
pub enum Value<'r> {
    /// `null`, and whatever is missing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A double; always finite.
    Float(f64),
    /// A number beyond both, as written.
    Big(&'r str),
    /// Text.
    Str(&'r str),
    /// Values in order.
    Array(&'r [Value<'r>]),
    /// Keys and values in order; no key twice.
    Object(&'r [Entry<'r>]),
    /// A part of the row.
    Node(Node<'r>),
}

/// A key and its value.
pub type Entry<'r> = (&'r str, Value<'r>);

/// What kind of value it is, as the language tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `null`
    Null,
    /// `true`, `false`
    Bool,
    /// Integers and decimals.
    Number,
    /// Text.
    String,
    /// Arrays.
    Array,
    /// Objects.
    Object,
}

impl Kind {
    /// All of them, in their order.
    pub const ALL: [Self; 6] =
        [Self::Null, Self::Bool, Self::Number, Self::String, Self::Array, Self::Object];

    /// As `type()` says it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    /// As a sentence says it.
    pub fn with_article(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a bool",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

impl<'r> Value<'r> {
    /// Its kind.
    pub fn kind(self) -> Kind {
        match self {
            Self::Null => Kind::Null,
            Self::Bool(_) => Kind::Bool,
            Self::Int(_) | Self::Float(_) | Self::Big(_) => Kind::Number,
            Self::Str(_) => Kind::String,
            Self::Array(_) => Kind::Array,
            Self::Object(_) => Kind::Object,
            Self::Node(node) => node.kind(),
        }
    }

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// The value itself instead of a part of the row, one level deep: scalars are decoded,
    /// the elements of containers stay parts of the row.
    #[must_use]
    pub fn resolved(self, arena: &'r Bump) -> Self {
        match self {
            Self::Node(node) => node.resolved(arena),
            other => other,
        }
    }

    /// False for `null`, `false`, zero, and what is empty.
    pub fn truthy(self, arena: &'r Bump) -> bool {
        match self.resolved(arena) {
            Self::Null => false,
            Self::Bool(value) => value,
            Self::Int(value) => value != 0,
            Self::Float(value) => value != 0.0,
            Self::Big(_) => true,
            Self::Str(text) => !text.is_empty(),
            Self::Array(values) => !values.is_empty(),
            Self::Object(entries) => !entries.is_empty(),
            Self::Node(node) => !node.is_empty(),
        }
    }

    /// The text of a string.
    pub fn as_str(self, arena: &'r Bump) -> Option<&'r str> {
        match self {
            Self::Str(text) => Some(text),
            Self::Node(node) if node.kind() == Kind::String => Some(node.text(arena)),
            _ => None,
        }
    }

    /// The part of the row that it is.
    pub(crate) fn as_node(self) -> Option<Node<'r>> {
        match self {
            Self::Node(node) => Some(node),
            _ => None,
        }
    }

    /// The elements of an array.
    pub fn as_array(self, arena: &'r Bump) -> Option<&'r [Value<'r>]> {
        match self {
            Self::Array(values) => Some(values),
            Self::Node(node) if node.kind() == Kind::Array => Some(node.elements(arena)),
            _ => None,
        }
    }

    /// The entries of an object, no key twice.
    pub fn as_object(self, arena: &'r Bump) -> Option<&'r [Entry<'r>]> {
        match self {
            Self::Object(entries) => Some(entries),
            Self::Node(node) if node.kind() == Kind::Object => Some(node.entries(arena)),
            _ => None,
        }
    }

    /// The value stored under `key`; `None` if this is no object or has no such key.
    pub fn get(self, key: &str) -> Option<Value<'r>> {
        match self {
            Self::Object(entries) => {
                entries.iter().find(|entry| entry.0 == key).map(|entry| entry.1)
            }
            Self::Node(node) => node.get(key).map(Value::Node),
            _ => None,
        }
    }

    /// The same value in another arena, with nothing left of the row.
    #[must_use]
    pub fn copied<'s>(self, from: &'r Bump, to: &'s Bump) -> Value<'s> {
        match self.resolved(from) {
            Self::Bool(value) => Value::Bool(value),
            Self::Int(value) => Value::Int(value),
            Self::Float(value) => Value::Float(value),
            Self::Big(text) => Value::Big(to.alloc_str(text)),
            Self::Str(text) => Value::Str(to.alloc_str(text)),
            _ => self.copied_container(from, to),
        }
    }

    fn copied_container<'s>(self, from: &'r Bump, to: &'s Bump) -> Value<'s> {
        if let Some(values) = self.as_array(from) {
            let copies = values.iter().map(|value| value.copied(from, to));
            return Value::Array(to.alloc_slice_fill_iter(copies));
        }
        if let Some(entries) = self.as_object(from) {
            let copies = entries.iter().map(|(key, value)| {
                let key: &'s str = to.alloc_str(key);
                (key, value.copied(from, to))
            });
            return Value::Object(to.alloc_slice_fill_iter(copies));
        }
        Value::Null
    }
}

/// The value of a number as it is written.
pub fn number(text: &str, is_integer: bool) -> Value<'_> {
    if is_integer && let Ok(value) = text.parse::<i64>() {
        // "-0" is the double that has a sign.
        return if value == 0 && text.starts_with('-') {
            Value::Float(-0.0)
        } else {
            Value::Int(value)
        };
    }
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && !is_integer => Value::Float(value),
        _ => Value::Big(text),
    }
}
