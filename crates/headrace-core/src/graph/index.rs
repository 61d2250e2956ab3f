//! A graph index that was opened.

use std::ops::Range;

use super::{
    Meta,
    layout::{EdgeEntry, Header, LONGEST_ENTRY, NodeEntry, PredicateEntry},
};
use crate::{
    Result,
    input::DataFile,
    keys::hash,
    sealed::{Sealed, contradiction, hash_search::HashSearch, unusable},
};

/// Nodes with one hash that are compared. Hashes can be made to be equal; somebody who does makes
/// us scan.
const MOST_EQUAL: u64 = 1024;
/// Edges that are read together: those of about two blocks.
const TOGETHER: usize = 512;
const LONGEST_EDGE: usize = 16;

/// Finds nodes and their edges. Only the blocks that are touched are read, and each is checked;
/// any number of threads may ask at once.
pub struct GraphIndex {
    pub(super) sealed: Sealed<Meta>,
    pub(super) header: Header,
    nodes: HashSearch,
    predicates: HashSearch,
}

impl GraphIndex {
    /// Check both ends of a file.
    ///
    /// # Errors
    /// [`crate::Error::Sidecar`] where it is not a whole index of a version we know.
    pub fn open(file: DataFile) -> Result<Self> {
        let sealed = Sealed::<Meta>::open(file)?;
        let (header, meta) = (Header::decode(&sealed.header, sealed.end)?, &sealed.meta);
        let tables = &header.tables;
        let counts = [tables.node_count.into(), tables.edge_count, tables.predicate_count.into()];
        let sound = meta.hash == "xxh3_64"
            && meta.reverse == tables.reverse
            && [meta.nodes, meta.edges, meta.predicates] == counts;
        if !sound {
            return Err(contradiction());
        }
        let (nodes, predicates) = (tables.node_count, tables.predicate_count);
        let search = |count: u32| HashSearch::new(count.into());
        Ok(Self { sealed, header, nodes: search(nodes), predicates: search(predicates) })
    }

    /// What it is of.
    pub fn meta(&self) -> &Meta {
        &self.sealed.meta
    }

    /// Its version.
    pub fn version(&self) -> u32 {
        self.header.version()
    }

    /// The hash of what it is of.
    pub fn build_id(&self) -> u64 {
        self.sealed.build_id
    }

    /// Bytes of the file.
    pub fn size(&self) -> u64 {
        self.sealed.size
    }

    /// How many nodes it has.
    pub fn node_count(&self) -> u32 {
        self.header.tables.node_count
    }

    /// How many predicates it has.
    pub fn predicate_count(&self) -> u32 {
        self.header.tables.predicate_count
    }

    /// The node with an id.
    ///
    /// # Errors
    /// [`crate::Error::Sidecar`] where the file is damaged, or has too many ids with one hash.
    pub fn find(&self, id: &[u8]) -> Result<Option<u32>> {
        let hash = hash(id);
        let first =
            self.nodes.first_not_below(hash, |number| Ok(self.node(narrow(number))?.hash))?;
        let last = u64::from(self.node_count()).min(first + MOST_EQUAL);
        let mut text = Vec::new();
        for number in (first..last).map(narrow) {
            let entry = self.node(number)?;
            if entry.hash != hash {
                return Ok(None);
            }
            self.id_of(&entry, &mut text)?;
            if text == id {
                return Ok(Some(number));
            }
        }
        Self::refuse_equal(last - first, self.header.tables.nodes)
    }

