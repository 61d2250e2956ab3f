//! Elements in groups, each of which becomes a row, and elements numbered within groups.
//!
//! The compiler gives these calls their arguments: each key has the name of its field, and the
//! last argument of `group` and `aggregate` is an object about the array of a group's elements.

use std::cmp::Ordering;

use bumpalo::collections::Vec as BumpVec;

use super::{Builtin, Parameter, in_group, reshape::with_field};
use crate::{
    query::{
        Arg, ExprId, Fault, Machine,
        deep::Seen,
        machine::{Evaluated, Flow, Sink},
        numbers::{count, shown},
    },
    value::{Value, compare},
};

pub(super) static BUILTINS: &[Builtin] = &in_group("Aggregates", [
    Builtin::stage("group", group)
        .takes(&[Parameter::EachRest("keys and aggregates")])
        .required(2)
        .doc("A row for each group of elements with equal keys, in the order the groups first \
              come: the keys, then the aggregates. A key is a field, or has a name as in \
              `hour: trunc_time(t, \"hour\")`. Among the aggregates, `count()`, `sum(v)` and the \
              other functions of elements are about the elements of the group, which are `@`.")
        .examples(&[
            [
                "$.group(city, {n: count(), total: sum(v)})",
                r#"[{"city": "Rom", "v": 1}, {"city": "Ulm", "v": 2}, {"city": "Rom", "v": 4}]"#,
                r#"[{"city": "Rom", "n": 2, "total": 5}, {"city": "Ulm", "n": 1, "total": 2}]"#,
            ],
            [
                "[1, 2, 3, 4].group(odd: @ % 2 == 1, {n: count(), top: max()})",
                "null",
                r#"[{"odd": true, "n": 2, "top": 3}, {"odd": false, "n": 2, "top": 4}]"#,
            ],
            [
                "$.group(k, {rows: @})",
                r#"[{"k": 1}, {"k": "1"}, {}]"#,
                r#"[{"k": 1, "rows": [{"k": 1}]}, {"k": "1", "rows": [{"k": "1"}]}, {"k": null, "rows": [{}]}]"#,
            ],
            ["[1].group(@, {n: count()})", "null", "error"],
            ["[1].group(k: @, {v})", "null", "error"],
        ]),
    Builtin::reduce("aggregate", aggregate)
        .takes(&[Parameter::Each("aggregates")])
        .doc("One object with several aggregates of all elements, each as in `group`.")
        .examples(&[
            [
                "$.aggregate({n: count(), total: sum(v), per: sum(v) / count()})",
                r#"[{"v": 1}, {"v": 4}]"#,
                r#"{"n": 2, "total": 5, "per": 2.5}"#,
            ],
            ["[].aggregate({n: count(), top: max()})", "null", r#"{"n": 0, "top": null}"#],
        ]),
    Builtin::stage("row_number", |machine, receiver, args, sink| {
            numbered(machine, receiver, args, sink, "row_number")
        })
        .takes(&[Parameter::EachRest("order")])
        .required(0)
        .doc("Each object with its place from 1 on in a field `row_number`, or the one that \
              `as:` names: the place in the order of keys as in `sort`, or as they come. With \
              `by:`, among those with the same key. The elements stay where they are.")
        .examples(&[
            [
                "$.row_number(-v).map([v, row_number])",
                r#"[{"v": 1}, {"v": 3}, {"v": 3}]"#,
                "[[1, 3], [3, 1], [3, 2]]",
            ],
            [
                r#"$.row_number(by: k, as: "n")"#,
                r#"[{"k": "a"}, {"k": "b"}, {"k": "a"}]"#,
                r#"[{"k": "a", "n": 1}, {"k": "b", "n": 1}, {"k": "a", "n": 2}]"#,
            ],
            ["[1].row_number(@)", "null", "error"],
        ]),
    Builtin::stage("rank", |machine, receiver, args, sink| {
            numbered(machine, receiver, args, sink, "rank")
        })
        .takes(&[Parameter::EachRest("order")])
        .doc("As `row_number`, but equal elements have the same place, in a field `rank`, and \
              the next one counts them: 1, 1, 3.")
        .examples(&[["$.rank(-v).map(rank)", r#"[{"v": 1}, {"v": 3}, {"v": 3}]"#, "[3, 1, 1]"]]),
    Builtin::stage("dense_rank", |machine, receiver, args, sink| {
            numbered(machine, receiver, args, sink, "dense_rank")
        })
        .takes(&[Parameter::EachRest("order")])
        .doc("As `rank`, without gaps behind equal elements: 1, 1, 2.")
        .examples(&[[
            "$.dense_rank(-v, by: k).map(dense_rank)",
            r#"[{"v": 1}, {"v": 3}, {"v": 3}, {"v": 7, "k": 1}]"#,
            "[2, 1, 1, 1]",
        ]]),
]);

fn group<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let arena = machine.arena;
    let Some((aggregates, keys)) = args.split_last() else { return Ok(Flow::Continue) };
    let mut places = Places::new(machine);
    let mut groups: Vec<(&'r [Value<'r>], Vec<Value<'r>>)> = Vec::new();
    machine.each(receiver, &mut |machine, element| {
        let key = keys_of(machine, keys, element)?;
        let place = places.of(Value::Array(key));
        if place == groups.len() {
            groups.push((key, Vec::new()));
        }
        groups[place].1.push(element);
        Ok(Flow::Continue)
    })?;
    for (key, elements) in groups {
        let elements = Value::Array(arena.alloc_slice_copy(&elements));
        let found = machine.apply(aggregates, elements)?;
        let mut row = BumpVec::new_in(arena);
        for (arg, value) in keys.iter().zip(key) {
            row.push((&*arena.alloc_str(arg.name.as_deref().unwrap_or_default()), *value));
        }
        row.extend_from_slice(found.as_object(arena).unwrap_or_default());
        if sink(machine, Value::Object(row.into_bump_slice()))? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

fn aggregate<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let elements = machine.elements(receiver)?;
    machine.apply(&args[0], Value::Array(elements.into_bump_slice()))
}

fn keys_of<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    args: &'p [Arg],
    element: Value<'r>,
) -> Evaluated<'r, &'r [Value<'r>]> {
    let mut keys = BumpVec::with_capacity_in(args.len(), machine.arena);
    for arg in args {
        keys.push(machine.apply(arg, element)?);
    }
    Ok(keys.into_bump_slice())
}

/// The places of groups by their keys, in the order in which these came.
struct Places<'r> {
    seen: Seen<'r>,
    count: usize,
}

impl<'r> Places<'r> {
    fn new(machine: &Machine<'_, 'r>) -> Self {
        Self { seen: Seen::new(machine.arena), count: 0 }
    }

    /// The place of a group; that of a new one is how many there were.
    fn of(&mut self, key: Value<'r>) -> usize {
        if let Some(place) = self.seen.position(key) {
            return place;
        }
        self.seen.insert(key);
        self.count += 1;
        self.count - 1
    }
}

/// An element, and where it belongs.
struct Ranked<'r> {
    element: Value<'r>,
    group: usize,
    order: Vec<(Value<'r>, bool)>,
    place: usize,
}

fn numbered<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
    kind: &'static str,
) -> Evaluated<'r, Flow> {
    let arena = machine.arena;
    let named = |name: &str| args.iter().find(|arg| arg.name.as_deref() == Some(name));
    let by = named("by");
    let field = match named("as") {
        None => kind,
        Some(arg) => super::reshape::field_of(machine, arg)?,
    };
    let mut places = Places::new(machine);
    let mut ranked: Vec<Ranked<'r>> = Vec::new();
    machine.each(receiver, &mut |machine, element| {
        if element.as_object(arena).is_none() {
            let shown = shown(element, arena);
            return Err(Fault::new(format!("{kind} takes objects, not {shown}")));
        }
        let key = by.map_or(Ok(Value::Null), |arg| machine.apply(arg, element))?;
        let mut order = Vec::new();
        for arg in args.iter().filter(|arg| arg.name.is_none()) {
            let (key, falls) = machine.sort_key(arg, element)?;
            order.push((key.resolved(arena), falls));
        }
        ranked.push(Ranked { element, group: places.of(key), order, place: 0 });
        Ok(Flow::Continue)
    })?;
    let mut sorted: Vec<usize> = (0..ranked.len()).collect();
    sorted.sort_by(|left, right| {
        let (left, right) = (&ranked[*left], &ranked[*right]);
        left.group.cmp(&right.group).then_with(|| in_order(left, right, machine))
    });
    // Of the group so far: how many there were, the last one, and its place.
    let (mut before, mut last, mut place) = (0, None, 0);
    for at in sorted {
        let again = last.filter(|last: &usize| ranked[*last].group == ranked[at].group);
        before = if again.is_some() { before + 1 } else { 0 };
        let equal = again.is_some_and(|last| in_order(&ranked[last], &ranked[at], machine).is_eq());
        place = match kind {
            "dense_rank" if again.is_some() => place + usize::from(!equal),
            "rank" if equal => place,
            _ => before + 1,
        };
        ranked[at].place = place;
        last = Some(at);
    }
    for Ranked { element, place, .. } in ranked {
        let entries = element.as_object(arena).unwrap_or_default();
        let row = with_field(entries, field, count(place), arena);
        if sink(machine, row)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

fn in_order<'r>(left: &Ranked<'r>, right: &Ranked<'r>, machine: &Machine<'_, 'r>) -> Ordering {
    let pairs = left.order.iter().zip(&right.order);
    pairs.fold(Ordering::Equal, |order, ((left, falls), (right, _))| {
        order.then_with(|| {
            let order = compare(*left, *right, machine.arena);
            if *falls { order.reverse() } else { order }
        })
    })
}
