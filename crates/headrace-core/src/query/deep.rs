//! Going through a value and all that is in it, in the order it is written.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hasher, RandomState},
};

use bumpalo::{Bump, collections::Vec as BumpVec};

use super::{
    Machine,
    machine::{Evaluated, Flow},
    pattern,
    program::Arm,
};
use crate::value::{Entry, Value, equal, same_key_hash};

/// Visit a value and everything inside it, each before what it contains.
pub(super) fn visit<'r>(
    value: Value<'r>,
    arena: &'r Bump,
    visitor: &mut dyn FnMut(Value<'r>) -> Evaluated<'r, Flow>,
) -> Evaluated<'r, Flow> {
    if visitor(value)? == Flow::Stop {
        return Ok(Flow::Stop);
    }
    for child in children(value, arena) {
        if visit(child, arena, visitor)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

/// The values directly inside a value.
pub(super) fn children<'r>(value: Value<'r>, arena: &'r Bump) -> impl Iterator<Item = Value<'r>> {
    let elements = value.as_array(arena).unwrap_or(&[]).iter().copied();
    let entries = value.as_object(arena).unwrap_or(&[]).iter().map(|entry| entry.1);
    elements.chain(entries)
}

/// Every value under `key`, however deep; every value of all without a key.
pub(super) fn descend<'r>(value: Value<'r>, key: Option<&str>, arena: &'r Bump) -> Value<'r> {
    let mut found = BumpVec::new_in(arena);
    // The visitor never fails, so neither does the visit.
    let _ = visit(value, arena, &mut |node| {
        match key {
            Some(key) => found.extend(node.get(key)),
            None => found.push(node),
        }
        Ok(Flow::Continue)
    });
    Value::Array(found.into_bump_slice())
}

/// The truthy results of the first matching arm of every node, or the first of them.
pub(super) fn matches<'r>(
    machine: &mut Machine<'_, 'r>,
    value: Value<'r>,
    arms: &[Arm],
    first: bool,
) -> Evaluated<'r> {
    let arena = machine.arena;
    let mut found = BumpVec::new_in(arena);
    visit(value, arena, &mut |node| {
        let found_here = machine.about(node, |machine| pattern::first_arm(machine, arms, node))?;
        if let Some(result) = found_here
            && result.truthy(arena)
        {
            found.push(result);
            if first {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    })?;
    if first {
        return Ok(found.first().copied().unwrap_or(Value::Null));
    }
    Ok(Value::Array(found.into_bump_slice()))
}

/// What happens where two objects that are laid over each other both have an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrays {
    Append,
    Replace,
}

/// Entries with those of `added` laid over: objects are merged, arrays appended to each other.
pub(super) fn spread<'r>(
    entries: &[Entry<'r>],
    added: Value<'r>,
    arena: &'r Bump,
) -> &'r [Entry<'r>] {
    overlaid(entries, added.as_object(arena).unwrap_or(&[]), Arrays::Append, arena)
}

/// Entries with others laid over; objects under one key are merged.
pub(super) fn overlaid<'r>(
    below: &[Entry<'r>],
    above: &[Entry<'r>],
    arrays: Arrays,
    arena: &'r Bump,
) -> &'r [Entry<'r>] {
    let mut fields = Fields::with(below.iter().copied(), arena);
    for (key, value) in above {
        match fields.get_mut(key) {
            Some(slot) => *slot = overlaid_value(*slot, *value, arrays, arena),
            None => fields.put(key, *value),
        }
    }
    fields.into_entries().into_bump_slice()
}

fn overlaid_value<'r>(
    below: Value<'r>,
    above: Value<'r>,
    arrays: Arrays,
    arena: &'r Bump,
) -> Value<'r> {
    if let (Some(below), Some(above)) = (below.as_object(arena), above.as_object(arena)) {
        return Value::Object(overlaid(below, above, arrays, arena));
    }
    if arrays == Arrays::Append
        && let (Some(below), Some(above)) = (below.as_array(arena), above.as_array(arena))
    {
        let mut both = BumpVec::from_iter_in(below.iter().copied(), arena);
        both.extend_from_slice(above);
        return Value::Array(both.into_bump_slice());
    }
    above
}

/// Above this many keys, a hash table finds one faster than looking at each.
const FEW_KEYS: usize = 32;

/// Keys in the order they first came, each with what was put under it last.
///
/// Keys come from the data, so the hashes are seeded: an input cannot choose keys that collide.
pub(super) struct Fields<'r, T> {
    entries: BumpVec<'r, (&'r str, T)>,
    /// Where each key is, once there are more than a few.
    places: Option<HashMap<&'r str, usize>>,
}

impl<'r, T> Fields<'r, T> {
    pub(super) fn new(arena: &'r Bump) -> Self {
        Self::with_room(0, arena)
    }

