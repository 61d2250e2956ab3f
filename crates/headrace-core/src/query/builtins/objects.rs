//! Keys and values.

use bumpalo::{Bump, collections::Vec as BumpVec};

use super::{Builtin, Parameter, Run, paths};
use crate::{
    query::{
        Arg, ExprId, Fault, Machine,
        deep::{self, Arrays, Fields},
        machine::{Evaluated, Flow, Sink},
        numbers,
        patch::PathStep,
    },
    value::{Entry, Kind, Value, key_of, text_of},
};

pub(super) static BUILTINS: &[Builtin] = &[
    Builtin {
        name: "keys",
        aliases: &[],
        group: "Objects",
        parameters: &[],
        required: 0,
        doc: "The keys of an object; nothing of anything else.",
        examples: &[
            ["$.keys()", r#"{"b": 1, "a": null}"#, r#"["b", "a"]"#],
            ["$.keys()", "[1, 2]", "[]"],
            ["$.keys()", "null", "[]"],
        ],
        run: Run::Stage(keys),
    },
    Builtin {
        name: "values",
        aliases: &[],
        group: "Objects",
        parameters: &[],
        required: 0,
        doc: "The values of an object; nothing of anything else.",
        examples: &[
            ["$.values()", r#"{"a": 1, "b": 2}"#, "[1, 2]"],
            ["$.values().sum()", r#"{"a": 1, "b": 2}"#, "3"],
            ["$.values()", "[1, 2]", "[]"],
        ],
        run: Run::Stage(values),
    },
    Builtin {
        name: "entries",
        aliases: &[],
        group: "Objects",
        parameters: &[],
        required: 0,
        doc: "Each key of an object with its value, as an array of the two.",
        examples: &[
            ["$.entries()", r#"{"a": 1, "b": 2}"#, r#"[["a", 1], ["b", 2]]"#],
            ["$.entries().map(([k, v]) => v)", r#"{"a": 1, "b": 2}"#, "[1, 2]"],
            ["$.entries()", "5", "[]"],
        ],
        run: Run::Stage(entries),
    },
    Builtin {
        name: "to_pairs",
        aliases: &[],
        group: "Objects",
        parameters: &[],
        required: 0,
        doc: "Each key of an object with its value, as an object with `key` and `val`.",
        examples: &[
            ["$.to_pairs()", r#"{"a": 1}"#, r#"[{"key": "a", "val": 1}]"#],
            ["$.to_pairs()", "null", "[]"],
        ],
        run: Run::Stage(to_pairs),
    },
    Builtin {
        name: "from_pairs",
        aliases: &[],
        group: "Objects",
        parameters: &[],
        required: 0,
        doc: "An object from pairs: arrays of key and value, or objects with `key` or `k` and \
              `val`, `value` or `v`. Other elements are left out; of equal keys the last counts.",
        examples: &[
            [r#"[["a", 1], ["b", 2], ["a", 3]].from_pairs()"#, "null", r#"{"a": 3, "b": 2}"#],
            [
                "$.from_pairs()",
                r#"[{"key": "a", "val": 1}, {"k": 2, "v": 2}]"#,
                r#"{"a": 1, "2": 2}"#,
            ],
            ["$.from_pairs()", r#"[["a"], 5]"#, "{}"],
        ],
        run: Run::Reduce(from_pairs),
    },
    Builtin {
        name: "invert",
        aliases: &[],
        group: "Objects",
        parameters: &[],
        required: 0,
        doc: "An object whose keys are the values as text, and whose values are the keys.",
        examples: &[
            ["$.invert()", r#"{"a": "x", "b": 2}"#, r#"{"x": "a", "2": "b"}"#],
            ["$.invert()", r#"{"a": 1, "b": 1}"#, r#"{"1": "b"}"#],
            ["$.invert()", "[1]", "[1]"],
        ],
        run: Run::Value(invert),
    },
    Builtin {
        name: "pick",
        aliases: &[],
        group: "Objects",
        parameters: &[Parameter::NameRest("fields")],
        required: 1,
        doc: "An object with only these fields, as far as they are there; `alias: field` \
              renames, and a path such as `a.b[0]` reaches deeper. Of an array, every object.",
        examples: &[
            [
                "$.pick(id, name)",
                r#"{"id": 1, "name": "Ada", "age": 36}"#,
                r#"{"id": 1, "name": "Ada"}"#,
            ],
            ["$.pick(who: name, age)", r#"[{"name": "Ada"}, 5]"#, r#"[{"who": "Ada"}]"#],
            [r#"$.pick("a.b[1]", c: "a.b[0]")"#, r#"{"a": {"b": [1, 2]}}"#, r#"{"a": 2, "c": 1}"#],
            ["$.pick(a)", "null", "null"],
            ["$.pick(a)", "5", "error"],
        ],
        run: Run::Value(pick),
    },
    Builtin {
        name: "omit",
        aliases: &[],
        group: "Objects",
        parameters: &[Parameter::NameRest("keys")],
        required: 1,
        doc: "An object without these keys. Of an array, every object.",
        examples: &[
            ["$.omit(age, id)", r#"{"id": 1, "name": "Ada"}"#, r#"{"name": "Ada"}"#],
            [r#"$.omit("a")"#, r#"[{"a": 1, "b": 2}, {"b": 3}]"#, r#"[{"b": 2}, {"b": 3}]"#],
            ["$.omit(a)", "null", "null"],
        ],
        run: Run::Value(omit),
    },
    Builtin {
        name: "merge",
        aliases: &[],
        group: "Objects",
        parameters: &[Parameter::Value("other")],
        required: 1,
        doc: "An object with the fields of another one put over its own.",
        examples: &[
            [
                "$.a | @.merge($.b)",
                r#"{"a": {"x": 1, "y": 1}, "b": {"y": 2, "z": 3}}"#,
                r#"{"x": 1, "y": 2, "z": 3}"#,
            ],
            ["{a: 1}.merge(null)", "null", r#"{"a": 1}"#],
            ["{a: 1}.merge(5)", "null", "error"],
        ],
        run: Run::Value(merge),
    },
    Builtin {
        name: "deep_merge",
        aliases: &[],
        group: "Objects",
        parameters: &[Parameter::Value("other")],
        required: 1,
        doc: "As `merge`, but objects under the same key are merged in turn. Arrays are replaced.",
        examples: &[
            [
                "$.a | @.deep_merge($.b)",
                r#"{"a": {"x": {"p": 1}, "l": [1]}, "b": {"x": {"q": 2}, "l": [2]}}"#,
                r#"{"x": {"p": 1, "q": 2}, "l": [2]}"#,
            ],
            ["null.deep_merge({a: 1})", "null", "null"],
        ],
        run: Run::Value(deep_merge),
    },
    Builtin {
        name: "defaults",
        aliases: &[],
        group: "Objects",
        parameters: &[Parameter::Value("other")],
        required: 1,
        doc: "An object where fields that are missing or null have the values of another one.",
        examples: &[
            [
                "$.defaults({a: 9, b: 9, c: 9})",
                r#"{"a": null, "b": 1}"#,
                r#"{"a": 9, "b": 1, "c": 9}"#,
            ],
            ["$.defaults({a: 9})", "5", "5"],
        ],
        run: Run::Value(defaults),
    },
    Builtin {
        name: "rename",
        aliases: &[],
        group: "Objects",
        parameters: &[Parameter::Value("names")],
        required: 1,
        doc: "An object with other names for some keys, given as `{old: \"new\"}`. What is \
              renamed moves to the end.",
        examples: &[
            [r#"$.rename({a: "z"})"#, r#"{"a": 1, "b": 2}"#, r#"{"b": 2, "z": 1}"#],
            [r#"$.rename({a: "b", b: "a"})"#, r#"{"a": 1, "b": 2}"#, r#"{"b": 1, "a": 2}"#],
            ["$.rename({a: 1})", r#"{"a": 1}"#, "error"],
        ],
        run: Run::Value(rename),
    },
    Builtin {
        name: "transform_keys",
        aliases: &[],
        group: "Objects",
        parameters: &[Parameter::Each("expression")],
        required: 1,
        doc: "An object with the expression of each key in its place, as text.",
        examples: &[
            [r#"$.transform_keys(@ + "!")"#, r#"{"a": 1, "b": 2}"#, r#"{"a!": 1, "b!": 2}"#],
            ["$.transform_keys(k => 1)", r#"{"a": 1, "b": 2}"#, r#"{"1": 2}"#],
            ["$.transform_keys(@)", "[1]", "[1]"],
        ],
        run: Run::Value(transform_keys),
    },
    Builtin {
        name: "transform_values",
        aliases: &[],
        group: "Objects",
        parameters: &[Parameter::Each("expression")],
        required: 1,
        doc: "An object with the expression of each value in its place.",
        examples: &[
            ["$.transform_values(@ * 10)", r#"{"a": 1, "b": 2}"#, r#"{"a": 10, "b": 20}"#],
            ["$.transform_values(@ * 10)", "null", "null"],
        ],
        run: Run::Value(transform_values),
    },
    Builtin {
        name: "filter_keys",
        aliases: &[],
        group: "Objects",
        parameters: &[Parameter::Each("condition")],
        required: 1,
        doc: "An object with those fields for whose key the condition is truthy.",
        examples: &[
            [r#"$.filter_keys(@ != "a")"#, r#"{"a": 1, "b": 2}"#, r#"{"b": 2}"#],
            ["$.filter_keys(true)", "null", "null"],
        ],
        run: Run::Value(filter_keys),
    },
    Builtin {
        name: "filter_values",
        aliases: &[],
        group: "Objects",
        parameters: &[Parameter::Each("condition")],
        required: 1,
        doc: "An object with those fields for whose value the condition is truthy.",
        examples: &[
            ["$.filter_values(v => v > 1)", r#"{"a": 1, "b": 2}"#, r#"{"b": 2}"#],
            ["$.filter_values(@ > 1)", "5", "5"],
        ],
        run: Run::Value(filter_values),
    },
    Builtin {
        name: "pivot",
        aliases: &[],
        group: "Objects",
        parameters: &[
            Parameter::Either("row"),
            Parameter::Either("column_or_value"),
            Parameter::Either("value"),
        ],
        required: 2,
        doc: "An object from elements: with two arguments of keys and values, with three of \
              rows, columns and values. Each argument is a field's name or an expression.",
        examples: &[
            [
                r#"$.pivot("y", "q", "v")"#,
                r#"[{"y": 2024, "q": 1, "v": 10}, {"y": 2024, "q": 2, "v": 20}, {"y": 2025, "q": 1, "v": 15}]"#,
                r#"{"2024": {"1": 10, "2": 20}, "2025": {"1": 15}}"#,
            ],
            ["$.pivot(k, v + 1)", r#"[{"k": "a", "v": 1}, {"k": "a", "v": 2}]"#, r#"{"a": 3}"#],
            ["$.pivot(k, v)", "null", "{}"],
        ],
        run: Run::Reduce(pivot),
    },
];

fn keys<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    _args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    each_entry(machine, receiver, sink, |(key, _), _| Value::Str(key))
}

fn values<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    _args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    each_entry(machine, receiver, sink, |(_, value), _| value)
}

fn entries<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    _args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    each_entry(machine, receiver, sink, |(key, value), arena| {
        Value::Array(arena.alloc_slice_copy(&[Value::Str(key), value]))
    })
}

fn to_pairs<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    _args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    each_entry(machine, receiver, sink, |(key, value), arena| {
        let pair: [Entry<'r>; 2] = [("key", Value::Str(key)), ("val", value)];
        Value::Object(arena.alloc_slice_copy(&pair))
    })
}

/// Push what `element` makes of each entry of an object.
fn each_entry<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    sink: &mut Sink<'_, 'p, 'r>,
    element: fn(Entry<'r>, &'r Bump) -> Value<'r>,
) -> Evaluated<'r, Flow> {
    let object = machine.eval(receiver)?;
    for entry in object.as_object(machine.arena).unwrap_or(&[]) {
        let element = element(*entry, machine.arena);
        if sink(machine, element)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

fn from_pairs<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    _args: &'p [Arg],
) -> Evaluated<'r> {
    let mut object = Fields::new(machine.arena);
    machine.each(receiver, &mut |machine, element| {
        if let Some((key, value)) = pair(element, machine.arena) {
            object.put(text_of(key, machine.arena), value);
        }
        Ok(Flow::Continue)
    })?;
    Ok(object.into_object())
}

fn pair<'r>(element: Value<'r>, arena: &'r Bump) -> Option<(Value<'r>, Value<'r>)> {
    if let Some(elements) = element.as_array(arena) {
        return if let [key, value] = elements { Some((*key, *value)) } else { None };
    }
    let first = |names: &[&str]| names.iter().find_map(|name| element.get(name));
    Some((first(&["key", "k"])?, first(&["val", "value", "v"])?))
}

#[allow(clippy::unnecessary_wraps, reason = "the table has one type of function")]
fn invert<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    _args: &'p [Arg],
) -> Evaluated<'r> {
    let arena = machine.arena;
    let Some(entries) = receiver.as_object(arena) else { return Ok(receiver) };
    let mut inverted = Fields::new(arena);
    for (key, value) in entries {
        inverted.put(text_of(*value, arena), Value::Str(key));
    }
    Ok(inverted.into_object())
}

/// What `pick` takes from an object, and under which key it puts it.
struct Picked<'r> {
    key: &'r str,
    /// A field of this name comes first, whatever it would mean as a path.
    field: &'r str,
    path: BumpVec<'r, PathStep<'r>>,
    alias: Option<&'r str>,
}

impl<'r> Picked<'r> {
    fn entry(&self, object: Value<'r>, arena: &'r Bump) -> Option<Entry<'r>> {
        if let Some(value) = object.get(self.field) {
            return Some((self.alias.unwrap_or(self.field), value));
        }
        let value = paths::follow(object, &self.path, arena)?;
        Some((self.alias.unwrap_or(self.key), value))
    }
}

fn pick<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let arena = machine.arena;
    let mut picked = BumpVec::with_capacity_in(args.len(), arena);
    for arg in args {
        let field = name(machine, arg)?;
        let path = paths::readable(field, arena)?;
        let key = match path.first() {
            Some(PathStep::Segment(key) | PathStep::Field(key)) => key,
            _ => field,
        };
        let alias = arg.name.as_deref().map(|alias| &*arena.alloc_str(alias));
        picked.push(Picked { key, field, path, alias });
    }
    let from = |object: Value<'r>| {
        let mut fields = Fields::new(arena);
        for picked in &picked {
            if let Some((key, value)) = picked.entry(object, arena) {
                fields.put(key, value);
            }
        }
        fields.into_object()
    };
    match receiver.kind() {
        Kind::Object => Ok(from(receiver)),
        Kind::Array => Ok(of_objects(receiver, arena, from)),
        Kind::Null => Ok(Value::Null),
        _ => {
            let shown = numbers::shown(receiver, arena);
            Err(Fault::new(format!("pick wants an object or an array of them, not {shown}")))
        }
    }
}

fn omit<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let arena = machine.arena;
    let mut omitted = BumpVec::with_capacity_in(args.len(), arena);
    for arg in args {
        omitted.push(name(machine, arg)?);
    }
    let from = |object: Value<'r>| retained(object, arena, |entry| !omitted.contains(&entry.0));
    Ok(match receiver.kind() {
        Kind::Object => from(receiver),
        Kind::Array => of_objects(receiver, arena, from),
        _ => receiver,
    })
}

/// The name that an argument is.
pub(super) fn name<'r, 'p>(machine: &mut Machine<'p, 'r>, arg: &'p Arg) -> Evaluated<'r, &'r str> {
    let value = machine.value_of(arg)?;
    value.as_str(machine.arena).ok_or_else(|| {
        let shown = numbers::shown(value, machine.arena);
        Fault::new(format!("a key is a name or a string, not {shown}"))
    })
}

/// What `change` makes of each object in an array; other elements are left out.
fn of_objects<'r>(
    array: Value<'r>,
    arena: &'r Bump,
    change: impl FnMut(Value<'r>) -> Value<'r>,
) -> Value<'r> {
    let elements = array.as_array(arena).unwrap_or(&[]).iter().copied();
    let objects = elements.filter(|element| element.kind() == Kind::Object);
    Value::Array(BumpVec::from_iter_in(objects.map(change), arena).into_bump_slice())
}

/// An object with the entries that are kept.
pub(super) fn retained<'r>(
    object: Value<'r>,
    arena: &'r Bump,
    kept: impl Fn(&Entry<'r>) -> bool,
) -> Value<'r> {
    let entries = object.as_object(arena).unwrap_or(&[]);
    let mut left = BumpVec::with_capacity_in(entries.len(), arena);
    left.extend(entries.iter().copied().filter(kept));
    Value::Object(left.into_bump_slice())
}

fn merge<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    combined(machine, receiver, &args[0], |below, above, arena| {
        let mut fields = Fields::with(below.iter().copied(), arena);
        for (key, value) in above {
            fields.put(key, *value);
        }
        fields.into_object()
    })
}

fn deep_merge<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    combined(machine, receiver, &args[0], |below, above, arena| {
        Value::Object(deep::overlaid(below, above, Arrays::Replace, arena))
    })
}

fn defaults<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    combined(machine, receiver, &args[0], |own, others, arena| {
        let mut fields = Fields::with(own.iter().copied(), arena);
        for (key, value) in others {
            match fields.get_mut(key) {
                Some(own) if !own.is_null() => {}
                _ => fields.put(key, *value),
            }
        }
        fields.into_object()
    })
}

/// An object combined with the one that an argument is; null adds nothing to it.
fn combined<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    arg: &'p Arg,
    combine: fn(&'r [Entry<'r>], &'r [Entry<'r>], &'r Bump) -> Value<'r>,
) -> Evaluated<'r> {
    let arena = machine.arena;
    let other = machine.value_of(arg)?;
    let Some(entries) = receiver.as_object(arena) else { return Ok(receiver) };
    if other.is_null() {
        return Ok(receiver);
    }
    let added = object_argument(other, arena)?;
    Ok(combine(entries, added, arena))
}

fn object_argument<'r>(value: Value<'r>, arena: &'r Bump) -> Result<&'r [Entry<'r>], Fault> {
    value.as_object(arena).ok_or_else(|| {
        Fault::new(format!("the argument must be an object, not {}", numbers::shown(value, arena)))
    })
}

fn rename<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let arena = machine.arena;
    let names = machine.value_of(&args[0])?;
    let Some(entries) = receiver.as_object(arena) else { return Ok(receiver) };
    // All at once, so that two keys can change places.
    let mut renamed = Fields::new(arena);
    for (old, new) in object_argument(names, arena)? {
        let Some(new) = new.as_str(arena) else {
            let shown = numbers::shown(*new, arena);
            return Err(Fault::new(format!("the new name of {old} must be a string, not {shown}")));
        };
        if let Some(value) = receiver.get(old) {
            renamed.put(new, value);
        }
    }
    let mut object = BumpVec::with_capacity_in(entries.len(), arena);
    object.extend(
        entries
            .iter()
            .copied()
            .filter(|(key, _)| names.get(key).is_none() && renamed.get_mut(key).is_none()),
    );
    object.extend(renamed.into_entries());
    Ok(Value::Object(object.into_bump_slice()))
}

fn transform_keys<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let arena = machine.arena;
    let Some(entries) = receiver.as_object(arena) else { return Ok(receiver) };
    let mut object = Fields::new(arena);
    for (key, value) in entries {
        let key = machine.apply(&args[0], Value::Str(key))?;
        object.put(text_of(key, arena), *value);
    }
    Ok(object.into_object())
}

fn transform_values<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let Some(entries) = receiver.as_object(machine.arena) else { return Ok(receiver) };
    let mut object = BumpVec::with_capacity_in(entries.len(), machine.arena);
    for (key, value) in entries {
        object.push((*key, machine.apply(&args[0], *value)?));
    }
    Ok(Value::Object(object.into_bump_slice()))
}

