"""``headrace graph path``: the shortest way from one node to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.options.graph import (
    ACCESS,
    EDGES,
    EXPLAIN,
    FIELDS,
    FOLLOWED,
    FORMAT,
)
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console

ABOUT = """\
Prints the nodes of the way and the edges between them in turn, as `graph expand` does with
--emit-edges. Of several ways with as few edges it is always the same one: that which going
level by level, edges in the order of FILE, comes upon first.

Without a way nothing is printed, an event says so, and the exit code is 0, as that of
`index get` is for a key without rows; with --require-match it is 1."""

EXAMPLES = (
    Example(
        "headrace graph path C123 C789 --edges edges.jsonl",
        "how one node leads to another",
    ),
    Example(
        "headrace graph path C789 C123 --edges edges.jsonl --direction both "
        "--format mermaid",
        "whatever the direction of edges, as a picture",
    ),
)

ARGUMENTS = (
    Argument("start", "text", "the node to begin with", metavar="A"),
    Argument("goal", "text", "the node to come to", metavar="B"),
    EDGES,
    *FOLLOWED,
    Argument(
        "hops",
        "number",
        "how many edges the way may have (any number unless told)",
        ("--hops",),
        metavar="N",
    ),
    Argument(
        "require_match", "switch", "fail if there is no way", ("--require-match",)
    ),
    FORMAT,
    *FIELDS,
    EXPLAIN,
    *ACCESS,
)


def run(options: Namespace, console: Console) -> int:
    """Print the way."""
    import time

    from headrace.cli.console import counted
    from headrace.cli.io.graph_output import print_steps
    from headrace.cli.options import graph as said

    with said.open_graph(options, console) as graph:
        direction = options.direction
        if not said.reached(graph, options, console, direction):
            return 0
        began = time.monotonic()
        ends = (options.start, options.goal)
        found = graph.shortest_path(
            *ends,
            hops=options.hops,
            pred=said.predicates(options),
            direction=direction,
        )
        if found is not None:
            named = graph.reach(direction).fields.pred is not None
            print_steps(console, found, options.format, edges=True, named=named)
        if options.explain is not None:
            edges = len(found) // 2 if found else 0
            console.emit(
                "graph_stats",
                f"a way of {counted(edges, 'edge')}" if found else "no way",
                nodes=edges + 1 if found else 0,
                edges=edges,
                duration_ms=int((time.monotonic() - began) * 1000),
            )
        # Of key indexes only a scan could tell.
        by_keys = graph.reach(options.direction).strategy == "keys"
        if not by_keys and (found is None or options.start == options.goal):
            missing = [node for node in dict.fromkeys(ends) if node not in graph]
            said.say_missing(console, graph, missing)
    if found is not None:
        return 0
    start, goal = ends
    message = f"{graph.location}: no way leads from {start!r} to {goal!r}"
    if options.require_match:
        console.emit("error", message, error="NoMatch")
        return 1
    console.emit("no_path", message, **{"from": start, "to": goal})
    return 0
