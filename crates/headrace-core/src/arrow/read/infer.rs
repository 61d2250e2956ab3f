//! Which columns rows would need.
//!
//! What was seen at each place of the rows is noted as it is, without deciding anything; notes of
//! parts of a file add up to those of the whole, however it was cut. The types are decided at
//! the end, by one of two sets of [`Rules`].

use std::{collections::HashMap, fmt};

use memchr::memchr_iter;

use super::Shape;
use crate::{
    cells::VALUE,
    json::{self, Limits},
    rows::Row,
    value::{Lanes, Node, NodeKind, Tape, Value},
};

/// Integers up to this are doubles as well.
pub(super) const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;

/// As many digits as a decimal can have.
const MOST_DIGITS: usize = 38;

/// An integer of at most this many digits is exactly a double.
const EXACT_DIGITS: usize = 15;

/// A number without an exponent, of at most this many bytes, rounds to a finite double.
const FINITE_BYTES: usize = 300;

/// An object with more fields than this, inside an answer, is a dictionary and no record.
pub(super) const MOST_FIELDS: usize = 1000;

/// Types of answers are nested no deeper than this.
pub(super) const MOST_LEVELS: usize = 32;

/// How types are made of what was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// For Spark: rows are objects; what has several kinds is [`Shape::Variant`] or a string, and
    /// so are fields inside a column. Integers beyond 64 bits are decimals.
    Rows,
    /// For tables of answers: an answer that is no object is a field called [`VALUE`], null is an
    /// answer without fields. A type takes each value exactly; a column in which there is a value
    /// without such a type is [`Shape::Json`] as a whole.
    Answers,
}

/// What a value is, as far as types are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Boolean,
    /// An integer that is a double as well.
    Integer,
    /// An integer of 64 bits that need not be a double.
    Wide,
    /// An integer beyond 64 bits.
    Huge,
    /// A number with a fraction or an exponent.
    Decimal,
    /// One that no finite double is near.
    Vast,
    Text,
    Object,
    Array,
    /// A container nested too deep for a type.
    Deep,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Wide => "64-bit integer",
            Self::Huge => "integer of more than 64 bits",
            Self::Decimal => "decimal",
            Self::Vast => "number beyond every double",
            Self::Text => "text",
            Self::Object => "object",
            Self::Array | Self::Deep => "array",
        })
    }
}

/// The kinds of values at one place of the rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// Each kind once, in the order they were met, with the row that had it first.
    pub(super) met: Vec<(Kind, u64)>,
    exponent: bool,
    /// The most digits in front of the point and behind it.
    whole_digits: usize,
    fraction_digits: usize,
    pub(super) object: Option<Fields>,
    pub(super) array: Option<Box<Seen>>,
}

/// Fields in the order they were met.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    places: HashMap<Box<str>, usize>,
    pub(super) ordered: Vec<Field>,
    /// The field that probably comes next.
    next: usize,
    /// The first row with too many fields for a record; fields are not noted from there on.
    pub(super) overfull: Option<u64>,
}

#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: Box<str>,
    pub(super) seen: Seen,
    /// The last entry of the current object that has this name.
    last: usize,
}

impl Fields {
    fn at(&mut self, name: &str) -> usize {
        let expected = self.ordered.get(self.next).is_some_and(|field| *field.name == *name);
        let place = if expected { self.next } else { self.place(name) };
        self.next = place + 1;
        place
    }

    fn place(&mut self, name: &str) -> usize {
        if let Some(&place) = self.places.get(name) {
            return place;
        }
        let place = self.ordered.len();
        self.places.insert(name.into(), place);
        self.ordered.push(Field { name: name.into(), seen: Seen::default(), last: 0 });
        place
    }

    fn note(&mut self, object: Node<'_>, noting: &mut Noting) {
        if self.overfull.is_some() {
            return;
        }
        self.next = 0;
        let first = noting.places.len();
        object.for_each_entry(|key, _| {
            let place = match key.node_kind() {
                NodeKind::Escaped => self.at(json::unescape(key.raw(), &mut noting.scratch)),
                _ => self.at(key.raw()),
            };
            self.ordered[place].last = noting.places.len() - first;
            noting.places.push(place);
        });
        let mut entry = 0;
        object.for_each_entry(|_, value| {
            let field = &mut self.ordered[noting.places[first + entry]];
            // Of equal keys the last one counts. In a column of variants the others are read too,
            // before it is known that they are not the last.
            if field.last == entry || noting.rules == Rules::Rows {
                field.seen.note(value, noting);
            }
            entry += 1;
        });
        noting.places.truncate(first);
        if noting.depth > 1 && noting.rules == Rules::Answers && self.ordered.len() > MOST_FIELDS {
            *self = Self { overfull: Some(noting.row), ..Self::default() };
        }
    }

