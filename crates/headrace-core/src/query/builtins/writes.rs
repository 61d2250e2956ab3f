//! Writing, as methods that give the new value.
//!
//! At the end of a chain that starts at `$`, the same names change the whole document
//! instead: the compiler makes a patch of such a chain.

use super::{Builtin, Parameter, in_group, objects};
use crate::{
    query::{Arg, Machine, machine::Evaluated},
    value::Value,
};
use bumpalo::collections::Vec as BumpVec;

pub(super) static BUILTINS: &[Builtin] = &in_group("Writes", [
    Builtin::value("set", set)
        .takes(&[Parameter::Value("value")])
        .doc("The argument. After a path from `$`: the document with the argument at that path.")
        .examples(&[
            ["$.a | set(6)", r#"{"a": 5}"#, "6"],
            ["$.a.b.set(6)", r#"{"c": 1}"#, r#"{"c": 1, "a": {"b": 6}}"#],
            ["$.a[*].b.set(0)", r#"{"a": [{"b": 1}, {}]}"#, r#"{"a": [{"b": 0}, {"b": 0}]}"#],
        ]),
    Builtin::value("modify", modify)
        .takes(&[Parameter::Each("expression")])
        .doc("The expression about the value. After a path from `$`: the document with the expression in the place of each value at that path.")
        .examples(&[
            ["$.a | modify(@ + 1)", r#"{"a": 5}"#, "6"],
            ["$.a.modify(@ + 1)", r#"{"a": 5}"#, r#"{"a": 6}"#],
            [
                "$..n.modify(@ * 10)",
                r#"{"n": 1, "a": [{"n": 2}]}"#,
                r#"{"n": 10, "a": [{"n": 20}]}"#,
            ],
        ]),
    Builtin::value("update", modify)
        .takes(&[Parameter::Either("path_or_expression"), Parameter::Each("expression")])
        .required(1)
        .doc("The expression of the value; with a path such as `a.b[*].c` before it, the value \
              with the expression of what is there in its place.")
        .examples(&[
            ["5.update(@ + 1)", "null", "6"],
            [
                r#"$.update("a.b", @ + 1)"#,
                r#"{"a": {"b": 1}, "c": 2}"#,
                r#"{"a": {"b": 2}, "c": 2}"#,
            ],
            [
                r#"$.update("a[*].n", n => n * 2)"#,
                r#"{"a": [{"n": 1}, {"n": 2}]}"#,
                r#"{"a": [{"n": 2}, {"n": 4}]}"#,
            ],
            ["$.update({a: a + 1, b: DELETE})", r#"{"a": 1, "b": 2}"#, r#"{"a": 2}"#],
        ]),
    Builtin::value("delete", delete)
        .doc("Null. After a path from `$`: the document without the value at that path.")
        .examples(&[
            ["$.a.b.delete()", r#"{"a": {"b": 1, "c": 2}}"#, r#"{"a": {"c": 2}}"#],
            ["$.a[* if @ > 1].delete()", r#"{"a": [1, 2, 3]}"#, r#"{"a": [1]}"#],
            ["$.nope.delete()", r#"{"a": 1}"#, r#"{"a": 1}"#],
        ]),
    Builtin::value("unset", unset)
        .takes(&[Parameter::NameRest("keys")])
        .doc("An object without these keys; of an array, every object in it. After a path from `$`: the document without the keys of the object at that path.")
        .examples(&[
            ["{a: 1, b: 2}.unset(a)", "null", r#"{"b": 2}"#],
            [r#"$.a.unset("b")"#, r#"{"a": {"b": 1, "c": 2}}"#, r#"{"a": {"c": 2}}"#],
            [r#"$.unset("a", "b")"#, r#"{"a": 1, "b": 2, "c": 3}"#, r#"{"c": 3}"#],
            ["5.unset(a)", "null", "5"],
        ]),
]);

fn set<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    _receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    machine.value_of(&args[0])
}

fn modify<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    machine.apply(&args[0], receiver)
}

#[allow(clippy::unnecessary_wraps, reason = "the table has one type of function")]
fn delete<'r, 'p>(
    _machine: &mut Machine<'p, 'r>,
    _receiver: Value<'r>,
    _args: &'p [Arg],
) -> Evaluated<'r> {
    Ok(Value::Null)
}

fn unset<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let arena = machine.arena;
    let mut keys = BumpVec::with_capacity_in(args.len(), arena);
    for arg in args {
        keys.push(objects::name(machine, arg)?);
    }
    objects::each_object(receiver, arena, |object| {
        Ok(objects::retained(object, arena, |entry| !keys.contains(&entry.0)))
    })
}
