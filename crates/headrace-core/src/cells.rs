//! Cells: answers as a table of columns.
//!
//! Answers are lines of JSON. The fields of an object are cells of the columns they are
//! called by; any other answer is a cell of the column [`VALUE`], and null is a row of empty
//! cells. Of equal keys the last one counts.

use std::collections::{HashMap, HashSet};

use bumpalo::Bump;

use crate::{
    json::{JsonError, Limits, MAX_DEPTH},
    value::{Kind, Lanes, Tape, Value, json_text},
};

/// The column of answers that are no objects.
pub const VALUE: &str = "value";

/// The cells of some answers.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Cells {
    /// A cell for each column of each answer; `None` for null and what is missing.
    pub rows: Vec<Vec<Option<String>>>,
    /// Unknown columns, each with the position of the first answer that has it.
    pub others: Vec<(usize, String)>,
}

/// The columns of `lines` that are not `known`, in the order they are met.
///
/// # Errors
/// A line is nested too deep, the only error that an answer can have.
pub fn new_columns(lines: &[u8], known: &[String]) -> Result<Vec<String>, JsonError> {
    let found = cells(lines, known)?;
    Ok(found.others.into_iter().map(|(_, name)| name).collect())
}

/// The cells of `lines` under `columns`: strings as they are, all else as JSON.
///
/// # Errors
/// A line is nested too deep, the only error that an answer can have.
pub fn cells(lines: &[u8], columns: &[String]) -> Result<Cells, JsonError> {
    let places: HashMap<&str, usize> =
        columns.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
    let mut others = HashSet::new();
    let mut found = Cells::default();
    let mut arena = Bump::new();
    let mut tape = Tape::learning(Lanes::all());
    for (position, line) in lines.split_inclusive(|&byte| byte == b'\n').enumerate() {
        arena.reset();
        let mut row = vec![None; columns.len()];
        for_each_cell(line, &mut tape, &arena, |name, value| {
            if let Some(&place) = places.get(name) {
                row[place] = spell(value, &arena);
            } else if !others.contains(name) {
                others.insert(name.to_owned());
                found.others.push((position, name.to_owned()));
            }
        })?;
        found.rows.push(row);
    }
    Ok(found)
}

/// Records of comma-separated values, up to an answer that has another column.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// A record for each answer, as RFC 4180 has it.
    pub text: Vec<u8>,
    /// How many there are.
    pub count: usize,
    /// The unknown column of the next answer.
    pub stranger: Option<String>,
}

/// The cells of `lines` under `columns` as comma-separated values.
///
/// Null is an empty field and an empty string `""`. Of a single column null is `""` as well: a
/// line without anything would be no record to most readers.
///
/// # Errors
/// A line is nested too deep, the only error that an answer can have.
pub fn csv_records(lines: &[u8], columns: &[String]) -> Result<Records, JsonError> {
    let places: HashMap<&str, usize> =
        columns.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
    let null: &[u8] = if columns.len() == 1 { b"\"\"" } else { b"" };
    let mut records = Records::default();
    let mut arena = Bump::new();
    let mut tape = Tape::learning(Lanes::all());
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        arena.reset();
        let row = arena.alloc_slice_fill_copy(columns.len(), Value::Null);
        for_each_cell(line, &mut tape, &arena, |name, value| match places.get(name) {
            Some(&place) => row[place] = value,
            None if records.stranger.is_none() => records.stranger = Some(name.to_owned()),
            None => {}
        })?;
        if records.stranger.is_some() {
            break;
        }
        for (place, value) in row.iter().enumerate() {
            separate(place, &mut records.text);
            match value.kind() {
                Kind::Null => records.text.extend_from_slice(null),
                Kind::String => field(value.as_str(&arena).unwrap_or(""), &mut records.text),
                _ => field(json_text(*value, &arena), &mut records.text),
            }
        }
        records.text.extend_from_slice(b"\r\n");
        records.count += 1;
    }
    Ok(records)
}

