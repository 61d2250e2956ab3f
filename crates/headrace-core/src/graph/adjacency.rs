//! Access to the edges of a node.
//!
//! A traversal knows nodes and predicates by numbers, which an [`Adjacency`] assigns: that of a
//! graph index ([`GraphView`]), or one that reads rows through key indexes
//! ([`KeyedEdges`](super::KeyedEdges)).

use std::{collections::HashMap, ops::Range, sync::Arc};

use super::{GraphIndex, layout::EdgeEntry};
use crate::{Result, sealed::BaseDelta};

/// An edge, seen from one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The predicate.
    pub predicate: u32,
    /// The node at the other end.
    pub node: u64,
    /// Where its row begins.
    pub offset: u64,
}

/// Edges of a node that were not looked at yet, in base and delta.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The node, and whether the edges go to it.
    pub(super) of: (u64, bool),
    /// The numbers of the edges, in base and delta.
    pub(super) left: [Range<u64>; 2],
}

impl Cursor {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.left.iter().all(Range::is_empty)
    }
}

/// Gives nodes numbers, and their edges in the order of the file.
pub trait Adjacency: Send {
    /// The node with an id.
    ///
    /// # Errors
    /// Errors of reading; [`crate::ErrorKind::Sidecar`] where an index cannot be used.
    fn find(&mut self, id: &[u8]) -> Result<Option<u64>>;

    /// Read the id of a node.
    ///
    /// # Errors
    /// As [`Self::find`].
    fn id(&mut self, node: u64, into: &mut Vec<u8>) -> Result<()>;

    /// The predicate with a text; `None` if no edge has it.
    ///
    /// # Errors
    /// As [`Self::find`].
    fn find_predicate(&mut self, text: &[u8]) -> Result<Option<u32>>;

    /// Read the text of a predicate.
    ///
    /// # Errors
    /// As [`Self::find`].
    fn predicate(&mut self, number: u32, into: &mut Vec<u8>) -> Result<()>;

    /// The edges that come from a node, or go to it.
    ///
    /// # Errors
    /// As [`Self::find`]; where there are no incoming edges.
    fn cursor(&mut self, node: u64, incoming: bool) -> Result<Cursor>;

    /// Add the next edges of a node.
    ///
    /// # Errors
    /// As [`Self::find`].
    fn advance(&mut self, cursor: &mut Cursor, into: &mut Vec<Edge>) -> Result<()>;

    /// Give the ids of nodes whose numbers rise, one by one.
    ///
    /// # Errors
    /// As [`Self::find`].
    fn ids(
        &mut self,
        nodes: &mut dyn Iterator<Item = u64>,
        give: &mut dyn FnMut(&[u8]),
    ) -> Result<()> {
        let mut text = Vec::new();
        for node in nodes {
            self.id(node, &mut text)?;
            give(&text);
        }
        Ok(())
    }

    /// The index that has all edges and gave nodes their numbers, if there is one: the edges of
    /// many nodes can be read there in the order in which they lie.
    fn whole(&self) -> Option<Arc<BaseDelta<GraphIndex>>> {
        None
    }
}

/// A graph index as it is seen by one who goes along its edges. A node or predicate that only the
/// delta has is numbered behind those of the base.
pub struct GraphView {
    graph: Arc<BaseDelta<GraphIndex>>,
    /// Predicates of the delta, as the base knows them.
    predicates: HashMap<u32, u32>,
    entries: Vec<EdgeEntry>,
    text: Vec<u8>,
}

impl GraphView {
    /// A view of an index.
    pub fn new(graph: Arc<BaseDelta<GraphIndex>>) -> Self {
        Self { graph, predicates: HashMap::new(), entries: Vec::new(), text: Vec::new() }
    }

    /// The index.
    pub fn graph(&self) -> &Arc<BaseDelta<GraphIndex>> {
        &self.graph
    }

    fn base_nodes(&self) -> u64 {
        self.graph.base().node_count().into()
    }

    /// The number of a node in the base, or in the delta only.
    fn place(&self, node: u64) -> Place {
        match u32::try_from(node) {
            Ok(number) if node < self.base_nodes() => Place::Base(number),
            // Too large a number is one behind the last, which reading refuses.
            _ => Place::Delta(u32::try_from(node - self.base_nodes()).unwrap_or(u32::MAX)),
        }
    }

    /// The number of a node in the delta.
    fn in_delta(&mut self, node: u64, delta: &GraphIndex) -> Result<Option<u32>> {
        match self.place(node) {
            Place::Delta(number) => Ok(Some(number)),
            Place::Base(number) => {
                self.graph.base().id(number, &mut self.text)?;
                delta.find(&self.text)
            }
        }
    }

