//! Graph indexes: building, checking, going along edges.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use headrace_core::{
    Result,
    graph::{
        self, Adjacency, Degrees, Direction, EdgeFields, EdgeRuns, Edges, Emit, Event, Events,
        Expansion, GraphView, KeyedEdges, Options, Outcome, Plan, Way, Which,
    },
    input::DataFile,
    keys::SetSegments,
    sealed::{BaseDelta, IndexFile},
};
use pyo3::{
    exceptions::{PyKeyboardInterrupt, PyValueError},
    prelude::*,
    sync::MutexExt as _,
    types::{PyList, PyString, PyTuple},
};

use crate::{
    error::{KernelError, to_python},
    key_index::{KeyIndex, KeyScan},
    row_stream::RowStream,
    sealed_index::{
        Collected, PyLines, PyMadeOf, ROWS_AT_ONCE, SealedIndex, open_base_delta, open_empty,
    },
    signals,
    source::File,
};

/// The fields of an edge; see `headrace.kernel.graph.EdgeFields`.
#[derive(FromPyObject)]
pub(crate) struct PyEdgeFields {
    from_: String,
    pred: Option<String>,
    to: String,
}

impl From<PyEdgeFields> for EdgeFields {
    fn from(fields: PyEdgeFields) -> Self {
        Self { from: fields.from_, pred: fields.pred, to: fields.to }
    }
}

/// What to write; see `headrace.kernel.graph.GraphPlan`.
#[derive(FromPyObject)]
pub(crate) struct PyGraphPlan {
    fields: PyEdgeFields,
    reverse: bool,
    version: Option<u32>,
    memory: usize,
    lines: PyLines,
    made_of: PyMadeOf,
    hashes: Vec<u64>,
}

/// Edges that are being sorted.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct GraphRuns {
    runs: Collected<EdgeRuns>,
}

#[pymethods]
impl GraphRuns {
    /// What takes more than `memory` bytes is put into a nameless file in `directory`. Each that
    /// collects for one index has another `number`.
    #[new]
    fn new(directory: PathBuf, memory: usize, number: u32) -> PyResult<Self> {
        let runs = EdgeRuns::new(directory, memory, number).map_err(to_python)?;
        Ok(Self { runs: Collected::new(runs) })
    }

    /// Put the edges of some thousand rows of a stream into it, as `scan` reads them; false when
    /// it has ended, or when nothing more can be put there. There are `before` bytes before the
    /// first one of the stream.
    fn advance(
        &self,
        py: Python<'_>,
        stream: &RowStream,
        scan: &KeyScan,
        before: u64,
    ) -> PyResult<bool> {
        py.detach(|| {
            let (mut stream, mut scan) = (stream.lock(), scan.lock());
            self.runs.with(|into| {
                for _ in 0..ROWS_AT_ONCE {
                    let Some(row) = stream.next_row()? else { return Ok(false) };
                    if scan.key(&row).is_none() {
                        continue;
                    }
                    let place = before + row.offset;
                    let mut parts = scan.parts();
                    let pushed = match [parts.next(), parts.next(), parts.next()] {
                        [Some(from), Some(predicate), Some(to)] => {
                            into.push(from, predicate, to, place)
                        }
                        [Some(from), Some(to), None] => into.push(from, b"", to, place),
                        _ => Ok(()),
                    };
                    if let Err(failure) = pushed {
                        self.runs.fail(failure);
                        return Ok(false);
                    }
                }
                Ok(true)
            })
        })
        .map_err(to_python)
    }

    /// Add the edges that an index has: all of them, or those of its delta only, without one whose
    /// row no newline ended.
    fn keep(&self, py: Python<'_>, index: &GraphIndex, whole: bool) -> PyResult<()> {
        let index = &index.index;
        py.detach(|| {
            self.runs.with(|into| {
                if whole {
                    into.keep(index.base(), index.base_ends())?;
                }
                match index.delta() {
                    Some(delta) if whole => into.keep(delta, u64::MAX),
                    Some(delta) => into.keep(delta, delta.meta().made_of.coverage_end),
                    None => Ok(()),
                }
            })
        })
        .map_err(to_python)
    }

