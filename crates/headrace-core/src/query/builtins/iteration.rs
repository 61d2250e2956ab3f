//! Going over elements: which of them, and how many.

use std::collections::VecDeque;

use bumpalo::collections::Vec as BumpVec;

use super::{Builtin, Parameter, Run, in_group};
use crate::{
    query::{
        Arg, ExprId, Fault, Machine,
        machine::{Evaluated, Flow, Sink},
        numbers::{shown, whole_number},
    },
    value::{Kind, Value, equal},
};

pub(super) static BUILTINS: &[Builtin] = &in_group("Elements", [
    Builtin::new("filter", Run::Filter)
        .takes(&[Parameter::EachRest("condition")])
        .aliases(&["find_all"])
        .doc("The elements for which every condition is truthy.")
        .examples(&[
            ["[3, 1, 2].filter(@ > 1)", "null", "[3, 2]"],
            ["$.a.filter(b)", r#"{"a": {"b": true}}"#, "error"],
            ["$.a.filter(b)", "{}", "[]"],
            [
                "$.filter(age > 30).map(name)",
                r#"[{"name": "Ada", "age": 36}, {"name": "Bob"}]"#,
                r#"["Ada"]"#,
            ],
        ]),
    Builtin::new("map", Run::Map)
        .takes(&[Parameter::Each("expression")])
        .doc("The expression for each element.")
        .examples(&[
            ["[1, 2].map(@ * 2)", "null", "[2, 4]"],
            ["$.map(name)", r#"[{"name": "Ada"}, {}]"#, r#"["Ada", null]"#],
            ["5.map(@ + 1)", "null", "error"],
            ["null.map(@)", "null", "[]"],
        ]),
    Builtin::stage("take", take)
        .takes(&[Parameter::Value("count")])
        .doc("The first `count` elements; nothing behind them is evaluated.")
        .examples(&[
            ["[3, 1, 2].take(2)", "null", "[3, 1]"],
            ["[3, 1, 2].take(4 / 2)", "null", "[3, 1]"],
            ["[1].take(0 - 1)", "null", "error"],
            ["[3, 1, 2].take(1.5)", "null", "error"],
        ]),
    Builtin::reduce("find", find)
        .takes(&[Parameter::EachRest("condition")])
        .aliases(&["find_first"])
        .doc("The first element for which every condition is truthy, or null.")
        .examples(&[["[1, 2, 3].find(@ > 1)", "null", "2"], ["[1].find(@ > 1)", "null", "null"]]),
    Builtin::stage("flat_map", flat_map)
        .takes(&[Parameter::Each("expression")])
        .doc("The expression for each element, with the elements of arrays instead of the arrays; null gives nothing.")
        .examples(&[
            ["[[1], [2, 3]].flat_map(@)", "null", "[1, 2, 3]"],
            [
                "$.flat_map(tags)",
                r#"[{"tags": ["a", "b"]}, {"tags": "c"}, {}]"#,
                r#"["a", "b", "c"]"#,
            ],
        ]),
    Builtin::reduce("find_one", find_one)
        .takes(&[Parameter::EachRest("condition")])
        .doc("The only element for which every condition is truthy; an error if there is none, or another.")
        .examples(&[
            ["[1, 2, 3].find_one(@ == 2)", "null", "2"],
            ["[1, 2, 3].find_one(@ > 1)", "null", "error"],
            ["[1].find_one(@ > 1)", "null", "error"],
        ]),
    Builtin::reduce("find_index", find_index)
        .takes(&[Parameter::EachRest("condition")])
        .doc("The position of the first element for which every condition is truthy, or null.")
        .examples(&[
            ["[5, 6].find_index(@ == 6)", "null", "1"],
            ["[5, 6].find_index(@ > 6)", "null", "null"],
        ]),
    Builtin::stage("indices_where", indices_where)
        .takes(&[Parameter::EachRest("condition")])
        .doc("The positions of all elements for which every condition is truthy.")
        .examples(&[
            ["[3, 1, 2].indices_where(@ > 1)", "null", "[0, 2]"],
            ["null.indices_where(@ > 1)", "null", "[]"],
        ]),
    Builtin::reduce("any", any)
        .takes(&[Parameter::EachRest("condition")])
        .aliases(&["exists"])
        .doc("Whether every condition is truthy for one element at least; nothing behind it is evaluated.")
        .examples(&[
            ["[1, 3].any(@ > 2)", "null", "true"],
            ["[].any(@ > 2)", "null", "false"],
            ["null.any(true)", "null", "false"],
        ]),
    Builtin::reduce("all", all)
        .takes(&[Parameter::EachRest("condition")])
        .doc("Whether every condition is truthy for every element; nothing behind the first that fails is evaluated.")
        .examples(&[
            ["[1, 3].all(@ > 0)", "null", "true"],
            ["[1, 3].all(@ > 1)", "null", "false"],
            ["[].all(@ > 0)", "null", "true"],
        ]),
    Builtin::stage("skip", skip)
        .takes(&[Parameter::Value("count")])
        .aliases(&["drop"])
        .doc("The elements behind the first `count` ones.")
        .examples(&[
            ["[1, 2, 3].skip(1)", "null", "[2, 3]"],
            ["[1].skip(9)", "null", "[]"],
            ["[1].skip(\"one\")", "null", "error"],
        ]),
    Builtin::stage("take_while", take_while)
        .takes(&[Parameter::EachRest("condition")])
        .aliases(&["takewhile"])
        .doc("The elements in front of the first for which a condition is not truthy.")
        .examples(&[
            ["[1, 2, 3, 1].take_while(@ < 3)", "null", "[1, 2]"],
            ["null.take_while(true)", "null", "[]"],
        ]),
    Builtin::stage("drop_while", drop_while)
        .takes(&[Parameter::EachRest("condition")])
        .aliases(&["dropwhile"])
        .doc("The elements from the first on for which a condition is not truthy.")
        .examples(&[
            ["[1, 2, 3, 1].drop_while(@ < 3)", "null", "[3, 1]"],
            ["[1, 2].drop_while(true)", "null", "[]"],
        ]),
    Builtin::reduce("first", first)
        .takes(&[Parameter::Value("count")])
        .required(0)
        .doc("The first element, or null; with a count, an array of that many. Nothing behind is evaluated. Behind `find` and others that give one element, it is that element.")
        .examples(&[
            ["[3, 1, 2].first()", "null", "3"],
            ["[3, 1, 2].first(2)", "null", "[3, 1]"],
            ["[].first()", "null", "null"],
        ]),
    Builtin::reduce("last", last)
        .takes(&[Parameter::Value("count")])
        .required(0)
        .doc("The last element, or null; with a count, an array of that many, in their order.")
        .examples(&[
            ["[3, 1, 2].last()", "null", "2"],
            ["[3, 1, 2].last(2)", "null", "[1, 2]"],
            ["null.last()", "null", "null"],
        ]),
    Builtin::reduce("nth", nth)
        .takes(&[Parameter::Value("position")])
        .doc("The element at a position, counted from 0, or back from -1 for the last; null where there is none.")
        .examples(&[
            ["[3, 1, 2].nth(1)", "null", "1"],
            ["[3, 1, 2].nth(-1)", "null", "2"],
            ["[3, 1, 2].nth(-9)", "null", "null"],
            ["[3, 1, 2].nth(1.5)", "null", "error"],
        ]),
    Builtin::stage("compact", compact)
        .doc("All elements that are not null.")
        .examples(&[
            ["[1, null, 0, false].compact()", "null", "[1, 0, false]"],
            ["null.compact()", "null", "[]"],
        ]),
    Builtin::stage("remove", remove)
        .takes(&[Parameter::Either("value or condition")])
        .doc("All elements but those equal to a value, or those for which a condition is truthy.")
        .examples(&[
            ["[1, 0, 2, 0.0].remove(0)", "null", "[1, 2]"],
            ["[1, -1, 2].remove(@ < 0)", "null", "[1, 2]"],
        ]),
    Builtin::stage("collect", collect)
        .doc("The value as an array: an array is unchanged, null is an empty array, any other value is the only element of an array.")
        .examples(&[
            ["[1, 2].collect()", "null", "[1, 2]"],
            ["5.collect()", "null", "[5]"],
            ["null.collect()", "null", "[]"],
        ]),
]);

/// Push the elements for which all conditions hold.
pub(in crate::query) fn filter<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    machine.each(receiver, &mut |machine, element| {
        if accepted(machine, args, element)? { sink(machine, element) } else { Ok(Flow::Continue) }
    })
}

/// Whether all conditions hold for an element.
pub(super) fn accepted<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    args: &'p [Arg],
    element: Value<'r>,
) -> Evaluated<'r, bool> {
    for arg in args {
        if !machine.accepts(arg, element)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Push the expression for each element.
pub(in crate::query) fn map<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    machine.each(receiver, &mut |machine, element| {
        let mapped = machine.apply(&args[0], element)?;
        sink(machine, mapped)
    })
}

