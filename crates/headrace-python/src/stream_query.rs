//! Queries over the stream of all rows.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use headrace_core::{
    query::{self, Input, Obstacle, Prune, Reduction, Slot, StreamCounts},
    rows::Row,
};
use pyo3::{
    exceptions::{PyOverflowError, PyValueError},
    prelude::*,
    pybacked::PyBackedBytes,
    types::PyBytes,
};

use crate::{
    answers::{Answers, Counts, Refused, SiftedRow},
    batch::RowBatch,
    error::{MemoryExceededError, QueryFailedError},
    keyed::{PyTexts, buffers, longs},
    query::{PyFrame, Sources, decoded, known, reading},
    signals::{self, Cancel},
    stage::{JoinTable, Stage},
};

/// The kind of a slot, how many elements it holds, which of its keys fall, and the function of
/// its numbers.
type PySlot = (String, u64, Vec<bool>, String);

fn slot_of((kind, count, falling, function): PySlot) -> PyResult<Slot> {
    match kind.as_str() {
        "count" => Ok(Slot::Count),
        "sum" => Ok(Slot::Sum),
        "avg" => Ok(Slot::Average),
        "min" => Ok(Slot::Min),
        "max" => Ok(Slot::Max),
        "numbers" => Ok(Slot::Numbers(function.into())),
        "collect" => Ok(Slot::Collect),
        "first" => Ok(Slot::First(count)),
        "last" => Ok(Slot::Last(count)),
        "best" => Ok(Slot::Best(count, falling.into())),
        "distinct" => Ok(Slot::Distinct),
        "approximate" => Ok(Slot::Approximate),
        _ => Err(PyValueError::new_err(format!("no slot {kind:?}"))),
    }
}

/// What contributes, the position behind it, and the refusal of a row that is too long.
type Sieve = (Vec<SiftedRow>, usize, Option<Refused>);

/// Groups one by one, in the order of the first element of each; see `StreamQuery.merge_groups`.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub(crate) struct GroupParts {
    came: u64,
    firsts: Py<PyBytes>,
    names: Py<PyTexts>,
    parts: Py<PyTexts>,
}

/// Groups that were merged: the place of the first element of each, and its text.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub(crate) struct MergedGroups {
    firsts: Py<PyBytes>,
    texts: Py<PyTexts>,
    colliding: Option<(u64, String)>,
    failed: Option<(u64, String)>,
}

/// A query over the stream of all rows.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct StreamQuery {
    run: Mutex<Option<query::StreamQuery>>,
    /// What came to each stage until the run ended.
    arrived: OnceLock<Vec<u64>>,
    max_memory: u64,
    held_before: u64,
}