    /// Sort the records; several threads may do so at the same time. Raises an earlier failure as well.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.runs.finish(py, EdgeRuns::finish)
    }

    /// Write all records to a new file, for another process. Raises also what went wrong
    /// before.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.runs.finish(py, |runs| runs.save(&fs::File::create_new(path)?))
    }

    /// The edges or keys that were saved in a file.
    #[staticmethod]
    fn saved(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let runs = py.detach(|| EdgeRuns::saved(&fs::File::open(path)?)).map_err(to_python)?;
        Ok(Self { runs: Collected::new(runs) })
    }
}

/// Version, the reason for it, edges, nodes, predicates, size.
type Written = (u32, Option<String>, u64, u32, u32, u64);

/// Write the index of `runs` to the empty file at `path`; with `base`, the delta of that.
///
/// Raises `KernelError` with `no_room` and the reason.
#[pyfunction]
#[pyo3(signature = (runs, path, plan, base = None))]
pub(crate) fn write_graph_index(
    py: Python<'_>,
    runs: Vec<Py<GraphRuns>>,
    path: PathBuf,
    plan: PyGraphPlan,
    base: Option<Py<GraphIndex>>,
) -> PyResult<Written> {
    let plan = Plan {
        fields: plan.fields.into(),
        reverse: plan.reverse,
        version: plan.version,
        memory: plan.memory,
        lines: plan.lines.into(),
        made_of: plan.made_of.into(),
        hashes: plan.hashes,
        directory: path.parent().map(PathBuf::from).unwrap_or_default(),
    };
    let outcome = py.detach(|| {
        let taken = runs.iter().map(|runs| runs.get().runs.take()).collect::<Result<Vec<_>>>()?;
        let base = base.as_ref().map(|base| &*base.get().index);
        graph::write(taken, base, &open_empty(&path)?, &plan, &|| !signals::caught())
    });
    let outcome = outcome.map_err(to_python)?;
    signals::raised()?;
    match outcome {
        Outcome::Written(made) => {
            let counts = (made.edges, made.nodes, made.predicates);
            let why = made.why.map(Into::into);
            Ok((made.version, why, counts.0, counts.1, counts.2, made.size))
        }
        Outcome::NoRoom(why) => Err(KernelError::new_err(("no_room", why))),
        // Raised above, unless another thread has taken it.
        Outcome::Stopped => Err(PyKeyboardInterrupt::new_err(())),
    }
}

/// A graph index that was opened, with or without a delta.
#[pyclass(frozen, extends = SealedIndex, module = "headrace._native")]
pub(crate) struct GraphIndex {
    pub(crate) index: Arc<BaseDelta<graph::GraphIndex>>,
}

#[pymethods]
impl GraphIndex {
    #[new]
    #[pyo3(signature = (path, delta = None))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        delta: Option<PathBuf>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let index = open_base_delta(py, path, delta, graph::GraphIndex::open)?;
        let sealed = SealedIndex::of(&index);
        Ok(PyClassInitializer::from(sealed).add_subclass(Self { index }))
    }

    /// Whether another index without a delta has the same edges as this one.
    fn has_edges_of(&self, py: Python<'_>, other: &GraphIndex) -> PyResult<bool> {
        let same = py
            .detach(|| self.index.base().has_edges_of(other.index.base(), &|| !signals::caught()));
        let same = same.map_err(to_python)?;
        signals::raised()?;
        Ok(same.unwrap_or(false))
    }

    /// Statistics: nodes, edges, loops, edges of each predicate, degrees of
    /// outgoing and incoming edges, components, and nodes of the largest one.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let found = py.detach(|| graph::stats(&self.index, &|| !signals::caught()));
        let found = found.map_err(to_python)?;
        signals::raised()?;
        // Raised above, unless another thread has taken it.
        let found = found.ok_or_else(|| PyKeyboardInterrupt::new_err(()))?;
        let predicates: Vec<_> =
            found.predicates.iter().map(|(text, count)| (said(text), *count)).collect();
        let degrees =
            |of: &Degrees| (of.none, of.powers.clone(), of.most, said(&of.most_id).into_owned());
        let (out, incoming) = (degrees(&found.out), degrees(&found.incoming));
        let counts = (found.nodes, found.edges, found.loops);
        (counts, predicates, out, incoming, found.components, found.largest)
            .into_pyobject(py)
            .map(Bound::into_any)
    }
}

