//! Running and neighbouring values.
//!
//! Each gives a value for every element. Null is a gap: it has its place, but no value. What is
//! computed takes numbers only; an element that is passed on may be of any kind and stays as it
//! is.

use std::{cmp::Ordering, collections::VecDeque};

use super::{
    Builtin, Parameter, in_group,
    iteration::{count_of, size_of},
};
use crate::{
    query::{
        Arg, ExprId, Fault, Machine, Sum,
        machine::{Evaluated, Flow, Sink},
        numbers::{addend, arithmetic, finite, unlike},
        program::Operator,
    },
    value::{Kind, Value, compare},
};

pub(super) static BUILTINS: &[Builtin] = &in_group("Windows", [
    Builtin::stage("rolling_sum", rolling_sum)
        .takes(&[Parameter::Value("size")])
        .doc("For each element, the sum of the last `size` elements up to it, exact and an integer if all of them are; null until there are that many. Null does not count.")
        .examples(&[
            ["[3, 1, 2].rolling_sum(2)", "null", "[null, 4, 3]"],
            ["[3, null, 2.5].rolling_sum(2)", "null", "[null, 3, 2.5]"],
            [r#"[3, "1"].rolling_sum(2)"#, "null", "error"],
            ["[3, 1, 2].rolling_sum(0)", "null", "error"],
        ]),
    Builtin::stage("rolling_avg", rolling_avg)
        .takes(&[Parameter::Value("size")])
        .doc("For each element, the mean of the last `size` elements up to it; null until there are that many. Null does not count.")
        .examples(&[
            ["[3, 1, 2].rolling_avg(2)", "null", "[null, 2.0, 1.5]"],
            ["[3, null, null].rolling_avg(2)", "null", "[null, 3.0, null]"],
        ]),
    Builtin::stage("rolling_min", rolling_min)
        .takes(&[Parameter::Value("size")])
        .doc("For each element, the `min` of the last `size` elements up to it; null until there are that many.")
        .examples(&[
            ["[3, 1, 2].rolling_min(2)", "null", "[null, 1, 1]"],
            ["[null, null, 2].rolling_min(2)", "null", "[null, null, 2]"],
        ]),
    Builtin::stage("rolling_max", rolling_max)
        .takes(&[Parameter::Value("size")])
        .doc("For each element, the `max` of the last `size` elements up to it; null until there are that many.")
        .examples(&[
            ["[3, 1, 2].rolling_max(2)", "null", "[null, 3, 2]"],
            [r#"["a", "c", "b"].rolling_max(2)"#, "null", r#"[null, "c", "c"]"#],
        ]),
    Builtin::stage("lag", lag)
        .takes(&[Parameter::Value("distance")])
        .required(0)
        .doc("For each element, the one before it, or the one `distance` elements before it; null where there is none.")
        .examples(&[
            ["[3, 1, 2].lag()", "null", "[null, 3, 1]"],
            ["[3, 1, 2].lag(2)", "null", "[null, null, 3]"],
            [r#"["a", 1].lag()"#, "null", r#"[null, "a"]"#],
        ]),
    Builtin::stage("lead", lead)
        .takes(&[Parameter::Value("distance")])
        .required(0)
        .doc("For each element, the one behind it, or the one `distance` elements behind it; null where there is none.")
        .examples(&[
            ["[3, 1, 2].lead()", "null", "[1, 2, null]"],
            ["[3, 1].lead(5)", "null", "[null, null]"],
        ]),
    Builtin::stage("diff_window", diff_window)
        .doc("Each number minus the one before it.")
        .examples(&[
            ["[3, 1, 2].diff_window()", "null", "[null, -2, 1]"],
            ["[3, null, 2].diff_window()", "null", "[null, null, null]"],
        ]),
    Builtin::stage("pct_change", pct_change)
        .doc("The change of each number from the one before it, as a fraction of that one; null after a 0.")
        .examples(&[
            ["[4, 5, 0, 2].pct_change()", "null", "[null, 0.25, -1.0, null]"],
            ["null.pct_change()", "null", "[]"],
        ]),
    Builtin::stage("cummax", cummax)
        .doc("For each element, the `max` of the elements up to it.")
        .examples(&[["[null, 1, 3, 2].cummax()", "null", "[null, 1, 3, 3]"]]),
    Builtin::stage("cummin", cummin)
        .doc("For each element, the `min` of the elements up to it.")
        .examples(&[["[3, 1, null, 2].cummin()", "null", "[3, 1, 1, 1]"]]),
    Builtin::stage("zscore", zscore)
        .doc("The distance of each number from the mean, in standard deviations of the whole population; 0 if all numbers are equal.")
        .examples(&[
            ["[1, 3].zscore()", "null", "[-1.0, 1.0]"],
            ["[2, 2, null].zscore()", "null", "[0.0, 0.0, null]"],
        ]),
]);

/// A number of the data, or a gap.
type Reading = Option<f64>;

/// Push what `next` makes of each element.
fn each_element<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    sink: &mut Sink<'_, 'p, 'r>,
    next: &mut dyn FnMut(&Machine<'p, 'r>, Value<'r>) -> Evaluated<'r>,
) -> Evaluated<'r, Flow> {
    machine.each(receiver, &mut |machine, element| {
        let value = next(machine, element)?;
        sink(machine, value)
    })
}

/// An element as a number; null is a gap.
fn reading<'r>(
    machine: &Machine<'_, 'r>,
    element: Value<'r>,
    builtin: &str,
) -> Result<Reading, Fault> {
    if element.is_null() { Ok(None) } else { addend(element, builtin, machine.arena).map(Some) }
}

fn shown<'r>(reading: Reading) -> Evaluated<'r> {
    reading.map_or(Ok(Value::Null), finite)
}

/// The last `size` of something.
struct Window<T> {
    size: usize,
    held: VecDeque<T>,
}

impl<T> Window<T> {
    fn new<'p>(machine: &mut Machine<'p, '_>, arg: &'p Arg) -> Result<Self, Fault> {
        Ok(Self { size: size_of(machine, arg, "window")?, held: VecDeque::new() })
    }

    /// Take in one more; what falls out.
    fn shift(&mut self, added: T) -> Option<T> {
        self.held.push_back(added);
        if self.held.len() > self.size { self.held.pop_front() } else { None }
    }

    fn is_full(&self) -> bool {
        self.held.len() == self.size
    }
}

