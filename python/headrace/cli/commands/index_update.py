"""``headrace index update``: bring an index up to date with a file that has grown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.options.engine import ENGINE
from headrace.cli.options.index import (
    ERRORS,
    EVENTS,
    GRAPH,
    KEY,
    MEMORY,
    PLACES,
    SOURCE,
    STRICT,
    THREADS,
)
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console

ABOUT = """\
Only rows that were appended to FILE are read; they go to a delta beside the index, which
becomes one with it when it has more than a quarter of its rows. What the index covers is
proven to be the same, by hashes of all of it. If FILE was changed otherwise, an event says
why, the exit code is 1, and --full builds the index anew, as it was. The index of a FILE
that only looks different, as a copy does, takes note of that. Of a set of shards, the rows of
parts that came to it are read, with --engine spark by tasks of Spark."""

EXAMPLES = (
    Example("headrace index update app.jsonl", "index the rows that were appended"),
    Example("headrace index update app.jsonl --full", "index all rows again"),
)

ARGUMENTS = (
    SOURCE,
    KEY,
    GRAPH,
    Argument("full", "switch", "build the index anew, as it was", ("--full",)),
    MEMORY,
    THREADS,
    STRICT,
    ERRORS,
    *PLACES,
    *ENGINE,
    *EVENTS,
)


def run(options: Namespace, console: Console) -> int:
    """Bring it up to date."""
    if options.graph:
        from headrace.cli.io.index_events import update

        return update(options, console)
    return _update(options, console)


def _update(options: Namespace, console: Console) -> int:
    from functools import partial

    from headrace.api.index.key import KeyIndex
    from headrace.cli.io.index_events import update_as_asked
    from headrace.cli.options.index import key_of

    update = partial(
        KeyIndex.update,
        options.file,
        key_of(options),
        engine=options.engine,
        master=options.master,
        partition_bytes=options.partition_bytes,
    )
    return update_as_asked(options, console, update)