    fn add(&mut self, other: &Self) {
        if self.overfull.is_none() {
            for field in &other.ordered {
                let place = self.at(&field.name);
                self.ordered[place].seen.add(&field.seen);
            }
            self.overfull = other.overfull;
        }
    }
}

/// What is noted, and memory for it.
#[derive(Debug)]
struct Noting {
    rules: Rules,
    row: u64,
    /// How many containers are open.
    depth: usize,
    scratch: String,
    /// Where the fields of open objects are.
    places: Vec<usize>,
}

/// Rows looked at, and what is in them.
#[derive(Debug)]
pub struct Inferred {
    root: Fields,
    limits: Limits,
    tape: Tape,
    noting: Noting,
    /// Rows that are objects; of answers all that are not bad.
    pub objects: u64,
    /// Rows that are anything else, or bad, or too long.
    pub others: u64,
}

impl Inferred {
    /// Nothing was looked at yet. Fields that are expected come first.
    pub fn new(rules: Rules, limits: Limits, expected: &[String]) -> Self {
        let tape = Tape::learning(Lanes::all());
        let noting = Noting { rules, row: 0, depth: 0, scratch: String::new(), places: Vec::new() };
        let mut root = Fields::default();
        for name in expected {
            root.at(name);
        }
        Self { root, limits, tape, noting, objects: 0, others: 0 }
    }

    /// Look at a row. What is no object adds nothing to what was seen of [`Rules::Rows`].
    pub fn push(&mut self, row: Row<'_>) {
        if row.too_long.is_none() {
            if json::is_blank(row.content) {
                return;
            }
            if let Ok(document) = self.tape.parse(row.content, &self.limits)
                && let Value::Node(node) = document.root()
            {
                self.noting.row = row.number;
                self.noting.depth = 1;
                let is_answer = self.noting.rules == Rules::Answers;
                match node.node_kind() {
                    NodeKind::Object => self.root.note(node, &mut self.noting),
                    NodeKind::Null if is_answer => {}
                    _ if is_answer => {
                        let place = self.root.at(VALUE);
                        self.root.ordered[place].seen.note(node, &mut self.noting);
                    }
                    _ => {
                        self.others += 1;
                        return;
                    }
                }
                self.objects += 1;
                return;
            }
        }
        self.others += 1;
    }

    /// Look at answers, whole lines; `first` is the number of the first one.
    pub fn push_lines(&mut self, lines: &[u8], first: u64) {
        let mut start = 0;
        for (number, end) in (first..).zip(memchr_iter(b'\n', lines)) {
            let content = &lines[start..end];
            let offset = start as u64;
            self.push(Row::new(number, offset, content));
            start = end + 1;
        }
    }

    /// Add what was seen by another, of rows behind these.
    pub fn add(&mut self, other: &Self) {
        self.root.add(&other.root);
        self.objects += other.objects;
        self.others += other.others;
    }

    /// How many fields rows have.
    pub fn fields(&self) -> usize {
        self.root.ordered.len()
    }

    /// The fields of the rows, and what is mixed in them.
    ///
    /// If answers may follow, objects that had no field so far are [`Shape::Struct`] without
    /// fields; otherwise their columns are [`Shape::Json`].
    pub fn shape(&self, may_follow: bool) -> (Shape, Vec<(String, String)>) {
        let mut mixed = Vec::new();
        let shape = match self.noting.rules {
            Rules::Rows => self.root.shape("", &mut mixed),
            Rules::Answers => self.root.columns(may_follow, &mut mixed),
        };
        (shape, mixed)
    }
}

impl Seen {
    #[inline]
    fn meet(&mut self, kind: Kind, row: u64) {
        if !self.has(kind) {
            self.met.push((kind, row));
        }
    }

    #[inline]
    fn has(&self, kind: Kind) -> bool {
        self.met.iter().any(|met| met.0 == kind)
    }

    fn add(&mut self, other: &Self) {
        for &(kind, row) in &other.met {
            self.meet(kind, row);
        }
        self.exponent |= other.exponent;
        self.whole_digits = self.whole_digits.max(other.whole_digits);
        self.fraction_digits = self.fraction_digits.max(other.fraction_digits);
        if let Some(theirs) = &other.object {
            self.object.get_or_insert_default().add(theirs);
        }
        if let Some(theirs) = &other.array {
            self.array.get_or_insert_default().add(theirs);
        }
    }

