//! Stages: filters, maps and joins that elements pass, across rows.
//!
//! A stage may have state: how many elements passed, or which keys it has seen. The elements
//! themselves live no longer than their row.

use std::{collections::HashSet, sync::Arc};

use bumpalo::Bump;

use super::{
    Evaluated, Fault, Flow, JoinKind, JoinTable, Keep, Known, Machine, Program, Watch,
    join::{Right, combined, write_combined, write_key},
    row_query::write_line,
    zip::Partners,
};
use crate::value::{Document, Tape, Value, parse_text_on, write_canonical, write_json};

/// One stage. Its program runs on each element as the document.
pub enum Stage {
    /// The elements of the program's answer.
    Each(Program),
    /// Elements whose key has not come before.
    Distinct(Program, HashSet<Vec<u8>>),
    /// The first elements; how many.
    Take(u64),
    /// All but the first elements; how many to skip.
    Skip(u64),
    /// Those before the first for which the program is not truthy.
    TakeWhile(Program),
    /// Those from the first on for which the program is not truthy; `true` once it came.
    DropWhile(Program, bool),
    /// Elements joined with those of a table that have the same key.
    Join(Box<Join>),
    /// All elements, which the table keeps by their keys.
    Table(Program, JoinTable),
    /// Each element with its partner, the one at the same place on the other side.
    Zip(Partners),
}

impl Stage {
    fn program(&self) -> Option<&Program> {
        match self {
            Self::Each(program)
            | Self::Distinct(program, _)
            | Self::TakeWhile(program)
            | Self::DropWhile(program, _)
            | Self::Table(program, _) => Some(program),
            Self::Join(join) => Some(&join.key),
            Self::Take(_) | Self::Skip(_) | Self::Zip(_) => None,
        }
    }
}

/// What a join needs.
pub struct Join {
    /// The kind of join.
    pub kind: JoinKind,
    /// The key of a left element.
    pub key: Program,
    /// The right elements.
    pub table: Arc<JoinTable>,
    /// The field that takes the right element; without one, its fields are laid over.
    pub name: Option<String>,
    /// Memory that is used again.
    pub scratch: (Vec<u8>, Tape),
}

impl Join {
    /// Write the lines of a row, `most` of them at most; return how many. It is the same as
    /// pushing the row through the stage and writing what comes out.
    ///
    /// # Errors
    /// A fault in the key or in a pair; nothing is written.
    pub(super) fn write_lines<'r>(
        &mut self,
        row: &'r Document<'r>,
        (known, watch): (Known<'r>, &Watch),
        (most, nulls): (u64, bool),
        out: &mut Vec<u8>,
        arena: &'r Bump,
    ) -> Evaluated<'r, u64> {
        let Self { kind, key, table, name, scratch: (text, tape) } = self;
        let left = row.root();
        let found = Machine::new(key, arena, left, watch).knowing(known).run()?;
        let is_key = write_key(found, text, arena);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut rights = table.matches(text).take(if is_key { most } else { 0 }).peekable();
        if rights.peek().is_none() {
            if *kind == JoinKind::Inner || (left.is_null() && !nulls) {
                return Ok(0);
            }
            write_line(left, row, out, arena);
            return Ok(1);
        }
        let (before, fields) = (out.len(), left.as_object(arena));
        let mut lines = 0;
        for right in rights {
            let name = name.as_deref();
            let is_written =
                fields.is_some_and(|fields| write_combined(fields, right, name, out, arena));
            if !is_written {
                let pair =
                    pair(left, right, name, tape, arena).inspect_err(|_| out.truncate(before))?;
                write_json(pair, out, arena);
            }
            out.push(b'\n');
            lines += 1;
        }
        Ok(lines)
    }
}

fn pair<'r>(
    left: Value<'r>,
    right: Right<'_>,
    name: Option<&str>,
    tape: &mut Tape,
    arena: &'r Bump,
) -> Result<Value<'r>, Fault> {
    parse_text_on(tape, right.text, arena)
        .map_err(|error| Fault::new(error.to_string()))
        .and_then(|right| combined(left, right, name, arena))
}

/// Where a stage failed: its position, for the span of the fault.
type Failed = (usize, Fault);

