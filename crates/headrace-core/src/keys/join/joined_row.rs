//! The form of a joined row.
//!
//! A left row keeps its bytes. What is *added* to it is an object: of a right row the members
//! that are wanted, or the array of all of them, or who was there. A member of it takes the
//! place of the left one with its name; the others stand behind the last left one.

use std::collections::HashSet;

use super::members::{Member, Members, Object};
use crate::{
    json::{JsonError, Limits},
    value::write_string,
};

/// The form of joined rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// Left rows without a right one are left out.
    pub inner: bool,
    /// The name for the array of right rows, instead of a row for each.
    pub target: Option<String>,
    /// Fields to take of right rows [default: all but the key].
    pub pick: Option<Vec<String>>,
    /// The prefix of the names of right fields.
    pub prefix: String,
    /// The field that says `both` or `left_only`.
    pub indicator: Option<String>,
}

impl Form {
    /// Whether something is added to every left row.
    pub(super) fn adds_to_all(&self) -> bool {
        !self.inner && (self.target.is_some() || self.indicator.is_some())
    }

    /// The name of a right member in the output, with its quotes and its colon, if it is wanted.
    fn written(
        &self,
        object: &Object<'_>,
        at: usize,
        right_key: &[String],
        added: &mut Added,
    ) -> Option<Vec<u8>> {
        let array = self.target.is_some();
        let mut scratch = String::new();
        let name = object.name(at, &mut scratch);
        let wanted = match &self.pick {
            Some(pick) => pick.iter().any(|picked| picked == name),
            None => array || right_key.iter().all(|key| key != name),
        };
        let renamed = format!("{}{name}", self.prefix);
        if !wanted {
            return None;
        }
        if !array && self.indicator.as_ref() == Some(&renamed) {
            added.clash.get_or_insert(Clash::Right);
        }
        if !array {
            added.add(&renamed);
        }
        let mut written = Vec::new();
        if self.prefix.is_empty() {
            written.push(b'"');
            written.extend_from_slice(object.raw_name(at).as_bytes());
            written.push(b'"');
        } else {
            write_string(&renamed, &mut written);
        }
        written.push(b':');
        Some(written)
    }
}

/// More names than this are not remembered.
const MOST_NAMES: usize = 64;
/// Nor more ways to put them into a row.
const MOST_SHAPES: usize = 8;

/// The side whose rows have a field with a name that the join itself adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clash {
    /// A left row has the name of the indicator or of the array.
    Left,
    /// A right row has the name of the indicator.
    Right,
}

/// Names that were added to left rows so far; a row with none of them needs no check.
#[derive(Debug, Default)]
pub(super) struct Added {
    names: HashSet<String>,
    many: bool,
    /// The first clash of names; its values would be lost.
    pub(super) clash: Option<Clash>,
}

impl Added {
    fn add(&mut self, name: &str) {
        if !self.many && !self.names.contains(name) {
            self.names.insert(name.to_owned());
            self.many = self.names.len() > MOST_NAMES;
        }
    }

    /// The names, unless they are too many.
    pub(super) fn names(&self) -> Option<Vec<String>> {
        let mut names: Vec<_> = self.names.iter().cloned().collect();
        names.sort_unstable();
        (!self.many).then_some(names)
    }

    /// Whether there are more names than `known`.
    pub(super) fn exceeds(&self, known: usize) -> bool {
        self.many || self.names.len() > known
    }
}

/// Names of right rows, which most rows have in the same order, and the new name of each.
#[derive(Debug, Default)]
struct Shape {
    names: Vec<String>,
    /// The name in the output, with its quotes and its colon; none if it is not wanted.
    written: Vec<Option<Vec<u8>>>,
}

impl Shape {
    fn is_of(&self, object: &Object<'_>) -> bool {
        self.names.len() == object.len()
            && self.names.iter().enumerate().all(|(at, name)| name == object.raw_name(at))
    }
}

/// Makes joined rows, using its memory again and again.
#[derive(Debug)]
pub(super) struct Writer {
    form: Form,
    /// Of right rows before, that of the last one first.
    shapes: Vec<Shape>,
    /// The key of right rows, which is that of the left row.
    right_key: Vec<String>,
    right: Members,
    left: Members,
    addition: Members,
    /// What the array of right rows adds.
    array: Vec<Member>,
    /// Which added members have taken the place of left ones.
    used: Vec<bool>,
    pub(super) added: Added,
}

