"""The arguments that commands about key indexes have in common, and what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.options.common import FILE, OUTPUT_OPTIONS
from headrace.errors import UsageError

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console
    from headrace.errors import KeyIndexError

SOURCE = FILE._replace(
    help="a file; if it is compressed, one that can be entered anywhere; or a set of shards"
)

SOURCES = FILE._replace(
    name="files",
    help="files or sets of shards, each of which gets an index; files that are compressed must "
    "be such that can be entered anywhere; of a log, its segments",
    arity="several",
)

KEY = Argument(
    "key",
    "text",
    "the field of the key, or several with commas between them; of a file with one "
    "index, the key of that unless told",
    ("--key",),
    metavar="FIELD[,FIELD...]",
)

GRAPH = Argument(
    "graph",
    "switch",
    "the graph index of FILE, FILE.jnx.graph, not a key index",
    ("--graph",),
)

PLACES = (
    Argument(
        "index",
        "file",
        "the file of the index (beside FILE unless told)",
        ("--index",),
        metavar="PATH",
    ),
    Argument(
        "index_dir",
        "directory",
        "where indexes are, instead of beside their files",
        ("--index-dir",),
        metavar="DIR",
    ),
)

MAX_LINE = Argument(
    "max_line",
    "size",
    "pass over lines longer than this (64MiB unless told)",
    ("--max-line",),
    metavar="SIZE",
    default=64 << 20,
)

MEMORY = Argument(
    "memory",
    "size",
    "how much memory to use, each task of Spark as well (256MiB unless told); changes no "
    "byte",
    ("--memory",),
    metavar="SIZE",
    default=256 << 20,
)

THREADS = Argument(
    "threads",
    "number",
    "how many threads read (as many as there are cores, unless told); changes no byte",
    ("--threads",),
    metavar="N",
)

STRICT = Argument(
    "strict", "switch", "fail if a line is bad or too long", ("--strict",)
)

ERRORS = Argument(
    "errors",
    "file",
    "write the lines that have no key to this file: file, line, byte, cause, reason",
    ("--errors",),
    metavar="PATH",
)

EVENTS = (
    OUTPUT_OPTIONS[0]._replace(
        help="how to say on standard error what is not data (text on a terminal, else "
        "json, unless told)",
        default=None,
    ),
    *OUTPUT_OPTIONS[1:],
)


NO_INDEX = ("missing", "several")
"""There is nothing that could be wrong."""

STALE = ("stale", "grown")
"""An index that is whole, but not that of the file as it is now."""

UNFIT = ("limits", "other", "locked")
"""An index that is whole, but not what is wanted."""


def fields(text: str) -> tuple[str, ...]:
    """Return the fields that a key is made of.

    >>> fields("bank_code,account_number")
    ('bank_code', 'account_number')
    """
    found = tuple(text.split(","))
    if not all(found):
        raise UsageError(f"{text!r}: a field has no name; write FIELD or FIELD,FIELD")
    return found


def key_of(options: Namespace) -> tuple[str, ...] | None:
    """Return the fields of the key that somebody names."""
    return None if options.key is None else fields(options.key)


def refuse_key_of_graph(options: Namespace) -> None:
    """Raise if somebody names the key of a graph index."""
    if options.key is not None:
        raise UsageError("--graph: a file has one graph index; leave --key out")


def say_trouble(console: Console, trouble: KeyIndexError) -> None:
    """Say what is wrong with an index."""
    if trouble.kind in NO_INDEX:
        return
    console.emit(
        "index_stale"
        if trouble.kind in STALE
        else "index_unfit"
        if trouble.kind in UNFIT
        else "index_corrupt",
        trouble.what,
        source=trouble.path,
        index=trouble.index,
        kind=trouble.kind,
        reason=trouble.reason,
    )


def say_keyless(console: Console, location: str, key: str) -> None:
    """Say that no row has a key, and which fields the first rows have."""
    from headrace.cli.io.index_events import fields_seen

    seen = ", ".join(fields_seen(location)) or "unknown"
    message = f"{location}: no row has the key {key}; fields of the first rows: {seen}"
    console.emit("key_not_found", message, source=location, key=key)


def say_fallback(console: Console, trouble: KeyIndexError) -> None:
    """Say what is done about it."""
    said = "it is scanned"
    if trouble.kind == "grown":
        said = "its new rows are scanned"
    elif trouble.kind in NO_INDEX:
        said = f"{trouble.reason}, so it is scanned"
    console.emit(
        "index_fallback",
        f"{trouble.path}: {said}",
        reason="stale" if trouble.kind in STALE else trouble.kind,
        source=trouble.path,
    )
