//! Queries: the table of builtins, and programs run over each row.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bumpalo::Bump;
use headrace_core::{
    json::Limits,
    query::{
        self, BUILTINS, FormatSpec, Frame, Input, Known, Machine, NullPayload, Output, Parameter,
        Reading, Watch, Writing,
    },
    value::{Kept, Tape, values_of, write_json},
};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyBytes, PyString},
};

use crate::{
    answers::{Answers, Counts, Refused},
    batch::RowBatch,
    error::{QueryFailedError, invalid_json},
    signals::{self, Cancel},
};

type BuiltinRow =
    (String, Vec<String>, String, Vec<(String, String, bool)>, usize, String, Vec<[String; 3]>);

/// Name, aliases, group, parameters, required, doc and examples of every builtin.
#[pyfunction]
pub(crate) fn builtins() -> Vec<BuiltinRow> {
    let all = BUILTINS.iter().flat_map(|group| group.iter());
    all.map(|builtin| {
        (
            builtin.name.to_owned(),
            builtin.aliases.iter().map(ToString::to_string).collect(),
            builtin.group.to_owned(),
            builtin.parameters.iter().copied().map(parameter).collect(),
            builtin.required,
            builtin.doc.to_owned(),
            builtin.examples.iter().map(|example| example.map(ToOwned::to_owned)).collect(),
        )
    })
    .collect()
}

/// What is wrong with a text as the argument of this name, if no row can make it right.
#[pyfunction]
pub(crate) fn wrong_literal(parameter: &str, text: &str) -> Option<String> {
    query::check_literal(parameter, text).err()
}

fn parameter(parameter: Parameter) -> (String, String, bool) {
    let (kind, name, repeated) = match parameter {
        Parameter::Value(name) => ("value", name, false),
        Parameter::Each(name) => ("each", name, false),
        Parameter::Either(name) => ("either", name, false),
        Parameter::Name(name) => ("name", name, false),
        Parameter::EachRest(name) => ("each", name, true),
        Parameter::NameRest(name) => ("name", name, true),
        Parameter::ValueRest(name) => ("value", name, true),
    };
    (kind.to_owned(), name.to_owned(), repeated)
}

/// Why a format of an f-string means nothing; `None` if it does.
#[pyfunction]
pub(crate) fn format_problem(spec: &str) -> Option<String> {
    FormatSpec::parse(spec).err()
}

/// The first group that a template names and its pattern has not.
#[pyfunction]
pub(crate) fn unknown_group(pattern: &str, template: &str) -> Option<String> {
    query::unknown_group(pattern, template).map(ToOwned::to_owned)
}

pub(crate) fn decoded(code: &[u8]) -> PyResult<query::Program> {
    query::decode(code).map_err(|malformed| PyValueError::new_err(malformed.0))
}

/// A query that is ready to run: its text and its code. It can be sent to another process.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct Program {
    pub(crate) core: Arc<query::Program>,
    #[pyo3(get)]
    query: Py<PyString>,
    #[pyo3(get)]
    code: Py<PyBytes>,
}

#[pymethods]
impl Program {
    #[new]
    fn new(py: Python<'_>, query: Py<PyString>, code: Py<PyBytes>) -> PyResult<Self> {
        match query::decode(code.as_bytes(py)) {
            Ok(program) => Ok(Self { core: Arc::new(program), query, code }),
            Err(malformed) => Err(QueryFailedError::new_err((query, 0, malformed.0))),
        }
    }

    fn __getnewargs__(&self, py: Python<'_>) -> (Py<PyString>, Py<PyBytes>) {
        (self.query.clone_ref(py), self.code.clone_ref(py))
    }

    /// The answer over one document, as JSON.
    #[pyo3(signature = (document, max_depth, sources = None))]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        document: &[u8],
        max_depth: u32,
        sources: Option<&Sources>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let query = self.query.clone_ref(py);
        let answer: PyResult<Vec<u8>> = py.detach(|| {
            let arena = Bump::new();
            let mut tape = Tape::once();
            let document = tape
                .parse(document, &Limits { max_depth })
                .map_err(|error| invalid_json(&error))?;
            let sources = sources.map_or(&[][..], |sources| values_of(&sources.values, &arena));
            let known = Known { sources, place: None };
            let watch = Watch::new(signals::caught);
            let mut machine =
                Machine::new(&self.core, &arena, document.root(), &watch).knowing(known);
            let value = machine.run().map_err(|fault| {
                let (start, _) = fault.expr.map_or((0, 0), |expr| self.core.span(expr));
                QueryFailedError::new_err((query, start, fault.reason))
            })?;
            let mut out = Vec::new();
            write_json(value, &mut out, &arena);
            Ok(out)
        });
        signals::raised()?;
        answer.map(|answer| PyBytes::new(py, &answer))
    }
}

/// Lines of a key, a separator and JSON; see `headrace.kernel.programs.Frame`.
#[derive(FromPyObject)]
pub(crate) struct PyFrame {
    separator: String,
    null_payload: String,
}

