//! Several elements seen together: sorted, grouped, cut up.
//!
//! What can do without the elements that come later passes on what it has; only sorting and
//! grouping wait for the last one.

use std::cmp::Ordering;

use bumpalo::{
    Bump,
    collections::{String as BumpString, Vec as BumpVec},
};

use super::{
    Builtin, Parameter, in_group,
    iteration::{accepted, count_of},
    reshape,
};
use crate::{
    query::{
        Arg, ExprId, Fault, Machine,
        deep::{Fields, Seen},
        machine::{Evaluated, Flow, Sink},
        numbers::{colliding, no_elements, shown},
    },
    value::{Entry, Kind, Value, compare, key_of},
};

pub(super) static BUILTINS: &[Builtin] = &in_group("Sorting and grouping", [
    Builtin::stage("sort", sort)
        .takes(&[Parameter::EachRest("key")])
        .required(0)
        .aliases(&["sort_by"])
        .doc("The elements in order: null, false, true, numbers, texts, arrays, objects. With keys, by these; a minus before a key sorts downwards. Equal elements keep their order. A lambda of two elements returns whether the first goes before the second.")
        .examples(&[
            ["[3, 1, 2].sort()", "null", "[1, 2, 3]"],
            [
                "$.sort(-city, age).map(name)",
                r#"[{"name": "Ada", "city": "Rom", "age": 36}, {"name": "Bob", "city": "Ulm", "age": 9}, {"name": "Cy", "city": "Ulm", "age": 7}]"#,
                r#"["Cy", "Bob", "Ada"]"#,
            ],
            ["[3, 1, 2].sort((a, b) => a > b)", "null", "[3, 2, 1]"],
            [r#"["b", 2, null, "a", true].sort()"#, "null", r#"[null, true, 2, "a", "b"]"#],
        ]),
    Builtin::reduce("reverse", reverse)
        .doc("The elements, or the characters of a text, from the last to the first.")
        .examples(&[
            ["[3, 1, 2].reverse()", "null", "[2, 1, 3]"],
            [r#""abc".reverse()"#, "null", r#""cba""#],
            ["null.reverse()", "null", "[]"],
        ]),
    Builtin::stage("unique", unique)
        .aliases(&["distinct"])
        .doc("The elements without duplicates; the first of equal ones stays.")
        .examples(&[
            ["[1, 2, 1, 1.0].unique()", "null", "[1, 2]"],
            [r#"[1, "1"].unique()"#, "null", r#"[1, "1"]"#],
            ["null.unique()", "null", "[]"],
        ]),
    Builtin::stage("unique_by", unique_by)
        .takes(&[Parameter::Each("key")])
        .aliases(&["distinct_by"])
        .doc("The elements without duplicate keys; the first element of each key stays.")
        .examples(&[[
            "$.unique_by(city).map(name)",
            r#"[{"name": "Ada", "city": "Rom"}, {"name": "Bob", "city": "Ulm"}, {"name": "Cy", "city": "Ulm"}]"#,
            r#"["Ada", "Bob"]"#,
        ]]),
    Builtin::reduce("group_by", group_by)
        .takes(&[Parameter::Each("key")])
        .doc("An object with an array of elements for each key, in the order of the first occurrence. A key that is no text becomes text; two keys of different kinds with the same text, such as 1 and \"1\", are an error.")
        .examples(&[
            ["[1, 2, 3].group_by(@ % 2)", "null", r#"{"1": [1, 3], "0": [2]}"#],
            ["$.group_by(a)", r#"[{"a": "x"}, {}]"#, r#"{"x": [{"a": "x"}], "null": [{}]}"#],
            [r#"[1, "1"].group_by(@)"#, "null", "error"],
            [r#"[1, "1"].group_by(@ as string)"#, "null", r#"{"1": [1, "1"]}"#],
            ["null.group_by(@)", "null", "{}"],
        ]),
    Builtin::reduce("count_by", count_by)
        .takes(&[Parameter::Each("key")])
        .doc("An object with the number of elements for each key, in the order of the first occurrence; see group_by.")
        .examples(&[
            ["$.count_by(a)", r#"[{"a": "x"}, {"a": "y"}, {"a": "x"}]"#, r#"{"x": 2, "y": 1}"#],
            ["[].count_by(@)", "null", "{}"],
        ]),
    Builtin::reduce("index_by", index_by)
        .takes(&[Parameter::Each("key")])
        .doc("An object with the last element for each key, in the order of the first occurrence; see group_by.")
        .examples(&[[
            "$.index_by(id)",
            r#"[{"id": 1}, {"id": 2}, {"id": 1, "n": 5}]"#,
            r#"{"1": {"id": 1, "n": 5}, "2": {"id": 2}}"#,
        ]]),
    Builtin::reduce("partition", partition)
        .takes(&[Parameter::EachRest("condition")])
        .doc("Two arrays: the elements for which every condition is truthy, and the others.")
        .examples(&[
            ["[3, 1, 2].partition(@ > 1)", "null", "[[3, 2], [1]]"],
            ["null.partition(@)", "null", "[[], []]"],
        ]),
    Builtin::stage("flatten", flatten)
        .takes(&[Parameter::Value("depth")])
        .required(0)
        .doc("The elements, each array replaced by its elements; with a depth, that is repeated as often.")
        .examples(&[
            ["[[1, [2]], 3].flatten()", "null", "[1, [2], 3]"],
            ["[[1, [2]], 3].flatten(2)", "null", "[1, 2, 3]"],
        ]),
    Builtin::stage("chunk", reshape::chunk)
        .takes(&[Parameter::Value("size")])
        .aliases(&["batch"])
        .doc("Arrays of `size` elements each, the last one of the rest.")
        .examples(&[
            ["[1, 2, 3].chunk(2)", "null", "[[1, 2], [3]]"],
            ["[1, 2].chunk(0)", "null", "error"],
        ]),
    Builtin::stage("window", reshape::window)
        .takes(&[Parameter::Value("size")])
        .doc("For each element, an array of it and the next ones, `size` in all, as long as there are that many.")
        .examples(&[
            ["[1, 2, 3].window(2)", "null", "[[1, 2], [2, 3]]"],
            ["[1, 2].window(3)", "null", "[]"],
        ]),
    Builtin::stage("enumerate", reshape::enumerate)
        .doc("An object for each element: its position as `index`, and itself as `value`.")
        .examples(&[[
            r#"["a", "b"].enumerate()"#,
            "null",
            r#"[{"index": 0, "value": "a"}, {"index": 1, "value": "b"}]"#,
        ]]),
    Builtin::stage("pairwise", reshape::pairwise)
        .doc("Each element with the one behind it.")
        .examples(&[
            ["[1, 2, 3].pairwise()", "null", "[[1, 2], [2, 3]]"],
            ["[1].pairwise()", "null", "[]"],
        ]),
    Builtin::reduce("group_shape", reshape::group_shape)
        .takes(&[Parameter::Each("by"), Parameter::Each("shape")])
        .required(0)
        .doc("As `group_by`, with the second expression in the place of each group. Without a key, objects with the same field names are a group, under these names, sorted and joined by commas.")
        .examples(&[
            [
                "$.group_shape(g, @.sum(n))",
                r#"[{"g": "a", "n": 1}, {"g": "a", "n": 2}]"#,
                r#"{"a": 3}"#,
            ],
            [
                "$.group_shape()",
                r#"[{"b": 1, "a": 2}, {"a": 3}, {"a": 4, "b": 5}]"#,
                r#"{"a,b": [{"b": 1, "a": 2}, {"a": 4, "b": 5}], "a": [{"a": 3}]}"#,
            ],
        ]),
    Builtin::stage("explode", reshape::explode)
        .takes(&[Parameter::Name("field")])
        .doc("An object for each element of the array in a field, with that element in the field. Other elements are unchanged.")
        .examples(&[[
            "$.explode(t)",
            r#"[{"a": 1, "t": [1, 2]}, {"a": 2, "t": []}, {"a": 3}]"#,
            r#"[{"a": 1, "t": 1}, {"a": 1, "t": 2}, {"a": 3}]"#,
        ]]),
    Builtin::stage("implode", reshape::implode)
        .takes(&[Parameter::Name("field")])
        .doc("One object for all objects that are equal except for a field, with an array of the values of that field. Other elements are unchanged.")
        .examples(&[[
            "$.implode(t)",
            r#"[{"a": 1, "t": 1}, {"a": 2, "t": 3}, {"a": 1, "t": 2}]"#,
            r#"[{"a": 1, "t": [1, 2]}, {"a": 2, "t": [3]}]"#,
        ]]),
]);

fn sort<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let elements = machine.elements(receiver)?;
    let sorted = match args {
        [arg] if arg.params.len() == 2 => {
            let mut before = |left: Value<'r>, right: Value<'r>| {
                let before = machine.apply_all(arg, &[left, right])?;
                if before.kind() == Kind::Number {
                    let shown = shown(before, machine.arena);
                    return Err(Fault::new(format!(
                        "the lambda of a sort says whether its first element goes before its second, not {shown}"
                    )));
                }
                Ok(before.truthy(machine.arena))
            };
            merge_sorted(elements.to_vec(), &mut before)?
        }
        _ => sorted_by_keys(machine, args, &elements)?,
    };
    for element in sorted {
        if sink(machine, element)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

fn sorted_by_keys<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    args: &'p [Arg],
    elements: &[Value<'r>],
) -> Evaluated<'r, Vec<Value<'r>>> {
    let arena = machine.arena;
    let per_element = args.len().max(1);
    let mut descending = vec![false; per_element];
    let mut keys = Vec::with_capacity(elements.len() * per_element);
    for element in elements {
        for (arg, descending) in args.iter().zip(&mut descending) {
            let key;
            (key, *descending) = machine.sort_key(arg, *element)?;
            keys.push(comparable(key, arena));
        }
        if args.is_empty() {
            keys.push(comparable(*element, arena));
        }
    }
    let mut sorted: Vec<_> = keys.chunks(per_element).zip(elements).collect();
    sorted.sort_by(|(left, _), (right, _)| {
        let orders = left.iter().zip(*right).zip(&descending).map(|((left, right), descending)| {
            let order = order(*left, *right, arena);
            if *descending { order.reverse() } else { order }
        });
        orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    });
    Ok(sorted.into_iter().map(|(_, element)| *element).collect())
}

/// [`compare`], with a short way for what most keys are.
fn order<'r>(left: Value<'r>, right: Value<'r>, arena: &'r Bump) -> Ordering {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => left.cmp(&right),
        (Value::Str(left), Value::Str(right)) => left.cmp(right),
        _ => compare(left, right, arena),
    }
}

/// A value that is decoded once, not each time it is compared.
fn comparable<'r>(value: Value<'r>, arena: &'r Bump) -> Value<'r> {
    match value.kind() {
        Kind::Array | Kind::Object => value.copied(arena, arena),
        _ => value.resolved(arena),
    }
}

/// A stable sort that gets along with any answers: those of a query need not make up an
/// order, which the sort of the standard library insists on.
fn merge_sorted<T: Copy, E>(
    mut elements: Vec<T>,
    before: &mut impl FnMut(T, T) -> Result<bool, E>,
) -> Result<Vec<T>, E> {
    let mut run = 1;
    while run < elements.len() {
        let mut merged = Vec::with_capacity(elements.len());
        for pair in elements.chunks(2 * run) {
            let (mut left, mut right) = pair.split_at(run.min(pair.len()));
            while let ([first, rest @ ..], [second, others @ ..]) = (left, right) {
                // Where the answer is yes both ways, as of `<=` for equal ones, they stay.
                if before(*second, *first)? && !before(*first, *second)? {
                    merged.push(*second);
                    right = others;
                } else {
                    merged.push(*first);
                    left = rest;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        elements = merged;
        run *= 2;
    }
    Ok(elements)
}

fn reverse<'r, 'p>(machine: &mut Machine<'p, 'r>, receiver: ExprId, _: &'p [Arg]) -> Evaluated<'r> {
    let arena = machine.arena;
    let receiver = machine.eval(receiver)?;
    if let Some(text) = receiver.as_str(arena) {
        let reversed = BumpString::from_iter_in(text.chars().rev(), arena);
        return Ok(Value::Str(reversed.into_bump_str()));
    }
    let mut elements = BumpVec::new_in(arena);
    match receiver.as_array(arena) {
        Some(values) => elements.extend(values.iter().rev().copied()),
        None if receiver.is_null() => {}
        None => return Err(no_elements(receiver, arena)),
    }
    Ok(Value::Array(elements.into_bump_slice()))
}

fn unique<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    _: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let mut seen = Seen::new(machine.arena);
    machine.each(receiver, &mut |machine, element| {
        if seen.insert(element) { sink(machine, element) } else { Ok(Flow::Continue) }
    })
}

fn unique_by<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let mut seen = Seen::new(machine.arena);
    machine.each(receiver, &mut |machine, element| {
        let key = machine.apply(&args[0], element)?;
        if seen.insert(key) { sink(machine, element) } else { Ok(Flow::Continue) }
    })
}

/// The key of an object, and the kind of the value it was made of.
type Key<'r> = (&'r str, Kind);

/// What is kept for each key, once all elements with their keys were handed to `note`.
///
/// # Errors
/// A fault on the way, or keys of two kinds have one text.
fn by_key<'r, 'p, T: 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    key: &mut dyn FnMut(&mut Machine<'p, 'r>, Value<'r>) -> Evaluated<'r, Key<'r>>,
    note: &mut dyn FnMut(Option<&mut T>, Value<'r>) -> Option<T>,
) -> Evaluated<'r, Vec<(&'r str, T)>> {
    let mut kept: Fields<'r, (Kind, T)> = Fields::new(machine.arena);
    machine.each(receiver, &mut |machine, element| {
        let (key, kind) = key(machine, element)?;
        let there = kept.get_mut(key);
        if let Some((other, _)) = &there
            && *other != kind
        {
            return Err(colliding(key, *other, kind));
        }
        if let Some(first) = note(there.map(|(_, noted)| noted), element) {
            kept.put(key, (kind, first));
        }
        Ok(Flow::Continue)
    })?;
    Ok(kept.into_entries().into_iter().map(|(key, (_, noted))| (key, noted)).collect())
}

/// The key that an argument gives, as the key of an object.
pub(super) fn key_text<'r, 'p>(
    arg: &'p Arg,
) -> impl FnMut(&mut Machine<'p, 'r>, Value<'r>) -> Evaluated<'r, Key<'r>> {
    |machine, element| {
        let key = machine.apply(arg, element)?;
        Ok((key_of(key, machine.arena), key.kind()))
    }
}

/// The elements of each key.
pub(super) fn grouped<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    key: &mut dyn FnMut(&mut Machine<'p, 'r>, Value<'r>) -> Evaluated<'r, Key<'r>>,
) -> Evaluated<'r, Vec<Entry<'r>>> {
    let arena = machine.arena;
    let groups = by_key(machine, receiver, key, &mut |group, element| match group {
        None => Some(vec![element]),
        Some(group) => {
            group.push(element);
            None
        }
    })?;
    let arrays = groups.into_iter().map(|(key, group)| {
        let group: &'r [Value<'r>] = arena.alloc_slice_copy(&group);
        (key, Value::Array(group))
    });
    Ok(arrays.collect())
}

fn group_by<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let groups = grouped(machine, receiver, &mut key_text(&args[0]))?;
    Ok(Value::Object(machine.arena.alloc_slice_copy(&groups)))
}

fn count_by<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let counts = by_key(machine, receiver, &mut key_text(&args[0]), &mut |count, _| match count {
        None => Some(1),
        Some(count) => {
            *count += 1;
            None
        }
    })?;
    let entries = counts.into_iter().map(|(key, count)| (key, Value::Int(count)));
    Ok(Value::Object(BumpVec::from_iter_in(entries, machine.arena).into_bump_slice()))
}

fn index_by<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let entries =
        by_key(machine, receiver, &mut key_text(&args[0]), &mut |_, element| Some(element))?;
    Ok(Value::Object(machine.arena.alloc_slice_copy(&entries)))
}

fn partition<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let arena = machine.arena;
    let (mut matching, mut others) = (Vec::new(), Vec::new());
    machine.each(receiver, &mut |machine, element| {
        let side = if accepted(machine, args, element)? { &mut matching } else { &mut others };
        side.push(element);
        Ok(Flow::Continue)
    })?;
    let sides = [matching, others].map(|side| Value::Array(arena.alloc_slice_copy(&side)));
    Ok(Value::Array(arena.alloc_slice_copy(&sides)))
}

fn flatten<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let depth = args.first().map_or(Ok(1), |arg| count_of(machine, arg))?;
    machine.each(receiver, &mut |machine, element| push_flat(machine, element, depth, sink))
}

fn push_flat<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    value: Value<'r>,
    depth: usize,
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    if depth == 0 || value.kind() != Kind::Array {
        return sink(machine, value);
    }
    machine.each_of(value, &mut |machine, element| push_flat(machine, element, depth - 1, sink))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(elements: &[u32], before: impl Fn(u32, u32) -> bool) -> Vec<u32> {
        let mut before = |left, right| Ok::<_, ()>(before(left, right));
        merge_sorted(elements.to_vec(), &mut before).unwrap()
    }

    #[test]
    fn a_comparator_sorts_and_keeps_equal_ones_as_they_come() {
        for length in 0..70 {
            let elements: Vec<u32> = (0..length).map(|at| at * 7919 % 101).collect();
            let mut expected = elements.clone();
            expected.sort_by_key(|element| element / 10);
            assert_eq!(sorted(&elements, |left, right| left / 10 < right / 10), expected);
            assert_eq!(sorted(&elements, |left, right| left / 10 <= right / 10), expected);
        }
    }

    #[test]
    fn answers_that_are_no_order_lose_nothing() {
        let elements: Vec<u32> = (0..100).collect();
        for answer in [true, false] {
            assert_eq!(sorted(&elements, |_, _| answer), elements);
        }
        let mut mixed = sorted(&elements, |left, right| (left * 31 + right * 17) % 5 < 2);
        mixed.sort_unstable();
        assert_eq!(mixed, elements);
    }

    #[test]
    fn a_comparator_that_fails_ends_the_sort() {
        assert_eq!(merge_sorted(vec![1, 2], &mut |_, _| Err("no")), Err("no"));
    }
}
