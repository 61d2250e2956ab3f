//! Holding only those elements that can still be part of the answer.
//!
//! Of elements that are sorted and then cut, most are never seen. A program that gives
//! the best of an array of elements is asked now and then, and what it leaves out is
//! forgotten. For that to change no answer, its answer over some elements and all later
//! ones must be the same as over its answer and the later ones; a stable sort that is cut
//! is such a program.

use std::sync::Arc;

use bumpalo::Bump;

use super::{Known, Machine, Program, Watch};
use crate::{
    json::{Limits, MAX_DEPTH},
    value::{Kept, Tape, values_of, write_json},
};

/// The least number of elements between two prunings, which then pay off; below, their bytes.
const ELEMENTS: u64 = 1024;
const BYTES: usize = 1 << 20;

/// A program that gives an array of the best elements of an array.
pub struct Prune {
    program: Program,
    keep: u64,
    pub(super) sources: Arc<[Kept]>,
    watch: Watch,
    /// How long the text was that was left by the last pruning.
    left: usize,
}

impl Prune {
    /// `program` leaves `keep` elements at most.
    pub fn new(program: Program, keep: u64, watch: Watch) -> Self {
        Self { program, keep, sources: Arc::new([]), watch, left: 0 }
    }

    /// Whether enough elements have come since the last time; they are `elements` now, `text`
    /// bytes of them.
    pub(super) fn is_due(&self, elements: u64, text: usize) -> bool {
        elements > self.keep
            && (elements >= ELEMENTS.max(self.keep.saturating_mul(2))
                || text >= BYTES.max(2 * self.left))
    }

    /// Leave the best of the elements of `text`, a JSON array without its last bracket; gives how
    /// many are left. If that fails, nothing is removed: the query over all elements at
    /// the end reports the reason.
    pub(super) fn prune(&mut self, text: &mut Vec<u8>) -> Option<u64> {
        text.push(b']');
        let best = self.best(text);
        if let Some((kept, _)) = &best {
            text.clone_from(kept);
        }
        text.pop();
        self.left = text.len();
        best.map(|(_, count)| count)
    }

    fn best(&self, text: &[u8]) -> Option<(Vec<u8>, u64)> {
        let (arena, mut tape) = (Bump::new(), Tape::once());
        let document = tape.parse(text, &Limits { max_depth: MAX_DEPTH }).ok()?;
        let known = Known { sources: values_of(&self.sources, &arena), place: None };
        let best = Machine::new(&self.program, &arena, document.root(), &self.watch)
            .knowing(known)
            .run()
            .ok()?;
        let mut kept = Vec::new();
        write_json(best, &mut kept, &arena);
        Some((kept, best.as_array(&arena)?.len() as u64))
    }
}
