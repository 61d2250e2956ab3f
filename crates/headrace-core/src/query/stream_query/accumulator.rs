//! Accumulators: what elements, taken one at a time, are reduced to.
//!
//! A run over all rows has one, or each of its groups has one for every slot.

use std::{cmp::Ordering, collections::VecDeque};

use bumpalo::Bump;

use super::{DistinctValues, Extreme, Fault, Sum, parts::malformed};
use crate::{
    json::{Limits, MAX_DEPTH},
    query::{
        Distinct,
        best::{Best, part_of, write_part},
        numbers,
    },
    value::{Tape, Value, write_int, write_json},
};

pub(super) enum Accumulator {
    Count(u64),
    Sum(Sum),
    Average(Sum, u64),
    Extreme(Extreme),
    /// The first elements: an array without its last bracket, empty without elements.
    Collect {
        text: Vec<u8>,
        elements: u64,
        limit: u64,
    },
    Last {
        texts: VecDeque<Vec<u8>>,
        bytes: u64,
        limit: u64,
    },
    /// Elements that are arrays of two: keys, and what is held of the best by them.
    Best(Box<Best>, Box<[bool]>),
    /// An array of those that are different.
    Distinct(Box<DistinctValues>),
    /// About how many are different.
    Approximate(Box<Distinct>),
}

impl Accumulator {
    pub(super) fn least() -> Self {
        Self::Extreme(Extreme::new(Ordering::Less))
    }

    pub(super) fn greatest() -> Self {
        Self::Extreme(Extreme::new(Ordering::Greater))
    }

    pub(super) fn first(limit: u64) -> Self {
        Self::Collect { text: Vec::new(), elements: 0, limit }
    }

    pub(super) fn last(limit: u64) -> Self {
        Self::Last { texts: VecDeque::new(), bytes: 0, limit }
    }

    pub(super) fn best(keep: u64, falling: Box<[bool]>) -> Self {
        Self::Best(Box::new(Best::new(keep)), falling)
    }

