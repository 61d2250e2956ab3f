//! Parts of values, and what operators make of them.

use std::cmp::Ordering;

use bumpalo::{
    Bump,
    collections::{String as BumpString, Vec as BumpVec},
};

use super::{Evaluated, Machine};
use crate::query::{
    ExprId, Fault,
    builtins::{Size, limited},
    numbers,
    program::{Const, Operator, Target},
    strings,
};
use crate::value::{Kind, Node, NodeKind, Value, compare, compare_numbers, equal, number, text_of};

impl<'r> Machine<'_, 'r> {
    /// The value under a key; null without strict types if there can be none.
    pub(super) fn field(&self, of: Value<'r>, name: &str) -> Evaluated<'r> {
        if self.strict && !matches!(of.kind(), Kind::Object | Kind::Null) {
            let shown = numbers::shown(of, self.arena);
            let cure = if of.kind() == Kind::Array { "; [*] goes to its elements" } else { "" };
            return Err(Fault::new(format!("{shown} has no field {name}{cure}")));
        }
        Ok(of.get(name).unwrap_or(Value::Null))
    }

    /// Refuse a position in what has none, with strict types.
    fn has_positions(&self, of: Value<'r>) -> Result<(), Fault> {
        if self.strict && !matches!(of.kind(), Kind::Array | Kind::String | Kind::Null) {
            let shown = numbers::shown(of, self.arena);
            return Err(Fault::new(format!("{shown} has no positions")));
        }
        Ok(())
    }

    /// `of[index]`: a field for a string, an element or a character for a whole number; null
    /// for null.
    pub(in crate::query) fn index(&self, of: Value<'r>, index: Value<'r>) -> Evaluated<'r> {
        let index = index.resolved(self.arena);
        match (index, numbers::whole_number(index)) {
            (Value::Str(key), _) => self.field(of, key),
            (Value::Null, _) => Ok(Value::Null),
            (_, Some(at)) => self.has_positions(of).map(|()| self.element(of, at)),
            _ => {
                let shown = numbers::shown(index, self.arena);
                Err(Fault::new(format!("a position must be a whole number, not {shown}")))
            }
        }
    }

    /// An element of an array or a character of a text, counted from the end if negative.
    pub(in crate::query) fn element(&self, of: Value<'r>, at: i64) -> Value<'r> {
        let back = at < 0;
        let distance = usize::try_from(if back { !at } else { at }).unwrap_or(usize::MAX);
        if let Some(elements) = of.as_array(self.arena) {
            let found =
                if back { elements.iter().nth_back(distance) } else { elements.get(distance) };
            return found.copied().unwrap_or(Value::Null);
        }
        let Some(text) = of.as_str(self.arena) else { return Value::Null };
        let mut characters = text.char_indices();
        let found = if back { characters.nth_back(distance) } else { characters.nth(distance) };
        let character = found.and_then(|(at, found)| text.get(at..at + found.len_utf8()));
        character.map_or(Value::Null, Value::Str)
    }

    pub(super) fn slice(&mut self, of: ExprId, bounds: [Option<ExprId>; 3]) -> Evaluated<'r> {
        let of = self.eval(of)?;
        self.has_positions(of)?;
        let mut values = [None; 3];
        for (value, bound) in values.iter_mut().zip(bounds) {
            if let Some(bound) = bound {
                let given = self.eval(bound)?.resolved(self.arena);
                *value = numbers::whole_number(given);
                if value.is_none() && !given.is_null() {
                    let shown = numbers::shown(given, self.arena);
                    return Err(Fault::new(format!("a slice takes whole numbers, not {shown}")));
                }
            }
        }
        let [start, end, step] = values;
        Ok(self.sliced(of, start, end, step.unwrap_or(1)))
    }

    /// As Python slices; null for a step of 0 and for what has no elements.
    pub(in crate::query) fn sliced(
        &self,
        of: Value<'r>,
        start: Option<i64>,
        end: Option<i64>,
        step: i64,
    ) -> Value<'r> {
        if step == 0 {
            return Value::Null;
        }
        if let Some(elements) = of.as_array(self.arena) {
            let kept = positions(elements.len(), start, end, step).map(|at| elements[at]);
            let mut slice = BumpVec::new_in(self.arena);
            slice.extend(kept);
            return Value::Array(slice.into_bump_slice());
        }
        if let Some(text) = of.as_str(self.arena) {
            let chars: Vec<char> = text.chars().collect();
            let mut slice = BumpString::new_in(self.arena);
            slice.extend(positions(chars.len(), start, end, step).map(|at| chars[at]));
            return Value::Str(slice.into_bump_str());
        }
        Value::Null
    }

    pub(super) fn one(&mut self, of: ExprId) -> Evaluated<'r> {
        let of = self.eval(of)?;
        match of.as_array(self.arena) {
            None => Ok(of),
            Some([one]) => Ok(*one),
            Some(others) => {
                Err(Fault::new(format!("! wants exactly one element, not {}", others.len())))
            }
        }
    }

    // Operators

    pub(super) fn negate(&mut self, of: ExprId) -> Evaluated<'r> {
        match self.eval(of)?.resolved(self.arena) {
            Value::Int(value) if value != 0 => {
                #[allow(clippy::cast_precision_loss, reason = "-i64::MIN is a double")]
                let as_double = -(value as f64);
                Ok(value.checked_neg().map_or(Value::Float(as_double), Value::Int))
            }
            Value::Int(_) => Ok(Value::Int(0)),
            other => match numbers::double(other) {
                Some(value) => Ok(Value::Float(-value)),
                None => Err(Fault::new(format!(
                    "-{} cannot be computed",
                    numbers::shown(other, self.arena)
                ))),
            },
        }
    }

    /// `left + right`: a sum, or one after the other.
    pub(in crate::query) fn add(&self, left: Value<'r>, right: Value<'r>) -> Evaluated<'r> {
        let arena = self.arena;
        if let (Some(left), Some(right)) = (left.as_str(arena), right.as_str(arena)) {
            limited(Size::Bytes(left.len() + right.len()))?;
            let mut text = BumpString::with_capacity_in(left.len() + right.len(), arena);
            text.push_str(left);
            text.push_str(right);
            return Ok(Value::Str(text.into_bump_str()));
        }
        if let (Some(left), Some(right)) = (left.as_array(arena), right.as_array(arena)) {
            self.room(left.len() + right.len())?;
            let mut elements = BumpVec::with_capacity_in(left.len() + right.len(), arena);
            elements.extend_from_slice(left);
            elements.extend_from_slice(right);
            return Ok(Value::Array(elements.into_bump_slice()));
        }
        numbers::arithmetic(Operator::Add, left, right, arena)
    }

    pub(super) fn cast(&mut self, of: ExprId, target: Target) -> Evaluated<'r> {
        let arena = self.arena;
        let given = self.eval(of)?;
        let value = given.resolved(arena);
        let impossible = |to: &str| {
            Err(Fault::new(format!("{} cannot be cast to {to}", numbers::shown(value, arena))))
        };
        match target {
            Target::Int => match strings::cast_integer(value, arena) {
                Some(number) => Ok(number),
                None => impossible("int"),
            },
            Target::Float => match strings::cast_number(value) {
                Some(number) => numbers::finite(number),
                None => impossible("float"),
            },
            Target::String => Ok(Value::Str(text_of(value, arena))),
            Target::Bool => Ok(Value::Bool(value.truthy(arena))),
            Target::Array if value.is_null() => Ok(Value::Array(&[])),
            Target::Array if value.kind() == Kind::Array => Ok(given),
            // As it was given: a number keeps the text it was written with.
            Target::Array => Ok(Value::Array(arena.alloc_slice_copy(&[given]))),
            Target::Object if value.kind() == Kind::Object => Ok(given),
            Target::Object => impossible("object"),
            Target::Null => Ok(Value::Null),
        }
    }
}

