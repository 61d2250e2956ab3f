//! Arrays put together and taken apart.

use bumpalo::{
    Bump,
    collections::{String as BumpString, Vec as BumpVec},
};

use super::{
    Builtin, Parameter, Size, in_group, limited,
    reshape::field_of,
    search::{Place, place_of},
};
use crate::{
    query::{
        Arg, ExprId, Fault, Machine,
        deep::{Fields, Seen},
        machine::{Evaluated, Flow, Sink},
        numbers::{count, no_elements, shown},
    },
    value::{Entry, Kind, Value, equal, text_of},
};

pub(super) static BUILTINS: &[Builtin] = &in_group("Arrays", [
    Builtin::value("append", append)
        .takes(&[Parameter::Value("value")])
        .doc("An array with a value added at its end. Other values are unchanged.")
        .examples(&[
            ["[3, 1].append(9)", "null", "[3, 1, 9]"],
            ["[3, 1].append([9])", "null", "[3, 1, [9]]"],
            ["5.append(1)", "null", "5"],
        ]),
    Builtin::value("prepend", prepend)
        .takes(&[Parameter::Value("value")])
        .doc("An array with a value added at its beginning. Other values are unchanged.")
        .examples(&[
            ["[3, 1].prepend(9)", "null", "[9, 3, 1]"],
            ["null.prepend(9)", "null", "null"],
        ]),
    Builtin::stage("diff", diff)
        .takes(&[Parameter::Value("other")])
        .doc("The elements that are not in the other array.")
        .examples(&[
            ["[3, 1, 2, 3].diff([1, 9])", "null", "[3, 2, 3]"],
            ["[1, 2].diff(null)", "null", "[1, 2]"],
        ]),
    Builtin::stage("intersect", intersect)
        .takes(&[Parameter::Value("other")])
        .doc("The elements that are in the other array too.")
        .examples(&[
            ["[3, 1, 2, 1].intersect([1, 2.0])", "null", "[1, 2, 1]"],
            ["[1, 2].intersect(2)", "null", "[2]"],
        ]),
    Builtin::stage("union", union)
        .takes(&[Parameter::Value("other")])
        .doc("All elements, then those of the other array that are not among them.")
        .examples(&[
            ["[3, 1, 1].union([1, 9, 9])", "null", "[3, 1, 1, 9]"],
            ["null.union([1])", "null", "[1]"],
        ]),
    Builtin::value("join", join)
        .takes(&[Parameter::Value("separator")])
        .required(0)
        .doc("The elements of an array as one text, with a separator between them.")
        .examples(&[
            [r#"["a", "b"].join("-")"#, "null", r#""a-b""#],
            [r#"[1, null, true, 1.0].join(",")"#, "null", r#""1,null,true,1""#],
            [r#"["a", "b"].join()"#, "null", r#""ab""#],
            ["null.join()", "null", "null"],
            ["5.join()", "null", "error"],
        ]),
    Builtin::stage("zip", zip)
        .takes(&[Parameter::ValueRest("other")])
        .doc("Arrays of the elements at the same position of all arrays, up to the end of the shortest. Null is an array without elements.")
        .examples(&[
            [r#"[1, 2, 3].zip(["a", "b"])"#, "null", r#"[[1, "a"], [2, "b"]]"#],
            ["zip([1, 2], [3, 4], [5])", "null", "[[1, 3, 5]]"],
            ["null.zip([1])", "null", "[]"],
            ["[1].zip(2)", "null", "error"],
        ]),
    Builtin::stage("zip_longest", zip_longest)
        .takes(&[Parameter::ValueRest("other")])
        .doc("As `zip`, up to the end of the longest array; a missing element is null, or the value of `fill`.")
        .examples(&[
            ["[1, 2].zip_longest([9])", "null", "[[1, 9], [2, null]]"],
            ["zip_longest([1], [2, 3], fill: 0)", "null", "[[1, 2], [0, 3]]"],
            ["[1, 2].zip_longest([3], 0)", "null", "error"],
        ]),
    Builtin::value("fanout", fanout)
        .takes(&[Parameter::EachRest("expression")])
        .doc("An array of the values of several expressions about one value.")
        .examples(&[
            ["5.fanout(@ + 1, @ * 2)", "null", "[6, 10]"],
            ["$.fanout(a, @.len())", r#"{"a": 3, "b": 4}"#, "[3, 2]"],
        ]),
    Builtin::value("zip_shape", zip_shape)
        .takes(&[Parameter::EachRest("expression")])
        .required(0)
        .doc("An array of objects from an object of arrays, up to the end of the shortest; a field that is no array is in each object. With expressions, an object of their values, under their names.")
        .examples(&[
            [
                "$.zip_shape()",
                r#"{"a": [1, 2], "b": [3, 4, 5], "c": "x"}"#,
                r#"[{"a": 1, "b": 3, "c": "x"}, {"a": 2, "b": 4, "c": "x"}]"#,
            ],
            ["$.zip_shape({a})", r#"{"a": [1, 2], "b": 3}"#, r#"[{"a": 1}, {"a": 2}]"#],
            ["$.zip_shape(a, s: a + b)", r#"{"a": 1, "b": 2}"#, r#"{"a": 1, "s": 3}"#],
            ["$.zip_shape(a + b)", r#"{"a": 1, "b": 2}"#, "error"],
        ]),
    Builtin::reduce("index", index)
        .takes(&[Parameter::Value("value")])
        .doc("The position of the first element of an array that is equal to a value, or of the first occurrence of a part in a text; null if there is none.")
        .examples(&[
            ["[3, 1, 2].index(2)", "null", "2"],
            ["[3, 1, 2].index(9)", "null", "null"],
            [r#""banana".index("n")"#, "null", "2"],
        ]),
    Builtin::stage("indices_of", indices_of)
        .takes(&[Parameter::Value("value")])
        .doc("The positions of all elements that are equal to a value.")
        .examples(&[
            ["[1, 2, 1].indices_of(1)", "null", "[0, 2]"],
            ["null.indices_of(null)", "null", "[]"],
        ]),
    Builtin::stage("equi_join", equi_join)
        .takes(&[
            Parameter::Value("other"),
            Parameter::Name("key"),
            Parameter::Name("other key"),
            Parameter::Each("merge"),
        ])
        .required(3)
        .doc("For each object and each object of the other array with an equal value of its key: one object with the fields of both, where those of the other replace equal names; or the value of a lambda of the two. Null and missing keys match nothing.")
        .examples(&[
            [
                r#"$.equi_join([{user: 1, role: "admin"}, {user: 1, role: "owner"}], id, user)"#,
                r#"[{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bob"}]"#,
                r#"[{"id": 1, "name": "Ada", "user": 1, "role": "admin"}, {"id": 1, "name": "Ada", "user": 1, "role": "owner"}]"#,
            ],
            [
                "$.equi_join([{j: 1, b: 2}], \"k\", \"j\", (l, r) => l.a + r.b)",
                r#"[{"k": 1.0, "a": 5}, {"a": 6}]"#,
                "[7]",
            ],
        ]),
]);

fn append<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let arena = machine.arena;
    let Some(elements) = receiver.as_array(arena) else { return Ok(receiver) };
    let added = machine.value_of(&args[0])?;
    let mut longer = BumpVec::with_capacity_in(elements.len() + 1, arena);
    longer.extend_from_slice(elements);
    longer.push(added);
    Ok(Value::Array(longer.into_bump_slice()))
}

fn prepend<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let arena = machine.arena;
    let Some(elements) = receiver.as_array(arena) else { return Ok(receiver) };
    let added = machine.value_of(&args[0])?;
    let mut longer = BumpVec::with_capacity_in(elements.len() + 1, arena);
    longer.push(added);
    longer.extend_from_slice(elements);
    Ok(Value::Array(longer.into_bump_slice()))
}

/// The elements of a value: those of an array, nothing of null, else the value itself.
pub(super) fn elements_of<'r>(value: Value<'r>, arena: &'r Bump) -> &'r [Value<'r>] {
    match value.as_array(arena) {
        Some(elements) => elements,
        None if value.is_null() => &[],
        None => arena.alloc_slice_copy(&[value]),
    }
}

/// The elements of an argument.
pub(super) fn others<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    arg: &'p Arg,
) -> Evaluated<'r, &'r [Value<'r>]> {
    let value = machine.value_of(arg)?;
    Ok(elements_of(value, machine.arena))
}

fn diff<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    compared(machine, receiver, args, false, sink)
}

fn intersect<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    compared(machine, receiver, args, true, sink)
}

/// The elements that are in the argument, or those that are not.
fn compared<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    wanted: bool,
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let mut seen = Seen::new(machine.arena);
    for other in others(machine, &args[0])? {
        seen.insert(*other);
    }
    machine.each(receiver, &mut |machine, element| {
        if seen.position(element).is_some() == wanted {
            sink(machine, element)
        } else {
            Ok(Flow::Continue)
        }
    })
}

fn union<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let mut seen = Seen::new(machine.arena);
    let flow = machine.each(receiver, &mut |machine, element| {
        seen.insert(element);
        sink(machine, element)
    })?;
    if flow == Flow::Stop {
        return Ok(flow);
    }
    for other in others(machine, &args[0])? {
        if seen.insert(*other) && sink(machine, *other)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

fn join<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let arena = machine.arena;
    if receiver.is_null() {
        return Ok(Value::Null);
    }
    let Some(elements) = receiver.as_array(arena) else {
        let shown = shown(receiver, arena);
        return Err(Fault::new(format!("join takes an array, not {shown}")));
    };
    let separator = args.first().map_or(Ok(Value::Str("")), |arg| machine.value_of(arg))?;
    let Some(separator) = separator.as_str(arena) else {
        let shown = shown(separator, arena);
        return Err(Fault::new(format!("the separator of join must be a text, not {shown}")));
    };
    let mut text = BumpString::new_in(arena);
    for (at, element) in elements.iter().enumerate() {
        if at > 0 {
            text.push_str(separator);
        }
        text.push_str(text_of(*element, arena));
        limited(Size::Bytes(text.len()))?;
    }
    Ok(Value::Str(text.into_bump_str()))
}

/// The elements of each argument without a name.
fn columns<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    args: &'p [Arg],
) -> Evaluated<'r, Vec<&'r [Value<'r>]>> {
    let mut columns = Vec::with_capacity(args.len());
    for arg in args.iter().filter(|arg| arg.name.is_none()) {
        let value = machine.value_of(arg)?;
        let column = match value.as_array(machine.arena) {
            Some(column) => column,
            None if value.is_null() => &[],
            None => {
                let shown = shown(value, machine.arena);
                return Err(Fault::new(format!(
                    "it zips arrays, not {shown}; what zip_longest fills with is fill: {}",
                    text_of(value, machine.arena)
                )));
            }
        };
        columns.push(column);
    }
    Ok(columns)
}

/// What stands in one place in all columns, behind the element of the receiver.
fn zipped<'r>(
    element: Value<'r>,
    columns: &[&[Value<'r>]],
    at: usize,
    fill: Value<'r>,
    arena: &'r Bump,
) -> Value<'r> {
    let mut row = BumpVec::with_capacity_in(columns.len() + 1, arena);
    row.push(element);
    row.extend(columns.iter().map(|column| column.get(at).copied().unwrap_or(fill)));
    Value::Array(row.into_bump_slice())
}

fn zip<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let columns = columns(machine, args)?;
    let shortest = columns.iter().map(|column| column.len()).min().unwrap_or(usize::MAX);
    if shortest == 0 {
        return Ok(Flow::Continue);
    }
    let mut at = 0;
    let mut stopped = Flow::Continue;
    machine.each(receiver, &mut |machine, element| {
        let row = zipped(element, &columns, at, Value::Null, machine.arena);
        at += 1;
        stopped = sink(machine, row)?;
        Ok(if at == shortest { Flow::Stop } else { stopped })
    })?;
    // The end of the shortest is not the end for the stages behind.
    Ok(stopped)
}

fn zip_longest<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let columns = columns(machine, args)?;
    let fill = match args.iter().find(|arg| arg.name.as_deref() == Some("fill")) {
        Some(arg) => machine.value_of(arg)?,
        None => Value::Null,
    };
    let longest = columns.iter().map(|column| column.len()).max().unwrap_or(0);
    let mut at = 0;
    let flow = machine.each(receiver, &mut |machine, element| {
        let row = zipped(element, &columns, at, fill, machine.arena);
        at += 1;
        sink(machine, row)
    })?;
    if flow == Flow::Stop {
        return Ok(flow);
    }
    for at in at..longest {
        let row = zipped(fill, &columns, at, fill, machine.arena);
        if sink(machine, row)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

fn fanout<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let mut values = BumpVec::with_capacity_in(args.len(), machine.arena);
    for arg in args {
        values.push(machine.apply(arg, receiver)?);
    }
    Ok(Value::Array(values.into_bump_slice()))
}

fn zip_shape<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    if args.is_empty() {
        return rows_of(receiver, machine.arena);
    }
    let mut fields = Fields::new(machine.arena);
    for arg in args {
        let value = machine.apply(arg, receiver)?;
        match machine.name_of(arg) {
            Some(name) => fields.put(machine.arena.alloc_str(name), value),
            None if args.len() == 1 && value.kind() == Kind::Object => {
                return rows_of(value, machine.arena);
            }
            None => {
                return Err(Fault::new(
                    "zip_shape needs to know what to call this: write it as name: expression",
                ));
            }
        }
    }
    Ok(fields.into_object())
}

