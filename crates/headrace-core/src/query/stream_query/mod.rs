//! A query over the stream of all rows.
//!
//! Row by row, the program returns the elements that a row contributes, and a reduction takes
//! them into a state that does not grow with the number of rows. Only reductions that need
//! all elements collect them, as JSON text, up to a limit of memory; the rest of the query
//! then runs on that array.

mod accumulator;
mod direct;
mod distinct_values;
mod extreme;
mod group_parts;
mod groups;
mod parts;
mod prune;
mod slot;

use std::{collections::VecDeque, sync::Arc};

use accumulator::{Accumulator, write_texts};
use bumpalo::{Bump, collections::Vec as BumpVec};
use direct::{Direct, Found};
use distinct_values::DistinctValues;
use extreme::Extreme;
pub use group_parts::{GroupParts, MergedGroups};
use groups::{Groups, Naming};
pub use prune::Prune;
pub use slot::Slot;

use super::{
    ExprId, Fault, Flow, Input, JoinTable, Known, Machine, Reading, Refusal, Stage, Stages, Sum,
    Watch, demand,
    machine::Single,
    numbers,
    row_parser::{Parsed, RowParser},
    row_query::{emptied, write_line},
};
use crate::{
    rows::Row,
    value::{Document, Kept, Value, values_of, write_json},
};

/// How the elements are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// A line of output each: the most lines, and whether null is written.
    Lines(u64, bool),
    /// An array of the first elements; the most of them.
    Collect(u64),
    /// An array of the last elements; the most of them.
    Last(u64),
    /// The same, where rows come from the last to the first.
    LastFromEnd(u64),
    /// How many there are.
    Count,
    /// How many there are of each, as an object.
    CountBy,
    /// The last one of each key, as an object; an element is an array of two arrays, of its key
    /// and of what is held of it.
    IndexBy,
    /// The same by the text of a key, whatever its kind.
    Pivot,
    /// The same by the texts of two keys, as an object of objects.
    PivotCells,
    /// The total of the numbers among them.
    Sum,
    /// The mean.
    Average,
    /// The smallest of them that is not null.
    Min,
    /// The largest of them that is not null.
    Max,
    /// Groups of elements, each an array of keys and one of parts in slots: an array of such
    /// arrays. What the slots are is said by [`StreamQuery::in_slots`].
    Group,
    /// The same with one group, whether there are elements or not.
    Aggregate,
    /// Groups as the keys of an object tell them apart: by the text of their only key, which is
    /// what becomes of it. Equal texts of two kinds are an error.
    GroupBy,
}

/// Counts of rows; `rows` is the sum of all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCounts {
    /// All rows that were looked at.
    pub rows: u64,
    /// Rows that contributed elements.
    pub used: u64,
    /// Rows that contributed none.
    pub filtered: u64,
    /// Rows that were skipped: bad, too long, or not computable.
    pub skipped: u64,
    /// Rows with nothing in them.
    pub blank: u64,
}

/// Why a stream query stops at a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The query fails on a row; the next row can follow.
    Row(Refusal),
    /// The elements need more memory than the limit.
    Memory(u64),
}

/// A run over all rows.
pub struct StreamQuery {
    stages: Stages,
    /// For groups whose elements need not be made.
    direct: Option<Direct>,
    reduction: Reduction,
    whole: bool,
    sources: Arc<[Kept]>,
    input: Option<Input>,
    state: State,
    max_memory: u64,
    parser: RowParser,
    arena: Bump,
    done: bool,
    /// The counts so far.
    pub counts: StreamCounts,
}

/// What was taken of a row.
enum Taken {
    /// Elements; whether no further one can change the result.
    Some {
        last: bool,
    },
    Nothing,
    /// The row may give several elements, or one that is not a part of it.
    Unknown,
}