    fn note(&mut self, node: Node<'_>, noting: &mut Noting) {
        let row = noting.row;
        match node.node_kind() {
            NodeKind::Null => {}
            NodeKind::True | NodeKind::False => self.meet(Kind::Boolean, row),
            NodeKind::Integer => self.integer(node.raw(), row),
            NodeKind::Decimal => self.decimal(node.raw(), row),
            NodeKind::Plain | NodeKind::Escaped => self.meet(Kind::Text, row),
            NodeKind::Array | NodeKind::Object => {
                if noting.rules == Rules::Answers && noting.depth > MOST_LEVELS {
                    self.meet(Kind::Deep, row);
                    return;
                }
                noting.depth += 1;
                if node.node_kind() == NodeKind::Array {
                    self.meet(Kind::Array, row);
                    let element = self.array.get_or_insert_default();
                    node.for_each_element(|value| element.note(value, noting));
                } else {
                    self.meet(Kind::Object, row);
                    self.object.get_or_insert_default().note(node, noting);
                }
                noting.depth -= 1;
            }
        }
    }

    fn integer(&mut self, text: &str, row: u64) {
        let digits = text.strip_prefix('-').unwrap_or(text).len();
        self.whole_digits = self.whole_digits.max(digits);
        let kind = match text.parse::<i64>() {
            _ if digits <= EXACT_DIGITS => Kind::Integer,
            Ok(value) if value.unsigned_abs() <= EXACT => Kind::Integer,
            Ok(_) => Kind::Wide,
            Err(_) => Kind::Huge,
        };
        self.meet(kind, row);
    }

    fn decimal(&mut self, text: &str, row: u64) {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let has_exponent = digits.bytes().any(|byte| matches!(byte, b'e' | b'E'));
        self.exponent |= has_exponent;
        let is_near = !has_exponent && digits.len() <= FINITE_BYTES
            || text.parse::<f64>().is_ok_and(f64::is_finite);
        self.meet(if is_near { Kind::Decimal } else { Kind::Vast }, row);
        if let Some((whole, fraction)) = digits.split_once('.') {
            self.whole_digits = self.whole_digits.max(whole.len());
            self.fraction_digits = self.fraction_digits.max(fraction.len());
        }
    }
}

impl Fields {
    fn shape(&self, path: &str, mixed: &mut Vec<(String, String)>) -> Shape {
        let fields = self.ordered.iter().map(|Field { name, seen, .. }| {
            let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
            (name.to_string(), seen.shape(&path, mixed))
        });
        Shape::Struct(fields.collect())
    }
}

impl Seen {
    fn has_integers(&self) -> bool {
        self.has(Kind::Integer) || self.has(Kind::Wide) || self.has(Kind::Huge)
    }

    fn has_decimals(&self) -> bool {
        self.has(Kind::Decimal) || self.has(Kind::Vast)
    }

    /// The type that takes all that was seen. Where there is none it is [`Shape::Variant`], or
    /// strings if that would not keep a number, and the place is `mixed`.
    fn shape(&self, path: &str, mixed: &mut Vec<(String, String)>) -> Shape {
        let kinds = [
            (self.has(Kind::Boolean), "boolean"),
            (self.has_integers() || self.has_decimals(), "number"),
            (self.has(Kind::Text), "string"),
            (self.object.is_some(), "object"),
            (self.array.is_some(), "array"),
        ];
        let kinds: Vec<_> = kinds.iter().filter(|kind| kind.0).map(|kind| kind.1).collect();
        match (&kinds[..], &self.object, &self.array) {
            (["boolean"], ..) => Shape::Boolean,
            ([] | ["string"], ..) => Shape::String,
            (["number"], ..) => self.number_shape(path, mixed),
            (["object"], Some(fields), _) if fields.ordered.is_empty() => {
                Shape::Map(Box::new(Shape::String))
            }
            (["object"], Some(fields), _) => fields.shape(path, mixed),
            (["array"], _, Some(element)) => {
                Shape::Array(Box::new(element.shape(&format!("{path}[]"), mixed)))
            }
            _ => self.mixture(path, kinds.join(", "), mixed),
        }
    }

    fn number_shape(&self, path: &str, mixed: &mut Vec<(String, String)>) -> Shape {
        let digits = self.whole_digits + self.fraction_digits;
        let decimal = || {
            let size = |digits| u8::try_from(digits).unwrap_or(u8::MAX);
            (!self.exponent && digits <= MOST_DIGITS)
                .then(|| Shape::Decimal(size(digits), size(self.fraction_digits)))
        };
        let is_inexact = self.has(Kind::Wide) || self.has(Kind::Huge);
        let shape = match self.has_decimals() {
            false if !self.has(Kind::Huge) => Some(Shape::Integer(8)),
            false => decimal(),
            true if is_inexact => decimal(),
            _ if self.has(Kind::Vast) => None,
            _ => Some(Shape::Double),
        };
        shape.unwrap_or_else(|| {
            self.mixture(path, "numbers that no type of numbers can hold".to_owned(), mixed)
        })
    }

