"""``headrace graph path``: the shortest path from one node to another."""

from argparse import Namespace

from headrace.cli.argument import Argument
from headrace.cli.console import Console, counted
from headrace.cli.flag_groups import DRAWN, EDGE_ACCESS, EDGE_FIELDS, FOLLOWED
from headrace.cli.flags import flag

ABOUT = """\
Prints the nodes of the path and the edges between them in turn, as `graph expand` does with
--emit-edges. Of several shortest paths, it always prints the same one: the first that a search
level by level finds, with edges in the order of FILE.

If there is no path, nothing is printed, an event says so, and the exit code is 0, as for
`index get` and a key without rows; with --require-match it is 1."""

EXAMPLES = """\
headrace graph path C123 C789 --edges edges.jsonl  # how one node leads to another
headrace graph path C789 C123 --edges edges.jsonl --direction both --format mermaid
    # a path along edges in both directions, as a picture
"""

ARGUMENTS = (
    Argument("start", "text", "the first node", metavar="A"),
    Argument("goal", "text", "the last node", metavar="B"),
    flag("--edges"),
    *FOLLOWED,
    flag("--hops", otherwise="any number"),
    flag("--require-match"),
    DRAWN,
    *EDGE_FIELDS,
    flag("--explain"),
    flag("--stats", "nodes and edges here"),
    *EDGE_ACCESS,
)


def run(options: Namespace, console: Console) -> int:
    """Print the path."""
    import time

    from headrace.cli.io import graph_edges as access
    from headrace.cli.io.graph_edges import print_steps

    with access.open_graph(options, console) as graph:
        direction = options.direction
        if options.explain:
            console.text(access.described(graph.plan(direction)))
            return 0
        access.look_for_edges(graph, console, direction)
        began = time.monotonic()
        ends = (options.start, options.goal)
        found = graph.shortest_path(
            *ends,
            hops=options.hops,
            pred=access.predicates(options),
            direction=direction,
        )
        if found is not None:
            named = graph.reach(direction).fields.pred is not None
            print_steps(console, found, options.format, edges=True, named=named)
        if options.stats:
            edges = len(found) // 2 if found else 0
            console.emit(
                "graph_stats",
                f"a path of {counted(edges, 'edge')}" if found else "no path",
                path=graph.plan(direction).strategy,
                nodes=edges + 1 if found else 0,
                edges=edges,
                duration_ms=int((time.monotonic() - began) * 1000),
            )
        # Of key indexes only a scan could tell.
        by_keys = graph.reach(options.direction).strategy == "keys"
        if not by_keys and (found is None or options.start == options.goal):
            missing = [node for node in dict.fromkeys(ends) if node not in graph]
            access.say_missing(console, graph, missing)
    if found is not None:
        return 0
    start, goal = ends
    message = f"{graph.location}: no path leads from {start!r} to {goal!r}"
    if options.require_match:
        console.emit("error", message, error="NoMatch")
        return 1
    console.emit("no_path", message, **{"from": start, "to": goal})
    return 0