    /// The predicate with a text.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn find_predicate(&self, text: &[u8]) -> Result<Option<u32>> {
        let wanted = hash(text);
        let mut there = Vec::new();
        let first = self.predicates.first_not_below(wanted, |number| {
            self.predicate(narrow(number), &mut there)?;
            Ok(hash(&there))
        })?;
        let last = u64::from(self.predicate_count()).min(first + MOST_EQUAL);
        for number in (first..last).map(narrow) {
            self.predicate(number, &mut there)?;
            if there == text {
                return Ok(Some(number));
            }
            if hash(&there) != wanted {
                return Ok(None);
            }
        }
        Self::refuse_equal(last - first, self.header.tables.predicates)
    }

    fn refuse_equal(looked_at: u64, at: u64) -> Result<Option<u32>> {
        let all = looked_at < MOST_EQUAL;
        if all { Ok(None) } else { Err(unusable(at, "too many texts with one hash")) }
    }

    pub(super) fn node(&self, number: u32) -> Result<NodeEntry> {
        let tables = &self.header.tables;
        let mut bytes = [0; LONGEST_ENTRY];
        let length = tables.node_bytes();
        let at = tables.nodes + u64::from(number) * length;
        if number >= tables.node_count {
            return Err(unusable(at, "a node behind the last"));
        }
        self.sealed.file.read(&mut bytes[..to_usize(length)], at)?;
        Ok(NodeEntry::decode(&mut bytes, tables))
    }

    /// Read the id of a node.
    ///
    /// # Errors
    /// [`crate::Error::Sidecar`] where the file is damaged.
    pub fn id(&self, number: u32, into: &mut Vec<u8>) -> Result<()> {
        self.id_of(&self.node(number)?, into)
    }

    pub(super) fn id_of(&self, entry: &NodeEntry, into: &mut Vec<u8>) -> Result<()> {
        let tables = &self.header.tables;
        let place = (tables.pool(), tables.edges);
        self.text(place, entry.id_offset, entry.id_length, into)
    }

    /// Read the text of a predicate.
    ///
    /// # Errors
    /// [`crate::Error::Sidecar`] where the file is damaged.
    pub fn predicate(&self, number: u32, into: &mut Vec<u8>) -> Result<()> {
        let tables = &self.header.tables;
        let mut bytes = [0; LONGEST_ENTRY];
        let length = tables.predicate_bytes();
        let at = tables.predicates + u64::from(number) * length;
        if number >= tables.predicate_count {
            return Err(unusable(at, "a predicate behind the last"));
        }
        self.sealed.file.read(&mut bytes[..to_usize(length)], at)?;
        let PredicateEntry { offset, length } = PredicateEntry::decode(&mut bytes, tables);
        self.text((tables.predicate_pool(), self.sealed.end), offset, length, into)
    }

    /// Read a text of a pool, which begins and ends somewhere.
    fn text(
        &self,
        (begins, ends): (u64, u64),
        offset: u64,
        length: u32,
        into: &mut Vec<u8>,
    ) -> Result<()> {
        let start = begins.checked_add(offset);
        let end = start.and_then(|start| start.checked_add(length.into()));
        let (Some(start), true) = (start, end.is_some_and(|end| end <= ends)) else {
            return Err(unusable(begins, "a text behind its pool"));
        };
        into.resize(length as usize, 0);
        self.sealed.file.read(into, start)
    }

    /// The numbers of the edges that come from a node, or go to it.
    ///
    /// # Errors
    /// [`crate::Error::Sidecar`] where the file is damaged, or has no incoming edges.
    pub fn edge_numbers(&self, node: u32, incoming: bool) -> Result<Range<u64>> {
        let tables = &self.header.tables;
        if incoming && !tables.reverse {
            return Err(unusable(8, "it has no incoming edges"));
        }
        let entry = self.node(node)?;
        let run = if incoming { entry.incoming } else { entry.out };
        let end = run.first.saturating_add(run.count.into());
        if end > tables.edge_entries() {
            return Err(unusable(tables.edges, "edges behind the last"));
        }
        Ok(run.first..end)
    }

    /// Add some of the edges with these numbers, in order, and take their numbers away.
    ///
    /// # Errors
    /// [`crate::Error::Sidecar`] where the file is damaged.
    pub fn edges(&self, numbers: &mut Range<u64>, into: &mut Vec<EdgeEntry>) -> Result<()> {
        let tables = &self.header.tables;
        let count = (numbers.end - numbers.start).min(TOGETHER as u64);
        let length = tables.edge_bytes();
        // In range: `edge_numbers` gives no others.
        let at = tables.edges + numbers.start * length;
        let mut bytes = [0; TOGETHER * LONGEST_EDGE];
        let bytes = &mut bytes[..to_usize(count * length)];
        self.sealed.file.read(bytes, at)?;
        numbers.start += count;
        for bytes in bytes.chunks_exact(to_usize(length)) {
            let edge = EdgeEntry::decode(bytes, tables.wide);
            if edge.node >= tables.node_count || edge.predicate >= tables.predicate_count {
                return Err(unusable(at, "an edge to a node that is not there"));
            }
            into.push(edge);
        }
        Ok(())
    }
}

/// A number below a count of 32 bits.
fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
