//! Keys and values.

use bumpalo::{Bump, collections::Vec as BumpVec};

use super::{Builtin, Parameter, in_group, paths};
use crate::{
    query::{
        Arg, ExprId, Fault, Machine,
        deep::{self, Arrays, Fields},
        machine::{Evaluated, Flow, Sink},
        numbers,
        patch::{Patch, PathStep},
    },
    value::{Entry, Kind, Value, key_of, text_of},
};

pub(super) static BUILTINS: &[Builtin] = &in_group("Objects", [
    Builtin::stage("keys", keys)
        .doc("The keys of an object; no elements for any other value.")
        .examples(&[
            ["$.keys()", r#"{"b": 1, "a": null}"#, r#"["b", "a"]"#],
            ["$.keys()", "[1, 2]", "[]"],
            ["$.keys()", "null", "[]"],
        ]),
    Builtin::stage("values", values)
        .doc("The values of an object; no elements for any other value.")
        .examples(&[
            ["$.values()", r#"{"a": 1, "b": 2}"#, "[1, 2]"],
            ["$.values().sum()", r#"{"a": 1, "b": 2}"#, "3"],
            ["$.values()", "[1, 2]", "[]"],
        ]),
    Builtin::stage("entries", entries)
        .doc("An array of key and value for each entry of an object.")
        .examples(&[
            ["$.entries()", r#"{"a": 1, "b": 2}"#, r#"[["a", 1], ["b", 2]]"#],
            ["$.entries().map(([k, v]) => v)", r#"{"a": 1, "b": 2}"#, "[1, 2]"],
            ["$.entries()", "5", "[]"],
        ]),
    Builtin::stage("to_pairs", to_pairs)
        .doc("An object with `key` and `val` for each entry of an object.")
        .examples(&[
            ["$.to_pairs()", r#"{"a": 1}"#, r#"[{"key": "a", "val": 1}]"#],
            ["$.to_pairs()", "null", "[]"],
        ]),
    Builtin::reduce("from_pairs", from_pairs)
        .doc("An object from pairs: arrays of key and value, or objects with `key` or `k` and \
              `val`, `value` or `v`. Other elements are left out; of equal keys the last counts.")
        .examples(&[
            [r#"[["a", 1], ["b", 2], ["a", 3]].from_pairs()"#, "null", r#"{"a": 3, "b": 2}"#],
            [
                "$.from_pairs()",
                r#"[{"key": "a", "val": 1}, {"k": 2, "v": 2}]"#,
                r#"{"a": 1, "2": 2}"#,
            ],
            ["$.from_pairs()", r#"[["a"], 5]"#, "{}"],
        ]),
    Builtin::value("invert", invert)
        .doc("An object whose keys are the values as text, and whose values are the keys. Of an \
              array, every object in it.")
        .examples(&[
            ["$.invert()", r#"{"a": "x", "b": 2}"#, r#"{"x": "a", "2": "b"}"#],
            ["$.invert()", r#"{"a": 1, "b": 1}"#, r#"{"1": "b"}"#],
            ["$.invert()", "[1]", "[1]"],
        ]),
    Builtin::value("pick", pick)
        .takes(&[Parameter::NameRest("fields")])
        .doc("An object with only these of its fields. A path such as `a.b` keeps the objects around its field; `name: field` gives it another name, which a path with a position needs. Of an array, every object in it.")
        .examples(&[
            [
                "$.pick(id, name)",
                r#"{"id": 1, "name": "Ada", "age": 36}"#,
                r#"{"id": 1, "name": "Ada"}"#,
            ],
            ["$.pick(who: name, age)", r#"[{"name": "Ada"}, 5]"#, r#"[{"who": "Ada"}, 5]"#],
            [r#"$.pick("a.b")"#, r#"{"a": {"b": 1, "c": 2}, "d": 3}"#, r#"{"a": {"b": 1}}"#],
            [
                r#"$.pick(first: "a[0]", b: "c.d")"#,
                r#"{"a": [1], "c": {"d": 2}}"#,
                r#"{"first": 1, "b": 2}"#,
            ],
            [r#"$.pick("a[0]")"#, r#"{"a": [1]}"#, "error"],
            ["$.pick(a)", "null", "null"],
            ["$.pick(a)", "5", "error"],
        ]),
    Builtin::value("omit", omit)
        .takes(&[Parameter::NameRest("keys")])
        .doc("An object without these fields. A path such as `a.b` reaches deeper. Of an array, \
              every object in it.")
        .examples(&[
            ["$.omit(age, id)", r#"{"id": 1, "name": "Ada"}"#, r#"{"name": "Ada"}"#],
            [r#"$.omit("a")"#, r#"[{"a": 1, "b": 2}, 3]"#, r#"[{"b": 2}, 3]"#],
            [r#"$.omit("a.b")"#, r#"{"a": {"b": 1, "c": 2}}"#, r#"{"a": {"c": 2}}"#],
            ["$.omit(a)", "null", "null"],
        ]),
    Builtin::value("merge", merge)
        .takes(&[Parameter::Value("other")])
        .doc("An object with its own fields and those of another one, which replace equal names. Of an array, every object in it.")
        .examples(&[
            [
                "$.a | @.merge($.b)",
                r#"{"a": {"x": 1, "y": 1}, "b": {"y": 2, "z": 3}}"#,
                r#"{"x": 1, "y": 2, "z": 3}"#,
            ],
            ["{a: 1}.merge(null)", "null", r#"{"a": 1}"#],
            ["[{a: 1}, 5].merge({b: 2})", "null", r#"[{"a": 1, "b": 2}, 5]"#],
            ["{a: 1}.merge(5)", "null", "error"],
        ]),
    Builtin::value("deep_merge", deep_merge)
        .takes(&[Parameter::Value("other")])
        .doc("As `merge`, but objects under the same key are merged in turn. Arrays are replaced.")
        .examples(&[
            [
                "$.a | @.deep_merge($.b)",
                r#"{"a": {"x": {"p": 1}, "l": [1]}, "b": {"x": {"q": 2}, "l": [2]}}"#,
                r#"{"x": {"p": 1, "q": 2}, "l": [2]}"#,
            ],
            ["null.deep_merge({a: 1})", "null", "null"],
        ]),
    Builtin::value("defaults", defaults)
        .takes(&[Parameter::Value("other")])
        .doc("An object where fields that are missing or null have the values of another one. Of \
              an array, every object in it.")
        .examples(&[
            [
                "$.defaults({a: 9, b: 9, c: 9})",
                r#"{"a": null, "b": 1}"#,
                r#"{"a": 9, "b": 1, "c": 9}"#,
            ],
            ["$.defaults({a: 9})", "5", "5"],
        ]),
    Builtin::value("rename", rename)
        .takes(&[Parameter::Value("names")])
        .doc("An object with other names for some keys, given as `{old: \"new\"}`. Each keeps its \
              place, and replaces a field that has the new name already. Of an array, every object \
              in it.")
        .examples(&[
            [r#"$.rename({a: "z"})"#, r#"{"a": 1, "b": 2}"#, r#"{"z": 1, "b": 2}"#],
            [r#"$.rename({a: "b", b: "a"})"#, r#"{"a": 1, "b": 2}"#, r#"{"b": 1, "a": 2}"#],
            ["$.rename({a: 1})", r#"{"a": 1}"#, "error"],
        ]),
    Builtin::value("transform_keys", transform_keys)
        .takes(&[Parameter::Each("expression")])
        .doc("An object with the expression, as text, in the place of each key. Of an array, every object in it.")
        .examples(&[
            [r#"$.transform_keys(@ + "!")"#, r#"{"a": 1, "b": 2}"#, r#"{"a!": 1, "b!": 2}"#],
            ["$.transform_keys(k => 1)", r#"{"a": 1, "b": 2}"#, r#"{"1": 2}"#],
            ["$.transform_keys(@)", "[1]", "[1]"],
        ]),
    Builtin::value("transform_values", transform_values)
        .takes(&[Parameter::Each("expression")])
        .doc("An object with the expression in the place of each value. Of an array, every object in it.")
        .examples(&[
            ["$.transform_values(@ * 10)", r#"{"a": 1, "b": 2}"#, r#"{"a": 10, "b": 20}"#],
            ["$.transform_values(@ * 10)", "null", "null"],
        ]),
    Builtin::value("filter_keys", filter_keys)
        .takes(&[Parameter::Each("condition")])
        .doc("An object with the fields whose key meets the condition. Of an array, every object in it.")
        .examples(&[
            [r#"$.filter_keys(@ != "a")"#, r#"{"a": 1, "b": 2}"#, r#"{"b": 2}"#],
            ["$.filter_keys(true)", "null", "null"],
        ]),
    Builtin::value("filter_values", filter_values)
        .takes(&[Parameter::Each("condition")])
        .doc("An object with the fields whose value meets the condition. Of an array, every object in it.")
        .examples(&[
            ["$.filter_values(v => v > 1)", r#"{"a": 1, "b": 2}"#, r#"{"b": 2}"#],
            ["$.filter_values(@ > 1)", "5", "5"],
        ]),
    Builtin::reduce("pivot", pivot)
        .takes(&[
            Parameter::Either("row"),
            Parameter::Either("column_or_value"),
            Parameter::Either("value"),
        ])
        .required(2)
        .doc("An object from elements. Two arguments are keys and values; three are rows, columns and values. Each is the name of a field or an expression.")
        .examples(&[
            [
                r#"$.pivot("y", "q", "v")"#,
                r#"[{"y": 2024, "q": 1, "v": 10}, {"y": 2024, "q": 2, "v": 20}, {"y": 2025, "q": 1, "v": 15}]"#,
                r#"{"2024": {"1": 10, "2": 20}, "2025": {"1": 15}}"#,
            ],
            ["$.pivot(k, v + 1)", r#"[{"k": "a", "v": 1}, {"k": "a", "v": 2}]"#, r#"{"a": 3}"#],
            ["$.pivot(k, v)", "null", "{}"],
        ]),
]);

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
    if machine.strict && !matches!(object.kind(), Kind::Object | Kind::Null) {
        let shown = numbers::shown(object, machine.arena);
        return Err(Fault::new(format!("{shown} has no keys and values")));
    }
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

fn invert<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    _args: &'p [Arg],
) -> Evaluated<'r> {
    let arena = machine.arena;
    each_object(receiver, arena, |object| {
        let mut inverted = Fields::new(arena);
        for (key, value) in object.as_object(arena).unwrap_or(&[]) {
            inverted.put(text_of(*value, arena), Value::Str(key));
        }
        Ok(inverted.into_object())
    })
}

/// What `pick` takes from an object, and under which name it puts it.
struct Picked<'r> {
    /// A field of this name comes first, whatever it would mean as a path.
    field: &'r str,
    path: BumpVec<'r, PathStep<'r>>,
    alias: Option<&'r str>,
}

impl<'r> Picked<'r> {
    /// Put what is there into the object that is being made.
    fn put(
        &self,
        object: Value<'r>,
        fields: &mut Fields<'r, Value<'r>>,
        arena: &'r Bump,
    ) -> Result<(), Fault> {
        if let Some(value) = object.get(self.field) {
            fields.put(self.alias.unwrap_or(self.field), value);
            return Ok(());
        }
        let Some(value) = paths::follow(object, &self.path, arena) else { return Ok(()) };
        if let Some(alias) = self.alias {
            fields.put(alias, value);
            return Ok(());
        }
        let Some(keys) = paths::keys_to(object, &self.path, arena) else {
            let field = self.field;
            return Err(Fault::new(format!(
                "an element needs a name; write pick(name: \"{field}\")"
            )));
        };
        let Some((first, inner)) = keys.split_first() else { return Ok(()) };
        let around = nested(fields.get_mut(first).map(|there| *there), inner, value, arena);
        fields.put(first, around);
        Ok(())
    }
}

/// An object with a value under several keys, one inside the other.
fn nested<'r>(
    around: Option<Value<'r>>,
    keys: &[&'r str],
    value: Value<'r>,
    arena: &'r Bump,
) -> Value<'r> {
    let Some((first, inner)) = keys.split_first() else { return value };
    let there = around.and_then(|object| object.as_object(arena)).unwrap_or(&[]);
    let mut fields = Fields::with(there.iter().copied(), arena);
    let within = fields.get_mut(first).map(|there| *there);
    fields.put(first, nested(within, inner, value, arena));
    fields.into_object()
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
        let alias = arg.name.as_deref().map(|alias| &*arena.alloc_str(alias));
        picked.push(Picked { field, path, alias });
    }
    match receiver.kind() {
        Kind::Object | Kind::Array => each_object(receiver, arena, |object| {
            let mut fields = Fields::new(arena);
            for picked in &picked {
                picked.put(object, &mut fields, arena)?;
            }
            Ok(fields.into_object())
        }),
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
    let mut names = BumpVec::with_capacity_in(args.len(), arena);
    for arg in args {
        let name = name(machine, arg)?;
        names.push((name, paths::parse(name, arena)?));
    }
    each_object(receiver, arena, |object| {
        let mut left = retained(object, arena, |entry| names.iter().all(|name| name.0 != entry.0));
        for (name, path) in &names {
            // A field of this name comes first, as in `pick`.
            if path.len() > 1 && object.get(name).is_none() {
                let mut edited = Patch::new(left);
                edited.delete(machine, path)?;
                left = edited.finish(arena);
            }
        }
        Ok(left)
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

/// What `change` makes of an object, or of each object in an array. All else stays as it is.
pub(super) fn each_object<'r>(
    value: Value<'r>,
    arena: &'r Bump,
    mut change: impl FnMut(Value<'r>) -> Evaluated<'r>,
) -> Evaluated<'r> {
    match value.kind() {
        Kind::Object => change(value),
        Kind::Array => {
            let elements = value.as_array(arena).unwrap_or(&[]);
            let mut changed = BumpVec::with_capacity_in(elements.len(), arena);
            for element in elements {
                let is_object = element.kind() == Kind::Object;
                changed.push(if is_object { change(*element)? } else { *element });
            }
            Ok(Value::Array(changed.into_bump_slice()))
        }
        _ => Ok(value),
    }
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

/// Objects combined with the one that an argument is; null adds nothing to them.
fn combined<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    arg: &'p Arg,
    combine: fn(&'r [Entry<'r>], &'r [Entry<'r>], &'r Bump) -> Value<'r>,
) -> Evaluated<'r> {
    let arena = machine.arena;
    let other = machine.value_of(arg)?;
    if other.is_null() {
        return Ok(receiver);
    }
    each_object(receiver, arena, |object| {
        let added = object_argument(other, arena)?;
        Ok(combine(object.as_object(arena).unwrap_or(&[]), added, arena))
    })
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
    each_object(receiver, arena, |object| {
        // All renames together, so that two keys can be swapped.
        let mut renamed = Fields::new(arena);
        let mut taken = Fields::new(arena);
        for (old, new) in object_argument(names, arena)? {
            let Some(new) = new.as_str(arena) else {
                let shown = numbers::shown(*new, arena);
                return Err(Fault::new(format!(
                    "the new name of {old} must be a string, not {shown}"
                )));
            };
            if object.get(old).is_some() {
                renamed.put(old, new);
                taken.put(new, ());
            }
        }
        let mut fields = Fields::new(arena);
        for (key, value) in object.as_object(arena).unwrap_or(&[]) {
            if let Some(new) = renamed.get_mut(key) {
                fields.put(new, *value);
            } else if taken.get_mut(key).is_none() {
                fields.put(key, *value);
            }
        }
        Ok(fields.into_object())
    })
}

fn transform_keys<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let arena = machine.arena;
    each_object(receiver, arena, |object| {
        let mut fields = Fields::new(arena);
        for (key, value) in object.as_object(arena).unwrap_or(&[]) {
            let key = machine.apply(&args[0], Value::Str(key))?;
            fields.put(text_of(key, arena), *value);
        }
        Ok(fields.into_object())
    })
}

fn transform_values<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let arena = machine.arena;
    each_object(receiver, arena, |object| {
        let entries = object.as_object(arena).unwrap_or(&[]);
        let mut fields = BumpVec::with_capacity_in(entries.len(), arena);
        for (key, value) in entries {
            fields.push((*key, machine.apply(&args[0], *value)?));
        }
        Ok(Value::Object(fields.into_bump_slice()))
    })
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

/// Objects with the entries whose key or value, whatever `tested` says, is accepted.
fn filtered<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    condition: &'p Arg,
    tested: fn(Entry<'r>) -> Value<'r>,
) -> Evaluated<'r> {
    let arena = machine.arena;
    each_object(receiver, arena, |object| {
        let mut fields = BumpVec::new_in(arena);
        for entry in object.as_object(arena).unwrap_or(&[]) {
            if machine.accepts(condition, tested(*entry))? {
                fields.push(*entry);
            }
        }
        Ok(Value::Object(fields.into_bump_slice()))
    })
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
