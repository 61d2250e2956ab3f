//! Groups of elements, and what the parts of their elements are reduced to.
//!
//! An element is an array of two: its keys, and its part in each slot. Memory grows with the
//! number of groups, and with what slots collect.

use std::{cmp::Ordering, collections::HashMap};

use bumpalo::Bump;

use super::{Extreme, Slot, State, Sum};
use crate::{
    query::{Fault, numbers},
    value::{Document, Value, write_canonical, write_json},
};

/// Roughly what a group takes beside its keys, which are there three times.
const GROUP_BYTES: u64 = 128;

#[derive(Default)]
pub(super) struct Groups {
    slots: Vec<Slot>,
    /// By the canonical text of the keys.
    places: HashMap<Vec<u8>, usize>,
    found: Vec<Group>,
    bytes: u64,
    of_one: bool,
}

struct Group {
    canonical: Vec<u8>,
    /// As they were written where the group first came.
    keys: Vec<u8>,
    states: Vec<State>,
}

impl Groups {
    /// One group without keys.
    pub(super) fn of_one() -> Self {
        Self { of_one: true, ..Self::default() }
    }

    /// Say what the slots are; nothing was added yet.
    pub(super) fn reduce(&mut self, slots: Vec<Slot>) {
        self.slots = slots;
        if self.of_one {
            self.place(b"[]".to_vec(), || b"[]".to_vec());
        }
    }

    /// How much memory they take, about.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Make sure that every slot can take its part of an element.
    pub(super) fn check<'r>(&self, element: Value<'r>, arena: &'r Bump) -> Result<(), Fault> {
        let parts = halves(element, arena).1;
        for (slot, part) in self.slots.iter().zip(parts) {
            let part = part.resolved(arena);
            let builtin = match slot {
                Slot::Sum => "sum",
                Slot::Average => "avg",
                Slot::Numbers => "an aggregate of numbers",
                _ => continue,
            };
            if !part.is_null() {
                numbers::addend(part, builtin, arena)?;
            }
        }
        Ok(())
    }

    /// Add an element that was checked.
    pub(super) fn add<'r>(
        &mut self,
        element: Value<'r>,
        row: &Document<'r>,
        arena: &'r Bump,
    ) -> Result<(), Fault> {
        let (keys, parts) = halves(element, arena);
        let mut canonical = Vec::new();
        write_canonical(keys, &mut canonical, arena);
        let place = self.place(canonical, || {
            let mut text = Vec::new();
            write_json(keys, &mut text, arena);
            text
        });
        for ((state, slot), part) in self.found[place].states.iter_mut().zip(&self.slots).zip(parts)
        {
            let passes = match slot {
                Slot::Count => part.truthy(arena),
                Slot::Numbers => !part.is_null(),
                _ => true,
            };
            if !passes {
                continue;
            }
            let before = weight(state);
            state.take(*part, row, arena)?;
            self.bytes += weight(state).saturating_sub(before);
        }
        Ok(())
    }

    /// The place of a group, which is begun if it is new.
    fn place(&mut self, canonical: Vec<u8>, keys: impl FnOnce() -> Vec<u8>) -> usize {
        if let Some(place) = self.places.get(&canonical) {
            return *place;
        }
        let place = self.found.len();
        let keys = keys();
        let states: Vec<_> = self.slots.iter().map(|slot| begun(*slot)).collect();
        self.bytes += GROUP_BYTES + (2 * canonical.len() + keys.len()) as u64;
        self.bytes += states.iter().map(weight).sum::<u64>();
        self.places.insert(canonical.clone(), place);
        self.found.push(Group { canonical, keys, states });
        place
    }

    /// All groups, each an array of its keys and one of its slots.
    pub(super) fn into_json(self) -> Result<Vec<u8>, Fault> {
        let mut text = vec![b'['];
        for (at, group) in self.found.into_iter().enumerate() {
            text.extend_from_slice(if at > 0 { b",[" } else { b"[" });
            text.extend_from_slice(&group.keys);
            text.extend_from_slice(b",[");
            for (at, state) in group.states.into_iter().enumerate() {
                if at > 0 {
                    text.push(b',');
                }
                text.extend_from_slice(&state.finish()?);
            }
            text.extend_from_slice(b"]]");
        }
        text.push(b']');
        Ok(text)
    }

    /// All groups, each with its keys and its slots, and the length of each in front of it.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut write = |part: &[u8]| {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        };
        for group in self.found {
            write(&group.canonical);
            write(&group.keys);
            for state in group.states {
                write(&state.into_part());
            }
        }
        bytes
    }

    /// Add what [`Self::into_bytes`] gave of elements behind these; `None` for other bytes.
    pub(super) fn merge(&mut self, mut bytes: &[u8]) -> Option<Result<(), Fault>> {
        while !bytes.is_empty() {
            let canonical = part_of(&mut bytes)?.to_vec();
            let keys = part_of(&mut bytes)?;
            let place = self.place(canonical, || keys.to_vec());
            for state in &mut self.found.get_mut(place)?.states {
                let part = part_of(&mut bytes)?;
                let before = weight(state);
                if let Err(fault) = state.merge(part) {
                    return Some(Err(fault));
                }
                self.bytes += weight(state).saturating_sub(before);
            }
        }
        Some(Ok(()))
    }
}

fn begun(slot: Slot) -> State {
    match slot {
        Slot::Count => State::Count(0),
        Slot::Sum => State::Sum(Box::new(Sum::new())),
        Slot::Average => State::Average(Box::new(Sum::new()), 0),
        Slot::Min => State::Extreme(Extreme::new(Ordering::Less)),
        Slot::Max => State::Extreme(Extreme::new(Ordering::Greater)),
        Slot::Numbers | Slot::Collect => {
            State::Collect { text: vec![b'['], elements: 0, limit: u64::MAX, prune: None }
        }
    }
}

/// What a slot takes, about.
fn weight(state: &State) -> u64 {
    let held = match state {
        State::Sum(sum) | State::Average(sum, _) => sum.bytes(),
        other => other.held_bytes(),
    };
    size_of::<State>() as u64 + held
}

/// The keys of an element, and its part in each slot.
fn halves<'r>(element: Value<'r>, arena: &'r Bump) -> (Value<'r>, &'r [Value<'r>]) {
    match element.as_array(arena) {
        Some([keys, parts]) => (*keys, parts.as_array(arena).unwrap_or_default()),
        _ => (Value::Null, &[]),
    }
}

fn part_of<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (part, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some(part)
}