    /// The number here of a node of the delta.
    pub(super) fn named_here(&mut self, number: u32, delta: &GraphIndex) -> Result<u64> {
        delta.id(number, &mut self.text)?;
        let known = self.graph.base().find(&self.text)?;
        Ok(known.map_or(self.base_nodes() + u64::from(number), u64::from))
    }

    /// The number here of a predicate of the delta.
    fn predicate_named_here(&mut self, number: u32, delta: &GraphIndex) -> Result<u32> {
        if let Some(&known) = self.predicates.get(&number) {
            return Ok(known);
        }
        delta.predicate(number, &mut self.text)?;
        let known = self.graph.base().find_predicate(&self.text)?;
        let here =
            known.unwrap_or_else(|| self.graph.base().predicate_count().saturating_add(number));
        self.predicates.insert(number, here);
        Ok(here)
    }
}

enum Place {
    Base(u32),
    Delta(u32),
}

impl Adjacency for GraphView {
    fn find(&mut self, id: &[u8]) -> Result<Option<u64>> {
        if let Some(known) = self.graph.base().find(id)? {
            return Ok(Some(known.into()));
        }
        let Some(delta) = self.graph.delta() else { return Ok(None) };
        Ok(delta.find(id)?.map(|number| self.base_nodes() + u64::from(number)))
    }

    fn id(&mut self, node: u64, into: &mut Vec<u8>) -> Result<()> {
        match self.place(node) {
            Place::Base(number) => self.graph.base().id(number, into),
            Place::Delta(number) => self.graph.newest().id(number, into),
        }
    }

    fn find_predicate(&mut self, text: &[u8]) -> Result<Option<u32>> {
        if let Some(known) = self.graph.base().find_predicate(text)? {
            return Ok(Some(known));
        }
        let Some(delta) = self.graph.delta() else { return Ok(None) };
        let known = self.graph.base().predicate_count();
        Ok(delta.find_predicate(text)?.map(|number| known.saturating_add(number)))
    }

    fn predicate(&mut self, number: u32, into: &mut Vec<u8>) -> Result<()> {
        let (base, known) = (self.graph.base(), self.graph.base().predicate_count());
        match number.checked_sub(known) {
            None => base.predicate(number, into),
            Some(behind) => self.graph.newest().predicate(behind, into),
        }
    }

    fn cursor(&mut self, node: u64, incoming: bool) -> Result<Cursor> {
        let graph = Arc::clone(&self.graph);
        let mut cursor = Cursor { of: (node, incoming), left: [0..0, 0..0] };
        if let Place::Base(number) = self.place(node) {
            cursor.left[0] = graph.base().edge_numbers(number, incoming)?;
        }
        if let Some(delta) = graph.delta()
            && let Some(number) = self.in_delta(node, delta)?
        {
            cursor.left[1] = delta.edge_numbers(number, incoming)?;
        }
        Ok(cursor)
    }

    fn advance(&mut self, cursor: &mut Cursor, into: &mut Vec<Edge>) -> Result<()> {
        let graph = Arc::clone(&self.graph);
        let [base, delta] = &mut cursor.left;
        let mut entries = std::mem::take(&mut self.entries);
        entries.clear();
        if !base.is_empty() {
            graph.base().edges(base, &mut entries)?;
            let ends = graph.base_ends();
            let own = entries.iter().filter(|edge| edge.offset < ends);
            into.extend(own.map(|&EdgeEntry { predicate, node, offset }| Edge {
                predicate,
                node: node.into(),
                offset,
            }));
        } else if let Some(behind) = graph.delta() {
            behind.edges(delta, &mut entries)?;
            for &EdgeEntry { predicate, node, offset } in &entries {
                let predicate = self.predicate_named_here(predicate, behind)?;
                let node = self.named_here(node, behind)?;
                into.push(Edge { predicate, node, offset });
            }
        }
        self.entries = entries;
        Ok(())
    }

    fn ids(
        &mut self,
        nodes: &mut dyn Iterator<Item = u64>,
        give: &mut dyn FnMut(&[u8]),
    ) -> Result<()> {
        let graph = Arc::clone(&self.graph);
        let mut reader = graph.base().node_reader();
        let base = self.base_nodes();
        let mut text = Vec::new();
        for node in nodes {
            if node < base {
                give(reader.id(node)?);
            } else {
                self.id(node, &mut text)?;
                give(&text);
            }
        }
        Ok(())
    }

    fn whole(&self) -> Option<Arc<BaseDelta<GraphIndex>>> {
        self.graph.delta().is_none().then(|| Arc::clone(&self.graph))
    }
}