pub(crate) fn reading(max_depth: u32, frame: Option<PyFrame>, whole: bool) -> PyResult<Reading> {
    let frame = match frame {
        None => None,
        Some(PyFrame { separator, null_payload }) => {
            let separator = separator.into_bytes();
            let null_payload = match null_payload.as_str() {
                "skip" => NullPayload::Skip,
                "keep" => NullPayload::Keep,
                "error" => NullPayload::Refuse,
                _ => {
                    return Err(PyValueError::new_err(format!("no null payload {null_payload:?}")));
                }
            };
            Some(Frame { separator, null_payload })
        }
    };
    Ok(Reading { limits: Limits { max_depth }, frame, whole })
}

/// Values that programs have by number: what was found of other rows before.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct Sources {
    values: Arc<[Kept]>,
}

#[pymethods]
impl Sources {
    #[new]
    fn new(values: Vec<String>, max_depth: u32) -> PyResult<Self> {
        let kept = values.into_iter().map(|text| Kept::new(text, &Limits { max_depth }));
        let kept = kept.collect::<Result<Vec<_>, _>>();
        let kept = kept.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { values: kept.into() })
    }
}

pub(crate) fn known(sources: Option<&Sources>) -> Arc<[Kept]> {
    sources.map_or_else(|| Arc::new([]) as Arc<[Kept]>, |sources| Arc::clone(&sources.values))
}

/// A query over rows, each by itself.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct RowQuery {
    run: Mutex<RowRun>,
}

struct RowRun {
    rows: query::RowQuery,
    /// Lines of output, used again for each batch.
    out: Vec<u8>,
}

#[pymethods]
impl RowQuery {
    /// `output` is "answer", "elements" or "match"; it is done when `limit` lines were written.
    #[new]
    #[pyo3(signature = (
        program, *, output, nulls, limit, max_depth, frame = None, whole = false, sources = None,
        cancel = None
    ))]
    #[allow(clippy::too_many_arguments, reason = "they have names in Python")]
    fn new(
        program: &Program,
        output: &str,
        nulls: bool,
        limit: Option<u64>,
        max_depth: u32,
        frame: Option<PyFrame>,
        whole: bool,
        sources: Option<&Sources>,
        cancel: Option<&Cancel>,
    ) -> PyResult<Self> {
        let output = match output {
            "answer" => Output::Answer,
            "elements" => Output::Elements,
            "match" => Output::Match,
            _ => return Err(PyValueError::new_err(format!("no output {output:?}"))),
        };
        let writing = Writing { output, nulls, limit: limit.unwrap_or(u64::MAX) };
        let program = Arc::clone(&program.core);
        let reading = reading(max_depth, frame, whole)?;
        let rows = query::RowQuery::new(program, writing, reading, signals::watch(cancel));
        let rows = rows.knowing(known(sources));
        Ok(Self { run: Mutex::new(RowRun { rows, out: Vec::new() }) })
    }

    /// Answers for the rows of a batch from position `start` on, or from there to the front in
    /// `reverse`, up to one that the query fails on.
    #[pyo3(signature = (batch, start, *, reverse = false))]
    fn answer(
        &self,
        py: Python<'_>,
        batch: &RowBatch,
        start: usize,
        reverse: bool,
    ) -> PyResult<Answers> {
        let (end, refusal) = py.detach(|| {
            let mut run = self.lock();
            let RowRun { rows, out } = &mut *run;
            out.clear();
            let mut end = start;
            let mut evaluate = |row| {
                end += 1;
                rows.row(row, out).map(|()| rows.done())
            };
            let batch = batch.rows.texts();
            let ended = if reverse {
                batch.rev().skip(start).map(&mut evaluate).find(|outcome| *outcome != Ok(false))
            } else {
                batch.skip(start).map(&mut evaluate).find(|outcome| *outcome != Ok(false))
            };
            (end, ended.and_then(std::result::Result::err))
        });
        signals::raised()?;
        let lines = PyBytes::new(py, &self.lock().out).unbind();
        Ok(Answers::new(lines, end, refusal.map(Refused::from)))
    }

    /// Let the program know where the rows stand that come from now on.
    fn stand_in(&self, file: String, lines_before: u64, rows_before: u64) {
        self.lock().rows.stand_in(Input { file: file.into(), lines_before, rows_before });
    }

    /// Count rows, and the lines that they gave, of a run like this one.
    fn absorb(&self, counts: Counts, lines: u64) {
        self.lock().rows.absorb(counts.into(), lines);
    }

    /// How many more lines may be written.
    #[getter]
    fn wanted(&self) -> u64 {
        self.lock().rows.wanted()
    }

    /// Whether `limit` lines were written.
    #[getter]
    fn done(&self) -> bool {
        self.lock().rows.done()
    }

    /// What was counted so far.
    #[getter]
    fn counts(&self) -> Counts {
        self.lock().rows.counts.into()
    }
}

impl RowQuery {
    fn lock(&self) -> MutexGuard<'_, RowRun> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
