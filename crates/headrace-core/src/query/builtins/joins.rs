//! Joins of arrays; of streams they are stages, which mean the same.

use bumpalo::Bump;

use super::{Builtin, Parameter, Size, arrays::others, in_group, limited};
use crate::{
    query::{
        Arg, ExprId, JoinKind, Machine,
        deep::Seen,
        join::{combined, is_key},
        machine::{Evaluated, Flow, Sink},
    },
    value::Value,
};

const PARAMETERS: &[Parameter] = &[
    Parameter::Value("other"),
    Parameter::Each("on"),
    Parameter::Each("right_on"),
    Parameter::Value("as"),
];

pub(super) static BUILTINS: &[Builtin] = &in_group("Joins", [
    Builtin::stage("join on", |machine, receiver, args, sink| {
            joined(machine, receiver, args, JoinKind::Inner, sink)
        })
        .takes(PARAMETERS)
        .required(2)
        .doc("For each element, and each of the other side with an equal key: both in one, with the fields of the other laid over, or the other under the name that `as` says. Written `.join(other, on: key)`; the key is a field, `[a, b]` for several, or `left == right` where the sides name it differently. Null and what is missing equal nothing.")
        .examples(&[
            [
                "$.orders.join($.users, on: user)",
                r#"{"orders": [{"id": 7, "user": "a"}, {"id": 8, "user": "z"}], "users": [{"user": "a", "name": "Ada"}]}"#,
                r#"[{"id": 7, "user": "a", "name": "Ada"}]"#,
            ],
            [
                "[{id: 7, user: 1}].join([{id: 1, name: \"Ada\"}], on: user == id, as: \"who\")",
                "null",
                r#"[{"id": 7, "user": 1, "who": {"id": 1, "name": "Ada"}}]"#,
            ],
            [
                "[{a: 1, b: 2}].join([{a: 1, b: 2, c: 3}, {a: 1, b: 9, c: 4}], on: [a, b])",
                "null",
                r#"[{"a": 1, "b": 2, "c": 3}]"#,
            ],
        ]),
    Builtin::stage("left_join", |machine, receiver, args, sink| {
            joined(machine, receiver, args, JoinKind::Left, sink)
        })
        .takes(PARAMETERS)
        .required(2)
        .doc("As a join, but an element without an equal key on the other side is unchanged.")
        .examples(&[[
            "[{id: 1}, {id: 2}].left_join([{id: 1, n: \"x\"}, {id: 1, n: \"y\"}], on: id)",
            "null",
            r#"[{"id": 1, "n": "x"}, {"id": 1, "n": "y"}, {"id": 2}]"#,
        ]]),
    Builtin::stage("lookup", |machine, receiver, args, sink| {
            joined(machine, receiver, args, JoinKind::Lookup, sink)
        })
        .takes(PARAMETERS)
        .required(2)
        .doc("As a left join with only the first match of the other side.")
        .examples(&[[
            "[{id: 1}, {id: 2}].lookup([{id: 1, n: \"x\"}, {id: 1, n: \"y\"}], on: id)",
            "null",
            r#"[{"id": 1, "n": "x"}, {"id": 2}]"#,
        ]]),
    Builtin::stage("diff on", |machine, receiver, args, sink| {
            joined(machine, receiver, args, JoinKind::Diff, sink)
        })
        .takes(&[
            Parameter::Value("other"),
            Parameter::Each("on"),
            Parameter::Each("right_on"),
        ])
        .required(2)
        .doc("The elements without an equal key on the other side. Written `.diff(other, on: key)`.")
        .examples(&[[
            "[{id: 1}, {id: 2}, {}].diff([{id: 1.0}, {}], on: id)",
            "null",
            r#"[{"id": 2}, {}]"#,
        ]]),
    Builtin::stage("intersect on", |machine, receiver, args, sink| {
            joined(machine, receiver, args, JoinKind::Intersect, sink)
        })
        .takes(&[
            Parameter::Value("other"),
            Parameter::Each("on"),
            Parameter::Each("right_on"),
        ])
        .required(2)
        .doc("The elements with an equal key on the other side, each once. Written `.intersect(other, on: key)`.")
        .examples(&[[
            "[{id: 1}, {id: 2}].intersect([{id: 1}, {id: 1}], on: id)",
            "null",
            r#"[{"id": 1}]"#,
        ]]),
    Builtin::stage("zip_streams", zip_streams)
        .takes(&[Parameter::Value("other"), Parameter::Value("longest")])
        .required(1)
        .doc("Pairs of the elements at the same position of both sides, up to the end of the shorter; with `longest: true` up to the end of the longer, with null for a missing element.")
        .examples(&[
            ["[1, 2, 3].zip_streams([4, 5])", "null", "[[1, 4], [2, 5]]"],
            ["[1].zip_streams([4, 5], longest: true)", "null", "[[1, 4], [null, 5]]"],
        ]),
]);

