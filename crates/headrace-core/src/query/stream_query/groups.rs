//! Groups of elements, and what the parts of their elements are reduced to.
//!
//! An element is an array of two: its keys, and its part in each slot. Memory grows with the
//! number of groups, and with what slots hold. Where the group is there already, its element
//! allocates nothing.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
};

use bumpalo::Bump;
use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{
    Accumulator, Slot,
    group_parts::{GroupParts, MergedGroups},
};
use crate::{
    query::{
        Fault,
        best::{part_of, write_part},
        numbers,
    },
    value::{Kind, Value, key_of, write_canonical, write_json, write_string},
};

/// Roughly what a group takes beside its texts and its slots.
const GROUP_BYTES: usize = 64;

/// How groups are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// The values of the keys.
    Values,
    /// The text of the only key, as the key of an object: equal texts must be of one kind.
    Texts,
    /// The same, and the result is an object of counts.
    Counts,
    /// The same, and the result is an object of the last elements.
    Lasts,
    /// The text of the only key, whatever its kind; the result is an object of the last elements.
    Names,
    /// The texts of two keys, the first with its length; the result is an object of such objects.
    Cells,
}

impl Naming {
    /// Whether the result is an object whose values are those of the only slot.
    fn makes_object(self) -> bool {
        matches!(self, Self::Counts | Self::Lasts | Self::Names | Self::Cells)
    }
}

pub(super) struct Groups {
    naming: Naming,
    slots: Vec<Slot>,
    /// Keys come from the data, so the hashes are seeded: an input cannot choose keys that collide.
    seed: u64,
    places: HashTable<(u64, usize)>,
    found: Vec<Group>,
    /// The names of the groups one after the other, each followed by the keys where they differ.
    texts: Vec<u8>,
    /// As many for each group as there are slots.
    states: Vec<Accumulator>,
    /// How many elements came.
    came: u64,
    colliding: Option<Colliding>,
    bytes: u64,
    /// The name of the element at hand, in memory that is used again.
    name: Vec<u8>,
}

struct Group {
    /// Where its name begins and ends in the texts, and its keys end.
    start: usize,
    name: usize,
    end: usize,
    kind: Kind,
    /// How many elements came before its first.
    came: u64,
}

/// The first name that came with two kinds.
struct Colliding {
    came: u64,
    name: Vec<u8>,
    kinds: (Kind, Kind),
}

impl Groups {
    pub(super) fn new(naming: Naming) -> Self {
        let slots = match naming {
            Naming::Counts => vec![Slot::Count],
            Naming::Lasts | Naming::Names | Naming::Cells => vec![Slot::Last(1)],
            Naming::Values | Naming::Texts => Vec::new(),
        };
        Self {
            naming,
            slots,
            seed: RandomState::new().hash_one(0),
            places: HashTable::new(),
            found: Vec::new(),
            texts: Vec::new(),
            states: Vec::new(),
            came: 0,
            colliding: None,
            bytes: 0,
            name: Vec::new(),
        }
    }

    /// Say what the slots are; nothing was added yet.
    pub(super) fn reduce(&mut self, slots: Vec<Slot>) {
        self.slots = slots;
    }

    /// Begin the only group of elements without keys, which is there also without elements.
    pub(super) fn begin_only(&mut self) {
        self.name.extend_from_slice(b"[]");
        self.place(Kind::Null, |_| {});
    }

    /// How many there are so far.
    pub(super) fn count(&self) -> u64 {
        self.found.len() as u64
    }

