//! What happens to elements on their way, across rows.
//!
//! A stage may have a memory: how many elements passed, or which keys it has seen. The
//! elements themselves live no longer than their row.

use std::collections::HashSet;

use bumpalo::Bump;

use super::{Evaluated, Fault, Flow, Machine, Program};
use crate::value::{Value, write_canonical};

/// One stage. A program is asked of each element, as its document.
pub enum Stage {
    /// The elements of the program's answer.
    Each(Program),
    /// Elements whose key has not come before.
    Distinct(Program, HashSet<Vec<u8>>),
    /// The first so many.
    Take(u64),
    /// All but the first so many.
    Skip(u64),
    /// Those before the first for which the program is not truthy.
    TakeWhile(Program),
    /// Those from the first on for which the program is not truthy; `true` once it came.
    DropWhile(Program, bool),
}

/// Where a stage failed: its position, for the span of the fault.
type Failed = (usize, Fault);

/// A chain of stages.
pub struct Stages {
    chain: Vec<Stage>,
    ended: bool,
    key_bytes: u64,
}

impl Stages {
    /// A chain that no element has passed yet.
    pub fn new(stages: Vec<Stage>) -> Self {
        let ended = stages.iter().any(|stage| matches!(stage, Stage::Take(0)));
        Self { chain: stages, ended, key_bytes: 0 }
    }

    /// Whether no further element can pass.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// How many bytes of keys are remembered.
    pub fn key_bytes(&self) -> u64 {
        self.key_bytes
    }

    /// The query text that belongs to a fault.
    pub fn span(&self, failed: &Failed) -> Option<(u32, u32)> {
        let program = match self.chain.get(failed.0)? {
            Stage::Each(program)
            | Stage::Distinct(program, _)
            | Stage::TakeWhile(program)
            | Stage::DropWhile(program, _) => program,
            Stage::Take(_) | Stage::Skip(_) => return None,
        };
        failed.1.expr.map(|expr| program.span(expr))
    }

    /// Push an element through all stages; what comes out goes to `sink`.
    ///
    /// # Errors
    /// The first fault, and the stage it is in.
    pub fn push<'r>(
        &mut self,
        element: Value<'r>,
        arena: &'r Bump,
        sink: &mut dyn FnMut(Value<'r>) -> Evaluated<'r, Flow>,
    ) -> Result<Flow, Failed> {
        let mut passing = Passing { ended: false, key_bytes: 0 };
        let flow = passing.push(&mut self.chain, 0, element, arena, sink);
        self.ended |= passing.ended;
        self.key_bytes += passing.key_bytes;
        flow
    }
}

/// What one push learned of the chain as a whole.
struct Passing {
    ended: bool,
    key_bytes: u64,
}

impl Passing {
    fn push<'r>(
        &mut self,
        stages: &mut [Stage],
        at: usize,
        element: Value<'r>,
        arena: &'r Bump,
        sink: &mut dyn FnMut(Value<'r>) -> Evaluated<'r, Flow>,
    ) -> Result<Flow, Failed> {
        let Some((stage, rest)) = stages.split_first_mut() else {
            return sink(element).map_err(|fault| (at, fault));
        };
        let passes = match stage {
            Stage::Each(program) => {
                let mut failed = None;
                let mut machine = Machine::new(program, arena, element);
                let flow = machine.each(program.root(), &mut |_, value| {
                    let flow = self.push(rest, at + 1, value, arena, sink);
                    flow.or_else(|failure| {
                        failed = Some(failure);
                        Ok(Flow::Stop)
                    })
                });
                return match failed {
                    Some(failure) => Err(failure),
                    None => flow.map_err(|fault| (at, fault)),
                };
            }
            Stage::Distinct(program, seen) => {
                let key =
                    Machine::new(program, arena, element).run().map_err(|fault| (at, fault))?;
                let mut text = Vec::new();
                write_canonical(key, &mut text, arena);
                let bytes = text.len() as u64;
                let new = seen.insert(text);
                self.key_bytes += if new { bytes } else { 0 };
                new
            }
            Stage::Take(left) => {
                if *left == 0 {
                    self.ended = true;
                    return Ok(Flow::Stop);
                }
                *left -= 1;
                let last = *left == 0;
                let flow = self.push(rest, at + 1, element, arena, sink)?;
                self.ended |= last;
                return Ok(if last { Flow::Stop } else { flow });
            }
            Stage::Skip(left) => {
                let passes = *left == 0;
                *left -= u64::from(!passes);
                passes
            }
            Stage::TakeWhile(program) => {
                let holds = holds(program, element, arena).map_err(|fault| (at, fault))?;
                if !holds {
                    self.ended = true;
                    return Ok(Flow::Stop);
                }
                true
            }
            Stage::DropWhile(program, came) => {
                *came = *came || !holds(program, element, arena).map_err(|fault| (at, fault))?;
                *came
            }
        };
        if passes { self.push(rest, at + 1, element, arena, sink) } else { Ok(Flow::Continue) }
    }
}

fn holds<'r>(program: &Program, element: Value<'r>, arena: &'r Bump) -> Result<bool, Fault> {
    Ok(Machine::new(program, arena, element).run()?.truthy(arena))
}
