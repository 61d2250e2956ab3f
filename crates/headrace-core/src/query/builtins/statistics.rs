//! Statistics of numbers.
//!
//! Null is passed by, as in SQL; what is neither number nor null is an error. Means and squares
//! are added up exactly, so an answer does not depend on the order of the elements.

use super::{Builtin, Parameter, Size, in_group, limited};
use crate::{
    query::{
        Arg, ExprId, Fault, Machine, Sum,
        deep::Seen,
        machine::{Evaluated, Flow},
        numbers::{addend, count, double, finite, shown},
    },
    value::{Value, compare},
};

pub(super) static BUILTINS: &[Builtin] = &in_group("Aggregates", [
    Builtin::reduce("median", |machine, receiver, args| {
            let numbers = sorted(machine, receiver, args.first(), "median")?;
            interpolated(&numbers, 0.5)
        })
        .takes(&[Parameter::Each("expression")])
        .required(0)
        .doc("The number in the middle, or the mean of the two in the middle; null if there are no numbers. Null does not count; anything else that is no number is an error.")
        .examples(&[
            ["[3, 1, 2].median()", "null", "2"],
            ["$.median(v)", r#"[{"v": 1}, {"v": 4}, {}]"#, "2.5"],
            ["[].median()", "null", "null"],
            [r#"[1, "2"].median()"#, "null", "error"],
        ]),
    Builtin::reduce("quantile", quantile)
        .takes(&[Parameter::Either("expression"), Parameter::Value("q")])
        .required(1)
        .aliases(&["percentile"])
        .doc("The quantile `q` of the numbers, from 0, the smallest, to 1, the largest; interpolated between two numbers. Null and other values as for `median`.")
        .examples(&[
            ["[1, 2, 3, 4, 5].quantile(0.75)", "null", "4"],
            ["$.quantile(v, 0.9)", r#"[{"v": 0}, {"v": 10}]"#, "9.0"],
            ["[1, 2].quantile(95)", "null", "error"],
            ["null.quantile(0.5)", "null", "null"],
        ]),
    Builtin::reduce("variance", |machine, receiver, args| {
            let spread = variance(machine, receiver, args, "variance", 1)?;
            Ok(spread.map_or(Value::Null, Value::Float))
        })
        .takes(&[Parameter::Each("expression")])
        .required(0)
        .aliases(&["var_samp"])
        .doc("The variance of a sample: the sum of squared distances from the mean, divided by the number of numbers minus one; null for less than two numbers.")
        .examples(&[
            ["[1, 2, 3, 4].variance()", "null", "1.6666666666666667"],
            ["[1].variance()", "null", "null"],
            [r#"["a"].variance()"#, "null", "error"],
        ]),
    Builtin::reduce("var_pop", |machine, receiver, args| {
            let spread = variance(machine, receiver, args, "var_pop", 0)?;
            Ok(spread.map_or(Value::Null, Value::Float))
        })
        .takes(&[Parameter::Each("expression")])
        .required(0)
        .doc("The variance of a whole population: the sum of squared distances from the mean, divided by the number of numbers.")
        .examples(&[["[1, 2, 3, 4].var_pop()", "null", "1.25"], ["[1].var_pop()", "null", "0.0"]]),
    Builtin::reduce("stddev", |machine, receiver, args| {
            let spread = variance(machine, receiver, args, "stddev", 1)?;
            Ok(spread.map_or(Value::Null, |spread| Value::Float(spread.sqrt())))
        })
        .takes(&[Parameter::Each("expression")])
        .required(0)
        .aliases(&["stdev", "stddev_samp"])
        .doc("The standard deviation of a sample: the root of `variance`.")
        .examples(&[
            ["[2, 4, 6].stddev()", "null", "2.0"],
            ["$.stddev(v)", r#"[{"v": 1}, {}]"#, "null"],
        ]),
    Builtin::reduce("stddev_pop", |machine, receiver, args| {
            let spread = variance(machine, receiver, args, "stddev_pop", 0)?;
            Ok(spread.map_or(Value::Null, |spread| Value::Float(spread.sqrt())))
        })
        .takes(&[Parameter::Each("expression")])
        .required(0)
        .aliases(&["pstdev"])
        .doc("The standard deviation of a whole population: the root of `var_pop`.")
        .examples(&[["[1, 3].stddev_pop()", "null", "1.0"]]),
    Builtin::reduce("mode", mode)
        .takes(&[Parameter::Each("expression")])
        .required(0)
        .doc("The most frequent value that is not null; the first of several.")
        .examples(&[
            [r#"["a", "b", "b"].mode()"#, "null", r#""b""#],
            ["$.mode(v)", r#"[{"v": 2}, {"v": 1}, {}, {}]"#, "2"],
            ["[null].mode()", "null", "null"],
        ]),
    Builtin::reduce("count_distinct", count_distinct)
        .takes(&[Parameter::Each("expression")])
        .required(0)
        .aliases(&["nunique"])
        .doc("The number of different values that are not null. It is exact, and holds each different value in memory.")
        .examples(&[
            [r#"[1, 1.0, 2, "1", null].count_distinct()"#, "null", "3"],
            ["$.count_distinct(a)", r#"[{"a": 1}, {"a": 1}, {}]"#, "1"],
        ]),
    Builtin::reduce("histogram", histogram)
        .takes(&[Parameter::Either("expression"), Parameter::Value("buckets")])
        .required(1)
        .doc("The number of numbers in each bucket, from `from` on and below `to`. With a number, buckets have that width, from the bucket of the smallest number to that of the largest. With an array, its elements are the edges, with one more bucket below the first and one above the last.")
        .examples(&[
            [
                "[1, 12, 14, 31].histogram(10)",
                "null",
                r#"[{"from": 0, "to": 10, "count": 1}, {"from": 10, "to": 20, "count": 2}, {"from": 20, "to": 30, "count": 0}, {"from": 30, "to": 40, "count": 1}]"#,
            ],
            [
                "$.histogram(v, [0, 1.5])",
                r#"[{"v": 1}, {"v": 2}, {}]"#,
                r#"[{"from": null, "to": 0, "count": 0}, {"from": 0, "to": 1.5, "count": 1}, {"from": 1.5, "to": null, "count": 1}]"#,
            ],
            ["[1].histogram(0)", "null", "error"],
            ["[1].histogram([2, 1])", "null", "error"],
            ["[].histogram(10)", "null", "[]"],
        ]),
]);

/// A number as it is written, and as it is computed with.
type Number<'r> = (Value<'r>, Value<'r>);

/// The numbers among the elements, or among what an argument makes of them.
fn numbers_of<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    arg: Option<&'p Arg>,
    name: &str,
) -> Evaluated<'r, Vec<Number<'r>>> {
    let mut numbers = Vec::new();
    machine.each(receiver, &mut |machine, element| {
        let value = arg.map_or(Ok(element), |arg| machine.apply(arg, element))?;
        if !value.is_null() {
            addend(value, name, machine.arena)?;
            numbers.push((value, value.resolved(machine.arena)));
        }
        Ok(Flow::Continue)
    })?;
    Ok(numbers)
}

fn sorted<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    arg: Option<&'p Arg>,
    name: &str,
) -> Evaluated<'r, Vec<Number<'r>>> {
    let mut numbers = numbers_of(machine, receiver, arg, name)?;
    numbers.sort_by(|left, right| compare(left.1, right.1, machine.arena));
    Ok(numbers)
}

/// The expression about elements, if there is one, and the argument behind it.
fn expression_and<'p>(args: &'p [Arg], name: &str) -> Result<(Option<&'p Arg>, &'p Arg), Fault> {
    match args {
        [only] if only.per_element => Err(Fault::new(format!(
            "{name} takes another argument behind the expression, as in {name}(v, {})",
            if name == "quantile" { "0.5" } else { "10" }
        ))),
        [only] => Ok((None, only)),
        [expression, other, ..] => Ok((Some(expression), other)),
        [] => Err(Fault::new(format!("{name} takes an argument"))),
    }
}

fn quantile<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let (expression, part) = expression_and(args, "quantile")?;
    let value = machine.value_of(part)?.resolved(machine.arena);
    let part = double(value).filter(|part| (0.0..=1.0).contains(part)).ok_or_else(|| {
        let shown = shown(value, machine.arena);
        Fault::new(format!(
            "the part must be a number from 0 to 1, as in quantile(0.95), not {shown}"
        ))
    })?;
    let numbers = sorted(machine, receiver, expression, "quantile")?;
    interpolated(&numbers, part)
}

/// The quantile of sorted numbers at a part from 0 to 1.
fn interpolated<'r>(sorted: &[Number<'r>], part: f64) -> Evaluated<'r> {
    let Some(last) = sorted.len().checked_sub(1) else { return Ok(Value::Null) };
    #[allow(clippy::cast_precision_loss, reason = "memory has less than 2^53 numbers")]
    let place = part * last as f64;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to how many numbers there are"
    )]
    let at = (place.floor() as usize).min(last);
    let beyond = place - place.floor();
    let (written, below) = sorted[at];
    let Some((_, above)) = sorted.get(at + 1).filter(|_| beyond > 0.0) else {
        return Ok(written);
    };
    let (low, high) = (double(below).unwrap_or(0.0), double(*above).unwrap_or(0.0));
    let distance = high - low;
    let between = if distance.is_finite() {
        low + distance * beyond
    } else {
        low * (1.0 - beyond) + high * beyond
    };
    finite(between)
}

