//! Writing a graph index from edges that were collected.

use std::{fs::File, os::unix::fs::FileExt, path::PathBuf};

use super::{
    EdgeRuns, GraphIndex, Meta,
    edges::{EdgeFile, Part as Collected, RawEdge},
    layout::{Counts, EdgeEntry, EdgeRun, Header, NodeEntry, PredicateEntry, Tables},
    meta::EdgeFields,
    sort::{InOrder, Sorter},
};
use crate::{
    Result,
    keys::{Runs, runs::in_order},
    sealed::{BaseDelta, IndexFile, Lines, MadeOf, TableWriter, id_text, trailer, unusable},
};

/// Records between two questions whether to go on.
const CHECK_EVERY: u64 = 1 << 16;

/// The contents of the index to write.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The fields of an edge.
    pub fields: EdgeFields,
    /// Whether incoming edges are written too.
    pub reverse: bool,
    /// Version 1, version 2, or version 1 if that has room for it.
    pub version: Option<u32>,
    /// How much memory to use.
    pub memory: usize,
    /// All lines of the source, by kind.
    pub lines: Lines,
    /// The source and the options of the build, which also say whether it is a delta.
    pub made_of: MadeOf,
    /// See [`SourceHashes`](crate::sealed::SourceHashes).
    pub hashes: Vec<u64>,
    /// Where there is room for files without a name.
    pub directory: PathBuf,
}

/// The result of writing an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// An index.
    Written(Written),
    /// The requested version, or every version, is too small for it.
    NoRoom(&'static str),
    /// `go_on` returned false.
    Stopped,
}

/// An index that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The version of the format.
    pub version: u32,
    /// Why it is not version 1, if the version was not requested.
    pub why: Option<&'static str>,
    /// How many edges it has.
    pub edges: u64,
    /// How many nodes.
    pub nodes: u32,
    /// How many predicates.
    pub predicates: u32,
    /// Bytes of the file.
    pub size: u64,
}

/// Write the index of all edges that were collected to an empty file; with `base`, its delta.
/// Stops when `go_on`, which is called now and then, returns false.
///
/// # Errors
/// Errors of reading and writing.
pub fn write(
    collected: Vec<EdgeRuns>,
    base: Option<&BaseDelta<GraphIndex>>,
    out: &File,
    plan: &Plan,
    go_on: &dyn Fn() -> bool,
) -> Result<Outcome> {
    let Some(edges) = Edges::of(collected, plan, go_on)? else { return Ok(Outcome::Stopped) };
    let Some(seen) = edges.survey(go_on)? else { return Ok(Outcome::Stopped) };
    let Some(counts) = seen.counts() else { return Ok(Outcome::NoRoom("node_count")) };
    let full = seen.exceeds_narrow();
    if plan.version == Some(1)
        && let Some(why) = full
    {
        return Ok(Outcome::NoRoom(why));
    }
    let tables = Tables::of(&counts, plan.version == Some(2) || full.is_some(), plan.reverse);
    let (source_size, source_mtime) = plan.made_of.source.in_header();
    let header = Header { source_size, source_mtime, tables };
    out.write_all_at(&header.encode(), 0)?;
    let Some(end) = edges.write(out, &tables, go_on)? else { return Ok(Outcome::Stopped) };
    let continued = base
        .map(BaseDelta::base)
        .map(|base| (id_text(base.build_id()), base.meta().made_of.coverage_end));
    let mut made_of = plan.made_of.continuing(continued);
    made_of.last = made_of.last.map(|last| if last == "key" { "edge".into() } else { last });
    let meta = Meta {
        fields: plan.fields.clone(),
        reverse: plan.reverse,
        hash: "xxh3_64".into(),
        nodes: counts.nodes.into(),
        edges: counts.edges,
        predicates: counts.predicates.into(),
        lines: plan.lines,
        made_of,
    };
    let size = trailer::write(out, end, &meta, &plan.hashes)?;
    Ok(Outcome::Written(Written {
        version: header.version(),
        why: full.filter(|_| plan.version.is_none()),
        edges: counts.edges,
        nodes: counts.nodes,
        predicates: counts.predicates,
        size,
    }))
}

/// How many different texts there are, and how long they are.
#[derive(Clone, Copy, Debug, Default)]
struct Texts {
    count: u64,
    bytes: u64,
    longest: usize,
}

/// What is in the edges.
struct Survey {
    nodes: Texts,
    predicates: Texts,
    edges: u64,
    most_edges: u64,
}

impl Survey {
    /// `None` if numbers of 32 bits are not enough.
    fn counts(&self) -> Option<Counts> {
        let fits = u32::try_from(self.most_edges).is_ok();
        let nodes = u32::try_from(self.nodes.count).ok().filter(|_| fits)?;
        let predicates = u32::try_from(self.predicates.count).ok()?;
        Some(Counts { nodes, edges: self.edges, predicates, ids: self.nodes.bytes })
    }