/// Objects of what stands in one place in the arrays of an object.
fn rows_of<'r>(value: Value<'r>, arena: &'r Bump) -> Evaluated<'r> {
    let Some(entries) = value.as_object(arena) else { return Ok(value) };
    let columns: Vec<_> =
        entries.iter().map(|(key, value)| (*key, *value, value.as_array(arena))).collect();
    let lengths = columns.iter().filter_map(|(.., elements)| elements.map(<[_]>::len));
    let length = lengths.min().unwrap_or(1);
    limited(Size::Elements(length.saturating_mul(columns.len())))?;
    let mut rows = BumpVec::with_capacity_in(length, arena);
    for at in 0..length {
        let row = columns.iter().map(|(key, value, elements)| {
            (*key, elements.and_then(|elements| elements.get(at)).copied().unwrap_or(*value))
        });
        rows.push(Value::Object(BumpVec::from_iter_in(row, arena).into_bump_slice()));
    }
    Ok(Value::Array(rows.into_bump_slice()))
}

fn index<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let value = machine.eval(receiver)?;
    match value.kind() {
        Kind::Null => Ok(Value::Null),
        Kind::Array | Kind::String => {
            let place = place_of(machine, value, &args[0], Place::First)?;
            Ok(place.map_or(Value::Null, count))
        }
        _ => Err(no_elements(value, machine.arena)),
    }
}

