//! Patterns of `match`.

use std::cmp::Ordering;

use super::{
    Machine,
    machine::Evaluated,
    program::{Arm, Pattern, Rest},
};
use crate::value::{Kind, Value, compare, equal};

/// The value of the first arm that matches; `None` if none does.
pub(super) fn first_arm<'r>(
    machine: &mut Machine<'_, 'r>,
    arms: &[Arm],
    subject: Value<'r>,
) -> Evaluated<'r, Option<Value<'r>>> {
    for arm in arms {
        if !matches(machine, &arm.pattern, subject) {
            continue;
        }
        if let Some(guard) = arm.guard
            && !machine.test(guard)?
        {
            continue;
        }
        return machine.eval(arm.body).map(Some);
    }
    Ok(None)
}

/// Whether a value matches; its names are set if it does.
fn matches<'r>(machine: &mut Machine<'_, 'r>, pattern: &Pattern, value: Value<'r>) -> bool {
    let arena = machine.arena;
    match pattern {
        Pattern::Any => true,
        Pattern::Bind(variable) => {
            machine.set(*variable, value);
            true
        }
        Pattern::Literal(constant) => equal(machine.constant(constant), value, arena),
        Pattern::Kind(kind) => value.kind() == *kind,
        Pattern::Range { low, high, inclusive } => {
            value.kind() == Kind::Number
                && compare(value, Value::Float(*low), arena).is_ge()
                && match compare(value, Value::Float(*high), arena) {
                    Ordering::Less => true,
                    Ordering::Equal => *inclusive,
                    Ordering::Greater => false,
                }
        }
        Pattern::Object { fields, rest } => {
            let Some(entries) = value.as_object(arena) else { return false };
            let all = fields.iter().all(|(key, pattern)| match value.get(key) {
                Some(field) => matches(machine, pattern, field),
                None => false,
            });
            if let (true, Some(rest)) = (all, rest) {
                let named = |key: &str| fields.iter().any(|field| &*field.0 == key);
                let others: Vec<_> =
                    entries.iter().copied().filter(|entry| !named(entry.0)).collect();
                machine.set(*rest, Value::Object(arena.alloc_slice_copy(&others)));
            }
            all
        }
        Pattern::Array { items, rest } => {
            let Some(elements) = value.as_array(arena) else { return false };
            let fits = match rest {
                Rest::None => elements.len() == items.len(),
                Rest::Any(_) => elements.len() >= items.len(),
            };
            let all = fits
                && items
                    .iter()
                    .zip(elements)
                    .all(|(item, element)| matches(machine, item, *element));
            if let (true, Rest::Any(Some(rest))) = (all, rest) {
                machine.set(*rest, Value::Array(&elements[items.len()..]));
            }
            all
        }
        Pattern::Either(patterns) => {
            patterns.iter().any(|pattern| matches(machine, pattern, value))
        }
        Pattern::Both(patterns) => patterns.iter().all(|pattern| matches(machine, pattern, value)),
    }
}