/// Takes what comes out of a chain.
type Out<'s, 'r> = dyn FnMut(Value<'r>) -> Evaluated<'r, Flow> + 's;

/// A chain of stages.
pub struct Stages {
    chain: Vec<Stage>,
    watch: Watch,
    ended: bool,
    held_bytes: u64,
    /// How many elements came to each stage, and out of the last one; empty if nothing counts them.
    arrived: Vec<u64>,
}

impl Stages {
    /// A chain that no element has passed yet.
    pub fn new(stages: Vec<Stage>, watch: Watch) -> Self {
        let ended = stages.iter().any(|stage| matches!(stage, Stage::Take(0)));
        let held_bytes = stages.iter().map(|stage| match stage {
            Stage::Join(join) => join.table.bytes(),
            _ => 0,
        });
        Self { held_bytes: held_bytes.sum(), chain: stages, watch, ended, arrived: Vec::new() }
    }

    /// Count the elements that come to each stage from now on.
    pub fn count_elements(&mut self) {
        self.arrived = vec![0; self.chain.len() + 1];
    }

    /// How many elements came to each stage, and last how many came out of all of them. Empty
    /// without [`Self::count_elements`].
    pub fn arrived(&self) -> &[u64] {
        &self.arrived
    }

    /// Count the elements of a chain like this one.
    pub(super) fn absorb_arrived(&mut self, others: &[u64]) {
        for (arrived, other) in self.arrived.iter_mut().zip(others) {
            *arrived += other;
        }
    }

    /// Whether no further element can pass.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// The stages, in order.
    pub(super) fn chain(&self) -> &[Stage] {
        &self.chain
    }

    /// The program of the only stage, if it is one that has no state, and the watch over it. `None`
    /// if elements are counted, which happens on their way through the stages.
    pub(super) fn only(&self) -> Option<(&Program, &Watch)> {
        match &self.chain[..] {
            [Stage::Each(program)] if self.arrived.is_empty() => Some((program, &self.watch)),
            _ => None,
        }
    }

    /// The only stage, if it is a join that makes pairs, and the watch over it. `None` if elements
    /// are counted.
    pub(super) fn only_join(&mut self) -> Option<(&mut Join, &Watch)> {
        match &mut self.chain[..] {
            [Stage::Join(join)] if self.arrived.is_empty() && join.kind.keep() != Keep::Keys => {
                Some((join, &self.watch))
            }
            _ => None,
        }
    }

    /// How many bytes of keys and elements are remembered.
    pub fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    /// The query text that belongs to a fault. A fault behind all stages gets that of the
    /// last program, which made the value it failed on.
    pub fn span(&self, failed: &Failed) -> Option<(u32, u32)> {
        let Some(stage) = self.chain.get(failed.0) else {
            let last = self.chain.iter().rev().find_map(Stage::program);
            return Some(last.map_or((0, 0), |program| program.span(program.root())));
        };
        let program = stage.program()?;
        failed.1.expr.map(|expr| program.span(expr))
    }

    /// The table that the last stage has filled.
    pub fn into_table(mut self) -> Option<JoinTable> {
        match self.chain.pop() {
            Some(Stage::Table(_, table)) => Some(table),
            _ => None,
        }
    }

    /// Push an element through all stages; what comes out goes to `sink`. `known` is what
    /// programs know beside it.
    ///
    /// # Errors
    /// The first fault, and the stage it is in.
    pub fn push<'r>(
        &mut self,
        element: Value<'r>,
        known: Known<'r>,
        arena: &'r Bump,
        sink: &mut Out<'_, 'r>,
    ) -> Result<Flow, Failed> {
        if self.arrived.is_empty() {
            self.push_through::<false>(element, known, arena, sink)
        } else {
            self.push_through::<true>(element, known, arena, sink)
        }
    }

    /// The loop that does not count elements has no branch for it.
    fn push_through<'r, const COUNTS: bool>(
        &mut self,
        element: Value<'r>,
        known: Known<'r>,
        arena: &'r Bump,
        sink: &mut Out<'_, 'r>,
    ) -> Result<Flow, Failed> {
        let Self { chain, watch, arrived, .. } = self;
        let mut passing =
            Passing::<COUNTS> { watch, ended: false, held_bytes: 0, arrived, known, arena };
        let flow = passing.push(chain, 0, element, sink);
        self.ended |= passing.ended;
        self.held_bytes += passing.held_bytes;
        flow
    }

    /// Push what stages still have when no further element comes: partners without an element.
    ///
    /// # Errors
    /// See [`Self::push`].
    pub fn end<'r>(
        &mut self,
        known: Known<'r>,
        arena: &'r Bump,
        sink: &mut Out<'_, 'r>,
    ) -> Result<Flow, Failed> {
        let Self { chain, watch, arrived, .. } = self;
        let mut passing =
            Passing::<true> { watch, ended: false, held_bytes: 0, arrived, known, arena };
        for at in 0..chain.len() {
            let Some((Stage::Zip(partners), rest)) = chain[at..].split_first_mut() else {
                continue;
            };
            while let Some(partner) = partners.left_over(arena).map_err(|fault| (at, fault))? {
                let pair = Value::Array(arena.alloc_slice_copy(&[Value::Null, partner]));
                if passing.push(rest, at + 1, pair, sink)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
        }
        self.held_bytes += passing.held_bytes;
        Ok(Flow::Continue)
    }
}

/// One push, and what it learned of the chain as a whole.
struct Passing<'w, 'r, const COUNTS: bool> {
    watch: &'w Watch,
    ended: bool,
    held_bytes: u64,
    arrived: &'w mut [u64],
    known: Known<'r>,
    arena: &'r Bump,
}

