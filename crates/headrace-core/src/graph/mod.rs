//! The graph index, `.jnx.graph`: from a node to the edges that come from it, or go to it.
//!
//! Each row of the source is an *edge*: it comes *from* a node, goes *to* one, and says what it
//! means by its *predicate*. Nodes and predicates are texts, as [`keys`](crate::keys) are. The
//! [`layout`] has all that is asked for, so that no row is read to go along edges; that the index
//! is that of its source has to be proven before, by those who use it.

pub mod adjacency;
pub mod columns;
pub mod edge_scan;
pub mod edges;
pub mod events;
pub mod expand;
pub mod follow;
pub mod index;
mod interner;
mod keyed;
pub mod layout;
mod meta;
pub mod path;
pub mod reached;
mod sort;
pub mod stats;
mod sweep;
#[cfg(test)]
mod tests;
mod verify;
mod visit_order;
pub mod write;

pub use adjacency::{Adjacency, GraphView};
pub use edges::EdgeRuns;
pub use expand::Expansion;
pub use follow::{Direction, Which};
pub use index::GraphIndex;
pub use keyed::KeyedEdges;
pub use meta::{EdgeFields, Meta};
pub use path::shortest_path;
pub use stats::stats;
pub use write::write;
