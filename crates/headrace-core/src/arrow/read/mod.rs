//! Rows as typed columns, in Arrow's layout.
//!
//! A row is walked once, and each part of it that has a column goes there as it comes; the
//! rest is checked, but not recorded. A row is *good*, *bad* (no JSON, or over a limit), or a
//! *mismatch*: a value that is not of the type of its column is null there, and the first such
//! field of the row is reported. No digit is lost silently: a number that does not fit an integer
//! or a decimal is a mismatch. Only floats take the nearest value there is.
//!
//! Answers to queries become tables in the same way ([`Columns::of_answers`]), with other rules:
//! no value is converted, an answer that is no object has a column of its own, and an answer that
//! does not fit ends the batch.
//!
//! Of equal keys the last one counts.

mod answer_types;
mod buffers;
mod fill;
mod infer;
mod number;
mod shape;
mod time;
mod variant;

use std::mem;

use memchr::memchr_iter;

pub use buffers::Buffers;
pub use infer::{Inferred, Rules};
pub use shape::Shape;
pub use time::Zone;

use buffers::{ColumnId, ROOT, Table};
use fill::{Filler, Scratch};

use crate::{
    cells::VALUE,
    json::{self, KeyHints, Limits},
    query::RowQuery,
    rows::Row,
};

/// An error in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It is no JSON, longer than it may be, or the query has no answer for it.
    Bad,
    /// A value is not of the type of its column.
    Mismatch,
}

/// A row that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which row, of those that were given.
    pub position: usize,
    /// Which row of the columns; none if it was left out.
    pub row: Option<usize>,
    /// The byte of the source that is to blame.
    pub offset: u64,
    /// The kind of fault.
    pub kind: FaultKind,
    /// The error message.
    pub reason: String,
}

/// What is done with rows before they are columns.
#[derive(Default)]
pub struct Before {
    /// Rows that do not match this are left out.
    pub keep: Option<RowQuery>,
    /// The columns are those of the answer to this; rows whose answer is null are left out.
    pub project: Option<RowQuery>,
}

/// How a row is put into the columns.
#[derive(Clone, Copy, Debug)]
struct Filling {
    /// The column of the value that the line has.
    target: ColumnId,
    /// Whether a value that is spelled in the form of another kind is a mismatch, and a field
    /// that no column has.
    is_strict: bool,
    /// Whether keys that were found to be repeated are left out.
    leave_out: bool,
}

/// Makes columns of rows, using its memory again and again.
pub struct Columns {
    table: Table,
    scratch: Scratch,
    hints: KeyHints,
    limits: Limits,
    before: Before,
    /// Whether bad rows and mismatches are rows of the columns.
    keep_faulty: bool,
    of_answers: bool,
    /// Of answers: the column of those that are no objects.
    value: Option<ColumnId>,
    answer: Vec<u8>,
    given: usize,
    positions: Vec<u32>,
    faults: Vec<Fault>,
}

/// Columns that are complete.
#[derive(Debug)]
pub struct Filled {
    /// For each column, those inside it right behind it.
    pub buffers: Vec<Buffers>,
    /// Which of the given rows the columns have; none if they have all.
    pub positions: Option<Vec<u32>>,
    /// In the order of the rows.
    pub faults: Vec<Fault>,
}

