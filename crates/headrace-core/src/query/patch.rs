//! Changing a value at the places that paths lead to.
//!
//! Paths, conditions and new values all speak of the value as it was before the patch: an
//! element is counted where it stood then, whatever else was deleted. Of two changes at one
//! place the later one stays.

use bumpalo::{Bump, collections::Vec as BumpVec};

use super::{
    ExprId, Fault, Machine,
    machine::Evaluated,
    numbers,
    program::{Change, Edit, Step},
};
use crate::value::{Kind, Value};

/// The document with all edits made.
pub(super) fn apply<'r>(
    machine: &mut Machine<'_, 'r>,
    before: Value<'r>,
    edits: &[Edit],
) -> Evaluated<'r> {
    let mut edited = Patch::new(before);
    for edit in edits {
        if let Some(when) = edit.when
            && !machine.with(before, when)?.truthy(machine.arena)
        {
            continue;
        }
        let mut path = BumpVec::with_capacity_in(edit.path.len(), machine.arena);
        for step in &edit.path {
            path.push(resolved(machine, step)?);
        }
        match &edit.change {
            Change::Delete => edited.delete(machine, &path)?,
            Change::Set(value) => {
                edited.set(machine, &path, &mut |machine, old| machine.with(old, *value))?;
            }
        }
    }
    Ok(edited.finish(machine.arena))
}

fn resolved<'s, 'r: 's>(
    machine: &mut Machine<'_, 'r>,
    step: &'s Step,
) -> Evaluated<'r, PathStep<'s>> {
    Ok(match step {
        Step::Field(key) => PathStep::Field(key),
        Step::Index(at) => PathStep::Index(*at),
        Step::Each(condition) => PathStep::Each(*condition),
        Step::Descend(key) => PathStep::Descend(key),
        Step::Dynamic(index) => {
            let root = machine.root();
            let index = machine.with(root, *index)?.resolved(machine.arena);
            match (index, numbers::whole_number(index)) {
                (Value::Str(key), _) => PathStep::Field(key),
                (_, Some(at)) => PathStep::Index(at),
                _ => {
                    let shown = numbers::shown(index, machine.arena);
                    return Err(Fault::new(format!("{shown} is neither a key nor an index")));
                }
            }
        }
    })
}

/// One step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathStep<'s> {
    /// The value under a key.
    Field(&'s str),
    /// An element, counted from the end if negative.
    Index(i64),
    /// An element if an array is there and this is a number, else the value under a key.
    Segment(&'s str),
    /// All elements, or those that a condition accepts.
    Each(Option<ExprId>),
    /// Every value under a key, however deep.
    Descend(&'s str),
}

/// Makes a new value of the old one, which is null if there was none.
type Maker<'m, 'p, 'r> = dyn FnMut(&mut Machine<'p, 'r>, Value<'r>) -> Evaluated<'r> + 'm;

/// A value and what it is to become.
pub(super) struct Patch<'r> {
    before: Value<'r>,
    draft: Draft<'r>,
}

impl<'r> Patch<'r> {
    pub(super) fn new(before: Value<'r>) -> Self {
        Self { before, draft: Draft::Value(before) }
    }

    /// Set every place that the path leads to. Objects that are missing on the way are made.
    ///
    /// # Errors
    /// What `make` says; `[*]` where there is no array.
    pub(super) fn set<'p>(
        &mut self,
        machine: &mut Machine<'p, 'r>,
        path: &[PathStep<'_>],
        make: &mut Maker<'_, 'p, 'r>,
    ) -> Evaluated<'r, ()> {
        change(machine, &mut self.draft, self.before, path, &mut Some(make)).map(|_| ())
    }

    /// Delete every place that the path leads to.
    ///
    /// # Errors
    /// `[*]` where there is no array.
    pub(super) fn delete(
        &mut self,
        machine: &mut Machine<'_, 'r>,
        path: &[PathStep<'_>],
    ) -> Evaluated<'r, ()> {
        change(machine, &mut self.draft, self.before, path, &mut None).map(|_| ())
    }

    /// The changed value; null if it was deleted itself.
    pub(super) fn finish(self, arena: &'r Bump) -> Value<'r> {
        self.draft.finished(arena).unwrap_or(Value::Null)
    }
}

