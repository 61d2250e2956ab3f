//! Edges of a graph, and what is reached along them, as columns.

use headrace_core::graph::{
    columns::{Texts, columns},
    reached::reached,
};
use pyo3::{exceptions::PyKeyboardInterrupt, prelude::*, types::PyBytes};

use crate::{
    error::to_python,
    graph::{GraphExpansion, GraphIndex},
    signals,
};
/// Texts as Arrow has them: 64-bit places at which they begin, and the bytes.
pub(crate) type ArrowTexts<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// All edges in file order: the ids of nodes, the texts of predicates, and for each edge where it
/// comes from, what it says, where it goes (numbers of 32 bits) and where its row begins (64 bits).
#[pyfunction]
#[allow(clippy::type_complexity, reason = "it has names in Python")]
pub(crate) fn graph_columns<'py>(
    py: Python<'py>,
    index: &GraphIndex,
) -> PyResult<(
    ArrowTexts<'py>,
    ArrowTexts<'py>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
)> {
    let found = py.detach(|| columns(&index.index, &|| !signals::caught()));
    let found = found.map_err(to_python)?;
    signals::raised()?;
    // Raised above, unless somebody has taken it.
    let found = found.ok_or_else(|| PyKeyboardInterrupt::new_err(()))?;
    Ok((
        texts(py, &found.nodes),
        texts(py, &found.predicates),
        numbers(py, &found.from),
        numbers(py, &found.predicate),
        numbers(py, &found.to),
        PyBytes::new(py, &bytes(found.offset.iter().map(|place| place.to_ne_bytes()))),
    ))
}

/// All nodes that an expansion comes upon: their ids, how many edges away they are (32 bits), and
/// of the predicates that led to them the texts, which one it is (32 bits), and for which there is
/// one (a bit for each, the lowest first).
#[pyfunction]
#[allow(clippy::type_complexity, reason = "it has names in Python")]
pub(crate) fn reached_columns<'py>(
    py: Python<'py>,
    expansion: &GraphExpansion,
) -> PyResult<(
    ArrowTexts<'py>,
    Bound<'py, PyBytes>,
    ArrowTexts<'py>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
)> {
    let found = py.detach(|| {
        expansion.with(|expansion, view| reached(expansion, view, &|| !signals::caught()))
    });
    let found = found.map_err(to_python)?;
    signals::raised()?;
    // Raised above, unless somebody has taken it.
    let found = found.ok_or_else(|| PyKeyboardInterrupt::new_err(()))?;
    Ok((
        texts(py, &found.nodes),
        numbers(py, &found.level),
        texts(py, &found.predicates),
        numbers(py, &found.via),
        PyBytes::new(py, &found.led),
    ))
}

pub(crate) fn texts<'py>(py: Python<'py>, texts: &Texts) -> ArrowTexts<'py> {
    let begins = [0].iter().chain(&texts.ends).map(|place| place.to_ne_bytes());
    (PyBytes::new(py, &bytes(begins)), PyBytes::new(py, &texts.bytes))
}

fn numbers<'py>(py: Python<'py>, numbers: &[u32]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &bytes(numbers.iter().map(|number| number.to_ne_bytes())))
}

pub(crate) fn bytes<const N: usize>(numbers: impl Iterator<Item = [u8; N]>) -> Vec<u8> {
    numbers.flatten().collect()
}
