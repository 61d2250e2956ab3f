//! The main part of a graph index; what follows it is the [`trailer`](crate::sealed::trailer).
//!
//! Little endian, with entries that are not aligned. Version 1:
//!
//! | byte | type | content |
//! |---|---|---|
//! | 0 | 4 bytes | `JNXG` |
//! | 4 | u32 | version, 1 |
//! | 8 | u32 | flags: bit 0 has incoming edges, bit 8 has a trailer |
//! | 12 | u32 | nodes |
//! | 16 | u32 | edges; of version 2 at most 4,294,967,295, the size of their table says exactly |
//! | 20 | u32 | predicates |
//! | 24 | u64 | offset of the node table |
//! | 32 | u64 | offset of the edge table |
//! | 40 | u64 | offset of the predicate table |
//! | 48 | u64 | size of the source on disk when it was read |
//! | 56 | u64 | its time of change, in nanoseconds |
//! | node table | 20 each, 26 with incoming edges | entries, by hash, then by id; behind them the pool: the ids of the nodes |
//! | edge table | 14 each | edges by the node they come from, those of a node in file order; then, if there are incoming edges, all edges by the node they go to, in the same way |
//! | predicate table | 6 each | entries, by hash, then by text; behind them the pool: their texts |
//!
//! A node:
//!
//! | byte | type | content |
//! |---|---|---|
//! | 0 | u64 | XXH3 of its id, 64 bits, seed 0 |
//! | 8 | u32 | where its id begins in the pool |
//! | 12 | u16 | bytes of its id |
//! | 14 | u32 | number of its first outgoing edge |
//! | 18 | u16 | how many it has |
//! | 20 | u32 | number of its first incoming edge, if there are any in the file |
//! | 24 | u16 | how many it has |
//!
//! An edge, and a predicate:
//!
//! | byte | type | content |
//! |---|---|---|
//! | 0 | u16 | number of its predicate |
//! | 2 | u32 | number of the node at its other end |
//! | 6 | u64 | where its row begins in the source, after decompression |
//!
//! | byte | type | content |
//! |---|---|---|
//! | 0 | u32 | where its text begins in the pool |
//! | 4 | u16 | bytes of its text |
//!
//! Version 2 is the same with wider fields, for what version 1 has no room for: in a node u64 for
//! u32 and u32 for u16 (32 bytes, 44 with incoming edges), in an edge u32 for u16 (16 bytes), in a
//! predicate u64 and u32 (12 bytes). Flags from bit 16 on change the meaning: who does not know
//! one leaves the file alone.

use crate::{
    Result,
    sealed::{HEADER_BYTES, chunk, unusable},
};

const REVERSE: u32 = 1;
const TRAILER: u32 = 1 << 8;
const UNKNOWN: u32 = 0xFFFF_0000;
/// Bytes of the longest entry.
pub(super) const LONGEST_ENTRY: usize = 44;

/// The first 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Size of the source on disk.
    pub source_size: u64,
    /// Its time of change.
    pub source_mtime: u64,
    /// Where the tables are.
    pub tables: Tables,
}

/// Where the tables are, and how wide their fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tables {
    /// Whether it is version 2.
    pub wide: bool,
    /// Whether there are incoming edges.
    pub reverse: bool,
    /// How many nodes there are.
    pub node_count: u32,
    /// How many edges, counted once.
    pub edge_count: u64,
    /// How many predicates.
    pub predicate_count: u32,
    /// Offset of the nodes.
    pub nodes: u64,
    /// Offset of the edges.
    pub edges: u64,
    /// Offset of the predicates.
    pub predicates: u64,
}

/// How many there are of all, and how many bytes their texts have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Nodes.
    pub nodes: u32,
    /// Edges.
    pub edges: u64,
    /// Predicates.
    pub predicates: u32,
    /// Bytes of all ids.
    pub ids: u64,
}

