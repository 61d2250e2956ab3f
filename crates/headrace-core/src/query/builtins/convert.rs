//! Numbers, and values as other values.

use super::{Builtin, Parameter, in_group};
use crate::{
    json::{self, Limits},
    query::{
        Arg, Fault, Machine,
        machine::Evaluated,
        numbers::{shown, whole, whole_number},
        strings::parse_number,
    },
    value::{Value, json_text, parse_text, text_of},
};

pub(super) static BUILTINS: &[Builtin] = &in_group("Conversion", [
    Builtin::value("type", |_, receiver, _| Ok(Value::Str(receiver.kind().name())))
        .doc("The kind of the value: null, bool, number, string, array or object.")
        .examples(&[
            ["$.xs.type()", r#"{"xs": [1]}"#, r#""array""#],
            ["1.5.type()", "null", r#""number""#],
            ["$.type()", "null", r#""null""#],
        ]),
    Builtin::value("ceil", |machine, receiver, _| rounded(machine, receiver, f64::ceil))
        .doc("The least integer that is not below the number.")
        .examples(&[
            ["1.2.ceil()", "null", "2"],
            ["(-1.2).ceil()", "null", "-1"],
            ["$.ceil()", "null", "null"],
            ["$.ceil()", r#""1.2""#, "error"],
        ]),
    Builtin::value("floor", |machine, receiver, _| rounded(machine, receiver, f64::floor))
        .doc("The greatest integer that is not above the number.")
        .examples(&[["1.8.floor()", "null", "1"], ["(-1.2).floor()", "null", "-2"]]),
    Builtin::value("round", |machine, receiver, _| rounded(machine, receiver, f64::round))
        .doc("The nearest integer; a half is rounded away from zero.")
        .examples(&[
            ["2.5.round()", "null", "3"],
            ["(-2.5).round()", "null", "-3"],
            ["1.4.round()", "null", "1"],
        ]),
    Builtin::value("abs", abs)
        .doc("The number without its sign.")
        .examples(&[
            ["(-3).abs()", "null", "3"],
            ["(-2.5).abs()", "null", "2.5"],
            ["true.abs()", "null", "error"],
        ]),
    Builtin::value("to_number", |machine, receiver, _| {
            Ok(match receiver.resolved(machine.arena) {
                Value::Str(text) => number(text).unwrap_or(Value::Null),
                Value::Bool(value) => Value::Int(i64::from(value)),
                Value::Int(_) | Value::Float(_) | Value::Big(_) => receiver,
                _ => Value::Null,
            })
        })
        .doc("A text parsed as a number, null if it is none. A number is unchanged, true is 1, false is 0, any other value is null.")
        .examples(&[
            [r#""42".to_number()"#, "null", "42"],
            [r#""4.5".to_number()"#, "null", "4.5"],
            [r#""x".to_number()"#, "null", "null"],
            ["true.to_number()", "null", "1"],
            ["[1].to_number()", "null", "null"],
        ]),
    Builtin::value("to_bool", |machine, receiver, _| {
            Ok(read(machine, receiver, |text| text.parse().ok().map(Value::Bool)))
        })
        .doc("True for the text `true`, false for the text `false`, null for any other text. Other values are unchanged; `as bool` returns whether a value is truthy.")
        .examples(&[
            [r#""true".to_bool()"#, "null", "true"],
            [r#""yes".to_bool()"#, "null", "null"],
            ["0.to_bool()", "null", "0"],
        ]),
    Builtin::value("parse_int", parse_int)
        .takes(&[Parameter::Value("radix")])
        .required(0)
        .doc("A text parsed as an integer in a radix of 2 to 36, without white space around it, and with `0x`, `0o` or `0b` before it if that fits the radix. Null if it is none.")
        .examples(&[
            [r#"" 42 ".parse_int()"#, "null", "42"],
            [r#""ff".parse_int(16)"#, "null", "255"],
            [r#""0b101".parse_int(2)"#, "null", "5"],
            [r#""4.5".parse_int()"#, "null", "null"],
            [r#""1".parse_int(40)"#, "null", "null"],
        ]),
    Builtin::value("parse_float", |machine, receiver, _| {
            Ok(read(machine, receiver, |text| parse_number(text.trim()).map(Value::Float)))
        })
        .doc("A text parsed as a decimal, without white space around it; null if it is none.")
        .examples(&[
            [r#""2.5".parse_float()"#, "null", "2.5"],
            [r#""1e6".parse_float()"#, "null", "1000000.0"],
            [r#""x".parse_float()"#, "null", "null"],
        ]),
    Builtin::value("parse_bool", |machine, receiver, _| {
            Ok(read(machine, receiver, |text| yes_or_no(text.trim()).map(Value::Bool)))
        })
        .doc("True for the texts true, yes, on and 1, false for false, no, off and 0, in any \
              case and white space around them aside; null for any other.")
        .examples(&[
            [r#""Yes".parse_bool()"#, "null", "true"],
            [r#""off".parse_bool()"#, "null", "false"],
            [r#""maybe".parse_bool()"#, "null", "null"],
        ]),
    Builtin::value("to_string", |machine, receiver, _| Ok(Value::Str(text_of(receiver, machine.arena))))
        .doc("The value as text: a text as it is, a number without exponent, an array or object \
              as JSON.")
        .examples(&[
            ["5.to_string()", "null", r#""5""#],
            ["1.0.to_string()", "null", r#""1""#],
            ["$.to_string()", "null", r#""null""#],
            [r#"[1, "a"].to_string()"#, "null", r#""[1,\"a\"]""#],
        ]),
    Builtin::value("to_json", |machine, receiver, _| Ok(Value::Str(json_text(receiver, machine.arena))))
        .doc("The value as JSON on one line.")
        .examples(&[
            [r#""a".to_json()"#, "null", r#""\"a\"""#],
            ["1.0.to_json()", "null", r#""1.0""#],
            ["{a: 1}.to_json()", "null", r#""{\"a\":1}""#],
        ]),
    Builtin::value("from_json", from_json)
        .doc("A text parsed as JSON. Other values are unchanged.")
        .examples(&[
            [r#"'[1, {"a": 2}]'.from_json()[1].a"#, "null", "2"],
            ["'bad'.from_json()", "null", "error"],
            ["$.from_json()", "null", "null"],
        ]),
]);

// Numbers

/// A number without its fraction. What is beyond a double has none.
fn rounded<'r>(
    machine: &Machine<'_, 'r>,
    receiver: Value<'r>,
    round: fn(f64) -> f64,
) -> Evaluated<'r> {
    match receiver.resolved(machine.arena) {
        Value::Float(value) => Ok(whole(round(value))),
        value @ (Value::Null | Value::Int(_) | Value::Big(_)) => Ok(value),
        other => Err(no_number(machine, other)),
    }
}

fn abs<'r>(machine: &mut Machine<'_, 'r>, receiver: Value<'r>, _: &[Arg]) -> Evaluated<'r> {
    match receiver.resolved(machine.arena) {
        Value::Null => Ok(Value::Null),
        #[allow(clippy::cast_precision_loss, reason = "-i64::MIN is a double")]
        Value::Int(value) => {
            Ok(value.checked_abs().map_or(Value::Float((value as f64).abs()), Value::Int))
        }
        Value::Float(value) => Ok(Value::Float(value.abs())),
        Value::Big(text) => Ok(Value::Big(text.trim_start_matches('-'))),
        other => Err(no_number(machine, other)),
    }
}

fn no_number<'r>(machine: &Machine<'_, 'r>, value: Value<'r>) -> Fault {
    Fault::new(format!("it takes a number, not {}", shown(value, machine.arena)))
}

// Reading text

/// What `parse` reads in the receiver's text; null if it cannot.
fn read<'r>(
    machine: &Machine<'_, 'r>,
    receiver: Value<'r>,
    parse: impl FnOnce(&'r str) -> Option<Value<'r>>,
) -> Value<'r> {
    receiver.as_str(machine.arena).map_or(receiver, |text| parse(text).unwrap_or(Value::Null))
}

/// A number as the language holds it: integers exact, whatever their size.
fn number(text: &str) -> Option<Value<'_>> {
    if let Ok(value) = text.parse() {
        return Some(Value::Int(value));
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_integer = digits.bytes().all(|byte| byte.is_ascii_digit());
    let double = parse_number(text).map(Value::Float);
    match double {
        Some(double) if !is_integer => Some(double),
        // Only what JSON takes for a number may be kept as it is written.
        double => is_json_number(text).then_some(Value::Big(text)).or(double),
    }
}

fn is_json_number(text: &str) -> bool {
    let is_bare = text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
        && text.ends_with(|last: char| last.is_ascii_digit());
    is_bare && json::check(text.as_bytes(), &Limits::default()).is_ok()
}

fn parse_int<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let radix = match args.first() {
        None => Some(10),
        Some(arg) => {
            let value = machine.value_of(arg)?.resolved(machine.arena);
            let radix = whole_number(value).ok_or_else(|| {
                let shown = shown(value, machine.arena);
                Fault::new(format!("a radix must be a whole number, not {shown}"))
            })?;
            u32::try_from(radix).ok().filter(|radix| (2..=36).contains(radix))
        }
    };
    let arena = machine.arena;
    Ok(read(machine, receiver, |text| {
        let value = integer(text.trim(), radix?)?;
        let big = || Value::Big(arena.alloc_str(&value.to_string()));
        Some(i64::try_from(value).map_or_else(|_| big(), Value::Int))
    }))
}

/// An integer of at most 128 bits.
fn integer(text: &str, radix: u32) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let prefix = match radix {
        16 => ["0x", "0X"],
        8 => ["0o", "0O"],
        2 => ["0b", "0B"],
        _ => [""; 2],
    };
    let digits = prefix.iter().find_map(|prefix| digits.strip_prefix(prefix)).unwrap_or(digits);
    // Rust would take a second sign.
    let value = digits
        .starts_with(|first: char| first.is_digit(radix))
        .then(|| i128::from_str_radix(digits, radix).ok())
        .flatten()?;
    Some(if negative { -value } else { value })
}

fn yes_or_no(text: &str) -> Option<bool> {
    let is_one_of = |words: [&str; 4]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is_one_of(["true", "yes", "on", "1"]) {
        Some(true)
    } else if is_one_of(["false", "no", "off", "0"]) {
        Some(false)
    } else {
        None
    }
}

fn from_json<'r>(machine: &mut Machine<'_, 'r>, receiver: Value<'r>, _: &[Arg]) -> Evaluated<'r> {
    let Some(text) = receiver.as_str(machine.arena) else { return Ok(receiver) };
    parse_text(text, machine.arena)
        .map_err(|error| Fault::new(format!("the text is not JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_texts_are_exact() {
        let cases = [
            ("42", Some("Int(42)")),
            ("+42", Some("Int(42)")),
            ("-007", Some("Int(-7)")),
            ("4.5", Some("Float(4.5)")),
            (".5", Some("Float(0.5)")),
            ("1e3", Some("Float(1000.0)")),
            ("9223372036854775808", Some("Big(\"9223372036854775808\")")),
            ("-9223372036854775809", Some("Big(\"-9223372036854775809\")")),
            ("1e400", Some("Big(\"1e400\")")),
            // JSON has neither the sign nor the zeros.
            ("+9223372036854775808", Some("Float(9.223372036854776e18)")),
            ("09223372036854775808", Some("Float(9.223372036854776e18)")),
            ("", None),
            ("-", None),
            (" 42", None),
            ("4 2", None),
            ("inf", None),
            ("NaN", None),
            ("1e", None),
            ("0x10", None),
            ("[1]", None),
            ("1]", None),
        ];
        for (text, expected) in cases {
            let found = number(text).map(|value| format!("{value:?}"));
            assert_eq!(found.as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_number_too_long_for_a_row_is_none() {
        assert!(number(&"9".repeat(json::MAX_NUMBER_BYTES)).is_some());
        assert!(number(&"9".repeat(json::MAX_NUMBER_BYTES + 1)).is_none());
    }

    #[test]
    fn integers_of_every_radix() {
        let cases = [
            ("ff", 16, Some(255)),
            ("0XFF", 16, Some(255)),
            ("-0xff", 16, Some(-255)),
            ("0b101", 16, Some(0xb101)),
            ("0b101", 2, Some(5)),
            ("0o17", 8, Some(15)),
            ("0o17", 10, None),
            ("zz", 36, Some(1295)),
            ("ffffffffffffffff", 16, Some(i128::from(u64::MAX))),
            ("--5", 10, None),
            ("+-5", 10, None),
            ("0x-5", 16, None),
            ("0x", 16, None),
            ("", 10, None),
            ("1_0", 10, None),
        ];
        for (text, radix, expected) in cases {
            assert_eq!(integer(text, radix), expected, "{text:?} {radix}");
        }
        assert_eq!(integer(&"9".repeat(40), 10), None);
    }
}