impl Writer {
    pub(super) fn new(form: Form, right_key: Vec<String>, left: Limits, right: Limits) -> Self {
        let mut added = Added::default();
        [&form.target, &form.indicator].into_iter().flatten().for_each(|name| added.add(name));
        Self {
            form,
            shapes: Vec::new(),
            right_key,
            right: Members::new(right),
            left: Members::new(left),
            addition: Members::new(right),
            array: Vec::new(),
            used: Vec::new(),
            added,
        }
    }

    pub(super) fn form(&self) -> &Form {
        &self.form
    }

    /// What is kept of a right row: what it adds to a left one, or what stands in the array.
    ///
    /// # Errors
    /// An error in the row.
    pub(super) fn write_right(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<(), JsonError> {
        let array = self.form.target.is_some();
        if array && self.form.pick.is_none() && self.form.prefix.is_empty() {
            out.extend_from_slice(line.trim_ascii());
            return Ok(());
        }
        let Self { form, shapes, right_key, right, added, .. } = self;
        // A row that is not an object has no key.
        let Some(object) = right.of(line)? else { return Ok(()) };
        let mut separator = b'{';
        let mut member = |written: &[u8], value: &str| {
            out.push(separator);
            separator = b',';
            out.extend_from_slice(written);
            out.extend_from_slice(value.as_bytes());
        };
        if let Some(known) = shapes.iter().position(|shape| shape.is_of(&object)) {
            shapes[..=known].rotate_right(1);
            for (at, written) in shapes[0].written.iter().enumerate() {
                if let Some(written) = written {
                    member(written, object.value(at));
                }
            }
        } else {
            let mut shape = Shape::default();
            let mut once = true;
            object.for_each_name(|first, last| {
                let written = form.written(&object, first, right_key, added);
                if let Some(written) = &written {
                    member(written, object.value(last));
                }
                once &= first == last;
                shape.names.push(object.raw_name(first).to_owned());
                shape.written.push(written);
            });
            if once {
                shapes.truncate(MOST_SHAPES - 1);
                shapes.insert(0, shape);
            }
        }
        if !array {
            self.write_indicator(&mut separator, true, out);
        }
        close(separator, out);
        Ok(())
    }

    /// Begin what the array of right rows adds, at the beginning of `out`.
    pub(super) fn begin_array(&mut self, out: &mut Vec<u8>) {
        out.push(b'{');
        write_string(self.form.target.as_deref().unwrap_or_default(), out);
        self.array.clear();
        self.array.push(Member::named(out, 2, out.len() - 1));
        out.extend_from_slice(b":[");
    }

    /// End the array of right rows.
    pub(super) fn end_array(&mut self, matched: bool, out: &mut Vec<u8>) {
        out.push(b']');
        let end = out.len();
        let mut separator = b',';
        self.write_indicator(&mut separator, matched, out);
        if let Some(rows) = self.array.first_mut() {
            rows.set_value(end);
        }
        if self.form.indicator.is_some() {
            let said = if matched { "\"both\"" } else { "\"left_only\"" };
            let mut indicator = Member::named(out, end + 2, out.len() - said.len() - 2);
            indicator.set_value(out.len());
            self.array.push(indicator);
        }
        close(separator, out);
    }

    /// What is added to a row without a right one, if anything is.
    pub(super) fn write_alone(&self, out: &mut Vec<u8>) {
        let mut separator = b'{';
        self.write_indicator(&mut separator, false, out);
        close(separator, out);
    }

    fn write_indicator(&self, separator: &mut u8, matched: bool, out: &mut Vec<u8>) {
        if let Some(name) = &self.form.indicator {
            out.push(*separator);
            *separator = b',';
            write_string(name, out);
            out.extend_from_slice(if matched { b":\"both\"" } else { b":\"left_only\"" });
        }
    }

    /// Append a left row and what is added to it. `apart` says that no name is in both.
    ///
    /// # Errors
    /// The row is not JSON; rows were checked before.
    pub(super) fn write_joined(
        &mut self,
        left: &[u8],
        addition: &[u8],
        apart: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), JsonError> {
        let members = addition.get(1..).filter(|rest| rest.len() > 1);
        match members {
            None => out.extend_from_slice(left),
            // The line is an object with at least one member: it has a key.
            Some(members) if apart => {
                let body = left.trim_ascii_end();
                let body = body.strip_suffix(b"}").unwrap_or(body).trim_ascii_end();
                out.extend_from_slice(body);
                out.push(b',');
                out.extend_from_slice(members);
            }
            Some(_) => {
                let left = self.left.of(left)?;
                let addition = if self.form.target.is_some() {
                    Object::new(addition, &self.array)
                } else {
                    self.addition.of(addition)?
                };
                if let (Some(left), Some(addition)) = (left, addition) {
                    let own = [&self.form.target, &self.form.indicator];
                    if lay_over(left, addition, own, &mut self.used, out) {
                        self.added.clash.get_or_insert(Clash::Left);
                    }
                }
            }
        }
        Ok(())
    }
}

fn close(separator: u8, out: &mut Vec<u8>) {
    if separator == b'{' {
        out.push(b'{');
    }
    out.push(b'}');
}

/// Append the left object with the members of another laid over its own; true if the left one
/// has one of the names that are the join's own.
fn lay_over(
    left: Object<'_>,
    addition: Object<'_>,
    own: [&Option<String>; 2],
    used: &mut Vec<bool>,
    out: &mut Vec<u8>,
) -> bool {
    let mut clash = false;
    let (mut one, mut other) = (String::new(), String::new());
    used.clear();
    used.resize(addition.len(), false);
    // Bytes of the line that were copied, and the end of the last value.
    let (mut copied, mut end) = (0, 0);
    for at in 0..left.len() {
        let name = left.name(at, &mut one);
        let (start, behind) = left.value_range(at);
        let by = (0..addition.len()).find(|&by| addition.name(by, &mut other) == name);
        if let Some(by) = by {
            clash |= own.into_iter().flatten().any(|own| own == name);
            if used[by] {
                // The name stands there a second time.
                out.extend_from_slice(&left.line.as_bytes()[copied..end]);
            } else {
                out.extend_from_slice(&left.line.as_bytes()[copied..start]);
                out.extend_from_slice(addition.value(by).as_bytes());
                used[by] = true;
            }
            copied = behind;
        }
        end = behind;
    }
    let mut separated = left.len() == 0;
    let mut ended = false;
    for by in (0..addition.len()).filter(|&by| !used[by]) {
        if !ended {
            ended = true;
            out.extend_from_slice(&left.line.as_bytes()[copied..left.end().max(copied)]);
        }
        if !separated {
            out.push(b',');
        }
        separated = false;
        out.push(b'"');
        out.extend_from_slice(addition.raw_name(by).as_bytes());
        out.extend_from_slice(b"\":");
        out.extend_from_slice(addition.value(by).as_bytes());
    }
    if ended {
        out.push(b'}');
    } else {
        out.extend_from_slice(left.line.as_bytes()[copied..].trim_ascii_end());
    }
    clash
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(form: Form) -> Writer {
        Writer::new(form, vec!["id".into()], Limits::default(), Limits::default())
    }

    fn right(form: Form, line: &str) -> String {
        let (mut once, mut twice) = (Vec::new(), Vec::new());
        let mut writer = writer(form);
        writer.write_right(line.as_bytes(), &mut once).unwrap();
        // What was learned from the row changes nothing.
        writer.write_right(line.as_bytes(), &mut twice).unwrap();
        assert_eq!(once, twice);
        String::from_utf8(once).unwrap()
    }

    fn joined(left: &str, addition: &str, apart: bool) -> String {
        let mut out = Vec::new();
        let mut writer = writer(Form::default());
        writer.write_joined(left.as_bytes(), addition.as_bytes(), apart, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_right_row_adds_what_is_wanted_of_it() {
        let line = r#" {"id": 7, "n" : 1.50, "\u006e":2.0, "m": {"id": [1, 2]}} "#;
        let form = Form::default;
        assert_eq!(right(form(), line), r#"{"n":2.0,"m":{"id": [1, 2]}}"#);
        assert_eq!(right(form(), r#"{"id":1}"#), "{}");
        let pick = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect());
        assert_eq!(
            right(Form { pick: pick(&["m", "id"]), ..form() }, line),
            r#"{"id":7,"m":{"id": [1, 2]}}"#
        );
        assert_eq!(
            right(Form { prefix: "r\"".into(), ..form() }, line),
            r#"{"r\"n":2.0,"r\"m":{"id": [1, 2]}}"#
        );
        let indicator = Some("x".to_owned());
        assert_eq!(
            right(Form { indicator, pick: pick(&["n"]), ..form() }, line),
            r#"{"n":2.0,"x":"both"}"#
        );
        let target = Some("t".to_owned());
        assert_eq!(right(Form { target: target.clone(), ..form() }, line), line.trim());
        assert_eq!(
            right(Form { target, pick: pick(&["id", "n"]), ..form() }, line),
            r#"{"id":7,"n":2.0}"#
        );
    }

    #[test]
    fn the_left_row_keeps_its_bytes() {
        for apart in [false, true] {
            let row = |left: &str, addition: &str| joined(left, addition, apart);
            assert_eq!(row(r#" {"a" : 1 , "b":2 } "#, r#"{"c":3}"#), r#" {"a" : 1 , "b":2,"c":3}"#);
            assert_eq!(row(r#" {"a": 1}  "#, "{}"), r#" {"a": 1}  "#);
        }
        assert_eq!(joined(" { } ", r#"{"c":3,"d":4}"#, false), r#" {"c":3,"d":4}"#);
    }

    #[test]
    fn the_right_one_takes_the_place_of_the_left() {
        for (left, addition, row) in [
            (r#"{"a": 1, "b": 2}"#, r#"{"a":9}"#, r#"{"a": 9, "b": 2}"#),
            (r#"{"a": 1, "b": 2 } "#, r#"{"c":7,"b":9}"#, r#"{"a": 1, "b": 9,"c":7}"#),
            (r#"{"a":1, "\u0061": 2, "b":3}"#, r#"{"a":9}"#, r#"{"a":9, "b":3}"#),
            (r#"{"b":3,"a":1,"a":2}"#, r#"{"a":9,"c":1}"#, r#"{"b":3,"a":9,"c":1}"#),
            (r#"{"a":1,"a":2,"a":3}"#, r#"{"a":9}"#, r#"{"a":9}"#),
        ] {
            assert_eq!(joined(left, addition, false), row);
        }
    }

    #[test]
    fn an_array_of_rows_is_one_member() {
        for indicator in [None, Some("\"i".to_owned())] {
            let form = Form { target: Some("t\n".into()), indicator, ..Form::default() };
            let mut writer = writer(form);
            let mut addition = Vec::new();
            writer.begin_array(&mut addition);
            addition.extend_from_slice(b"{},{}");
            writer.end_array(true, &mut addition);
            let said = if writer.form.indicator.is_some() { r#","\"i":"both""# } else { "" };
            let rows = r#""t\n":[{},{}]"#;
            assert_eq!(addition, format!("{{{rows}{said}}}").as_bytes());
            let mut joined = |left: &[u8]| {
                let mut out = Vec::new();
                writer.write_joined(left, &addition, false, &mut out).unwrap();
                String::from_utf8(out).unwrap()
            };
            assert_eq!(joined(b"{}"), format!("{{{rows}{said}}}"));
            assert_eq!(
                joined(br#"{"t\u000a":1,"a":2}"#),
                format!("{{\"t\\u000a\":[{{}},{{}}],\"a\":2{said}}}")
            );
        }
    }

    #[test]
    fn a_field_with_a_name_that_the_join_adds_is_noticed() {
        let indicator = Some("v".to_owned());
        let clash = |form: Form, left: &[u8], line: &[u8]| {
            let mut writer = writer(form);
            let (mut addition, mut out) = (Vec::new(), Vec::new());
            writer.write_right(line, &mut addition).unwrap();
            writer.write_joined(left, &addition, false, &mut out).unwrap();
            writer.added.clash
        };
        let form = Form { indicator, ..Form::default() };
        assert_eq!(clash(form.clone(), br#"{"id":1}"#, br#"{"id":1,"w":2}"#), None);
        assert_eq!(clash(form.clone(), br#"{"id":1}"#, br#"{"id":1,"v":2}"#), Some(Clash::Right));
        assert_eq!(clash(form.clone(), br#"{"id":1,"v":2}"#, br#"{"id":1}"#), Some(Clash::Left));
        let renamed = Form { prefix: "r_".into(), ..form };
        assert_eq!(clash(renamed, br#"{"id":1}"#, br#"{"id":1,"v":2}"#), None);
    }

    #[test]
    fn too_many_names_are_not_remembered() {
        let mut added = Added::default();
        for number in 0..=MOST_NAMES {
            assert!(added.names().is_some());
            added.add(&number.to_string());
        }
        assert!(added.names().is_none() && added.exceeds(usize::MAX));
    }
}