/// The first record of a file: the names of its columns.
pub fn csv_header(columns: &[String]) -> Vec<u8> {
    let mut header = Vec::new();
    for (place, name) in columns.iter().enumerate() {
        separate(place, &mut header);
        field(name, &mut header);
    }
    header.extend_from_slice(b"\r\n");
    header
}

fn separate(place: usize, out: &mut Vec<u8>) {
    if place > 0 {
        out.push(b',');
    }
}

fn field(text: &str, out: &mut Vec<u8>) {
    let special = |byte: &u8| matches!(byte, b'"' | b',' | b'\r' | b'\n');
    if !text.is_empty() && !text.as_bytes().iter().any(special) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    for (part, piece) in text.split('"').enumerate() {
        if part > 0 {
            out.extend_from_slice(b"\"\"");
        }
        out.extend_from_slice(piece.as_bytes());
    }
    out.push(b'"');
}

fn for_each_cell<'r>(
    line: &'r [u8],
    tape: &'r mut Tape,
    arena: &'r Bump,
    mut visit: impl FnMut(&str, Value<'r>),
) -> Result<(), JsonError> {
    let document = arena.alloc(tape.parse(line, &Limits { max_depth: MAX_DEPTH })?);
    let answer = document.root();
    match answer.as_object(arena) {
        Some(entries) => entries.iter().for_each(|&(name, value)| visit(name, value)),
        None if answer.is_null() => {}
        None => visit(VALUE, answer),
    }
    Ok(())
}

fn spell<'r>(value: Value<'r>, arena: &'r Bump) -> Option<String> {
    match value.kind() {
        Kind::Null => None,
        Kind::String => value.as_str(arena).map(ToOwned::to_owned),
        _ => Some(json_text(value, arena).to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &[u8] =
        b"{\"a\": 1.50, \"b\": \"x\\ny\"}\n{}\n[1, 2]\n{\"b\": null, \"a\": {\"c\": [1]}, \"d\": 1, \"d\": 2}\n";

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn columns_are_met_in_order() {
        assert_eq!(new_columns(LINES, &[]), Ok(names(&["a", "b", VALUE, "d"])));
        assert_eq!(new_columns(LINES, &names(&["d", "a"])), Ok(names(&["b", VALUE])));
        assert_eq!(new_columns(b"null\n", &[]), Ok(vec![]));
        assert_eq!(new_columns(b"", &[]), Ok(vec![]));
    }

    #[test]
    fn numbers_keep_their_text_and_strings_lose_their_quotes() {
        let cell = |text: &str| Some(text.to_owned());
        let found = cells(LINES, &names(&["a", "b"])).unwrap();
        let last = vec![cell(r#"{"c":[1]}"#), None];
        let rows = vec![vec![cell("1.50"), cell("x\ny")], vec![None, None], vec![None, None], last];
        assert_eq!(found.rows, rows);
        assert_eq!(found.others, [(2, VALUE.to_owned()), (3, "d".to_owned())]);
        let found = cells(LINES, &names(&["b", "d"])).unwrap();
        assert_eq!(found.rows[3], [None, cell("2")]);
    }

    #[test]
    fn records_end_before_a_stranger() {
        let records = csv_records(LINES, &names(&["b", "a"])).unwrap();
        assert_eq!(records.text, b"\"x\ny\",1.50\r\n,\r\n");
        assert_eq!((records.count, records.stranger), (2, Some(VALUE.to_owned())));
        let all = names(&["a", "b", "d", VALUE]);
        let records = csv_records(LINES, &all).unwrap();
        let last: &[u8] = b"\"{\"\"c\"\":[1]}\",,2,\r\n";
        assert!(records.text.ends_with(last));
        assert_eq!((records.count, records.stranger), (4, None));
        assert_eq!(csv_header(&names(&["a,b", "", "c"])), b"\"a,b\",\"\",c\r\n");
    }

    #[test]
    fn null_alone_is_quoted() {
        let records = csv_records(b"{}\nnull\n{\"a\":\"\"}\n", &names(&["a"])).unwrap();
        assert_eq!(records.text, b"\"\"\r\n\"\"\r\n\"\"\r\n");
    }
}
