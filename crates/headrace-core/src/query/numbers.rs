//! Arithmetic.
//!
//! Integers stay exact; a result that no i64 holds becomes a double. A result that is
//! no finite number is an error, never an infinity.

use bumpalo::Bump;

use super::{Fault, Sum, program::Operator};
use crate::value::{Kind, Value, text_of};

pub(super) fn arithmetic<'r>(
    operator: Operator,
    left: Value<'r>,
    right: Value<'r>,
    arena: &'r Bump,
) -> Result<Value<'r>, Fault> {
    let (left, right) = (left.resolved(arena), right.resolved(arena));
    if let (Value::Int(left), Value::Int(right)) = (left, right)
        && let Some(result) = integers(operator, left, right)?
    {
        return Ok(Value::Int(result));
    }
    let (Some(a), Some(b)) = (double(left), double(right)) else {
        return Err(mismatch(operator, left, right, arena));
    };
    doubles(operator, a, b)
}

/// `None` where the result is not an integer, or none that fits.
fn integers(operator: Operator, left: i64, right: i64) -> Result<Option<i64>, Fault> {
    Ok(match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Remainder if right == 0 => return Err(Fault::new("division by zero")),
        // i64::MIN % -1 overflows on the way to 0.
        Operator::Remainder => Some(left.checked_rem(right).unwrap_or(0)),
        _ => None,
    })
}

fn doubles<'r>(operator: Operator, left: f64, right: f64) -> Result<Value<'r>, Fault> {
    if right == 0.0 && matches!(operator, Operator::Divide | Operator::Remainder) {
        return Err(Fault::new("division by zero"));
    }
    let result = match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide => left / right,
        _ => left % right,
    };
    finite(result)
}

/// A double as a value.
pub(super) fn finite<'r>(value: f64) -> Result<Value<'r>, Fault> {
    if value.is_finite() {
        Ok(Value::Float(value))
    } else {
        Err(Fault::new("the result is too large for a number"))
    }
}

/// Any number as a double; a text beyond it only if it rounds to a finite one.
pub(super) fn double(value: Value<'_>) -> Option<f64> {
    match value {
        #[allow(clippy::cast_precision_loss, reason = "that is what a double is")]
        Value::Int(value) => Some(value as f64),
        Value::Float(value) => Some(value),
        Value::Big(text) => text.parse().ok().filter(|value: &f64| value.is_finite()),
        _ => None,
    }
}

/// A whole number, however it is written: `2.0` is 2. One beyond i64 becomes its end, which is
/// beyond all positions and counts.
pub(super) fn whole_number(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Int(number) => Some(number),
        #[allow(clippy::cast_possible_truncation, reason = "saturates, as it should")]
        Value::Float(number) if number.fract() == 0.0 => Some(number as i64),
        // A number is held as text only where it is beyond i64, and then it has no fraction.
        Value::Big(text) => Some(if text.starts_with('-') { i64::MIN } else { i64::MAX }),
        _ => None,
    }
}

/// Add an element to a total; false for null, which does not count.
pub(super) fn add_to<'r>(
    sum: &mut Sum,
    element: Value<'r>,
    builtin: &str,
    arena: &'r Bump,
) -> Result<bool, Fault> {
    match element.resolved(arena) {
        Value::Null => return Ok(false),
        Value::Int(number) => sum.add_integer(number),
        value => sum.add_double(addend(value, builtin, arena)?),
    }
    Ok(true)
}

/// An element that is not null as a number to compute with.
pub(super) fn addend<'r>(element: Value<'r>, builtin: &str, arena: &'r Bump) -> Result<f64, Fault> {
    let value = element.resolved(arena);
    if let Some(number) = double(value) {
        return Ok(number);
    }
    let shown = shown(value, arena);
    if value.kind() == Kind::Number {
        return Err(Fault::new(format!("{shown} is too large for {builtin}")));
    }
    let cure = match value.kind() {
        Kind::String => "; make numbers of texts first, as in sum(to_number(price))",
        Kind::Bool => "; count(...) counts what is true",
        _ => "",
    };
    Err(Fault::new(format!("{builtin} takes numbers and null, not {shown}{cure}")))
}

