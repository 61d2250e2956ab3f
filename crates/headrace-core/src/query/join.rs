//! Joins: rows of one side found by the key of the other.
//!
//! Two keys are the same if they are equal as values (1 is 1.0, the order of keys in an
//! object does not count). Null, what is missing, and an array with a null in it are the
//! same as nothing, not even as themselves.

use std::{collections::HashMap, ops::Range, sync::Arc};

use bumpalo::Bump;

use super::{Fault, deep::Fields, numbers::shown};
use crate::value::{Entry, Kind, Value, write_canonical, write_json, write_string};

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
    /// Of the fields of all elements.
    fields: Vec<FieldEnds>,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Element {
    start: usize,
    end: usize,
    /// The next one of the same key; the last one has itself.
    next: usize,
    /// Where its fields begin and end among those of all; `None` if it is no object, or a key has
    /// an escape.
    fields: Option<(usize, usize)>,
}

/// Where the key and the value of a field end in the text of their object. The key begins behind
/// the value before it and a comma, the value behind its key and a colon.
#[derive(Clone, Copy, Debug)]
struct FieldEnds {
    key: u32,
    value: u32,
}

/// An element of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Right<'t> {
    pub(super) text: &'t str,
    fields: Option<&'t [FieldEnds]>,
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
            fields: Vec::new(),
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

    /// The elements of this key, in the order they came.
    pub(super) fn matches(&self, key: &[u8]) -> impl Iterator<Item = Right<'_>> {
        let first = self.keys.get(key).map(|ends| ends.0);
        let at = first.filter(|_| self.keep != Keep::Keys);
        let follow = |at: &usize| {
            let next = self.elements[*at].next;
            (next != *at).then_some(next)
        };
        std::iter::successors(at, follow).map(|at| {
            let Element { start, end, fields, .. } = self.elements[at];
            // Only what `write_json` wrote is in there.
            let text = std::str::from_utf8(&self.texts[start..end]).unwrap_or("null");
            Right { text, fields: fields.map(|(first, behind)| &self.fields[first..behind]) }
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
            let fields = self.write(element, arena);
            let end = self.texts.len();
            self.elements.push(Element { start, end, next: at, fields });
            let ends = fields.map_or(0, |(first, behind)| behind - first);
            self.bytes += (end - start + ends * size_of::<FieldEnds>()) as u64 + ELEMENT_BYTES;
        }
    }

    /// Write an element; return where its fields are among those of all.
    fn write<'r>(&mut self, element: Value<'r>, arena: &'r Bump) -> Option<(usize, usize)> {
        let Some(entries) = element.as_object(arena) else {
            write_json(element, &mut self.texts, arena);
            return None;
        };
        let (start, first) = (self.texts.len(), self.fields.len());
        let at = |texts: &Vec<u8>| u32::try_from(texts.len() - start).ok();
        let mut known = true;
        self.texts.push(b'{');
        for (number, (key, value)) in entries.iter().enumerate() {
            if number > 0 {
                self.texts.push(b',');
            }
            let before = self.texts.len();
            write_string(key, &mut self.texts);
            known &= self.texts.len() == before + key.len() + 2;
            let key_end = at(&self.texts);
            self.texts.push(b':');
            write_json(*value, &mut self.texts, arena);
            match (key_end, at(&self.texts)) {
                (Some(key), Some(value)) if known => self.fields.push(FieldEnds { key, value }),
                _ => known = false,
            }
        }
        self.texts.push(b'}');
        if !known {
            self.fields.truncate(first);
        }
        known.then_some((first, self.fields.len()))
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

/// The position of the field with a key, and where its value is in the text of the object.
#[inline]
fn field_of(fields: &[FieldEnds], text: &[u8], key: &str) -> Option<(usize, Range<usize>)> {
    let mut begin = 1;
    for (at, ends) in fields.iter().enumerate() {
        let (key_end, value_end) = (ends.key as usize, ends.value as usize);
        if key_end - begin == key.len() + 2 && text[begin + 1..key_end - 1] == *key.as_bytes() {
            return Some((at, key_end + 1..value_end));
        }
        begin = value_end + 1;
    }
    None
}