    /// What version 1 has no room for.
    fn exceeds_narrow(&self) -> Option<&'static str> {
        let short = u64::from(u16::MAX);
        let long = u64::from(u32::MAX);
        let (nodes, predicates) = (&self.nodes, &self.predicates);
        let longest = |texts: &Texts| texts.longest as u64;
        [
            (self.most_edges > short, "edges_of_a_node"),
            (predicates.count > short + 1, "predicate_count"),
            (longest(nodes) > short, "id_length"),
            (longest(predicates) > short, "predicate_length"),
            (nodes.bytes > long || predicates.bytes > long, "pool_size"),
            // Incoming edges have numbers too.
            (2 * self.edges > long, "edge_count"),
        ]
        .into_iter()
        .find_map(|(exceeds, why)| exceeds.then_some(why))
    }
}

/// Edges with the numbers that their nodes and predicates have in the index.
struct Edges {
    node_runs: Vec<Runs>,
    predicate_runs: Vec<Runs>,
    nodes: Texts,
    predicates: Texts,
    /// From, offset, and predicate and to together.
    out: Sorter,
    /// To, offset, and predicate and from together.
    incoming: Sorter,
}

/// What of the memory is for edges in one direction; the rest holds the ids while they are merged.
const SHARE: usize = 4;

impl Edges {
    /// Give all their numbers; `None` if `go_on` returns false.
    fn of(collected: Vec<EdgeRuns>, plan: &Plan, go_on: &dyn Fn() -> bool) -> Result<Option<Self>> {
        let mut parts = Vec::new();
        let (mut node_runs, mut predicate_runs, mut files) = (Vec::new(), Vec::new(), Vec::new());
        for (number, mut one) in collected.into_iter().enumerate() {
            one.finish()?;
            let codes = (0..one.parts.len()).map(|part| one.code_of(part)).collect::<Vec<_>>();
            parts.extend(codes.into_iter().zip(one.parts).map(|(code, part)| (code, number, part)));
            node_runs.push(one.node_runs);
            predicate_runs.push(one.predicate_runs);
            files.push(one.edges);
        }
        parts.sort_unstable_by_key(|(code, ..)| *code);
        let room = || Sorter::new(plan.directory.clone(), plan.memory / SHARE);
        let (mut nodes, mut predicates) = (room(), room());
        let Some(node_texts) = number(&node_runs, &mut nodes, go_on)? else { return Ok(None) };
        let Some(predicate_texts) = number(&predicate_runs, &mut predicates, go_on)? else {
            return Ok(None);
        };
        let mut edges = Self {
            node_runs,
            predicate_runs,
            nodes: node_texts,
            predicates: predicate_texts,
            out: room(),
            incoming: room(),
        };
        let mut maps = (nodes.in_order()?, predicates.in_order()?);
        for (code, file, part) in parts {
            let of_part = Translation {
                nodes: taken(&mut maps.0, code, part.nodes)?,
                predicates: taken(&mut maps.1, code, part.predicates)?,
            };
            if !edges.add(&files[file], part, &of_part, plan.reverse, go_on)? {
                return Ok(None);
            }
        }
        edges.out.finish()?;
        edges.incoming.finish()?;
        Ok(Some(edges))
    }

    fn add(
        &mut self,
        file: &EdgeFile,
        part: Collected,
        texts: &Translation,
        reverse: bool,
        go_on: &dyn Fn() -> bool,
    ) -> Result<bool> {
        file.each(part.edges, go_on, |RawEdge { from, predicate, to, offset }| {
            let [from, to] = [from, to].map(|node| u64::from(texts.nodes[node as usize]));
            let predicate = u64::from(texts.predicates[predicate as usize]) << u32::BITS;
            self.out.push([from, offset, predicate | to])?;
            if reverse {
                self.incoming.push([to, offset, predicate | from])?;
            }
            Ok(())
        })
    }

    fn survey(&self, go_on: &dyn Fn() -> bool) -> Result<Option<Survey>> {
        let (mut edges, mut most_edges) = (0, 0);
        for (sorter, counts) in [(&self.out, true), (&self.incoming, false)] {
            let (mut node, mut here, mut seen) = (u64::MAX, 0, 0_u64);
            for triple in sorter.in_order()? {
                let [next, ..] = triple?;
                here = if next == node { here + 1 } else { 1 };
                node = next;
                most_edges = most_edges.max(here);
                seen += 1;
                if seen.is_multiple_of(CHECK_EVERY) && !go_on() {
                    return Ok(None);
                }
            }
            edges += if counts { seen } else { 0 };
        }
        Ok(Some(Survey { nodes: self.nodes, predicates: self.predicates, edges, most_edges }))
    }