enum State {
    Lines {
        text: Vec<u8>,
        left: u64,
        nulls: bool,
    },
    /// In the order of the file, whose last element comes first.
    LastFromEnd {
        texts: VecDeque<Vec<u8>>,
        bytes: u64,
        limit: u64,
    },
    Pruned(Prune),
    Groups(Box<Groups>),
    /// All others, which take elements in one by one and give one value.
    One(Accumulator),
}

impl StreamQuery {
    /// A run that has seen no rows.
    pub fn new(
        stages: Vec<Stage>,
        reduction: Reduction,
        max_memory: u64,
        reading: Reading,
        watch: Watch,
    ) -> Self {
        let groups = |naming| State::Groups(Box::new(Groups::new(naming)));
        let state = match reduction {
            Reduction::Lines(left, nulls) => State::Lines { text: Vec::new(), left, nulls },
            Reduction::LastFromEnd(limit) => {
                State::LastFromEnd { texts: VecDeque::new(), bytes: 0, limit }
            }
            Reduction::Group | Reduction::Aggregate => groups(Naming::Values),
            Reduction::GroupBy => groups(Naming::Texts),
            Reduction::CountBy => groups(Naming::Counts),
            Reduction::IndexBy => groups(Naming::Lasts),
            Reduction::PivotCells => groups(Naming::Cells),
            Reduction::Pivot => groups(Naming::Names),
            Reduction::Collect(limit) => State::One(Accumulator::first(limit)),
            Reduction::Last(limit) => State::One(Accumulator::last(limit)),
            Reduction::Count => State::One(Accumulator::Count(0)),
            Reduction::Sum => State::One(Accumulator::Sum(Sum::new())),
            Reduction::Average => State::One(Accumulator::Average(Sum::new(), 0)),
            Reduction::Min => State::One(Accumulator::least()),
            Reduction::Max => State::One(Accumulator::greatest()),
        };
        let done = state.wanted() == 0;
        let lanes = demand::of_stream(&stages, reduction);
        Self {
            direct: None,
            reduction,
            whole: reading.whole,
            stages: Stages::new(stages, watch),
            sources: Arc::new([]),
            input: None,
            state,
            max_memory,
            parser: RowParser::new(reading, lanes),
            arena: Bump::new(),
            done,
            counts: StreamCounts::default(),
        }
    }

    /// The run, knowing the values that its programs have by number.
    #[must_use]
    pub fn knowing(mut self, sources: Arc<[Kept]>) -> Self {
        if let State::Pruned(prune) = &mut self.state {
            prune.sources = Arc::clone(&sources);
        }
        self.sources = sources;
        self
    }

    /// Collect only the elements that `prune` leaves.
    #[must_use]
    pub fn pruned(mut self, prune: Prune) -> Self {
        self.parser.read_lanes(demand::of_pruned(self.stages.chain(), &prune.program));
        self.state = State::Pruned(prune);
        self
    }

    /// Reduce the parts of the elements of groups as these slots say.
    #[must_use]
    pub fn in_slots(mut self, slots: Vec<Slot>) -> Self {
        if let State::Groups(groups) = &mut self.state
            && self.reduction != Reduction::CountBy
        {
            let lasts = [Reduction::IndexBy, Reduction::Pivot, Reduction::PivotCells];
            if !lasts.contains(&self.reduction) {
                groups.reduce(slots);
            }
            if self.reduction == Reduction::Aggregate {
                groups.begin_only();
            }
            if !self.whole {
                self.direct = self.stages.only().and_then(|(program, _)| Direct::of(program));
            }
        }
        self
    }

    /// The run, counting the elements that come to each stage.
    #[must_use]
    pub fn counting_elements(mut self) -> Self {
        self.stages.count_elements();
        self
    }

    /// How many elements came to each stage, and last how many came out of all of them. Empty
    /// without [`Self::counting_elements`].
    pub fn arrived(&self) -> &[u64] {
        self.stages.arrived()
    }

    /// Count the elements that came to the stages of a run like this one.
    pub fn absorb_arrived(&mut self, others: &[u64]) {
        self.stages.absorb_arrived(others);
    }

