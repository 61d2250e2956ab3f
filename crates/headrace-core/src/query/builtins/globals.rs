//! Functions that start from nothing, or from several values.
//!
//! Of a call `f(a, b)` the first argument is the receiver, as in `a.f(b)`.

use std::time::{SystemTime, UNIX_EPOCH};

use bumpalo::collections::Vec as BumpVec;

use super::{Builtin, Parameter, Size, arrays::elements_of, in_group, limited};
use crate::{
    query::{
        Arg, ExprId, Fault, Machine,
        machine::{Evaluated, Flow, Sink},
        numbers,
    },
    value::Value,
};

pub(super) static BUILTINS: &[Builtin] = &in_group("Functions", [
    Builtin::value("coalesce", coalesce)
        .takes(&[Parameter::ValueRest("values")])
        .required(0)
        .doc("The first of the values that is not null. Later values are not evaluated.")
        .examples(&[
            ["coalesce($.a, $.b, 3)", r#"{"a": null, "b": false}"#, "false"],
            ["coalesce($.a, 1, 1 / 0)", "{}", "1"],
            ["coalesce(null, $.b)", "{}", "null"],
        ]),
    Builtin::stage("chain", chain)
        .takes(&[Parameter::ValueRest("values")])
        .required(0)
        .doc("The elements of all values, one after the other. A value that is no array is one element, null is none.")
        .examples(&[
            ["chain([1], [2, [3]], 4)", "null", "[1, 2, [3], 4]"],
            ["chain($.a, $.b)", r#"{"b": [1]}"#, "[1]"],
        ]),
    Builtin::stage("product", product)
        .takes(&[Parameter::ValueRest("values")])
        .required(0)
        .doc("Every way to take one element of each value, in order.")
        .examples(&[
            [
                r#"product([1, 2], ["a", "b"])"#,
                "null",
                r#"[[1, "a"], [1, "b"], [2, "a"], [2, "b"]]"#,
            ],
            ["product([1, 2], 3)", "null", "[[1, 3], [2, 3]]"],
            ["product([1, 2], [])", "null", "[]"],
        ]),
    Builtin::stage("range", range)
        .takes(&[Parameter::Value("end"), Parameter::Value("step")])
        .required(0)
        .doc("Integers: `range(n)` from 0 to before n, `range(a, b)` from a to before b, \
              `range(a, b, step)` in steps, downwards if the step is negative. For fractions, \
              compute with these: `range(4).map(@ * 0.25)`.")
        .examples(&[
            ["range(3)", "null", "[0, 1, 2]"],
            ["range(1, 6, 2)", "null", "[1, 3, 5]"],
            ["range(3, 0, -1)", "null", "[3, 2, 1]"],
            ["range(0, 5, 0)", "null", "[]"],
            ["range(6 / 2)", "null", "[0, 1, 2]"],
            ["range(0, 1, 0.25)", "null", "error"],
            [r#"range("a")"#, "null", "error"],
            ["range(100000000000)", "null", "error"],
        ]),
    Builtin::value("now", now)
        .doc("The time, in milliseconds since the beginning of 1970.")
        .examples(&[["now() > 1700000000000", "null", "true"]]),
    Builtin::value("input_file", input_file)
        .doc("The name of the file that the row is in. An error outside the rows of a file.")
        .examples(&[["input_file()", "null", "error"]]),
    Builtin::value("input_line", input_line)
        .doc("The line number of the row in its file; the first is 1.")
        .examples(&[["input_line()", "null", "error"]]),
    Builtin::value("input_row", input_row)
        .doc("The number of the row among those of all files, blank lines included; the first is \
              0, as in `headrace row`.")
        .examples(&[["input_row()", "null", "error"]]),
    Builtin::value("env", env)
        .takes(&[Parameter::Value("name")])
        .doc("The environment variable with this name, a text in quotes; null if it is not set. Only with `--allow-env`.")
        .examples(&[[r#"env("HOME")"#, "null", "error"]]),
]);

fn input_file<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    _receiver: Value<'r>,
    _args: &'p [Arg],
) -> Evaluated<'r> {
    Ok(Value::Str(machine.place()?.file))
}

fn input_line<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    _receiver: Value<'r>,
    _args: &'p [Arg],
) -> Evaluated<'r> {
    machine.place().map(|place| counted(place.line))
}

fn input_row<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    _receiver: Value<'r>,
    _args: &'p [Arg],
) -> Evaluated<'r> {
    machine.place().map(|place| counted(place.row))
}