#[pymethods]
impl StreamQuery {
    /// `reduction` is one of `lines`, `collect`, `last`, `last_from_end`, `count`, `count_by`, `sum`,
    /// `avg`, `min`, `max`, `group`, `group_by` and `aggregate`; `limit` is the number of elements for
    /// the first four. `prune` is a program that gives the keys of an element, which of them fall, and
    /// how many of the best elements are kept. `slots` are the aggregates of groups: their kinds (see
    /// `slot_of`), how many elements they hold, and which of their keys fall. `max_memory` is what
    /// may be held in all, `held_before` what others hold of it. With `counts_elements`, `arrived`
    /// has the elements that came to each stage.
    #[new]
    #[pyo3(signature = (
        stages, *, reduction, limit, nulls, max_memory, held_before, max_depth, frame = None,
        whole = false, prune = None, slots = Vec::new(), sources = None, cancel = None, counts_elements = false
    ))]
    #[allow(clippy::too_many_arguments, reason = "they have names in Python")]
    fn new(
        stages: Vec<Py<Stage>>,
        reduction: &str,
        limit: Option<u64>,
        nulls: bool,
        max_memory: u64,
        held_before: u64,
        max_depth: u32,
        frame: Option<PyFrame>,
        whole: bool,
        prune: Option<(Vec<u8>, Vec<bool>, u64)>,
        slots: Vec<PySlot>,
        sources: Option<&Sources>,
        cancel: Option<&Cancel>,
        counts_elements: bool,
    ) -> PyResult<Self> {
        let slots = slots.into_iter().map(slot_of).collect::<PyResult<_>>()?;
        let limit = limit.unwrap_or(u64::MAX);
        let reduction = match reduction {
            "lines" => Reduction::Lines(limit, nulls),
            "collect" => Reduction::Collect(limit),
            "last" => Reduction::Last(limit),
            "last_from_end" => Reduction::LastFromEnd(limit),
            "count" => Reduction::Count,
            "count_by" => Reduction::CountBy,
            "index_by" => Reduction::IndexBy,
            "pivot" => Reduction::Pivot,
            "pivot_cells" => Reduction::PivotCells,
            "sum" => Reduction::Sum,
            "avg" => Reduction::Average,
            "min" => Reduction::Min,
            "max" => Reduction::Max,
            "group" => Reduction::Group,
            "group_by" => Reduction::GroupBy,
            "aggregate" => Reduction::Aggregate,
            _ => return Err(PyValueError::new_err(format!("no reduction {reduction:?}"))),
        };
        let stages = stages.iter().map(|stage| stage.get().take()).collect::<PyResult<_>>()?;
        let reading = reading(max_depth, frame, whole)?;
        let watch = || signals::watch(cancel);
        let memory = max_memory.saturating_sub(held_before);
        let run = query::StreamQuery::new(stages, reduction, memory, reading, watch());
        let mut run = run.in_slots(slots);
        if let Some((code, falling, keep)) = prune {
            run = run.pruned(Prune::new(decoded(&code)?, falling, keep, watch()));
        }
        if counts_elements {
            run = run.counting_elements();
        }
        let run = Mutex::new(Some(run.knowing(known(sources))));
        Ok(Self { run, arrived: OnceLock::new(), max_memory, held_before })
    }

    /// Take in the rows of a batch from position `start` on, or from there to the front in
    /// `reverse`, up to one that the query fails on.
    #[pyo3(signature = (batch, start, *, reverse = false))]
    fn answer(
        &self,
        py: Python<'_>,
        batch: &RowBatch,
        start: usize,
        reverse: bool,
    ) -> PyResult<Answers> {
        let (end, obstacle) = py.detach(|| match self.lock().as_mut() {
            Some(run) => take_rows(run, batch, start, reverse),
            None => (start, None),
        });
        signals::raised()?;
        let refused = self.refused(py, obstacle)?;
        Ok(Answers::new(self.lines(py).unbind(), end, refused))
    }

    /// Let the stages know where the rows stand that come from now on.
    fn stand_in(&self, py: Python<'_>, file: String, lines_before: u64, rows_before: u64) {
        let input = Input { file: file.into(), lines_before, rows_before };
        py.detach(|| {
            if let Some(run) = self.lock().as_mut() {
                run.stand_in(input);
            }
        });
    }

    /// Take in what the stages still have when all rows have been; lines of output.
    fn end<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let ended = py.detach(|| self.lock().as_mut().map_or(Ok(()), query::StreamQuery::end));
        signals::raised()?;
        match ended {
            Ok(()) => Ok(self.lines(py)),
            Err(fault) => Err(failed(fault.reason)),
        }
    }

    /// Go on to the rows of a batch from position `start` on, and return those that contribute
    /// elements or that the query fails on, for a query that runs elsewhere. It ends at a row that is
    /// too long to pass on, whose refusal comes with the position behind it.
    fn sift(&self, py: Python<'_>, batch: &RowBatch, start: usize) -> PyResult<Sieve> {
        let (positions, end, obstacle) = py.detach(|| match self.lock().as_mut() {
            Some(run) => sift_rows(run, batch, start),
            None => (Vec::new(), start, None),
        });
        signals::raised()?;
        let mut wanted = positions.into_iter().peekable();
        let sifted = batch.rows.iter().enumerate().filter_map(|(position, row)| {
            wanted.next_if_eq(&position)?;
            let content = PyBytes::new(py, row.content).unbind();
            Some(SiftedRow::new(position, row.content_offset(), content))
        });
        let sifted = sifted.collect();
        Ok((sifted, end, self.refused(py, obstacle)?))
    }

    /// The reduced rows, for the run that `merge`s it. This ends the run.
    fn part<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.taken()?.into_part()))
    }

    /// Take in a part: what the rows behind those so far were reduced to elsewhere.
    fn merge(&self, py: Python<'_>, part: &[u8]) -> PyResult<()> {
        let merged = py.detach(|| self.lock().as_mut().map_or(Ok(()), |run| run.merge(part)));
        signals::raised()?;
        merged.map_err(|fault| failed(fault.reason))?;
        self.within_memory(py)
    }

    /// Take in what another run like this one has reduced the rows behind those so far to. This
    /// ends the other run.
    fn append(&self, py: Python<'_>, other: &Self) -> PyResult<()> {
        let other = other.taken()?;
        let appended = py.detach(|| self.lock().as_mut().map_or(Ok(()), |run| run.append(other)));
        signals::raised()?;
        appended.map_err(|fault| failed(fault.reason))?;
        self.within_memory(py)
    }

    /// The groups so far, each by itself: how many elements came, and of each group how many of
    /// them came before its first, its name and its part. This ends the run.
    fn group_parts(&self, py: Python<'_>) -> PyResult<GroupParts> {
        let run = self.taken()?;
        let parts = py.detach(|| run.into_group_parts()).ok_or_else(too_large)?;
        let firsts = longs(py, &parts.firsts);
        let (names, groups) = (buffers(py, &parts.names)?, buffers(py, &parts.parts)?);
        Ok(GroupParts { came: parts.came, firsts, names, parts: groups })
    }

    /// Take in groups, each with the place of its first element; those of one name come in the
    /// order of their places.
    fn merge_groups(
        &self,
        py: Python<'_>,
        places: Vec<u64>,
        parts: Vec<PyBackedBytes>,
    ) -> PyResult<()> {
        let merged = py.detach(|| {
            let mut lock = self.lock();
            let Some(run) = lock.as_mut() else { return Ok(()) };
            places
                .into_iter()
                .zip(&parts)
                .try_for_each(|(place, part)| run.merge_group(place, part))
        });
        signals::raised()?;
        merged.map_err(|fault| failed(fault.reason))?;
        self.within_memory(py)
    }

    /// The groups that were merged: the places of their first elements, and their texts, each an
    /// array of keys and slots. The place and the reason of the first element whose name came with
    /// two kinds, and of the first group that has no text. This ends the run.
    fn merged_groups(&self, py: Python<'_>) -> PyResult<MergedGroups> {
        let run = self.taken()?;
        let merged = py.detach(|| run.into_merged_groups()).ok_or_else(too_large)?;
        let (firsts, texts) = (longs(py, &merged.firsts), buffers(py, &merged.texts)?);
        Ok(MergedGroups { firsts, texts, colliding: merged.colliding, failed: merged.failed })
    }

    /// Count rows, and the lines that they gave, of a run like this one.
    fn absorb(&self, py: Python<'_>, counts: Counts, lines: u64) {
        py.detach(|| {
            if let Some(run) = self.lock().as_mut() {
                run.absorb(counts.into(), lines);
            }
        });
    }

    /// How many more lines or elements can change the result.
    #[getter]
    fn wanted(&self, py: Python<'_>) -> u64 {
        self.look(py, |run| run.map_or(0, query::StreamQuery::wanted))
    }

    /// Whether no further row can change the result.
    #[getter]
    fn done(&self, py: Python<'_>) -> bool {
        self.look(py, |run| run.is_none_or(query::StreamQuery::done))
    }

    /// Whether the rows are reduced to groups.
    #[getter]
    fn has_groups(&self, py: Python<'_>) -> bool {
        self.groups(py).is_some()
    }

    /// How many bytes may be held in all.
    #[getter]
    fn max_memory(&self) -> u64 {
        self.max_memory
    }

    /// How many bytes are held in all.
    #[getter]
    fn held(&self, py: Python<'_>) -> u64 {
        self.held_before + self.look(py, |run| run.map_or(0, query::StreamQuery::held_bytes))
    }

    /// How many elements are held in order.
    #[getter]
    fn elements(&self, py: Python<'_>) -> u64 {
        self.look(py, |run| run.map_or(0, query::StreamQuery::held_elements))
    }

    /// Count the elements that came to the stages of a run like this one.
    fn absorb_arrived(&self, py: Python<'_>, others: Vec<u64>) {
        py.detach(|| {
            if let Some(run) = self.lock().as_mut() {
                run.absorb_arrived(&others);
            }
        });
    }

    /// How many elements came to each stage, and last how many came out of all of them.
    #[getter]
    fn arrived(&self, py: Python<'_>) -> Vec<u64> {
        let now = || self.look(py, |run| run.map_or_else(Vec::new, |run| run.arrived().to_vec()));
        self.arrived.get().map_or_else(now, Clone::clone)
    }

    /// What was counted so far; `emitted` are the rows that the answer is made of.
    #[getter]
    fn counts(&self, py: Python<'_>) -> Counts {
        self.look(py, |run| run.map_or_else(StreamCounts::default, |run| run.counts)).into()
    }

    /// The result, as JSON. This ends the run.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        match self.taken()?.finish() {
            Ok(text) => Ok(PyBytes::new(py, &text)),
            Err(fault) => Err(failed(fault.reason)),
        }
    }

    /// The table that the last stage has filled. This ends the run.
    fn table(&self) -> PyResult<JoinTable> {
        let table = self.taken()?.into_table();
        table.map(JoinTable::new).ok_or_else(|| PyValueError::new_err("no table was filled"))
    }
}

