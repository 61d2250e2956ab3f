//! Which parts of a row are read, so that the others need not be recorded.
//!
//! Lanes form a tree of field names. A lane is read as a whole, or only the fields
//! below it are. They never change an answer: a query that may read more than it names
//! takes [`Lanes::all`].

use crate::json;

/// A lane of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneId(u32);

impl LaneId {
    pub(super) fn number(self) -> u32 {
        self.0
    }
}

/// A tree of fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lanes {
    lanes: Vec<Lane>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Lane {
    whole: bool,
    fields: Vec<(Box<str>, LaneId)>,
}

impl Lanes {
    /// The row itself.
    pub const ROW: LaneId = LaneId(0);
    /// Any value that is read as a whole.
    pub const ALL: LaneId = LaneId(1);

    /// Nothing of the row but what kind of value it is.
    pub fn none() -> Self {
        Self { lanes: vec![Lane::default(), Lane { whole: true, fields: Vec::new() }] }
    }

    /// All of the row.
    pub fn all() -> Self {
        let mut lanes = Self::none();
        lanes.read(Self::ROW);
        lanes
    }

    /// Read all of a lane.
    pub fn read(&mut self, lane: LaneId) {
        self.lanes[lane.0 as usize].whole = true;
    }

    /// The lane of a field; of the field itself nothing but its kind is read.
    pub fn add(&mut self, of: LaneId, name: &str) -> LaneId {
        let fields = &self.lanes[of.0 as usize].fields;
        if let Some(known) = fields.iter().find(|field| *field.0 == *name) {
            return known.1;
        }
        let added = LaneId(u32::try_from(self.lanes.len()).unwrap_or(u32::MAX));
        self.lanes.push(Lane::default());
        self.lanes[of.0 as usize].fields.push((name.into(), added));
        added
    }

    /// The lane of the value under a key as it is written; `None` if the query does not read it.
    #[inline]
    pub(super) fn field(&self, of: LaneId, raw: &str, has_escapes: bool) -> Option<LaneId> {
        let lane = &self.lanes[of.0 as usize];
        if lane.whole {
            return Some(Self::ALL);
        }
        if has_escapes {
            return lane.escaped_field(raw);
        }
        lane.field(raw)
    }
}

impl Lane {
    #[inline]
    fn field(&self, name: &str) -> Option<LaneId> {
        self.fields.iter().find(|field| same(&field.0, name)).map(|field| field.1)
    }

    #[cold]
    fn escaped_field(&self, raw: &str) -> Option<LaneId> {
        self.field(json::unescape(raw, &mut String::new()))
    }
}

/// Whether two keys are equal. Those that are as long mostly differ in the last byte.
#[inline]
fn same(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    left.len() == right.len() && left.last() == right.last() && left == right
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;
    use crate::{
        json::Limits,
        value::{Tape, write_json},
    };

    /// What is on the tape of a row.
    fn recorded(row: &str, lanes: &Lanes) -> String {
        let (mut tape, arena, mut out) = (Tape::learning(lanes.clone()), Bump::new(), Vec::new());
        let document = tape.parse(row.as_bytes(), &Limits::default()).unwrap();
        write_json(document.root(), &mut out, &arena);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_nobody_reads_is_not_on_the_tape() {
        let row = r#"{"a":{"b":[1,{"c":2}],"d":3},"e":{"f":4},"g":[{"a":5}],"a":{"d":6}}"#;
        let mut lanes = Lanes::none();
        assert_eq!(recorded(row, &lanes), "{}");
        assert_eq!(recorded("[1,{}]", &lanes), "[1,{}]");
        let a = lanes.add(Lanes::ROW, "a");
        assert_eq!(recorded(row, &lanes), r#"{"a":{}}"#);
        let b = lanes.add(a, "b");
        lanes.read(b);
        assert_eq!(recorded(row, &lanes), r#"{"a":{}}"#);
        assert_eq!(
            recorded(&row.replace(r#","a":{"d":6}"#, ""), &lanes),
            r#"{"a":{"b":[1,{"c":2}]}}"#
        );
        assert_eq!(lanes.add(Lanes::ROW, "a"), a);
        lanes.read(Lanes::ROW);
        assert_eq!(lanes.field(Lanes::ROW, "e", false), Some(Lanes::ALL));
    }

    #[test]
    fn an_escaped_key_is_read_all_the_same() {
        let mut lanes = Lanes::none();
        lanes.add(Lanes::ROW, "a\n");
        assert_eq!(recorded(r#"{"\u0061\n":1,"a":2}"#, &lanes), r#"{"\u0061\n":1}"#);
    }

    #[test]
    fn what_nobody_reads_is_checked() {
        let mut tape = Tape::learning(Lanes::none());
        let mut refused = |row: &str| tape.parse(row.as_bytes(), &Limits { max_depth: 3 }).is_err();
        assert!(!refused(r#"{"a":[[1]]}"#));
        for row in [
            r#"{"a":[[[1]]]}"#,
            r#"{"a":[1}"#,
            r#"{"a":01}"#,
            r#"{"a":"\x"}"#,
            r#"{"a":1,}"#,
            r#"{"a":[]"#,
            r#"{"a":"#,
            r#"{"a":{"b":nul}}"#,
            r#"{"a" 1}"#,
            r#"{"a":1 "b":2}"#,
            r#"{"a":}"#,
        ] {
            assert!(refused(row), "{row}");
        }
    }
}