fn counted<'r>(number: u64) -> Value<'r> {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

/// The compiler puts the value in place of the call, where that is allowed.
fn env<'r, 'p>(
    _machine: &mut Machine<'p, 'r>,
    _receiver: Value<'r>,
    _args: &'p [Arg],
) -> Evaluated<'r> {
    Err(Fault::new("the name of a variable stands in quotes: env(\"HOME\")"))
}

fn coalesce<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: Value<'r>,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let mut value = receiver;
    for arg in args {
        if !value.is_null() {
            break;
        }
        value = machine.value_of(arg)?;
    }
    Ok(value)
}

fn chain<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    for source in std::iter::once(receiver).chain(args.iter().map(|arg| arg.body)) {
        let flow = if machine.is_stream(source) {
            machine.each(source, sink)?
        } else {
            let value = machine.eval(source)?;
            machine.each_or_itself(value, sink)?
        };
        if flow == Flow::Stop {
            return Ok(flow);
        }
    }
    Ok(Flow::Continue)
}

fn product<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let mut sources = Vec::with_capacity(1 + args.len());
    for source in std::iter::once(receiver).chain(args.iter().map(|arg| arg.body)) {
        let value = machine.eval(source)?;
        sources.push(elements_of(value, machine.arena));
    }
    let tuples =
        sources.iter().try_fold(1_usize, |tuples, source| tuples.checked_mul(source.len()));
    let elements = tuples.and_then(|tuples| tuples.checked_mul(sources.len()));
    limited(Size::Elements(elements.unwrap_or(usize::MAX)))?;
    for tuple in 0..tuples.unwrap_or(0) {
        // The number of a tuple, written with as many digits as there are sources.
        let mut rest = tuple;
        let mut chosen = BumpVec::with_capacity_in(sources.len(), machine.arena);
        for source in sources.iter().rev() {
            chosen.push(source[rest % source.len()]);
            rest /= source.len();
        }
        chosen.reverse();
        if sink(machine, Value::Array(chosen.into_bump_slice()))? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

fn range<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let first = integer(machine, receiver)?;
    let (start, end) = match args.first() {
        Some(end) => (first, integer(machine, end.body)?),
        None => (0, first),
    };
    let step = match args.get(1) {
        Some(step) => integer(machine, step.body)?,
        None => 1,
    };
    let (mut number, end, step) = (i128::from(start), i128::from(end), i128::from(step));
    let steps = if step > 0 { end - number } else { number - end }.max(0);
    let count = steps.checked_add(step.abs() - 1).and_then(|steps| steps.checked_div(step.abs()));
    let count = usize::try_from(count.unwrap_or(0)).unwrap_or(usize::MAX);
    limited(Size::Elements(count))?;
    for _ in 0..count {
        // Between two integers that fit.
        if sink(machine, Value::Int(i64::try_from(number).unwrap_or_default()))? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        number += step;
    }
    Ok(Flow::Continue)
}

/// A bound or a step.
fn integer<'r>(machine: &mut Machine<'_, 'r>, id: ExprId) -> Evaluated<'r, i64> {
    let value = machine.eval(id)?.resolved(machine.arena);
    numbers::whole_number(value).ok_or_else(|| {
        let shown = numbers::shown(value, machine.arena);
        let cure = match numbers::double(value) {
            Some(_) => "; for fractions write range(4).map(@ * 0.25)",
            None => "",
        };
        Fault::new(format!("range takes whole numbers, not {shown}{cure}"))
    })
}

#[allow(clippy::unnecessary_wraps, reason = "the table has one type of function")]
fn now<'r, 'p>(
    _machine: &mut Machine<'p, 'r>,
    _receiver: Value<'r>,
    _args: &'p [Arg],
) -> Evaluated<'r> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Value::Int(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
}
