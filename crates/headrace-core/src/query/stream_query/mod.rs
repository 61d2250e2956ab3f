//! A query over the stream of all rows.
//!
//! Row by row, the program returns the elements that a row contributes, and a reduction takes
//! them into a state that does not grow with the number of rows. Only reductions that need
//! all elements collect them, as JSON text, up to a limit of memory; the rest of the query
//! then runs on that array.

mod extreme;
mod groups;
mod key_counts;
mod parts;

use std::{cmp::Ordering, collections::VecDeque, sync::Arc};

use bumpalo::{Bump, collections::Vec as BumpVec};
use extreme::Extreme;
use groups::Groups;
use key_counts::KeyCounts;

use super::{
    Fault, Flow, Input, JoinTable, Known, Prune, Reading, Refusal, Stage, Stages, Sum, Watch,
    demand, numbers,
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
}

/// How the values of a group are aggregated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// How many are truthy.
    Count,
    /// The total of the numbers among them.
    Sum,
    /// The mean.
    Average,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// An array of those that are not null; each must be a number.
    Numbers,
    /// An array of them all.
    Collect,
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

/// Why a stream cannot be gone through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// A row has no answer; the next can be asked.
    Row(Refusal),
    /// The elements take more memory than they may.
    Memory(u64),
}

/// A run over all rows.
pub struct StreamQuery {
    stages: Stages,
    sources: Arc<[Kept]>,
    input: Option<Input>,
    state: State,
    max_memory: u64,
    parser: RowParser,
    arena: Bump,
    done: bool,
    /// What was counted so far.
    pub counts: StreamCounts,
}

enum State {
    Lines {
        text: Vec<u8>,
        left: u64,
        nulls: bool,
    },
    Collect {
        text: Vec<u8>,
        elements: u64,
        limit: u64,
        prune: Option<Prune>,
    },
    Last {
        texts: VecDeque<Vec<u8>>,
        bytes: u64,
        limit: u64,
    },
    /// In the order of the file, whose last element comes first.
    LastFromEnd {
        texts: VecDeque<Vec<u8>>,
        bytes: u64,
        limit: u64,
    },
    Count(u64),
    CountBy(KeyCounts),
    Sum(Box<Sum>),
    Average(Box<Sum>, u64),
    Extreme(Extreme),
    Groups(Groups),
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
        let state = match reduction {
            Reduction::Lines(left, nulls) => State::Lines { text: Vec::new(), left, nulls },
            Reduction::Collect(limit) => {
                State::Collect { text: vec![b'['], elements: 0, limit, prune: None }
            }
            Reduction::Last(limit) => State::Last { texts: VecDeque::new(), bytes: 0, limit },
            Reduction::LastFromEnd(limit) => {
                State::LastFromEnd { texts: VecDeque::new(), bytes: 0, limit }
            }
            Reduction::Count => State::Count(0),
            Reduction::CountBy => State::CountBy(KeyCounts::default()),
            Reduction::Sum => State::Sum(Box::new(Sum::new())),
            Reduction::Average => State::Average(Box::new(Sum::new()), 0),
            Reduction::Min => State::Extreme(Extreme::new(Ordering::Less)),
            Reduction::Max => State::Extreme(Extreme::new(Ordering::Greater)),
            Reduction::Group => State::Groups(Groups::default()),
            Reduction::Aggregate => State::Groups(Groups::of_one()),
        };
        let done = matches!(
            state,
            State::Lines { left: 0, .. }
                | State::Collect { limit: 0, .. }
                | State::Last { limit: 0, .. }
                | State::LastFromEnd { limit: 0, .. }
        );
        let lanes = demand::of_stream(&stages, reduction);
        Self {
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
        if let State::Collect { prune: Some(pruning), .. } = &mut self.state {
            pruning.sources = Arc::clone(&sources);
        }
        self.sources = sources;
        self
    }

    /// Collect only the elements that `prune` leaves.
    #[must_use]
    pub fn pruned(mut self, pruning: Prune) -> Self {
        if let State::Collect { prune, .. } = &mut self.state {
            *prune = Some(pruning);
        }
        self
    }