/// A value that is being changed: opened only as far as changes reach into it.
enum Draft<'r> {
    Value(Value<'r>),
    /// Elements where they stood; those that are deleted leave at the end.
    Array(BumpVec<'r, Draft<'r>>),
    Object(BumpVec<'r, (&'r str, Draft<'r>)>),
    /// Deleted, or not there yet.
    Gone,
}

impl<'r> Draft<'r> {
    fn is_gone(&self) -> bool {
        matches!(self, Self::Gone)
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Value(value) => value.kind(),
            Self::Array(_) => Kind::Array,
            Self::Object(_) => Kind::Object,
            Self::Gone => Kind::Null,
        }
    }

    /// Its elements, to change them; `None` if it is no array.
    fn elements(&mut self, arena: &'r Bump) -> Option<&mut BumpVec<'r, Self>> {
        if let Self::Value(value) = self
            && let Some(elements) = value.as_array(arena)
        {
            let drafts = elements.iter().copied().map(Self::Value);
            *self = Self::Array(BumpVec::from_iter_in(drafts, arena));
        }
        if let Self::Array(elements) = self { Some(elements) } else { None }
    }

    /// Its entries, to change them; `None` if it is no object.
    fn entries(&mut self, arena: &'r Bump) -> Option<&mut BumpVec<'r, (&'r str, Self)>> {
        if let Self::Value(value) = self
            && let Some(entries) = value.as_object(arena)
        {
            let drafts = entries.iter().map(|(key, value)| (*key, Self::Value(*value)));
            *self = Self::Object(BumpVec::from_iter_in(drafts, arena));
        }
        if let Self::Object(entries) = self { Some(entries) } else { None }
    }

    fn finished(self, arena: &'r Bump) -> Option<Value<'r>> {
        match self {
            Self::Value(value) => Some(value),
            Self::Gone => None,
            Self::Array(elements) => {
                let mut kept = BumpVec::with_capacity_in(elements.len(), arena);
                kept.extend(elements.into_iter().filter_map(|element| element.finished(arena)));
                Some(Value::Array(kept.into_bump_slice()))
            }
            Self::Object(entries) => {
                let mut kept = BumpVec::with_capacity_in(entries.len(), arena);
                kept.extend(
                    entries
                        .into_iter()
                        .filter_map(|(key, value)| Some((key, value.finished(arena)?))),
                );
                Some(Value::Object(kept.into_bump_slice()))
            }
        }
    }
}

/// Set, or delete without a maker, all places that `path` leads to from a draft and the
/// value that was there before; whether there were any.
fn change<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    draft: &mut Draft<'r>,
    old: Value<'r>,
    path: &[PathStep<'_>],
    make: &mut Option<&mut Maker<'_, 'p, 'r>>,
) -> Evaluated<'r, bool> {
    let Some((step, rest)) = path.split_first() else {
        *draft = match make {
            Some(make) => Draft::Value(make(machine, old)?),
            None => Draft::Gone,
        };
        return Ok(true);
    };
    match *step {
        PathStep::Field(key) => field(machine, draft, old, key, rest, make),
        PathStep::Index(at) => element(machine, draft, old, at, rest, make),
        PathStep::Segment(text) => match text.parse() {
            Ok(at) if draft.kind() == Kind::Array => element(machine, draft, old, at, rest, make),
            _ => field(machine, draft, old, text, rest, make),
        },
        PathStep::Each(condition) => each(machine, draft, old, condition, rest, make),
        PathStep::Descend(key) => descend(machine, draft, old, key, rest, make),
    }
}

fn field<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    draft: &mut Draft<'r>,
    old: Value<'r>,
    key: &str,
    rest: &[PathStep<'_>],
    make: &mut Option<&mut Maker<'_, 'p, 'r>>,
) -> Evaluated<'r, bool> {
    let arena = machine.arena;
    let old = old.get(key).unwrap_or(Value::Null);
    if let Draft::Value(value) = draft
        && value.get(key).is_none()
        && make.is_none()
    {
        return Ok(false);
    }
    let there =
        draft.entries(arena).and_then(|entries| entries.iter_mut().find(|entry| entry.0 == key));
    if let Some(entry) = there {
        return change(machine, &mut entry.1, old, rest, make);
    }
    let mut added = Draft::Gone;
    if make.is_none() || !change(machine, &mut added, old, rest, make)? {
        return Ok(false);
    }
    let entry = (&*arena.alloc_str(key), added);
    match draft.entries(arena) {
        Some(entries) => entries.push(entry),
        // Something else stands in the way: an object replaces it.
        None => *draft = Draft::Object(BumpVec::from_iter_in([entry], arena)),
    }
    Ok(true)
}

fn element<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    draft: &mut Draft<'r>,
    old: Value<'r>,
    at: i64,
    rest: &[PathStep<'_>],
    make: &mut Option<&mut Maker<'_, 'p, 'r>>,
) -> Evaluated<'r, bool> {
    let Some(elements) = draft.elements(machine.arena) else { return Ok(false) };
    let Some(at) = position(at, elements.len()) else { return Ok(false) };
    let old = old.as_array(machine.arena).and_then(|old| old.get(at)).copied();
    change(machine, &mut elements[at], old.unwrap_or(Value::Null), rest, make)
}

