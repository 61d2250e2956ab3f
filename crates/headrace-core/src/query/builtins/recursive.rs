//! Going through a value and all that is in it.

use bumpalo::collections::Vec as BumpVec;

use super::{Builtin, Parameter, in_group, paths};
use crate::{
    json,
    query::{
        Arg, ExprId, Fault, Machine,
        deep::visit,
        limits::too_deep,
        machine::{Evaluated, Flow, Sink},
        numbers,
    },
    value::{Entry, Kind, Value, equal},
};

pub(super) static BUILTINS: &[Builtin] = &in_group("Recursion", [
    Builtin::stage("deep_find", deep_find)
        .takes(&[Parameter::EachRest("condition")])
        .doc("The value and everything inside it for which every condition is truthy; a container comes before its contents. `..find(p)` is short for it.")
        .examples(&[
            ["$.deep_find(@ is number)", r#"{"a": {"x": 1}, "b": [{"x": 2}, 3]}"#, "[1, 2, 3]"],
            ["$..find(x == 2)", r#"{"a": {"x": 1}, "b": [{"x": 2}]}"#, r#"[{"x": 2}]"#],
            ["$..find(@ > 2)", "[1, [2, 3], 4]", "[3, 4]"],
            ["$..find(x)", "null", "[]"],
        ]),
    Builtin::stage("deep_shape", deep_shape)
        .takes(&[Parameter::NameRest("keys")])
        .doc("All objects that have these keys, however deep. `..shape({a, b})` is short for it.")
        .examples(&[
            [
                "$..shape({id, name})",
                r#"[{"id": 1, "name": null}, {"id": 2}, {"x": {"name": "c", "id": 3}}]"#,
                r#"[{"id": 1, "name": null}, {"name": "c", "id": 3}]"#,
            ],
            ["$..shape({a})", r#"{"a": {"a": 1}}"#, r#"[{"a": {"a": 1}}, {"a": 1}]"#],
        ]),
    Builtin::stage("deep_like", deep_like)
        .takes(&[Parameter::Value("fields")])
        .doc("All objects that have these fields with these values, however deep. \
              `..like({a: 1})` is short for it.")
        .examples(&[
            [
                r#"$..like({role: "lead"})"#,
                r#"{"a": [{"role": "lead", "id": 1}, {"role": "x"}], "role": "lead"}"#,
                r#"[{"a": [{"role": "lead", "id": 1}, {"role": "x"}], "role": "lead"}, {"role": "lead", "id": 1}]"#,
            ],
            ["$..like({a: null})", r#"[{"a": null}, {}]"#, r#"[{"a": null}]"#],
            ["$.deep_like(5)", "[]", "error"],
        ]),
    Builtin::value("walk", walk)
        .takes(&[Parameter::Each("expression")])
        .doc("The value with the expression in the place of everything inside it, and of itself, from the inside to the outside.")
        .examples(&[
            ["$.walk(@ + 1 if @ is number else @)", r#"{"a": [1, [2]]}"#, r#"{"a": [2, [3]]}"#],
            ["$.walk(@.sum() if @ is array else @)", "[1, [2, [3]]]", "6"],
            ["$.walk([@, [@]])", "null", "[null, [null]]"],
        ]),
    Builtin::value("walk_pre", walk_pre)
        .takes(&[Parameter::Each("expression")])
        .doc("As `walk`, but from the outside to the inside, so that the values of the expression are walked as well.")
        .examples(&[
            ["$.walk_pre(@ + 1 if @ is number else @)", r#"{"a": [1, [2]]}"#, r#"{"a": [2, [3]]}"#],
            ["$.walk_pre(@.a ?? @)", r#"{"a": [{"a": 1}, 2]}"#, "[1, 2]"],
            ["$.walk_pre([@])", "1", "error"],
        ]),
    Builtin::value("rec", rec)
        .takes(&[Parameter::Each("expression"), Parameter::Each("condition")])
        .required(1)
        .doc("The expression applied to the value, to the result of that, and so on, until nothing changes or the condition is not truthy. More than 10,000 times is an error.")
        .examples(&[
            ["$.rec(@ * 2, @ < 10)", "1", "16"],
            ["$.rec(n => n + 1 if n < 10 else n)", "0", "10"],
            ["$.rec(@ + 1)", "1", "error"],
        ]),
    Builtin::stage("trace_path", trace_path)
        .takes(&[Parameter::EachRest("condition")])
        .doc("As `deep_find`, but each with the path to it, as an object with `path` and `value`.")
        .examples(&[
            [
                "$.trace_path(@ == 2)",
                r#"{"a": {"b": [1, 2]}}"#,
                r#"[{"path": "$.a.b[1]", "value": 2}]"#,
            ],
            [
                "$.trace_path(@ is number)",
                r#"{"a b": 1}"#,
                r#"[{"path": "$[\"a b\"]", "value": 1}]"#,
            ],
            ["$.trace_path(true)", "7", r#"[{"path": "$", "value": 7}]"#],
        ]),
]);

fn deep_find<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let value = machine.eval(receiver)?;
    visit(value, machine.arena, &mut |node| {
        // What has no such field is not looked for; that is no wrong kind.
        let strict = std::mem::take(&mut machine.strict);
        let accepted = accepted(machine, args, node);
        machine.strict = strict;
        if accepted? { sink(machine, node) } else { Ok(Flow::Continue) }
    })
}

/// Whether all conditions hold for a node.
fn accepted<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    conditions: &'p [Arg],
    node: Value<'r>,
) -> Evaluated<'r, bool> {
    for condition in conditions {
        if !machine.accepts(condition, node)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn deep_shape<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let arena = machine.arena;
    let mut keys = BumpVec::new_in(arena);
    for arg in args {
        let wanted = machine.value_of(arg)?;
        match (wanted.as_str(arena), wanted.as_object(arena)) {
            (Some(key), _) => keys.push(key),
            (_, Some(entries)) => keys.extend(entries.iter().map(|entry| entry.0)),
            _ => {
                let shown = numbers::shown(wanted, arena);
                return Err(Fault::new(format!("a shape is {{key, key}}, not {shown}")));
            }
        }
    }
    deep_objects(machine, receiver, sink, |object| keys.iter().all(|key| object.get(key).is_some()))
}

fn deep_like<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let arena = machine.arena;
    let like = machine.value_of(&args[0])?;
    let Some(wanted) = like.as_object(arena) else {
        let shown = numbers::shown(like, arena);
        return Err(Fault::new(format!("fields to look for are {{key: value}}, not {shown}")));
    };
    deep_objects(machine, receiver, sink, |object| {
        wanted
            .iter()
            .all(|(key, value)| object.get(key).is_some_and(|found| equal(found, *value, arena)))
    })
}

/// Push the objects in a value, and itself if it is one, that are `wanted`.
fn deep_objects<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    sink: &mut Sink<'_, 'p, 'r>,
    wanted: impl Fn(Value<'r>) -> bool,
) -> Evaluated<'r, Flow> {
    let value = machine.eval(receiver)?;
    visit(value, machine.arena, &mut |node| {
        let found = node.kind() == Kind::Object && wanted(node);
        if found { sink(machine, node) } else { Ok(Flow::Continue) }
    })
}

fn walk<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    walk_up(machine, receiver, &args[0])
}

/// A node with its new children and then changed itself.
fn walk_up<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    node: Value<'r>,
    expression: &'p Arg,
) -> Evaluated<'r> {
    let rebuilt = rebuilt(machine, node, |machine, child| walk_up(machine, child, expression))?;
    machine.apply(expression, rebuilt)
}

fn walk_pre<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    walk_down(machine, receiver, &args[0], json::MAX_DEPTH)
}