/// The positions of a slice, as Python counts them.
fn positions(
    length: usize,
    start: Option<i64>,
    end: Option<i64>,
    step: i64,
) -> impl Iterator<Item = usize> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let clamped = |bound: i64| {
        let bound = if bound < 0 { bound.saturating_add(length) } else { bound };
        bound.clamp(low, high)
    };
    let start = start.map_or(if step > 0 { low } else { high }, clamped);
    let end = end.map_or(if step > 0 { high } else { low }, clamped);
    let mut at = Some(start);
    std::iter::from_fn(move || {
        let here = at.filter(|at| if step > 0 { *at < end } else { *at > end })?;
        at = here.checked_add(step);
        usize::try_from(here).ok()
    })
}

/// How a number or a text of the row compares with a constant of the same kind; none if it
/// is of another, or has to be decoded.
pub(super) fn order_of(node: Node<'_>, constant: &Const) -> Option<Ordering> {
    let right = match constant {
        Const::Int(value) => Value::Int(*value),
        Const::Float(value) => Value::Float(*value),
        Const::Str(text) if node.node_kind() == NodeKind::Plain => {
            return Some(node.raw().cmp(text));
        }
        _ => return None,
    };
    let is_integer = match node.node_kind() {
        NodeKind::Integer => true,
        NodeKind::Decimal => false,
        _ => return None,
    };
    Some(compare_numbers(number(node.raw(), is_integer), right))
}

/// Whether a comparison holds.
pub(super) fn compared<'r>(
    operator: Operator,
    left: Value<'r>,
    right: Value<'r>,
    arena: &'r Bump,
) -> bool {
    match operator {
        Operator::Equal => equal(left, right, arena),
        Operator::NotEqual => !equal(left, right, arena),
        Operator::Like => strings::alike(left, right, arena),
        _ => ordered(operator, left, right, arena),
    }
}

/// Refuse to compare what has no order, as strict types have it: null is neither before nor
/// behind anything.
pub(super) fn comparable<'r>(
    operator: Operator,
    left: Value<'r>,
    right: Value<'r>,
    arena: &'r Bump,
) -> Result<(), Fault> {
    use Operator::{Greater, GreaterOrEqual, Less, LessOrEqual};
    let (one, other) = (left.kind(), right.kind());
    let has_order = |kind| matches!(kind, Kind::Number | Kind::String | Kind::Bool);
    if !matches!(operator, Less | LessOrEqual | Greater | GreaterOrEqual)
        || one == Kind::Null
        || other == Kind::Null
        || (one == other && has_order(one))
    {
        return Ok(());
    }
    let (left, right) = (numbers::shown(left, arena), numbers::shown(right, arena));
    Err(Fault::new(format!("{left} is neither before nor behind {right}")))
}

/// `<`, `<=`, `>`, `>=`: between values of one kind that has an order; else false.
fn ordered<'r>(operator: Operator, left: Value<'r>, right: Value<'r>, arena: &'r Bump) -> bool {
    let (left, right) = (left.resolved(arena), right.resolved(arena));
    let kind = left.kind();
    let comparable =
        kind == right.kind() && matches!(kind, Kind::Number | Kind::String | Kind::Bool);
    comparable && operator.holds(compare(left, right, arena)) == Some(true)
}
