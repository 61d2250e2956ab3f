//! Numbers in their order: running and neighbouring values.
//!
//! All of them give a double or null for each element. What is no number is a gap: it has
//! its place, but no value.

use std::collections::VecDeque;

use super::{Builtin, Parameter, Run, elements::count_of};
use crate::{
    query::{
        Arg, ExprId, Fault, Machine, Sum,
        machine::{Evaluated, Flow, Sink},
        numbers::{double, finite},
    },
    value::Value,
};

pub(super) static BUILTINS: &[Builtin] = &[
    Builtin {
        name: "rolling_sum",
        aliases: &[],
        group: "Windows",
        parameters: &[Parameter::Value("size")],
        required: 1,
        doc: "For each element, the sum of the last so many numbers up to it; null until there are that many.",
        examples: &[
            ["[3, 1, 2].rolling_sum(2)", "null", "[null, 4.0, 3.0]"],
            ["[3, null, 2].rolling_sum(2)", "null", "[null, 3.0, 2.0]"],
            ["[3, 1, 2].rolling_sum(0)", "null", "error"],
        ],
        run: Run::Stage(rolling_sum),
    },
    Builtin {
        name: "rolling_avg",
        aliases: &[],
        group: "Windows",
        parameters: &[Parameter::Value("size")],
        required: 1,
        doc: "For each element, the mean of the last so many numbers up to it; null until there are that many.",
        examples: &[
            ["[3, 1, 2].rolling_avg(2)", "null", "[null, 2.0, 1.5]"],
            ["[3, null, null].rolling_avg(2)", "null", "[null, 3.0, null]"],
        ],
        run: Run::Stage(rolling_avg),
    },
    Builtin {
        name: "rolling_min",
        aliases: &[],
        group: "Windows",
        parameters: &[Parameter::Value("size")],
        required: 1,
        doc: "For each element, the smallest of the last so many numbers up to it; null until there are that many.",
        examples: &[
            ["[3, 1, 2].rolling_min(2)", "null", "[null, 1.0, 1.0]"],
            ["[null, null, 2].rolling_min(2)", "null", "[null, null, 2.0]"],
        ],
        run: Run::Stage(rolling_min),
    },
    Builtin {
        name: "rolling_max",
        aliases: &[],
        group: "Windows",
        parameters: &[Parameter::Value("size")],
        required: 1,
        doc: "For each element, the largest of the last so many numbers up to it; null until there are that many.",
        examples: &[["[3, 1, 2].rolling_max(2)", "null", "[null, 3.0, 2.0]"]],
        run: Run::Stage(rolling_max),
    },
    Builtin {
        name: "lag",
        aliases: &[],
        group: "Windows",
        parameters: &[Parameter::Value("distance")],
        required: 0,
        doc: "For each element, the number before it, or the one at a greater distance.",
        examples: &[
            ["[3, 1, 2].lag()", "null", "[null, 3.0, 1.0]"],
            ["[3, 1, 2].lag(2)", "null", "[null, null, 3.0]"],
            [r#"["a", 1].lag()"#, "null", "[null, null]"],
        ],
        run: Run::Stage(lag),
    },
    Builtin {
        name: "lead",
        aliases: &[],
        group: "Windows",
        parameters: &[Parameter::Value("distance")],
        required: 0,
        doc: "For each element, the number behind it, or the one at a greater distance.",
        examples: &[
            ["[3, 1, 2].lead()", "null", "[1.0, 2.0, null]"],
            ["[3, 1].lead(5)", "null", "[null, null]"],
        ],
        run: Run::Stage(lead),
    },
    Builtin {
        name: "diff_window",
        aliases: &[],
        group: "Windows",
        parameters: &[],
        required: 0,
        doc: "Each number minus the one before it.",
        examples: &[
            ["[3, 1, 2].diff_window()", "null", "[null, -2.0, 1.0]"],
            ["[3, null, 2].diff_window()", "null", "[null, null, null]"],
        ],
        run: Run::Stage(diff_window),
    },
    Builtin {
        name: "pct_change",
        aliases: &[],
        group: "Windows",
        parameters: &[],
        required: 0,
        doc: "By which part of the number before it each number is greater; null after a 0.",
        examples: &[
            ["[4, 5, 0, 2].pct_change()", "null", "[null, 0.25, -1.0, null]"],
            ["null.pct_change()", "null", "[]"],
        ],
        run: Run::Stage(pct_change),
    },
    Builtin {
        name: "cummax",
        aliases: &[],
        group: "Windows",
        parameters: &[],
        required: 0,
        doc: "For each element, the largest number so far.",
        examples: &[["[null, 1, 3, 2].cummax()", "null", "[null, 1.0, 3.0, 3.0]"]],
        run: Run::Stage(cummax),
    },
    Builtin {
        name: "cummin",
        aliases: &[],
        group: "Windows",
        parameters: &[],
        required: 0,
        doc: "For each element, the smallest number so far.",
        examples: &[["[3, 1, null, 2].cummin()", "null", "[3.0, 1.0, 1.0, 1.0]"]],
        run: Run::Stage(cummin),
    },
    Builtin {
        name: "zscore",
        aliases: &[],
        group: "Windows",
        parameters: &[],
        required: 0,
        doc: "How many standard deviations (of all numbers as the whole population) each number is above the mean; 0 if all are equal.",
        examples: &[
            ["[1, 3].zscore()", "null", "[-1.0, 1.0]"],
            ["[2, 2, null].zscore()", "null", "[0.0, 0.0, null]"],
        ],
        run: Run::Stage(zscore),
    },
];

/// A number of the data, or a gap.
type Reading = Option<f64>;

/// Push what `next` makes of each reading.
fn each_reading<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    sink: &mut Sink<'_, 'p, 'r>,
    next: &mut dyn FnMut(Reading) -> Reading,
) -> Evaluated<'r, Flow> {
    machine.each(receiver, &mut |machine, element| {
        let value = shown(next(double(element.resolved(machine.arena))))?;
        sink(machine, value)
    })
}

