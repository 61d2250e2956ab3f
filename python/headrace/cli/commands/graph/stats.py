"""``headrace graph stats``: degrees and components of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.console import Console, counted
from headrace.cli.flag_groups import EDGE_ACCESS, EDGE_FIELDS
from headrace.cli.flags import flag

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from headrace.kernel.graph import Degrees, GraphStats

ABOUT = """\
Counts nodes, edges, edges with each predicate, edges of each node (degrees), and components:
sets of nodes that edges connect, whatever their direction. Reads all edges of the graph index,
or of FILE if it has none, and takes about 16 bytes of memory for each node."""

EXAMPLES = """\
headrace graph stats --edges edges.jsonl  # for people
headrace graph stats --edges edges.jsonl --json  # for programs
"""

ARGUMENTS = (
    flag("--edges"),
    flag("--json"),
    *EDGE_FIELDS,
    *EDGE_ACCESS,
)

_BAR = 40


def run(options: Namespace, console: Console) -> int:
    """Print the numbers."""
    from headrace.cli.io.graph_edges import look_for_edges, open_graph
    from headrace.cli.io.report import print_json

    with open_graph(options, console) as graph:
        look_for_edges(graph, console)
        found = graph.stats()
        named = graph.reach().fields.pred is not None
    if options.json:
        print_json(_facts(found, named=named), console)
    else:
        console.text("".join(f"{line}\n" for line in _in_words(found, named=named)))
    return 0


def _facts(found: GraphStats, *, named: bool) -> dict[str, object]:
    predicates = {"predicates": dict(_predicates(found))} if named else {}
    return {
        "nodes": found.nodes,
        "edges": found.edges,
        "loops": found.loops,
        **predicates,
        "out": _degrees(found.out),
        "in": _degrees(found.in_),
        "components": found.components,
        "largest_component": found.largest_component,
    }


def _predicates(found: GraphStats) -> list[tuple[str, int]]:
    """List predicates, those with most edges first."""
    return sorted(found.predicates.items(), key=lambda each: (-each[1], each[0]))


def _degrees(degrees: Degrees) -> dict[str, object]:
    """Return how many nodes have how many edges; a range is named by its lower end."""
    histogram = {"0": degrees.none} if degrees.none else {}
    histogram |= {str(1 << power): count for power, count in enumerate(degrees.powers)}
    return {
        "histogram": histogram,
        "most": degrees.most,
        "most_node": degrees.most_node,
    }


def _in_words(found: GraphStats, *, named: bool) -> Iterator[str]:
    yield (
        f"nodes {found.nodes} / edges {found.edges} / loops {found.loops} / "
        f"components {found.components}, the largest of {counted(found.largest_component, 'node')}"
    )
    if named:
        from headrace.api.formats.printable import printable

        for pred, count in _predicates(found):
            yield f"  {printable(pred)} {count}"
    for what, degrees in (("outgoing", found.out), ("incoming", found.in_)):
        yield from _histogram(what, degrees)


def _histogram(what: str, degrees: Degrees) -> Iterator[str]:
    from headrace.api.formats.printable import printable

    yield f"{what} edges: at most {degrees.most}, of {printable(degrees.most_node)}"
    rows = [("0", degrees.none)] if degrees.none else []
    for power, count in enumerate(degrees.powers):
        least, most = 1 << power, (2 << power) - 1
        rows.append((str(least) if least == most else f"{least}-{most}", count))
    longest = max((count for _, count in rows), default=1)
    for label, count in rows:
        bar = "#" * -(-_BAR * count // longest)
        yield f"  {label:>13} {count:>9} {bar}".rstrip()