fn indices_of<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let wanted = machine.value_of(&args[0])?;
    let mut next = 0;
    machine.each(receiver, &mut |machine, element| {
        let at = Value::Int(next);
        next += 1;
        if equal(element, wanted, machine.arena) { sink(machine, at) } else { Ok(Flow::Continue) }
    })
}

fn equi_join<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let arena = machine.arena;
    let right = others(machine, &args[0])?;
    let (left_key, right_key) = (field_of(machine, &args[1])?, field_of(machine, &args[2])?);
    let mut keys = Seen::new(arena);
    let mut groups: Vec<Vec<Value<'r>>> = Vec::new();
    for row in right {
        let Some(key) = row.get(right_key).filter(|key| !key.is_null()) else { continue };
        if let Some(group) = keys.position(key).and_then(|at| groups.get_mut(at)) {
            group.push(*row);
        } else {
            keys.insert(key);
            groups.push(vec![*row]);
        }
    }
    let mut copied = 0_usize;
    machine.each(receiver, &mut |machine, left| {
        let key = left.get(left_key).filter(|key| !key.is_null());
        let group = key.and_then(|key| keys.position(key)).and_then(|at| groups.get(at));
        let left_entries = left.as_object(arena).unwrap_or(&[]);
        for right in group.into_iter().flatten() {
            let right_entries = right.as_object(arena).unwrap_or(&[]);
            copied = copied.saturating_add(left_entries.len() + right_entries.len());
            limited(Size::Elements(copied))?;
            let row = match args.get(3) {
                Some(merge) => machine.apply_all(merge, &[left, *right])?,
                None => merged(left_entries, right_entries, arena),
            };
            if sink(machine, row)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    })
}

fn merged<'r>(left: &[Entry<'r>], right: &[Entry<'r>], arena: &'r Bump) -> Value<'r> {
    let mut fields = Fields::with(left.iter().copied(), arena);
    for (key, value) in right {
        fields.put(key, *value);
    }
    fields.into_object()
}
