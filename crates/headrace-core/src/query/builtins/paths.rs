//! Paths as text: `a.b[0].c`, or `a/b/0/c`.

use bumpalo::{
    Bump,
    collections::{String as BumpString, Vec as BumpVec},
};

use super::{Builtin, Parameter, in_group, objects};
use crate::{
    json,
    query::{
        Arg, Fault, Machine,
        deep::Fields,
        machine::Evaluated,
        numbers,
        patch::{Patch, PathStep, position},
    },
    value::{Kind, Value, text_of},
};

pub(super) static BUILTINS: &[Builtin] = &in_group("Paths", [
    Builtin::value("get_path", get_path)
        .takes(&[Parameter::Name("path")])
        .doc("The value at a path, or null. A path is text: `a.b[0].c` or `a/b/0/c`.")
        .examples(&[
            [r#"$.get_path("a.b[1].c")"#, r#"{"a": {"b": [{"c": 1}, {"c": 2}]}}"#, "2"],
            [r#"$.get_path("a/b/-1/c")"#, r#"{"a": {"b": [{"c": 1}, {"c": 2}]}}"#, "2"],
            [r#"$.get_path("$['a.b'].c")"#, r#"{"a.b": {"c": 1}}"#, "1"],
            [r#"$.get_path("a.z")"#, r#"{"a": 5}"#, "null"],
            [r#"$.get_path("a[x]")"#, r#"{"a": 5}"#, "error"],
        ]),
    Builtin::value("has_path", has_path)
        .takes(&[Parameter::Name("path")])
        .doc("Whether the value at a path is there and not null.")
        .examples(&[
            [r#"$.has_path("a.b")"#, r#"{"a": {"b": false}}"#, "true"],
            [r#"$.has_path("a.b")"#, r#"{"a": {"b": null}}"#, "false"],
            [r#"$.has_path("a.b")"#, r#"{"a": [1]}"#, "false"],
        ]),
    Builtin::value("set_path", set_path)
        .takes(&[Parameter::Name("path"), Parameter::Value("value")])
        .doc("The receiver with another value at a path, where `get_path` finds it. Missing objects on the path are created, missing elements of arrays are not.")
        .examples(&[
            [r#"$.set_path("a.b.c", 1)"#, r#"{"a": {}}"#, r#"{"a": {"b": {"c": 1}}}"#],
            [r#"$.set_path("a.0", 1)"#, r#"{"a": [5, 6]}"#, r#"{"a": [1, 6]}"#],
            [r#"$.o.set_path("a", 1)"#, r#"{"o": {"a": 0}}"#, r#"{"a": 1}"#],
            [r#"$.set_path("a.b", 1)"#, r#"{"a": [{"b": 0}]}"#, "error"],
            [r#"$.set_path("a[2]", 1)"#, r#"{"a": [5, 6]}"#, r#"{"a": [5, 6]}"#],
            [
                r#"$.set_path("a[*].b", 1)"#,
                r#"{"a": [{}, {"c": 2}]}"#,
                r#"{"a": [{"b": 1}, {"c": 2, "b": 1}]}"#,
            ],
        ]),
    Builtin::value("del_path", del_paths)
        .takes(&[Parameter::Name("path")])
        .doc("The receiver without the value at a path.")
        .examples(&[
            [r#"$.del_path("a.b")"#, r#"{"a": {"b": 1, "c": 2}}"#, r#"{"a": {"c": 2}}"#],
            [r#"$.del_path("a.z")"#, r#"{"a": {"b": 1}}"#, r#"{"a": {"b": 1}}"#],
        ]),
    Builtin::value("del_paths", del_paths)
        .takes(&[Parameter::NameRest("paths")])
        .doc("The receiver without the values at several paths, which can also be arrays. Positions of elements are those before the deletion.")
        .examples(&[
            [r#"$.del_paths("a", "b.c")"#, r#"{"a": 1, "b": {"c": 2}}"#, r#"{"b": {}}"#],
            [r#"$.del_paths(["[0]", "[1]"])"#, "[1, 2, 3]", "[3]"],
        ]),
    Builtin::value("flatten_keys", flatten_keys)
        .takes(&[Parameter::Value("separator")])
        .required(0)
        .doc("An object without objects inside: their keys are joined by the separator, which \
              is `.` unless given. Arrays and empty objects stay as they are. Of an array, every \
              object in it.")
        .examples(&[
            [
                "$.flatten_keys()",
                r#"{"a": {"b": 1, "c": [{"d": 2}]}}"#,
                r#"{"a.b": 1, "a.c": [{"d": 2}]}"#,
            ],
            [r#"$.flatten_keys("/")"#, r#"{"a": {"b": {}}}"#, r#"{"a/b": {}}"#],
            ["$.flatten_keys()", r#"[{"a": {"b": 1}}, 5]"#, r#"[{"a.b": 1}, 5]"#],
            ["$.flatten_keys()", r#"{"a": {"b": 1}, "a.b": 2}"#, "error"],
        ]),
    Builtin::value("unflatten_keys", unflatten_keys)
        .takes(&[Parameter::Value("separator")])
        .required(0)
        .doc("The opposite of `flatten_keys`: keys are split at the separator, which is `.` \
              unless given. Of an array, every object in it.")
        .examples(&[
            ["$.unflatten_keys()", r#"{"a.b": 1, "a.c": 2}"#, r#"{"a": {"b": 1, "c": 2}}"#],
            [r#"$.unflatten_keys("/")"#, r#"{"a/b": 1, "c.d": 2}"#, r#"{"a": {"b": 1}, "c.d": 2}"#],
            ["$.unflatten_keys()", r#"{"a": {"c": 2}, "a.b": 1}"#, r#"{"a": {"c": 2, "b": 1}}"#],
            ["$.unflatten_keys()", r#"{"a": 1, "a.b": 2}"#, "error"],
        ]),
]);

fn get_path<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let path = argument(machine, &args[0])?;
    let steps = readable(path, machine.arena)?;
    Ok(follow(receiver, &steps, machine.arena).unwrap_or(Value::Null))
}

fn has_path<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    Ok(Value::Bool(!get_path(machine, receiver, args)?.is_null()))
}

fn set_path<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let path = argument(machine, &args[0])?;
    let value = machine.value_of(&args[1])?;
    let steps = parse(path, machine.arena)?;
    let mut edited = Patch::new(receiver);
    edited.set(machine, &steps, value)?;
    Ok(edited.finish(machine.arena))
}

fn del_paths<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let arena = machine.arena;
    let mut edited = Patch::new(receiver);
    for arg in args {
        let value = machine.value_of(arg)?;
        for path in value.as_array(arena).unwrap_or(&[value]) {
            let steps = parse(text(*path, arena)?, arena)?;
            edited.delete(machine, &steps)?;
        }
    }
    Ok(edited.finish(arena))
}

fn flatten_keys<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let separator = separator(machine, args)?;
    let arena = machine.arena;
    objects::each_object(receiver, arena, |object| {
        let mut flat = Fields::new(arena);
        flatten(object, &mut String::new(), separator, &mut flat, arena)?;
        Ok(flat.into_object())
    })
}

fn flatten<'r>(
    object: Value<'r>,
    prefix: &mut String,
    separator: &str,
    flat: &mut Fields<'r, Value<'r>>,
    arena: &'r Bump,
) -> Result<(), Fault> {
    let length = prefix.len();
    for (key, value) in object.as_object(arena).unwrap_or(&[]) {
        prefix.push_str(key);
        if value.kind() == Kind::Object && value.truthy(arena) {
            prefix.push_str(separator);
            flatten(*value, prefix, separator, flat, arena)?;
        } else if flat.get_mut(prefix).is_some() {
            return Err(twice(prefix));
        } else {
            flat.put(arena.alloc_str(prefix), *value);
        }
        prefix.truncate(length);
    }
    Ok(())
}

fn twice(key: &str) -> Fault {
    Fault::new(format!("two values have the key {key}; use another separator"))
}

fn unflatten_keys<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let arena = machine.arena;
    let separator = separator(machine, args)?;
    if separator.is_empty() {
        return Err(Fault::new("the separator of keys must not be empty"));
    }
    objects::each_object(receiver, arena, |object| {
        let mut tree = Fields::new(arena);
        for (key, value) in object.as_object(arena).unwrap_or(&[]) {
            grow(&mut tree, key, *value, separator, arena)?;
        }
        Ok(grown(tree, arena))
    })
}

/// A value, or an object that keys with the same beginning are put into.
enum Tree<'r> {
    Leaf(Value<'r>),
    Branch(Fields<'r, Tree<'r>>),
}

/// Put a value where its key says.
fn grow<'r>(
    mut tree: &mut Fields<'r, Tree<'r>>,
    key: &'r str,
    value: Value<'r>,
    separator: &str,
    arena: &'r Bump,
) -> Result<(), Fault> {
    let mut rest = key;
    let mut depth = 0;
    while let Some((part, behind)) = rest.split_once(separator) {
        depth += 1;
        if depth == json::MAX_DEPTH {
            return Err(too_long(depth));
        }
        let there = match tree.get_mut(part) {
            None => Some(Fields::new(arena)),
            Some(Tree::Leaf(leaf)) => {
                let entries = leaf.as_object(arena).ok_or_else(|| {
                    let shown = numbers::shown(*leaf, arena);
                    Fault::new(format!("{key} has no place: {part} is {shown}, not an object"))
                })?;
                let leaves = entries.iter().map(|(key, value)| (*key, Tree::Leaf(*value)));
                Some(Fields::with(leaves, arena))
            }
            Some(Tree::Branch(_)) => None,
        };
        if let Some(branch) = there {
            tree.put(part, Tree::Branch(branch));
        }
        let Some(Tree::Branch(branch)) = tree.get_mut(part) else { return Ok(()) };
        tree = branch;
        rest = behind;
    }
    match tree.get_mut(rest) {
        None => tree.put(rest, Tree::Leaf(value)),
        Some(Tree::Leaf(_)) => return Err(twice(key)),
        Some(Tree::Branch(branch)) => {
            let entries = value.as_object(arena).ok_or_else(|| {
                let shown = numbers::shown(value, arena);
                Fault::new(format!("{key} is {shown}, so keys that begin with it have no place"))
            })?;
            for (inner, value) in entries {
                if branch.get_mut(inner).is_some() {
                    return Err(twice(inner));
                }
                branch.put(inner, Tree::Leaf(*value));
            }
        }
    }
    Ok(())
}

fn grown<'r>(tree: Fields<'r, Tree<'r>>, arena: &'r Bump) -> Value<'r> {
    let entries = tree.into_entries();
    let mut object = BumpVec::with_capacity_in(entries.len(), arena);
    object.extend(entries.into_iter().map(|(key, value)| match value {
        Tree::Leaf(value) => (key, value),
        Tree::Branch(branch) => (key, grown(branch, arena)),
    }));
    Value::Object(object.into_bump_slice())
}

fn separator<'r, 'p>(machine: &mut Machine<'p, 'r>, args: &'p [Arg]) -> Evaluated<'r, &'r str> {
    match args.first() {
        None => Ok("."),
        Some(arg) => {
            let value = machine.value_of(arg)?;
            Ok(text_of(value, machine.arena))
        }
    }
}

/// The path that an argument is.
pub(super) fn argument<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    arg: &'p Arg,
) -> Evaluated<'r, &'r str> {
    let value = machine.value_of(arg)?;
    text(value, machine.arena)
}

fn text<'r>(path: Value<'r>, arena: &'r Bump) -> Result<&'r str, Fault> {
    path.as_str(arena).ok_or_else(|| {
        Fault::new(format!("a path is a string, not {}", numbers::shown(path, arena)))
    })
}

/// The value at the end of the steps; `None` if there is none.
pub(super) fn follow<'r>(
    mut value: Value<'r>,
    steps: &[PathStep<'_>],
    arena: &'r Bump,
) -> Option<Value<'r>> {
    let element = |of: Value<'r>, at: i64| {
        let elements = of.as_array(arena)?;
        elements.get(position(at, elements.len())?).copied()
    };
    for step in steps {
        value = match *step {
            PathStep::Index(at) => element(value, at)?,
            PathStep::Segment(text) if value.kind() == Kind::Array => {
                element(value, text.parse().ok()?)?
            }
            PathStep::Field(key) | PathStep::Segment(key) => value.get(key)?,
            // `readable` lets none of these through.
            PathStep::Each(_) | PathStep::Descend(_) => return None,
        };
    }
    Some(value)
}

/// The keys that a path goes through; none if it goes through an element.
pub(super) fn keys_to<'r>(
    mut value: Value<'r>,
    steps: &[PathStep<'r>],
    arena: &'r Bump,
) -> Option<BumpVec<'r, &'r str>> {
    let mut keys = BumpVec::with_capacity_in(steps.len(), arena);
    for step in steps {
        let (PathStep::Field(key) | PathStep::Segment(key)) = *step else { return None };
        value = value.get(key)?;
        keys.push(key);
    }
    Some(keys)
}

/// The steps of a path that leads to one place at most.
pub(super) fn readable<'r>(
    path: &'r str,
    arena: &'r Bump,
) -> Result<BumpVec<'r, PathStep<'r>>, Fault> {
    let steps = parse(path, arena)?;
    if steps.contains(&PathStep::Each(None)) {
        return Err(not_a_path(path, "[*] leads to many places, and only one can be read"));
    }
    Ok(steps)
}

/// The steps of a path.
///
/// Steps stand between dots, or between slashes if there is one outside of brackets; a
/// number counts elements where there is an array. `[0]`, `[-1]`, `["any key"]` and `[*]` may
/// follow each step, and `$` may stand in front.
pub(super) fn parse<'r>(
    path: &'r str,
    arena: &'r Bump,
) -> Result<BumpVec<'r, PathStep<'r>>, Fault> {
    let mut steps = BumpVec::new_in(arena);
    let mut rest = match path.strip_prefix('$') {
        Some(rest) if rest.is_empty() || rest.starts_with(['.', '/', '[']) => rest,
        _ => path,
    };
    let separator = separator_of(rest);
    while !rest.is_empty() {
        let (step, behind) = if let Some(rest) = rest.strip_prefix(separator) {
            (None, rest)
        } else if let Some(rest) = rest.strip_prefix('[') {
            let (step, behind) = bracket(rest, arena).map_err(|reason| not_a_path(path, reason))?;
            (Some(step), behind)
        } else {
            let end = rest.find([separator, '[']).unwrap_or(rest.len());
            (Some(PathStep::Segment(&rest[..end])), &rest[end..])
        };
        steps.extend(step);
        if steps.len() >= json::MAX_DEPTH as usize {
            return Err(too_long(json::MAX_DEPTH));
        }
        rest = behind;
    }
    Ok(steps)
}

/// The separator of the steps of a path.
fn separator_of(path: &str) -> char {
    let mut rest = path;
    while let Some(at) = rest.find(['/', '[']) {
        if rest[at..].starts_with('/') {
            return '/';
        }
        rest = quoted(&rest[at + 1..]).map_or(&rest[at + 1..], |quoted| quoted.1);
    }
    '.'
}

/// The step that begins behind a bracket, and what comes behind it.
fn bracket<'r>(path: &'r str, arena: &'r Bump) -> Result<(PathStep<'r>, &'r str), &'static str> {
    if let Some((raw, behind)) = quoted(path) {
        let behind = behind.strip_prefix(']').ok_or("a bracket is not closed")?;
        return Ok((PathStep::Field(unescaped(raw, arena)), behind));
    }
    let (inside, behind) = path.split_once(']').ok_or("a bracket is not closed")?;
    let step = if inside == "*" {
        PathStep::Each(None)
    } else {
        PathStep::Index(inside.parse().map_err(|_| "a bracket holds neither a number nor a text")?)
    };
    Ok((step, behind))
}

/// What stands between quotes at the beginning of a text, and what comes behind them.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    let body = &text[1..];
    let mut escaped = false;
    let end = body.find(|character: char| {
        let ends = character == quote && !escaped;
        escaped = character == '\\' && !escaped;
        ends
    })?;
    Some((&body[..end], &body[end + 1..]))
}

/// A backslash stands for the character behind it.
fn unescaped<'r>(raw: &'r str, arena: &'r Bump) -> &'r str {
    if !raw.contains('\\') {
        return raw;
    }
    let mut text = BumpString::with_capacity_in(raw.len(), arena);
    let mut characters = raw.chars();
    while let Some(character) = characters.next() {
        text.extend(if character == '\\' { characters.next() } else { Some(character) });
    }
    text.into_bump_str()
}

/// Append an element's position to a path.
pub(in crate::query) fn append_index(path: &mut String, at: impl ToString) {
    path.push('[');
    path.push_str(&at.to_string());
    path.push(']');
}

/// Append a key to a path so that `parse` reads it back.
pub(in crate::query) fn append_key(path: &mut String, key: &str) {
    let plain = key.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && key.chars().all(|other| other.is_ascii_alphanumeric() || matches!(other, '_' | '-'));
    if plain {
        path.push('.');
        path.push_str(key);
        return;
    }
    path.push_str("[\"");
    for character in key.chars() {
        if matches!(character, '"' | '\\') {
            path.push('\\');
        }
        path.push(character);
    }
    path.push_str("\"]");
}

fn not_a_path(path: &str, reason: &str) -> Fault {
    Fault::new(format!("{path} is not a path that can be followed: {reason}"))
}

fn too_long(steps: u32) -> Fault {
    Fault::new(format!("the path is too long: it has {steps} steps or more"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_step_by_step() {
        use PathStep::{Each, Field, Index, Segment};
        let arena = Bump::new();
        for (path, steps) in [
            ("", &[][..]),
            ("$", &[]),
            ("a", &[Segment("a")]),
            ("$.a", &[Segment("a")]),
            ("$a", &[Segment("$a")]),
            ("a.b[0].c", &[Segment("a"), Segment("b"), Index(0), Segment("c")]),
            ("a/b/0/c.d", &[Segment("a"), Segment("b"), Segment("0"), Segment("c.d")]),
            ("/a/b", &[Segment("a"), Segment("b")]),
            ("a[-1][2]", &[Segment("a"), Index(-1), Index(2)]),
            ("a[*].b", &[Segment("a"), Each(None), Segment("b")]),
            (r#"["x/y"].z"#, &[Field("x/y"), Segment("z")]),
            (r#"["a\"\\[]"]"#, &[Field(r#"a"\[]"#)]),
            ("['']", &[Field("")]),
        ] {
            assert_eq!(
                parse(path, &arena).map(|steps| steps.to_vec()),
                Ok(steps.to_vec()),
                "{path}"
            );
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        let arena = Bump::new();
        for path in
            ["a[", "a[0", "a[x]", "a[]", "a['b]", "a['b'", "a['b'x]", "a[9999999999999999999]"]
        {
            assert!(parse(path, &arena).is_err(), "{path}");
        }
        assert!(parse(arena.alloc_str(&"a.".repeat(1000)), &arena).is_err());
        assert!(readable("a[*]", &arena).is_err());
    }

    #[test]
    fn any_key_can_be_appended_and_read_back() {
        let arena = Bump::new();
        for key in
            ["a", "a-b", "", "0", "a.b", "a/b", "[0]", "*", "\"", "\\", "'", "\\\"]", "é", "$"]
        {
            let mut path = "$".to_owned();
            append_key(&mut path, key);
            let steps = parse(arena.alloc_str(&path), &arena).map(|steps| steps.to_vec());
            let plain = path.starts_with("$.");
            let step = if plain { PathStep::Segment(key) } else { PathStep::Field(key) };
            assert_eq!(steps, Ok(vec![step]), "{path}");
        }
    }
}