/// A node changed itself and then with its new children.
fn walk_down<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    node: Value<'r>,
    expression: &'p Arg,
    levels: u32,
) -> Evaluated<'r> {
    let changed = machine.apply(expression, node)?;
    rebuilt(machine, changed, |machine, child| {
        // All of the result is gone into, so it is enough to see where that goes too deep.
        let below = levels.checked_sub(1).ok_or_else(too_deep)?;
        walk_down(machine, child, expression, below)
    })
}

/// A container with what `change` makes of each of its children; anything else as it is.
fn rebuilt<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    node: Value<'r>,
    mut change: impl FnMut(&mut Machine<'p, 'r>, Value<'r>) -> Evaluated<'r>,
) -> Evaluated<'r> {
    let arena = machine.arena;
    if let Some(elements) = node.as_array(arena) {
        let mut changed = BumpVec::with_capacity_in(elements.len(), arena);
        for element in elements {
            changed.push(change(machine, *element)?);
        }
        return Ok(Value::Array(changed.into_bump_slice()));
    }
    if let Some(entries) = node.as_object(arena) {
        let mut changed = BumpVec::with_capacity_in(entries.len(), arena);
        for (key, value) in entries {
            changed.push((*key, change(machine, *value)?));
        }
        return Ok(Value::Object(changed.into_bump_slice()));
    }
    Ok(node)
}

fn rec<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    const MOST: u32 = 10_000;
    let arena = machine.arena;
    let mut value = receiver;
    for _ in 0..MOST {
        if let Some(condition) = args.get(1)
            && !machine.accepts(condition, value)?
        {
            return Ok(value);
        }
        let next = machine.apply(&args[0], value)?;
        if args.len() == 1 && equal(next, value, arena) {
            return Ok(next);
        }
        value = next;
    }
    Err(Fault::new("rec has not come to an end after 10000 steps"))
}

fn trace_path<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let value = machine.eval(receiver)?;
    let mut path = "$".to_owned();
    trace(machine, value, args, &mut path, sink)
}

/// Push the accepted ones of a node, which `path` leads to, and everything inside it.
fn trace<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    node: Value<'r>,
    args: &'p [Arg],
    path: &mut String,
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let arena = machine.arena;
    if accepted(machine, args, node)? {
        let found: [Entry<'r>; 2] = [("path", Value::Str(arena.alloc_str(path))), ("value", node)];
        if sink(machine, Value::Object(arena.alloc_slice_copy(&found)))? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    let length = path.len();
    for (at, element) in node.as_array(arena).unwrap_or(&[]).iter().enumerate() {
        paths::append_index(path, at);
        if trace(machine, *element, args, path, sink)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        path.truncate(length);
    }
    for (key, value) in node.as_object(arena).unwrap_or(&[]) {
        paths::append_key(path, key);
        if trace(machine, *value, args, path, sink)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        path.truncate(length);
    }
    Ok(Flow::Continue)
}