fn joined<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    kind: JoinKind,
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let arena = machine.arena;
    let (left_on, right_on) = (&args[1], args.get(2).unwrap_or(&args[1]));
    let name = match args.get(3) {
        Some(name) => machine.value_of(name)?.as_str(arena),
        None => None,
    };
    let mut keys = Seen::new(arena);
    let mut groups: Vec<Vec<Value<'r>>> = Vec::new();
    for &right in others(machine, &args[0])? {
        let key = machine.apply(right_on, right)?;
        if !is_key(key, arena) {
            continue;
        }
        if let Some(group) = keys.position(key).and_then(|at| groups.get_mut(at)) {
            group.push(right);
        } else {
            keys.insert(key);
            groups.push(vec![right]);
        }
    }
    let mut made = 0_usize;
    machine.each(receiver, &mut |machine, left| {
        let key = machine.apply(left_on, left)?;
        let group = is_key(key, arena).then(|| keys.position(key)).flatten();
        let rights = group.and_then(|at| groups.get(at)).map_or(&[][..], Vec::as_slice);
        let alone = match kind {
            JoinKind::Inner => false,
            JoinKind::Left | JoinKind::Lookup | JoinKind::Diff => rights.is_empty(),
            JoinKind::Intersect => !rights.is_empty(),
        };
        if alone {
            return sink(machine, left);
        }
        let most = match kind {
            JoinKind::Inner | JoinKind::Left => rights.len(),
            JoinKind::Lookup => 1,
            JoinKind::Diff | JoinKind::Intersect => 0,
        };
        for right in rights.iter().take(most) {
            made += 1;
            limited(Size::Elements(made))?;
            let row = combined(left, *right, name, arena)?;
            if sink(machine, row)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    })
}

fn zip_streams<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let arena = machine.arena;
    let longest = match args.get(1) {
        Some(longest) => machine.value_of(longest)?.truthy(arena),
        None => false,
    };
    let rights = others(machine, &args[0])?;
    let mut at = 0;
    let mut stopped = Flow::Continue;
    machine.each(receiver, &mut |machine, left| {
        let Some(right) = rights.get(at).copied().or(longest.then_some(Value::Null)) else {
            return Ok(Flow::Stop);
        };
        at += 1;
        stopped = sink(machine, pair(left, right, arena))?;
        Ok(stopped)
    })?;
    for right in rights.iter().skip(at).filter(|_| longest) {
        if stopped == Flow::Stop {
            break;
        }
        stopped = sink(machine, pair(Value::Null, *right, arena))?;
    }
    // As in `take`: the end of a side is not the end for the stages behind.
    Ok(stopped)
}

fn pair<'r>(left: Value<'r>, right: Value<'r>, arena: &'r Bump) -> Value<'r> {
    Value::Array(arena.alloc_slice_copy(&[left, right]))
}