/// Of more fields than this, a hash table finds equal keys faster.
const MOST_FIELDS: usize = 32;

/// Write what [`combined`] makes of an object and a right element, as JSON; false if nothing was
/// written, because the fields of the right one are not known or too many.
pub(super) fn write_combined<'r>(
    left: &[Entry<'r>],
    right: Right<'_>,
    name: Option<&str>,
    out: &mut Vec<u8>,
    arena: &'r Bump,
) -> bool {
    let Some(fields) = right.fields else { return false };
    if fields.len() > MOST_FIELDS || left.len() > MOST_FIELDS {
        return false;
    }
    let text = right.text.as_bytes();
    // One bit for each field that has replaced one of the left.
    let mut replaced = 0_u32;
    let mut is_named = false;
    out.push(b'{');
    for (number, (key, value)) in left.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        write_string(key, out);
        out.push(b':');
        match name {
            Some(name) if name == *key => {
                is_named = true;
                out.extend_from_slice(text);
            }
            Some(_) => write_json(*value, out, arena),
            None => match field_of(fields, text, key) {
                Some((at, place)) => {
                    replaced |= 1 << at;
                    out.extend_from_slice(&text[place]);
                }
                None => write_json(*value, out, arena),
            },
        }
    }
    let separate = |out: &mut Vec<u8>| {
        // No value ends with a brace that opens.
        if out.last() != Some(&b'{') {
            out.push(b',');
        }
    };
    if let Some(name) = name {
        if !is_named {
            separate(out);
            write_string(name, out);
            out.push(b':');
            out.extend_from_slice(text);
        }
    } else {
        let mut begin = 1;
        for (at, ends) in fields.iter().enumerate() {
            let end = ends.value as usize;
            if replaced & (1 << at) == 0 {
                separate(out);
                out.extend_from_slice(&text[begin..end]);
            }
            begin = end + 1;
        }
    }
    out.push(b'}');
    true
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample};

    use super::*;
    use crate::value::parse_text;

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
            table.matches(key.as_bytes()).map(|right| right.text).collect::<Vec<_>>().join(" ")
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

    fn object() -> impl Strategy<Value = String> {
        const KEYS: &[&str] = &["a", "b", "c", "\u{e9}", "\\u0061", "\\n", "q\\\"", ""];
        const VALUES: &[&str] =
            &["1", "2.50", "\"x\\u0041\"", "null", "[1, {\"b\": 2}]", "{\"a\":1,\"a\":2}"];
        let field = (sample::select(KEYS), sample::select(VALUES));
        vec(field, 0..6).prop_map(|fields| {
            let fields = fields.iter().map(|(key, value)| format!("\"{key}\": {value}"));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_what_both_make(
            left in object(),
            right in prop_oneof![9 => object(), 1 => Just("5".to_owned())],
            name in proptest::option::of(sample::select(&["a", "z", "\n"][..])),
        ) {
            let arena = Bump::new();
            let (left, right) =
                (parse_text(&left, &arena).unwrap(), parse_text(&right, &arena).unwrap());
            let mut table = JoinTable::new(Keep::All, None);
            table.insert(b"1", right, &arena);
            let element = table.matches(b"1").next().unwrap();
            let fields = left.as_object(&arena).unwrap();
            let mut out = Vec::new();
            if write_combined(fields, element, name, &mut out, &arena) {
                let mut expected = Vec::new();
                let kept = parse_text(element.text, &arena).unwrap();
                let both = combined(left, kept, name, &arena).unwrap();
                write_json(both, &mut expected, &arena);
                prop_assert_eq!(String::from_utf8(out), String::from_utf8(expected));
            } else {
                prop_assert_eq!(out, b"");
                prop_assert!(element.text == "5" || element.text.contains('\\'));
            }
        }
    }
}