/// A text of an index. All of them are UTF-8, since rows are.
fn said(text: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(text)
}

/// A way to edges: a graph index, or key indexes on the ends of edges.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct GraphAccess {
    way: Access,
}

enum Access {
    Graph(Arc<BaseDelta<graph::GraphIndex>>),
    Keys {
        fields: EdgeFields,
        ends: [Option<Arc<BaseDelta<SetSegments>>>; 2],
        source: Arc<DataFile>,
        size: u64,
    },
}

#[pymethods]
impl GraphAccess {
    /// Along the edges of a graph index.
    #[staticmethod]
    fn of_graph(index: &GraphIndex) -> Self {
        Self { way: Access::Graph(Arc::clone(&index.index)) }
    }

    /// Along rows of the first `size` bytes of `file`, which key indexes on the fields that edges
    /// come `from` and go `to` lead to.
    #[staticmethod]
    #[pyo3(signature = (fields, file, size, *, from_index = None, to_index = None))]
    fn of_keys(
        fields: PyEdgeFields,
        file: &File,
        size: u64,
        from_index: Option<&KeyIndex>,
        to_index: Option<&KeyIndex>,
    ) -> Self {
        let ends = [from_index, to_index].map(|index| index.map(|index| Arc::clone(&index.index)));
        let source = Arc::clone(&file.data);
        Self { way: Access::Keys { fields: fields.into(), ends, source, size } }
    }

