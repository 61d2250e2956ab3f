//! The edges of some nodes among rows that are read in order.

use headrace_core::graph::edge_scan::{self, ScannedEdges};
use pyo3::{prelude::*, types::PyBytes};

use crate::{
    error::to_python,
    graph::direction_of,
    graph_columns::{ArrowTexts, bytes, texts},
    key_index::KeyScan,
    stream::RowStream,
};

/// How many rows are looked at before a lock is given up.
const ROWS_AT_ONCE: usize = 1 << 14;

/// Places of nodes, ids of nodes, predicates, other ends, where rows begin, and whether edges come
/// from their nodes: numbers of 64 bits, and of 8 the last.
type Columns<'py> = (
    Bound<'py, PyBytes>,
    ArrowTexts<'py>,
    ArrowTexts<'py>,
    ArrowTexts<'py>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
);

/// Finds the edges of nodes.
#[pyclass(frozen, name = "EdgeSift", module = "headrace._native")]
pub(crate) struct EdgeScan {
    scan: edge_scan::EdgeScan,
}

#[pymethods]
impl EdgeScan {
    /// Those of `nodes`, each once, which are known by their places, or of all, which are known by
    /// their ids.
    #[new]
    #[pyo3(signature = (nodes, *, predicates = None, direction = "out"))]
    fn new(
        nodes: Option<Vec<String>>,
        predicates: Option<Vec<String>>,
        direction: &str,
    ) -> PyResult<Self> {
        let direction = direction_of(direction)?;
        let texts = |texts: Vec<String>| texts.into_iter().map(String::into_bytes).collect();
        Ok(Self {
            scan: edge_scan::EdgeScan::new(nodes.map(texts), predicates.map(texts), direction),
        })
    }

    /// Find edges among some thousand rows of a stream, as `scan` reads them; `None` when it has
    /// ended.
    fn advance<'py>(
        &self,
        py: Python<'py>,
        stream: &RowStream,
        scan: &KeyScan,
    ) -> PyResult<Option<Columns<'py>>> {
        let found = py.detach(|| {
            let (mut stream, mut scan) = (stream.lock(), scan.lock());
            let mut found = ScannedEdges::default();
            for looked_at in 0..ROWS_AT_ONCE {
                let Some(row) = stream.next_row()? else {
                    return Ok((looked_at > 0).then_some(found));
                };
                if scan.key(&row).is_none() {
                    continue;
                }
                let mut parts = scan.parts();
                match [parts.next(), parts.next(), parts.next()] {
                    [Some(from), Some(predicate), Some(to)] => {
                        self.scan.take(from, predicate, to, row.offset, &mut found);
                    }
                    [Some(from), Some(to), None] => {
                        self.scan.take(from, b"", to, row.offset, &mut found);
                    }
                    _ => {}
                }
            }
            Ok(Some(found))
        });
        let Some(found) = found.map_err(to_python)? else { return Ok(None) };
        let numbers = |numbers: &[u64]| {
            PyBytes::new(py, &bytes(numbers.iter().map(|number| number.to_ne_bytes())))
        };
        Ok(Some((
            numbers(&found.places),
            texts(py, &found.ids),
            texts(py, &found.predicates),
            texts(py, &found.nodes),
            numbers(&found.offsets),
            PyBytes::new(py, &found.outgoing),
        )))
    }
}