fn take<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let mut left = count_of(machine, &args[0])?;
    if left == 0 {
        return Ok(Flow::Continue);
    }
    let mut stopped = Flow::Continue;
    machine.each(receiver, &mut |machine, element| {
        left -= 1;
        stopped = sink(machine, element)?;
        Ok(if left == 0 { Flow::Stop } else { stopped })
    })?;
    // Having taken enough here does not mean that the stages behind have enough.
    Ok(stopped)
}

/// A number of elements, 0 or more.
pub(super) fn count_of<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    arg: &'p Arg,
) -> Evaluated<'r, usize> {
    let value = machine.value_of(arg)?.resolved(machine.arena);
    let what = match whole_number(value) {
        Some(count @ 0..) => return Ok(usize::try_from(count).unwrap_or(usize::MAX)),
        Some(_) => "0 or more",
        None => "a whole number",
    };
    let shown = shown(value, machine.arena);
    Err(Fault::new(format!("a count must be {what}, not {shown}")))
}

/// The number of elements of a `part`, such as a window: at least one.
pub(super) fn size_of<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    arg: &'p Arg,
    part: &str,
) -> Evaluated<'r, usize> {
    match count_of(machine, arg)? {
        0 => Err(Fault::new(format!("a {part} must have at least 1 element"))),
        size => Ok(size),
    }
}

