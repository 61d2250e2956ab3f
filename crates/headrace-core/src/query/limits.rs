//! Limits of evaluation: memory and interrupts.
//!
//! A short query can need more time and memory than there is. Memory has two limits: the bytes
//! of a row's values, and the bytes of one value if no part of it were shared. The second bounds
//! every loop over a value: `[@, @]` doubles a value and allocates next to nothing. Time has no
//! limit, but the caller can interrupt.

use std::{
    cell::Cell,
    collections::HashMap,
    time::{Duration, Instant},
};

use super::Fault;
use crate::{
    json,
    value::{Kind, Value},
};

/// The time between two checks for an interrupt.
const PATIENCE: Duration = Duration::from_millis(50);

/// The most expressions between two looks at the clock.
const MAX_PACE: u32 = 1024;

/// Checks now and then whether a run is to stop; one watch serves all rows of a run.
pub struct Watch {
    stop: Box<dyn Fn() -> bool + Send>,
    stopped: Cell<bool>,
    /// Expressions up to the next look at the clock, and between the next two.
    left: Cell<u32>,
    pace: Cell<u32>,
    last_check: Cell<Option<Instant>>,
}

impl Watch {
    /// A watch that ends the run once `stop` returns true; `stop` is called about twenty times a
    /// second.
    pub fn new(stop: impl Fn() -> bool + Send + 'static) -> Self {
        Self {
            stop: Box::new(stop),
            stopped: Cell::new(false),
            left: Cell::new(0),
            pace: Cell::new(1),
            last_check: Cell::new(None),
        }
    }

    /// Count one expression.
    ///
    /// # Errors
    /// `stop` returned true; from then on every call fails, so that no `try` goes on.
    #[inline]
    pub(super) fn step(&self) -> Result<(), Fault> {
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => self.look(),
        }
    }

    /// Count what goes through a whole value as the many expressions that take as long.
    #[inline]
    pub(super) fn charge(&self, value: Value<'_>) {
        let expressions = match value {
            Value::Str(text) => text.len() / 64,
            Value::Array(values) => values.len() / 4,
            Value::Object(entries) => entries.len() / 4,
            Value::Node(node) if node.kind() == Kind::String => node.raw().len() / 64,
            Value::Node(node) => node.parts() as usize / 4,
            _ => return,
        };
        let expressions = u32::try_from(expressions).unwrap_or(u32::MAX);
        self.left.set(self.left.get().saturating_sub(expressions));
    }

    /// Look at the clock, and call `stop` if it is due. The pace starts at 1 after each call and
    /// doubles, so that it stays slow where single expressions take long.
    #[cold]
    fn look(&self) -> Result<(), Fault> {
        let now = Instant::now();
        let last_check = self.last_check.get().unwrap_or(now);
        self.last_check.set(Some(last_check));
        if now - last_check < PATIENCE {
            self.pace.set((2 * self.pace.get()).min(MAX_PACE));
        } else {
            self.last_check.set(Some(now));
            self.pace.set(1);
            self.stopped.set(self.stopped.get() || (self.stop)());
        }
        if self.stopped.get() {
            return Err(Fault::new("interrupted"));
        }
        self.left.set(self.pace.get() - 1);
        Ok(())
    }
}

/// The limit on the memory for the values of one row.
const MAX_BYTES: usize = 1 << 30;

/// A large row may take more: its values are some times as large as its text.
const MAX_BYTES_PER_BYTE: usize = 16;

/// The memory of one row.
///
/// Values stay where they are for as long as their row, so the weight of a large one is known
/// by its place: weighing it again costs no more than making it did.
pub(super) struct Scales {
    most: usize,
    /// Made when there is something to know: most rows have nothing large.
    known: Option<HashMap<(usize, usize), Weight>>,
}

/// What a value would take if no part of it were used twice.
#[derive(Clone, Copy)]
struct Weight {
    bytes: usize,
    levels: u32,
    /// How many values were looked at to find out.
    looks: u32,
}

/// Containers that are weighed with fewer looks are not worth remembering.
const FEW_LOOKS: u32 = 64;

/// As many light values stay far below any limit.
const FEW: usize = 64;

/// The most bytes of a light text, or of the line that a light part stands in.
const LIGHT: usize = 1 << 16;

/// Whether a value has no depth, and so little weight that it need not be computed.
fn is_light(value: Value<'_>) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => true,
        Value::Big(text) | Value::Str(text) => text.len() <= LIGHT,
        Value::Node(node) => node.line().len() <= LIGHT,
        Value::Array(_) | Value::Object(_) => false,
    }
}

/// A text may be six times as long as JSON, and people hold it more than once.
const TEXT_BYTES: usize = 4;

impl Scales {
    pub(super) fn new(row: Value<'_>) -> Self {
        let length = match row {
            Value::Node(node) => node.line().len(),
            _ => 0,
        };
        let most = MAX_BYTES.saturating_add(length.saturating_mul(MAX_BYTES_PER_BYTE));
        Self { most, known: None }
    }

    /// Refuse to take more memory than there is for a row.
    ///
    /// # Errors
    /// `bytes` are too many.
    #[inline]
    pub(super) fn hold(&self, bytes: usize) -> Result<(), Fault> {
        if bytes > self.most { Err(self.too_much()) } else { Ok(()) }
    }

