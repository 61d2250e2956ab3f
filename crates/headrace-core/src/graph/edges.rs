//! Edges that are on their way into an index.
//!
//! Ids and predicates get numbers first, in tables in memory; edges are written down with those
//! numbers, one behind the other. When a table is full, its texts go into sorted runs, each with
//! its number, and new tables begin: a *part* is what shares one pair of tables. Merging the runs
//! of all parts gives each text its place in the index.

mod saved;

use std::{fs::File, ops::Range, os::unix::fs::FileExt, path::PathBuf};

use super::{GraphIndex, interner::Interner};
use crate::{
    Result,
    keys::Runs,
    rows::nameless_file,
    sealed::{chunk, unusable},
};

const BYTES: usize = 20;
const BUFFERED: usize = 8192 * BYTES;
/// Bits that say the part, and above them who has collected it: all within a half of 64.
const PART_BITS: u32 = 20;
const MOST_COLLECTORS: u32 = 1 << (u32::BITS - PART_BITS);

/// An edge with numbers that its part has given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RawEdge {
    pub(super) from: u32,
    pub(super) predicate: u32,
    pub(super) to: u32,
    pub(super) offset: u64,
}

/// How many texts a part has given numbers to, and which of the edges are its own.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) nodes: usize,
    pub(super) predicates: usize,
    pub(super) edges: Range<u64>,
}

/// Collects edges in limited memory; each thread has one.
pub struct EdgeRuns {
    number: u64,
    budget: usize,
    nodes: Interner,
    predicates: Interner,
    pub(super) node_runs: Runs,
    pub(super) predicate_runs: Runs,
    pub(super) edges: EdgeFile,
    pub(super) parts: Vec<Part>,
    begun: u64,
}

impl EdgeRuns {
    /// Edges whose ids take about `budget` bytes of memory, and more room in `directory`. Each
    /// that collects for one index has another `number`.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn new(directory: PathBuf, budget: usize, number: u32) -> Result<Self> {
        if number >= MOST_COLLECTORS {
            return Err(unusable(0, "too many collect edges at once"));
        }
        Ok(Self {
            number: u64::from(number) << PART_BITS,
            budget: budget / 2,
            nodes: Interner::default(),
            predicates: Interner::default(),
            node_runs: Runs::new(directory.clone(), budget / 4),
            predicate_runs: Runs::new(directory.clone(), budget / 8),
            edges: EdgeFile::new(&directory)?,
            parts: Vec::new(),
            begun: 0,
        })
    }

    /// Add the edge of a row.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn push(&mut self, from: &[u8], predicate: &[u8], to: &[u8], offset: u64) -> Result<()> {
        if self.nodes.bytes() + self.predicates.bytes() >= self.budget {
            self.end_part()?;
        }
        let mut edge = self.numbered(from, predicate, to, offset);
        if edge.is_none() {
            self.end_part()?;
            edge = self.numbered(from, predicate, to, offset);
        }
        self.edges.push(edge.ok_or_else(|| unusable(offset, "an id of more than 4 GiB"))?)
    }

    fn numbered(
        &mut self,
        from: &[u8],
        predicate: &[u8],
        to: &[u8],
        offset: u64,
    ) -> Option<RawEdge> {
        let (from, to) = (self.nodes.number(from)?, self.nodes.number(to)?);
        Some(RawEdge { from, predicate: self.predicates.number(predicate)?, to, offset })
    }

    /// Add the edges of an index whose rows begin before `below`.
    ///
    /// # Errors
    /// An error of the operating system; [`crate::ErrorKind::Sidecar`] where the index is damaged.
    pub fn keep(&mut self, graph: &GraphIndex, below: u64) -> Result<()> {
        self.end_part()?;
        let code = self.code();
        let counts = (graph.node_count(), graph.predicate_count());
        // Nodes that only an edge had which is left out are left out too.
        let mut kept = (Kept::new(counts.0), Kept::new(counts.1));
        let mut edges = Vec::new();
        for node in 0..counts.0 {
            let mut numbers = graph.edge_numbers(node, false)?;
            while !numbers.is_empty() {
                graph.edges(&mut numbers, &mut edges)?;
                for edge in edges.drain(..).filter(|edge| edge.offset < below) {
                    let (predicate, to, offset) = (edge.predicate, edge.node, edge.offset);
                    kept.0.mark(node);
                    kept.0.mark(to);
                    kept.1.mark(predicate);
                    self.edges.push(RawEdge { from: node, predicate, to, offset })?;
                }
            }
        }
        let mut text = Vec::new();
        for node in kept.0.numbers() {
            graph.id(node, &mut text)?;
            self.node_runs.push(&text, code | u64::from(node))?;
        }
        for predicate in kept.1.numbers() {
            graph.predicate(predicate, &mut text)?;
            self.predicate_runs.push(&text, code | u64::from(predicate))?;
        }
        self.close_part(counts.0 as usize, counts.1 as usize);
        Ok(())
    }

    /// What the numbers of the next part begin with.
    fn code(&self) -> u64 {
        (self.number | self.parts.len() as u64) << u32::BITS
    }

    fn end_part(&mut self) -> Result<()> {
        if self.parts.len() >= 1 << PART_BITS {
            return Err(unusable(0, "too many edges for so little memory"));
        }
        let code = self.code();
        for (number, text) in (0..).zip(self.nodes.texts()) {
            self.node_runs.push(text, code | number)?;
        }
        for (number, text) in (0..).zip(self.predicates.texts()) {
            self.predicate_runs.push(text, code | number)?;
        }
        if self.edges.written() > self.begun {
            self.close_part(self.nodes.len(), self.predicates.len());
        }
        self.nodes.clear();
        self.predicates.clear();
        Ok(())
    }

    fn close_part(&mut self, nodes: usize, predicates: usize) {
        let edges = self.begun..self.edges.written();
        self.begun = edges.end;
        self.parts.push(Part { nodes, predicates, edges });
    }

    /// What the numbers of a part begin with.
    pub(super) fn code_of(&self, part: usize) -> u64 {
        (self.number | part as u64) << u32::BITS
    }

    /// Make ready for being written.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn finish(&mut self) -> Result<()> {
        self.end_part()?;
        self.nodes = Interner::default();
        self.predicates = Interner::default();
        self.edges.flush()?;
        self.node_runs.finish()?;
        self.predicate_runs.finish()
    }
}

