//! Edges that key indexes on their ends lead to.
//!
//! Each edge is a row of the source that is read and taken apart; the numbers of nodes and
//! predicates are given as they are met.

use std::sync::Arc;

use super::{
    EdgeFields,
    adjacency::{Adjacency, Cursor, Edge},
    interner::Interner,
};
use crate::{
    Error, Result,
    input::DataFile,
    json::Limits,
    keys::{Found, KeyFields, KeyReader, Lookup, Read, Request, SetSegments},
    rows::RowBatch,
    sealed::unusable,
    sealed::{BaseDelta, IndexFile},
};

/// Bytes of rows that are read together.
const TOGETHER: usize = 1 << 16;

/// Edges of a source with key indexes of the field that they come from, of that they go to, or
/// both. With only one of them, every requested node counts as present.
pub struct KeyedEdges {
    /// Of the edges that come from a node, and of those that go to it.
    ends: [Option<End>; 2],
    source: Arc<DataFile>,
    size: u64,
    /// Takes edges apart.
    edges: KeyReader,
    has_predicates: bool,
    nodes: Interner,
    predicates: Interner,
}

/// An index, and a reader of its keys.
struct End {
    index: Arc<BaseDelta<SetSegments>>,
    reader: KeyReader,
}

impl KeyedEdges {
    /// The edges of the first `size` bytes of a source, which the indexes were proven to be of.
    pub fn new(
        fields: &EdgeFields,
        indexes: [Option<Arc<BaseDelta<SetSegments>>>; 2],
        source: Arc<DataFile>,
        size: u64,
    ) -> Self {
        let depths = indexes.iter().flatten().map(|index| index.base().meta().made_of.max_depth);
        let limits = Limits { max_depth: depths.min().unwrap_or(Limits::default().max_depth) };
        let ends = indexes.map(|index| {
            index.map(|index| {
                let key = KeyFields::new(index.base().meta().key.clone());
                End { reader: KeyReader::new(key, limits), index }
            })
        });
        Self {
            ends,
            source,
            size,
            edges: KeyReader::apart(KeyFields::new(fields.names()), limits),
            has_predicates: fields.pred.is_some(),
            nodes: Interner::default(),
            predicates: Interner::default(),
        }
    }

    fn request(&self, node: u64) -> Result<Request> {
        let id = u32::try_from(node).ok().and_then(|number| self.nodes.get(number));
        let id = id.ok_or_else(too_many)?.to_vec();
        Ok(Request { hash: crate::keys::hash(&id), key: id, kinds: None })
    }

    /// Add the edges of rows, seen from one end.
    fn take_apart(&mut self, rows: &RowBatch, incoming: bool, into: &mut Vec<Edge>) -> Result<()> {
        let mut start = 0;
        for (&end, &offset) in rows.ends.iter().zip(&rows.offsets) {
            let content = &rows.data[start..end];
            start = end;
            // A row that has one end only is no edge.
            let Read::Key(_) = self.edges.read(content) else { continue };
            let mut parts = self.edges.parts();
            let (Some(first), Some(second)) = (parts.next(), parts.next()) else { continue };
            let (predicate, to) = match parts.next() {
                Some(to) if self.has_predicates => (second, to),
                _ => (&b""[..], second),
            };
            let other = if incoming { first } else { to };
            let node = self.nodes.number(other).map(u64::from).ok_or_else(too_many)?;
            let predicate = self.predicates.number(predicate).ok_or_else(too_many)?;
            into.push(Edge { predicate, node, offset });
        }
        Ok(())
    }
}

fn lookup<'a>(source: &'a DataFile, size: u64, index: &BaseDelta<SetSegments>) -> Lookup<'a> {
    let max_line = usize::try_from(index.base().meta().made_of.max_line).unwrap_or(usize::MAX);
    Lookup { file: source, size, below: u64::MAX, max_line }
}

fn too_many() -> Error {
    unusable(0, "too many nodes to go along rows")
}

impl Adjacency for KeyedEdges {
    fn find(&mut self, id: &[u8]) -> Result<Option<u64>> {
        let node = self.nodes.number(id).map(u64::from).ok_or_else(too_many)?;
        let mut edges = Vec::new();
        for incoming in [false, true] {
            if self.ends[usize::from(incoming)].is_none() {
                // No index says whether the node has such edges.
                return Ok(Some(node));
            }
            let mut cursor = self.cursor(node, incoming)?;
            while !cursor.is_empty() {
                self.advance(&mut cursor, &mut edges)?;
                if !edges.is_empty() {
                    return Ok(Some(node));
                }
            }
        }
        Ok(None)
    }

    fn id(&mut self, node: u64, into: &mut Vec<u8>) -> Result<()> {
        *into = self.request(node)?.key;
        Ok(())
    }

    fn find_predicate(&mut self, text: &[u8]) -> Result<Option<u32>> {
        self.predicates.number(text).map(Some).ok_or_else(too_many)
    }

    fn predicate(&mut self, number: u32, into: &mut Vec<u8>) -> Result<()> {
        into.clear();
        into.extend_from_slice(self.predicates.get(number).ok_or_else(too_many)?);
        Ok(())
    }

    fn cursor(&mut self, node: u64, incoming: bool) -> Result<Cursor> {
        let request = self.request(node)?;
        let end = self.ends[usize::from(incoming)].as_ref();
        let end = end.ok_or_else(|| unusable(0, "no index of that end of an edge"))?;
        let Found(left) = end.index.find(&request)?;
        Ok(Cursor { of: (node, incoming), left })
    }

    fn advance(&mut self, cursor: &mut Cursor, into: &mut Vec<Edge>) -> Result<()> {
        let (node, incoming) = cursor.of;
        let request = self.request(node)?;
        let mut batch = RowBatch::default();
        let mut found = Found(std::mem::take(&mut cursor.left));
        if let Some(end) = &mut self.ends[usize::from(incoming)] {
            let source = lookup(&self.source, self.size, &end.index);
            let End { index, reader } = end;
            index.rows(&source, &mut found, &request, reader, TOGETHER, &mut batch)?;
        }
        cursor.left = found.0;
        self.take_apart(&batch, incoming, into)
    }
}
