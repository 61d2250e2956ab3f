//! The query language: one evaluator over one row at a time.
//!
//! A [`Program`] is compiled once and shared. A [`Machine`] evaluates it over one row,
//! in the arena of that row. Whatever runs queries, per row, over the stream of all
//! rows, backwards or on a cluster, runs this.

mod approx_distinct;
mod best;
mod builtins;
mod deep;
mod demand;
mod fault;
mod format_spec;
mod frame;
mod join;
mod keyed;
mod known;
mod limits;
mod machine;
mod numbers;
mod patch;
mod pattern;
mod program;
mod program_reader;
mod regex;
mod row_parser;
mod row_query;
mod sorted_lines;
mod stages;
mod stream_query;
mod strings;
mod sum;
mod zip;

pub use approx_distinct::Distinct;
pub use builtins::{BUILTINS, Builtin, Parameter, check_literal, unknown_group};
pub use fault::Fault;
pub use format_spec::FormatSpec;
pub use frame::{Frame, NullPayload};
pub use join::{JoinKind, JoinTable, Keep};
pub use keyed::{Keyed, KeyedPlan, KeyedRows, Texts};
pub use known::{Input, Known, Place};
pub use limits::Watch;
pub use machine::{Evaluated, Flow, Machine, Sink};
pub use program::{Arg, ExprId, Program, VERSION};
pub use program_reader::{MAX_DEPTH, Malformed, decode};
pub use row_parser::Reading;
pub use row_query::{Counts, Output, Refusal, RowQuery, Writing};
pub use sorted_lines::SortedLines;
pub use stages::{Join, Stage, Stages};
pub use stream_query::{
    GroupParts, MergedGroups, Obstacle, Prune, Reduction, Slot, StreamCounts, StreamQuery,
};
pub use sum::Sum;
pub use zip::{More, Partners};
