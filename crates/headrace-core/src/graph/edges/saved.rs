//! Edges that another process has collected, in a file.
//!
//! From byte 0 on: edges as in [`EdgeFile`], the run of ids, the run of predicates, and of each part four
//! numbers: how many ids and predicates it has numbered, and which edges are its own (first,
//! behind the last). The last [`TAIL`] bytes say where edges, ids and predicates end, and who has
//! collected them. All numbers have 64 bits, the lowest first.

use std::{fs::File, os::unix::fs::FileExt};

use super::{BUFFERED, BYTES, EdgeFile, EdgeRuns, Interner, Part};
use crate::{
    Result,
    keys::Runs,
    sealed::{chunk, unusable},
};

const MAGIC: &[u8; 8] = b"HRedges1";
const NUMBER: usize = size_of::<u64>();
const PART: usize = 4 * NUMBER;
/// Bytes at the end.
const TAIL: usize = 4 * NUMBER + MAGIC.len();

impl EdgeRuns {
    /// Write all that was collected to an empty file, for another process.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn save(&mut self, out: &File) -> Result<()> {
        self.finish()?;
        let edges = self.edges.copy_to(out)?;
        let ids = self.node_runs.save(out, edges)?;
        let predicates = self.predicate_runs.save(out, ids)?;
        let parts = self.parts.iter().flat_map(|part| {
            [part.nodes as u64, part.predicates as u64, part.edges.start, part.edges.end]
        });
        let numbers = parts.chain([edges, ids, predicates, self.number]);
        let mut tail: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
        tail.extend_from_slice(MAGIC);
        out.write_all_at(&tail, predicates)?;
        Ok(())
    }

    /// The edges or keys that were saved in a file. Nothing can be added to it.
    ///
    /// # Errors
    /// An error of the operating system; [`crate::ErrorKind::Sidecar`] where it is no such file.
    pub fn saved(file: &File) -> Result<Self> {
        let size = file.metadata()?.len();
        let no_edges = || unusable(size, "no edges were saved here");
        let at = size.checked_sub(TAIL as u64).ok_or_else(no_edges)?;
        let mut tail = [0; TAIL];
        file.read_exact_at(&mut tail, at)?;
        let [edges, ids, predicates, number] = numbers_at(&tail);
        let in_order = edges <= ids && ids <= predicates && predicates <= at;
        if &tail[4 * NUMBER..] != MAGIC || !in_order {
            return Err(no_edges());
        }
        let mut parts = vec![0; usize::try_from(at - predicates).map_err(|_| no_edges())?];
        file.read_exact_at(&mut parts, predicates)?;
        let parts = parts.chunks_exact(PART).map(|bytes| {
            let [nodes, predicates, first, end] = numbers_at(bytes);
            let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
            Part { nodes: count(nodes), predicates: count(predicates), edges: first..end }
        });
        Ok(Self {
            number,
            budget: 0,
            nodes: Interner::default(),
            predicates: Interner::default(),
            node_runs: Runs::saved(file.try_clone()?, (edges, ids)),
            predicate_runs: Runs::saved(file.try_clone()?, (ids, predicates)),
            edges: EdgeFile { file: file.try_clone()?, at: edges, buffer: Vec::new() },
            parts: parts.collect(),
            begun: edges / BYTES as u64,
        })
    }
}

impl EdgeFile {
    /// Copy all edges, which were flushed, to a file, and return where they end.
    fn copy_to(&self, out: &File) -> Result<u64> {
        let mut buffer = vec![0; BUFFERED];
        let mut at = 0;
        while at < self.at {
            let left = usize::try_from(self.at - at).unwrap_or(usize::MAX);
            let part = &mut buffer[..left.min(BUFFERED)];
            self.file.read_exact_at(part, at)?;
            out.write_all_at(part, at)?;
            at += part.len() as u64;
        }
        Ok(at)
    }
}

fn numbers_at(bytes: &[u8]) -> [u64; 4] {
    [0, 1, 2, 3].map(|place| u64::from_le_bytes(chunk(bytes, place * NUMBER)))
}