fn too_large() -> PyErr {
    PyOverflowError::new_err("the groups take more than 2 GiB")
}

impl StreamQuery {
    fn lock(&self) -> MutexGuard<'_, Option<query::StreamQuery>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Read a fact of the run. A run may need the GIL, so wait for its lock without the GIL.
    fn look<T: Send>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(Option<&query::StreamQuery>) -> T + Send,
    ) -> T {
        py.detach(|| read(self.lock().as_ref()))
    }

    /// The lines since the last time.
    fn lines<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        match self.lock().as_mut() {
            None => PyBytes::new(py, b""),
            Some(run) => {
                let lines = PyBytes::new(py, run.lines());
                run.forget_lines();
                lines
            }
        }
    }

    /// The end of the run.
    fn taken(&self) -> PyResult<query::StreamQuery> {
        let run = self.lock().take();
        let run = run.ok_or_else(|| PyValueError::new_err("the run has ended"))?;
        self.arrived.get_or_init(|| run.arrived().to_vec());
        Ok(run)
    }

    /// The refusal of the row that a run stopped at; an error if it stopped for lack of memory.
    fn refused(&self, py: Python<'_>, obstacle: Option<Obstacle>) -> PyResult<Option<Refused>> {
        match obstacle {
            None => Ok(None),
            Some(Obstacle::Row(refusal)) => Ok(Some(refusal.into())),
            Some(Obstacle::Memory(_)) => Err(self.too_much(py)),
        }
    }

    fn within_memory(&self, py: Python<'_>) -> PyResult<()> {
        if self.held(py) > self.max_memory { Err(self.too_much(py)) } else { Ok(()) }
    }

    fn too_much(&self, py: Python<'_>) -> PyErr {
        MemoryExceededError::new_err((self.max_memory, self.groups(py)))
    }

    fn groups(&self, py: Python<'_>) -> Option<u64> {
        self.look(py, |run| run.and_then(query::StreamQuery::groups))
    }
}

