//! Tests for presence: of keys, elements, parts of text and values.

use bumpalo::{Bump, collections::Vec as BumpVec};

use super::{Builtin, Parameter, in_group, objects, paths};
use crate::{
    query::{Arg, Machine, deep::Seen, machine::Evaluated},
    value::{Kind, Value, equal},
};

pub(super) static BUILTINS: &[Builtin] = &in_group(
    "Tests",
    [
        Builtin::value("has", has_all)
            .takes(&[Parameter::NameRest("wanted")])
            .doc(
                "Whether an object has a key, an array an element or a text a part; of several, \
              in an array or not, whether it has all of them. A key counts even if its value is \
              null. `includes` finds an array as one element.",
            )
            .examples(&[
                ["$.has(a)", r#"{"a": null}"#, "true"],
                [r#"$.has("a", "b")"#, r#"{"a": 1}"#, "false"],
                ["$.has(2)", "[1, 2]", "true"],
                ["$.has([1, 2])", "[1, 2, 3]", "true"],
                [r#"$.has("ell")"#, r#""hello""#, "true"],
                ["$.has(a)", "5", "false"],
                ["$.has(a)", "null", "null"],
            ]),
        Builtin::value("includes", includes)
            .takes(&[Parameter::Value("wanted")])
            .aliases(&["contains"])
            .doc("Whether an array has an element, a text a part or an object a key.")
            .examples(&[
                ["$.includes(2)", "[1, 2.0]", "true"],
                ["$.includes([1])", "[[1], 2]", "true"],
                [r#"$.contains("b")"#, r#""abc""#, "true"],
                [r#"$.includes("a")"#, r#"{"a": null}"#, "true"],
                ["$.includes(1)", "null", "null"],
            ]),
        Builtin::value("has_all", has_all)
            .takes(&[Parameter::ValueRest("wanted")])
            .doc("Whether `has` holds for every one of the values in an array.")
            .examples(&[
                ["$.has_all([1, 3])", "[1, 2, 3]", "true"],
                [r#"$.has_all(["a", "b"])"#, r#"{"a": 1}"#, "false"],
                ["$.has_all([])", "5", "true"],
            ]),
        Builtin::value("has_key", has_key)
            .takes(&[Parameter::Name("key")])
            .doc("Whether an object has a key, even if its value is null.")
            .examples(&[
                [r#"$.has_key("a")"#, r#"{"a": null}"#, "true"],
                [r#"$.has_key("a")"#, r#"["a"]"#, "false"],
                [r#"$.has_key("a")"#, "null", "null"],
            ]),
        Builtin::value("missing", missing)
            .takes(&[Parameter::NameRest("paths")])
            .doc(
                "Whether a key is missing or null, or a path such as `a.b[0]` leads to nothing; of \
              several, the list of those that are missing.",
            )
            .examples(&[
                ["$.missing(a)", r#"{"a": null}"#, "true"],
                [r#"$.missing("a", "b.c", "b.d")"#, r#"{"b": {"c": 1}}"#, r#"["a", "b.d"]"#],
                ["$.missing(a)", "null", "true"],
            ]),
        Builtin::value("or", or)
            .takes(&[Parameter::Value("default")])
            .doc("The value, or the default if it is null.")
            .examples(&[
                [r#"$.name.or("unknown")"#, "{}", r#""unknown""#],
                [r#"$.name.or("unknown")"#, r#"{"name": false}"#, "false"],
            ]),
    ],
);

fn includes<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let wanted = machine.value_of(&args[0])?;
    let found = holds(receiver, wanted, machine.arena);
    Ok(if receiver.is_null() { Value::Null } else { Value::Bool(found) })
}

fn has_all<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let arena = machine.arena;
    let mut all = true;
    for arg in args {
        let wanted = machine.value_of(arg)?;
        all = all
            && match wanted.as_array(arena) {
                Some(wanted) => holds_all(receiver, wanted, arena),
                None => holds(receiver, wanted, arena),
            };
    }
    Ok(if receiver.is_null() { Value::Null } else { Value::Bool(all) })
}

fn holds_all<'r>(value: Value<'r>, wanted: &[Value<'r>], arena: &'r Bump) -> bool {
    /// With more to look for, a table of what is there is faster than searching for each.
    const FEW: usize = 8;
    if wanted.len() > FEW
        && let Some(elements) = value.as_array(arena)
    {
        let mut there = Seen::new(arena);
        for element in elements {
            there.insert(*element);
        }
        return wanted.iter().all(|wanted| there.position(*wanted).is_some());
    }
    wanted.iter().all(|wanted| holds(value, *wanted, arena))
}

/// Whether a value is an element, a part or a key of another.
fn holds<'r>(value: Value<'r>, wanted: Value<'r>, arena: &'r Bump) -> bool {
    match value {
        Value::Array(elements) => elements.iter().any(|element| equal(*element, wanted, arena)),
        // Often called for many elements, so no array is allocated for each.
        Value::Node(node) if node.kind() == Kind::Array => {
            let mut found = false;
            node.for_each_element(|element| {
                found = found || equal(Value::Node(element), wanted, arena);
            });
            found
        }
        _ => match (value.as_str(arena), wanted.as_str(arena)) {
            (_, None) => false,
            (Some(text), Some(part)) => text.contains(part),
            (None, Some(key)) => value.get(key).is_some(),
        },
    }
}

fn has_key<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let key = objects::name(machine, &args[0])?;
    if receiver.is_null() {
        return Ok(Value::Null);
    }
    Ok(Value::Bool(receiver.get(key).is_some()))
}

fn missing<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let arena = machine.arena;
    let mut absent = BumpVec::new_in(arena);
    for arg in args {
        let wanted = paths::argument(machine, arg)?;
        // A field of that very name comes first, whatever it would mean as a path.
        let found = match receiver.get(wanted) {
            Some(value) => Some(value),
            None => paths::follow(receiver, &paths::readable(wanted, arena)?, arena),
        };
        if found.is_none_or(Value::is_null) {
            absent.push(Value::Str(wanted));
        }
    }
    Ok(match args {
        [_] => Value::Bool(!absent.is_empty()),
        _ => Value::Array(absent.into_bump_slice()),
    })
}

fn or<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    if receiver.is_null() { machine.value_of(&args[0]) } else { Ok(receiver) }
}
