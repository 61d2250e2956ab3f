//! The least or the greatest of elements of one kind.
//!
//! The best of each kind is held, so that parts of the rows can be put together in any way.
//! That there are several kinds is an error of the whole query: no single row is to blame.

use std::{cmp::Ordering, str};

use bumpalo::Bump;

use super::{Fault, numbers};
use crate::value::{Kind, Value, compare, number, parse_text, write_json};

/// The best element of each kind so far, as JSON.
pub(super) struct Extreme {
    /// What a better element is to the best so far.
    beyond: Ordering,
    best: Vec<(Kind, Vec<u8>)>,
}

impl Extreme {
    /// One that has seen no elements.
    pub(super) fn new(beyond: Ordering) -> Self {
        Self { beyond, best: Vec::new() }
    }

    /// Take an element in; null does not count.
    pub(super) fn consider<'r>(&mut self, element: Value<'r>, arena: &'r Bump) {
        let kind = element.kind();
        if kind == Kind::Null {
            return;
        }
        let Some((_, text)) = self.best.iter_mut().find(|(other, _)| *other == kind) else {
            let mut text = Vec::new();
            write_json(element, &mut text, arena);
            self.best.push((kind, text));
            return;
        };
        let is_better = read(arena.alloc_slice_copy(text), arena)
            .is_some_and(|best| compare(element, best, arena) == self.beyond);
        if is_better {
            text.clear();
            write_json(element, text, arena);
        }
    }

    /// How much memory it takes, about.
    pub(super) fn bytes(&self) -> u64 {
        self.best.iter().map(|(_, text)| text.len() as u64).sum()
    }

    /// The best element, or null.
    ///
    /// # Errors
    /// There are several kinds.
    pub(super) fn into_json(mut self) -> Result<Vec<u8>, Fault> {
        self.best.sort_unstable_by_key(|(kind, _)| *kind);
        let mut best = self.best.into_iter();
        match (best.next(), best.next()) {
            (None, _) => Ok(b"null".to_vec()),
            (Some((_, text)), None) => Ok(text),
            (Some((one, _)), Some((other, _))) => {
                let builtin = if self.beyond == Ordering::Less { "min" } else { "max" };
                Err(numbers::unlike(one, other, builtin))
            }
        }
    }

    /// The best elements, for [`Self::merge`].
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let texts: Vec<_> = self.best.iter().map(|(_, text)| text.as_slice()).collect();
        texts.join(&b'\n')
    }

    /// Take in what [`Self::to_bytes`] gave of elements behind these; `None` for other bytes.
    pub(super) fn merge(&mut self, bytes: &[u8]) -> Option<()> {
        let arena = Bump::new();
        for text in bytes.split(|byte| *byte == b'\n').filter(|text| !text.is_empty()) {
            // Parsed, so that a number stays as it is written.
            self.consider(parse_text(str::from_utf8(text).ok()?, &arena).ok()?, &arena);
        }
        Some(())
    }
}

/// The element that a text is.
fn read<'r>(text: &'r [u8], arena: &'r Bump) -> Option<Value<'r>> {
    let text = str::from_utf8(text).ok()?;
    if text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
        return Some(number(text, !text.contains(['.', 'e', 'E'])));
    }
    parse_text(text, arena).ok()
}