    /// How many bytes of elements are held.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Count(_) => 0,
            Self::Sum(sum) | Self::Average(sum, _) => sum.bytes() - size_of::<Sum>() as u64,
            Self::Extreme(best) => best.bytes(),
            Self::Collect { text, .. } => text.len() as u64,
            Self::Last { bytes, .. } => *bytes,
            Self::Best(best, _) => best.bytes(),
            Self::Distinct(values) => values.bytes(),
            Self::Approximate(distinct) => distinct.bytes(),
        }
    }

    /// How many elements are held in order.
    pub(super) fn held_elements(&self) -> u64 {
        match self {
            Self::Collect { elements, .. } => *elements,
            Self::Last { texts, .. } => texts.len() as u64,
            _ => 0,
        }
    }

    /// How many more elements can change the result.
    pub(super) fn wanted(&self) -> u64 {
        match self {
            Self::Collect { elements, limit, .. } => limit - elements,
            Self::Last { limit: 0, .. } => 0,
            _ => u64::MAX,
        }
    }

    /// The function that refuses elements which are neither numbers nor null.
    pub(super) fn of_numbers(&self) -> Option<&'static str> {
        match self {
            Self::Sum(_) => Some("sum"),
            Self::Average(..) => Some("avg"),
            _ => None,
        }
    }

    /// Take one element in.
    #[inline]
    pub(super) fn take<'r>(&mut self, element: Value<'r>, arena: &'r Bump) -> Result<(), Fault> {
        match self {
            Self::Count(count) => *count += 1,
            Self::Sum(sum) => {
                numbers::add_to(sum, element, "sum", arena)?;
            }
            Self::Average(sum, count) => {
                *count += u64::from(numbers::add_to(sum, element, "avg", arena)?);
            }
            Self::Extreme(best) => best.consider(element, arena),
            Self::Collect { text, elements, limit } => {
                if *elements < *limit {
                    text.push(if text.is_empty() { b'[' } else { b',' });
                    write_json(element, text, arena);
                    *elements += 1;
                }
            }
            Self::Last { texts, bytes, limit } => {
                let text = begin_last(texts, bytes, *limit);
                if let Some(mut text) = text {
                    write_json(element, &mut text, arena);
                    *bytes += text.len() as u64;
                    texts.push_back(text);
                }
            }
            Self::Best(best, falling) => {
                if let Some([keys, element]) = element.as_array(arena) {
                    best.consider(*keys, falling, *element, arena);
                }
            }
            Self::Distinct(values) => values.add(element, arena),
            Self::Approximate(distinct) => distinct.add(element, arena),
        }
        Ok(())
    }

    /// Append the result to `out`, as JSON.
    pub(super) fn write_json(self, out: &mut Vec<u8>) -> Result<(), Fault> {
        let value = match self {
            Self::Count(count) => {
                write_int(i64::try_from(count).unwrap_or(i64::MAX), out);
                return Ok(());
            }
            Self::Sum(sum) => match sum.integer() {
                Some(total) => Value::Int(total),
                None => numbers::finite(sum.double())?,
            },
            Self::Average(_, 0) => Value::Null,
            #[allow(clippy::cast_precision_loss, reason = "a mean is a double")]
            Self::Average(sum, count) => numbers::finite(sum.double() / count as f64)?,
            Self::Extreme(best) => {
                out.extend_from_slice(&best.into_json()?);
                return Ok(());
            }
            Self::Collect { mut text, .. } => {
                if text.is_empty() {
                    text.push(b'[');
                }
                text.push(b']');
                if out.is_empty() {
                    // All elements of a run, which may be most of its memory.
                    *out = text;
                } else {
                    out.extend_from_slice(&text);
                }
                return Ok(());
            }
            Self::Last { texts, .. } => {
                write_texts(texts, out);
                return Ok(());
            }
            Self::Best(best, _) => {
                best.write_json(out);
                return Ok(());
            }
            Self::Distinct(values) => {
                values.write_json(out);
                return Ok(());
            }
            Self::Approximate(distinct) => {
                Value::Int(i64::try_from(distinct.count()).unwrap_or(i64::MAX))
            }
        };
        write_json(value, out, &Bump::new());
        Ok(())
    }

    /// The reduced elements, for [`Self::merge`].
    pub(super) fn into_part(self) -> Vec<u8> {
        match self {
            Self::Count(count) => count.to_le_bytes().to_vec(),
            Self::Sum(sum) => sum.to_bytes(),
            Self::Average(sum, count) => [&count.to_le_bytes()[..], &sum.to_bytes()].concat(),
            Self::Extreme(best) => best.to_bytes(),
            Self::Collect { text, elements, .. } => {
                [&elements.to_le_bytes()[..], text.get(1..).unwrap_or_default()].concat()
            }
            Self::Last { texts, .. } => {
                let mut bytes = Vec::new();
                for text in &texts {
                    write_part(text, &mut bytes);
                }
                bytes
            }
            Self::Best(best, _) => best.into_bytes(),
            Self::Distinct(values) => {
                let mut array = Vec::new();
                values.write_json(&mut array);
                array
            }
            Self::Approximate(distinct) => distinct.to_bytes(),
        }
    }

    /// Take in what elements behind these were reduced to in this process.
    pub(super) fn append(&mut self, other: Self) -> Result<(), Fault> {
        match (self, other) {
            (Self::Count(count), Self::Count(further)) => *count += further,
            (Self::Sum(sum), Self::Sum(further)) => sum.merge(&further),
            (Self::Average(sum, count), Self::Average(further, others)) => {
                sum.merge(&further);
                *count += others;
            }
            (own @ Self::Collect { elements: 0, .. }, other) => *own = other,
            (own, other) => return own.merge(&other.into_part()),
        }
        Ok(())
    }

    /// Take in what elements behind these were reduced to.
    pub(super) fn merge(&mut self, mut part: &[u8]) -> Result<(), Fault> {
        match self {
            Self::Count(count) => *count += split_count(part).ok_or_else(malformed)?.0,
            Self::Sum(sum) => sum.merge(&Sum::from_bytes(part).ok_or_else(malformed)?),
            Self::Average(sum, count) => {
                let (further, bytes) = split_count(part).ok_or_else(malformed)?;
                sum.merge(&Sum::from_bytes(bytes).ok_or_else(malformed)?);
                *count += further;
            }
            Self::Extreme(best) => best.merge(part).ok_or_else(malformed)?,
            Self::Collect { text, elements, limit } => {
                let (count, texts) = split_count(part).ok_or_else(malformed)?;
                let all = elements.saturating_add(count);
                if all > *limit {
                    return self.collect_first(texts);
                }
                if count > 0 {
                    text.push(if text.is_empty() { b'[' } else { b',' });
                    text.extend_from_slice(texts);
                }
                *elements = all;
            }
            Self::Last { texts, bytes, limit } => {
                while !part.is_empty() {
                    let further = part_of(&mut part).ok_or_else(malformed)?;
                    if let Some(mut text) = begin_last(texts, bytes, *limit) {
                        text.extend_from_slice(further);
                        *bytes += text.len() as u64;
                        texts.push_back(text);
                    }
                }
            }
            Self::Best(best, _) => best.merge(part).ok_or_else(malformed)?,
            Self::Distinct(values) => values.merge(part).ok_or_else(malformed)?,
            Self::Approximate(distinct) => {
                distinct.merge(&Distinct::from_bytes(part).ok_or_else(malformed)?);
            }
        }
        Ok(())
    }

    /// Collect those of some elements that are still wanted.
    fn collect_first(&mut self, texts: &[u8]) -> Result<(), Fault> {
        let array = [b"[", texts, b"]"].concat();
        let (arena, mut tape) = (Bump::new(), Tape::once());
        let parsed = tape.parse(&array, &Limits { max_depth: MAX_DEPTH });
        let parsed = parsed.map_err(|error| Fault::new(error.to_string()))?;
        for element in parsed.root().as_array(&arena).unwrap_or_default() {
            self.take(*element, &arena)?;
        }
        Ok(())
    }
}

/// An empty text for one more element, the memory of the one that it displaces; none if no
/// element is held.
fn begin_last(texts: &mut VecDeque<Vec<u8>>, bytes: &mut u64, limit: u64) -> Option<Vec<u8>> {
    if (texts.len() as u64) < limit {
        if limit == 1 {
            texts.reserve_exact(1);
        }
        return Some(Vec::new());
    }
    let mut text = texts.pop_front()?;
    *bytes -= text.len() as u64;
    text.clear();
    Some(text)
}

/// Append an array of elements to `out`.
pub(super) fn write_texts(texts: VecDeque<Vec<u8>>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (at, text) in texts.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&text);
    }
    out.push(b']');
}

fn split_count(part: &[u8]) -> Option<(u64, &[u8])> {
    let (count, rest) = part.split_first_chunk()?;
    Some((u64::from_le_bytes(*count), rest))
}
