"""Opening the edges of a graph, and the messages about them.

Imported when a command runs, not when its help is shown.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from headrace.api.graph.access import Reach, Strategy
from headrace.api.graph.graph import EdgePlan, Graph
from headrace.api.graph.render import DRAWINGS, as_ndjson
from headrace.api.options import GraphOptions
from headrace.cli.io.index_trouble import (
    fields_seen,
    say_fallback,
    say_no_edges,
    say_trouble,
)
from headrace.cli.io.inputs import given
from headrace.errors import UsageError
from headrace.kernel.graph import Direction, Followed, Reached, lines_of

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable

    from headrace.api.graph.spark_graph import SparkGraph
    from headrace.cli.console import Console
    from headrace.errors import KeyIndexError


def open_graph(options: Namespace, console: Console) -> Graph:
    """Open the edges of --edges."""
    if options.edges is None:
        raise UsageError("name the edges: --edges FILE")
    if options.no_index and (options.require_index or options.index is not None):
        wants = "--require-index" if options.require_index else "--index"
        raise UsageError(f"{wants} needs an index, and --no-index uses none")

    def report(trouble: KeyIndexError, strategy: Strategy | None) -> None:
        say_trouble(console, trouble)
        if strategy in ("graph", "scan"):
            say_fallback(console, trouble)

    return Graph(
        options.edges,
        **given(options, GraphOptions)
        | {"index": False if options.no_index else options.index, "report": report},
    )


def look_for_edges(
    graph: Graph | SparkGraph, console: Console, direction: Direction = "out"
) -> None:
    """Find the access to edges; if an index or a scan has none, warn with the fields there are."""
    found = graph.reach(direction)
    # With Spark, nothing was scanned yet.
    reaches = (found,) if isinstance(found, Reach) else found.indexes
    lines = [lines_of(each.graph) for each in reaches if each.graph is not None]
    if not lines or len(lines) < len(reaches) or any(each.records for each in lines):
        return
    if any(each.lines > each.blank for each in lines):
        from_, pred, to = found.fields
        names = {"from": from_, "pred": pred, "to": to}
        seen = ", ".join(fields_seen(graph.location)) or "none"
        say_no_edges(console, graph.location, names, seen)


def described(plan: EdgePlan) -> str:
    """Describe for people how edges are found."""
    lines = [str(plan), *(f"index: {file}" for file in plan.files)]
    return "".join(f"{line}\n" for line in lines)


def predicates(options: Namespace) -> list[str] | None:
    """Return the predicates to follow, None for all."""
    if options.pred is None and options.pred_raw is None:
        return None
    split = [each for text in options.pred or () for each in text.split(",")]
    return [*split, *(options.pred_raw or ())]


def say_missing(
    console: Console,
    graph: Graph | SparkGraph,
    seeds: Iterable[str],
    unknown: Iterable[str] = (),
    *,
    named: bool = True,
) -> None:
    """Warn of nodes and predicates that no edge has; without `named`, edges have no predicate."""
    for seed in seeds:
        message = f"{graph.location}: no edge comes from or goes to {seed!r}"
        console.emit("seed_not_found", message, id=seed)
    for pred in unknown:
        message = f"{graph.location}: no edge has the predicate {pred!r}"
        if not named:
            message = f"{graph.location}: edges have no predicate; --pred-field names its field"
        console.emit("predicate_not_found", message, pred=pred)


_LINES = 256
"""Lines in one write."""


def print_steps(
    console: Console,
    steps: Iterable[Reached | Followed],
    form: str,
    *,
    edges: bool,
    named: bool,
    seed: str | None = None,
) -> None:
    """Print nodes and edges in a format, as they are reached."""
    drawing = DRAWINGS.get(form)
    if drawing is None:
        lines = as_ndjson(steps, edges=edges, named=named, seed=seed)
    else:
        lines = drawing.write(steps)
    while some := "".join(islice(lines, _LINES)):
        console.write(some.encode())