fn find<'r, 'p>(machine: &mut Machine<'p, 'r>, receiver: ExprId, args: &'p [Arg]) -> Evaluated<'r> {
    let mut found = Value::Null;
    machine.each(receiver, &mut |machine, element| {
        if accepted(machine, args, element)? {
            found = element;
            return Ok(Flow::Stop);
        }
        Ok(Flow::Continue)
    })?;
    Ok(found)
}

fn flat_map<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    machine.each(receiver, &mut |machine, element| {
        let mapped = machine.apply(&args[0], element)?;
        machine.each_or_itself(mapped, sink)
    })
}

fn find_one<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let mut found = None;
    let flow = machine.each(receiver, &mut |machine, element| {
        if !accepted(machine, args, element)? {
            return Ok(Flow::Continue);
        }
        if found.replace(element).is_some() {
            return Ok(Flow::Stop);
        }
        Ok(Flow::Continue)
    })?;
    match found {
        Some(found) if flow == Flow::Continue => Ok(found),
        Some(_) => Err(Fault::new("find_one wants exactly one element, but more than one matches")),
        None => Err(Fault::new("find_one wants exactly one element, but none matches")),
    }
}

fn find_index<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let mut found = Value::Null;
    indices_where(machine, receiver, args, &mut |_, index| {
        found = index;
        Ok(Flow::Stop)
    })?;
    Ok(found)
}

fn indices_where<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let mut at = 0..;
    machine.each(receiver, &mut |machine, element| {
        let index = Value::Int(at.next().unwrap_or(i64::MAX));
        if accepted(machine, args, element)? { sink(machine, index) } else { Ok(Flow::Continue) }
    })
}

fn any<'r, 'p>(machine: &mut Machine<'p, 'r>, receiver: ExprId, args: &'p [Arg]) -> Evaluated<'r> {
    let flow = filter(machine, receiver, args, &mut |_, _| Ok(Flow::Stop))?;
    Ok(Value::Bool(flow == Flow::Stop))
}

fn all<'r, 'p>(machine: &mut Machine<'p, 'r>, receiver: ExprId, args: &'p [Arg]) -> Evaluated<'r> {
    let flow = machine.each(receiver, &mut |machine, element| {
        Ok(if accepted(machine, args, element)? { Flow::Continue } else { Flow::Stop })
    })?;
    Ok(Value::Bool(flow == Flow::Continue))
}

fn skip<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let mut left = count_of(machine, &args[0])?;
    machine.each(receiver, &mut |machine, element| {
        if left == 0 {
            return sink(machine, element);
        }
        left -= 1;
        Ok(Flow::Continue)
    })
}

fn take_while<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let mut stopped = Flow::Continue;
    machine.each(receiver, &mut |machine, element| {
        if !accepted(machine, args, element)? {
            return Ok(Flow::Stop);
        }
        stopped = sink(machine, element)?;
        Ok(stopped)
    })?;
    // As in `take`: the end of the prefix is not the end for the stages behind.
    Ok(stopped)
}

