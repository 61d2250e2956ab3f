//! The key of a row.

use bumpalo::Bump;

use super::{
    Request,
    number::{is_plain, write_number},
};
use crate::{
    json::{self, JsonError, Limits},
    value::{Document, Kind, Lanes, Node, NodeKind, Tape, write_string},
};

/// The fields that make a key; one, or several for a composite key.
///
/// `a.b` is the field of that name, and in a row without one the field `b` of the field `a`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFields {
    names: Vec<String>,
}

impl KeyFields {
    /// These fields, in order.
    pub fn new(names: Vec<String>) -> Self {
        Self { names }
    }

    /// The names of the fields.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether a key has several parts.
    pub fn composite(&self) -> bool {
        self.names.len() > 1
    }

    fn lanes(&self) -> Lanes {
        let mut lanes = Lanes::none();
        for name in &self.names {
            lanes.add(Lanes::ROW, name);
            name.split('.').fold(Lanes::ROW, |lane, step| lanes.add(lane, step));
        }
        lanes
    }
}

/// Why a row has no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoKey {
    /// A field is not there.
    Missing,
    /// A field is `null`.
    Null,
    /// A field is an array or an object.
    Nested,
}

/// The outcome of parsing a row.
#[derive(Debug, PartialEq, Eq)]
pub enum Read<'a> {
    /// A record with this key.
    Key(&'a [u8]),
    /// A record without a key.
    None(NoKey),
    /// A line with nothing in it.
    Blank,
    /// A line that is not JSON.
    Bad(JsonError),
}

/// Reads the keys of rows, using its memory again and again. Each row is checked in full.
pub struct KeyReader {
    fields: KeyFields,
    /// Fields that are looked out for.
    others: Vec<String>,
    has_others: bool,
    limits: Limits,
    tape: Tape,
    arena: Bump,
    key: Vec<u8>,
    kinds: Vec<Kind>,
    /// Where each part of the key ends, if parts are kept apart.
    cuts: Option<Vec<usize>>,
    plain_numbers: bool,
}

impl KeyReader {
    /// A reader of keys that are made of these fields.
    pub fn new(fields: KeyFields, limits: Limits) -> Self {
        Self::looking_out(fields, Vec::new(), limits)
    }

    /// A reader that also sees whether a row has one of some other fields.
    pub fn looking_out(fields: KeyFields, others: Vec<String>, limits: Limits) -> Self {
        let mut lanes = fields.lanes();
        for name in &others {
            lanes.add(Lanes::ROW, name);
        }
        Self {
            fields,
            others,
            has_others: false,
            limits,
            tape: Tape::learning(lanes),
            arena: Bump::new(),
            key: Vec::new(),
            kinds: Vec::new(),
            cuts: None,
            plain_numbers: true,
        }
    }

    /// A reader of texts that are kept apart, not made one key; see [`Self::parts`].
    pub fn apart(fields: KeyFields, limits: Limits) -> Self {
        Self { cuts: Some(Vec::new()), ..Self::new(fields, limits) }
    }

    /// The key of a line.
    pub fn read(&mut self, line: &[u8]) -> Read<'_> {
        if json::is_blank(line) {
            return Read::Blank;
        }
        self.key.clear();
        self.kinds.clear();
        self.arena.reset();
        let document = match self.tape.parse(line, &self.limits) {
            Ok(document) => document,
            Err(error) => return Read::Bad(error),
        };
        let row = document.root().as_node();
        let has = |name: &String| row.is_some_and(|row| row.get(name).is_some());
        self.has_others = self.others.iter().any(has);
        let composite = self.fields.composite() && self.cuts.is_none();
        let mut writer = KeyWriter::new(&mut self.key, composite);
        if let Some(cuts) = &mut self.cuts {
            cuts.clear();
        }
        for name in self.fields.names() {
            let node = match field(&document, name) {
                Ok(node) => node,
                Err(none) => return Read::None(none),
            };
            self.kinds.push(node.kind());
            if node.node_kind() == NodeKind::Decimal {
                self.plain_numbers &= is_plain(node.raw());
            }
            writer.push(node, &self.arena);
            if let Some(cuts) = &mut self.cuts {
                cuts.push(writer.key.len());
            }
        }
        writer.end();
        Read::Key(&self.key)
    }

    /// Whether numbers that are the same double had the same key so far.
    pub fn plain_numbers(&self) -> bool {
        self.plain_numbers
    }

    /// The key that was read last.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The texts it was made of, if they are kept apart.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.cuts.iter().flatten().map(move |&end| {
            let part = &self.key[start..end];
            start = end;
            part
        })
    }

    /// The kinds of the values it was made of.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Whether the row that was read last has one of the fields that are looked out for.
    pub fn has_others(&self) -> bool {
        self.has_others
    }

    /// Whether the key that was read last is the requested one.
    pub fn is(&self, request: &Request) -> bool {
        request.is(&self.key, &self.kinds)
    }
}

/// The field of a row, or why it has none.
fn field<'r>(document: &'r Document<'r>, name: &str) -> Result<Node<'r>, NoKey> {
    let row = document.root().as_node().ok_or(NoKey::Missing)?;
    let by_path = || name.split('.').try_fold(row, Node::get);
    let found = row.get(name).or_else(by_path).ok_or(NoKey::Missing)?;
    match found.kind() {
        Kind::Null => Err(NoKey::Null),
        Kind::Array | Kind::Object => Err(NoKey::Nested),
        _ => Ok(found),
    }
}

/// Writes the text of a key: that of its only part, or the array of the texts of its parts.
pub(super) struct KeyWriter<'k> {
    key: &'k mut Vec<u8>,
    composite: bool,
    part: Vec<u8>,
}