impl<'r, const COUNTS: bool> Passing<'_, 'r, COUNTS> {
    fn push(
        &mut self,
        stages: &mut [Stage],
        at: usize,
        element: Value<'r>,
        sink: &mut Out<'_, 'r>,
    ) -> Result<Flow, Failed> {
        if COUNTS && let Some(arrived) = self.arrived.get_mut(at) {
            *arrived += 1;
        }
        let Some((stage, rest)) = stages.split_first_mut() else {
            return sink(element).map_err(|fault| (at, fault));
        };
        let failed = |fault| (at, fault);
        let arena = self.arena;
        let passes = match stage {
            Stage::Each(program) => return self.each(program, rest, at, element, sink),
            Stage::Distinct(program, seen) => {
                let key = self.evaluate(program, element).map_err(failed)?;
                let mut text = Vec::new();
                write_canonical(key, &mut text, arena);
                let bytes = text.len() as u64;
                let new = seen.insert(text);
                self.held_bytes += if new { bytes } else { 0 };
                new
            }
            Stage::Take(left) => {
                if *left == 0 {
                    self.ended = true;
                    return Ok(Flow::Stop);
                }
                *left -= 1;
                let last = *left == 0;
                // Also an element that fails further on was the last one.
                self.ended |= last;
                let flow = self.push(rest, at + 1, element, sink)?;
                return Ok(if last { Flow::Stop } else { flow });
            }
            Stage::Skip(left) => {
                let passes = *left == 0;
                *left -= u64::from(!passes);
                passes
            }
            Stage::TakeWhile(program) => {
                let holds = self.holds(program, element).map_err(failed)?;
                if !holds {
                    self.ended = true;
                    return Ok(Flow::Stop);
                }
                true
            }
            Stage::DropWhile(program, came) => {
                *came = *came || !self.holds(program, element).map_err(failed)?;
                *came
            }
            Stage::Join(join) => return self.join(join, rest, at, element, sink),
            Stage::Table(program, table) => {
                let key = self.evaluate(program, element).map_err(failed)?;
                let mut text = Vec::new();
                if write_key(key, &mut text, arena) {
                    let before = table.bytes();
                    table.insert(&text, element, arena);
                    self.held_bytes += table.bytes() - before;
                }
                true
            }
            Stage::Zip(partners) => {
                let Some(partner) = partners.next(arena).map_err(failed)? else {
                    self.ended = true;
                    return Ok(Flow::Stop);
                };
                let pair = Value::Array(arena.alloc_slice_copy(&[element, partner]));
                return self.push(rest, at + 1, pair, sink);
            }
        };
        if passes { self.push(rest, at + 1, element, sink) } else { Ok(Flow::Continue) }
    }

    fn each(
        &mut self,
        program: &Program,
        rest: &mut [Stage],
        at: usize,
        element: Value<'r>,
        sink: &mut Out<'_, 'r>,
    ) -> Result<Flow, Failed> {
        let mut failed = None;
        let mut machine =
            Machine::new(program, self.arena, element, self.watch).knowing(self.known);
        let flow = machine.each(program.root(), &mut |_, value| {
            let flow = self.push(rest, at + 1, value, sink);
            flow.or_else(|failure| {
                failed = Some(failure);
                Ok(Flow::Stop)
            })
        });
        match failed {
            Some(failure) => Err(failure),
            None => flow.map_err(|fault| (at, fault)),
        }
    }

    fn join(
        &mut self,
        join: &mut Join,
        rest: &mut [Stage],
        at: usize,
        element: Value<'r>,
        sink: &mut Out<'_, 'r>,
    ) -> Result<Flow, Failed> {
        let arena = self.arena;
        let Join { kind, key, table, name, scratch: (text, tape) } = join;
        let found = self.evaluate(key, element).map_err(|fault| (at, fault))?;
        let is_key = write_key(found, text, arena);
        let matched = is_key && table.contains(text);
        let alone = match kind {
            JoinKind::Inner => false,
            JoinKind::Left | JoinKind::Lookup | JoinKind::Diff => !matched,
            JoinKind::Intersect => matched,
        };
        if alone {
            return self.push(rest, at + 1, element, sink);
        }
        if !matched {
            return Ok(Flow::Continue);
        }
        for right in table.matches(text) {
            let pair = pair(element, right, name.as_deref(), tape, arena);
            let pair = pair.map_err(|fault| (at, fault))?;
            if self.push(rest, at + 1, pair, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    fn evaluate(&self, program: &Program, element: Value<'r>) -> Evaluated<'r> {
        Machine::new(program, self.arena, element, self.watch).knowing(self.known).run()
    }

    fn holds(&self, program: &Program, element: Value<'r>) -> Result<bool, Fault> {
        Ok(self.evaluate(program, element)?.truthy(self.arena))
    }
}