    fn mixture(&self, path: &str, what: String, mixed: &mut Vec<(String, String)>) -> Shape {
        mixed.push((path.to_owned(), what));
        if self.loses_in_variant() { Shape::String } else { Shape::Variant }
    }

    /// Whether there are numbers in here that a variant would not keep.
    fn loses_in_variant(&self) -> bool {
        self.has(Kind::Vast)
            || self.has_integers() && self.whole_digits > MOST_DIGITS
            || self.array.as_ref().is_some_and(|element| element.loses_in_variant())
            || self.object.as_ref().is_some_and(|object| {
                object.ordered.iter().any(|field| field.seen.loses_in_variant())
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inferred(lines: &[&str]) -> Inferred {
        let mut inferred = Inferred::new(Rules::Rows, Limits::default(), &[]);
        for line in lines {
            let content = line.as_bytes();
            inferred.push(Row::new(0, 0, content));
        }
        inferred
    }

    /// The type of the field `a`, and what it mixes.
    fn of(values: &[&str]) -> (String, Vec<(String, String)>) {
        let lines: Vec<_> = values.iter().map(|value| format!(r#"{{"a":{value}}}"#)).collect();
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        let (shape, mixed) = inferred(&lines).shape(false);
        let Shape::Struct(fields) = shape else { panic!() };
        (spelled(&fields[0].1), mixed)
    }

    fn spelled(shape: &Shape) -> String {
        match shape {
            Shape::Array(of) => format!("array<{}>", spelled(of)),
            Shape::Map(of) => format!("map<{}>", spelled(of)),
            Shape::Struct(fields) => {
                let fields = fields.iter().map(|(name, of)| format!("{name}:{}", spelled(of)));
                format!("struct<{}>", fields.collect::<Vec<_>>().join(","))
            }
            other => other.to_string(),
        }
    }

    #[test]
    fn a_type_takes_all_values_without_losing_any() {
        for (values, expected) in [
            (&["null"][..], "string"),
            (&["true", "null"], "boolean"),
            (&["1", "-9223372036854775808"], "bigint"),
            (&["1", "9223372036854775808"], "decimal(19,0)"),
            (&["1", "1.5"], "double"),
            (&["9007199254740992", "1e3"], "double"),
            (&["9007199254740993", "1.25"], "decimal(18,2)"),
            (&["\"2024-01-01\"", "\"x\""], "string"),
            (&["[]"], "array<string>"),
            (&["[1,null]", "[2.5]"], "array<double>"),
            (&["{}"], "map<string>"),
            (
                &[r#"{"z":1}"#, r#"{"y":[{}]}"#, r#"{"z":2.5}"#],
                "struct<z:double,y:array<map<string>>>",
            ),
        ] {
            assert_eq!(of(values), (expected.to_owned(), vec![]), "{values:?}");
        }
    }

    #[test]
    fn what_has_no_type_is_named() {
        let nines = "9".repeat(39);
        for (values, expected, path, what) in [
            (&["1", "\"x\""][..], "variant", "a", "number, string"),
            (&["[1, {}]"], "array<variant>", "a[]", "number, object"),
            (&[r#"{"b":1}"#, r#"{"b":true}"#], "struct<b:variant>", "a.b", "boolean, number"),
            (&["1e400"], "string", "a", "numbers that no type of numbers can hold"),
            (
                &["9007199254740993", "1e3"],
                "variant",
                "a",
                "numbers that no type of numbers can hold",
            ),
            (&[&nines, "true"], "string", "a", "boolean, number"),
        ] {
            let mixed = vec![(path.to_owned(), what.to_owned())];
            assert_eq!(of(values), (expected.to_owned(), mixed), "{values:?}");
        }
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let lines = [
            r#"{"a":1,"b":{"c":[1]}}"#,
            r#"{"b":{"d":"x","c":[null]},"a":2.5}"#,
            "[1]",
            r#"{"e":true"#,
            r#"{"e":{},"b":{"c":["y"]}}"#,
        ];
        let whole = inferred(&lines);
        assert_eq!((whole.objects, whole.others), (3, 2));
        for cut in 0..=lines.len() {
            let mut sum = inferred(&lines[..cut]);
            sum.add(&inferred(&lines[cut..]));
            assert_eq!(sum.shape(false), whole.shape(false));
            assert_eq!((sum.objects, sum.others), (3, 2));
        }
    }
}
