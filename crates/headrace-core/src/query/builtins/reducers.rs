//! One value from all elements.

use std::cmp::Ordering;

use bumpalo::Bump;

use super::{Builtin, Parameter, in_group};
use crate::{
    query::{
        Arg, Distinct, ExprId, Fault, Machine, Sum,
        machine::{Evaluated, Flow, Sink},
        numbers::{add_to, finite, shown, unlike},
    },
    value::{Kind, Value, compare, json_text, parse_text},
};

pub(super) static BUILTINS: &[Builtin] = &in_group("Reducers", [
    Builtin::reduce("count", count)
        .takes(&[Parameter::EachRest("condition")])
        .required(0)
        .doc("The number of elements, or of those for which every condition is truthy.")
        .examples(&[
            ["[3, 1, 2].count()", "null", "3"],
            ["[3, 1, 2].count(@ > 1)", "null", "2"],
            [r#""abc".count()"#, "null", "error"],
            ["null.count()", "null", "0"],
        ]),
    Builtin::reduce("len", len)
        .doc("The number of elements of an array, of keys of an object or of characters of a text; 0 for null.")
        .examples(&[
            ["[3, 1, 2].len()", "null", "3"],
            [r#""häß".len()"#, "null", "3"],
            ["$.len()", r#"{"a": 1, "b": 2}"#, "2"],
            ["null.len()", "null", "0"],
            ["5.len()", "null", "error"],
        ]),
    Builtin::reduce("sum", sum)
        .takes(&[Parameter::Each("expression")])
        .required(0)
        .doc("The total of all numbers, exact and rounded once at the end; an integer if all of them are and it fits. Null does not count; anything else that is no number is an error.")
        .examples(&[
            ["[3, 1, 2].sum()", "null", "6"],
            ["$.sum(price)", r#"[{"price": 0.1}, {"price": 0.2}, {}]"#, "0.30000000000000004"],
            ["[1, null, 2.5].sum()", "null", "3.5"],
            [r#"[1, "2"].sum()"#, "null", "error"],
            [r#"[1, "2"].sum(@ as int)"#, "null", "3"],
            ["[].sum()", "null", "0"],
        ]),
    Builtin::reduce("avg", avg)
        .takes(&[Parameter::Each("expression")])
        .required(0)
        .doc("The mean of all numbers, or null if there are none. Null does not count; anything else that is no number is an error.")
        .examples(&[
            ["[3, 1, null].avg()", "null", "2.0"],
            ["$.avg(price)", r#"[{"price": 1}, {"price": 2}]"#, "1.5"],
            ["[].avg()", "null", "null"],
        ]),
    Builtin::reduce("min", min)
        .takes(&[Parameter::Each("expression")])
        .required(0)
        .doc("The smallest of the elements that are not null, in the order of `sort`, as it is written; null if there are none. They must be of one kind.")
        .examples(&[
            ["[3, 1, 2.5].min()", "null", "1"],
            ["$.min(price)", r#"[{"price": 4.50}, {"price": null}]"#, "4.50"],
            [r#"["b", "a"].min()"#, "null", r#""a""#],
            [r#"[1, "a"].min()"#, "null", "error"],
        ]),
    Builtin::reduce("max", max)
        .takes(&[Parameter::Each("expression")])
        .required(0)
        .doc("The largest of the elements that are not null, in the order of `sort`, as it is written; null if there are none. They must be of one kind.")
        .examples(&[
            ["[3, 1, 2.5].max()", "null", "3"],
            ["$.max(price)", r#"[{"price": 4}, {"price": 5}]"#, "5"],
            [r#"["2026-01-02", "2026-01-10"].max()"#, "null", r#""2026-01-10""#],
            ["null.max()", "null", "null"],
        ]),
    Builtin::reduce("min_by", min_by)
        .takes(&[Parameter::Each("key")])
        .doc("The element with the smallest key in the order of `sort`, the first of several; null if there are none.")
        .examples(&[
            [
                "$.min_by(age).name",
                r#"[{"name": "Ada", "age": 36}, {"name": "Bob", "age": 9}]"#,
                r#""Bob""#,
            ],
            [r#"["abc", "a", "b"].min_by(@.len())"#, "null", r#""a""#],
            ["[].min_by(@)", "null", "null"],
        ]),
    Builtin::reduce("max_by", max_by)
        .takes(&[Parameter::Each("key")])
        .doc("The element with the largest key in the order of `sort`, the first of several; null if there are none.")
        .examples(&[
            ["$.max_by(age).name", r#"[{"name": "Ada", "age": 36}, {"name": "Bob"}]"#, r#""Ada""#],
            ["[].max_by(@)", "null", "null"],
        ]),
    Builtin::reduce("fold", fold)
        .takes(&[Parameter::Either("initial"), Parameter::Each("step")])
        .required(1)
        .aliases(&["reduce"])
        .doc("One value from all elements: the step computes the next value from the value so far and each element, beginning with the initial value or the first element.")
        .examples(&[
            ["[1, 2, 3].fold(10, (a, x) => a + x)", "null", "16"],
            ["[1, 2, 3].fold((a, x) => a * x)", "null", "6"],
            ["[].fold((a, x) => a * x)", "null", "null"],
        ]),
    Builtin::stage("accumulate", accumulate)
        .takes(&[Parameter::Either("initial"), Parameter::Each("step")])
        .required(1)
        .doc("As `fold`, but an array with the value after each element.")
        .examples(&[
            ["[1, 2, 3].accumulate((a, x) => a + x)", "null", "[1, 3, 6]"],
            ["[1, 2, 3].accumulate(10, (a, x) => a + x)", "null", "[11, 13, 16]"],
            ["null.accumulate((a, x) => a + x)", "null", "[]"],
        ]),
    Builtin::reduce("approx_count_distinct", approx_count_distinct)
        .takes(&[Parameter::Each("expression")])
        .required(0)
        .aliases(&["approx_distinct"])
        .doc("The approximate number of different values, in little memory: exact up to 4096, then within about 1 percent.")
        .examples(&[
            [r#"[1, 1.0, 2, "1"].approx_count_distinct()"#, "null", "3"],
            ["$.approx_count_distinct(a)", r#"[{"a": 1}, {"a": 1}]"#, "1"],
            ["[].approx_count_distinct()", "null", "0"],
        ]),
]);

fn count<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let mut count = 0;
    super::iteration::filter(machine, receiver, args, &mut |_, _| {
        count += 1;
        Ok(Flow::Continue)
    })?;
    Ok(Value::Int(count))
}

fn len<'r, 'p>(machine: &mut Machine<'p, 'r>, receiver: ExprId, args: &'p [Arg]) -> Evaluated<'r> {
    // The elements need not be kept to be counted.
    if machine.is_stream(receiver) {
        return count(machine, receiver, args);
    }
    let arena = machine.arena;
    let value = machine.eval(receiver)?;
    let length = match value.kind() {
        Kind::Null => Some(0),
        Kind::String => value.as_str(arena).map(|text| text.chars().count()),
        Kind::Array => match value {
            // An array of the row knows how long it is; its elements need not be looked up.
            Value::Node(node) => Some(node.len()),
            _ => value.as_array(arena).map(<[_]>::len),
        },
        Kind::Object => value.as_object(arena).map(<[_]>::len),
        Kind::Bool | Kind::Number => None,
    };
    match length.map(i64::try_from) {
        Some(Ok(length)) => Ok(Value::Int(length)),
        _ => Err(Fault::new(format!(
            "len takes an array, an object or a text, not {}",
            shown(value, arena)
        ))),
    }
}

/// What a reducer takes of an element: the element, or what its argument says.
fn taken<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    args: &'p [Arg],
    element: Value<'r>,
) -> Evaluated<'r> {
    args.first().map_or(Ok(element), |arg| machine.apply(arg, element))
}

/// The total of all numbers, and how many there are.
fn total<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    builtin: &str,
) -> Evaluated<'r, (Sum, u64)> {
    let mut sum = Sum::new();
    let mut count = 0;
    machine.each(receiver, &mut |machine, element| {
        let value = taken(machine, args, element)?;
        count += u64::from(add_to(&mut sum, value, builtin, machine.arena)?);
        Ok(Flow::Continue)
    })?;
    Ok((sum, count))
}

fn sum<'r, 'p>(machine: &mut Machine<'p, 'r>, receiver: ExprId, args: &'p [Arg]) -> Evaluated<'r> {
    let (sum, _) = total(machine, receiver, args, "sum")?;
    sum.integer().map_or_else(|| finite(sum.double()), |total| Ok(Value::Int(total)))
}

fn avg<'r, 'p>(machine: &mut Machine<'p, 'r>, receiver: ExprId, args: &'p [Arg]) -> Evaluated<'r> {
    let (sum, count) = total(machine, receiver, args, "avg")?;
    if count == 0 {
        return Ok(Value::Null);
    }
    #[allow(clippy::cast_precision_loss, reason = "there are fewer than 2^53 elements")]
    finite(sum.double() / count as f64)
}

fn min<'r, 'p>(machine: &mut Machine<'p, 'r>, receiver: ExprId, args: &'p [Arg]) -> Evaluated<'r> {
    extreme(machine, receiver, args, Ordering::Less)
}

fn max<'r, 'p>(machine: &mut Machine<'p, 'r>, receiver: ExprId, args: &'p [Arg]) -> Evaluated<'r> {
    extreme(machine, receiver, args, Ordering::Greater)
}

/// The first element that no other is `beyond`, of those that are not null.
fn extreme<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    beyond: Ordering,
) -> Evaluated<'r> {
    let mut best = Best::new(beyond);
    machine.each(receiver, &mut |machine, element| {
        let value = taken(machine, args, element)?;
        if value.is_null() {
            return Ok(Flow::Continue);
        }
        if let Some(other) = best.key.map(Value::kind)
            && other != value.kind()
        {
            let builtin = if beyond == Ordering::Less { "min" } else { "max" };
            return Err(unlike(other, value.kind(), builtin));
        }
        best.consider(machine, value, value);
        Ok(Flow::Continue)
    })?;
    Ok(best.value)
}

fn min_by<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
) -> Evaluated<'r> {
    extreme_by(machine, receiver, args, Ordering::Less)
}

fn max_by<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
) -> Evaluated<'r> {
    extreme_by(machine, receiver, args, Ordering::Greater)
}

fn extreme_by<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    beyond: Ordering,
) -> Evaluated<'r> {
    let mut best = Best::new(beyond);
    machine.each(receiver, &mut |machine, element| {
        let key = taken(machine, args, element)?;
        best.consider(machine, key, element);
        Ok(Flow::Continue)
    })?;
    Ok(best.value)
}

/// The first value whose key no other is beyond.
struct Best<'r> {
    beyond: Ordering,
    key: Option<Value<'r>>,
    value: Value<'r>,
}

impl<'r> Best<'r> {
    fn new(beyond: Ordering) -> Self {
        Self { beyond, key: None, value: Value::Null }
    }

    fn consider(&mut self, machine: &Machine<'_, 'r>, key: Value<'r>, value: Value<'r>) {
        let key = key.resolved(machine.arena);
        let better = |best| compare(key, best, machine.arena) == self.beyond;
        if self.key.is_none_or(better) {
            (self.key, self.value) = (Some(key), value);
        }
    }
}

fn fold<'r, 'p>(machine: &mut Machine<'p, 'r>, receiver: ExprId, args: &'p [Arg]) -> Evaluated<'r> {
    let (folded, step) = beginning(machine, args)?;
    let taken = machine.arena.allocated_bytes();
    let mut fold = Fold { step, folded: folded.map(Folded::Here), waiting: Vec::new(), taken };
    let flow = machine.each(receiver, &mut |machine, element| {
        fold.take(machine, element)?;
        Ok(Flow::Continue)
    });
    // What waits came before what failed.
    fold.advance(machine)?;
    flow?;
    fold.value(machine.arena)
}

/// A fold. Once its steps have taken much memory, it is given back after every few of them: a
/// step may make a new array of all elements so far.
struct Fold<'p, 'r> {
    step: &'p Arg,
    folded: Option<Folded<'r>>,
    /// Elements for which no step was made yet.
    waiting: Vec<Value<'r>>,
    /// The memory that was taken before the first step.
    taken: usize,
}

/// The folded value so far.
enum Folded<'r> {
    Here(Value<'r>),
    /// As JSON, where no memory of the steps is kept.
    Json(String),
}

impl<'p, 'r> Fold<'p, 'r> {
    /// As much as steps may take before their memory is given back.
    const MUCH: usize = 16 << 20;
    /// Elements that are held between the steps for them.
    const TOGETHER: usize = 256;

    fn take(&mut self, machine: &mut Machine<'p, 'r>, element: Value<'r>) -> Result<(), Fault> {
        match self.folded {
            None => self.folded = Some(Folded::Here(element)),
            Some(Folded::Here(folded)) if self.takes_little(machine.arena) => {
                let folded = machine.apply_all(self.step, &[folded, element])?;
                self.folded = Some(Folded::Here(folded));
            }
            Some(_) => {
                self.waiting.push(element);
                if self.waiting.len() == Self::TOGETHER {
                    self.advance(machine)?;
                }
            }
        }
        Ok(())
    }

    fn takes_little(&self, arena: &Bump) -> bool {
        arena.allocated_bytes().saturating_sub(self.taken) < Self::MUCH
    }

    /// Make the steps for the elements that wait.
    fn advance(&mut self, machine: &Machine<'p, 'r>) -> Result<(), Fault> {
        let mut waiting = std::mem::take(&mut self.waiting).into_iter();
        while waiting.len() > 0 {
            let (folded, scratch) = (self.folded.take(), Bump::new());
            let mut inner = machine.within(&scratch);
            let mut value = match &folded {
                None => Value::Null,
                Some(Folded::Here(value)) => *value,
                Some(Folded::Json(text)) => read_back(text, &scratch)?,
            };
            for element in waiting.by_ref() {
                value = inner.apply_all(self.step, &[value, element])?;
                if scratch.allocated_bytes() > Self::MUCH {
                    break;
                }
            }
            self.folded = Some(Folded::Json(json_text(value, &scratch).to_owned()));
        }
        Ok(())
    }

    fn value(self, arena: &'r Bump) -> Evaluated<'r> {
        match self.folded {
            None => Ok(Value::Null),
            Some(Folded::Here(value)) => Ok(value),
            Some(Folded::Json(text)) => read_back(arena.alloc_str(&text), arena),
        }
    }
}

/// The value that was written as JSON.
fn read_back<'r>(text: &'r str, arena: &'r Bump) -> Evaluated<'r> {
    parse_text(text, arena).map_err(|error| Fault::new(error.to_string()))
}

fn accumulate<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
    sink: &mut Sink<'_, 'p, 'r>,
) -> Evaluated<'r, Flow> {
    let (mut folded, step) = beginning(machine, args)?;
    machine.each(receiver, &mut |machine, element| {
        let value = advanced(machine, step, folded, element)?;
        folded = Some(value);
        sink(machine, value)
    })
}

/// The initial value, if there is one, and the step.
fn beginning<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    args: &'p [Arg],
) -> Evaluated<'r, (Option<Value<'r>>, &'p Arg)> {
    match args {
        [initial, step, ..] => Ok((Some(machine.value_of(initial)?), step)),
        _ => Ok((None, &args[0])),
    }
}

fn advanced<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    step: &'p Arg,
    folded: Option<Value<'r>>,
    element: Value<'r>,
) -> Evaluated<'r> {
    folded.map_or(Ok(element), |folded| machine.apply_all(step, &[folded, element]))
}

fn approx_count_distinct<'r, 'p>(
    machine: &mut Machine<'p, 'r>,
    receiver: ExprId,
    args: &'p [Arg],
) -> Evaluated<'r> {
    let mut distinct = Distinct::new();
    machine.each(receiver, &mut |machine, element| {
        let value = taken(machine, args, element)?;
        distinct.add(value, machine.arena);
        Ok(Flow::Continue)
    })?;
    Ok(Value::Int(i64::try_from(distinct.count()).unwrap_or(i64::MAX)))
}
