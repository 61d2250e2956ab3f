//! All edges of a graph, as columns.

use std::{collections::HashMap, sync::Arc};

use super::{
    GraphIndex,
    adjacency::{Adjacency, GraphView},
};
use crate::{
    Result,
    sealed::{BaseDelta, unusable},
};

/// Edges between two questions whether to go on.
const CHECK_EVERY: usize = 1 << 16;

/// Texts behind each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// All of their bytes.
    pub bytes: Vec<u8>,
    /// Where each of them ends.
    pub ends: Vec<u64>,
}

impl Texts {
    pub(super) fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len() as u64);
    }
}

/// Edges in the order of the file. Nodes and predicates have numbers in the order in which edges
/// first have them, a node that an edge comes from before the one that it goes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The ids of nodes.
    pub nodes: Texts,
    /// The texts of predicates.
    pub predicates: Texts,
    /// The node that each edge comes from.
    pub from: Vec<u32>,
    /// The predicate of each edge.
    pub predicate: Vec<u32>,
    /// The node that each edge goes to.
    pub to: Vec<u32>,
    /// Where the row of each edge begins.
    pub offset: Vec<u64>,
}

/// An edge as the index numbers it.
struct Listed {
    offset: u64,
    from: u64,
    to: u64,
    predicate: u32,
}

/// Take all edges of a graph into memory; `None` if `go_on` returns false.
///
/// # Errors
/// [`crate::ErrorKind::Sidecar`] where the index is damaged, or there are more than 2³² nodes.
pub fn columns(
    graph: &Arc<BaseDelta<GraphIndex>>,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Columns>> {
    let mut view = GraphView::new(Arc::clone(graph));
    let mut edges = Vec::new();
    let parts = [Some(graph.base()), graph.delta()];
    for (index, in_delta) in parts.into_iter().flatten().zip([false, true]) {
        if !list(index, in_delta, &mut view, &mut edges, go_on)? {
            return Ok(None);
        }
    }
    edges.sort_unstable_by_key(|edge| edge.offset);
    let mut columns = Columns::default();
    let (mut nodes, mut predicates) = (HashMap::new(), HashMap::new());
    let mut text = Vec::new();
    for edge in edges {
        for (node, column) in [(edge.from, &mut columns.from), (edge.to, &mut columns.to)] {
            let number = u32::try_from(nodes.len());
            let number = number.map_err(|_| unusable(0, "too many nodes to be columns"))?;
            let number = *nodes.entry(node).or_insert(number);
            if number as usize == columns.nodes.ends.len() {
                view.id(node, &mut text)?;
                columns.nodes.push(&text);
            }
            column.push(number);
        }
        // Predicates have numbers of 32 bits, so there are not more.
        let number = u32::try_from(predicates.len()).unwrap_or(u32::MAX);
        let number = *predicates.entry(edge.predicate).or_insert(number);
        if number as usize == columns.predicates.ends.len() {
            view.predicate(edge.predicate, &mut text)?;
            columns.predicates.push(&text);
        }
        columns.predicate.push(number);
        columns.offset.push(edge.offset);
        if columns.offset.len().is_multiple_of(CHECK_EVERY) && !go_on() {
            return Ok(None);
        }
    }
    Ok(Some(columns))
}

/// Add the edges of a base, or of a delta.
fn list(
    index: &GraphIndex,
    in_delta: bool,
    view: &mut GraphView,
    into: &mut Vec<Listed>,
    go_on: &dyn Fn() -> bool,
) -> Result<bool> {
    let mut edges = Vec::new();
    for number in 0..index.node_count() {
        let from = if in_delta { view.named_here(number, index)? } else { number.into() };
        let mut cursor = view.cursor(from, false)?;
        // Those of the other part are added with it.
        cursor.left[usize::from(!in_delta)] = 0..0;
        while !cursor.is_empty() {
            view.advance(&mut cursor, &mut edges)?;
            for edge in edges.drain(..) {
                let (offset, to, predicate) = (edge.offset, edge.node, edge.predicate);
                into.push(Listed { offset, from, to, predicate });
                if into.len().is_multiple_of(CHECK_EVERY) && !go_on() {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}
