"""The table of events: messages on standard error.

As JSON, each is an object on a line, with ``event``, ``message`` and the fields of the
table; as text, the message alone.
"""

from __future__ import annotations

from typing import NamedTuple


class Event(NamedTuple):
    """One kind of event, with the names of its fields; ``--quiet`` silences it if `quiet`.

    As text, `prefix` comes before the message.
    """

    name: str
    doc: str
    fields: str = ""
    quiet: bool = True
    prefix: str = "headrace: "


EVENTS: tuple[Event, ...] = (
    Event(
        "progress",
        "progress in bytes of the source; as text, a bar on a terminal; of a replay in "
        "records, with the time of the last one and its delay",
        "done total time lag_ms",
    ),
    Event(
        "line_too_long",
        "a row was left out, because it is longer than `--max-line`",
        "path line offset length limit",
        prefix="headrace: warning: ",
    ),
    Event("waiting", "a file to follow does not exist yet", "path"),
    Event(
        "rotated",
        "a followed file was replaced by another; its last rows were printed, except "
        "`dropped` bytes of an unfinished row",
        "path dropped",
    ),
    Event(
        "truncated",
        "a followed file was cut or rewritten and is read again from its start",
        "path dropped",
    ),
    Event(
        "memory",
        "a query holds most of what `--memory` allows",
        prefix="headrace: warning: ",
    ),
    Event(
        "warning",
        "a problem that does not stop the work: a compressed file whose block table "
        "cannot be used is read in order, metrics cannot be written",
        prefix="headrace: warning: ",
    ),
    Event(
        "unread",
        "standard input is a pipe, but the query reads named sources only",
        prefix="headrace: warning: ",
    ),
    Event(
        "bad_row",
        "a row was skipped, with `--on-error collect`; `column` is the place in the query, "
        "if the row is JSON",
        "file line offset reason column raw raw_base64",
        quiet=False,
        prefix="headrace: bad row: ",
    ),
    Event(
        "bad_rows",
        "how many rows were skipped, and the file that has them",
        "bad errors",
        prefix="headrace: warning: ",
    ),
    Event(
        "no_answers",
        "a query printed nothing because every answer was null, or it reads a field that no "
        "row has",
        prefix="headrace: note: ",
    ),
    Event(
        "unused_names",
        "sources of `--name` that the query does not use",
        "names",
        prefix="headrace: warning: ",
    ),
    Event(
        "output",
        "values that were cut, columns that were left out or written as JSON text",
        "format",
        prefix="headrace: note: ",
    ),
    Event(
        "written",
        "files and rows that were written, and their bytes, compressed and decompressed",
        "generation parts records bytes logical_bytes",
    ),
    Event(
        "appended",
        "how many records were appended to a log, the number of the last line, and how many "
        "records had no time",
        "records last_line fallbacks",
    ),
    Event(
        "recovered",
        "an action of the recovery of a log whose last writer crashed",
        "action path why rows bytes offset",
    ),
    Event(
        "replayed",
        "how many records of how many logs were printed, and the longest delay",
        "records partitions lag_ms",
    ),
    Event(
        "sealed",
        "how many segments of a log were compressed, their lines, and their bytes before "
        "and after",
        "segments lines bytes_before bytes_after",
    ),
    Event(
        "removed",
        "lines of a log that were removed with their segments, their bytes and times; with "
        "`dry_run`, lines that would be removed",
        "segments lines bytes first_line last_line min_time max_time dry_run",
    ),
    Event(
        "build_start",
        "the build of an index begins: of a key, or of the fields of edges",
        "source key from pred to",
    ),
    Event(
        "build_complete",
        "an index was built: its rows, its keys, or its nodes and predicates, and its bytes; "
        "the lines that are not indexed, by cause, and the first of them; an unfinished line at "
        "the end is pending",
        "index records skipped causes pending first_skipped keys nodes predicates version size_bytes duration_ms",
    ),
    Event(
        "format_upgraded",
        "version 1 of the format has no room for an index",
        "from to reason",
        prefix="headrace: note: ",
    ),
    Event(
        "no_keys_indexed",
        "no row has the key; the message names the fields of the first rows",
        "source key",
        prefix="headrace: warning: ",
    ),
    Event(
        "key_not_found",
        "no row of a file, or of one side of a join, has the key; the message names the fields "
        "of the first rows",
        "source key",
        prefix="headrace: warning: ",
    ),
    Event(
        "no_edges_indexed",
        "no row is an edge; the message names the fields of the first rows",
        "source from pred to",
        prefix="headrace: warning: ",
    ),
    Event(
        "update_mode",
        "how an index was updated: `none` if it has all rows, `incremental` with the new rows "
        "and the lines that are not indexed, `full`; or why it must be built again, "
        "`full_required`",
        "mode reason new_records skipped causes first_skipped pending index size_bytes",
    ),
    Event(
        "index_revalidated",
        "a file looks different from when it was indexed, but is proven to be the same",
        "source",
    ),
    Event(
        "index_compacted",
        "an index and its delta were merged: its rows, its keys, or its nodes and predicates, "
        "and its bytes",
        "index records keys nodes predicates version size_bytes",
    ),
    Event(
        "index_stale",
        "an index is of an earlier state of the file",
        "source index kind reason",
        prefix="headrace: warning: ",
    ),
    Event(
        "index_unfit",
        "an index is intact, but does not fit: it is of other fields, has no incoming "
        "edges, leaves out rows that are needed, or another process is writing it",
        "source index kind reason",
        prefix="headrace: warning: ",
    ),
    Event(
        "index_corrupt",
        "an index is damaged, or has an unknown format",
        "source index kind reason",
        prefix="headrace: warning: ",
    ),
    Event(
        "index_fallback",
        "a file is scanned, because no index can be used",
        "reason source",
        prefix="headrace: warning: ",
    ),
    Event(
        "join_stats",
        "counts of a join, with `--stats`: `mode` is `hash` or `indexed`; left rows with a key "
        "are looked up, and those with a match are hits",
        "mode left_records lookups hits output_records source_reads bytes_read duration_ms",
        quiet=False,
        prefix="",
    ),
    Event(
        "seed_not_found",
        "a start node is not in the graph",
        "id",
        prefix="headrace: warning: ",
    ),
    Event(
        "predicate_not_found",
        "no edge has a predicate of `--pred`",
        "pred",
        prefix="headrace: warning: ",
    ),
    Event(
        "seeds_skipped",
        "how many lines of standard input have no start node, and the first of them",
        "skipped first_skipped",
        prefix="headrace: warning: ",
    ),
    Event(
        "expand_truncated",
        "there are more nodes than `--limit`; with `--per-seed`, the seed",
        "limit seed",
        prefix="headrace: warning: ",
    ),
    Event(
        "edges_capped",
        "how many nodes have more edges than `--most-edges`",
        "nodes most_edges seed",
        prefix="headrace: warning: ",
    ),
    Event(
        "no_path",
        "no path leads from one node to the other",
        "from to",
        prefix="headrace: warning: ",
    ),
    Event(
        "graph_hop",
        "how Spark's tasks find the edges of a level, with `--stats`: `strategy` is `index`, "
        "`broadcast` or `shuffle`",
        "level nodes strategy reason",
        quiet=False,
        prefix="",
    ),
    Event(
        "graph_stats",
        "nodes and edges that were printed, with `--stats`: `path` says how edges were found, "
        "with a `graph` index, with `keys`, or in a `scan`",
        "path nodes edges duration_ms",
        quiet=False,
        prefix="",
    ),
    Event(
        "begun",
        "a pass of a pipeline begins",
        "number passes title",
    ),
    Event(
        "pass",
        "a pass of a pipeline is done: its number, its status and why it ran",
        "number title status why tasks rows seconds failed_tasks shuffled_bytes spilled_bytes",
    ),
    Event(
        "indexed",
        "the parts of a pipeline's output have an index: how many were built, and how many kept",
        "index built kept records skipped size_bytes seconds",
    ),
    Event(
        "accounts",
        "where all rows of a pipeline went, stage after stage",
        "stages adds_up rejected report",
        quiet=False,
        prefix="",
    ),
    Event(
        "stats",
        "the lines the command read, by kind, and the first bad ones; of a query, how many "
        "rows were emitted, filtered and skipped, and the work: rows that were `parsed`, and that "
        "were `unread` because of an index or the times; bytes, threads and seconds, which "
        "[`query`](#query) explains; of a join, also the lines of the right side",
        "lines records blank bad too_long first_bad rows emitted filtered skipped outside right "
        "parsed unread bytes_read threads memory seconds cpu_seconds read_seconds "
        "evaluate_seconds merge_seconds finish_seconds write_seconds",
        quiet=False,
        prefix="",
    ),
    Event(
        "error",
        "why the command failed; the other fields are those of the error",
        "error",
        quiet=False,
    ),
)

KINDS = {event.name: event for event in EVENTS}
