//! Keyed rows: elements of rows with a key, for a shuffle that sorts, groups or joins them.
//!
//! A row goes through `stages`; the key of each element is computed, and the element goes
//! through `then`, whose elements are written with that key. A row that fails on the way
//! contributes nothing.

use std::sync::Arc;

use bumpalo::Bump;

use super::{
    Flow, Known, Machine, Program, Reading, Refusal, Stage, Stages, StreamCounts, Watch, demand,
    join::is_key,
    row_parser::{Parsed, RowParser},
    row_query::emptied,
};
use crate::{
    rows::Row,
    value::{Document, Kept, Value, values_of, write_json, write_order_key},
};

/// The stages that rows go through, and the key of what comes out.
pub struct KeyedPlan {
    /// The stages that rows go through.
    pub stages: Vec<Stage>,
    /// The key of an element; none for elements without keys.
    pub key: Option<Program>,
    /// The stages after the key was computed.
    pub then: Vec<Stage>,
    /// Whether a key is an array of several, each of which is falling or rising; none if it is one.
    pub falling: Vec<bool>,
    /// Whether a key that a join finds nothing by is empty.
    pub joins: bool,
    /// Whether an element that is the row is written without its spaces, as others are.
    pub compact: bool,
}

/// Texts one after the other, and where each ends: as Arrow has them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// 32 bits each, beginning with 0.
    pub ends: Vec<i32>,
    /// The bytes of all texts.
    pub data: Vec<u8>,
    /// Whether an end was beyond 32 bits.
    pub(super) too_long: bool,
}

/// Elements and their keys.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Keyed {
    /// Where the row of each element stands in its batch.
    pub positions: Vec<i32>,
    /// Where that row's document begins in the source.
    pub offsets: Vec<i64>,
    /// The elements as JSON.
    pub lines: Texts,
    /// Their keys, see [`write_order_key`].
    pub keys: Texts,
    /// Rows that have none, and whether only that is to blame which comes behind the stages.
    pub refusals: Vec<(Refusal, bool)>,
}

/// Makes keyed elements of rows.
pub struct KeyedRows {
    stages: Stages,
    then: Stages,
    key: Option<Program>,
    falling: Vec<bool>,
    joins: bool,
    compact: bool,
    sources: Arc<[Kept]>,
    parser: RowParser,
    watch: Watch,
    arena: Bump,
    keyed: Keyed,
    /// The counts so far; a row is used if elements of it come out of the stages, even if
    /// they fail later.
    pub counts: StreamCounts,
}

impl KeyedRows {
    /// A run that has seen no rows.
    pub fn new(plan: KeyedPlan, reading: Reading, watch: impl Fn() -> Watch) -> Self {
        let lanes = demand::of_keyed(&plan);
        let KeyedPlan { stages, key, then, falling, joins, compact } = plan;
        Self {
            stages: Stages::new(stages, watch()),
            then: Stages::new(then, watch()),
            key,
            falling,
            joins,
            compact,
            sources: Arc::new([]),
            parser: RowParser::new(reading, lanes),
            watch: watch(),
            arena: Bump::new(),
            keyed: Keyed::new(),
            counts: StreamCounts::default(),
        }
    }

