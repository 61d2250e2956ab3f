//! Edge scan: the edges of some nodes among rows that are read in order.

use headrace_core::graph;
use pyo3::{prelude::*, types::PyBytes};

use crate::{
    error::to_python,
    graph::direction_of,
    graph_columns::{LargeTexts, bytes, texts},
    key_index::KeyScan,
    row_stream::RowStream,
};

/// How many rows are read under one lock.
const ROWS_AT_ONCE: usize = 1 << 14;

/// Matching edges in the order of the rows, each from the side of a wanted node.
///
/// The nodes are 64-bit `places` in the request, or `ids` if all nodes are wanted; `nodes` are those
/// at the other ends. `offsets` are 64-bit; a byte of `outgoing` is 1 if the edge leaves its node.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub(crate) struct ScannedEdges {
    places: Py<PyBytes>,
    ids: Py<LargeTexts>,
    predicates: Py<LargeTexts>,
    nodes: Py<LargeTexts>,
    offsets: Py<PyBytes>,
    outgoing: Py<PyBytes>,
}

#[pymethods]
impl ScannedEdges {
    fn __len__(&self, py: Python<'_>) -> usize {
        self.outgoing.as_bytes(py).len()
    }
}

/// Finds the edges of some nodes by reading every edge.
#[pyclass(frozen, module = "headrace._native")]
pub(crate) struct EdgeScan {
    scan: graph::EdgeScan,
}

#[pymethods]
impl EdgeScan {
    /// `nodes`: the wanted nodes, each once [default: all].
    #[new]
    #[pyo3(signature = (nodes, *, predicates = None, direction = "out"))]
    fn new(
        nodes: Option<Vec<String>>,
        predicates: Option<Vec<String>>,
        direction: &str,
    ) -> PyResult<Self> {
        let direction = direction_of(direction)?;
        let texts = |texts: Vec<String>| texts.into_iter().map(String::into_bytes).collect();
        Ok(Self { scan: graph::EdgeScan::new(nodes.map(texts), predicates.map(texts), direction) })
    }

    /// Scan the next thousands of rows of a stream, as `scan` reads them; `None` at its end.
    fn advance(
        &self,
        py: Python<'_>,
        stream: &RowStream,
        scan: &KeyScan,
    ) -> PyResult<Option<ScannedEdges>> {
        let found = py.detach(|| {
            let (mut stream, mut scan) = (stream.lock(), scan.lock());
            let mut found = graph::ScannedEdges::default();
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
        let numbers =
            |numbers: &[u64]| bytes(py, numbers.iter().map(|number| number.to_ne_bytes()));
        Ok(Some(ScannedEdges {
            places: numbers(&found.places),
            ids: texts(py, &found.ids)?,
            predicates: texts(py, &found.predicates)?,
            nodes: texts(py, &found.nodes)?,
            offsets: numbers(&found.offsets),
            outgoing: PyBytes::new(py, &found.outgoing).unbind(),
        }))
    }
}
