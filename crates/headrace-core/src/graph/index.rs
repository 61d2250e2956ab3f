//! A graph index that was opened.

use std::ops::Range;

use super::{
    Meta,
    follow::Direction,
    layout::{EdgeEntry, EdgeRun, Header, LONGEST_ENTRY, NodeEntry, PredicateEntry},
};
use crate::{
    Result,
    input::DataFile,
    keys::hash,
    sealed::{
        HEADER_BYTES, IndexFile, Sealed, SourceMark, checksum_tree::Forward, contradiction,
        hash_search::HashSearch, unusable,
    },
};

/// Nodes with one hash that are compared. Hashes can be made to collide; an input that does so makes
/// us scan.
const MOST_EQUAL: u64 = 1024;
/// Edges that are read together: those of about two blocks.
const TOGETHER: usize = 512;
const LONGEST_EDGE: usize = 16;

/// Finds nodes and their edges. Only the blocks that are touched are read, and each is checked;
/// any number of threads may use it concurrently.
pub struct GraphIndex {
    pub(super) sealed: Sealed<Meta>,
    pub(super) header: Header,
    nodes: HashSearch,
    predicates: HashSearch,
}

impl IndexFile for GraphIndex {
    type Meta = Meta;

    const NAME: &'static str = "graph index";

    fn sealed(&self) -> &Sealed<Meta> {
        &self.sealed
    }

    fn version(&self) -> u32 {
        self.header.version()
    }

    fn header_with(&self, source: &SourceMark) -> [u8; HEADER_BYTES] {
        let (source_size, source_mtime) = source.in_header();
        Header { source_size, source_mtime, ..self.header }.encode()
    }

    fn is_like(&self, other: &Self) -> bool {
        let (made, of) = (self.meta(), other.meta());
        (&made.fields, made.reverse) == (&of.fields, of.reverse)
    }

    fn verify(&self, go_on: &dyn Fn() -> bool) -> Result<bool> {
        GraphIndex::verify(self, go_on)
    }
}

impl GraphIndex {
    /// Check both ends of a file.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where it is not a whole index of a version we know.
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
    /// [`crate::ErrorKind::Sidecar`] where the file is damaged, or has too many ids with one hash.
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
        let mut bytes = [0; LONGEST_ENTRY];
        let (at, length) = self.place_of(number)?;
        self.sealed.file.read(&mut bytes[..length], at)?;
        Ok(NodeEntry::decode(&mut bytes, &self.header.tables))
    }

    /// Where the entry of a node is, and its bytes.
    fn place_of(&self, node: u32) -> Result<(u64, usize)> {
        let tables = &self.header.tables;
        let length = tables.node_bytes();
        let at = tables.nodes + u64::from(node) * length;
        let there = node < tables.node_count;
        if there { Ok((at, to_usize(length))) } else { Err(unusable(at, "a node behind the last")) }
    }

    /// Read the id of a node.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where the file is damaged.
    pub fn id(&self, number: u32, into: &mut Vec<u8>) -> Result<()> {
        self.id_of(&self.node(number)?, into)
    }

    pub(super) fn id_of(&self, entry: &NodeEntry, into: &mut Vec<u8>) -> Result<()> {
        let (start, length) = self.place_of_id(entry)?;
        into.resize(length, 0);
        self.sealed.file.read(into, start)
    }

    fn place_of_id(&self, entry: &NodeEntry) -> Result<(u64, usize)> {
        let tables = &self.header.tables;
        within((tables.pool(), tables.edges), entry.id_offset, entry.id_length)
    }

    /// Read the text of a predicate.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where the file is damaged.
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
        let (start, length) = within((tables.predicate_pool(), self.sealed.end), offset, length)?;
        into.resize(length, 0);
        self.sealed.file.read(into, start)
    }

    /// The numbers of the edges that come from a node, or go to it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where the file is damaged, or has no incoming edges.
    pub fn edge_numbers(&self, node: u32, incoming: bool) -> Result<Range<u64>> {
        let run = self.run_of(&self.node(node)?, incoming)?;
        Ok(run.first..run.first + u64::from(run.count))
    }

    /// The edges of a node, all of which are there.
    fn run_of(&self, entry: &NodeEntry, incoming: bool) -> Result<EdgeRun> {
        let tables = &self.header.tables;
        if incoming && !tables.reverse {
            return Err(unusable(8, "it has no incoming edges"));
        }
        let run = if incoming { entry.incoming } else { entry.out };
        let end = run.first.saturating_add(run.count.into());
        if end > tables.edge_entries() {
            return Err(unusable(tables.edges, "edges behind the last"));
        }
        Ok(run)
    }

    /// Add some of the edges with these numbers, in order, and take their numbers away.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where the file is damaged.
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
            into.push(self.edge(bytes, at)?);
        }
        Ok(())
    }

    fn edge(&self, bytes: &[u8], at: u64) -> Result<EdgeEntry> {
        let tables = &self.header.tables;
        let edge = EdgeEntry::decode(bytes, tables.wide);
        let there = edge.node < tables.node_count && edge.predicate < tables.predicate_count;
        if there { Ok(edge) } else { Err(unusable(at, "an edge to a node that is not there")) }
    }

    /// Reads nodes whose numbers rise.
    pub(super) fn node_reader(&self) -> NodeReader<'_> {
        let forward = || Forward::new(&self.sealed.file);
        NodeReader { index: self, entries: forward(), pool: forward() }
    }

    /// Reads edges of nodes whose numbers rise.
    pub(super) fn edge_reader(&self) -> EdgeReader<'_> {
        EdgeReader { index: self, entries: Forward::new(&self.sealed.file) }
    }
}

