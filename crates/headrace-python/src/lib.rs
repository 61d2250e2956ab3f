//! `headrace._native`: the core, seen from Python.
//!
//! Translation only: borrow, release the GIL, call the core, convert. What the
//! functions mean is said in the core; how Python code should call them, in
//! `headrace.kernel`. `python/headrace/_native.pyi` is the contract.

#![forbid(unsafe_code)]

mod answers;
mod arrow_read;
mod arrow_write;
mod batch;
mod blocks;
mod cells;
mod checksum;
mod compressor;
mod convert;
mod edge_scan;
mod error;
mod graph;
mod graph_columns;
mod join;
mod key_index;
mod keyed;
mod log;
mod packer;
mod query;
mod row_index;
mod row_stream;
mod sealed_index;
mod shuffle_packets;
mod signals;
mod source;
mod stage;
mod stream_query;
mod tally;
mod values;

use pyo3::pymodule;

#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::answers::{Answers, Counts, Refused, SiftedRow};
    #[pymodule_export]
    use crate::arrow_read::{
        AnswerColumns, ColumnBuffers, ColumnBuilder, ColumnFault, FilledColumns, Inference,
    };
    #[pymodule_export]
    use crate::arrow_write::ColumnLines;
    #[pymodule_export]
    use crate::batch::RowBatch;
    #[pymodule_export]
    use crate::blocks::{BadBlock, BlockTable, has_blocks};
    #[pymodule_export]
    use crate::cells::{cells, csv_header, csv_records, new_columns};
    #[pymodule_export]
    use crate::checksum::{crc32c, digest};
    #[pymodule_export]
    use crate::compressor::Compressor;
    #[pymodule_export]
    use crate::convert::ValueSplitter;
    #[pymodule_export]
    use crate::edge_scan::{EdgeScan, ScannedEdges};
    #[pymodule_export]
    use crate::error::KernelError;
    #[pymodule_export]
    use crate::graph::{GraphAccess, GraphExpansion, GraphIndex, GraphRuns, write_graph_index};
    #[pymodule_export]
    use crate::graph_columns::{
        GraphColumns, LargeTexts, ReachedColumns, graph_columns, reached_columns,
    };
    #[pymodule_export]
    use crate::join::RowJoin;
    #[pymodule_export]
    use crate::key_index::{
        KeyCandidates, KeyIndex, KeyRequest, KeyRuns, KeyScan, WantedKeys, rows_at, write_key_index,
    };
    #[pymodule_export]
    use crate::keyed::{KeyedElements, KeyedRows, PyTexts, SortedLines};
    #[pymodule_export]
    use crate::log::{
        LogChecking, LogClock, LogEntry, LogLines, LogMerge, LogTail, log_entry, log_lines_between,
        log_time_span, verify_log, verify_log_lines,
    };
    #[pymodule_export]
    use crate::packer::{LineRefusal, Packer, RowRefusal, Shard, codec_table};
    #[pymodule_export]
    use crate::query::{
        Program, RowQuery, Sources, builtins, format_problem, unknown_group, wrong_literal,
    };
    #[pymodule_export]
    use crate::row_index::{IndexBuild, RowIndex, SidecarSource, reach_back};
    #[pymodule_export]
    use crate::row_stream::{RowStream, count_rows};
    #[pymodule_export]
    use crate::sealed_index::{SealedIndex, hash_all, hash_blocks};
    #[pymodule_export]
    use crate::shuffle_packets::KeyPackets;
    #[pymodule_export]
    use crate::signals::{Cancel, available_threads};
    #[pymodule_export]
    use crate::source::{Decoded, File, Reader, codecs, foreign_format, sniff};
    #[pymodule_export]
    use crate::stage::{JoinTable, Stage};
    #[pymodule_export]
    use crate::stream_query::{GroupParts, MergedGroups, StreamQuery};
    #[pymodule_export]
    use crate::tally::Tally;
    #[pymodule_export]
    use crate::values::parse;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