fn drop_while<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let mut dropping = true;
    machine.each(receiver, &mut |machine, element| {
        dropping = dropping && accepted(machine, args, element)?;
        if dropping { Ok(Flow::Continue) } else { sink(machine, element) }
    })
}

fn first<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
) -> Evaluated<'r> {
    if !args.is_empty() {
        let mut elements = BumpVec::new_in(machine.arena);
        take(machine, receiver, args, &mut |_, element| {
            elements.push(element);
            Ok(Flow::Continue)
        })?;
        return Ok(Value::Array(elements.into_bump_slice()));
    }
    if machine.gives_one(receiver) {
        let one = machine.eval(receiver)?;
        if !matches!(one.kind(), Kind::Array | Kind::Null) {
            return Ok(one);
        }
        let elements = one.as_array(machine.arena).unwrap_or_default();
        return Ok(elements.first().copied().unwrap_or(Value::Null));
    }
    let mut first = Value::Null;
    machine.each(receiver, &mut |_, element| {
        first = element;
        Ok(Flow::Stop)
    })?;
    Ok(first)
}

fn last<'r, 'p>(machine: &mut Machine<'p, 'r>, receiver: ExprId, args: &'p [Arg]) -> Evaluated<'r> {
    let count = args.first().map(|arg| count_of(machine, arg)).transpose()?;
    if count == Some(0) {
        return Ok(Value::Array(&[]));
    }
    let elements = ending(machine, receiver, count.unwrap_or(1))?;
    match count {
        None => Ok(elements.front().copied().unwrap_or(Value::Null)),
        Some(_) => {
            Ok(Value::Array(BumpVec::from_iter_in(elements, machine.arena).into_bump_slice()))
        }
    }
}

/// The last elements, `count` of them if there are that many.
fn ending<'r>(
    machine: &mut Machine<'_, 'r>,
    receiver: ExprId,
    count: usize,
) -> Evaluated<'r, VecDeque<Value<'r>>> {
    let mut elements = VecDeque::new();
    machine.each(receiver, &mut |_, element| {
        elements.push_back(element);
        if elements.len() > count {
            elements.pop_front();
        }
        Ok(Flow::Continue)
    })?;
    Ok(elements)
}

fn nth<'r, 'p>(machine: &mut Machine<'p, 'r>, receiver: ExprId, args: &'p [Arg]) -> Evaluated<'r> {
    let position = machine.value_of(&args[0])?.resolved(machine.arena);
    let Some(position) = whole_number(position) else {
        let shown = shown(position, machine.arena);
        return Err(Fault::new(format!("a position must be a whole number, not {shown}")));
    };
    let distance = usize::try_from(position.unsigned_abs()).unwrap_or(usize::MAX);
    if position < 0 {
        let elements = ending(machine, receiver, distance)?;
        let found = if elements.len() == distance { elements.front() } else { None };
        return Ok(found.copied().unwrap_or(Value::Null));
    }
    let mut left = distance;
    let mut found = Value::Null;
    machine.each(receiver, &mut |_, element| {
        if left == 0 {
            found = element;
            return Ok(Flow::Stop);
        }
        left -= 1;
        Ok(Flow::Continue)
    })?;
    Ok(found)
}

fn compact<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    _: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    machine.each(receiver, &mut |machine, element| {
        if element.is_null() { Ok(Flow::Continue) } else { sink(machine, element) }
    })
}

fn remove<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let arg = &args[0];
    let unwanted = if arg.per_element { None } else { Some(machine.value_of(arg)?) };
    machine.each(receiver, &mut |machine, element| {
        let removed = match unwanted {
            Some(unwanted) => equal(element, unwanted, machine.arena),
            None => machine.accepts(arg, element)?,
        };
        if removed { Ok(Flow::Continue) } else { sink(machine, element) }
    })
}

fn collect<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    _: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    if machine.is_stream(receiver) {
        return machine.each(receiver, sink);
    }
    let value = machine.eval(receiver)?;
    machine.each_or_itself(value, sink)
}