    /// Let the stages know where the rows stand that come from now on.
    pub fn stand_in(&mut self, input: Input) {
        self.input = Some(input);
    }

    /// Whether no further row can change the result.
    pub fn done(&self) -> bool {
        self.done || self.stages.ended()
    }

    /// Count the rows of a run like this one, and the lines that it has written of them.
    pub fn absorb(&mut self, counts: StreamCounts, lines: u64) {
        self.counts.rows += counts.rows;
        self.counts.used += counts.used;
        self.counts.filtered += counts.filtered;
        self.counts.skipped += counts.skipped;
        self.counts.blank += counts.blank;
        if let State::Lines { left, .. } = &mut self.state {
            *left = left.saturating_sub(lines);
            self.done |= *left == 0;
        }
    }

    /// How many more lines or elements can change the result.
    pub fn wanted(&self) -> u64 {
        if self.done() { 0 } else { self.state.wanted() }
    }

    /// The lines of output since the last that were forgotten.
    pub fn lines(&self) -> &[u8] {
        match &self.state {
            State::Lines { text, .. } => text,
            _ => &[],
        }
    }

    /// Begin again with no lines, in the same memory.
    pub fn forget_lines(&mut self) {
        if let State::Lines { text, .. } = &mut self.state {
            text.clear();
        }
    }

    /// Take in the elements that a row contributes.
    ///
    /// # Errors
    /// Why there are none.
    pub fn row(&mut self, row: Row<'_>) -> Result<(), Obstacle> {
        self.counts.rows += 1;
        let result = self.elements(&row);
        emptied(&mut self.arena);
        if result.is_err() {
            self.counts.skipped += 1;
        }
        result?;
        if self.held_bytes() > self.max_memory {
            return Err(Obstacle::Memory(self.max_memory));
        }
        Ok(())
    }

    /// How many bytes of keys and elements are held.
    pub fn held_bytes(&self) -> u64 {
        self.stages.held_bytes() + self.state.held_bytes()
    }

    /// Take in what the stages still have when all rows have been.
    ///
    /// # Errors
    /// A fault in a stage.
    pub fn end(&mut self) -> Result<(), Fault> {
        if self.done() {
            return Ok(());
        }
        // No element is the row: there is none.
        let (no_row, arena) = (Document::default(), Bump::new());
        let known = Known { sources: values_of(&self.sources, &arena), place: None };
        let (state, done) = (&mut self.state, &mut self.done);
        let ended = self.stages.end(known, &arena, &mut |element| {
            let element = state.checked(element, &arena)?;
            *done = state.take(element, &no_row, &arena)?;
            Ok(if *done { Flow::Stop } else { Flow::Continue })
        });
        ended.map(|_| ()).map_err(|(_, fault)| fault)
    }

    /// The table that the last stage has filled.
    pub fn into_table(self) -> Option<JoinTable> {
        self.stages.into_table()
    }

