//! Which columns rows would need.
//!
//! What was seen at each place of the rows is noted as it is, without deciding anything; notes of
//! parts of a file add up to those of the whole, however it was cut. The type is decided at
//! the end ([`Seen::shape`]).

use std::collections::HashMap;

use super::Shape;
use crate::{
    json::{self, Limits},
    rows::Row,
    value::{Lanes, Node, NodeKind, Tape, Value},
};

/// Integers up to this are doubles as well.
const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;

/// As many digits as a decimal can have.
const MOST_DIGITS: usize = 38;

/// What was seen at one place of the rows.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is something that was seen or not")]
pub struct Seen {
    boolean: bool,
    string: bool,
    integer: bool,
    /// A number with a fraction or an exponent.
    fraction: bool,
    exponent: bool,
    /// An integer beyond 64 bits, one that no double is, and a number that no double is near.
    beyond_long: bool,
    inexact: bool,
    not_finite: bool,
    /// The most digits in front of the point and behind it.
    whole_digits: usize,
    fraction_digits: usize,
    object: Option<Fields>,
    array: Option<Box<Seen>>,
}

/// Fields in the order they were met.
#[derive(Clone, Debug, Default)]
struct Fields {
    places: HashMap<Box<str>, usize>,
    ordered: Vec<(Box<str>, Seen)>,
    /// The field that probably comes next.
    next: usize,
}

impl Fields {
    fn at(&mut self, name: &str) -> &mut Seen {
        let expected = self.ordered.get(self.next).is_some_and(|field| *field.0 == *name);
        let place = if expected { self.next } else { self.place(name) };
        self.next = place + 1;
        &mut self.ordered[place].1
    }

    fn place(&mut self, name: &str) -> usize {
        if let Some(&place) = self.places.get(name) {
            return place;
        }
        let place = self.ordered.len();
        self.places.insert(name.into(), place);
        self.ordered.push((name.into(), Seen::default()));
        place
    }
}

/// Rows looked at, and what is in them.
#[derive(Debug)]
pub struct Inferred {
    seen: Seen,
    limits: Limits,
    tape: Tape,
    scratch: String,
    /// Rows that are objects.
    pub objects: u64,
    /// Rows that are anything else, or bad, or too long.
    pub others: u64,
}

impl Inferred {
    /// Nothing was looked at yet.
    pub fn new(limits: Limits) -> Self {
        let tape = Tape::learning(Lanes::all());
        let (seen, scratch) = (Seen::default(), String::new());
        Self { seen, limits, tape, scratch, objects: 0, others: 0 }
    }

    /// Look at a row. What is no object adds nothing to what was seen.
    pub fn push(&mut self, row: Row<'_>) {
        if row.too_long.is_none() {
            if json::is_blank(row.content) {
                return;
            }
            if let Ok(document) = self.tape.parse(row.content, &self.limits)
                && let Value::Node(node) = document.root()
                && node.node_kind() == NodeKind::Object
            {
                self.seen.note(node, &mut self.scratch);
                self.objects += 1;
                return;
            }
        }
        self.others += 1;
    }

    /// Add what was seen by another, of rows behind these.
    pub fn add(&mut self, other: &Self) {
        self.seen.add(&other.seen);
        self.objects += other.objects;
        self.others += other.others;
    }

    /// The fields of the rows, and what is mixed in them.
    pub fn shape(&self) -> (Shape, Vec<(String, String)>) {
        let mut mixed = Vec::new();
        let shape = match &self.seen.object {
            Some(fields) => fields.shape("", &mut mixed),
            None => Shape::Struct(Vec::new()),
        };
        (shape, mixed)
    }
}

impl Fields {
    fn shape(&self, path: &str, mixed: &mut Vec<(String, String)>) -> Shape {
        let fields = self.ordered.iter().map(|(name, seen)| {
            let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
            (name.to_string(), seen.shape(&path, mixed))
        });
        Shape::Struct(fields.collect())
    }
}

