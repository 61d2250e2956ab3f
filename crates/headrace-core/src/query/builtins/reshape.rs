//! Reshaping elements: windows, numbers, and objects of groups of fields.

use std::collections::VecDeque;

use bumpalo::{Bump, collections::Vec as BumpVec};

use super::{
    Size,
    iteration::size_of,
    limited,
    sorting::{grouped, key_text},
};
use crate::{
    query::{
        Arg, ExprId, Fault, Machine,
        deep::Seen,
        machine::{Evaluated, Flow, Sink},
        numbers::shown,
    },
    value::{Entry, Kind, Value},
};

pub(super) fn chunk<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let size = size_of(machine, &args[0], "chunk")?;
    let mut open = Vec::new();
    let flow = machine.each(receiver, &mut |machine, element| {
        open.push(element);
        if open.len() < size {
            return Ok(Flow::Continue);
        }
        let full = Value::Array(machine.arena.alloc_slice_copy(&open));
        open.clear();
        sink(machine, full)
    })?;
    if flow == Flow::Stop || open.is_empty() {
        return Ok(flow);
    }
    let rest = Value::Array(machine.arena.alloc_slice_copy(&open));
    sink(machine, rest)
}

pub(super) fn window<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let size = size_of(machine, &args[0], "window")?;
    push_windows(machine, receiver, size, sink)
}

pub(super) fn pairwise<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    _: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    push_windows(machine, receiver, 2, sink)
}

fn push_windows<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    size: usize,
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let mut open = VecDeque::new();
    let mut copied = 0_usize;
    machine.each(receiver, &mut |machine, element| {
        open.push_back(element);
        if open.len() < size {
            return Ok(Flow::Continue);
        }
        // Every element is in as many windows as they are wide.
        copied = copied.saturating_add(size);
        limited(Size::Elements(copied))?;
        let full = BumpVec::from_iter_in(open.iter().copied(), machine.arena);
        open.pop_front();
        sink(machine, Value::Array(full.into_bump_slice()))
    })
}

pub(super) fn enumerate<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    _: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let mut index = 0;
    machine.each(receiver, &mut |machine, element| {
        let record = [("index", Value::Int(index)), ("value", element)];
        index += 1;
        let record = Value::Object(machine.arena.alloc_slice_copy(&record));
        sink(machine, record)
    })
}

pub(super) fn group_shape<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let named = |name: &str| args.iter().find(|arg| arg.name.as_deref() == Some(name));
    let mut others = args.iter().filter(|arg| arg.name.is_none());
    let by = named("by").or_else(|| others.next());
    let shape = named("shape").or_else(|| others.next());
    let mut groups = match by {
        Some(arg) => grouped(machine, receiver, &mut key_text(arg))?,
        None => grouped(machine, receiver, &mut |machine, element| {
            Ok((shape_of(element, machine.arena), Kind::String))
        })?,
    };
    if let Some(shape) = shape {
        for group in &mut groups {
            group.1 = machine.apply(shape, group.1)?;
        }
    }
    Ok(Value::Object(machine.arena.alloc_slice_copy(&groups)))
}

/// The keys of an object in order, with commas between them; of nothing else any.
fn shape_of<'r>(value: Value<'r>, arena: &'r Bump) -> &'r str {
    let mut keys: Vec<_> =
        value.as_object(arena).unwrap_or(&[]).iter().map(|entry| entry.0).collect();
    keys.sort_unstable();
    arena.alloc_str(&keys.join(","))
}

/// The name of a field.
pub(super) fn field_of<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    arg: &'p Arg,
) -> Evaluated<'r, &'r str> {
    let name = machine.value_of(arg)?;
    name.as_str(machine.arena).ok_or_else(|| {
        Fault::new(format!(
            "the name of a field must be a text, not {}",
            shown(name, machine.arena)
        ))
    })
}

pub(super) fn explode<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let field = field_of(machine, &args[0])?;
    let mut copied = 0_usize;
    machine.each(receiver, &mut |machine, element| {
        let arena = machine.arena;
        let inner = element.get(field).and_then(|value| value.as_array(arena));
        let (Some(entries), Some(inner)) = (element.as_object(arena), inner) else {
            return sink(machine, element);
        };
        for value in inner {
            copied = copied.saturating_add(entries.len());
            limited(Size::Elements(copied))?;
            let row = with_field(entries, field, *value, arena);
            if sink(machine, row)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    })
}

/// An object with another value in a field, which goes to the end if it was not there.
pub(super) fn with_field<'r>(
    entries: &[Entry<'r>],
    field: &'r str,
    value: Value<'r>,
    arena: &'r Bump,
) -> Value<'r> {
    let mut row = BumpVec::with_capacity_in(entries.len() + 1, arena);
    row.extend_from_slice(entries);
    match row.iter_mut().find(|entry| entry.0 == field) {
        Some(entry) => entry.1 = value,
        None => row.push((field, value)),
    }
    Value::Object(row.into_bump_slice())
}

pub(super) fn implode<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let arena = machine.arena;
    let field = field_of(machine, &args[0])?;
    let mut seen = Seen::new(arena);
    // The first of each kind with what all of them have in the field; of the others only themselves.
    let mut kept: Vec<(Value<'r>, Option<Vec<Value<'r>>>)> = Vec::new();
    let mut places = Vec::new();
    machine.each(receiver, &mut |_, element| {
        let Some(entries) = element.as_object(arena) else {
            kept.push((element, None));
            return Ok(Flow::Continue);
        };
        let rest = entries.iter().copied().filter(|entry| entry.0 != field);
        let rest = Value::Object(BumpVec::from_iter_in(rest, arena).into_bump_slice());
        let value = element.get(field).unwrap_or(Value::Null);
        let earlier = seen.position(rest).and_then(|at| places.get(at).copied());
        if let Some((_, Some(values))) = earlier.and_then(|at: usize| kept.get_mut(at)) {
            values.push(value);
        } else {
            seen.insert(rest);
            places.push(kept.len());
            kept.push((element, Some(vec![value])));
        }
        Ok(Flow::Continue)
    })?;
    for (element, values) in kept {
        let row = match (values, element.as_object(arena)) {
            (Some(values), Some(entries)) => {
                with_field(entries, field, Value::Array(arena.alloc_slice_copy(&values)), arena)
            }
            _ => element,
        };
        if sink(machine, row)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}