/// Which numbers are kept.
struct Kept(Vec<bool>);

impl Kept {
    fn new(count: u32) -> Self {
        Self(vec![false; count as usize])
    }

    fn mark(&mut self, number: u32) {
        // Never out of range: `GraphIndex::edges` has seen to that.
        if let Some(place) = self.0.get_mut(number as usize) {
            *place = true;
        }
    }

    fn numbers(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.0).filter_map(|(number, &kept)| kept.then_some(number))
    }
}

/// Edges one behind the other, in a file without a name.
pub(super) struct EdgeFile {
    file: File,
    at: u64,
    buffer: Vec<u8>,
}

impl EdgeFile {
    fn new(directory: &std::path::Path) -> Result<Self> {
        Ok(Self { file: nameless_file(directory)?, at: 0, buffer: Vec::new() })
    }

    /// How many there are.
    fn written(&self) -> u64 {
        (self.at + self.buffer.len() as u64) / BYTES as u64
    }

    fn push(&mut self, edge: RawEdge) -> Result<()> {
        for number in [edge.from, edge.predicate, edge.to] {
            self.buffer.extend_from_slice(&number.to_le_bytes());
        }
        self.buffer.extend_from_slice(&edge.offset.to_le_bytes());
        if self.buffer.len() >= BUFFERED { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write_all_at(&self.buffer, self.at)?;
        self.at += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Show some edges, which were flushed; False if `go_on` returns false.
    pub(super) fn each(
        &self,
        numbers: Range<u64>,
        go_on: &dyn Fn() -> bool,
        mut visit: impl FnMut(RawEdge) -> Result<()>,
    ) -> Result<bool> {
        let mut buffer = vec![0; BUFFERED];
        let (mut at, end) = (numbers.start * BYTES as u64, numbers.end * BYTES as u64);
        while at < end {
            let left = usize::try_from(end - at).unwrap_or(usize::MAX);
            let part = &mut buffer[..left.min(BUFFERED)];
            self.file.read_exact_at(part, at)?;
            at += part.len() as u64;
            for bytes in part.chunks_exact(BYTES) {
                let [from, predicate, to] =
                    [0, 4, 8].map(|at| u32::from_le_bytes(chunk(bytes, at)));
                let offset = u64::from_le_bytes(chunk(bytes, 12));
                visit(RawEdge { from, predicate, to, offset })?;
            }
            if !go_on() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