    /// Reduce the parts of the elements of groups as these slots say.
    #[must_use]
    pub fn in_slots(mut self, slots: Vec<Slot>) -> Self {
        if let State::Groups(groups) = &mut self.state {
            groups.reduce(slots);
        }
        self
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
        let pushed = self.stages.push(document.root(), known, arena, &mut |element| {
            if state.passes_over(element) {
                return Ok(Flow::Continue);
            }
            state.check(element, arena)?;
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

fn total<'r>(sum: &Sum) -> Result<Value<'r>, Fault> {
    match sum.integer() {
        Some(total) => Ok(Value::Int(total)),
        None => numbers::finite(sum.double()),
    }
}

impl State {
    /// How many bytes of keys and elements are held.
    fn held_bytes(&self) -> u64 {
        match self {
            Self::Collect { text, .. } => text.len() as u64,
            Self::Last { bytes, .. } | Self::LastFromEnd { bytes, .. } => *bytes,
            Self::CountBy(counts) => counts.bytes(),
            Self::Groups(groups) => groups.bytes(),
            Self::Extreme(best) => best.bytes(),
            _ => 0,
        }
    }

    /// The result, as JSON.
    fn finish(self) -> Result<Vec<u8>, Fault> {
        let arena = Bump::new();
        let value = match self {
            Self::Lines { text, .. } => return Ok(text),
            Self::Collect { mut text, .. } => {
                text.push(b']');
                return Ok(text);
            }
            Self::Last { texts, .. } | Self::LastFromEnd { texts, .. } => {
                let texts: Vec<_> = texts.into_iter().collect();
                return Ok([b"[", texts.join(&b","[..]).as_slice(), b"]"].concat());
            }
            Self::Extreme(best) => return best.into_json(),
            Self::CountBy(counts) => return counts.to_json(),
            Self::Groups(groups) => return groups.into_json(),
            Self::Count(count) => Value::Int(i64::try_from(count).unwrap_or(i64::MAX)),
            Self::Sum(sum) => total(&sum)?,
            Self::Average(_, 0) => Value::Null,
            #[allow(clippy::cast_precision_loss, reason = "a mean is a double")]
            Self::Average(sum, count) => numbers::finite(sum.double() / count as f64)?,
        };
        let mut text = Vec::new();
        write_json(value, &mut text, &arena);
        Ok(text)
    }

    /// How many more elements can change the result, of those that are answers.
    fn wanted(&self) -> u64 {
        match self {
            Self::Lines { left, .. } => *left,
            Self::Collect { elements, limit, .. } => limit - elements,
            _ => u64::MAX,
        }
    }

    /// Whether an element is no answer.
    fn passes_over(&self, element: Value<'_>) -> bool {
        matches!(self, Self::Lines { nulls: false, .. }) && element.is_null()
    }

    /// Refuse an element that cannot be taken, before another one of its row is.
    fn check<'r>(&self, element: Value<'r>, arena: &'r Bump) -> Result<(), Fault> {
        let builtin = match self {
            Self::Sum(_) => "sum",
            Self::Average(..) => "avg",
            Self::Groups(groups) => return groups.check(element, arena),
            _ => return Ok(()),
        };
        if element.is_null() {
            return Ok(());
        }
        numbers::addend(element, builtin, arena).map(|_| ())
    }

    /// Whether the last element comes first.
    fn is_from_end(&self) -> bool {
        matches!(self, Self::LastFromEnd { .. })
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
                return Ok(*left == 0);
            }
            Self::Collect { text, elements, limit, prune } => {
                if *elements > 0 {
                    text.push(b',');
                }
                write_json(element, text, arena);
                *elements += 1;
                if let Some(pruning) = prune
                    && pruning.is_due(*elements, text.len())
                {
                    match pruning.prune(text) {
                        Some(left) => *elements = left,
                        None => *prune = None,
                    }
                }
                return Ok(*elements >= *limit);
            }
            Self::Last { texts, bytes, limit } => {
                let mut text = Vec::new();
                write_json(element, &mut text, arena);
                *bytes += text.len() as u64;
                texts.push_back(text);
                if texts.len() as u64 > *limit {
                    *bytes -= texts.pop_front().map_or(0, |first| first.len() as u64);
                }
            }
            Self::LastFromEnd { texts, bytes, limit } => {
                let mut text = Vec::new();
                write_json(element, &mut text, arena);
                *bytes += text.len() as u64;
                texts.push_front(text);
                return Ok(texts.len() as u64 >= *limit);
            }
            Self::Count(count) => *count += 1,
            Self::CountBy(counts) => counts.add(element, arena),
            Self::Groups(groups) => {
                groups.add(element, row, arena)?;
            }
            Self::Sum(sum) => {
                numbers::add_to(sum, element, "sum", arena)?;
            }
            Self::Average(sum, count) => {
                *count += u64::from(numbers::add_to(sum, element, "avg", arena)?);
            }
            Self::Extreme(best) => best.consider(element, arena),
        }
        Ok(false)
    }
}