impl Columns {
    /// Columns without rows.
    pub fn new(shape: &Shape, limits: Limits, before: Before, keep_faulty: bool) -> Self {
        Self {
            table: Table::new(shape),
            scratch: Scratch::default(),
            hints: KeyHints::learning(),
            limits,
            before,
            keep_faulty,
            of_answers: false,
            value: None,
            answer: Vec::new(),
            given: 0,
            positions: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// Columns of answers without answers.
    pub fn of_answers(shape: &Shape, limits: Limits) -> Self {
        let mut columns = Self::new(shape, limits, Before::default(), false);
        columns.of_answers = true;
        columns.value = columns.table.field_of(ROOT, VALUE);
        columns
    }

    /// How many rows the columns have.
    pub fn len(&self) -> usize {
        self.table.len(ROOT)
    }

    /// Whether the columns have no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Add answers, whole lines, up to one that does not fit.
    pub fn push_lines(&mut self, lines: &[u8]) {
        let mut start = 0;
        for (number, end) in (0..).zip(memchr_iter(b'\n', lines)) {
            let content = &lines[start..end];
            let offset = start as u64;
            self.push(Row::new(number, offset, content));
            if !self.faults.is_empty() {
                return;
            }
            start = end + 1;
        }
    }

    /// Add a row. A blank one is none.
    pub fn push(&mut self, row: Row<'_>) {
        let position = self.given;
        self.given += 1;
        let fault = match self.fill(&row) {
            Ok(true) => None,
            Ok(false) => return,
            Err(fault) => Some(fault),
        };
        if let Some((kind, offset, reason)) = fault {
            let kept =
                self.keep_faulty.then(|| self.len() - usize::from(kind == FaultKind::Mismatch));
            match (kind, kept) {
                (FaultKind::Bad, Some(_)) => self.table.push_null(ROOT),
                (FaultKind::Mismatch, None) => self.table.truncate(ROOT, self.len() - 1),
                _ => {}
            }
            self.faults.push(Fault { position, row: kept, offset, kind, reason });
            if kept.is_none() {
                return;
            }
        }
        // A batch has no more rows than bytes.
        self.positions.push(u32::try_from(position).unwrap_or(u32::MAX));
    }

    /// Whether a row has been added, or what is wrong with it; of a bad one nothing was added.
    fn fill(&mut self, row: &Row<'_>) -> Result<bool, (FaultKind, u64, String)> {
        if let Some(length) = row.too_long {
            let reason = format!("{length} bytes long, over the limit that maxLineBytes sets");
            return Err((FaultKind::Bad, row.offset, reason));
        }
        if json::is_blank(row.content) {
            return Ok(false);
        }
        if let Some(keep) = &mut self.before.keep
            && !answered(keep, row, &mut self.answer)?
        {
            return Ok(false);
        }
        let Some(project) = &mut self.before.project else {
            return self.fill_line(row.content, |offset| row.content_offset() + offset as u64);
        };
        if !answered(project, row, &mut self.answer)? {
            return Ok(false);
        }
        let answer = mem::take(&mut self.answer);
        // The answer stands nowhere in the source.
        let filled = self.fill_line(&answer, |_| row.content_offset());
        self.answer = answer;
        filled
    }

    fn fill_line(
        &mut self,
        line: &[u8],
        place: impl Fn(usize) -> u64,
    ) -> Result<bool, (FaultKind, u64, String)> {
        let length = self.len();
        let mut target = ROOT;
        if self.of_answers {
            match (line.trim_ascii(), self.value) {
                ([b'{', ..], _) => {}
                (b"null", None) => {
                    self.table.push_container(ROOT);
                    return Ok(true);
                }
                (_, Some(value)) => target = value,
                (_, None) => {
                    let reason = format!("it is no object, and there is no column {VALUE}");
                    return Err((FaultKind::Bad, place(0), reason));
                }
            }
        }
        let filling = Filling { target, is_strict: self.of_answers, leave_out: false };
        let mut filler = Filler::new(&mut self.table, &mut self.scratch, line, filling);
        let mut walked = json::walk(line, &self.limits, &mut self.hints, &mut filler);
        if walked.is_ok() && filler.must_leave_out() {
            self.table.truncate(ROOT, length);
            let filling = Filling { leave_out: true, ..filling };
            filler = Filler::new(&mut self.table, &mut self.scratch, line, filling);
            // Which keys are left out differs from row to row: there is nothing to learn.
            walked = json::walk(line, &self.limits, &mut KeyHints::none(), &mut filler);
        }
        let walked = walked.map(|_| filler.mismatch);
        if target != ROOT && walked.is_ok() {
            self.table.push_container(ROOT);
        }
        match walked {
            Ok(None) => Ok(true),
            Ok(Some(mismatch)) => {
                Err((FaultKind::Mismatch, place(mismatch.offset), mismatch.reason))
            }
            Err(error) => {
                self.table.truncate(ROOT, length);
                Err((FaultKind::Bad, place(error.offset), error.reason.to_string()))
            }
        }
    }

    /// The columns of all rows since the last time.
    pub fn take(&mut self) -> Filled {
        let positions = mem::take(&mut self.positions);
        let all = positions.len() == mem::take(&mut self.given);
        Filled {
            buffers: self.table.take(),
            positions: (!all).then_some(positions),
            faults: mem::take(&mut self.faults),
        }
    }
}

/// Whether a query gives a line for a row.
fn answered(
    query: &mut RowQuery,
    row: &Row<'_>,
    out: &mut Vec<u8>,
) -> Result<bool, (FaultKind, u64, String)> {
    out.clear();
    match query.row(*row, out) {
        Ok(()) => Ok(!out.is_empty()),
        Err(refusal) => Err((FaultKind::Bad, refusal.offset, refusal.reason)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(shape: &str, keep_faulty: bool) -> Columns {
        let shape = Shape::parse(shape).unwrap();
        Columns::new(&shape, Limits::default(), Before::default(), keep_faulty)
    }

    fn filled(columns: &mut Columns, lines: &[&str]) -> Filled {
        let mut offset = 0;
        for (number, line) in (0..).zip(lines) {
            let content = line.as_bytes();
            columns.push(Row::new(number, offset, content));
            offset += line.len() as u64 + 1;
        }
        columns.take()
    }

    fn ints(values: &[i64]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn ends(values: &[i32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    const LONG: &str = r#"{"struct": [["a", {"integer": 8}]]}"#;

    #[test]
    fn the_last_of_equal_keys_counts_and_what_is_missing_is_null() {
        let mut columns = columns(LONG, true);
        let lines = [r#"{"a":1,"b":{"a":5},"a":2}"#, "{}", r#"{"\u0061":3}"#, r#"{"a":null}"#];
        let filled = filled(&mut columns, &lines);
        assert_eq!(filled.faults, []);
        assert_eq!(filled.positions, None);
        let a = &filled.buffers[1];
        assert_eq!((a.length, &a.others[0]), (4, &ints(&[2, 0, 3, 0])));
        assert_eq!(a.validity, Some(vec![0b0101]));
    }

    #[test]
    fn a_faulty_row_is_null_or_left_out() {
        let lines = [r#"{"a":1}"#, r#"{"a":2"#, " ", r#"{"a":"x"}"#, r#"{"a":4} 5"#, r#"{"a":6}"#];
        let kept = filled(&mut columns(LONG, true), &lines);
        assert_eq!(kept.buffers[1].others[0], ints(&[1, 0, 0, 0, 6]));
        assert_eq!(kept.positions, Some(vec![0, 1, 3, 4, 5]));
        let rows: Vec<_> = kept.faults.iter().map(|fault| (fault.position, fault.row)).collect();
        assert_eq!(rows, [(1, Some(1)), (3, Some(2)), (4, Some(3))]);
        assert_eq!(kept.faults[1].reason, r#"a is "x", which does not fit bigint"#);
        assert_eq!(kept.faults[1].offset, 19);
        assert_eq!(kept.faults[2].reason, "trailing characters after the value");

        let dropped = filled(&mut columns(LONG, false), &lines);
        assert_eq!(dropped.buffers[1].others[0], ints(&[1, 6]));
        assert_eq!(dropped.buffers[1].validity, None);
        assert_eq!(dropped.positions, Some(vec![0, 5]));
    }

    #[test]
    fn a_row_that_is_no_object_is_a_mismatch() {
        for (line, what) in [("null", "null"), ("[1]", "an array"), ("1", "1"), ("\"a\"", "\"a\"")]
        {
            let filled = filled(&mut columns(LONG, true), &[line]);
            assert_eq!(filled.faults[0].reason, format!("the row is {what}, not an object"));
            assert_eq!(filled.buffers[1].length, 1);
        }
    }

    #[test]
    fn bad_rows_leave_nothing_in_what_was_open() {
        let shape =
            r#"{"struct": [["a", {"array": {"struct": [["s", "string"], ["v", "variant"]]}}]]}"#;
        let lines = [
            r#"{"a":[{"s":"x"},{"s":{"k":[1,"#,
            r#"{"a":[{"v":[{"k":"#,
            r#"{"a":[{"s":[1, {"a": null}, "\n"]}, 5, {"v": 1}]}"#,
        ];
        let filled = filled(&mut columns(shape, false), &lines);
        let [_, a, element, s, v] = &filled.buffers[..] else { panic!() };
        assert_eq!(a.length, 0, "a mismatch is left out as well: {:?}", filled.faults);
        assert_eq!((element.length, s.length, v.length), (0, 0, 0));
        assert_eq!(s.others, [ends(&[0]), vec![]]);
        assert_eq!(v.others, [ends(&[0]), vec![], ends(&[0]), vec![]]);
    }

    #[test]
    fn strings_take_other_values_as_json() {
        let shape = r#"{"struct": [["s", {"array": "string"}]]}"#;
        let line = r#"{"s": ["a\tb", 1.50, true, null, {"k": [1, "\t", {}]}, [ ]]}"#;
        let filled = filled(&mut columns(shape, true), &[line]);
        assert_eq!(filled.faults, []);
        let texts = &filled.buffers[2].others[1];
        assert_eq!(texts, "a\tb1.50true{\"k\":[1,\"\\t\",{}]}[]".as_bytes());
        assert_eq!(filled.buffers[2].others[0], ends(&[0, 3, 7, 11, 11, 28, 30]));
    }

    #[test]
    fn a_mismatch_that_is_replaced_is_none() {
        let shape = r#"{"struct": [["a", {"struct": [["b", {"integer": 8}]]}], ["c", "date"]]}"#;
        for (line, fault) in [
            (r#"{"a":1,"a":{"b":"x","b":2}}"#, None),
            (r#"{"a":{"b":"x"},"a":null,"c":"y"}"#, Some(r#"c is "y", which does not fit date"#)),
            (r#"{"a":1,"c":"y","a":null,"c":null}"#, None),
            (r#"{"a":null,"a":1}"#, Some("a is 1, which does not fit struct")),
        ] {
            let filled = filled(&mut columns(shape, true), &[line]);
            let reason = filled.faults.first().map(|fault| fault.reason.as_str());
            assert_eq!(reason, fault, "{line}");
        }
    }

    #[test]
    fn the_last_of_equal_keys_counts_in_maps_too() {
        let shape = r#"{"struct": [["m", {"map": {"map": {"integer": 8}}}]]}"#;
        let line = r#"{"m":{"a":{"x":1,"x":2},"b":{"y":3},"a":{"z":4,"\u007a":5}}}"#;
        let filled = filled(&mut columns(shape, true), &[line, line]);
        let [_, m, keys, inner, inner_keys, values] = &filled.buffers[..] else { panic!() };
        assert_eq!(m.others[0], ends(&[0, 2, 4]));
        assert_eq!(keys.others[1], b"baba");
        assert_eq!(inner.others[0], ends(&[0, 1, 2, 3, 4]));
        assert_eq!(inner_keys.others[1], b"yzyz");
        assert_eq!(values.others[0], ints(&[3, 5, 3, 5]));
    }
}