impl Tables {
    /// The tables for these counts.
    pub(crate) fn of(counts: &Counts, wide: bool, reverse: bool) -> Self {
        let mut tables = Self {
            wide,
            reverse,
            node_count: counts.nodes,
            edge_count: counts.edges,
            predicate_count: counts.predicates,
            nodes: HEADER_BYTES as u64,
            edges: 0,
            predicates: 0,
        };
        tables.edges = tables.pool() + counts.ids;
        tables.predicates = tables.edges + tables.edge_entries() * tables.edge_bytes();
        tables
    }

    /// Bytes of a node.
    pub(crate) fn node_bytes(&self) -> u64 {
        match (self.wide, self.reverse) {
            (false, false) => 20,
            (false, true) => 26,
            (true, false) => 32,
            (true, true) => 44,
        }
    }

    /// Bytes of an edge.
    pub(crate) fn edge_bytes(&self) -> u64 {
        if self.wide { 16 } else { 14 }
    }

    /// Bytes of a predicate.
    pub(crate) fn predicate_bytes(&self) -> u64 {
        if self.wide { 12 } else { 6 }
    }

    /// Entries of the edge table.
    pub(crate) fn edge_entries(&self) -> u64 {
        if self.reverse { 2 * self.edge_count } else { self.edge_count }
    }

    /// Offset of the ids.
    pub(crate) fn pool(&self) -> u64 {
        self.nodes + u64::from(self.node_count) * self.node_bytes()
    }

    /// Offset of the texts of predicates.
    pub(crate) fn predicate_pool(&self) -> u64 {
        self.predicates + u64::from(self.predicate_count) * self.predicate_bytes()
    }

    /// Whether they lie one behind the other before `end`, without overflow.
    fn sound(&self, end: u64) -> bool {
        let after = |offset: u64, count: u32, bytes: u64| {
            offset.checked_add(u64::from(count).checked_mul(bytes)?)
        };
        let nodes = after(self.nodes, self.node_count, self.node_bytes());
        let predicates = after(self.predicates, self.predicate_count, self.predicate_bytes());
        self.nodes >= HEADER_BYTES as u64
            && nodes.is_some_and(|nodes| nodes <= self.edges)
            && self.edges <= self.predicates
            && predicates.is_some_and(|predicates| predicates <= end)
    }
}

impl Header {
    /// The version of the format.
    pub(crate) fn version(&self) -> u32 {
        if self.tables.wide { 2 } else { 1 }
    }

