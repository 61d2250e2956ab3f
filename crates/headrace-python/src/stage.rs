//! Stages of a stream, and the tables that joins look into.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use headrace_core::{
    query::{self, Join, JoinKind, Keep, Partners},
    value::{Lanes, Tape},
};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};

/// The elements of one side of a join by their keys.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct JoinTable {
    table: Arc<query::JoinTable>,
}

impl JoinTable {
    pub(crate) fn new(table: query::JoinTable) -> Self {
        Self { table: Arc::new(table) }
    }
}

#[pymethods]
impl JoinTable {
    /// How much memory it takes, about.
    #[getter]
    fn held(&self) -> u64 {
        self.table.bytes()
    }

    /// Its keys as JSON; `None` if they are more than `most`.
    fn keys<'py>(&self, py: Python<'py>, most: usize) -> Option<Vec<Bound<'py, PyBytes>>> {
        let keys = self.table.keys(most)?;
        Some(keys.into_iter().map(|key| PyBytes::new(py, key)).collect())
    }
}

/// A stage of a stream, for one run.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct Stage {
    stage: Mutex<Option<query::Stage>>,
}

impl Stage {
    fn new(stage: query::Stage) -> Self {
        Self { stage: Mutex::new(Some(stage)) }
    }

    pub(crate) fn take(&self) -> PyResult<query::Stage> {
        let stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner).take();
        stage.ok_or_else(|| PyValueError::new_err("a stage serves one run"))
    }
}

fn program(code: &[u8]) -> PyResult<query::Program> {
    query::decode(code).map_err(|malformed| PyValueError::new_err(malformed.0))
}

fn kind_of(kind: &str) -> PyResult<JoinKind> {
    Ok(match kind {
        "join" => JoinKind::Inner,
        "left_join" => JoinKind::Left,
        "lookup" => JoinKind::Lookup,
        "diff" => JoinKind::Diff,
        "intersect" => JoinKind::Intersect,
        _ => return Err(PyValueError::new_err(format!("no join {kind:?}"))),
    })
}

#[pymethods]
impl Stage {
    /// A stage without a second stream: its kind, and the code of its program or a count.
    #[staticmethod]
    fn plain(kind: &str, code: Option<&[u8]>, count: u64) -> PyResult<Self> {
        let program = || program(code.unwrap_or_default());
        Ok(Self::new(match kind {
            "each" => query::Stage::Each(program()?),
            "distinct" => query::Stage::Distinct(program()?, HashSet::new()),
            "take" => query::Stage::Take(count),
            "skip" => query::Stage::Skip(count),
            "take_while" => query::Stage::TakeWhile(program()?),
            "drop_while" => query::Stage::DropWhile(program()?, false),
            _ => return Err(PyValueError::new_err(format!("no stage {kind:?}"))),
        }))
    }

    /// Elements joined with those of a table that have the same key.
    #[staticmethod]
    fn join(kind: &str, key: &[u8], table: &JoinTable, name: Option<String>) -> PyResult<Self> {
        Ok(Self::new(query::Stage::Join(Box::new(Join {
            kind: kind_of(kind)?,
            key: program(key)?,
            table: Arc::clone(&table.table),
            name,
            scratch: (Vec::new(), Tape::learning(Lanes::all())),
        }))))
    }

    /// All elements, which fill the table that a join of this kind needs. Only keys of `wanted`
    /// are kept, if that is given. Without a kind, just the keys are.
    #[staticmethod]
    fn table(kind: Option<&str>, key: &[u8], wanted: Option<&JoinTable>) -> PyResult<Self> {
        let keep = kind.map_or(Ok(Keep::Keys), |kind| kind_of(kind).map(JoinKind::keep))?;
        let wanted = wanted.map(|wanted| Arc::clone(&wanted.table));
        Ok(Self::new(query::Stage::Table(program(key)?, query::JoinTable::new(keep, wanted))))
    }

    /// Each element with the one at the same place among those that `more` gives: it returns
    /// further lines of JSON each time it is called, none at the end, and raises nothing.
    #[staticmethod]
    fn zip(more: Py<PyAny>, longest: bool) -> Self {
        let lines =
            move || Python::attach(|py| more.call0(py).and_then(|lines| lines.extract(py)).ok());
        Self::new(query::Stage::Zip(Partners::new(Box::new(lines), longest)))
    }
}