    fn elements(&mut self, row: &Row<'_>) -> Result<(), Obstacle> {
        let parsed = self.parser.parse(row, &self.arena).map_err(Obstacle::Row)?;
        let (document, start) = match parsed {
            Parsed::Document(document, start) => (document, start),
            Parsed::Blank => {
                self.counts.blank += 1;
                return Ok(());
            }
            Parsed::Deleted => {
                self.counts.filtered += 1;
                return Ok(());
            }
        };
        let (state, arena) = (&mut self.state, &self.arena);
        let refusal = |span, reason| {
            Obstacle::Row(Refusal { number: row.number, offset: start, span, reason })
        };
        // A row that fails on the way contributes nothing, so its elements wait for its end.
        // Mostly there is one, which takes no memory.
        let (mut first, mut more) = (None, BumpVec::new_in(arena));
        let mut wanted = state.wanted();
        let known = Known {
            sources: values_of(&self.sources, arena),
            place: self.input.as_ref().map(|input| input.place(row.number)),
        };
        if !self.whole {
            let direct = self.direct.as_ref();
            let taken = state.take_at_once(&mut self.stages, direct, document, known, arena);
            let taken = taken.map_err(|(position, fault)| match position {
                Some(position) => {
                    let failed = (position, fault);
                    refusal(self.stages.span(&failed), failed.1.reason)
                }
                None => refusal(None, fault.reason),
            })?;
            match taken {
                Taken::Some { last } => {
                    self.done = last;
                    self.counts.used += 1;
                    return Ok(());
                }
                Taken::Nothing => {
                    self.counts.filtered += 1;
                    return Ok(());
                }
                Taken::Unknown => {}
            }
        }
        let pushed = self.stages.push(document.root(), known, arena, &mut |element| {
            if state.passes_over(element) {
                return Ok(Flow::Continue);
            }
            let element = state.checked(element, arena)?;
            match first {
                None => first = Some(element),
                Some(_) => more.push(element),
            }
            wanted = wanted.saturating_sub(1);
            Ok(if wanted == 0 { Flow::Stop } else { Flow::Continue })
        });
        if let Err(failed) = pushed {
            return Err(refusal(self.stages.span(&failed), failed.1.reason));
        }
        let Some(first) = first else {
            self.counts.filtered += 1;
            return Ok(());
        };
        let taken = if more.is_empty() {
            state.take(first, document, arena)
        } else {
            more.insert(0, first);
            if state.is_from_end() {
                more.reverse();
            }
            state.take_all(&more, document, arena)
        };
        self.done = taken.map_err(|fault| refusal(None, fault.reason))?;
        self.counts.used += 1;
        Ok(())
    }

    /// The result, as JSON.
    ///
    /// # Errors
    /// When the total is no finite number, or the elements are of kinds that do not go together.
    pub fn finish(self) -> Result<Vec<u8>, Fault> {
        self.state.finish()
    }
}

impl State {
    /// How many bytes of keys and elements are held.
    fn held_bytes(&self) -> u64 {
        match self {
            Self::Lines { .. } => 0,
            Self::LastFromEnd { bytes, .. } => *bytes,
            Self::Pruned(prune) => prune.best.bytes(),
            Self::Groups(groups) => groups.bytes(),
            Self::One(one) => one.bytes(),
        }
    }

    /// The result, as JSON.
    fn finish(self) -> Result<Vec<u8>, Fault> {
        let mut out = Vec::new();
        match self {
            Self::Lines { text, .. } => return Ok(text),
            Self::LastFromEnd { texts, .. } => write_texts(texts, &mut out),
            Self::Pruned(prune) => prune.best.write_json(&mut out),
            Self::Groups(groups) => return groups.into_json(),
            Self::One(one) => one.write_json(&mut out)?,
        }
        Ok(out)
    }

    /// How many more elements can change the result, of those that are answers.
    fn wanted(&self) -> u64 {
        match self {
            Self::Lines { left, .. } => *left,
            // Of a row, the last elements come first.
            Self::LastFromEnd { texts, limit, .. } if (texts.len() as u64) < *limit => u64::MAX,
            Self::LastFromEnd { .. } => 0,
            Self::One(one) => one.wanted(),
            Self::Pruned(_) | Self::Groups(_) => u64::MAX,
        }
    }

    /// Whether an element is no answer.
    fn passes_over(&self, element: Value<'_>) -> bool {
        matches!(self, Self::Lines { nulls: false, .. }) && element.is_null()
    }

    /// An element as it can be taken: numbers that are added up are read.
    ///
    /// # Errors
    /// It cannot be taken, nor can another one of its row.
    fn checked<'r>(&self, element: Value<'r>, arena: &'r Bump) -> Result<Value<'r>, Fault> {
        match self {
            Self::Groups(groups) => groups.checked(element, arena),
            Self::Pruned(prune) => prune.checked(element, arena),
            Self::One(one) => match one.of_numbers() {
                Some(builtin) if !element.is_null() => {
                    let number = element.resolved(arena);
                    numbers::addend(number, builtin, arena)?;
                    Ok(number)
                }
                _ => Ok(element),
            },
            _ => Ok(element),
        }
    }