    /// How much memory they take, about.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// An element as it can be added: the numbers that slots add up are read.
    ///
    /// # Errors
    /// A slot cannot take its part.
    pub(super) fn checked<'r>(
        &self,
        element: Value<'r>,
        arena: &'r Bump,
    ) -> Result<Value<'r>, Fault> {
        if self.naming == Naming::Counts {
            return Ok(element);
        }
        let (keys, parts) = halves(element, arena);
        let parts = arena.alloc_slice_copy(parts);
        self.check(parts, arena)?;
        Ok(Value::Array(arena.alloc([keys, Value::Array(parts)])))
    }

    /// Make sure that every slot can take its part, and read the numbers that slots add up.
    pub(super) fn check<'r>(&self, parts: &mut [Value<'r>], arena: &'r Bump) -> Result<(), Fault> {
        for (slot, part) in self.slots.iter().zip(parts) {
            let Some(builtin) = slot.of_numbers() else { continue };
            let number = part.resolved(arena);
            if !matches!(number, Value::Null | Value::Int(_) | Value::Float(_)) {
                numbers::addend(number, builtin, arena)?;
            }
            if !matches!(slot, Slot::Numbers(_)) {
                *part = number;
            }
        }
        Ok(())
    }

    /// Add an element that was checked.
    pub(super) fn add<'r>(&mut self, element: Value<'r>, arena: &'r Bump) -> Result<(), Fault> {
        if self.naming == Naming::Counts {
            return self.add_parts(&[element], &[Value::Bool(true)], arena);
        }
        let (keys, parts) = halves(element, arena);
        self.add_parts(keys.as_array(arena).unwrap_or_default(), parts, arena)
    }

    /// Add an element by its keys and the parts, which were checked.
    pub(super) fn add_parts<'r>(
        &mut self,
        keys: &[Value<'r>],
        parts: &[Value<'r>],
        arena: &'r Bump,
    ) -> Result<(), Fault> {
        self.name.clear();
        let place = if self.naming == Naming::Values {
            write_keys(keys, &mut self.name, |key, out| write_canonical(key, out, arena));
            self.place(Kind::Null, |out| {
                write_keys(keys, out, |key, out| write_json(key, out, arena));
            })
        } else if let (Naming::Cells, [row, column]) = (self.naming, keys) {
            write_part(key_of(*row, arena).as_bytes(), &mut self.name);
            self.name.extend_from_slice(key_of(*column, arena).as_bytes());
            self.place(Kind::Null, |_| {})
        } else {
            let key = keys.first().copied().unwrap_or(Value::Null);
            self.name.extend_from_slice(key_of(key, arena).as_bytes());
            let kind = if self.naming == Naming::Names { Kind::Null } else { key.kind() };
            self.place(kind, |_| {})
        };
        self.came += 1;
        let first = place * self.slots.len();
        for ((state, slot), part) in self.states[first..].iter_mut().zip(&self.slots).zip(parts) {
            let passes = match slot {
                Slot::Count => part.truthy(arena),
                Slot::Numbers(_) => !part.is_null(),
                _ => true,
            };
            if passes {
                let before = state.bytes();
                state.take(*part, arena)?;
                self.bytes += state.bytes().saturating_sub(before);
            }
        }
        Ok(())
    }

    /// The place of the group with the name at hand, which is begun if it is new.
    fn place(&mut self, kind: Kind, write_keys: impl FnOnce(&mut Vec<u8>)) -> usize {
        let hash = xxh3_64_with_seed(&self.name, self.seed);
        let Self { found, texts, name, .. } = &*self;
        let is_this = |(other, place): &(u64, usize)| {
            *other == hash && found.get(*place).is_some_and(|group| group.name(texts) == name)
        };
        if let Some((_, place)) = self.places.find(hash, is_this) {
            let (place, first) = (*place, self.found[*place].kind);
            if first != kind {
                self.collide(self.came, (first, kind));
            }
            return place;
        }
        let place = self.found.len();
        let start = self.texts.len();
        self.texts.extend_from_slice(&self.name);
        let name = self.texts.len();
        write_keys(&mut self.texts);
        if self.texts[start..name] == self.texts[name..] {
            self.texts.truncate(name);
        }
        let end = self.texts.len();
        self.places.insert_unique(hash, (hash, place), |(hash, _)| *hash);
        self.found.push(Group { start, name, end, kind, came: self.came });
        self.states.extend(self.slots.iter().map(Slot::begin));
        let slots = self.slots.len() * size_of::<Accumulator>();
        self.bytes += (GROUP_BYTES + slots + end - start) as u64;
        place
    }

    /// Note that the name at hand came with two kinds, unless another did earlier.
    fn collide(&mut self, came: u64, kinds: (Kind, Kind)) {
        if self.colliding.as_ref().is_none_or(|earlier| came < earlier.came) {
            self.colliding = Some(Colliding { came, name: self.name.clone(), kinds });
        }
    }

    /// All groups, each an array of its keys and one of its slots; or the object of counts.
    ///
    /// # Errors
    /// Two keys of different kinds would be one, or a slot has no result.
    pub(super) fn into_json(self) -> Result<Vec<u8>, Fault> {
        if let Some(Colliding { name, kinds: (one, other), .. }) = &self.colliding {
            return Err(numbers::colliding(&String::from_utf8_lossy(name), *one, *other));
        }
        if self.naming == Naming::Cells {
            return self.into_rows();
        }
        let makes_object = self.naming.makes_object();
        let mut out = vec![if makes_object { b'{' } else { b'[' }];
        let mut states = self.states.into_iter();
        for (at, group) in self.found.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            if makes_object {
                write_string(&String::from_utf8_lossy(group.name(&self.texts)), &mut out);
                out.push(b':');
                write_only(states.next(), &mut out)?;
                continue;
            }
            group.begin(self.naming, &self.texts, &mut out);
            write_states(states.by_ref().take(self.slots.len()), &mut out)?;
        }
        out.push(if makes_object { b'}' } else { b']' });
        Ok(out)
    }

    /// An object of the objects that cells are, by the rows and the columns in their names.
    fn into_rows(self) -> Result<Vec<u8>, Fault> {
        let mut places = HashMap::new();
        let mut rows: Vec<(&[u8], Vec<u8>)> = Vec::new();
        for (group, state) in self.found.iter().zip(self.states) {
            let mut column = group.name(&self.texts);
            let row = part_of(&mut column).unwrap_or_default();
            let place = *places.entry(row).or_insert(rows.len());
            if place == rows.len() {
                rows.push((row, Vec::new()));
            }
            let cells = &mut rows[place].1;
            cells.push(if cells.is_empty() { b'{' } else { b',' });
            write_string(&String::from_utf8_lossy(column), cells);
            cells.push(b':');
            write_only(Some(state), cells)?;
        }
        let mut out = vec![b'{'];
        for (at, (row, cells)) in rows.into_iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            write_string(&String::from_utf8_lossy(row), &mut out);
            out.push(b':');
            out.extend_from_slice(&cells);
            out.push(b'}');
        }
        out.push(b'}');
        Ok(out)
    }

    /// How many elements came, the first name that collides, and all groups with their slots.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        let mut bytes = begin_part(self.came, self.colliding.as_ref(), 0);
        let mut states = self.states.into_iter();
        for group in self.found {
            let states = states.by_ref().take(self.slots.len());
            group.write(group.came, &self.texts, states, &mut bytes);
        }
        bytes
    }

    /// Each group by itself, as it can be merged with those of the same name elsewhere.
    pub(super) fn into_parts(self) -> GroupParts {
        let mut parts = GroupParts::new(self.came);
        let mut states = self.states.into_iter();
        for group in self.found {
            let name = group.name(&self.texts);
            let colliding = self.colliding.as_ref().filter(|colliding| colliding.name == name);
            let mut bytes = begin_part(0, colliding, group.came);
            let states = states.by_ref().take(self.slots.len());
            group.write(0, &self.texts, states, &mut bytes);
            parts.push(group.came, name, &bytes);
        }
        parts
    }

    /// Take in the groups of the elements behind these.
    pub(super) fn append(&mut self, other: Self) -> Result<(), Fault> {
        if self.came == 0 {
            *self = other;
            return Ok(());
        }
        let before = self.came;
        let Self { found, texts, states, colliding, came, .. } = other;
        let mut states = states.into_iter();
        for group in found {
            self.name.clear();
            self.name.extend_from_slice(group.name(&texts));
            // Where it came first counts, if it collides or is new.
            self.came = before.saturating_add(group.came);
            let place = self.place(group.kind, |out| out.extend_from_slice(group.keys(&texts)));
            let count = self.slots.len();
            let own = self.states[place * count..][..count].iter_mut();
            for (state, other) in own.zip(&mut states) {
                let held = state.bytes();
                state.append(other)?;
                self.bytes += state.bytes().saturating_sub(held);
            }
        }
        if let Some(Colliding { came, name, kinds }) = colliding {
            self.name = name;
            self.collide(before.saturating_add(came), kinds);
        }
        self.came = before.saturating_add(came);
        Ok(())
    }

    /// Take in one group of [`Self::into_parts`], whose first element stands at a place.
    pub(super) fn merge_part(&mut self, place: u64, part: &[u8]) -> Option<Result<(), Fault>> {
        self.came = place;
        self.merge(part)
    }

    /// The array of the keys and the slots of each group by itself, or of its name and its value.
    pub(super) fn into_merged(self) -> MergedGroups {
        let mut merged = MergedGroups::new();
        if let Some(Colliding { came, name, kinds: (one, other) }) = &self.colliding {
            let fault = numbers::colliding(&String::from_utf8_lossy(name), *one, *other);
            merged.colliding = Some((*came, fault.reason));
        }
        let mut states = self.states.into_iter();
        for group in self.found {
            let mut text = Vec::new();
            let mut states = states.by_ref().take(self.slots.len()).collect::<Vec<_>>().into_iter();
            let written = if self.naming.makes_object() {
                write_pair(group.name(&self.texts), states.next(), &mut text)
            } else {
                group.begin(self.naming, &self.texts, &mut text);
                write_states(states, &mut text)
            };
            match written {
                Ok(()) => merged.push(group.came, &text),
                Err(fault) => merged.fail(group.came, fault.reason),
            }
        }
        merged
    }

    /// Add what [`Self::into_bytes`] gave of elements behind these; `None` for other bytes.
    pub(super) fn merge(&mut self, bytes: &[u8]) -> Option<Result<(), Fault>> {
        let before = self.came;
        let (further, mut bytes) = split_number(bytes)?;
        let colliding = part_of(&mut bytes)?;
        while !bytes.is_empty() {
            let (kind, rest) = bytes.split_first()?;
            let (came, rest) = split_number(rest)?;
            bytes = rest;
            self.name.clear();
            self.name.extend_from_slice(part_of(&mut bytes)?);
            let keys = part_of(&mut bytes)?;
            // Where it came first counts, if it collides or is new.
            self.came = before.saturating_add(came);
            let place = self.place(kind_of(*kind)?, |out| out.extend_from_slice(keys));
            let first = place * self.slots.len();
            for state in self.states.get_mut(first..)?.iter_mut().take(self.slots.len()) {
                let part = part_of(&mut bytes)?;
                let held = state.bytes();
                if let Err(fault) = state.merge(part) {
                    return Some(Err(fault));
                }
                self.bytes += state.bytes().saturating_sub(held);
            }
        }
        if let [one, other, colliding @ ..] = colliding {
            let (came, name) = split_number(colliding)?;
            self.name.clear();
            self.name.extend_from_slice(name);
            self.collide(before.saturating_add(came), (kind_of(*one)?, kind_of(*other)?));
        }
        self.came = before.saturating_add(further);
        Some(Ok(()))
    }
}