    /// Write all tables, and return where they end; `None` if `go_on` returns false.
    fn write(&self, out: &File, tables: &Tables, go_on: &dyn Fn() -> bool) -> Result<Option<u64>> {
        let mut entries = TableWriter::at(out, tables.nodes);
        let mut pool = TableWriter::at(out, tables.pool());
        let mut outgoing = Run::new(TableWriter::at(out, tables.edges), self.out.in_order()?, 0);
        let begins = tables.edges + tables.edge_count * tables.edge_bytes();
        let mut incoming =
            Run::new(TableWriter::at(out, begins), self.incoming.in_order()?, tables.edge_count);
        let mut id_offset = 0;
        let mut texts = in_order(&self.node_runs)?;
        let mut node = 0;
        while let Some((record, same)) = texts.next()? {
            if same {
                continue;
            }
            let entry = NodeEntry {
                hash: record.hash,
                id_offset,
                id_length: length_of(record.key),
                out: outgoing.write(node, tables)?,
                incoming: incoming.write(node, tables)?,
            };
            entries.push(entry.encode(tables).bytes())?;
            pool.push(record.key)?;
            id_offset += record.key.len() as u64;
            node += 1;
            if node.is_multiple_of(CHECK_EVERY) && !go_on() {
                return Ok(None);
            }
        }
        for mut table in [entries, pool, outgoing.table, incoming.table] {
            table.flush()?;
        }
        self.write_predicates(out, tables).map(Some)
    }

    fn write_predicates(&self, out: &File, tables: &Tables) -> Result<u64> {
        let mut entries = TableWriter::at(out, tables.predicates);
        let mut pool = TableWriter::at(out, tables.predicate_pool());
        let mut offset = 0;
        let mut texts = in_order(&self.predicate_runs)?;
        while let Some((record, same)) = texts.next()? {
            if same {
                continue;
            }
            let entry = PredicateEntry { offset, length: length_of(record.key) };
            entries.push(entry.encode(tables).bytes())?;
            pool.push(record.key)?;
            offset += record.key.len() as u64;
        }
        entries.flush()?;
        pool.flush()?;
        Ok(tables.predicate_pool() + offset)
    }
}

fn length_of(text: &[u8]) -> u32 {
    // Never the default: `Runs` refuses longer texts.
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}

/// The number of a text in a part, and its number in the index.
struct Translation {
    nodes: Vec<u32>,
    predicates: Vec<u32>,
}

/// Number different texts, and note the number of each that a part has given.
fn number(runs: &[Runs], notes: &mut Sorter, go_on: &dyn Fn() -> bool) -> Result<Option<Texts>> {
    let mut texts = Texts::default();
    let mut merge = in_order(runs)?;
    let mut seen = 0_u64;
    while let Some((record, same)) = merge.next()? {
        if !same {
            texts.count += 1;
            texts.bytes += record.key.len() as u64;
            texts.longest = texts.longest.max(record.key.len());
        }
        notes.push([record.offset, texts.count - 1, 0])?;
        seen += 1;
        if seen.is_multiple_of(CHECK_EVERY) && !go_on() {
            return Ok(None);
        }
    }
    notes.finish()?;
    Ok(Some(texts))
}

/// The numbers of one part, which is next.
fn taken(notes: &mut InOrder<'_>, code: u64, count: usize) -> Result<Vec<u32>> {
    let mut numbers = vec![u32::MAX; count];
    while let Some([place, number, _]) = notes.peek() {
        if place >> u32::BITS != code >> u32::BITS {
            break;
        }
        notes.next().transpose()?;
        let at = usize::try_from(place - code).unwrap_or(usize::MAX);
        let number = u32::try_from(number).map_err(|_| unusable(0, "too many nodes"))?;
        if let Some(known) = numbers.get_mut(at) {
            *known = number;
        }
    }
    Ok(numbers)
}

/// Writes edges that are in the order of nodes.
struct Run<'a> {
    table: TableWriter<'a>,
    edges: InOrder<'a>,
    next: u64,
}

impl<'a> Run<'a> {
    fn new(table: TableWriter<'a>, edges: InOrder<'a>, next: u64) -> Self {
        Self { table, edges, next }
    }

    /// Write those of a node.
    fn write(&mut self, node: u64, tables: &Tables) -> Result<EdgeRun> {
        let first = self.next;
        while let Some([of, offset, rest]) = self.edges.peek() {
            if of != node {
                break;
            }
            self.edges.next().transpose()?;
            let [predicate, node] = [rest >> u32::BITS, rest & u64::from(u32::MAX)]
                .map(|half| u32::try_from(half).unwrap_or(u32::MAX));
            let entry = EdgeEntry { predicate, node, offset };
            self.table.push(entry.encode(tables).bytes())?;
            self.next += 1;
        }
        let count = u32::try_from(self.next - first).unwrap_or(u32::MAX);
        Ok(EdgeRun { first: if count == 0 { 0 } else { first }, count })
    }
}
