//! Any bytes, for everything in the core that takes bytes: each function panics if the core
//! does, or if it breaks a promise. `headrace-core`'s tests run the same functions over what
//! was found once (`found/`).

#![allow(clippy::expect_used, reason = "to panic is what they are for")]
#![allow(unreachable_pub, reason = "one of those who use them is no library")]

mod blocks;
mod checkpoint;
mod columns;
mod frame;
mod graph_index;
mod join;
mod json;
mod key_index;
mod log;
mod program;
mod rows;
mod sealed;
mod variant;

pub use blocks::blocks;
pub use checkpoint::checkpoint;
pub use columns::columns;
pub use frame::frame;
pub use graph_index::graph_index;
pub use join::join;
pub use json::json;
pub use key_index::key_index;
pub use log::log;
pub use program::program;
pub use rows::rows;
pub use variant::variant;