/// The mean squared distance from the mean; None of too few numbers.
fn variance<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    name: &str,
    less: usize,
) -> Evaluated<'r, Option<f64>> {
    let numbers = numbers_of(machine, receiver, args.first(), name)?;
    if numbers.len() <= less {
        return Ok(None);
    }
    let mut sum = Sum::new();
    for (_, number) in &numbers {
        match number {
            Value::Int(number) => sum.add_integer(*number),
            other => sum.add_double(double(*other).unwrap_or(0.0)),
        }
    }
    #[allow(clippy::cast_precision_loss, reason = "memory has less than 2^53 numbers")]
    let (all, divisor) = (numbers.len() as f64, (numbers.len() - less) as f64);
    let mean = sum.double() / all;
    let mut squares = Sum::new();
    for (_, number) in &numbers {
        let distance = double(*number).unwrap_or(0.0) - mean;
        let square = distance * distance;
        finite(square)?;
        squares.add_double(square);
    }
    let variance = squares.double() / divisor;
    finite(variance)?;
    Ok(Some(variance))
}

fn mode<'r, 'p>(machine: &mut Machine<'p, 'r>, receiver: ExprId, args: &'p [Arg]) -> Evaluated<'r> {
    let mut seen = Seen::new(machine.arena);
    let mut counts: Vec<(Value<'r>, u64)> = Vec::new();
    machine.each(receiver, &mut |machine, element| {
        let value = args.first().map_or(Ok(element), |arg| machine.apply(arg, element))?;
        if value.is_null() {
            return Ok(Flow::Continue);
        }
        if let Some(at) = seen.position(value) {
            counts[at].1 += 1;
        } else {
            seen.insert(value);
            counts.push((value, 1));
        }
        Ok(Flow::Continue)
    })?;
    let mut best = (Value::Null, 0);
    for (value, count) in counts {
        if count > best.1 {
            best = (value, count);
        }
    }
    Ok(best.0)
}

fn count_distinct<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let mut seen = Seen::new(machine.arena);
    let mut different = 0;
    machine.each(receiver, &mut |machine, element| {
        let value = args.first().map_or(Ok(element), |arg| machine.apply(arg, element))?;
        different += usize::from(!value.is_null() && seen.insert(value));
        Ok(Flow::Continue)
    })?;
    Ok(count(different))
}

/// The most buckets of a histogram.
const MAX_BUCKETS: i128 = 100_000;

fn histogram<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let (expression, buckets) = expression_and(args, "histogram")?;
    let buckets = machine.value_of(buckets)?.resolved(machine.arena);
    let edges = buckets.as_array(machine.arena);
    let numbers = numbers_of(machine, receiver, expression, "histogram")?;
    let numbers: Vec<_> = numbers.into_iter().map(|(_, number)| number).collect();
    let rows = match (edges, buckets) {
        (Some(edges), _) => between_edges(machine, &numbers, edges)?,
        (None, Value::Int(width)) if width > 0 && numbers.iter().all(is_int) => {
            of_int_width(&numbers, width)?
        }
        (None, width) => match double(width) {
            Some(width) if width > 0.0 => of_width(&numbers, width)?,
            _ => return Err(no_buckets(machine, width)),
        },
    };
    limited(Size::Elements(rows.len()))?;
    let rows = rows.into_iter().map(|(from, to, size)| {
        let row = [("from", from), ("to", to), ("count", count(size))];
        Value::Object(machine.arena.alloc_slice_copy(&row))
    });
    let rows: Vec<_> = rows.collect();
    Ok(Value::Array(machine.arena.alloc_slice_copy(&rows)))
}