    /// Up to `most` edges of the node with an id, in file order: predicate, the other end, where
    /// its row begins, and whether it comes from the node. `None` if there is no such node.
    #[pyo3(signature = (node, *, direction = "out", predicates = None, most = None))]
    fn edges<'py>(
        &self,
        py: Python<'py>,
        node: &str,
        direction: &str,
        predicates: Option<Vec<String>>,
        most: Option<u64>,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let direction = direction_of(direction)?;
        let found = py.detach(|| {
            let mut view = self.adjacency();
            let Some(number) = view.find(node.as_bytes())? else { return Ok(None) };
            let (predicates, _) = resolved(&mut *view, predicates)?;
            let which = Which { direction, predicates, most };
            let mut edges = Edges::of(&mut *view, number, &which)?;
            let mut found = Vec::new();
            while let Some(next) = edges.next(&mut *view, &which)? {
                let mut id = Vec::new();
                view.id(next.edge.node, &mut id)?;
                found.push((next.edge.predicate, id, next.edge.offset, next.outgoing));
            }
            Ok(Some((found, view)))
        });
        let Some((found, mut view)) = found.map_err(to_python)? else { return Ok(None) };
        let mut texts = Texts::default();
        let edges = PyList::empty(py);
        for (predicate, id, offset, outgoing) in found {
            let predicate = texts.get(py, &mut *view, predicate)?;
            edges.append((predicate, said(&id), offset, outgoing))?;
        }
        Ok(Some(edges))
    }

    /// Go from nodes along edges, level by level. `emit` is `nodes`, `edges` or `tree`; no more
    /// than `limit` nodes, and `most_edges` edges of one node.
    #[pyo3(signature = (
        seeds, *, hops = None, predicates = None, direction = "out", emit = "nodes", limit = None,
        most_edges = None
    ))]
    #[allow(clippy::too_many_arguments, reason = "they have names in Python")]
    fn expand(
        &self,
        py: Python<'_>,
        seeds: Vec<String>,
        hops: Option<u32>,
        predicates: Option<Vec<String>>,
        direction: &str,
        emit: &str,
        limit: Option<u64>,
        most_edges: Option<u64>,
    ) -> PyResult<GraphExpansion> {
        let direction = direction_of(direction)?;
        let emit = match emit {
            "nodes" => Emit::Nodes,
            "edges" => Emit::Edges,
            "tree" => Emit::Tree,
            _ => return Err(PyValueError::new_err(format!("no such emit: {emit}"))),
        };
        let expanding = py.detach(|| {
            let mut view = self.adjacency();
            let (predicates, unknown) = resolved(&mut *view, predicates)?;
            let which = Which { direction, predicates, most: most_edges };
            let seeds = seeds.into_iter().map(String::into_bytes).collect();
            let options = Options { which, hops, limit, emit, ..Options::default() };
            let expansion = Expansion::new(&*view, seeds, options);
            Ok((expansion, view, unknown))
        });
        let (expansion, view, unknown) = expanding.map_err(to_python)?;
        let state =
            Expanding { expansion, view, texts: Texts::default(), steps: Events::default() };
        Ok(GraphExpansion { state: Mutex::new(state), unknown })
    }

    /// The way with the fewest edges from one node to another, at most `hops`: for each edge what
    /// it says, the node it leads to, where its row begins, and whether it is followed in its own
    /// direction. `None` if there is none; raises `LookupError` with the id of a node that is not
    /// there.
    #[pyo3(signature = (start, goal, *, hops = None, predicates = None, direction = "out"))]
    fn shortest_path<'py>(
        &self,
        py: Python<'py>,
        start: &str,
        goal: &str,
        hops: Option<u32>,
        predicates: Option<Vec<String>>,
        direction: &str,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let direction = direction_of(direction)?;
        let found = py.detach(|| {
            let mut view = self.adjacency();
            let (predicates, _) = resolved(&mut *view, predicates)?;
            let which = Which { direction, predicates, most: None };
            let ends = [start.as_bytes(), goal.as_bytes()];
            let way = graph::shortest_path(&mut *view, ends, &which, hops, &|| !signals::caught())?;
            Ok((way, view))
        });
        let (way, mut view) = found.map_err(to_python)?;
        signals::raised()?;
        let hops = match way {
            Way::Found(hops) => hops,
            Way::None => return Ok(None),
            Way::NoNode(id) => {
                return Err(pyo3::exceptions::PyLookupError::new_err(said(&id).into_owned()));
            }
            // Raised above, unless another thread has taken it.
            Way::Stopped => return Err(PyKeyboardInterrupt::new_err(())),
        };
        let mut texts = Texts::default();
        let found = PyList::empty(py);
        for hop in hops {
            let predicate = texts.get(py, &mut *view, hop.predicate)?;
            found.append((predicate, said(&hop.id), hop.offset, hop.outgoing))?;
        }
        Ok(Some(found))
    }
}

impl GraphAccess {
    fn adjacency(&self) -> Box<dyn Adjacency> {
        match &self.way {
            Access::Graph(graph) => Box::new(GraphView::new(Arc::clone(graph))),
            Access::Keys { fields, ends, source, size } => {
                Box::new(KeyedEdges::new(fields, ends.clone(), Arc::clone(source), *size))
            }
        }
    }
}

pub(crate) fn direction_of(text: &str) -> PyResult<Direction> {
    match text {
        "out" => Ok(Direction::Out),
        "in" => Ok(Direction::In),
        "both" => Ok(Direction::Both),
        _ => Err(PyValueError::new_err(format!("no such direction: {text}"))),
    }
}

/// The numbers of predicates, and those that no edge has.
fn resolved(
    view: &mut dyn Adjacency,
    predicates: Option<Vec<String>>,
) -> Result<(Option<Vec<u32>>, Vec<String>)> {
    let Some(predicates) = predicates else { return Ok((None, Vec::new())) };
    let (mut numbers, mut unknown) = (Vec::new(), Vec::new());
    for text in predicates {
        match view.find_predicate(text.as_bytes())? {
            Some(number) => numbers.push(number),
            None => unknown.push(text),
        }
    }
    Ok((Some(numbers), unknown))
}

