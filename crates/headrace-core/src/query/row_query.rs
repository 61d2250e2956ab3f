//! A query over rows, each by itself.
//!
//! All memory is used again from row to row: in steady state nothing is allocated.

use std::sync::Arc;

use bumpalo::Bump;

use super::{
    Flow, Input, Known, Machine, Program, Reading, Watch, demand,
    machine::Projection,
    row_parser::{Parsed, RowParser},
};
use crate::{
    rows::Row,
    value::{Document, Kept, Value, values_of, write_json},
};

/// What is written for a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The answer.
    Answer,
    /// The elements of the answer, one a line.
    Elements,
    /// The row as it is, if the answer is truthy.
    Match,
}

/// Counts of rows; `rows` is the sum of all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All rows.
    pub rows: u64,
    /// Rows that gave a line of output.
    pub emitted: u64,
    /// Rows whose answer was null, or that did not match.
    pub filtered: u64,
    /// Rows that were skipped: bad, too long, or not computable.
    pub skipped: u64,
    /// Rows with nothing in them.
    pub blank: u64,
}

/// Why a row has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The row, counted from 0.
    pub number: u64,
    /// The byte of the source that is to blame.
    pub offset: u64,
    /// Where in the query, if the row itself is good.
    pub span: Option<(u32, u32)>,
    /// The error message.
    pub reason: String,
}

/// What a run writes.
#[derive(Clone, Copy, Debug)]
pub struct Writing {
    /// What is written for a row.
    pub output: Output,
    /// Whether null is written as well.
    pub nulls: bool,
    /// The most lines that are written.
    pub limit: u64,
}

/// Runs a program over one row after the other.
pub struct RowQuery {
    program: Arc<Program>,
    /// For answers that need not be made.
    projection: Option<Projection>,
    writing: Writing,
    sources: Arc<[Kept]>,
    input: Option<Input>,
    parser: RowParser,
    watch: Watch,
    arena: Bump,
    lines: u64,
    /// The counts so far.
    pub counts: Counts,
}

impl RowQuery {
    /// A run that has seen no rows.
    pub fn new(program: Arc<Program>, writing: Writing, reading: Reading, watch: Watch) -> Self {
        let lanes = demand::of_rows(&program, writing.output);
        let projects = writing.output == Output::Answer && !reading.whole;
        let projection = projects.then(|| Projection::of(&program, program.root())).flatten();
        Self {
            program,
            projection,
            writing,
            sources: Arc::new([]),
            input: None,
            parser: RowParser::new(reading, lanes),
            watch,
            arena: Bump::new(),
            lines: 0,
            counts: Counts::default(),
        }
    }

    /// The run, knowing the values that its program has by number.
    #[must_use]
    pub fn knowing(mut self, sources: Arc<[Kept]>) -> Self {
        self.sources = sources;
        self
    }

    /// Let the program know where the rows stand that come from now on.
    pub fn stand_in(&mut self, input: Input) {
        self.input = Some(input);
    }

    /// Count the rows of a run like this one, and the lines that it has written of them.
    pub fn absorb(&mut self, counts: Counts, lines: u64) {
        self.counts.rows += counts.rows;
        self.counts.emitted += counts.emitted;
        self.counts.filtered += counts.filtered;
        self.counts.skipped += counts.skipped;
        self.counts.blank += counts.blank;
        self.lines += lines;
    }

    /// How many more lines may be written.
    pub fn wanted(&self) -> u64 {
        self.writing.limit.saturating_sub(self.lines)
    }

    /// Whether the limit of lines is reached.
    pub fn done(&self) -> bool {
        self.lines >= self.writing.limit
    }

    /// Append the lines for a row to `out`.
    ///
    /// # Errors
    /// Why the row has no lines. It is counted as skipped; the next row can follow.
    pub fn row(&mut self, row: Row<'_>, out: &mut Vec<u8>) -> Result<(), Refusal> {
        self.counts.rows += 1;
        let before = out.len();
        let result = self.write_lines(&row, out);
        emptied(&mut self.arena);
        match result {
            Ok(Written::Blank) => self.counts.blank += 1,
            Ok(Written::Lines(0)) => self.counts.filtered += 1,
            Ok(Written::Lines(lines)) => {
                self.counts.emitted += 1;
                self.lines += lines;
            }
            Err(refusal) => {
                out.truncate(before);
                self.counts.skipped += 1;
                return Err(refusal);
            }
        }
        Ok(())
    }

    fn write_lines(&mut self, row: &Row<'_>, out: &mut Vec<u8>) -> Result<Written, Refusal> {
        let (document, start) = match self.parser.parse(row, &self.arena)? {
            Parsed::Document(document, start) => (document, start),
            Parsed::Blank => return Ok(Written::Blank),
            Parsed::Deleted => return Ok(Written::Lines(0)),
        };
        let Writing { output, nulls, limit } = self.writing;
        let program = &*self.program;
        let (arena, left) = (&self.arena, limit - self.lines);
        let mut lines = 0;
        // A row that matches is one, even if it is null itself.
        let nulls = nulls || output == Output::Match;
        let mut write = |value: Value<'_>, out: &mut Vec<u8>| {
            if nulls || !value.is_null() {
                lines += 1;
                write_line(value, document, out, arena);
            }
            if lines < left { Flow::Continue } else { Flow::Stop }
        };
        let known = Known {
            sources: values_of(&self.sources, arena),
            place: self.input.as_ref().map(|input| input.place(row.number)),
        };
        let mut machine = Machine::new(program, arena, document.root(), &self.watch).knowing(known);
        if let Some(projection) = &self.projection
            && machine.project(projection, out)
        {
            out.push(b'\n');
            return Ok(Written::Lines(1));
        }
        let written = match output {
            Output::Elements => machine.each(program.root(), &mut |_, value| Ok(write(value, out))),
            Output::Answer => machine.run().map(|value| write(value, out)),
            Output::Match => machine.run().map(|value| {
                if value.truthy(arena) { write(document.root(), out) } else { Flow::Continue }
            }),
        };
        match written {
            Ok(_) => Ok(Written::Lines(lines)),
            Err(fault) => Err(Refusal {
                number: row.number,
                offset: start,
                span: fault.expr.map(|expr| program.span(expr)),
                reason: fault.reason,
            }),
        }
    }
}

/// The result of a row.
enum Written {
    Lines(u64),
    Blank,
}

/// Use the memory of a row again, unless it was more than rows mostly take.
pub(super) fn emptied(arena: &mut Bump) {
    const MOST: usize = 64 << 20;
    if arena.allocated_bytes() > MOST {
        *arena = Bump::new();
    }
    arena.reset();
}

/// Append a value and a newline. The row itself keeps every byte but the space around it.
pub(super) fn write_line<'r>(
    value: Value<'r>,
    row: &Document<'r>,
    out: &mut Vec<u8>,
    arena: &'r Bump,
) {
    match value {
        Value::Node(node) if node.is_all_of(row) => {
            out.extend_from_slice(row.line().trim_ascii().as_bytes());
        }
        value => write_json(value, out, arena),
    }
    out.push(b'\n');
}
