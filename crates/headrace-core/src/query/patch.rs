//! Changing a value at the places that paths lead to.
//!
//! Paths, conditions and new values all speak of the value as it was before the patch: an
//! element is counted where it stood then, whatever else was deleted. Of two changes at one
//! place the later one stays.
//!
//! Objects that are missing on the way are made, and null is as missing; nothing else that is
//! in the way is replaced by an object.

use bumpalo::{Bump, collections::Vec as BumpVec};

use super::{
    ExprId, Fault, Machine,
    builtins::{append_index, append_key},
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
        let mut path = BumpVec::with_capacity_in(edit.path.len(), machine.arena);
        for step in &edit.path {
            path.push(resolved(machine, step)?);
        }
        let makes = matches!(edit.change, Change::Set(_));
        edited.change(machine, &path, makes, &mut |machine, place| {
            machine.set(edit.holder, place.holder);
            machine.about(place.old, |machine| {
                if let Some(when) = edit.when
                    && !machine.test(when)?
                {
                    return Ok(Outcome::Kept);
                }
                match edit.change {
                    Change::Set(value) => machine.eval(value).map(Outcome::Set),
                    Change::Delete => Ok(Outcome::Gone),
                }
            })
        })?;
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
            let index = machine.eval(*index)?.resolved(machine.arena);
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

/// A place that a path leads to.
#[derive(Clone, Copy)]
pub(super) struct Place<'r> {
    /// The value there before the patch; null if there was none.
    old: Value<'r>,
    /// The object that the place is a field of; the old value itself if it is an element, or
    /// the whole value.
    holder: Value<'r>,
}

/// What a patch does to a value.
pub(super) enum Outcome<'r> {
    Kept,
    Gone,
    Set(Value<'r>),
}

type Changer<'c, 'p, 'r> =
    dyn FnMut(&mut Machine<'p, 'r>, Place<'r>) -> Evaluated<'r, Outcome<'r>> + 'c;

/// A value and what it is to become.
pub(super) struct Patch<'r> {
    before: Value<'r>,
    draft: TextBuilder<'r>,
}

impl<'r> Patch<'r> {
    pub(super) fn new(before: Value<'r>) -> Self {
        Self { before, draft: TextBuilder::Value(before) }
    }

    /// Set every place that the path leads to.
    ///
    /// # Errors
    /// Something other than an object is in the way; `[*]` of what is no array.
    pub(super) fn set(
        &mut self,
        machine: &mut Machine<'_, 'r>,
        path: &[PathStep<'_>],
        value: Value<'r>,
    ) -> Evaluated<'r, ()> {
        self.change(machine, path, true, &mut |_, _| Ok(Outcome::Set(value)))
    }

    /// Delete every place that the path leads to.
    ///
    /// # Errors
    /// As of `set`, but what is no container has nothing to delete.
    pub(super) fn delete(
        &mut self,
        machine: &mut Machine<'_, 'r>,
        path: &[PathStep<'_>],
    ) -> Evaluated<'r, ()> {
        self.change(machine, path, false, &mut |_, _| Ok(Outcome::Gone))
    }

    fn change<'p>(
        &mut self,
        machine: &mut Machine<'p, 'r>,
        path: &[PathStep<'_>],
        makes: bool,
        changer: &mut Changer<'_, 'p, 'r>,
    ) -> Evaluated<'r, ()> {
        let place = Place { old: self.before, holder: self.before };
        Walk { path, makes, changer }.change(machine, &mut self.draft, place, 0).map(|_| ())
    }

    /// The changed value; null if it was deleted itself.
    pub(super) fn finish(self, arena: &'r Bump) -> Value<'r> {
        self.draft.finished(arena).unwrap_or(Value::Null)
    }
}

