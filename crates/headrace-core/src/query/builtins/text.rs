//! Taking text apart and putting it together.
//!
//! Positions and widths count characters (Unicode scalar values), never bytes. What is
//! no text stays as it is, so a column of mixed values can be cleaned in one go.

use std::ops::Range;

use bumpalo::collections::Vec as BumpVec;

use super::{
    Builtin, Parameter, Size, in_group,
    iteration::count_of,
    limited,
    text_builder::{TextBuilder, part, parts, rewritten, text_argument, texts, written},
};
use crate::{
    query::{
        Arg, Fault, Machine,
        machine::Evaluated,
        numbers::{shown, whole_number},
    },
    value::{Kind, Value},
};

pub(super) static BUILTINS: &[Builtin] = &in_group(
    "Text",
    [
        Builtin::value("trim", |machine, receiver, _| Ok(part(machine, receiver, str::trim)))
            .doc("The text without the white space at both ends.")
            .examples(&[
                [r#""  a b ".trim()"#, "null", r#""a b""#],
                ["$.trim()", "null", "null"],
                ["$.trim()", "7", "7"],
            ]),
        Builtin::value("trim_left", |machine, receiver, _| {
            Ok(part(machine, receiver, str::trim_start))
        })
        .aliases(&["lstrip"])
        .doc("The text without the white space before it.")
        .examples(&[[r#""  a ".trim_left()"#, "null", r#""a ""#]]),
        Builtin::value("trim_right", |machine, receiver, _| {
            Ok(part(machine, receiver, str::trim_end))
        })
        .aliases(&["rstrip"])
        .doc("The text without the white space behind it.")
        .examples(&[[r#""  a ".trim_right()"#, "null", r#""  a""#]]),
        Builtin::value("strip_prefix", strip_prefix)
            .takes(&[Parameter::Value("prefix")])
            .doc("The text without the prefix, if it begins with it.")
            .examples(&[
                [r#""pre-x".strip_prefix("pre-")"#, "null", r#""x""#],
                [r#""x".strip_prefix("pre-")"#, "null", r#""x""#],
            ]),
        Builtin::value("strip_suffix", strip_suffix)
            .takes(&[Parameter::Value("suffix")])
            .doc("The text without the suffix, if it ends with it.")
            .examples(&[[r#""x.txt".strip_suffix(".txt")"#, "null", r#""x""#]]),
        Builtin::value("slice", slice)
            .takes(&[Parameter::Value("start"), Parameter::Value("end")])
            .required(1)
            .doc(
                "The characters of a text, or the elements of an array, from `start` up to but \
              without `end`. Negative positions count from the end.",
            )
            .examples(&[
                [r#""hello".slice(1, 3)"#, "null", r#""el""#],
                [r#""naïve".slice(-3)"#, "null", r#""ïve""#],
                [r#""hello".slice(3, 1)"#, "null", r#""""#],
                ["[1, 2, 3].slice(1)", "null", "[2, 3]"],
            ]),
        Builtin::value("pad_left", |machine, receiver, args| {
            padded(machine, receiver, args, |gap| gap)
        })
        .takes(&[Parameter::Value("width"), Parameter::Value("character")])
        .required(1)
        .doc(
            "The text with spaces, or another character, before it until it is `width` \
              characters long.",
        )
        .examples(&[
            [r#""7".pad_left(3, "0")"#, "null", r#""007""#],
            [r#""7".pad_left(3)"#, "null", r#""  7""#],
            [r#""1234".pad_left(3)"#, "null", r#""1234""#],
            [r#""7".pad_left(10000000000)"#, "null", "error"],
        ]),
        Builtin::value("pad_right", |machine, receiver, args| {
            padded(machine, receiver, args, |_| 0)
        })
        .takes(&[Parameter::Value("width"), Parameter::Value("character")])
        .required(1)
        .doc(
            "The text with spaces, or another character, behind it until it is `width` \
              characters long.",
        )
        .examples(&[[r#""7".pad_right(3, ".")"#, "null", r#""7..""#]]),
        Builtin::value("center", |machine, receiver, args| {
            padded(machine, receiver, args, |gap| gap / 2)
        })
        .takes(&[Parameter::Value("width"), Parameter::Value("character")])
        .required(1)
        .doc(
            "The text with spaces, or another character, on both sides until it is `width` \
              characters long; an odd one goes to the right.",
        )
        .examples(&[[r#""ab".center(5, "-")"#, "null", r#""-ab--""#]]),
        Builtin::value("indent", indent)
            .takes(&[Parameter::Value("indent")])
            .required(0)
            .doc("The text with two spaces before each line; with a number, that many spaces; with a text, that text.")
            .examples(&[
                [r#""a\nb".indent()"#, "null", r#""  a\n  b""#],
                [r#""a\nb".indent(1)"#, "null", r#"" a\n b""#],
                [r#""a".indent("> ")"#, "null", r#""> a""#],
            ]),
        Builtin::value("dedent", |machine, receiver, _| rewritten(machine, receiver, dedent))
            .doc(
                "The text without the white space that all its lines begin with; blank lines \
              do not count.",
            )
            .examples(&[[r#""  a\n    b".dedent()"#, "null", r#""a\n  b""#]]),
        Builtin::value("repeat", repeat)
            .takes(&[Parameter::Value("count")])
            .aliases(&["repeat_str"])
            .doc("The text repeated `count` times.")
            .examples(&[
                [r#""ab".repeat(2)"#, "null", r#""abab""#],
                [r#""ab".repeat(0)"#, "null", r#""""#],
                [r#""ab".repeat(1000000000000)"#, "null", "error"],
            ]),
        Builtin::value("replace", |machine, receiver, args| replaced(machine, receiver, args, 1))
            .takes(&[Parameter::Value("part"), Parameter::Value("with")])
            .doc("The text with another one in place of the first occurrence of `part`.")
            .examples(&[
                [r#""aa".replace("a", "b")"#, "null", r#""ba""#],
                [r#"5.replace("a", "b")"#, "null", "5"],
            ]),
        Builtin::value("replace_all", |machine, receiver, args| {
            replaced(machine, receiver, args, usize::MAX)
        })
        .takes(&[Parameter::Value("part"), Parameter::Value("with")])
        .doc("The text with another one in place of every occurrence of `part`.")
        .examples(&[[r#""aa".replace_all("a", "b")"#, "null", r#""bb""#]]),
        Builtin::value("split", split)
            .takes(&[Parameter::Value("separator")])
            .doc("The parts of the text between the separators.")
            .examples(&[
                [r#""a,b,,c".split(",")"#, "null", r#"["a", "b", "", "c"]"#],
                [r#""abc".split("")"#, "null", r#"["", "a", "b", "c", ""]"#],
                [r#"$.split(",")"#, "null", "null"],
            ]),
        Builtin::value("lines", |machine, receiver, _| parts(machine, receiver, str::lines))
            .doc("The lines of the text, without their line ends.")
            .examples(&[[r#""a\nb\r\nc\n".lines()"#, "null", r#"["a", "b", "c"]"#]]),
        Builtin::value("words", |machine, receiver, _| {
            parts(machine, receiver, str::split_whitespace)
        })
        .doc("The parts of the text between white space.")
        .examples(&[[r#"" a  b ".words()"#, "null", r#"["a", "b"]"#]]),
        Builtin::value("chars", characters)
            .aliases(&["chars_of"])
            .doc("The characters of the text.")
            .examples(&[[r#""aé".chars()"#, "null", r#"["a", "é"]"#]]),
        Builtin::value("bytes", bytes)
            .doc("The bytes of the text in UTF-8, as numbers.")
            .examples(&[[r#""aé".bytes()"#, "null", "[97, 195, 169]"]]),
    ],
);

// Ends and slices

fn strip_prefix<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let Some(text) = receiver.as_str(machine.arena) else { return Ok(receiver) };
    let prefix = text_argument(machine, &args[0])?;
    Ok(Value::Str(text.strip_prefix(prefix).unwrap_or(text)))
}

fn strip_suffix<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let Some(text) = receiver.as_str(machine.arena) else { return Ok(receiver) };
    let suffix = text_argument(machine, &args[0])?;
    Ok(Value::Str(text.strip_suffix(suffix).unwrap_or(text)))
}

fn slice<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let elements = receiver.as_array(machine.arena);
    if elements.is_none() && receiver.kind() != Kind::String {
        return Ok(receiver);
    }
    let start = position(machine, &args[0])?.unwrap_or(0);
    let end = match args.get(1) {
        Some(arg) => position(machine, arg)?,
        None => None,
    };
    if let Some(elements) = elements {
        let range = bounds(elements.len(), start, end);
        return Ok(Value::Array(elements.get(range).unwrap_or_default()));
    }
    Ok(part(machine, receiver, |text| characters_between(text, start, end)))
}

/// A position; null is none.
fn position<'p, 'r>(machine: &mut Machine<'p, 'r>, arg: &'p Arg) -> Evaluated<'r, Option<i64>> {
    let value = machine.value_of(arg)?.resolved(machine.arena);
    let position = whole_number(value);
    if position.is_none() && !value.is_null() {
        let shown = shown(value, machine.arena);
        return Err(Fault::new(format!("a position must be a whole number, not {shown}")));
    }
    Ok(position)
}

/// The range between two positions that may count from the end; empty if they are reversed.
fn bounds(length: usize, start: i64, end: Option<i64>) -> Range<usize> {
    let clamped = |at: i64| {
        let from_end = usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX);
        if at < 0 { length.saturating_sub(from_end) } else { from_end.min(length) }
    };
    let end = end.map_or(length, clamped);
    clamped(start).min(end)..end
}

fn characters_between(text: &str, start: i64, end: Option<i64>) -> &str {
    if text.is_ascii() {
        return text.get(bounds(text.len(), start, end)).unwrap_or_default();
    }
    let range = bounds(text.chars().count(), start, end);
    let mut ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let Some(first) = ends.nth(range.start) else { return "" };
    let last = match range.len().checked_sub(1) {
        Some(more) => ends.nth(more).unwrap_or(text.len()),
        None => first,
    };
    text.get(first..last).unwrap_or_default()
}

// Filling

/// The text in a field of a width, with as much of the gap before it as `left` says.
fn padded<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
    left: fn(usize) -> usize,
) -> Evaluated<'r> {
    let Some(text) = receiver.as_str(machine.arena) else { return Ok(receiver) };
    let width = count_of(machine, &args[0])?;
    let filler = match args.get(1) {
        Some(arg) => text_argument(machine, arg)?,
        None => " ",
    };
    if filler.chars().count() != 1 {
        return Err(Fault::new(format!(
            "a text is filled with one character, not with {}",
            shown(Value::Str(filler), machine.arena)
        )));
    }
    let gap = width.saturating_sub(text.chars().count());
    written(machine, |draft| {
        draft.push_times(filler, left(gap))?;
        draft.push_str(text)?;
        draft.push_times(filler, gap - left(gap))
    })
}

fn indent<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let Some(text) = receiver.as_str(machine.arena) else { return Ok(receiver) };
    let (unit, count) = match args.first() {
        None => (" ", 2),
        Some(arg) => match machine.value_of(arg)?.as_str(machine.arena) {
            Some(prefix) => (prefix, 1),
            None => (" ", count_of(machine, arg)?),
        },
    };
    written(machine, |draft| {
        for line in text.split_inclusive('\n') {
            draft.push_times(unit, count)?;
            draft.push_str(line)?;
        }
        Ok(())
    })
}

fn dedent(text: &str, draft: &mut TextBuilder<'_>) -> Result<(), Fault> {
    let indents = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| &line[..line.len() - line.trim_start().len()]);
    let common = indents.reduce(shared_start).unwrap_or_default();
    for line in text.split_inclusive('\n') {
        // A line that is blank may have less of it.
        let blank = || line.trim_start_matches([' ', '\t']);
        draft.push_str(line.strip_prefix(common).unwrap_or_else(blank))?;
    }
    Ok(())
}

/// The common prefix of two texts.
fn shared_start<'t>(left: &'t str, right: &str) -> &'t str {
    let same = left.chars().zip(right.chars()).take_while(|(left, right)| left == right);
    let length = same.map(|(character, _)| character.len_utf8()).sum();
    left.get(..length).unwrap_or(left)
}

fn repeat<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let Some(text) = receiver.as_str(machine.arena) else { return Ok(receiver) };
    let count = count_of(machine, &args[0])?;
    written(machine, |draft| draft.push_times(text, count))
}

// Parts

fn replaced<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
    most: usize,
) -> Evaluated<'r> {
    let Some(text) = receiver.as_str(machine.arena) else { return Ok(receiver) };
    let (old, new) = (text_argument(machine, &args[0])?, text_argument(machine, &args[1])?);
    written(machine, |draft| {
        let mut done = 0;
        for (at, _) in text.match_indices(old).take(most) {
            draft.push_str(text.get(done..at).unwrap_or_default())?;
            draft.push_str(new)?;
            done = at + old.len();
        }
        draft.push_str(text.get(done..).unwrap_or_default())
    })
}

fn split<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let Some(text) = receiver.as_str(machine.arena) else { return Ok(receiver) };
    let separator = text_argument(machine, &args[0])?;
    texts(text.split(separator), machine.arena)
}

fn characters<'r>(machine: &mut Machine<'_, 'r>, receiver: Value<'r>, _: &[Arg]) -> Evaluated<'r> {
    let Some(text) = receiver.as_str(machine.arena) else { return Ok(receiver) };
    let count = text.chars().count();
    limited(Size::Elements(count))?;
    let mut characters = BumpVec::with_capacity_in(count, machine.arena);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (character, behind) = rest.split_at(first.len_utf8());
        characters.push(Value::Str(character));
        rest = behind;
    }
    Ok(Value::Array(characters.into_bump_slice()))
}

fn bytes<'r>(machine: &mut Machine<'_, 'r>, receiver: Value<'r>, _: &[Arg]) -> Evaluated<'r> {
    let Some(text) = receiver.as_str(machine.arena) else { return Ok(receiver) };
    limited(Size::Elements(text.len()))?;
    let bytes = text.bytes().map(|byte| Value::Int(i64::from(byte)));
    Ok(Value::Array(machine.arena.alloc_slice_fill_iter(bytes)))
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;

    #[test]
    fn slices_are_those_of_python() {
        let text = "aé漢😀z";
        let characters: Vec<char> = text.chars().collect();
        let at = |at: i64| usize::try_from(if at < 0 { at + 5 } else { at }.clamp(0, 5)).unwrap();
        for start in -7..8 {
            for end in (-7..8).map(Some).chain([None]) {
                let (from, to) = (at(start), end.map_or(5, at));
                let expected: String =
                    characters.iter().skip(from).take(to.saturating_sub(from)).collect();
                assert_eq!(characters_between(text, start, end), expected, "{start} {end:?}");
            }
        }
        assert_eq!(characters_between("abc", i64::MIN, Some(i64::MAX)), "abc");
        assert_eq!(characters_between("abc", i64::MAX, Some(i64::MIN)), "");
    }

    #[test]
    fn dedent_takes_off_what_all_lines_share() {
        let cases = [
            ("", ""),
            ("  a\n\n    b\n", "a\n\n  b\n"),
            ("\t a\n\tb", " a\nb"),
            ("  a\n \n  b", "a\n\nb"),
            ("  a\nb", "  a\nb"),
            ("\u{3000}a\n\u{3000}b", "a\nb"),
        ];
        for (text, expected) in cases {
            let arena = Bump::new();
            let mut draft = TextBuilder::new(&arena);
            dedent(text, &mut draft).unwrap();
            assert_eq!(draft.finish().as_str(&arena), Some(expected), "{text:?}");
        }
    }
}