fn shown<'r>(reading: Reading) -> Evaluated<'r> {
    reading.map_or(Ok(Value::Null), finite)
}

/// The last `size` readings.
struct Window {
    size: usize,
    readings: VecDeque<Reading>,
}

impl Window {
    fn new<'p>(machine: &mut Machine<'p, '_>, arg: &'p Arg) -> Result<Self, Fault> {
        match count_of(machine, arg)? {
            0 => Err(Fault::new("a window must be of 1 element at least")),
            size => Ok(Self { size, readings: VecDeque::new() }),
        }
    }

    /// Take in a reading; what falls out.
    fn shift(&mut self, reading: Reading) -> Reading {
        self.readings.push_back(reading);
        if self.readings.len() > self.size { self.readings.pop_front().flatten() } else { None }
    }

    fn is_full(&self) -> bool {
        self.readings.len() == self.size
    }
}

fn rolling_sum<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    rolling_total(machine, receiver, args, sink, |total, _| Some(total))
}

fn rolling_avg<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    rolling_total(machine, receiver, args, sink, |total, count| {
        #[allow(clippy::cast_precision_loss, reason = "nobody has 2^53 elements")]
        (count > 0).then(|| total / count as f64)
    })
}

/// `result` of the total of the numbers in a window, and of how many they are.
fn rolling_total<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
    result: fn(f64, usize) -> Reading,
) -> Evaluated<'r, Flow> {
    let mut window = Window::new(machine, &args[0])?;
    // Exact, so that what has left the window leaves no error behind.
    let mut sum = Sum::new();
    let mut count = 0;
    each_reading(machine, receiver, sink, &mut |reading| {
        if let Some(number) = reading {
            sum.add_double(number);
            count += 1;
        }
        if let Some(number) = window.shift(reading) {
            sum.add_double(-number);
            count -= 1;
        }
        if window.is_full() { result(sum.double(), count) } else { None }
    })
}

fn rolling_min<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    rolling_extreme(machine, receiver, args, sink, |left, right| left < right)
}

fn rolling_max<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    rolling_extreme(machine, receiver, args, sink, |left, right| left > right)
}

fn rolling_extreme<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
    beyond: fn(f64, f64) -> bool,
) -> Evaluated<'r, Flow> {
    let mut window = Window::new(machine, &args[0])?;
    // The numbers of the window that nothing behind them is beyond: the first is the result.
    let mut best: VecDeque<f64> = VecDeque::new();
    each_reading(machine, receiver, sink, &mut |reading| {
        if let Some(number) = reading {
            while best.back().is_some_and(|last| beyond(number, *last)) {
                best.pop_back();
            }
            best.push_back(number);
        }
        let gone = window.shift(reading);
        #[allow(clippy::float_cmp, reason = "whether it is the same number, not one nearby")]
        if gone.is_some() && gone == best.front().copied() {
            best.pop_front();
        }
        if window.is_full() { best.front().copied() } else { None }
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
    each_reading(machine, receiver, sink, &mut |reading| {
        waiting.push_back(reading);
        if waiting.len() > distance { waiting.pop_front().flatten() } else { None }
    })
}

fn lead<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let distance = distance(machine, args)?;
    // For so many elements, the one they ask for did not come yet.
    let mut waiting = 0;
    let flow = machine.each(receiver, &mut |machine, element| {
        if waiting < distance {
            waiting += 1;
            return Ok(Flow::Continue);
        }
        let value = shown(double(element.resolved(machine.arena)))?;
        sink(machine, value)
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
    with_previous(machine, receiver, sink, |previous, number| Some(number - previous))
}

fn pct_change<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    _: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    with_previous(machine, receiver, sink, |previous, number| {
        (previous != 0.0).then(|| (number - previous) / previous)
    })
}

fn with_previous<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    sink: &mut Sink<'_, 'p, 'r>,
    result: fn(f64, f64) -> Reading,
) -> Evaluated<'r, Flow> {
    let mut previous = None;
    each_reading(machine, receiver, sink, &mut |reading| {
        let both = std::mem::replace(&mut previous, reading).zip(reading);
        both.and_then(|(previous, number)| result(previous, number))
    })
}

fn cummax<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    _: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    so_far(machine, receiver, sink, f64::max)
}

fn cummin<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    _: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    so_far(machine, receiver, sink, f64::min)
}

fn so_far<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    sink: &mut Sink<'_, 'p, 'r>,
    better: fn(f64, f64) -> f64,
) -> Evaluated<'r, Flow> {
    let mut best: Reading = None;
    each_reading(machine, receiver, sink, &mut |reading| {
        if let Some(number) = reading {
            best = Some(best.map_or(number, |best| better(best, number)));
        }
        best
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
        readings.push(double(element.resolved(machine.arena)));
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