/// The error of a query that fails on all rows together, at no place in it.
fn failed(reason: String) -> PyErr {
    QueryFailedError::new_err(("", 0, reason))
}

/// The position behind the last row that was looked at, and what it stopped at.
fn take_rows(
    run: &mut query::StreamQuery,
    batch: &RowBatch,
    start: usize,
    reverse: bool,
) -> (usize, Option<Obstacle>) {
    let rows = batch.rows.texts();
    if reverse { take_each(run, rows.rev(), start) } else { take_each(run, rows, start) }
}

fn take_each<'r>(
    run: &mut query::StreamQuery,
    rows: impl ExactSizeIterator<Item = Row<'r>>,
    start: usize,
) -> (usize, Option<Obstacle>) {
    let count = rows.len();
    for (position, row) in (start..).zip(rows.skip(start)) {
        if run.done() {
            return (position, None);
        }
        if let Err(obstacle) = run.row(row) {
            return (position + 1, Some(obstacle));
        }
    }
    (count, None)
}

/// Positions of the rows that contribute elements or that the query fails on, the position behind
/// the last row that was read, and what it stopped at.
fn sift_rows(
    run: &mut query::StreamQuery,
    batch: &RowBatch,
    start: usize,
) -> (Vec<usize>, usize, Option<Obstacle>) {
    let mut positions = Vec::new();
    for (position, row) in batch.rows.texts().enumerate().skip(start) {
        let (used, too_long) = (run.counts.used, row.too_long.is_some());
        match run.row(row) {
            Err(obstacle) if too_long || matches!(obstacle, Obstacle::Memory(_)) => {
                return (positions, position + 1, Some(obstacle));
            }
            Ok(()) if run.counts.used == used => {}
            _ => positions.push(position),
        }
    }
    (positions, batch.rows.len(), None)
}