fn is_int(value: &Value<'_>) -> bool {
    matches!(value, Value::Int(_))
}

fn no_buckets<'r>(machine: &Machine<'_, 'r>, value: Value<'r>) -> Fault {
    let shown = shown(value, machine.arena);
    Fault::new(format!(
        "buckets are a width above 0, or an array of numbers in rising order, not {shown}"
    ))
}

type Bucket<'r> = (Value<'r>, Value<'r>, usize);

fn between_edges<'r>(
    machine: &Machine<'_, 'r>,
    numbers: &[Value<'r>],
    edges: &'r [Value<'r>],
) -> Evaluated<'r, Vec<Bucket<'r>>> {
    let arena = machine.arena;
    let rises = |pair: &[Value<'r>]| compare(pair[0], pair[1], arena).is_lt();
    let good = edges.iter().all(|edge| double(edge.resolved(arena)).is_some());
    if !good || edges.is_empty() || !edges.windows(2).all(rises) {
        return Err(no_buckets(machine, Value::Array(edges)));
    }
    let mut sizes = vec![0; edges.len() + 1];
    for number in numbers {
        sizes[edges.partition_point(|edge| compare(*edge, *number, arena).is_le())] += 1;
    }
    let edge = |at: Option<usize>| at.and_then(|at| edges.get(at)).copied().unwrap_or(Value::Null);
    let buckets = sizes.into_iter().enumerate();
    Ok(buckets.map(|(at, size)| (edge(at.checked_sub(1)), edge(Some(at)), size)).collect())
}

fn of_int_width<'r>(numbers: &[Value<'r>], width: i64) -> Evaluated<'r, Vec<Bucket<'r>>> {
    let width = i128::from(width);
    let places = numbers.iter().filter_map(|number| match number {
        Value::Int(number) => Some(i128::from(*number).div_euclid(width)),
        _ => None,
    });
    let edge = |place: i128| {
        let edge = place.saturating_mul(width);
        #[allow(clippy::cast_precision_loss, reason = "beyond 64 bits it is a double")]
        i64::try_from(edge).map_or(Value::Float(edge as f64), Value::Int)
    };
    counted(&places.collect::<Vec<_>>(), edge)
}

