//! Which kinds of values a builtin is for.
//!
//! With strict types, a receiver of another kind is an error; without, each builtin decides,
//! mostly for null. Null passes every check, so missing values stay missing. Builtins that iterate
//! over elements take arrays only, strict or not.

use bumpalo::Bump;

use super::Builtin;
use crate::{
    query::{Fault, numbers},
    value::{Kind, Value},
};

const ANY: &[Kind] = &Kind::ALL;
const NUMBERS: &[Kind] = &[Kind::Number];
const OBJECTS: &[Kind] = &[Kind::Object];
const RECORDS: &[Kind] = &[Kind::Array, Kind::Object];
const SEQUENCES: &[Kind] = &[Kind::String, Kind::Array];
const CONTAINERS: &[Kind] = &[Kind::String, Kind::Array, Kind::Object];
const TEXTS: &[Kind] = &[Kind::String];

/// What the builtins of a group take, unless they stand in [`BUILTINS`].
const GROUPS: &[(&str, &[Kind])] = &[
    ("Arrays", &[Kind::Array]),
    ("Objects", OBJECTS),
    ("Paths", RECORDS),
    ("Patterns", TEXTS),
    ("Text", TEXTS),
];

/// Builtins that take something else than their group.
const BUILTINS: &[(&[Kind], &[&str])] = &[
    (ANY, &["fanout"]),
    (NUMBERS, &["abs", "ceil", "floor", "round"]),
    (&[Kind::Bool, Kind::Number, Kind::String], &["to_number"]),
    (&[Kind::Bool, Kind::String], &["to_bool"]),
    (TEXTS, &["from_json", "parse_bool", "parse_float", "parse_int"]),
    (OBJECTS, &["flatten_keys", "has_key", "unflatten_keys", "zip_shape"]),
    (RECORDS, &["missing", "omit", "pick"]),
    (SEQUENCES, &["index_of", "last_index_of", "slice"]),
    (CONTAINERS, &["has", "has_all", "includes"]),
];

/// The kinds that a builtin is for.
pub(in crate::query) fn of(builtin: &Builtin) -> &'static [Kind] {
    let own = BUILTINS.iter().find(|(_, names)| names.contains(&builtin.name));
    let group = || GROUPS.iter().find(|(group, _)| *group == builtin.group);
    own.map(|(kinds, _)| *kinds).or_else(|| group().map(|(_, kinds)| *kinds)).unwrap_or(ANY)
}

/// Refuse a receiver that a builtin is not for.
///
/// # Errors
/// It is neither null nor of a kind that the builtin takes.
pub(in crate::query) fn check<'r>(
    builtin: &Builtin,
    receiver: Value<'r>,
    arena: &'r Bump,
) -> Result<(), Fault> {
    let (kinds, kind) = (of(builtin), receiver.kind());
    if kind == Kind::Null || kinds.contains(&kind) {
        return Ok(());
    }
    let names: Vec<_> = kinds.iter().map(|kind| kind.with_article()).collect();
    let shown = numbers::shown(receiver, arena);
    Err(Fault::new(format!("{} takes {}, not {shown}", builtin.name, names.join(" or "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::builtins::{self, Run};

    #[test]
    fn the_tables_name_what_there_is() {
        let groups: Vec<_> = builtins::BUILTINS
            .iter()
            .flat_map(|group| group.iter())
            .map(|each| each.group)
            .collect();
        for (group, _) in GROUPS {
            assert!(groups.contains(group), "{group}");
        }
        for name in BUILTINS.iter().flat_map(|(_, names)| names.iter()) {
            let builtin = builtins::find(name).expect(name);
            assert_eq!(builtin.name, *name);
            assert!(matches!(builtin.run, Run::Value(_)), "{name} takes elements");
            let group = GROUPS.iter().find(|(group, _)| *group == builtin.group);
            assert_ne!(group.map(|(_, kinds)| *kinds), Some(of(builtin)), "{name} needs no entry");
        }
    }
}
