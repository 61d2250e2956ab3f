"""What ``headrace index`` commands do with ``--graph``.

Imported when a command runs, not when its help is shown.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from headrace.api.graph_index import (
    build_graph_indexes,
    check_graph_index,
    compact_graph_index,
    graph_index_stats,
    update_graph_index,
)
from headrace.api.key_index import MEMORY
from headrace.cli.commands.index_build import VERSIONS
from headrace.cli.graph_options import say_no_edges
from headrace.cli.index_building import (
    build_as_asked,
    check_as_asked,
    compact_as_asked,
    update_as_asked,
)
from headrace.cli.key_index_options import refuse_key_of_graph
from headrace.errors import UsageError
from headrace.store.key_subject import sources_with_rows

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.output import Console


def build(options: Namespace, console: Console) -> int:
    """Build a graph index."""
    _refuse_keys(options)
    names = {"from": options.from_, "pred": options.pred, "to": options.to}

    def say_start(location: str) -> None:
        console.emit(
            "build_start",
            f"{location}: building the graph index of its edges",
            source=location,
            **names,
        )

    build = partial(
        build_graph_indexes,
        from_=options.from_,
        pred=options.pred,
        to=options.to,
        reverse=options.reverse,
        version=VERSIONS[options.format],
    )
    build_as_asked(
        options,
        console,
        sources_with_rows(options.files),
        build,
        say_start,
        lambda location, seen: say_no_edges(console, location, names, seen),
    )
    return 0


def _refuse_keys(options: Namespace) -> None:
    if options.on is not None or options.mode != "multi" or options.compact:
        raise UsageError("--on, --mode and --compact are of keys; leave --graph out")
    if options.from_ is None or options.to is None:
        raise UsageError(
            "name the fields of an edge: --from FIELD --pred FIELD --to FIELD"
        )


def check(options: Namespace, console: Console) -> int:
    """Print whether a graph index can be used."""
    refuse_key_of_graph(options)
    return check_as_asked(options, console, partial(check_graph_index, options.file))


def stats(options: Namespace, console: Console) -> int:
    """Print the numbers of a graph index."""
    refuse_key_of_graph(options)
    found = graph_index_stats(
        options.file, index=options.index, index_dir=options.index_dir
    )
    console.text(json.dumps(found, indent=2 if options.pretty else None) + "\n")
    return 0


def compact(options: Namespace, console: Console) -> int:
    """Make one index of a graph index and its delta."""
    refuse_key_of_graph(options)
    memory = MEMORY if options.memory is None else options.memory
    compact = partial(compact_graph_index, options.file, memory=memory)
    return compact_as_asked(options, console, compact)


def update(options: Namespace, console: Console) -> int:
    """Bring a graph index up to date."""
    refuse_key_of_graph(options)
    spark = (options.master, options.partition_bytes)
    if options.engine != "local" or spark != (None, None):
        raise UsageError(
            "--engine, --master and --partition-bytes are for the key index of a set; "
            "leave --graph out"
        )
    return update_as_asked(options, console, partial(update_graph_index, options.file))