impl Group {
    fn name<'t>(&self, texts: &'t [u8]) -> &'t [u8] {
        &texts[self.start..self.name]
    }

    /// Append it, as [`Groups::merge`] reads it.
    fn write(
        &self,
        came: u64,
        texts: &[u8],
        states: impl Iterator<Item = Accumulator>,
        bytes: &mut Vec<u8>,
    ) {
        bytes.push(self.kind as u8);
        bytes.extend_from_slice(&came.to_le_bytes());
        write_part(self.name(texts), bytes);
        write_part(self.keys(texts), bytes);
        for state in states {
            write_part(&state.into_part(), bytes);
        }
    }

    /// Append the beginning of an array of its keys and its slots, up to these.
    fn begin(&self, naming: Naming, texts: &[u8], out: &mut Vec<u8>) {
        out.push(b'[');
        if naming == Naming::Values {
            out.extend_from_slice(self.keys(texts));
        } else {
            out.push(b'[');
            write_string(&String::from_utf8_lossy(self.name(texts)), out);
            out.push(b']');
        }
        out.push(b',');
    }

    /// As they were written where the group first came.
    fn keys<'t>(&self, texts: &'t [u8]) -> &'t [u8] {
        let start = if self.end > self.name { self.name } else { self.start };
        &texts[start..self.end]
    }
}

