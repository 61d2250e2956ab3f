//! Text builder: text under construction in the arena of the row, with a limit of its size.

use bumpalo::{
    Bump,
    collections::{String as BumpString, Vec as BumpVec},
};

use super::{Size, limited};
use crate::{
    query::{Arg, Fault, Machine, machine::Evaluated, numbers::shown},
    value::Value,
};

/// How much of a text that is repeated is put together first.
const PAGE_BYTES: usize = 4096;

/// A text that is being written, up to the size that `limited` allows.
pub(super) struct TextBuilder<'r>(BumpString<'r>);

impl<'r> TextBuilder<'r> {
    pub(super) fn new(arena: &'r Bump) -> Self {
        Self(BumpString::new_in(arena))
    }

    pub(super) fn push_str(&mut self, text: &str) -> Result<(), Fault> {
        limited(Size::Bytes(self.0.len().saturating_add(text.len())))?;
        self.0.push_str(text);
        Ok(())
    }

    pub(super) fn push(&mut self, character: char) -> Result<(), Fault> {
        self.push_str(character.encode_utf8(&mut [0; 4]))
    }

    /// Append `text` `count` times.
    pub(super) fn push_times(&mut self, text: &str, count: usize) -> Result<(), Fault> {
        let added = text.len().saturating_mul(count);
        limited(Size::Bytes(self.0.len().saturating_add(added)))?;
        self.0.reserve(added);
        // Much at a time: a single character takes as long as a page of them.
        let page = text.repeat(count.min(PAGE_BYTES / text.len().max(1)).max(1));
        let mut left = added;
        while left > 0 {
            let length = left.min(page.len());
            self.0.push_str(&page[..length]);
            left -= length;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Value<'r> {
        Value::Str(self.0.into_bump_str())
    }
}

/// The text that `rewrite` makes of the receiver's; what is no text stays as it is.
pub(super) fn rewritten<'r>(
    machine: &Machine<'_, 'r>,
    receiver: Value<'r>,
    rewrite: impl FnOnce(&'r str, &mut TextBuilder<'r>) -> Result<(), Fault>,
) -> Evaluated<'r> {
    let Some(text) = receiver.as_str(machine.arena) else { return Ok(receiver) };
    written(machine, |draft| rewrite(text, draft))
}

/// The text that `write` writes.
pub(super) fn written<'r>(
    machine: &Machine<'_, 'r>,
    write: impl FnOnce(&mut TextBuilder<'r>) -> Result<(), Fault>,
) -> Evaluated<'r> {
    let mut draft = TextBuilder::new(machine.arena);
    write(&mut draft)?;
    Ok(draft.finish())
}

/// The part of the receiver's text that `choose` picks.
pub(super) fn part<'r>(
    machine: &Machine<'_, 'r>,
    receiver: Value<'r>,
    choose: impl FnOnce(&'r str) -> &'r str,
) -> Value<'r> {
    receiver.as_str(machine.arena).map_or(receiver, |text| Value::Str(choose(text)))
}

/// The parts that `cut` makes of the receiver's text.
pub(super) fn parts<'r, Cut: Iterator<Item = &'r str>>(
    machine: &Machine<'_, 'r>,
    receiver: Value<'r>,
    cut: impl FnOnce(&'r str) -> Cut,
) -> Evaluated<'r> {
    match receiver.as_str(machine.arena) {
        Some(text) => texts(cut(text), machine.arena),
        None => Ok(receiver),
    }
}

/// An array of texts.
pub(super) fn texts<'r>(parts: impl Iterator<Item = &'r str>, arena: &'r Bump) -> Evaluated<'r> {
    let mut values = BumpVec::new_in(arena);
    for part in parts {
        values.push(Value::Str(part));
        limited(Size::Elements(values.len()))?;
    }
    Ok(Value::Array(values.into_bump_slice()))
}

/// An argument that must be a text.
pub(super) fn text_argument<'p, 'r>(
    machine: &mut Machine<'p, 'r>,
    arg: &'p Arg,
) -> Evaluated<'r, &'r str> {
    let value = machine.value_of(arg)?;
    value.as_str(machine.arena).ok_or_else(|| {
        Fault::new(format!("the argument must be a string, not {}", shown(value, machine.arena)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_ends_at_its_limit() {
        let arena = Bump::new();
        let mut draft = TextBuilder::new(&arena);
        assert!(draft.push_times("ab", usize::MAX).is_err());
        assert!(draft.push_times("", usize::MAX).is_ok());
        assert!(draft.push_times("ab", 2).is_ok());
        assert!(draft.push_times("é", PAGE_BYTES).is_ok());
        assert_eq!(draft.finish().as_str(&arena), Some(&*("abab".to_owned() + &"é".repeat(4096))));
    }
}