/// What is said of values of two kinds where the least or the greatest is wanted.
pub(super) fn unlike(one: Kind, other: Kind, builtin: &str) -> Fault {
    let (low, high) = if one < other { (one, other) } else { (other, one) };
    let (low, high) = (low.with_article(), high.with_article());
    Fault::new(format!(
        "{builtin} compares values of one kind, not {low} and {high}; convert them, as in \
         max(to_number(price)), or keep one kind, as in filter(price is number)"
    ))
}

/// What is said of keys of two kinds that would be one key of an object.
pub(super) fn colliding(key: &str, one: Kind, other: Kind) -> Fault {
    const LONGEST: usize = 40;
    let (low, high) = if one < other { (one, other) } else { (other, one) };
    let (low, high) = (low.name(), high.name());
    let key = if key.chars().count() > LONGEST { "a long one" } else { key };
    Fault::new(format!(
        "the keys of an object are texts, which cannot tell {low} {key} from {high} {key}; make \
         the keys one kind, as in count_by(id as string) or filter(id is number).count_by(id)"
    ))
}

/// How many there are of something.
pub(super) fn count<'r>(count: usize) -> Value<'r> {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

/// A double without fraction as an integer, if one holds it.
pub(super) fn whole<'r>(value: f64) -> Value<'r> {
    #[allow(clippy::cast_precision_loss, reason = "2^63 is a double")]
    let limit = -(i64::MIN as f64);
    if (-limit..limit).contains(&value) {
        #[allow(clippy::cast_possible_truncation, reason = "in range, and without fraction")]
        Value::Int(value as i64)
    } else {
        Value::Float(value)
    }
}

fn mismatch<'r>(operator: Operator, left: Value<'r>, right: Value<'r>, arena: &'r Bump) -> Fault {
    let sign = match operator {
        Operator::Add => '+',
        Operator::Subtract => '-',
        Operator::Multiply => '*',
        Operator::Divide => '/',
        _ => '%',
    };
    let hyphen = operator == Operator::Subtract && (left.is_null() || right.is_null());
    let cure = if hyphen { "; a field with a hyphen is written $.\"a-b\"" } else { "" };
    Fault::new(format!(
        "{} {sign} {} cannot be computed{cure}",
        shown(left, arena),
        shown(right, arena)
    ))
}

/// A value in an error message: its kind, and if it is short itself.
pub(super) fn shown<'r>(value: Value<'r>, arena: &'r Bump) -> String {
    const LONGEST: usize = 40;
    if value.is_null() {
        return "null".to_owned();
    }
    let kind = value.kind().name();
    if matches!(value.kind(), Kind::Array | Kind::Object) {
        return format!("{kind} value");
    }
    let text = text_of(value, arena);
    if text.chars().count() > LONGEST { format!("{kind} value") } else { format!("{kind} {text}") }
}

/// What is said of an object as ``$`` where elements are needed: all rows may be meant.
pub(super) fn row_without_elements() -> Fault {
    Fault::new(
        "an object has no elements; write .entries(), .values() or .transform_values(...), or \
         $.rows() for all rows, as in $.rows().count()"
            .to_owned(),
    )
}

/// What is said of a value that is no array where elements are needed.
pub(super) fn no_elements<'r>(value: Value<'r>, arena: &'r Bump) -> Fault {
    let cure = match value.kind() {
        Kind::Object => "; write .entries(), .values() or .transform_values(...)",
        Kind::String => "; write .len(), .chars() or .split(...)",
        _ => "",
    };
    let what = match value.kind() {
        Kind::Object => "an object".to_owned(),
        _ => shown(value, arena),
    };
    Fault::new(format!("{what} has no elements{cure}"))
}