/// The beginning of a part: how many elements came, and the first name that collides, whose place
/// counts from `first` on.
fn begin_part(came: u64, colliding: Option<&Colliding>, first: u64) -> Vec<u8> {
    let mut bytes = came.to_le_bytes().to_vec();
    match colliding {
        None => write_part(&[], &mut bytes),
        Some(Colliding { came, name, kinds: (one, other) }) => {
            let kinds = [*one as u8, *other as u8];
            let place = (came - first).to_le_bytes();
            write_part(&[&kinds[..], &place, name].concat(), &mut bytes);
        }
    }
    bytes
}

fn kind_of(byte: u8) -> Option<Kind> {
    Kind::ALL.get(usize::from(byte)).copied()
}

fn split_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u64::from_le_bytes(*number), rest))
}

/// Append the slots of a group and the end of its array.
fn write_states(states: impl Iterator<Item = Accumulator>, out: &mut Vec<u8>) -> Result<(), Fault> {
    out.push(b'[');
    for (at, state) in states.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        state.write_json(out)?;
    }
    out.extend_from_slice(b"]]");
    Ok(())
}

/// Append an array of a name and the value of its only slot.
fn write_pair(name: &[u8], state: Option<Accumulator>, out: &mut Vec<u8>) -> Result<(), Fault> {
    out.push(b'[');
    write_string(&String::from_utf8_lossy(name), out);
    out.push(b',');
    write_only(state, out)?;
    out.push(b']');
    Ok(())
}

/// Append a count, or the last element.
fn write_only(state: Option<Accumulator>, out: &mut Vec<u8>) -> Result<(), Fault> {
    match state {
        Some(Accumulator::Last { texts, .. }) => {
            for text in &texts {
                out.extend_from_slice(text);
            }
            Ok(())
        }
        Some(state) => state.write_json(out),
        None => Ok(()),
    }
}

fn write_keys<'r>(
    keys: &[Value<'r>],
    out: &mut Vec<u8>,
    mut write: impl FnMut(Value<'r>, &mut Vec<u8>),
) {
    out.push(b'[');
    for (at, key) in keys.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(*key, out);
    }
    out.push(b']');
}

/// The keys of an element, and its part in each slot.
fn halves<'r>(element: Value<'r>, arena: &'r Bump) -> (Value<'r>, &'r [Value<'r>]) {
    match element.as_array(arena) {
        Some([keys, parts]) => (*keys, parts.as_array(arena).unwrap_or_default()),
        _ => (Value::Null, &[]),
    }
}