    /// Whether the last element comes first.
    fn is_from_end(&self) -> bool {
        matches!(self, Self::LastFromEnd { .. })
    }

    /// Take what a row gives without pushing it through the stages, if that is possible. A fault
    /// comes with its stage, if it is in one.
    fn take_at_once<'r>(
        &mut self,
        stages: &mut Stages,
        direct: Option<&Direct>,
        row: &'r Document<'r>,
        known: Known<'r>,
        arena: &'r Bump,
    ) -> Result<Taken, (Option<usize>, Fault)> {
        if let Self::Lines { text, left, nulls } = self
            && let Some((join, watch)) = stages.only_join()
        {
            let lines = join.write_lines(row, (known, watch), (*left, *nulls), text, arena);
            let lines = lines.map_err(|fault| (Some(0), fault))?;
            *left -= lines;
            return Ok(if lines == 0 { Taken::Nothing } else { Taken::Some { last: *left == 0 } });
        }
        let Some((program, watch)) = stages.only() else { return Ok(Taken::Unknown) };
        let mut machine = Machine::new(program, arena, row.root(), watch).knowing(known);
        if let (Some(direct), Self::Groups(groups)) = (direct, &mut *self) {
            match direct.found(&mut machine, arena).map_err(|fault| (Some(0), fault))? {
                Found::Element(keys, parts) => {
                    groups.check(parts, arena).map_err(|fault| (Some(1), fault))?;
                    groups.add_parts(keys, parts, arena).map_err(|fault| (None, fault))?;
                    return Ok(Taken::Some { last: false });
                }
                Found::None => return Ok(Taken::Nothing),
                Found::Other => {}
            }
        }
        self.take_single(&mut machine, program.root(), row, arena)
    }

    /// Take the element of a row that gives one part of itself, or none: most do, and need no
    /// sinks.
    fn take_single<'r>(
        &mut self,
        machine: &mut Machine<'_, 'r>,
        root: ExprId,
        row: &'r Document<'r>,
        arena: &'r Bump,
    ) -> Result<Taken, (Option<usize>, Fault)> {
        let element = match machine.single(root).map_err(|fault| (Some(0), fault))? {
            Single::Part(node) => Value::Node(node),
            Single::None => return Ok(Taken::Nothing),
            Single::Other => return Ok(Taken::Unknown),
        };
        if self.passes_over(element) {
            return Ok(Taken::Nothing);
        }
        let element = self.checked(element, arena).map_err(|fault| (Some(1), fault))?;
        let last = self.take(element, row, arena).map_err(|fault| (None, fault))?;
        Ok(Taken::Some { last })
    }

    /// Take elements one after the other; true if no further one can change the result.
    fn take_all<'r>(
        &mut self,
        elements: &[Value<'r>],
        row: &Document<'r>,
        arena: &'r Bump,
    ) -> Result<bool, Fault> {
        for element in elements {
            if self.take(*element, row, arena)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Take one element; true if no further one can change the result.
    fn take<'r>(
        &mut self,
        element: Value<'r>,
        row: &Document<'r>,
        arena: &'r Bump,
    ) -> Result<bool, Fault> {
        match self {
            Self::Lines { text, left, .. } => {
                write_line(element, row, text, arena);
                *left -= 1;
            }
            Self::LastFromEnd { texts, bytes, .. } => {
                let mut text = Vec::new();
                write_json(element, &mut text, arena);
                *bytes += text.len() as u64;
                texts.push_front(text);
            }
            Self::Pruned(prune) => prune.take(element, row, arena)?,
            Self::Groups(groups) => groups.add(element, arena)?,
            Self::One(one) => one.take(element, arena)?,
        }
        Ok(self.wanted() == 0)
    }
}