    /// Encode it.
    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let tables = &self.tables;
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(b"JNXG");
        let flags = TRAILER | if tables.reverse { REVERSE } else { 0 };
        let edges = u32::try_from(tables.edge_count).unwrap_or(u32::MAX);
        let short = [self.version(), flags, tables.node_count, edges, tables.predicate_count];
        for (place, word) in bytes[4..24].chunks_exact_mut(4).zip(short) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let Tables { nodes, edges, predicates, .. } = *tables;
        let long = [nodes, edges, predicates, self.source_size, self.source_mtime];
        for (place, word) in bytes[24..].chunks_exact_mut(8).zip(long) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Read it; all tables must end before `end`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Sidecar`] where it is none, or contradicts itself.
    pub(crate) fn decode(bytes: &[u8; HEADER_BYTES], end: u64) -> Result<Self> {
        let short = |at: usize| u32::from_le_bytes(chunk(bytes, at));
        let long = |at: usize| u64::from_le_bytes(chunk(bytes, at));
        if &bytes[..4] != b"JNXG" {
            return Err(unusable(0, "not a graph index"));
        }
        let (version, flags) = (short(4), short(8));
        if ![1, 2].contains(&version) {
            return Err(unusable(4, format!("version {version}: not one we read")));
        }
        if flags & UNKNOWN != 0 || flags & TRAILER == 0 {
            return Err(unusable(8, "flags that we do not know"));
        }
        let mut tables = Tables {
            wide: version == 2,
            reverse: flags & REVERSE != 0,
            node_count: short(12),
            edge_count: 0,
            predicate_count: short(20),
            nodes: long(24),
            edges: long(32),
            predicates: long(40),
        };
        let size = tables.predicates.saturating_sub(tables.edges);
        let each = tables.edge_bytes() * if tables.reverse { 2 } else { 1 };
        tables.edge_count = size / each;
        let said = u32::try_from(tables.edge_count).unwrap_or(u32::MAX) == short(16);
        if !tables.sound(end) || !size.is_multiple_of(each) || !said {
            return Err(unusable(12, "the header contradicts itself"));
        }
        Ok(Self { source_size: long(48), source_mtime: long(56), tables })
    }
}

/// Writes and reads fields one behind the other; wide ones have twice the bytes.
struct Fields<'b> {
    bytes: &'b mut [u8; LONGEST_ENTRY],
    at: usize,
    wide: bool,
}

impl Fields<'_> {
    fn put(&mut self, value: u64, narrow: usize) {
        let width = if self.wide { 2 * narrow } else { narrow };
        self.bytes[self.at..self.at + width].copy_from_slice(&value.to_le_bytes()[..width]);
        self.at += width;
    }

    fn get(&mut self, narrow: usize) -> u64 {
        let width = if self.wide { 2 * narrow } else { narrow };
        let mut word = [0; 8];
        word[..width].copy_from_slice(&self.bytes[self.at..self.at + width]);
        self.at += width;
        u64::from_le_bytes(word)
    }

    /// What has room in four bytes whatever the version: at most two narrow ones, widened.
    fn get_short(&mut self) -> u32 {
        u32::try_from(self.get(2)).unwrap_or(u32::MAX)
    }
}

/// Consecutive edges of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EdgeRun {
    /// Number of the first one.
    pub first: u64,
    /// The number of edges.
    pub count: u32,
}

/// A node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeEntry {
    /// The hash of the node's id.
    pub hash: u64,
    /// Where its id begins in the pool.
    pub id_offset: u64,
    /// Bytes of its id.
    pub id_length: u32,
    /// Its outgoing edges.
    pub out: EdgeRun,
    /// Its incoming edges.
    pub incoming: EdgeRun,
}

/// The bytes of an entry.
pub(super) struct Encoded {
    bytes: [u8; LONGEST_ENTRY],
    length: usize,
}

impl Encoded {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

fn encoded(wide: bool, write: impl FnOnce(&mut Fields<'_>)) -> Encoded {
    let mut bytes = [0; LONGEST_ENTRY];
    let mut fields = Fields { bytes: &mut bytes, at: 0, wide };
    write(&mut fields);
    let length = fields.at;
    Encoded { bytes, length }
}

impl NodeEntry {
    pub(super) fn encode(&self, tables: &Tables) -> Encoded {
        encoded(tables.wide, |fields| {
            fields.wide = false;
            fields.put(self.hash, 8);
            fields.wide = tables.wide;
            fields.put(self.id_offset, 4);
            fields.put(self.id_length.into(), 2);
            fields.put(self.out.first, 4);
            fields.put(self.out.count.into(), 2);
            if tables.reverse {
                fields.put(self.incoming.first, 4);
                fields.put(self.incoming.count.into(), 2);
            }
        })
    }

    pub(super) fn decode(bytes: &mut [u8; LONGEST_ENTRY], tables: &Tables) -> Self {
        let hash = u64::from_le_bytes(chunk(bytes, 0));
        let mut fields = Fields { bytes, at: 8, wide: tables.wide };
        let (id_offset, id_length) = (fields.get(4), fields.get_short());
        let mut run = || EdgeRun { first: fields.get(4), count: fields.get_short() };
        let out = run();
        let incoming = if tables.reverse { run() } else { EdgeRun::default() };
        Self { hash, id_offset, id_length, out, incoming }
    }
}

/// An edge, seen from one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeEntry {
    /// Number of its predicate.
    pub predicate: u32,
    /// Number of the node at the other end.
    pub node: u32,
    /// Where its row begins.
    pub offset: u64,
}

impl EdgeEntry {
    pub(super) fn encode(&self, tables: &Tables) -> Encoded {
        encoded(tables.wide, |fields| {
            fields.put(self.predicate.into(), 2);
            fields.wide = false;
            fields.put(self.node.into(), 4);
            fields.put(self.offset, 8);
        })
    }

    /// One that was read; the slice has all of its bytes.
    pub(super) fn decode(bytes: &[u8], wide: bool) -> Self {
        let (predicate, at) = if wide {
            (u32::from_le_bytes(chunk(bytes, 0)), 4)
        } else {
            (u16::from_le_bytes(chunk(bytes, 0)).into(), 2)
        };
        let node = u32::from_le_bytes(chunk(bytes, at));
        Self { predicate, node, offset: u64::from_le_bytes(chunk(bytes, at + 4)) }
    }
}

/// A predicate: where its text begins in the pool, and its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PredicateEntry {
    /// Where its text begins in the pool.
    pub offset: u64,
    /// Bytes of its text.
    pub length: u32,
}

impl PredicateEntry {
    pub(super) fn encode(&self, tables: &Tables) -> Encoded {
        encoded(tables.wide, |fields| {
            fields.put(self.offset, 4);
            fields.put(self.length.into(), 2);
        })
    }

    pub(super) fn decode(bytes: &mut [u8; LONGEST_ENTRY], tables: &Tables) -> Self {
        let mut fields = Fields { bytes, at: 0, wide: tables.wide };
        Self { offset: fields.get(4), length: fields.get_short() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(wide: bool, reverse: bool) -> Tables {
        let counts = Counts { nodes: 3, edges: 5, predicates: 2, ids: 7 };
        Tables::of(&counts, wide, reverse)
    }

    #[test]
    fn what_is_written_is_read() {
        for (wide, reverse) in [(false, false), (false, true), (true, false), (true, true)] {
            let tables = tables(wide, reverse);
            let header = Header { source_size: 9, source_mtime: 8, tables };
            let end = tables.predicate_pool();
            assert_eq!(Header::decode(&header.encode(), end).unwrap(), header);
            assert!(Header::decode(&header.encode(), end - 1).is_err());
            let run = |first| EdgeRun { first, count: 0xFFFE };
            let incoming = if reverse { run(7) } else { EdgeRun::default() };
            let node =
                NodeEntry { hash: 1 << 63, id_offset: 5, id_length: 6, out: run(3), incoming };
            let made = node.encode(&tables);
            assert_eq!(made.bytes().len() as u64, tables.node_bytes());
            assert_eq!(NodeEntry::decode(&mut { made.bytes }, &tables), node);
            let edge = EdgeEntry { predicate: 0xFFFE, node: u32::MAX, offset: u64::MAX - 1 };
            let made = edge.encode(&tables);
            assert_eq!(made.bytes().len() as u64, tables.edge_bytes());
            assert_eq!(EdgeEntry::decode(made.bytes(), wide), edge);
            let predicate = PredicateEntry { offset: 77, length: 0xFFFF };
            let made = predicate.encode(&tables);
            assert_eq!(made.bytes().len() as u64, tables.predicate_bytes());
            assert_eq!(PredicateEntry::decode(&mut { made.bytes }, &tables), predicate);
        }
    }

    #[test]
    fn counts_and_offsets_that_cannot_be_are_refused() {
        let header = Header { source_size: 9, source_mtime: 8, tables: tables(false, true) };
        let good = header.encode();
        for at in [12, 16, 20, 24, 32, 40] {
            for value in [u64::MAX, 1 << 31] {
                let mut bytes = good;
                let width = if at < 24 { 4 } else { 8 };
                bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
                assert!(Header::decode(&bytes, 4096).is_err(), "byte {at}, {value:#x}");
            }
        }
    }
}
