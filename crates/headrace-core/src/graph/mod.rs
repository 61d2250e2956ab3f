//! The graph index, `.jnx.graph`: from a node to the edges that come from it, or go to it.
//!
//! Each row of the source is an *edge*: it goes *from* a node *to* a node and has a *predicate*.
//! Nodes and predicates are texts, as [`keys`](crate::keys) are. The [`layout`] has all of them, so
//! edges are followed without reading rows; the caller must first prove that the index fits its
//! source.

mod adjacency;
mod columns;
mod edge_scan;
mod edges;
mod events;
mod expand;
mod follow;
mod index;
mod interner;
mod key_index_edges;
mod layout;
mod meta;
mod path;
mod reached;
mod sort;
mod stats;
mod sweep;
#[cfg(test)]
mod tests;
mod verify;
mod visit_order;
mod write;

pub use adjacency::{Adjacency, GraphView};
pub use columns::{Columns, Texts, columns};
pub use edge_scan::{EdgeScan, ScannedEdges};
pub use edges::EdgeRuns;
pub use events::{Event, Events, Id};
pub use expand::{Emit, Expansion, Options};
pub use follow::{Direction, Edges, Which};
pub use index::GraphIndex;
pub use key_index_edges::KeyedEdges;
pub use meta::{EdgeFields, Meta};
pub use path::{Hop, Way, shortest_path};
pub use reached::{Reached, reached};
pub use stats::{Degrees, Stats, stats};
pub use write::{Outcome, Plan, Written, write};
