//! Edges of a graph, and what is reached along them, as columns.

use headrace_core::graph::{Texts, columns, reached};
use pyo3::{exceptions::PyKeyboardInterrupt, prelude::*, types::PyBytes};

use crate::{
    error::to_python,
    graph::{GraphExpansion, GraphIndex},
    signals,
};
/// Texts in Arrow's layout of large strings.
///
/// `places` has the 64-bit byte at which each text begins, and that at which the last one ends.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub(crate) struct LargeTexts {
    places: Py<PyBytes>,
    data: Py<PyBytes>,
}

#[pymethods]
impl LargeTexts {
    fn __len__(&self, py: Python<'_>) -> usize {
        self.places.as_bytes(py).len() / size_of::<u64>() - 1
    }

    /// The texts, one by one.
    fn listed(&self, py: Python<'_>) -> Vec<String> {
        let (places, data) = (self.places.as_bytes(py), self.data.as_bytes(py));
        let (places, _) = places.as_chunks();
        let places: Vec<_> = places.iter().map(|place| u64::from_ne_bytes(*place)).collect();
        let text = |ends: &[u64]| {
            let [start, end] = [ends[0], ends[1]].map(|end| usize::try_from(end).unwrap_or(0));
            String::from_utf8_lossy(&data[start..end]).into_owned()
        };
        places.windows(2).map(text).collect()
    }
}

/// Edges in file order. Nodes and predicates are 32-bit numbers, in the order in which edges first
/// have them; `offset` has the 64-bit byte at which the row of each edge begins.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub(crate) struct GraphColumns {
    nodes: Py<LargeTexts>,
    predicates: Py<LargeTexts>,
    from_: Py<PyBytes>,
    pred: Py<PyBytes>,
    to: Py<PyBytes>,
    offset: Py<PyBytes>,
}

/// Nodes in the order in which an expansion reaches them, with 32-bit levels.
///
/// `via` are 32-bit indexes into `predicates`; `led` is the validity bitmap of `via`: seeds have no
/// predicate.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub(crate) struct ReachedColumns {
    nodes: Py<LargeTexts>,
    level: Py<PyBytes>,
    predicates: Py<LargeTexts>,
    via: Py<PyBytes>,
    led: Py<PyBytes>,
}

/// All edges of a graph index.
#[pyfunction]
pub(crate) fn graph_columns(py: Python<'_>, index: &GraphIndex) -> PyResult<GraphColumns> {
    let found = py.detach(|| columns(&index.index, &|| !signals::caught()));
    let found = found.map_err(to_python)?;
    signals::raised()?;
    // Raised above, unless another thread has taken it.
    let found = found.ok_or_else(|| PyKeyboardInterrupt::new_err(()))?;
    Ok(GraphColumns {
        nodes: texts(py, &found.nodes)?,
        predicates: texts(py, &found.predicates)?,
        from_: numbers(py, &found.from),
        pred: numbers(py, &found.predicate),
        to: numbers(py, &found.to),
        offset: bytes(py, found.offset.iter().map(|place| place.to_ne_bytes())),
    })
}

/// All nodes that an expansion reaches.
#[pyfunction]
pub(crate) fn reached_columns(
    py: Python<'_>,
    expansion: &GraphExpansion,
) -> PyResult<ReachedColumns> {
    let found = py.detach(|| {
        expansion.with(|expansion, view| reached(expansion, view, &|| !signals::caught()))
    });
    let found = found.map_err(to_python)?;
    signals::raised()?;
    // Raised above, unless another thread has taken it.
    let found = found.ok_or_else(|| PyKeyboardInterrupt::new_err(()))?;
    Ok(ReachedColumns {
        nodes: texts(py, &found.nodes)?,
        level: numbers(py, &found.level),
        predicates: texts(py, &found.predicates)?,
        via: numbers(py, &found.via),
        led: PyBytes::new(py, &found.led).unbind(),
    })
}

pub(crate) fn texts(py: Python<'_>, texts: &Texts) -> PyResult<Py<LargeTexts>> {
    let places = [0].iter().chain(&texts.ends).map(|place| place.to_ne_bytes());
    let data = PyBytes::new(py, &texts.bytes).unbind();
    Py::new(py, LargeTexts { places: bytes(py, places), data })
}

fn numbers(py: Python<'_>, numbers: &[u32]) -> Py<PyBytes> {
    bytes(py, numbers.iter().map(|number| number.to_ne_bytes()))
}

pub(crate) fn bytes<const N: usize>(
    py: Python<'_>,
    numbers: impl Iterator<Item = [u8; N]>,
) -> Py<PyBytes> {
    PyBytes::new(py, &numbers.flatten().collect::<Vec<u8>>()).unbind()
}