/// The total of the numbers in a window.
#[derive(Default)]
struct Total {
    /// Exact, so that what has left the window leaves no error behind.
    sum: Sum,
    /// How many decimals there are.
    fractional: usize,
    count: usize,
}

impl Total {
    fn add(&mut self, number: Value<'_>) {
        self.change(number, 1);
    }

    fn remove(&mut self, number: Value<'_>) {
        self.change(number, -1);
    }

    /// Count a number in, or out with a `sign` of -1; null is none.
    fn change(&mut self, number: Value<'_>, sign: i8) {
        let into = |count: usize| if sign > 0 { count + 1 } else { count - 1 };
        match number {
            Value::Int(number) if sign > 0 => self.sum.add_integer(number),
            Value::Int(number) => self.sum.subtract_integer(number),
            Value::Float(number) => {
                self.sum.add_double(number * f64::from(sign));
                self.fractional = into(self.fractional);
            }
            _ => return,
        }
        self.count = into(self.count);
    }

    fn value<'r>(&self) -> Evaluated<'r> {
        // Once all decimals have left, what they added is 0.
        match self.sum.integers() {
            Some(total) if self.fractional == 0 => Ok(Value::Int(total)),
            _ => finite(self.sum.double()),
        }
    }
}

fn rolling_sum<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    rolling_total(machine, receiver, args, sink, "rolling_sum", Total::value)
}

fn rolling_avg<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    rolling_total(machine, receiver, args, sink, "rolling_avg", |total| {
        #[allow(clippy::cast_precision_loss, reason = "there are fewer than 2^53 elements")]
        shown((total.count > 0).then(|| total.sum.double() / total.count as f64))
    })
}

/// `result` of the total of each window.
fn rolling_total<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
    builtin: &str,
    result: fn(&Total) -> Evaluated<'r>,
) -> Evaluated<'r, Flow> {
    let mut window = Window::new(machine, &args[0])?;
    let mut total = Total::default();
    each_element(machine, receiver, sink, &mut |machine, element| {
        let number = match element.resolved(machine.arena) {
            number @ (Value::Int(_) | Value::Null) => number,
            other => Value::Float(addend(other, builtin, machine.arena)?),
        };
        total.add(number);
        if let Some(gone) = window.shift(number) {
            total.remove(gone);
        }
        if window.is_full() { result(&total) } else { Ok(Value::Null) }
    })
}

/// Refuses elements of two kinds where the least or the greatest is wanted.
struct OneKind {
    builtin: &'static str,
    kind: Option<Kind>,
}

impl OneKind {
    fn new(builtin: &'static str) -> Self {
        Self { builtin, kind: None }
    }

    fn check(&mut self, element: Value<'_>) -> Result<(), Fault> {
        let kind = element.kind();
        match *self.kind.get_or_insert(kind) {
            other if other == kind => Ok(()),
            other => Err(unlike(other, kind, self.builtin)),
        }
    }
}

fn rolling_min<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let kinds = OneKind::new("rolling_min");
    rolling_extreme(machine, receiver, args, sink, kinds, Ordering::Less)
}

fn rolling_max<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let kinds = OneKind::new("rolling_max");
    rolling_extreme(machine, receiver, args, sink, kinds, Ordering::Greater)
}