/// A value that is being changed: opened only as far as changes reach into it.
enum TextBuilder<'r> {
    Value(Value<'r>),
    /// Elements where they stood; those that are deleted leave at the end.
    Array(BumpVec<'r, TextBuilder<'r>>),
    Object(BumpVec<'r, (&'r str, TextBuilder<'r>)>),
    /// Deleted, or not there yet.
    Gone,
}

impl<'r> TextBuilder<'r> {
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

/// The way along a path to the places that are changed. Each method tells whether there were
/// any.
struct Walk<'w, 'c, 'p, 'r> {
    path: &'w [PathStep<'w>],
    /// Whether objects that are missing on the way are made.
    makes: bool,
    changer: &'w mut Changer<'c, 'p, 'r>,
}

impl<'p, 'r> Walk<'_, '_, 'p, 'r> {
    /// Change all places that the steps from `at` on lead to, from a draft and what was there
    /// before.
    fn change(
        &mut self,
        machine: &mut Machine<'p, 'r>,
        draft: &mut TextBuilder<'r>,
        place: Place<'r>,
        at: usize,
    ) -> Evaluated<'r, bool> {
        let Some(step) = self.path.get(at) else {
            *draft = match (self.changer)(machine, place)? {
                Outcome::Kept => return Ok(false),
                Outcome::Gone => TextBuilder::Gone,
                Outcome::Set(value) => TextBuilder::Value(value),
            };
            return Ok(true);
        };
        let old = place.old;
        match *step {
            PathStep::Field(key) => self.field(machine, draft, old, key, at),
            PathStep::Index(index) => self.element(machine, draft, old, index, at),
            PathStep::Segment(text) => match text.parse() {
                Ok(index) if draft.kind() == Kind::Array => {
                    self.element(machine, draft, old, index, at)
                }
                _ => self.field(machine, draft, old, text, at),
            },
            PathStep::Each(condition) => self.each(machine, draft, old, condition, at),
            PathStep::Descend(key) => self.descend(machine, draft, old, key, at),
        }
    }

    fn field(
        &mut self,
        machine: &mut Machine<'p, 'r>,
        draft: &mut TextBuilder<'r>,
        old: Value<'r>,
        key: &str,
        at: usize,
    ) -> Evaluated<'r, bool> {
        let arena = machine.arena;
        match draft.kind() {
            Kind::Object | Kind::Null => {}
            Kind::Array => return Err(self.needs_each(at)),
            kind if self.makes => return Err(self.in_the_way(at, kind, "no object")),
            _ => return Ok(false),
        }
        let place = Place { old: old.get(key).unwrap_or(Value::Null), holder: old };
        if let TextBuilder::Value(value) = draft
            && value.get(key).is_none()
            && !self.makes
        {
            return Ok(false);
        }
        let there = draft
            .entries(arena)
            .and_then(|entries| entries.iter_mut().find(|entry| entry.0 == key));
        if let Some(entry) = there {
            return self.change(machine, &mut entry.1, place, at + 1);
        }
        let mut added = TextBuilder::Gone;
        if !self.makes || !self.change(machine, &mut added, place, at + 1)? {
            return Ok(false);
        }
        let entry = (&*arena.alloc_str(key), added);
        match draft.entries(arena) {
            Some(entries) => entries.push(entry),
            None => *draft = TextBuilder::Object(BumpVec::from_iter_in([entry], arena)),
        }
        Ok(true)
    }

    fn element(
        &mut self,
        machine: &mut Machine<'p, 'r>,
        draft: &mut TextBuilder<'r>,
        old: Value<'r>,
        index: i64,
        at: usize,
    ) -> Evaluated<'r, bool> {
        match draft.kind() {
            Kind::Array | Kind::Null => {}
            kind if self.makes || kind == Kind::Object => {
                return Err(self.in_the_way(at, kind, "no array"));
            }
            _ => return Ok(false),
        }
        let Some(elements) = draft.elements(machine.arena) else { return Ok(false) };
        let Some(index) = position(index, elements.len()) else { return Ok(false) };
        let old = old.as_array(machine.arena).and_then(|old| old.get(index)).copied();
        self.change(machine, &mut elements[index], itself(old), at + 1)
    }

    fn each(
        &mut self,
        machine: &mut Machine<'p, 'r>,
        draft: &mut TextBuilder<'r>,
        old: Value<'r>,
        condition: Option<ExprId>,
        at: usize,
    ) -> Evaluated<'r, bool> {
        let arena = machine.arena;
        let kind = draft.kind();
        let Some(elements) = draft.elements(arena) else {
            if kind == Kind::Null {
                return Ok(false);
            }
            return Err(Fault::new(format!("[*] wants an array, not {}", kind.name())));
        };
        let old = old.as_array(arena).unwrap_or(&[]);
        let mut any = false;
        let there = elements.iter_mut().enumerate().filter(|(_, element)| !element.is_gone());
        for (index, element) in there {
            let place = itself(old.get(index).copied());
            if let Some(condition) = condition
                && !machine.about(place.old, |machine| machine.test(condition))?
            {
                continue;
            }
            any |= self.change(machine, element, place, at + 1)?;
        }
        Ok(any)
    }

    /// Change every value under `key`, the inner ones first.
    fn descend(
        &mut self,
        machine: &mut Machine<'p, 'r>,
        draft: &mut TextBuilder<'r>,
        old: Value<'r>,
        key: &str,
        at: usize,
    ) -> Evaluated<'r, bool> {
        let arena = machine.arena;
        let unopened = if let TextBuilder::Value(value) = draft { Some(*value) } else { None };
        let mut any = false;
        if let Some(elements) = draft.elements(arena) {
            let old = old.as_array(arena).unwrap_or(&[]);
            for (index, element) in elements.iter_mut().enumerate() {
                let old = old.get(index).copied().unwrap_or(Value::Null);
                any |= self.descend(machine, element, old, key, at)?;
            }
        } else if let Some(entries) = draft.entries(arena) {
            let before = old.as_object(arena).unwrap_or(&[]);
            for (index, (name, value)) in entries.iter_mut().enumerate() {
                // Nearly always in the same place; a search for each would be quadratic.
                let same = before.get(index).filter(|entry| entry.0 == *name).map(|entry| entry.1);
                let old = same.or_else(|| old.get(name)).unwrap_or(Value::Null);
                any |= self.descend(machine, value, old, key, at)?;
            }
            if entries.iter().any(|entry| entry.0 == key && !entry.1.is_gone()) {
                any |= self.field(machine, draft, old, key, at)?;
            }
        }
        if let (false, Some(value)) = (any, unopened) {
            *draft = TextBuilder::Value(value);
        }
        Ok(any)
    }

    /// An array where the step at `at` is a key.
    fn needs_each(&self, at: usize) -> Fault {
        let (before, after) = self.path.split_at(at);
        let (before, after) = (spelled(before), spelled(after));
        let subject = if before.is_empty() { "the value" } else { shown(&before) };
        let array = shown(&before);
        Fault::new(format!("{subject} is an array; write {array}[*]{after}"))
    }

    /// A value of another kind than the step at `at` needs.
    fn in_the_way(&self, at: usize, kind: Kind, needed: &str) -> Fault {
        let before = spelled(&self.path[..at]);
        let subject = if before.is_empty() { "the value" } else { shown(&before) };
        let step = spelled(&self.path[at..=at]);
        let kind = kind.name();
        Fault::new(format!(
            "{subject} is {needed} but {kind}, so {} cannot be changed",
            shown(&step)
        ))
    }
}

/// A place that no object holds: an element.
fn itself(old: Option<Value<'_>>) -> Place<'_> {
    let old = old.unwrap_or(Value::Null);
    Place { old, holder: old }
}

/// Where an element is that is counted from the end if negative; `None` if there is none.
pub(super) fn position(at: i64, length: usize) -> Option<usize> {
    let at = if at < 0 { at.checked_add_unsigned(length as u64)? } else { at };
    usize::try_from(at).ok().filter(|at| *at < length)
}

/// Steps as a query has them.
fn spelled(path: &[PathStep<'_>]) -> String {
    let mut text = String::new();
    for step in path {
        match *step {
            PathStep::Field(key) | PathStep::Segment(key) => append_key(&mut text, key),
            PathStep::Index(index) => append_index(&mut text, index),
            PathStep::Each(None) => text.push_str("[*]"),
            PathStep::Each(Some(_)) => text.push_str("[* if …]"),
            PathStep::Descend(key) => {
                text.push_str("..");
                text.push_str(key);
            }
        }
    }
    text
}

/// A path without the dot in front.
fn shown(path: &str) -> &str {
    path.strip_prefix('.').filter(|rest| !rest.starts_with('.')).unwrap_or(path)
}