    /// With room for that many keys.
    pub(super) fn with_room(keys: usize, arena: &'r Bump) -> Self {
        Self { entries: BumpVec::with_capacity_in(keys, arena), places: None }
    }

    /// With entries whose keys are all different.
    pub(super) fn with(entries: impl Iterator<Item = (&'r str, T)>, arena: &'r Bump) -> Self {
        let mut fields = Self::new(arena);
        for (key, value) in entries {
            fields.push(key, value);
        }
        fields
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut T> {
        let at = self.position(key)?;
        self.entries.get_mut(at).map(|entry| &mut entry.1)
    }

    /// Put a value under a key: in the place the key has already, or at the end.
    pub(super) fn put(&mut self, key: &'r str, value: T) {
        match self.get_mut(key) {
            Some(slot) => *slot = value,
            None => self.push(key, value),
        }
    }

    pub(super) fn into_entries(self) -> BumpVec<'r, (&'r str, T)> {
        self.entries
    }

    fn position(&self, key: &str) -> Option<usize> {
        match &self.places {
            Some(places) => places.get(key).copied(),
            None => self.entries.iter().position(|entry| entry.0 == key),
        }
    }

    fn push(&mut self, key: &'r str, value: T) {
        let place = self.entries.len();
        self.entries.push((key, value));
        if let Some(places) = &mut self.places {
            places.insert(key, place);
        } else if place == FEW_KEYS {
            // One too many to look at each: from now on the table knows all of them.
            let keys = self.entries.iter().enumerate();
            self.places = Some(keys.map(|(at, entry)| (entry.0, at)).collect());
        }
    }
}

impl<'r> Fields<'r, Value<'r>> {
    pub(super) fn into_object(self) -> Value<'r> {
        Value::Object(self.entries.into_bump_slice())
    }
}

/// Values that were seen already, by the equality of the language.
///
/// Keys come from the data, so the hashes are seeded: an input cannot choose keys that collide.
pub(super) struct Seen<'r> {
    arena: &'r Bump,
    hasher: RandomState,
    /// The last value of each hash.
    places: HashMap<u64, usize>,
    /// Each value, and the place of the one before it that has its hash, or its own. They lie
    /// in the arena, where memory is counted.
    values: BumpVec<'r, (Value<'r>, usize)>,
}

impl<'r> Seen<'r> {
    pub(super) fn new(arena: &'r Bump) -> Self {
        let values = BumpVec::new_in(arena);
        Self { arena, hasher: RandomState::new(), places: HashMap::new(), values }
    }

    /// Remember a value; false if it was there.
    pub(super) fn insert(&mut self, value: Value<'r>) -> bool {
        let hash = self.hash(value);
        if self.place(hash, value).is_some() {
            return false;
        }
        let place = self.values.len();
        let before = self.places.insert(hash, place).unwrap_or(place);
        self.values.push((value, before));
        true
    }

    /// How many different values came before this one did.
    pub(super) fn position(&self, value: Value<'r>) -> Option<usize> {
        self.place(self.hash(value), value)
    }

    fn place(&self, hash: u64, value: Value<'r>) -> Option<usize> {
        let mut place = *self.places.get(&hash)?;
        loop {
            let (there, before) = self.values[place];
            if equal(there, value, self.arena) {
                return Some(place);
            }
            if before == place {
                return None;
            }
            place = before;
        }
    }

    fn hash(&self, value: Value<'r>) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        same_key_hash(value, &mut hasher, self.arena);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_keeps_its_place_and_its_last_value_among_few_and_many() {
        let arena = Bump::new();
        for count in [1, FEW_KEYS, FEW_KEYS + 1, 3 * FEW_KEYS] {
            let mut fields = Fields::new(&arena);
            for round in 0..2 {
                for number in 0..count {
                    fields.put(arena.alloc_str(&number.to_string()), (round, number));
                }
            }
            let entries = fields.into_entries();
            assert_eq!(entries.len(), count);
            for (at, (key, value)) in entries.iter().enumerate() {
                assert_eq!((*key, *value), (at.to_string().as_str(), (1, at)));
            }
        }
    }

    #[test]
    fn what_was_seen_is_known_and_its_memory_is_counted() {
        let arena = Bump::new();
        let mut seen = Seen::new(&arena);
        for number in 0..1000 {
            assert!(seen.insert(Value::Int(number)));
            assert!(!seen.insert(Value::Int(number)));
        }
        assert_eq!(seen.position(Value::Float(999.0)), Some(999));
        assert_eq!(seen.position(Value::Int(1000)), None);
        assert!(arena.allocated_bytes() >= 1000 * size_of::<Value>());
    }
}