    /// The run, knowing the values that its programs have by number.
    #[must_use]
    pub fn knowing(mut self, sources: Arc<[Kept]>) -> Self {
        self.sources = sources;
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

    /// Take in a row that stands at `position` of its batch.
    pub fn row(&mut self, position: usize, row: &Row<'_>) {
        self.counts.rows += 1;
        let before = self.keyed.len();
        let came = self.elements(position, row);
        emptied(&mut self.arena);
        match came {
            Ok(Came::Elements) => self.counts.used += 1,
            Ok(Came::Nothing) => self.counts.filtered += 1,
            Ok(Came::Blank) => self.counts.blank += 1,
            Err((refusal, late)) => {
                self.keyed.truncate(before);
                self.keyed.refusals.push((refusal, late));
                if late {
                    self.counts.used += 1;
                } else {
                    self.counts.skipped += 1;
                }
            }
        }
    }

    /// The elements since the last time; `None` if they are more than Arrow can count.
    pub fn take(&mut self) -> Option<Keyed> {
        let keyed = std::mem::replace(&mut self.keyed, Keyed::new());
        (!keyed.lines.too_long && !keyed.keys.too_long).then_some(keyed)
    }

    fn elements(&mut self, position: usize, row: &Row<'_>) -> Result<Came, (Refusal, bool)> {
        let arena = &self.arena;
        let parsed = self.parser.parse(row, arena).map_err(|refusal| (refusal, false))?;
        let (document, start) = match parsed {
            Parsed::Document(document, start) => (document, start),
            Parsed::Blank => return Ok(Came::Blank),
            Parsed::Deleted => return Ok(Came::Nothing),
        };
        let known = Known { sources: values_of(&self.sources, arena), place: None };
        let (key, then, watch) = (&self.key, &mut self.then, &self.watch);
        let (keyed, joins, compact) = (&mut self.keyed, self.joins, self.compact);
        let falling = &self.falling;
        let place = (position, start);
        let (mut came, mut late) = (Came::Nothing, None);
        let pushed = self.stages.push(document.root(), known, arena, &mut |element| {
            came = Came::Elements;
            if late.is_some() {
                // The query fails, but whether the row does depends on the stages alone.
                return Ok(Flow::Continue);
            }
            let found = match key.as_ref().map(|key| evaluate(key, element, known, arena, watch)) {
                Some(Err(failed)) => {
                    late = Some(failed);
                    return Ok(Flow::Continue);
                }
                Some(Ok(found)) => (!joins || is_key(found, arena)).then_some(found),
                None => None,
            };
            let pushed = then.push(element, known, arena, &mut |element| {
                let key = found.map(|key| (key, falling.as_slice()));
                keyed.push(place, key, element, (!compact).then_some(document), arena);
                Ok(Flow::Continue)
            });
            late = pushed.err().map(|failed| (then.span(&failed), failed.1.reason));
            Ok(Flow::Continue)
        });
        let refusal = |span, reason| Refusal { number: row.number, offset: start, span, reason };
        if let Err(failed) = pushed {
            return Err((refusal(self.stages.span(&failed), failed.1.reason), false));
        }
        late.map_or(Ok(came), |(span, reason)| Err((refusal(span, reason), true)))
    }
}

/// Append the key of a value, or those of its elements, which are complemented where they fall.
///
/// No key is the beginning of another, so the first elements that differ decide, and whatever
/// bytes differ in these are in the other order once they are complemented.
pub(super) fn write_key<'r>(
    value: Value<'r>,
    falling: &[bool],
    out: &mut Vec<u8>,
    arena: &'r Bump,
) {
    let Some(parts) = value.as_array(arena).filter(|_| !falling.is_empty()) else {
        return write_order_key(value, out, arena);
    };
    for (part, falls) in parts.iter().zip(falling) {
        let start = out.len();
        write_order_key(*part, out, arena);
        if *falls {
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }
}

/// Where in the query something failed, and why.
type Late = (Option<(u32, u32)>, String);

fn evaluate<'r>(
    key: &Program,
    element: Value<'r>,
    known: Known<'r>,
    arena: &'r Bump,
    watch: &Watch,
) -> Result<Value<'r>, Late> {
    let found = Machine::new(key, arena, element, watch).knowing(known).run();
    found.map_err(|fault| (fault.expr.map(|at| key.span(at)), fault.reason))
}

/// The result of a row.
enum Came {
    Elements,
    Nothing,
    Blank,
}

impl Keyed {
    fn new() -> Self {
        Self { lines: Texts::new(), keys: Texts::new(), ..Self::default() }
    }

    fn len(&self) -> usize {
        self.positions.len()
    }

    /// Add an element of the row at a place; `row` is what it may be all of, and is written as it stands there.
    fn push<'r>(
        &mut self,
        place: (usize, u64),
        key: Option<(Value<'r>, &[bool])>,
        element: Value<'r>,
        row: Option<&Document<'r>>,
        arena: &'r Bump,
    ) {
        self.positions.push(i32::try_from(place.0).unwrap_or(i32::MAX));
        self.offsets.push(i64::try_from(place.1).unwrap_or(i64::MAX));
        if let Some((key, falling)) = key {
            write_key(key, falling, &mut self.keys.data, arena);
        }
        self.keys.end();
        match (element, row) {
            (Value::Node(node), Some(row)) if node.is_all_of(row) => {
                self.lines.data.extend_from_slice(row.line().trim_ascii().as_bytes());
            }
            _ => write_json(element, &mut self.lines.data, arena),
        }
        self.lines.end();
    }

    fn truncate(&mut self, length: usize) {
        self.positions.truncate(length);
        self.offsets.truncate(length);
        self.lines.truncate(length);
        self.keys.truncate(length);
    }
}

impl Texts {
    pub(super) fn new() -> Self {
        Self { ends: vec![0], ..Self::default() }
    }

    pub(super) fn push(&mut self, text: &[u8]) {
        self.data.extend_from_slice(text);
        self.end();
    }

    fn end(&mut self) {
        let end = i32::try_from(self.data.len());
        self.too_long |= end.is_err();
        self.ends.push(end.unwrap_or(i32::MAX));
    }

    fn truncate(&mut self, length: usize) {
        self.ends.truncate(length + 1);
        let end = self.ends.last().copied().unwrap_or_default();
        self.data.truncate(usize::try_from(end).unwrap_or_default());
    }
}
