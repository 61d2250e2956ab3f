//! Sweep: follow the edges of many nodes in the order of the index.
//!
//! Which of several edges leads to a node first is a matter of the order of the nodes and of the
//! file, not of that in which edges are looked at: of all that lead to a node, the first one is
//! kept. So a level takes as long as reading the parts of the index that it is in, each once.

use super::{
    GraphIndex,
    follow::{Direction, Which},
    index::EdgeReader,
    layout::EdgeRun,
    visit_order::{Visit, VisitOrder},
};
use crate::Result;

/// A node that was found, and the first edge that leads to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// The node the edge leads to.
    pub(super) node: u64,
    /// Which of the nodes that were swept the edge is of.
    pub(super) by: usize,
    /// The predicate of the edge.
    pub(super) predicate: u32,
    /// Where its row begins.
    pub(super) offset: u64,
    /// Whether it is followed in its own direction.
    pub(super) outgoing: bool,
}

/// Follow the edges of the first ones of `nodes`, and return how many those are: none if the
/// first has more than `most` edges. What they lead to and had no place is added in the order in which
/// it is reached.
///
/// # Errors
/// [`crate::ErrorKind::Sidecar`] where the index is damaged.
pub(super) fn sweep(
    index: &GraphIndex,
    nodes: &[u64],
    which: &Which,
    most: u64,
    places: &mut VisitOrder,
    found: &mut Vec<Found>,
) -> Result<usize> {
    let mut sorted: Vec<(u64, usize)> = nodes.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    let mut runs = vec![[EdgeRun::default(); 2]; nodes.len()];
    let mut entries = index.node_reader();
    for &(node, by) in &sorted {
        runs[by] = entries.runs(node, which.direction)?;
    }
    let edges = |runs: &[EdgeRun; 2]| runs.iter().map(|run| u64::from(run.count)).sum::<u64>();
    let mut total = 0;
    let fits = |runs: &&[EdgeRun; 2]| {
        total += edges(runs);
        total <= most
    };
    let swept = runs.iter().take_while(fits).count();
    sorted.retain(|&(_, by)| by < swept);
    for (incoming, direction) in [Direction::Out, Direction::In].into_iter().enumerate() {
        if which.direction != direction && which.direction != Direction::Both {
            continue;
        }
        let mut reader = index.edge_reader();
        for &(_, by) in &sorted {
            follow(&mut reader, runs[by][incoming], (by, incoming == 0), which, places, found)?;
        }
    }
    found.sort_unstable_by_key(|found| (found.by, found.offset));
    Ok(swept)
}

fn follow(
    reader: &mut EdgeReader<'_>,
    run: EdgeRun,
    (by, outgoing): (usize, bool),
    which: &Which,
    places: &mut VisitOrder,
    found: &mut Vec<Found>,
) -> Result<()> {
    let wanted = which.predicates.as_ref();
    reader.each(run, |edge| {
        if wanted.is_some_and(|wanted| !wanted.contains(&edge.predicate)) {
            return;
        }
        let node = u64::from(edge.node);
        let new = Found { node, by, predicate: edge.predicate, offset: edge.offset, outgoing };
        match places.get(node) {
            None => {
                places.set(node, Visit::Found(found.len()));
                found.push(new);
            }
            Some(Visit::Found(at)) if (by, edge.offset) < (found[at].by, found[at].offset) => {
                found[at] = new;
            }
            Some(_) => {}
        }
    })
}