fn of_width<'r>(numbers: &[Value<'r>], width: f64) -> Evaluated<'r, Vec<Bucket<'r>>> {
    const MOST: f64 = 9_007_199_254_740_992.0;
    let mut places = Vec::with_capacity(numbers.len());
    for number in numbers {
        let number = double(*number).unwrap_or(0.0);
        let mut place = (number / width).floor();
        if place.is_nan() || place.abs() >= MOST {
            return Err(Fault::new("the width is too small for these numbers"));
        }
        // The quotient is rounded; the edges decide.
        while number < place * width {
            place -= 1.0;
        }
        while number >= (place + 1.0) * width {
            place += 1.0;
        }
        #[allow(clippy::cast_possible_truncation, reason = "below 2^53, without fraction")]
        places.push(place as i128);
    }
    #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
    counted(&places, |place| Value::Float(place as f64 * width))
}

/// How many numbers have which place, from the first place to the last.
fn counted<'r>(
    places: &[i128],
    edge: impl Fn(i128) -> Value<'r>,
) -> Evaluated<'r, Vec<Bucket<'r>>> {
    let (Some(first), Some(last)) = (places.iter().min(), places.iter().max()) else {
        return Ok(Vec::new());
    };
    if last - first >= MAX_BUCKETS {
        return Err(Fault::new(format!("there would be more than {MAX_BUCKETS} buckets")));
    }
    let mut buckets: Vec<_> =
        (*first..=*last).map(|place| (edge(place), edge(place + 1), 0)).collect();
    for place in places {
        if let Ok(at) = usize::try_from(place - first) {
            buckets[at].2 += 1;
        }
    }
    Ok(buckets)
}
