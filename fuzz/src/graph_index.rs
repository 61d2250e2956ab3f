//! Any bytes as a graph index.

use std::sync::Arc;

use headrace_core::{
    graph::{
        Direction, Emit, Events, Expansion, GraphIndex, GraphView, Options, Which, shortest_path,
        stats,
    },
    input::DataFile,
    sealed::{AnyBaseDelta, BaseDelta, IndexFile},
};

use super::sealed::with_checksums;

/// Bytes are refused, or can be gone along: to an end, in bounds.
pub fn graph_index(bytes: &[u8]) {
    use_it(bytes.to_vec());
    if let Some(bytes) = with_checksums(bytes.to_vec()) {
        use_it(bytes);
    }
}

fn use_it(bytes: Vec<u8>) {
    let size = bytes.len() as u64;
    let Ok(index) = GraphIndex::open(DataFile::new(bytes)) else { return };
    // Who counts allocates for each, so there must be a byte for each at least.
    assert!(u64::from(index.node_count()) < size && u64::from(index.predicate_count()) < size);
    let Ok(graph) = BaseDelta::new(index, None) else { return };
    let graph = Arc::new(graph);
    let whole = graph.verify(&|| true).is_ok();
    let counted = stats(&graph, &|| true);
    if let (true, Ok(Some(counted))) = (whole, &counted) {
        assert_eq!(counted.edges, graph.base().meta().edges);
    }
    for direction in [Direction::Out, Direction::In, Direction::Both] {
        let mut view = GraphView::new(Arc::clone(&graph));
        let which = Which { direction, predicates: None, most: Some(1 << 10) };
        let _ = shortest_path(&mut view, [b"a", b"c"], &which, Some(9), &|| true);
        for (emit, most) in [(Emit::Edges, which.most), (Emit::Tree, None)] {
            let which = Which { most, ..which.clone() };
            let (hops, limit) = (None, Some(1 << 10));
            let options = Options { which, hops, limit, emit, ..Options::default() };
            let seeds = vec![b"a".to_vec(), b"none".to_vec()];
            let mut expansion = Expansion::new(&view, seeds, options);
            let mut steps = Events::default();
            while expansion.advance(&mut view, 256, &|| true, &mut steps).is_ok()
                && !steps.list().is_empty()
            {
                steps.clear();
            }
        }
    }
}