impl<'k> KeyWriter<'k> {
    pub(super) fn new(key: &'k mut Vec<u8>, composite: bool) -> Self {
        Self { key, composite, part: Vec::new() }
    }

    /// Add a part, which is neither null nor nested.
    pub(super) fn push(&mut self, node: Node<'_>, arena: &Bump) {
        if !self.composite {
            write_scalar(node, arena, self.key);
            return;
        }
        self.key.push(if self.key.is_empty() { b'[' } else { b',' });
        self.part.clear();
        write_scalar(node, arena, &mut self.part);
        // Never the default: a scalar's text is UTF-8.
        write_string(std::str::from_utf8(&self.part).unwrap_or_default(), self.key);
    }

    pub(super) fn end(self) {
        if self.composite {
            self.key.push(b']');
        }
    }
}

fn write_scalar(node: Node<'_>, arena: &Bump, out: &mut Vec<u8>) {
    match node.node_kind() {
        NodeKind::True => out.extend_from_slice(b"true"),
        NodeKind::False => out.extend_from_slice(b"false"),
        NodeKind::Integer => write_number(node.raw(), true, out),
        NodeKind::Decimal => write_number(node.raw(), false, out),
        NodeKind::Plain => out.extend_from_slice(node.raw().as_bytes()),
        NodeKind::Escaped => out.extend_from_slice(node.text(arena).as_bytes()),
        NodeKind::Null | NodeKind::Array | NodeKind::Object => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_of(fields: &[&str], line: &str) -> Result<String, String> {
        let fields = KeyFields::new(fields.iter().map(ToString::to_string).collect());
        let mut reader = KeyReader::new(fields, Limits::default());
        // What a row before left behind must not show.
        reader.read(br#"{"a":"before","b":{"c":"\u0041"}}"#);
        match reader.read(line.as_bytes()) {
            Read::Key(key) => Ok(String::from_utf8(key.to_vec()).unwrap()),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn a_key_is_the_text_of_the_value() {
        for (line, key) in [
            (r#"{"a":"x"}"#, "x"),
            (r#"{"a":"\u0041\n"}"#, "A\n"),
            (r#"{"\u0061":"x"}"#, "x"),
            (r#"{"a":""}"#, ""),
            (r#"{"a":1.50}"#, "1.5"),
            (r#"{"a":9007199254740993}"#, "9007199254740993"),
            (r#"{"a":"007"}"#, "007"),
            (r#"{"a":true}"#, "true"),
            (r#"{"a":1,"a":2}"#, "2"),
        ] {
            assert_eq!(key_of(&["a"], line), Ok(key.into()), "{line}");
        }
    }

    #[test]
    fn a_row_without_a_key_says_why() {
        for (line, why) in [
            ("{}", "None(Missing)"),
            ("[1]", "None(Missing)"),
            ("7", "None(Missing)"),
            (r#"{"b":{"a":1}}"#, "None(Missing)"),
            (r#"{"a":null}"#, "None(Null)"),
            (r#"{"a":[1]}"#, "None(Nested)"),
            (r#"{"a":{"b":1}}"#, "None(Nested)"),
            (" ", "Blank"),
        ] {
            assert_eq!(key_of(&["a"], line), Err(why.into()), "{line}");
        }
        assert!(key_of(&["a"], r#"{"a":1,"b":[}"#).unwrap_err().starts_with("Bad"));
    }

    #[test]
    fn a_path_is_taken_where_no_field_has_its_name() {
        let fields = &["a.b"];
        assert_eq!(key_of(fields, r#"{"a":{"b":1}}"#), Ok("1".into()));
        assert_eq!(key_of(fields, r#"{"a":{"b":1},"a.b":2}"#), Ok("2".into()));
        assert_eq!(key_of(fields, r#"{"a":{"b":1},"a.b":null}"#), Err("None(Null)".into()));
        assert_eq!(key_of(fields, r#"{"a":[{"b":1}]}"#), Err("None(Missing)".into()));
    }

    #[test]
    fn other_fields_are_seen() {
        let fields = KeyFields::new(vec!["a".into()]);
        let others = vec!["b".into(), "c".into()];
        let mut reader = KeyReader::looking_out(fields, others, Limits::default());
        for (line, seen) in [
            (r#"{"a":1}"#, false),
            (r#"{"a":1,"\u0063":null}"#, true),
            (r#"{"a":{"b":1}}"#, false),
            (r#"{"b":[1]}"#, true),
            ("[1]", false),
        ] {
            reader.read(line.as_bytes());
            assert_eq!(reader.has_others(), seen, "{line}");
        }
    }

    #[test]
    fn texts_can_be_kept_apart() {
        let fields = KeyFields::new(vec!["a".into(), "b".into(), "c".into()]);
        let mut reader = KeyReader::apart(fields, Limits::default());
        for line in [r#"{"a":"x","b":"","c":1.0}"#, r#"{"c":1,"b":"\u0000","a":"xy"}"#] {
            let Read::Key(key) = reader.read(line.as_bytes()) else { panic!("{line}") };
            let whole = key.to_vec();
            let parts: Vec<_> = reader.parts().map(<[u8]>::to_vec).collect();
            assert_eq!((parts.len(), parts.concat()), (3, whole), "{line}");
            assert_eq!(parts[2], b"1");
        }
    }

    #[test]
    fn a_composite_key_is_an_array_of_texts() {
        let fields = &["a", "b.c"];
        assert_eq!(key_of(fields, r#"{"b":{"c":2.0},"a":"\""}"#), Ok(r#"["\"","2"]"#.into()));
        assert_eq!(key_of(fields, r#"{"a":1,"b":{"c":null}}"#), Err("None(Null)".into()));
    }
}