fn filter_keys<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    filtered(machine, receiver, &args[0], |(key, _)| Value::Str(key))
}

fn filter_values<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    filtered(machine, receiver, &args[0], |(_, value)| value)
}

/// An object with the entries whose key or value, whatever `tested` says, is accepted.
fn filtered<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    condition: &'p Arg,
    tested: fn(Entry<'r>) -> Value<'r>,
) -> Evaluated<'r> {
    let Some(entries) = receiver.as_object(machine.arena) else { return Ok(receiver) };
    let mut object = BumpVec::new_in(machine.arena);
    for entry in entries {
        if machine.accepts(condition, tested(*entry))? {
            object.push(*entry);
        }
    }
    Ok(Value::Object(object.into_bump_slice()))
}

/// What an argument of `pivot` reads of each element.
enum Read<'p, 'r> {
    Field(&'r str),
    Expression(&'p Arg),
}

impl<'p, 'r> Read<'p, 'r> {
    fn new(machine: &mut Machine<'p, 'r>, arg: &'p Arg) -> Evaluated<'r, Self> {
        if arg.per_element {
            return Ok(Self::Expression(arg));
        }
        name(machine, arg).map(Self::Field)
    }

    fn of(&self, machine: &mut Machine<'p, 'r>, element: Value<'r>) -> Evaluated<'r> {
        match self {
            Self::Field(name) => Ok(element.get(name).unwrap_or(Value::Null)),
            Self::Expression(arg) => machine.apply(arg, element),
        }
    }
}

fn pivot<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let arena = machine.arena;
    let row = Read::new(machine, &args[0])?;
    let second = Read::new(machine, &args[1])?;
    let Some(third) = args.get(2) else {
        let mut object = Fields::new(arena);
        machine.each(receiver, &mut |machine, element| {
            let key = row.of(machine, element)?;
            object.put(key_of(key, arena), second.of(machine, element)?);
            Ok(Flow::Continue)
        })?;
        return Ok(object.into_object());
    };
    let third = Read::new(machine, third)?;
    let mut rows: Fields<'r, Fields<'r, Value<'r>>> = Fields::new(arena);
    machine.each(receiver, &mut |machine, element| {
        let key = row.of(machine, element)?;
        let column = second.of(machine, element)?;
        let value = third.of(machine, element)?;
        let (key, column) = (key_of(key, arena), key_of(column, arena));
        if let Some(columns) = rows.get_mut(key) {
            columns.put(column, value);
        } else {
            rows.put(key, Fields::with([(column, value)].into_iter(), arena));
        }
        Ok(Flow::Continue)
    })?;
    let objects = rows.into_entries().into_iter().map(|(key, row)| (key, row.into_object()));
    Ok(Value::Object(BumpVec::from_iter_in(objects, arena).into_bump_slice()))
}