/// Reads nodes whose numbers rise; others too, but slowly.
pub(super) struct NodeReader<'g> {
    index: &'g GraphIndex,
    entries: Forward<'g>,
    pool: Forward<'g>,
}

impl NodeReader<'_> {
    fn entry(&mut self, node: u64) -> Result<NodeEntry> {
        // Too large a number is one behind the last, which is refused.
        let (at, length) = self.index.place_of(narrow(node))?;
        let mut bytes = [0; LONGEST_ENTRY];
        bytes[..length].copy_from_slice(self.entries.get(at, length)?);
        Ok(NodeEntry::decode(&mut bytes, &self.index.header.tables))
    }

    /// The id of a node.
    pub(super) fn id(&mut self, node: u64) -> Result<&[u8]> {
        let entry = self.entry(node)?;
        let (start, length) = self.index.place_of_id(&entry)?;
        self.pool.get(start, length)
    }

    /// The edges that come from a node and those that go to it, as far as they are followed.
    pub(super) fn runs(&mut self, node: u64, direction: Direction) -> Result<[EdgeRun; 2]> {
        let entry = self.entry(node)?;
        let mut runs = [EdgeRun::default(); 2];
        if direction != Direction::In {
            runs[0] = self.index.run_of(&entry, false)?;
        }
        if direction != Direction::Out {
            runs[1] = self.index.run_of(&entry, true)?;
        }
        Ok(runs)
    }
}

/// Reads edges of nodes whose numbers rise; others too, but slowly.
pub(super) struct EdgeReader<'g> {
    index: &'g GraphIndex,
    entries: Forward<'g>,
}

impl EdgeReader<'_> {
    /// Look at edges of a node, all of which are there.
    pub(super) fn each(&mut self, run: EdgeRun, mut look: impl FnMut(EdgeEntry)) -> Result<()> {
        let tables = &self.index.header.tables;
        let length = tables.edge_bytes();
        let (mut at, mut left) = (tables.edges + run.first * length, run.count as usize);
        while left > 0 {
            let count = left.min(TOGETHER);
            let bytes = self.entries.get(at, count * to_usize(length))?;
            for bytes in bytes.chunks_exact(to_usize(length)) {
                look(self.index.edge(bytes, at)?);
            }
            at += count as u64 * length;
            left -= count;
        }
        Ok(())
    }
}

/// Where a text is in its pool, which begins and ends somewhere, and its bytes.
fn within((begins, ends): (u64, u64), offset: u64, length: u32) -> Result<(u64, usize)> {
    let start = begins.checked_add(offset);
    let end = start.and_then(|start| start.checked_add(length.into()));
    match start {
        Some(start) if end.is_some_and(|end| end <= ends) => Ok((start, length as usize)),
        _ => Err(unusable(begins, "a text behind its pool")),
    }
}

/// A number below a count of 32 bits.
fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
