//! Joins: rows of one side found by the key of the other.
//!
//! Two keys are the same if they are equal as values (1 is 1.0, the order of keys in an
//! object does not count). Null, what is missing, and an array with a null in it are the
//! same as nothing, not even as themselves.

use std::{collections::HashMap, sync::Arc};

use bumpalo::Bump;

use super::{Fault, deep::Fields, numbers::shown};
use crate::value::{Kind, Value, write_canonical, write_json};

/// What a join makes of a left element and the right ones that have its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// Both in one, for each right one.
    Inner,
    /// The same, or the left one alone if there is no right one.
    Left,
    /// Both in one for the first right one, or the left one alone.
    Lookup,
    /// The left one, if there is no right one.
    Diff,
    /// The left one, if there is a right one.
    Intersect,
}

impl JoinKind {
    /// Which right elements it needs.
    pub fn keep(self) -> Keep {
        match self {
            Self::Inner | Self::Left => Keep::All,
            Self::Lookup => Keep::First,
            Self::Diff | Self::Intersect => Keep::Keys,
        }
    }
}

/// What is kept of the elements that have one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// All of them, in order.
    All,
    /// The first element of each key.
    First,
    /// Only that there are any.
    Keys,
}

/// Roughly what the map takes for a key, and the list for an element, beside their bytes.
const KEY_BYTES: u64 = 64;
const ELEMENT_BYTES: u64 = 24;

/// The elements of one side, as JSON, by their keys.
#[derive(Debug)]
pub struct JoinTable {
    keep: Keep,
    /// Other keys are not kept.
    wanted: Option<Arc<JoinTable>>,
    /// The first and the last element of each key.
    keys: HashMap<Box<[u8]>, (usize, usize)>,
    elements: Vec<Element>,
    texts: Vec<u8>,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Element {
    start: usize,
    end: usize,
    /// The next one of the same key; the last one has itself.
    next: usize,
}

impl JoinTable {
    /// A table with nothing in it, for the keys of another table only, if one is given.
    pub fn new(keep: Keep, wanted: Option<Arc<Self>>) -> Self {
        Self {
            keep,
            wanted,
            keys: HashMap::new(),
            elements: Vec::new(),
            texts: Vec::new(),
            bytes: 0,
        }
    }

    /// What is kept of the elements of a key.
    pub fn keep(&self) -> Keep {
        self.keep
    }

    /// How much memory it takes, about.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The keys, in some order; `None` if they are more than `most`.
    pub fn keys(&self, most: usize) -> Option<Vec<&[u8]>> {
        if self.keys.len() > most {
            return None;
        }
        let mut keys: Vec<&[u8]> = self.keys.keys().map(AsRef::as_ref).collect();
        keys.sort_unstable();
        Some(keys)
    }

    /// Whether there is an element of this key.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.keys.contains_key(key)
    }

    /// The texts of the elements of this key, in the order they came.
    pub fn matches(&self, key: &[u8]) -> impl Iterator<Item = &str> {
        let first = self.keys.get(key).map(|ends| ends.0);
        let at = first.filter(|_| self.keep != Keep::Keys);
        let follow = |at: &usize| {
            let next = self.elements[*at].next;
            (next != *at).then_some(next)
        };
        std::iter::successors(at, follow).map(|at| {
            let Element { start, end, .. } = self.elements[at];
            // Only what `write_json` wrote is in there.
            std::str::from_utf8(&self.texts[start..end]).unwrap_or("null")
        })
    }

    /// Take in an element.
    pub fn insert<'r>(&mut self, key: &[u8], element: Value<'r>, arena: &'r Bump) {
        if self.wanted.as_ref().is_some_and(|wanted| !wanted.contains(key)) {
            return;
        }
        let at = self.elements.len();
        match self.keys.get_mut(key) {
            Some(_) if self.keep != Keep::All => return,
            Some((_, last)) => {
                self.elements[*last].next = at;
                *last = at;
            }
            None => {
                self.bytes += key.len() as u64 + KEY_BYTES;
                self.keys.insert(key.into(), (at, at));
            }
        }
        if self.keep != Keep::Keys {
            let start = self.texts.len();
            write_json(element, &mut self.texts, arena);
            let end = self.texts.len();
            self.elements.push(Element { start, end, next: at });
            self.bytes += (end - start) as u64 + ELEMENT_BYTES;
        }
    }
}

/// Whether a value is a key that can be found.
pub(super) fn is_key<'r>(value: Value<'r>, arena: &'r Bump) -> bool {
    match value.kind() {
        Kind::Null => false,
        Kind::Array => {
            value.as_array(arena).is_none_or(|parts| parts.iter().all(|part| is_key(*part, arena)))
        }
        _ => true,
    }
}

/// Write a key so that equal ones have the same bytes; false if it can never be found.
pub(super) fn write_key<'r>(value: Value<'r>, key: &mut Vec<u8>, arena: &'r Bump) -> bool {
    key.clear();
    is_key(value, arena) && {
        write_canonical(value, key, arena);
        true
    }
}

/// A left and a right element in one: the fields of the right laid over those of the left, or
/// the right one under a name.
///
/// # Errors
/// When one of them has no fields.
pub(super) fn combined<'r>(
    left: Value<'r>,
    right: Value<'r>,
    name: Option<&str>,
    arena: &'r Bump,
) -> Result<Value<'r>, Fault> {
    let fields_of = |value: Value<'r>| {
        value.as_object(arena).ok_or_else(|| {
            Fault::new(format!("a join needs objects, {} is none", shown(value, arena)))
        })
    };
    let mut fields = Fields::with(fields_of(left)?.iter().copied(), arena);
    if let Some(name) = name {
        fields.put(arena.alloc_str(name), right);
    } else {
        for (key, value) in fields_of(right)? {
            fields.put(key, *value);
        }
    }
    Ok(fields.into_object())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_back_in_order_and_only_as_wanted() {
        let arena = Bump::new();
        let filled = |keep, wanted| {
            let mut table = JoinTable::new(keep, wanted);
            for (key, element) in [("a", 1), ("b", 2), ("a", 3), ("a", 4)] {
                table.insert(key.as_bytes(), Value::Int(element), &arena);
            }
            table
        };
        let found = |table: &JoinTable, key: &str| {
            table.matches(key.as_bytes()).collect::<Vec<_>>().join(" ")
        };
        let all = filled(Keep::All, None);
        assert_eq!(
            (found(&all, "a"), found(&all, "b"), found(&all, "c")),
            ("1 3 4".to_owned(), "2".to_owned(), String::new())
        );
        assert_eq!(found(&filled(Keep::First, None), "a"), "1");
        let keys = filled(Keep::Keys, None);
        assert!(keys.contains(b"b") && !keys.contains(b"c") && found(&keys, "a").is_empty());
        assert_eq!(keys.keys(2), Some(vec![&b"a"[..], b"b"]));
        assert_eq!(keys.keys(1), None);
        let mut wanted = JoinTable::new(Keep::Keys, None);
        wanted.insert(b"b", Value::Null, &arena);
        let some = filled(Keep::All, Some(Arc::new(wanted)));
        assert_eq!((found(&some, "a"), found(&some, "b")), (String::new(), "2".to_owned()));
        assert!(some.bytes() < all.bytes());
    }
}
