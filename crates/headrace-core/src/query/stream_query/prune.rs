//! Holding only those elements that can still be part of the answer.
//!
//! Of elements that are sorted and then cut, most are never seen. Those that a stable sort
//! would put first are held; the rest of the query runs on them as it would on all.

use std::sync::Arc;

use bumpalo::Bump;

use crate::{
    query::{Fault, Known, Machine, Program, Watch, best::Best},
    value::{Document, Kept, Value, values_of},
};

/// The best elements by the keys that a program gives.
pub struct Prune {
    pub(super) program: Program,
    falling: Box<[bool]>,
    pub(super) sources: Arc<[Kept]>,
    watch: Watch,
    pub(super) best: Best,
}

impl Prune {
    /// `program` gives an array of keys, some of which are `falling`; `keep` elements are held.
    pub fn new(program: Program, falling: Vec<bool>, keep: u64, watch: Watch) -> Self {
        let best = Best::new(keep);
        Self { program, falling: falling.into(), sources: Arc::new([]), watch, best }
    }

    /// An element whose keys can be computed.
    ///
    /// The stages before have refused elements whose keys fail, unless types are strict.
    pub(super) fn checked<'r>(
        &self,
        element: Value<'r>,
        arena: &'r Bump,
    ) -> Result<Value<'r>, Fault> {
        if self.program.strict {
            self.keys(element, arena)?;
        }
        Ok(element)
    }

    /// Take in an element that was checked.
    pub(super) fn take<'r>(
        &mut self,
        element: Value<'r>,
        row: &Document<'r>,
        arena: &'r Bump,
    ) -> Result<(), Fault> {
        let known = Known { sources: values_of(&self.sources, arena), place: None };
        let keys = Machine::new(&self.program, arena, element, &self.watch).knowing(known).run()?;
        match element {
            Value::Node(node) if node.is_all_of(row) => {
                self.best.consider_row(keys, &self.falling, row, arena);
            }
            element => self.best.consider(keys, &self.falling, element, arena),
        }
        Ok(())
    }

    fn keys<'s>(&'s self, element: Value<'s>, arena: &'s Bump) -> Result<Value<'s>, Fault> {
        let known = Known { sources: values_of(&self.sources, arena), place: None };
        Machine::new(&self.program, arena, element, &self.watch).knowing(known).run()
    }
}