/// Texts of predicates, which come again and again.
#[derive(Default)]
struct Texts {
    known: std::collections::HashMap<u32, Py<PyString>>,
}

impl Texts {
    fn get<'py>(
        &mut self,
        py: Python<'py>,
        view: &mut dyn Adjacency,
        number: u32,
    ) -> PyResult<Bound<'py, PyString>> {
        if let Some(known) = self.known.get(&number) {
            return Ok(known.bind(py).clone());
        }
        let mut text = Vec::new();
        view.predicate(number, &mut text).map_err(to_python)?;
        let text = PyString::new(py, &said(&text));
        self.known.insert(number, text.clone().unbind());
        Ok(text)
    }
}

struct Expanding {
    expansion: Expansion,
    view: Box<dyn Adjacency>,
    texts: Texts,
    /// Events that were returned; their memory is used again.
    steps: Events,
}

/// Nodes to begin with, and all that can be reached from them.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct GraphExpansion {
    state: Mutex<Expanding>,
    unknown: Vec<String>,
}

#[pymethods]
impl GraphExpansion {
    /// About `most` more events, none at the end. A node is its id, its level and the predicate
    /// that led to it; an edge is from, predicate, to, the byte of its row, and whether it reached
    /// its node first.
    fn advance<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Bound<'py, PyList>> {
        let steps = py.detach(|| {
            let mut state = self.lock();
            let Expanding { expansion, view, steps, .. } = &mut *state;
            let mut steps = std::mem::take(steps);
            steps.clear();
            expansion.advance(&mut **view, most, &|| !signals::caught(), &mut steps)?;
            Ok(steps)
        });
        let steps = steps.map_err(to_python)?;
        signals::raised()?;
        let mut state = self.lock_attached(py);
        let Expanding { view, texts, .. } = &mut *state;
        let events = PyList::empty(py);
        for &step in steps.list() {
            events.append(as_tuple(py, step, &steps, &mut **view, texts)?)?;
        }
        state.steps = steps;
        Ok(events)
    }

    /// Nodes to begin with that the graph does not have, so far.
    #[getter]
    fn missing(&self, py: Python<'_>) -> Vec<String> {
        self.lock_attached(py).expansion.missing().iter().map(|id| said(id).into_owned()).collect()
    }

    /// Requested predicates that no edge has, as far as that is known.
    #[getter]
    fn unknown(&self) -> Vec<String> {
        self.unknown.clone()
    }

    /// Whether the limit left nodes out.
    #[getter]
    fn truncated(&self, py: Python<'_>) -> bool {
        self.lock_attached(py).expansion.truncated()
    }

    /// How many nodes have more edges than were followed.
    #[getter]
    fn capped(&self, py: Python<'_>) -> u64 {
        self.lock_attached(py).expansion.capped()
    }
}

impl GraphExpansion {
    /// Go on with it.
    pub(crate) fn with<T>(
        &self,
        go: impl FnOnce(&mut Expansion, &mut dyn Adjacency) -> Result<T>,
    ) -> Result<T> {
        let mut state = self.lock();
        let Expanding { expansion, view, .. } = &mut *state;
        go(expansion, &mut **view)
    }

    /// The thread that holds the lock may need the GIL, so wait for the lock without the GIL.
    fn lock_attached<'s>(&'s self, py: Python<'_>) -> MutexGuard<'s, Expanding> {
        self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Expanding> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn as_tuple<'py>(
    py: Python<'py>,
    event: Event,
    events: &Events,
    view: &mut dyn Adjacency,
    texts: &mut Texts,
) -> PyResult<Bound<'py, PyTuple>> {
    let id = |id| said(events.text(id));
    match event {
        Event::Node { id: node, level, via } => {
            let via = via.map(|number| texts.get(py, view, number)).transpose()?;
            (id(node), level, via).into_pyobject(py)
        }
        Event::Edge { from, predicate, to, offset, leads } => {
            let predicate = texts.get(py, view, predicate)?;
            (id(from), predicate, id(to), offset, leads).into_pyobject(py)
        }
    }
}