impl Seen {
    fn add(&mut self, other: &Self) {
        self.boolean |= other.boolean;
        self.string |= other.string;
        self.integer |= other.integer;
        self.fraction |= other.fraction;
        self.exponent |= other.exponent;
        self.beyond_long |= other.beyond_long;
        self.inexact |= other.inexact;
        self.not_finite |= other.not_finite;
        self.whole_digits = self.whole_digits.max(other.whole_digits);
        self.fraction_digits = self.fraction_digits.max(other.fraction_digits);
        if let Some(theirs) = &other.object {
            let ours = self.object.get_or_insert_default();
            for (name, seen) in &theirs.ordered {
                ours.at(name).add(seen);
            }
        }
        if let Some(theirs) = &other.array {
            self.array.get_or_insert_default().add(theirs);
        }
    }

    fn note(&mut self, node: Node<'_>, scratch: &mut String) {
        match node.node_kind() {
            NodeKind::Null => {}
            NodeKind::True | NodeKind::False => self.boolean = true,
            NodeKind::Integer => self.number(node.raw(), true),
            NodeKind::Decimal => self.number(node.raw(), false),
            NodeKind::Plain | NodeKind::Escaped => self.string = true,
            NodeKind::Array => {
                let element = self.array.get_or_insert_default();
                node.for_each_element(|value| element.note(value, scratch));
            }
            NodeKind::Object => {
                let fields = self.object.get_or_insert_default();
                fields.next = 0;
                node.for_each_entry(|key, value| {
                    let seen = match key.node_kind() {
                        NodeKind::Escaped => fields.at(json::unescape(key.raw(), scratch)),
                        _ => fields.at(key.raw()),
                    };
                    seen.note(value, scratch);
                });
            }
        }
    }

    fn number(&mut self, text: &str, is_integer: bool) {
        let digits = text.strip_prefix('-').unwrap_or(text);
        if is_integer {
            self.integer = true;
            self.whole_digits = self.whole_digits.max(digits.len());
            self.beyond_long |= text.parse::<i64>().is_err();
            self.inexact |= digits.parse::<u64>().map_or(true, |value| value > EXACT);
            return;
        }
        self.fraction = true;
        self.exponent |= digits.contains(['e', 'E']);
        self.not_finite |= !text.parse::<f64>().is_ok_and(f64::is_finite);
        if let Some((whole, fraction)) = digits.split_once('.') {
            self.whole_digits = self.whole_digits.max(whole.len());
            self.fraction_digits = self.fraction_digits.max(fraction.len());
        }
    }

    /// The type that takes all that was seen. Where there is none it is [`Shape::Variant`], or
    /// strings if that would not keep a number, and the place is `mixed`.
    fn shape(&self, path: &str, mixed: &mut Vec<(String, String)>) -> Shape {
        let kinds = [
            (self.boolean, "boolean"),
            (self.integer || self.fraction, "number"),
            (self.string, "string"),
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
        let shape = match (self.integer, self.fraction) {
            (_, false) if !self.beyond_long => Some(Shape::Integer(8)),
            (_, false) => decimal(),
            (true, true) if self.inexact => decimal(),
            _ if self.not_finite => None,
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
        self.not_finite
            || self.integer && self.whole_digits > MOST_DIGITS
            || self.array.as_ref().is_some_and(|element| element.loses_in_variant())
            || self.object.as_ref().is_some_and(|object| {
                object.ordered.iter().any(|(_, seen)| seen.loses_in_variant())
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inferred(lines: &[&str]) -> Inferred {
        let mut inferred = Inferred::new(Limits::default());
        for line in lines {
            let content = line.as_bytes();
            inferred.push(Row { number: 0, offset: 0, content, too_long: None, marked: false });
        }
        inferred
    }

    /// The type of the field `a`, and what it mixes.
    fn of(values: &[&str]) -> (String, Vec<(String, String)>) {
        let lines: Vec<_> = values.iter().map(|value| format!(r#"{{"a":{value}}}"#)).collect();
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        let (shape, mixed) = inferred(&lines).shape();
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
            assert_eq!(sum.shape(), whole.shape());
            assert_eq!((sum.objects, sum.others), (3, 2));
        }
    }
}
