"""The table of events: everything a command says that is not data.

With ``--events json`` each is one JSON object on a line of standard error, with
``event`` and ``message`` and the fields named here; as text, the message alone.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

EventName: TypeAlias = Literal[
    "progress",
    "line_too_long",
    "waiting",
    "rotated",
    "truncated",
    "memory",
    "warning",
    "unread",
    "bad_row",
    "bad_rows",
    "no_answers",
    "unused_names",
    "output",
    "written",
    "appended",
    "recovered",
    "replayed",
    "sealed",
    "removed",
    "build_start",
    "build_complete",
    "format_upgraded",
    "no_keys_indexed",
    "key_not_found",
    "no_edges_indexed",
    "update_mode",
    "index_revalidated",
    "index_compacted",
    "index_stale",
    "index_unfit",
    "index_corrupt",
    "index_fallback",
    "join_plan",
    "join_stats",
    "seed_not_found",
    "predicate_not_found",
    "seeds_skipped",
    "expand_truncated",
    "edges_capped",
    "no_path",
    "graph_plan",
    "graph_hop",
    "graph_stats",
    "begun",
    "pass",
    "indexed",
    "accounts",
    "stats",
    "error",
]


class Event(NamedTuple):
    """One kind of event; `quiet` if ``--quiet`` silences it.

    `prefix` stands before the message where the event is text.
    """

    name: EventName
    doc: str
    fields: tuple[str, ...]
    quiet: bool = True
    prefix: str = "headrace: "


EVENTS: tuple[Event, ...] = (
    Event(
        "progress",
        "how far the work is, in bytes of the source; as text, a bar on a terminal; of a "
        "replay in records, with the time of the last and how late it is",
        ("done", "total", "time", "lag_ms"),
    ),
    Event(
        "line_too_long",
        "a row was left out, because it is longer than `--max-line`",
        ("path", "line", "offset", "length", "limit"),
        prefix="headrace: warning: ",
    ),
    Event("waiting", "a file to follow is not there yet", ("path",)),
    Event(
        "rotated",
        "a followed file was replaced by another; its last rows were printed, but for "
        "`dropped` bytes of a row that was never finished",
        ("path", "dropped"),
    ),
    Event(
        "truncated",
        "a followed file was cut or rewritten and is read again from its start",
        ("path", "dropped"),
    ),
    Event(
        "memory",
        "a query holds most of what `--memory` allows",
        (),
        prefix="headrace: warning: ",
    ),
    Event(
        "warning",
        "something that does not stop the work: a compressed file whose table of blocks "
        "cannot be used is read in order, metrics cannot be written",
        (),
        prefix="headrace: warning: ",
    ),
    Event(
        "unread",
        "standard input is a pipe, but the query is about named sources only",
        (),
        prefix="headrace: warning: ",
    ),
    Event(
        "bad_row",
        "a row was passed over, as `--on-error collect` asks; `column` is where in the "
        "query, of a row that is good",
        ("file", "line", "offset", "reason", "column", "raw", "raw_base64"),
        quiet=False,
        prefix="headrace: bad row: ",
    ),
    Event(
        "bad_rows",
        "how many rows a query passed over, and the file that has them",
        ("bad", "errors"),
        prefix="headrace: warning: ",
    ),
    Event(
        "no_answers",
        "a query printed nothing because every answer was null, or reads a field that no row "
        "has where a function was meant",
        (),
        prefix="headrace: note: ",
    ),
    Event(
        "unused_names",
        "sources that `--name` gives and the query does not use",
        ("names",),
        prefix="headrace: warning: ",
    ),
    Event(
        "output",
        "what the output does not show as it is: values cut, columns left out, columns "
        "as JSON text",
        ("format",),
        prefix="headrace: note: ",
    ),
    Event(
        "written",
        "what was written: files, rows, and bytes compressed and not",
        ("generation", "parts", "records", "bytes", "logical_bytes"),
    ),
    Event(
        "appended",
        "how many records were appended to a log, the number of the last line, and how "
        "many have no time of their own",
        ("records", "last_line", "fallbacks"),
    ),
    Event(
        "recovered",
        "what had to be done to a log whose last writer crashed",
        ("action", "path", "why", "rows", "bytes", "offset"),
    ),
    Event(
        "replayed",
        "how many records of how many logs were printed, and how late at most",
        ("records", "partitions", "lag_ms"),
    ),
    Event(
        "sealed",
        "how many segments of a log were compressed, their lines, and their bytes before "
        "and after",
        ("segments", "lines", "bytes_before", "bytes_after"),
    ),
    Event(
        "removed",
        "which lines of a log were removed with their segments, how much room they took, "
        "and their times; `dry_run`: none were",
        (
            "segments",
            "lines",
            "bytes",
            "first_line",
            "last_line",
            "min_time",
            "max_time",
            "dry_run",
        ),
    ),
    Event(
        "build_start",
        "an index is being built: of a key, or of edges from, with a predicate, to nodes",
        ("source", "key", "from", "pred", "to"),
    ),
    Event(
        "build_complete",
        "an index was built: its rows, its keys, or its nodes and predicates, and its bytes; "
        "the lines that are not in it, by cause, and the first of them; half a line at the end "
        "is pending",
        (
            "index",
            "records",
            "skipped",
            "causes",
            "pending",
            "first_skipped",
            "keys",
            "nodes",
            "predicates",
            "version",
            "size_bytes",
            "duration_ms",
        ),
    ),
    Event(
        "format_upgraded",
        "version 1 of the format has no room for an index",
        ("from", "to", "reason"),
        prefix="headrace: note: ",
    ),
    Event(
        "no_keys_indexed",
        "no row has the key; the fields that the first rows have are in the message",
        ("source", "key"),
        prefix="headrace: warning: ",
    ),
    Event(
        "key_not_found",
        "no row of a file, or of one side of a join, has the key; the fields that the first "
        "rows have are in the message",
        ("source", "key"),
        prefix="headrace: warning: ",
    ),
    Event(
        "no_edges_indexed",
        "no row is an edge; the fields that the first rows have are in the message",
        ("source", "from", "pred", "to"),
        prefix="headrace: warning: ",
    ),
    Event(
        "update_mode",
        "what an update of an index did: `none` if there was nothing to do, `incremental` "
        "with the new rows and the lines that are not in the index, `full`; or that it has to "
        "be built anew, `full_required`, and why",
        (
            "mode",
            "reason",
            "new_records",
            "skipped",
            "causes",
            "first_skipped",
            "pending",
            "index",
            "size_bytes",
        ),
    ),
    Event(
        "index_revalidated",
        "a file looks different from when it was indexed, and is proven to be the same",
        ("source",),
    ),
    Event(
        "index_compacted",
        "an index and its delta are one file now: its rows, its keys, or its nodes and "
        "predicates, and its bytes",
        ("index", "records", "keys", "nodes", "predicates", "version", "size_bytes"),
    ),
    Event(
        "index_stale",
        "an index is not that of the file as it is now",
        ("source", "index", "kind", "reason"),
        prefix="headrace: warning: ",
    ),
    Event(
        "index_unfit",
        "an index is whole, but not what is wanted: it is of other fields, has no incoming "
        "edges, leaves out rows that are wanted, or another process is writing it",
        ("source", "index", "kind", "reason"),
        prefix="headrace: warning: ",
    ),
    Event(
        "index_corrupt",
        "an index is damaged, or not one that we can read",
        ("source", "index", "kind", "reason"),
        prefix="headrace: warning: ",
    ),
    Event(
        "index_fallback",
        "a file is scanned, for want of an index that can be used",
        ("reason", "source"),
        prefix="headrace: warning: ",
    ),
    Event(
        "join_plan",
        "how a join reaches right rows, before it does: `strategy` is `hash` or `index`",
        (
            "strategy",
            "right",
            "index",
            "format",
            "fresh",
            "keys",
            "estimated_memory",
            "reason",
        ),
        quiet=False,
        prefix="",
    ),
    Event(
        "join_stats",
        "what a join did: `mode` is `hash` or `indexed`; left rows with a key are looked "
        "up, and those that find a right one are hits",
        (
            "mode",
            "left_records",
            "lookups",
            "hits",
            "output_records",
            "source_reads",
            "bytes_read",
            "duration_ms",
        ),
        quiet=False,
        prefix="",
    ),
    Event(
        "seed_not_found",
        "a node to begin with is not in the graph",
        ("id",),
        prefix="headrace: warning: ",
    ),
    Event(
        "predicate_not_found",
        "no edge has a predicate that is asked for",
        ("pred",),
        prefix="headrace: warning: ",
    ),
    Event(
        "seeds_skipped",
        "how many lines of standard input name no node, and the first of them",
        ("skipped", "first_skipped"),
        prefix="headrace: warning: ",
    ),
    Event(
        "expand_truncated",
        "there are more nodes than `--limit` allows; of which seed, if they go apart",
        ("limit", "seed"),
        prefix="headrace: warning: ",
    ),
    Event(
        "edges_capped",
        "how many nodes have more edges than `--most-edges` of them are followed",
        ("nodes", "most_edges", "seed"),
        prefix="headrace: warning: ",
    ),
    Event(
        "no_path",
        "no way leads from one node to the other",
        ("from", "to"),
        prefix="headrace: warning: ",
    ),
    Event(
        "graph_plan",
        "how edges are reached, before they are: `path` is `graph`, `keys` or `scan`",
        ("path", "edges", "files", "reason"),
        quiet=False,
        prefix="",
    ),
    Event(
        "graph_hop",
        "how Spark's tasks find the edges of the nodes of a level: `strategy` is `index`, "
        "`broadcast` or `shuffle`",
        ("level", "nodes", "strategy", "reason"),
        quiet=False,
        prefix="",
    ),
    Event(
        "graph_stats",
        "what was reached in a graph: nodes, and the edges that are told of",
        ("nodes", "edges", "duration_ms"),
        quiet=False,
        prefix="",
    ),
    Event(
        "begun",
        "a pass of a pipeline begins",
        ("number", "passes", "title"),
    ),
    Event(
        "pass",
        "a pass of a pipeline is done: its number, what was done and why",
        (
            "number",
            "title",
            "status",
            "why",
            "tasks",
            "rows",
            "seconds",
            "failed_tasks",
            "shuffled_bytes",
            "spilled_bytes",
        ),
    ),
    Event(
        "indexed",
        "the parts of a pipeline's output have an index: how many got it, and how many had it",
        ("index", "built", "kept", "records", "skipped", "size_bytes", "seconds"),
    ),
    Event(
        "accounts",
        "what became of all rows of a pipeline, stage after stage",
        ("stages", "adds_up", "rejected", "report"),
        quiet=False,
        prefix="",
    ),
    Event(
        "stats",
        "the lines the command read, by kind, and the first bad ones; of a query, what "
        "became of the rows, and what else it passed over is in the message; of a join also "
        "the lines of the right side",
        (
            "lines",
            "records",
            "blank",
            "bad",
            "too_long",
            "first_bad",
            "rows",
            "emitted",
            "filtered",
            "skipped",
            "right",
        ),
        quiet=False,
        prefix="",
    ),
    Event(
        "error",
        "why the command failed; the other fields are those of the error",
        ("error",),
        quiet=False,
    ),
)
