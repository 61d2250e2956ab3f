//! Values for other programs: tables, and what a document looks like.

use std::collections::HashMap;

use bumpalo::{Bump, collections::Vec as BumpVec};

use super::{Builtin, Parameter, in_group, text_builder::TextBuilder};
use crate::{
    query::{
        Arg, ExprId, Fault, Machine,
        deep::Fields,
        machine::Evaluated,
        numbers::{count, shown},
    },
    value::{Entry, Kind, Value, text_of},
};

pub(super) static BUILTINS: &[Builtin] = &in_group(
    "Output",
    [
        Builtin::reduce("to_csv", |machine, receiver, args| table(machine, receiver, args, ','))
            .takes(&[Parameter::Value("columns")])
            .required(0)
            .doc(
                "The elements as lines of comma-separated values: the elements of an array, the \
              values of an object under the keys that any of the objects has, in the order these \
              first come, or with a list of columns a header and the values under these keys. A \
              cell is in quotes where it must be, and empty for null.",
            )
            .examples(&[
                [r#"[[1, "a,b"], [2, 'c"d']].to_csv()"#, "null", r#""1,\"a,b\"\n2,\"c\"\"d\"""#],
                [
                    r#"$.to_csv(["b", "a"])"#,
                    r#"[{"a": 1, "b": 2}, {"a": null}]"#,
                    r#""b,a\n2,1\n,""#,
                ],
                ["$.to_csv()", r#"[{"a": 1, "b": [2]}]"#, r#""1,[2]""#],
                ["[{a: 1, b: 2}, {b: 3}].to_csv()", "null", r#""1,2\n,3""#],
            ]),
        Builtin::reduce("to_tsv", |machine, receiver, args| table(machine, receiver, args, '\t'))
            .takes(&[Parameter::Value("columns")])
            .required(0)
            .doc("As to_csv, with tabs between the cells.")
            .examples(&[[r#"[[1, "a"]].to_tsv()"#, "null", r#""1\ta""#]]),
        Builtin::value("schema", |machine, receiver, _| {
            let mut shape = Shape::default();
            shape.add(receiver, machine.arena);
            Ok(shape.described(false, machine.arena))
        })
        .doc("The schema of the value: its type, for an array its length and the schema of its elements, for an object its fields and which of them are required. A field that some objects lack is optional, one that is null in some is nullable, and one of several types is Mixed.")
        .examples(&[
            ["$.schema()", "[3, 1, 2]", r#"{"type": "Array", "len": 3, "items": {"type": "Int"}}"#],
            [
                "$.schema().items",
                r#"[{"id": 1, "n": "a"}, {"id": 2, "n": null, "x": true}]"#,
                r#"{"type": "Object", "required": ["id"], "fields": {"id": {"type": "Int"},
                    "n": {"type": "String", "nullable": true},
                    "x": {"type": "Bool", "optional": true}}}"#,
            ],
            [r#"[1, "two"].schema().items"#, "null", r#"{"type": "Mixed"}"#],
        ]),
    ],
);

// Tables

fn table<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    separator: char,
) -> Evaluated<'r> {
    let columns = match args.first() {
        Some(arg) => columns(machine, arg)?,
        None => None,
    };
    let arena = machine.arena;
    let mut table = Table { draft: TextBuilder::new(arena), separator, is_empty: true };
    if let Some(columns) = columns {
        table.line(columns.iter().copied(), arena)?;
    }
    let rows = machine.elements(receiver)?;
    let keys = if columns.is_none() { keys_of(&rows, arena) } else { Vec::new() };
    for row in rows {
        let lone = [row];
        if row.kind() == Kind::Object {
            let keys = columns.unwrap_or(&keys).iter();
            let cells = keys.map(|key| row.get(text_of(*key, arena)).unwrap_or(Value::Null));
            table.line(cells, arena)?;
            continue;
        }
        let cells = row.as_array(arena).unwrap_or(&lone).iter().copied();
        match columns {
            Some(columns) => {
                let filled = cells.chain(std::iter::repeat(Value::Null));
                table.line(filled.take(columns.len()), arena)?;
            }
            None => table.line(cells, arena)?,
        }
    }
    Ok(table.draft.finish())
}

/// The keys of all objects among the rows, in the order in which they first come.
fn keys_of<'r>(rows: &[Value<'r>], arena: &'r Bump) -> Vec<Value<'r>> {
    let mut keys = Fields::new(arena);
    for (key, _) in rows.iter().flat_map(|row| row.as_object(arena).unwrap_or_default()) {
        keys.put(key, ());
    }
    keys.into_entries().iter().map(|(key, ())| Value::Str(key)).collect()
}

/// The names of the columns, if any are given.
fn columns<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    arg: &'p Arg,
) -> Evaluated<'r, Option<&'r [Value<'r>]>> {
    let value = machine.value_of(arg)?;
    if value.is_null() {
        return Ok(None);
    }
    let arena = machine.arena;
    let columns = value.as_array(arena);
    match columns {
        Some(columns) if columns.iter().all(|column| column.as_str(arena).is_some()) => {
            Ok(Some(columns))
        }
        _ => Err(Fault::new(format!(
            "the columns must be an array of strings, not {}",
            shown(value, arena)
        ))),
    }
}

struct Table<'r> {
    draft: TextBuilder<'r>,
    separator: char,
    is_empty: bool,
}

impl<'r> Table<'r> {
    fn line(
        &mut self,
        cells: impl Iterator<Item = Value<'r>>,
        arena: &'r Bump,
    ) -> Result<(), Fault> {
        if !std::mem::take(&mut self.is_empty) {
            self.draft.push('\n')?;
        }
        for (at, cell) in cells.enumerate() {
            if at > 0 {
                self.draft.push(self.separator)?;
            }
            self.cell(if cell.is_null() { "" } else { text_of(cell, arena) })?;
        }
        Ok(())
    }

    fn cell(&mut self, text: &str) -> Result<(), Fault> {
        if !text.contains([self.separator, '"', '\n', '\r']) {
            return self.draft.push_str(text);
        }
        self.draft.push('"')?;
        for piece in text.split_inclusive('"') {
            self.draft.push_str(piece)?;
            if piece.ends_with('"') {
                self.draft.push('"')?;
            }
        }
        self.draft.push('"')
    }
}

// Schemas

/// What the values seen so far have in common.
#[derive(Default)]
struct Shape<'r> {
    seen: usize,
    nulls: usize,
    /// Of those that are not null; none if all are.
    common: Option<Common<'r>>,
}