    #[cold]
    fn too_much(&self) -> Fault {
        Fault::new(format!("the query needs more than {} MiB for one row", self.most >> 20))
    }

    /// Refuse a value that is larger or deeper than those who go through it can stand.
    ///
    /// # Errors
    /// It would take too much memory, or is nested deeper than rows may be.
    #[inline]
    pub(super) fn weigh(&mut self, value: Value<'_>) -> Result<(), Fault> {
        let is_small = match value {
            Value::Array(values) => {
                values.len() <= FEW && values.iter().all(|value| is_light(*value))
            }
            Value::Object(entries) => {
                entries.len() <= FEW
                    && entries.iter().all(|(key, value)| key.len() <= LIGHT && is_light(*value))
            }
            _ => true,
        };
        if is_small { Ok(()) } else { self.weight(value, json::MAX_DEPTH).map(|_| ()) }
    }

    fn weight(&mut self, value: Value<'_>, levels: u32) -> Result<Weight, Fault> {
        let own = size_of::<Value>();
        let place = match value {
            Value::Array(values) => (values.as_ptr() as usize, values.len()),
            Value::Object(entries) => (entries.as_ptr() as usize, entries.len()),
            // A part of the row is no deeper than rows may be.
            Value::Node(node) => {
                let bytes = (node.parts() as usize * own).saturating_add(node.extent());
                return Ok(Weight { bytes, levels: 0, looks: 1 });
            }
            Value::Str(text) | Value::Big(text) => {
                let bytes = own + text.len().saturating_mul(TEXT_BYTES);
                return Ok(Weight { bytes, levels: 0, looks: 1 });
            }
            _ => return Ok(Weight { bytes: own, levels: 0, looks: 1 }),
        };
        if let Some(known) = self.known.as_ref().and_then(|known| known.get(&place)) {
            if known.levels > levels {
                return Err(too_deep());
            }
            return Ok(Weight { looks: 1, ..*known });
        }
        let below = levels.checked_sub(1).ok_or_else(too_deep)?;
        let mut all = Weight { bytes: own, levels: 0, looks: 1 };
        match value {
            Value::Array(values) => {
                for value in values {
                    self.add(&mut all, *value, 0, below)?;
                }
            }
            Value::Object(entries) => {
                for (key, value) in entries {
                    self.add(&mut all, *value, key.len(), below)?;
                }
            }
            _ => {}
        }
        all.levels += 1;
        if all.looks > FEW_LOOKS {
            self.known.get_or_insert_default().insert(place, all);
        }
        Ok(all)
    }

    fn add(
        &mut self,
        all: &mut Weight,
        value: Value<'_>,
        key: usize,
        levels: u32,
    ) -> Result<(), Fault> {
        let weight = self.weight(value, levels)?;
        all.bytes = all.bytes.saturating_add(weight.bytes).saturating_add(key);
        all.levels = all.levels.max(weight.levels);
        all.looks = all.looks.saturating_add(weight.looks);
        self.hold(all.bytes)
    }
}

/// What is said of a result that is nested too deep.
#[cold]
pub(super) fn too_deep() -> Fault {
    let most = json::MAX_DEPTH;
    Fault::new(format!("the result would be nested deeper than {most} levels"))
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;

    #[test]
    fn nesting_is_limited_by_containers_not_by_what_they_hold() {
        let arena = Bump::new();
        let mut scales = Scales::new(Value::Null);
        let mut value = Value::Int(1);
        for _ in 0..json::MAX_DEPTH {
            value = Value::Array(arena.alloc_slice_copy(&[value, Value::Null]));
            assert!(scales.weigh(value).is_ok());
        }
        value = Value::Array(arena.alloc_slice_copy(&[value]));
        assert!(scales.weigh(value).is_err());
        // The inner values have not been weighed yet.
        assert!(Scales::new(Value::Null).weigh(value).is_err());
    }

    #[test]
    fn what_is_used_twice_counts_twice() {
        let arena = Bump::new();
        let mut scales = Scales::new(Value::Null);
        let mut value = Value::Str("x");
        let mut doublings = 0;
        while scales.weigh(value).is_ok() {
            value = Value::Object(arena.alloc_slice_copy(&[("a", value), ("b", value)]));
            doublings += 1;
        }
        assert_eq!(doublings, 25);
        assert!(arena.allocated_bytes() < 1 << 20);
    }

    #[test]
    fn a_row_can_be_used_more_than_once_however_large() {
        let line = format!("[{}1]", "1,".repeat(1 << 20));
        let mut tape = crate::value::Tape::once();
        let document = tape.parse(line.as_bytes(), &json::Limits::default()).unwrap();
        let mut scales = Scales { most: 0, ..Scales::new(document.root()) };
        assert!(scales.weigh(Value::Array(&[document.root()])).is_err());
        scales.most = line.len() * MAX_BYTES_PER_BYTE;
        assert!(scales.weigh(Value::Array(&[document.root()])).is_ok());
    }

    #[test]
    fn a_watch_that_stops_stays_stopped() {
        let watch = Watch::new(|| true);
        let begun = Instant::now();
        while watch.step().is_ok() {
            assert!(begun.elapsed() < Duration::from_secs(60), "no interrupt was checked");
        }
        assert!((0..1000).all(|_| watch.step().is_err()));
    }
}