/// Where an element is that is counted from the end if negative; `None` if there is none.
pub(super) fn position(at: i64, length: usize) -> Option<usize> {
    let at = if at < 0 { at.checked_add_unsigned(length as u64)? } else { at };
    usize::try_from(at).ok().filter(|at| *at < length)
}

fn each<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    draft: &mut Draft<'r>,
    old: Value<'r>,
    condition: Option<ExprId>,
    rest: &[PathStep<'_>],
    make: &mut Option<&mut Maker<'_, 'p, 'r>>,
) -> Evaluated<'r, bool> {
    let arena = machine.arena;
    if draft.is_gone() && make.is_none() {
        return Ok(false);
    }
    let kind = draft.kind();
    let Some(elements) = draft.elements(arena) else {
        return Err(Fault::new(format!("[*] wants an array, not {}", kind.name())));
    };
    let old = old.as_array(arena).unwrap_or(&[]);
    let mut any = false;
    for (at, element) in elements.iter_mut().enumerate().filter(|(_, element)| !element.is_gone()) {
        let old = old.get(at).copied().unwrap_or(Value::Null);
        if let Some(condition) = condition
            && !machine.with(old, condition)?.truthy(arena)
        {
            continue;
        }
        any |= change(machine, element, old, rest, make)?;
    }
    Ok(any)
}

/// Change every value under `key`, the inner ones first.
fn descend<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    draft: &mut Draft<'r>,
    old: Value<'r>,
    key: &str,
    rest: &[PathStep<'_>],
    make: &mut Option<&mut Maker<'_, 'p, 'r>>,
) -> Evaluated<'r, bool> {
    let arena = machine.arena;
    let unopened = if let Draft::Value(value) = draft { Some(*value) } else { None };
    let mut any = false;
    if let Some(elements) = draft.elements(arena) {
        let old = old.as_array(arena).unwrap_or(&[]);
        for (at, element) in elements.iter_mut().enumerate() {
            let old = old.get(at).copied().unwrap_or(Value::Null);
            any |= descend(machine, element, old, key, rest, make)?;
        }
    } else if let Some(entries) = draft.entries(arena) {
        let before = old.as_object(arena).unwrap_or(&[]);
        for (at, (name, value)) in entries.iter_mut().enumerate() {
            // Nearly always in the same place; a search for each would be quadratic.
            let same = before.get(at).filter(|entry| entry.0 == *name).map(|entry| entry.1);
            let old = same.or_else(|| old.get(name)).unwrap_or(Value::Null);
            any |= descend(machine, value, old, key, rest, make)?;
        }
        if entries.iter().any(|entry| entry.0 == key && !entry.1.is_gone()) {
            any |= field(machine, draft, old, key, rest, make)?;
        }
    }
    if let (false, Some(value)) = (any, unopened) {
        *draft = Draft::Value(value);
    }
    Ok(any)
}
