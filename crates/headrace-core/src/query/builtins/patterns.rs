//! Regular expressions.
//!
//! The syntax is that of the Rust crate `regex`: no look-around, no references back, and
//! every match takes linear time. A pattern matches anywhere in the text unless it is
//! anchored. One that is written in the query is compiled once.

use std::borrow::Cow;

use bumpalo::collections::Vec as BumpVec;
use regex::{Captures, Regex};

use super::{
    Builtin, Parameter, Size, in_group, limited,
    search::tested,
    text_builder::{text_argument, texts, written},
};
use crate::{
    query::{Arg, Fault, Machine, machine::Evaluated, regex::compile},
    value::{Kind, Value},
};

pub(super) static BUILTINS: &[Builtin] = &in_group("Patterns", [
    Builtin::value("re_match", |machine, receiver, args| {
            if receiver.kind() != Kind::String {
                return Ok(tested(machine, receiver, |_| false));
            }
            let regex = pattern(machine, &args[0])?;
            Ok(tested(machine, receiver, |text| regex.is_match(text)))
        })
        .takes(&[Parameter::Value("pattern")])
        .doc("Whether the pattern matches somewhere in the text.")
        .examples(&[
            [r#""a1".re_match("\d")"#, "null", "true"],
            [r#""a1".re_match("^\d")"#, "null", "false"],
            [r#"$.re_match("\d")"#, "1", "false"],
            [r#""a".re_match("(")"#, "null", "error"],
        ]),
    Builtin::value("match_first", match_first)
        .takes(&[Parameter::Value("pattern")])
        .doc("The first part of the text that the pattern matches, or null.")
        .examples(&[
            [r#""a12b3".match_first("\d+")"#, "null", r#""12""#],
            [r#""a".match_first("\d")"#, "null", "null"],
        ]),
    Builtin::value("match_all", match_all)
        .takes(&[Parameter::Value("pattern")])
        .doc("Every part of the text that the pattern matches; empty matches are left out.")
        .examples(&[
            [r#""a12b3".match_all("\d+")"#, "null", r#"["12", "3"]"#],
            [r#""a12b".match_all("\d*")"#, "null", r#"["12"]"#],
            [r#"$.match_all("\d+")"#, "123", "null"],
        ]),
    Builtin::value("captures", captures)
        .takes(&[Parameter::Value("pattern")])
        .doc("An array of the first match and of the text of each group in it, null for a group without text; null if nothing matches.")
        .examples(&[
            [r#""k=v".captures("(\w)=(\w)")"#, "null", r#"["k=v", "k", "v"]"#],
            [r#""ab".captures("(a)(x)?")"#, "null", r#"["a", "a", null]"#],
            [r#""x".captures("(\d)")"#, "null", "null"],
        ]),
    Builtin::value("captures_named", captures_named)
        .takes(&[Parameter::Value("pattern")])
        .aliases(&["named_captures"])
        .doc("An object of the text of each named group in the first match, null for a group without text; null if nothing matches.")
        .examples(&[
            [
                r#""GET /a".captures_named("(?P<verb>\w+) (?P<path>\S+)")"#,
                "null",
                r#"{"verb": "GET", "path": "/a"}"#,
            ],
            [r#""x".captures_named("(?<d>\d)")"#, "null", "null"],
        ]),
    Builtin::value("captures_all", captures_all)
        .takes(&[Parameter::Value("pattern")])
        .doc("Every match with its groups, each as `captures` gives it.")
        .examples(&[[
            r#""a=1,b=2".captures_all("(\w)=(\d)")"#,
            "null",
            r#"[["a=1", "a", "1"], ["b=2", "b", "2"]]"#,
        ]]),
    Builtin::value("replace_re", |machine, receiver, args| replaced(machine, receiver, args, 1))
        .takes(&[Parameter::Value("pattern"), Parameter::Value("with")])
        .doc("The text with another one in place of the first match. In it `$1`, `$name` and `${name}` are the text of a group, `$$` is a dollar sign.")
        .examples(&[
            [r##""a1b2".replace_re("\d", "#")"##, "null", r#""a#b2""#],
            [r#""a1".replace_re("([a-z])(\d)", "$2$1")"#, "null", r#""1a""#],
            [r#"$.replace_re("\d", "")"#, "5", "5"],
        ]),
    Builtin::value("replace_all_re", |machine, receiver, args| replaced(machine, receiver, args, usize::MAX))
        .takes(&[Parameter::Value("pattern"), Parameter::Value("with")])
        .doc("The text with another one in place of every match; see replace_re.")
        .examples(&[[r##""a1b2".replace_all_re("\d", "#")"##, "null", r#""a#b#""#]]),
    Builtin::value("split_re", |machine, receiver, args| {
            let Some(text) = receiver.as_str(machine.arena) else { return Ok(receiver) };
            let regex = pattern(machine, &args[0])?;
            texts(regex.split(text), machine.arena)
        })
        .takes(&[Parameter::Value("pattern")])
        .doc("The parts of the text between the matches.")
        .examples(&[[r#""a1b22c".split_re("\d+")"#, "null", r#"["a", "b", "c"]"#]]),
]);

/// The pattern of an argument, compiled beforehand or now.
fn pattern<'p, 'r>(machine: &mut Machine<'p, 'r>, arg: &'p Arg) -> Evaluated<'r, Cow<'p, Regex>> {
    if let Some(regex) = &arg.regex {
        return Ok(Cow::Borrowed(regex));
    }
    compile(text_argument(machine, arg)?).map(Cow::Owned).map_err(Fault::new)
}

fn match_first<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let Some(text) = receiver.as_str(machine.arena) else { return Ok(Value::Null) };
    let found = pattern(machine, &args[0])?.find(text);
    Ok(found.map_or(Value::Null, |found| Value::Str(found.as_str())))
}

fn match_all<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let Some(text) = receiver.as_str(machine.arena) else { return Ok(Value::Null) };
    let regex = pattern(machine, &args[0])?;
    let parts = regex.find_iter(text).map(|found| found.as_str());
    texts(parts.filter(|part| !part.is_empty()), machine.arena)
}

fn captures<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let Some(text) = receiver.as_str(machine.arena) else { return Ok(Value::Null) };
    let captures = pattern(machine, &args[0])?.captures(text);
    Ok(captures.map_or(Value::Null, |captures| groups(machine, &captures)))
}

fn captures_named<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let Some(text) = receiver.as_str(machine.arena) else { return Ok(Value::Null) };
    let regex = pattern(machine, &args[0])?;
    let Some(captures) = regex.captures(text) else { return Ok(Value::Null) };
    let mut fields = BumpVec::new_in(machine.arena);
    for name in regex.capture_names().flatten() {
        let found = captures.name(name).map_or(Value::Null, |group| Value::Str(group.as_str()));
        fields.push((&*machine.arena.alloc_str(name), found));
    }
    Ok(Value::Object(fields.into_bump_slice()))
}

fn captures_all<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let Some(text) = receiver.as_str(machine.arena) else { return Ok(Value::Null) };
    let regex = pattern(machine, &args[0])?;
    let mut all = BumpVec::new_in(machine.arena);
    for captures in regex.captures_iter(text) {
        all.push(groups(machine, &captures));
        limited(Size::Elements(all.len().saturating_mul(captures.len())))?;
    }
    Ok(Value::Array(all.into_bump_slice()))
}

/// A match and its groups.
fn groups<'r>(machine: &Machine<'_, 'r>, captures: &Captures<'r>) -> Value<'r> {
    let groups = captures.iter().map(|group| match group {
        Some(group) => Value::Str(group.as_str()),
        None => Value::Null,
    });
    Value::Array(BumpVec::from_iter_in(groups, machine.arena).into_bump_slice())
}

/// The first group that a template names and its pattern has not; none of a bad pattern.
pub fn unknown_group<'t>(pattern: &str, template: &'t str) -> Option<&'t str> {
    first_unknown(&compile(pattern).ok()?, template)
}

fn first_unknown<'t>(regex: &Regex, template: &'t str) -> Option<&'t str> {
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix('$') {
            rest = behind;
            continue;
        }
        let name = if let Some(behind) = rest.strip_prefix('{') {
            let Some(end) = behind.find('}') else { continue };
            &behind[..end]
        } else {
            let is_name = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
            let end = rest.find(|sign| !is_name(sign)).unwrap_or(rest.len());
            &rest[..end]
        };
        let is_known = match name.parse::<usize>() {
            Ok(number) => number < regex.captures_len(),
            Err(_) => regex.capture_names().flatten().any(|known| known == name),
        };
        if !name.is_empty() && !is_known {
            return Some(name);
        }
    }
    None
}

fn replaced<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
    most: usize,
) -> Evaluated<'r> {
    let Some(text) = receiver.as_str(machine.arena) else { return Ok(receiver) };
    let regex = pattern(machine, &args[0])?;
    let with = text_argument(machine, &args[1])?;
    written(machine, |draft| {
        let mut done = 0;
        if with.contains('$') {
            if let Some(group) = first_unknown(&regex, with) {
                return Err(Fault::new(format!("the pattern has no group {group}")));
            }
            let references = with.matches('$').count();
            let mut expanded = String::new();
            for captures in regex.captures_iter(text).take(most) {
                let place = captures.get_match().range();
                draft.push_str(text.get(done..place.start).unwrap_or_default())?;
                // A group lies within the match, so this is the most that can come of it.
                limited(Size::Bytes(place.len().saturating_mul(references)))?;
                expanded.clear();
                captures.expand(with, &mut expanded);
                draft.push_str(&expanded)?;
                done = place.end;
            }
        } else {
            // Finding groups costs time, and none is needed here.
            for place in regex.find_iter(text).take(most) {
                draft.push_str(text.get(done..place.start()).unwrap_or_default())?;
                draft.push_str(with)?;
                done = place.end();
            }
        }
        draft.push_str(text.get(done..).unwrap_or_default())
    })
}
