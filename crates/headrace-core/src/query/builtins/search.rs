//! Looking into text: what it contains, where, and what it consists of.
//!
//! On any value but text, a test is false and every other function null.

use super::{
    Builtin, Parameter, in_group,
    text_builder::{text_argument, texts},
};
use crate::{
    query::{
        Arg, Fault, Machine,
        machine::Evaluated,
        numbers::{count, shown},
    },
    value::{Kind, Value, equal},
};

pub(super) static BUILTINS: &[Builtin] = &in_group(
    "Text",
    [
        Builtin::value("starts_with", |machine, receiver, args| {
            compared(machine, receiver, &args[0], |text, prefix| text.starts_with(prefix))
        })
        .takes(&[Parameter::Value("prefix")])
        .doc("Whether the text begins with the prefix.")
        .examples(&[
            [r#""abc".starts_with("ab")"#, "null", "true"],
            [r#"$.starts_with("ab")"#, "7", "false"],
            [r#"$.starts_with("ab")"#, "null", "null"],
        ]),
        Builtin::value("ends_with", |machine, receiver, args| {
            compared(machine, receiver, &args[0], |text, suffix| text.ends_with(suffix))
        })
        .takes(&[Parameter::Value("suffix")])
        .doc("Whether the text ends with the suffix.")
        .examples(&[[r#""abc".ends_with("bc")"#, "null", "true"]]),
        Builtin::value("matches", |machine, receiver, args| {
            compared(machine, receiver, &args[0], |text, part| text.contains(part))
        })
        .takes(&[Parameter::Value("part")])
        .doc("Whether the text contains `part`, taken literally; see re_match for patterns.")
        .examples(&[
            [r#""banana".matches("nan")"#, "null", "true"],
            [r#""banana".matches("n.n")"#, "null", "false"],
        ]),
        Builtin::value("contains_any", |machine, receiver, args| {
            let parts = parts_argument(machine, receiver, &args[0])?;
            Ok(tested(machine, receiver, |text| parts.iter().any(|part| text.contains(part))))
        })
        .takes(&[Parameter::Value("parts")])
        .doc("Whether the text contains at least one of the parts.")
        .examples(&[
            [r#""abc".contains_any(["z", "b"])"#, "null", "true"],
            [r#""abc".contains_any([])"#, "null", "false"],
        ]),
        Builtin::value("contains_all", |machine, receiver, args| {
            let parts = parts_argument(machine, receiver, &args[0])?;
            Ok(tested(machine, receiver, |text| parts.iter().all(|part| text.contains(part))))
        })
        .takes(&[Parameter::Value("parts")])
        .doc("Whether the text contains every one of the parts.")
        .examples(&[[r#""abc".contains_all(["a", "z"])"#, "null", "false"]]),
        Builtin::value("index_of", |machine, receiver, args| {
            position(machine, receiver, &args[0], Place::First)
        })
        .takes(&[Parameter::Value("part")])
        .doc("The position of the first occurrence of `part` in a text, in characters, or of the first equal element of an array; -1 if there is none. `index` returns null then.")
        .examples(&[
            [r#""banana".index_of("an")"#, "null", "1"],
            [r#""éa".index_of("a")"#, "null", "1"],
            [r#""banana".index_of("x")"#, "null", "-1"],
            [r#"["a", "b"].index_of("b")"#, "null", "1"],
        ]),
        Builtin::value("last_index_of", |machine, receiver, args| {
            position(machine, receiver, &args[0], Place::Last)
        })
        .takes(&[Parameter::Value("part")])
        .doc("As index_of, of the last occurrence.")
        .examples(&[
            [r#""banana".last_index_of("an")"#, "null", "3"],
            ["[1, 2, 1].last_index_of(1)", "null", "2"],
        ]),
        Builtin::value("scan", |machine, receiver, args| {
            let Some(text) = receiver.as_str(machine.arena) else { return Ok(Value::Null) };
            let part = text_argument(machine, &args[0])?;
            texts(text.matches(part), machine.arena)
        })
        .takes(&[Parameter::Value("part")])
        .doc("Every occurrence of `part`, taken literally; see match_all for patterns.")
        .examples(&[
            [r#""banana".scan("an")"#, "null", r#"["an", "an"]"#],
            [r#""a1b2".scan("\d")"#, "null", "[]"],
        ]),
        Builtin::value("byte_len", |machine, receiver, _| {
            Ok(receiver.as_str(machine.arena).map_or(Value::Null, |text| count(text.len())))
        })
        .doc("The number of bytes of the text in UTF-8.")
        .examples(&[[r#""aé".byte_len()"#, "null", "3"], ["$.byte_len()", "7", "null"]]),
        Builtin::value("is_blank", |machine, receiver, _| {
            Ok(tested(machine, receiver, |text| text.trim().is_empty()))
        })
        .doc("Whether the text is empty or white space only.")
        .examples(&[
            [r#"" ".is_blank()"#, "null", "true"],
            [r#""a".is_blank()"#, "null", "false"],
            ["$.is_blank()", "0", "false"],
        ]),
        Builtin::value("is_numeric", |machine, receiver, _| {
            let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            Ok(tested(machine, receiver, |text| !text.is_empty() && digits(text)))
        })
        .doc("Whether the text consists of the digits 0 to 9 and is not empty.")
        .examples(&[
            [r#""123".is_numeric()"#, "null", "true"],
            [r#""1.5".is_numeric()"#, "null", "false"],
        ]),
        Builtin::value("is_alpha", |machine, receiver, _| {
            let letters = |text: &str| text.chars().all(char::is_alphabetic);
            Ok(tested(machine, receiver, |text| !text.is_empty() && letters(text)))
        })
        .doc("Whether the text consists of letters and is not empty.")
        .examples(&[
            [r#""né".is_alpha()"#, "null", "true"],
            [r#""a1".is_alpha()"#, "null", "false"],
        ]),
        Builtin::value("is_ascii", |machine, receiver, _| {
            Ok(tested(machine, receiver, str::is_ascii))
        })
        .doc("Whether the text consists of ASCII characters.")
        .examples(&[[r#""a".is_ascii()"#, "null", "true"], [r#""é".is_ascii()"#, "null", "false"]]),
    ],
);

/// Whether a predicate holds for a text: false for another kind, null for null.
pub(super) fn tested<'r>(
    machine: &Machine<'_, 'r>,
    receiver: Value<'r>,
    test: impl FnOnce(&str) -> bool,
) -> Value<'r> {
    if receiver.is_null() {
        return Value::Null;
    }
    Value::Bool(receiver.as_str(machine.arena).is_some_and(test))
}

/// As [`tested`], with a text to compare it with.
fn compared<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    arg: &'p Arg,
    test: fn(&str, &str) -> bool,
) -> Evaluated<'r> {
    let with = if receiver.kind() == Kind::String { text_argument(machine, arg)? } else { "" };
    Ok(tested(machine, receiver, |text| test(text, with)))
}

/// Which of several places is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    First,
    Last,
}

/// Where an array has an element or a text a part; -1 if it has none.
fn position<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    arg: &'p Arg,
    place: Place,
) -> Evaluated<'r> {
    if !matches!(receiver.kind(), Kind::Array | Kind::String) {
        return Ok(Value::Null);
    }
    Ok(place_of(machine, receiver, arg, place)?.map_or(Value::Int(-1), count))
}

/// Where an array has an element, or before how many characters a text has a part.
pub(super) fn place_of<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    arg: &'p Arg,
    place: Place,
) -> Evaluated<'r, Option<usize>> {
    let arena = machine.arena;
    if let Some(elements) = receiver.as_array(arena) {
        let wanted = machine.value_of(arg)?;
        let mut places = elements.iter();
        let is_wanted = |element: &Value<'r>| equal(*element, wanted, arena);
        return Ok(match place {
            Place::First => places.position(is_wanted),
            Place::Last => places.rposition(is_wanted),
        });
    }
    let Some(text) = receiver.as_str(arena) else { return Ok(None) };
    let part = text_argument(machine, arg)?;
    let found = if place == Place::First { text.find(part) } else { text.rfind(part) };
    Ok(found.and_then(|at| text.get(..at)).map(|before| before.chars().count()))
}

/// The parts to look for, if there is text to look in.
fn parts_argument<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    arg: &'p Arg,
) -> Evaluated<'r, Vec<&'r str>> {
    if receiver.kind() != Kind::String {
        return Ok(Vec::new());
    }
    let value = machine.value_of(arg)?;
    let arena = machine.arena;
    let wrong = |value| {
        Fault::new(format!("the argument must be an array of strings, not {}", shown(value, arena)))
    };
    let parts = value.as_array(arena).ok_or_else(|| wrong(value))?;
    parts.iter().map(|part| part.as_str(arena).ok_or_else(|| wrong(*part))).collect()
}
