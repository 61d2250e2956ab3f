"""``headrace index build``: from the values of a field to the rows that have them.

With ``--graph``, from nodes to the edges between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from headrace.cli.argument import Argument
from headrace.cli.options.engine import ENGINE
from headrace.cli.options.index import (
    ERRORS,
    EVENTS,
    MAX_LINE,
    MEMORY,
    PLACES,
    SOURCES,
    STRICT,
    THREADS,
)
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console

ABOUT = """\
Every row is checked in full. Lines that are not JSON, and rows in which the field is
missing, null, an array or an object, are in no index; they are counted. The index of
FILE is FILE.jnx, or FILE.jnx.KEY if that is the index of another key. It is there whole
or not at all, and the same rows give the same bytes. With --graph, rows are edges: they come
from the node that one field names, go to the node that another one names, and say something
about both; the index is FILE.jnx.graph. Of several FILEs, and of a log, each file gets an index
of its own; at the first one that cannot have it, the command ends. A set of shards gets one index
of a key for all its parts, the directory SET.jnx.KEY; of edges, each part gets one.

With --engine spark, the files are read by tasks of Spark, on this machine or on the cluster that
--master names, which must see FILE and where its index goes. The bytes are the same."""

EXAMPLES = (
    Example("headrace index build app.jsonl --on id", "rows by the field id"),
    Example(
        "headrace index build app.jsonl --on level,ms --compact",
        "by two fields together, in few bytes",
    ),
    Example(
        "headrace index build app.jsonl --on id --mode unique",
        "which is an error if two rows have one id",
    ),
    Example(
        "headrace index build shards/ --on id --engine spark",
        "of a set of shards, by tasks of Spark",
    ),
    Example(
        "headrace index build edges.jsonl --graph --from from --pred pred --to to",
        "edges by the node they come from",
    ),
    Example(
        "headrace index build edges.jsonl --graph --from from --to to --reverse",
        "by both nodes, of edges that say nothing",
    ),
    Example(
        "headrace index build logs/*.jsonl --on id --engine spark",
        "of each file, by tasks of Spark",
    ),
)

ARGUMENTS = (
    SOURCES,
    Argument(
        "on",
        "text",
        "the field of the key, or several with commas between them; a.b is the field b "
        "of the field a, where no field is called a.b",
        ("--on",),
        metavar="FIELD[,FIELD...]",
    ),
    Argument(
        "graph", "switch", "index edges, not keys: --from, --pred, --to", ("--graph",)
    ),
    Argument(
        "from_",
        "text",
        "the field of the node that an edge comes from",
        ("--from",),
        metavar="FIELD",
    ),
    Argument(
        "pred",
        "text",
        "the field of what an edge says, its predicate; without it, edges say nothing",
        ("--pred",),
        metavar="FIELD",
    ),
    Argument(
        "to",
        "text",
        "the field of the node that an edge goes to",
        ("--to",),
        metavar="FIELD",
    ),
    Argument(
        "reverse",
        "switch",
        "of a graph, index the edges that go to a node too",
        ("--reverse",),
    ),
    Argument(
        "mode",
        "choice",
        "whether several rows may have one key (multi unless told)",
        ("--mode",),
        choices=("multi", "unique"),
        default="multi",
    ),
    Argument(
        "compact",
        "switch",
        "write version 2 of the format: about 6 bytes a row",
        ("--compact",),
    ),
    Argument(
        "format",
        "choice",
        "write this version of the format, or fail (1 if it has room, unless told)",
        ("--format",),
        choices=("1", "2"),
    ),
    MEMORY,
    THREADS,
    STRICT,
    ERRORS,
    MAX_LINE,
    PLACES[0]._replace(
        name="out", help="write the index here, not beside FILE", flags=("--out",)
    ),
    PLACES[1],
    Argument(
        "force",
        "switch",
        "replace FILE.jnx even if it is the index of another key, or FILE.jnx.graph if it is "
        "of other edges",
        ("--force",),
    ),
    *ENGINE,
    *EVENTS,
)

VERSIONS: dict[str | None, Literal[1, 2] | None] = {None: None, "1": 1, "2": 2}


def run(options: Namespace, console: Console) -> int:
    """Build the index."""
    if options.graph:
        from headrace.cli.io.index_events import build

        return build(options, console)
    return _build_keys(options, console)


def _build_keys(options: Namespace, console: Console) -> int:
    from functools import partial

    from headrace.api.index.key import KeyIndex
    from headrace.cli.io.index_events import build_as_asked
    from headrace.cli.options.index import fields
    from headrace.errors import UsageError
    from headrace.store.index.target import each_with_rows

    if options.from_ or options.pred or options.to or options.reverse:
        raise UsageError(
            "--from, --pred, --to and --reverse are for --graph; give that too"
        )
    if options.on is None:
        raise UsageError("name the field of the key: --on FIELD, or --graph for edges")
    if options.compact and options.format == "1":
        raise UsageError("--compact is --format 2; give one of them")

    def say_start(location: str) -> None:
        console.emit(
            "build_start",
            f"{location}: building the index of {options.on}",
            source=location,
            key=options.on,
        )

    def say_mistyped(location: str, seen: str) -> None:
        console.emit(
            "no_keys_indexed",
            f"{location}: no row has the key {options.on}; fields of the first rows: {seen}",
            source=location,
            key=options.on,
        )

    version = "2" if options.compact else options.format
    build = partial(
        KeyIndex.build_each,
        on=fields(options.on),
        mode=options.mode,
        index_version=VERSIONS[version],
    )
    sources = each_with_rows(options.files)
    build_as_asked(options, console, sources, build, say_start, say_mistyped)
    return 0
