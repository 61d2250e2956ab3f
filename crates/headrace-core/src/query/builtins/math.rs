//! Functions of numbers, and digests of texts.

use sha2::{Digest, Sha256};

use super::{Builtin, Parameter, in_group};
use crate::{
    query::{
        Arg, Fault, Machine,
        machine::Evaluated,
        numbers::{double, finite, shown, whole},
    },
    value::{Value, compare},
};

pub(super) static BUILTINS: &[Builtin] = &in_group(
    "Numbers",
    [
        Builtin::value("pow", pow)
            .takes(&[Parameter::Value("exponent")])
            .aliases(&["power"])
            .doc("The number to a power; an integer if both are integers and the result fits.")
            .examples(&[
                ["2.pow(10)", "null", "1024"],
                ["2.pow(-1)", "null", "0.5"],
                ["pow(2.0, 0.5)", "null", "1.4142135623730951"],
                ["0.pow(-1)", "null", "error"],
                ["(-8).pow(0.5)", "null", "error"],
            ]),
        Builtin::value("sqrt", |machine, receiver, _| computed(machine, receiver, f64::sqrt))
            .doc("The square root; an error for a negative number.")
            .examples(&[
                ["16.sqrt()", "null", "4.0"],
                ["null.sqrt()", "null", "null"],
                ["(-1).sqrt()", "null", "error"],
            ]),
        Builtin::value("exp", |machine, receiver, _| computed(machine, receiver, f64::exp))
            .doc("e to the power of the number.")
            .examples(&[["0.exp()", "null", "1.0"], ["1000.exp()", "null", "error"]]),
        Builtin::value("log", log)
            .takes(&[Parameter::Value("base")])
            .required(0)
            .doc("The natural logarithm, or that of a base.")
            .examples(&[
                ["1.log()", "null", "0.0"],
                ["1000.log(10)", "null", "3.0"],
                ["8.log(2)", "null", "3.0"],
                ["0.log()", "null", "error"],
            ]),
        Builtin::value("floor_div", floor_div)
            .takes(&[Parameter::Value("by")])
            .doc("The greatest integer that is not above the quotient, as `//` in Python.")
            .examples(&[
                ["7.floor_div(2)", "null", "3"],
                ["(-7).floor_div(2)", "null", "-4"],
                ["7.5.floor_div(2)", "null", "3"],
                ["7.floor_div(0)", "null", "error"],
            ]),
        Builtin::value("sign", sign)
            .doc("-1, 0 or 1: where the number is from zero.")
            .examples(&[["(-2.5).sign()", "null", "-1"], ["0.sign()", "null", "0"]]),
        Builtin::value("clamp", clamp)
            .takes(&[Parameter::Value("low"), Parameter::Value("high")])
            .doc("The number, or the nearest bound if it is outside of `low` and `high`.")
            .examples(&[
                ["7.clamp(0, 5)", "null", "5"],
                ["3.clamp(0, 5)", "null", "3"],
                ["3.clamp(5, 0)", "null", "error"],
            ]),
        Builtin::value("sha256", sha256)
            .doc("The SHA-256 digest of the UTF-8 of a text, in hexadecimal digits.")
            .examples(&[
                [
                    r#""abc".sha256()"#,
                    "null",
                    r#""ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad""#,
                ],
                ["5.sha256()", "null", "error"],
            ]),
    ],
);

fn no_number<'r>(machine: &Machine<'_, 'r>, value: Value<'r>) -> Fault {
    Fault::new(format!("it takes a number, not {}", shown(value, machine.arena)))
}

fn number<'r>(machine: &Machine<'_, 'r>, value: Value<'r>) -> Evaluated<'r, f64> {
    double(value.resolved(machine.arena)).ok_or_else(|| no_number(machine, value))
}

/// A result that must be a finite number.
fn made<'r>(result: f64) -> Evaluated<'r> {
    if result.is_nan() {
        return Err(Fault::new("there is no such number"));
    }
    finite(result)
}