enum Common<'r> {
    /// A type that has nothing within.
    Plain(&'static str),
    Array {
        /// None if they differ.
        length: Option<usize>,
        items: Box<Shape<'r>>,
    },
    Object {
        seen: usize,
        fields: Vec<(&'r str, Shape<'r>)>,
        places: HashMap<&'r str, usize>,
    },
    Mixed,
}

impl<'r> Shape<'r> {
    fn add(&mut self, value: Value<'r>, arena: &'r Bump) {
        self.seen += 1;
        if value.is_null() {
            self.nulls += 1;
        } else if let Some(elements) = value.as_array(arena) {
            self.add_array(elements, arena);
        } else if let Some(entries) = value.as_object(arena) {
            self.add_object(entries, arena);
        } else {
            let name = plain(value.resolved(arena));
            match self.common.get_or_insert(Common::Plain(name)) {
                Common::Plain(other) if *other == name => {}
                common => *common = Common::Mixed,
            }
        }
    }

    fn add_array(&mut self, elements: &[Value<'r>], arena: &'r Bump) {
        let new = || Common::Array { length: Some(elements.len()), items: Box::default() };
        match self.common.get_or_insert_with(new) {
            Common::Array { length, items } => {
                *length = length.filter(|length| *length == elements.len());
                for element in elements {
                    items.add(*element, arena);
                }
            }
            common => *common = Common::Mixed,
        }
    }

    fn add_object(&mut self, entries: &[Entry<'r>], arena: &'r Bump) {
        let new = || Common::Object { seen: 0, fields: Vec::new(), places: HashMap::new() };
        match self.common.get_or_insert_with(new) {
            Common::Object { seen, fields, places } => {
                *seen += 1;
                for (name, value) in entries {
                    let place = *places.entry(name).or_insert_with(|| {
                        fields.push((name, Shape::default()));
                        fields.len() - 1
                    });
                    fields[place].1.add(*value, arena);
                }
            }
            common => *common = Common::Mixed,
        }
    }

    /// As the language shows it; `optional` if it is of a field that some objects lack.
    fn described(&self, optional: bool, arena: &'r Bump) -> Value<'r> {
        let mut entries = BumpVec::new_in(arena);
        match &self.common {
            None => entries.push(("type", Value::Str("Null"))),
            Some(Common::Plain(name)) => entries.push(("type", Value::Str(name))),
            Some(Common::Mixed) => entries.push(("type", Value::Str("Mixed"))),
            Some(Common::Array { length, items }) => {
                entries.push(("type", Value::Str("Array")));
                entries.extend(length.map(|length| ("len", count(length))));
                if items.seen > 0 {
                    entries.push(("items", items.described(false, arena)));
                }
            }
            Some(Common::Object { seen, fields, .. }) => {
                let required = fields
                    .iter()
                    .filter(|(_, shape)| shape.seen == *seen && shape.nulls == 0)
                    .map(|(name, _)| Value::Str(name));
                let required = BumpVec::from_iter_in(required, arena).into_bump_slice();
                let fields = fields
                    .iter()
                    .map(|(name, shape)| (*name, shape.described(shape.seen < *seen, arena)));
                let fields = BumpVec::from_iter_in(fields, arena).into_bump_slice();
                entries.push(("type", Value::Str("Object")));
                entries.push(("required", Value::Array(required)));
                entries.push(("fields", Value::Object(fields)));
            }
        }
        if self.nulls > 0 && self.common.is_some() {
            entries.push(("nullable", Value::Bool(true)));
        }
        if optional {
            entries.push(("optional", Value::Bool(true)));
        }
        Value::Object(entries.into_bump_slice())
    }
}

fn plain(value: Value<'_>) -> &'static str {
    match value {
        Value::Bool(_) => "Bool",
        Value::Int(_) => "Int",
        Value::Big(text) if !text.contains(['.', 'e', 'E']) => "Int",
        Value::Float(_) | Value::Big(_) => "Float",
        _ => "String",
    }
}