fn rolling_extreme<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
    mut kinds: OneKind,
    beyond: Ordering,
) -> Evaluated<'r, Flow> {
    let mut window = Window::new(machine, &args[0])?;
    // The elements of the window that nothing behind them is beyond, with their places: the
    // first is the result.
    let mut best: VecDeque<(usize, Value<'r>)> = VecDeque::new();
    let mut place = 0;
    each_element(machine, receiver, sink, &mut |machine, element| {
        if !element.is_null() {
            kinds.check(element)?;
            while best
                .back()
                .is_some_and(|(_, last)| compare(element, *last, machine.arena) == beyond)
            {
                best.pop_back();
            }
            best.push_back((place, element));
        }
        let gone = window.shift(place);
        if gone.is_some() && gone == best.front().map(|(place, _)| *place) {
            best.pop_front();
        }
        place += 1;
        let first = best.front().filter(|_| window.is_full());
        Ok(first.map_or(Value::Null, |(_, element)| *element))
    })
}

/// How far apart two elements are.
fn distance<'r, 'p>(machine: &mut Machine<'p, 'r>, args: &'p [Arg]) -> Evaluated<'r, usize> {
    args.first().map_or(Ok(1), |arg| count_of(machine, arg))
}

fn lag<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let distance = distance(machine, args)?;
    let mut waiting = VecDeque::new();
    each_element(machine, receiver, sink, &mut |_, element| {
        waiting.push_back(element);
        let before = if waiting.len() > distance { waiting.pop_front() } else { None };
        Ok(before.unwrap_or(Value::Null))
    })
}

fn lead<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let distance = distance(machine, args)?;
    // The number of elements that still wait for a later one.
    let mut waiting = 0;
    let flow = machine.each(receiver, &mut |machine, element| {
        if waiting < distance {
            waiting += 1;
            return Ok(Flow::Continue);
        }
        sink(machine, element)
    })?;
    if flow == Flow::Stop {
        return Ok(flow);
    }
    for _ in 0..waiting {
        if sink(machine, Value::Null)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

fn diff_window<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    _: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    with_previous(machine, receiver, sink, "diff_window", |machine, previous, number| {
        arithmetic(Operator::Subtract, number, previous, machine.arena)
    })
}

fn pct_change<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    _: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    with_previous(machine, receiver, sink, "pct_change", |machine, previous, number| {
        let change = arithmetic(Operator::Subtract, number, previous, machine.arena)?;
        if previous.truthy(machine.arena) {
            arithmetic(Operator::Divide, change, previous, machine.arena)
        } else {
            Ok(Value::Null)
        }
    })
}

/// `result` of each number and the one before it, where neither is a gap.
fn with_previous<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    sink: &mut Sink<'_, 'p, 'r>,
    builtin: &str,
    result: fn(&Machine<'p, 'r>, Value<'r>, Value<'r>) -> Evaluated<'r>,
) -> Evaluated<'r, Flow> {
    let mut previous = Value::Null;
    each_element(machine, receiver, sink, &mut |machine, element| {
        reading(machine, element, builtin)?;
        let previous = std::mem::replace(&mut previous, element);
        if previous.is_null() || element.is_null() {
            return Ok(Value::Null);
        }
        result(machine, previous, element)
    })
}

fn cummax<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    _: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    so_far(machine, receiver, sink, OneKind::new("cummax"), Ordering::Greater)
}

fn cummin<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    _: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    so_far(machine, receiver, sink, OneKind::new("cummin"), Ordering::Less)
}

fn so_far<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    sink: &mut Sink<'_, 'p, 'r>,
    mut kinds: OneKind,
    beyond: Ordering,
) -> Evaluated<'r, Flow> {
    let mut best = Value::Null;
    each_element(machine, receiver, sink, &mut |machine, element| {
        if !element.is_null() {
            kinds.check(element)?;
            if best.is_null() || compare(element, best, machine.arena) == beyond {
                best = element;
            }
        }
        Ok(best)
    })
}

fn zscore<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    _: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let mut readings: Vec<Reading> = Vec::new();
    machine.each(receiver, &mut |machine, element| {
        readings.push(reading(machine, element, "zscore")?);
        Ok(Flow::Continue)
    })?;
    let mean = mean(readings.iter().flatten().copied())?;
    let squares = readings.iter().flatten().map(|number| (number - mean).powi(2));
    let deviation = self::mean(squares)?.sqrt();
    for reading in readings {
        let above = |number| if deviation > 0.0 { (number - mean) / deviation } else { 0.0 };
        let score = shown(reading.map(above))?;
        if sink(machine, score)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

/// The mean of numbers; 0 of none.
fn mean(numbers: impl Iterator<Item = f64>) -> Result<f64, Fault> {
    let mut sum = Sum::new();
    let mut count = 0.0_f64;
    for number in numbers {
        finite(number)?;
        sum.add_double(number);
        count += 1.0;
    }
    let mean = sum.double() / count.max(1.0);
    finite(mean).map(|_| mean)
}