fn computed<'r>(
    machine: &Machine<'_, 'r>,
    receiver: Value<'r>,
    function: fn(f64) -> f64,
) -> Evaluated<'r> {
    if receiver.is_null() {
        return Ok(Value::Null);
    }
    made(function(number(machine, receiver)?))
}

fn pow<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let exponent = machine.value_of(&args[0])?;
    if receiver.is_null() {
        return Ok(Value::Null);
    }
    let arena = machine.arena;
    if let (Value::Int(base), Value::Int(times)) =
        (receiver.resolved(arena), exponent.resolved(arena))
        && let Ok(times) = u32::try_from(times)
        && let Some(power) = base.checked_pow(times)
    {
        return Ok(Value::Int(power));
    }
    made(number(machine, receiver)?.powf(number(machine, exponent)?))
}

fn log<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let base = match args.first() {
        None => None,
        Some(arg) => {
            let base = machine.value_of(arg)?;
            Some(number(machine, base)?)
        }
    };
    if receiver.is_null() {
        return Ok(Value::Null);
    }
    let value = number(machine, receiver)?;
    made(match base {
        None => value.ln(),
        Some(10.0) => value.log10(),
        Some(2.0) => value.log2(),
        Some(base) => value.ln() / base.ln(),
    })
}

fn floor_div<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let by = machine.value_of(&args[0])?;
    if receiver.is_null() {
        return Ok(Value::Null);
    }
    let (left, right) = (receiver.resolved(machine.arena), by.resolved(machine.arena));
    let (a, b) = (number(machine, left)?, number(machine, right)?);
    if b == 0.0 {
        return Err(Fault::new("division by zero"));
    }
    if let (Value::Int(left), Value::Int(right)) = (left, right)
        && let Some(quotient) = left.checked_div(right)
    {
        let inexact = left.checked_rem(right).unwrap_or(0) != 0;
        return Ok(Value::Int(quotient - i64::from(inexact && (left < 0) != (right < 0))));
    }
    let rest = a % b;
    let exact = (a - rest) / b - f64::from(u8::from(rest != 0.0 && (b < 0.0) != (rest < 0.0)));
    finite(exact)?;
    // What was rounded in between may be off by less than a half.
    Ok(whole(exact.round()))
}

fn sign<'r>(machine: &mut Machine<'_, 'r>, receiver: Value<'r>, _: &[Arg]) -> Evaluated<'r> {
    if receiver.is_null() {
        return Ok(Value::Null);
    }
    let number = number(machine, receiver)?;
    Ok(Value::Int(i64::from(number > 0.0) - i64::from(number < 0.0)))
}

fn clamp<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let (low, high) = (machine.value_of(&args[0])?, machine.value_of(&args[1])?);
    number(machine, low)?;
    number(machine, high)?;
    if compare(low, high, machine.arena).is_gt() {
        return Err(Fault::new("the low end of clamp is above the high one"));
    }
    if receiver.is_null() {
        return Ok(Value::Null);
    }
    number(machine, receiver)?;
    let arena = machine.arena;
    let receiver = if compare(receiver, low, arena).is_lt() { low } else { receiver };
    Ok(if compare(receiver, high, arena).is_gt() { high } else { receiver })
}

fn sha256<'r>(machine: &mut Machine<'_, 'r>, receiver: Value<'r>, _: &[Arg]) -> Evaluated<'r> {
    let Some(text) = receiver.as_str(machine.arena) else {
        if receiver.is_null() {
            return Ok(Value::Null);
        }
        let shown = shown(receiver, machine.arena);
        return Err(Fault::new(format!("sha256 takes a string, not {shown}")));
    };
    let mut digest = String::with_capacity(64);
    for byte in Sha256::digest(text) {
        digest.extend(
            [byte >> 4, byte & 15].map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])),
        );
    }
    Ok(Value::Str(machine.arena.alloc_str(&digest)))
}
