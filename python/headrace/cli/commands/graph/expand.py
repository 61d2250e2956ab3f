"""``headrace graph expand``: what can be reached from nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.console import Console, counted, ending_cleanly
from headrace.cli.flag_groups import DRAWN, EDGE_ACCESS, EDGE_FIELDS, FOLLOWED
from headrace.cli.flags import ENGINE, flag
from headrace.errors import UsageError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator

    from headrace.api.graph.expansion import Expansion
    from headrace.api.graph.graph import Graph
    from headrace.api.graph.spark_graph import SparkExpansion, SparkGraph
    from headrace.api.options import Emit
    from headrace.cli.io.graph_seeds import Seeds
    from headrace.kernel.graph import Followed, Reached
    from headrace.physical.hops import HopChoice

ABOUT = """\
Follows edges from the start nodes (seeds), level by level, and prints each node once: its id,
its distance in edges, and the predicate of the first edge that led to it. Nodes of a level
keep the order in which they were reached, edges of a node that of FILE, so that the output is
always the same. A seed without edges is printed too, and an event says so.

Edges are found with the graph index of FILE (`index build FILE --graph`; to go backwards, with
--incoming), with key indexes on the fields of both ends, or else by scanning FILE, which an
event reports. --explain prints which. The output is the same.

With --engine spark, tasks of Spark find the edges, on this machine or on the cluster at
--master. For a level with few nodes they use the indexes, if all files have one; otherwise they
scan the files. --stats prints the choice for each level."""

EXAMPLES = """\
headrace graph expand --edges edges.jsonl --seed C123 --hops 3
    # nodes up to three edges away
headrace graph expand --edges edges.jsonl --seed C123 --pred subClassOf
    # all nodes that edges with one predicate lead to
headrace graph expand --edges edges.jsonl --seed C123 --hops 2 --emit-edges
    # the nodes and the edges
headrace graph expand --edges edges.jsonl --seed C789 --direction in --format tree
    # nodes that edges come from, for people
headrace head users.jsonl | headrace graph expand --edges edges.jsonl --seed-field id --hops 2
    # nodes reached from those in the field id of rows
headrace graph expand --engine spark --edges edges.jsonl --seed C123 --hops 2
    # with tasks of Spark
"""

ARGUMENTS = (
    flag("--edges"),
    flag("--seed"),
    flag("--seed-field"),
    flag("--hops", otherwise="any number"),
    *FOLLOWED,
    flag("--emit-edges"),
    flag("--tree"),
    flag("--limit", "rows are nodes here; with --per-seed, nodes of each start node"),
    flag("--most-edges"),
    flag("--per-seed"),
    DRAWN,
    *EDGE_FIELDS,
    flag("--explain"),
    flag("--stats", "nodes and edges here"),
    flag("--strict", "a row of standard input without a start node"),
    *EDGE_ACCESS,
    *ENGINE,
)


class _Printed:
    """Counts of printed nodes and edges, and the predicates already reported as unknown."""

    def __init__(self) -> None:
        self.nodes = self.edges = 0
        self.unknown: set[str] = set()

    def count(
        self, steps: Iterable[Reached | Followed]
    ) -> Iterator[Reached | Followed]:
        from headrace.kernel.graph import Reached

        for step in steps:
            if isinstance(step, Reached):
                self.nodes += 1
            else:
                self.edges += 1
            yield step


def run(options: Namespace, console: Console) -> int:
    """Print nodes and edges."""
    import time

    from headrace.api.graph.render import DRAWINGS
    from headrace.cli.io import graph_edges as access
    from headrace.cli.io.graph_seeds import Seeds

    drawing = DRAWINGS.get(options.format)
    if options.per_seed and drawing is not None and not drawing.apart:
        raise UsageError(
            f"--format {options.format} is one picture, and --per-seed makes several; "
            "leave one of them out"
        )
    with access.open_graph(options, console) as opened:
        graph = _by_engine(opened, options, console)
        seeds = Seeds(options)
        if options.explain:
            console.text(access.described(graph.plan(options.direction)))
            return 0
        access.look_for_edges(graph, console, options.direction)
        console.live = options.per_seed and seeds.live
        began, printed = time.monotonic(), _Printed()
        with ending_cleanly():
            for some in seeds if options.per_seed else [seeds]:
                _expand(graph, some, printed, options, console)
        _say_skipped(seeds, console)
        if options.stats:
            console.emit(
                "graph_stats",
                f"{counted(printed.nodes, 'node')}, {counted(printed.edges, 'edge')} printed",
                path=graph.plan(options.direction).strategy,
                nodes=printed.nodes,
                edges=printed.edges,
                duration_ms=int((time.monotonic() - began) * 1000),
            )
    return 0


def _by_engine(
    graph: Graph, options: Namespace, console: Console
) -> Graph | SparkGraph:
    """Return the graph of the chosen engine."""
    from headrace.api.options import refuse_for_local

    if options.engine == "local":
        refuse_for_local(master=options.master, partition_bytes=options.partition_bytes)
        return graph

    def report_hop(level: int, nodes: int, choice: HopChoice) -> None:
        if options.stats:
            _say_hop(console, level, nodes, choice)

    return graph.on_spark(
        options.master, partition_bytes=options.partition_bytes, report_hop=report_hop
    )


def _say_hop(console: Console, level: int, nodes: int, choice: HopChoice) -> None:
    how = {
        "index": "tasks find the edges of %s by indexes",
        "broadcast": "every task scans its rows for the edges of %s",
        "shuffle": "tasks scan all rows, and a shuffle finds the edges of %s",
    }[choice.strategy] % counted(nodes, "node")
    console.emit(
        "graph_hop",
        f"level {level}: {how}, since {choice.reason}",
        level=level,
        nodes=nodes,
        strategy=choice.strategy,
        reason=choice.reason,
    )


def _expand(
    graph: Graph | SparkGraph,
    seeds: str | Seeds,
    printed: _Printed,
    options: Namespace,
    console: Console,
) -> None:
    from headrace.api.options import ExpandOptions
    from headrace.cli.io.graph_edges import predicates, print_steps, say_missing
    from headrace.cli.io.inputs import given

    found = graph.expand(
        seeds,
        options.hops,
        **given(options, ExpandOptions)
        | {"pred": predicates(options), "emit": _emit(options)},
    )
    seed = seeds if isinstance(seeds, str) else None
    named = graph.reach(options.direction).fields.pred is not None
    edges = options.emit_edges or options.tree
    print_steps(
        console,
        printed.count(found),
        options.format,
        edges=edges,
        named=named,
        seed=seed,
    )
    unknown = dict.fromkeys(
        pred for pred in found.unknown if pred not in printed.unknown
    )
    printed.unknown.update(unknown)
    say_missing(console, graph, found.missing, unknown, named=named)
    _say_bounds(found, seed, options, console)


def _emit(options: Namespace) -> Emit:
    from headrace.api.graph.render import DRAWINGS

    if options.tree:
        return "tree"
    drawing = DRAWINGS.get(options.format)
    if drawing is not None:
        return drawing.emit
    return "edges" if options.emit_edges else "nodes"


def _say_bounds(
    found: Expansion | SparkExpansion,
    seed: str | None,
    options: Namespace,
    console: Console,
) -> None:
    of = {} if seed is None else {"seed": seed}
    start = "" if seed is None else f"from {seed!r} "
    if found.truncated:
        message = f"there is more {start}than {counted(options.limit, 'node')}"
        console.emit("expand_truncated", message, limit=options.limit, **of)
    if found.capped:
        nodes = counted(found.capped, "node")
        console.emit(
            "edges_capped",
            f"{start}{nodes} with more than {counted(options.most_edges, 'edge')}, "
            "not all of which were followed",
            nodes=found.capped,
            most_edges=options.most_edges,
            **of,
        )


def _say_skipped(seeds: Seeds, console: Console) -> None:
    if seeds.skipped:
        lines = counted(seeds.skipped, "line")
        places = [f"line {line}: {reason}" for line, reason in seeds.first_skipped]
        console.emit(
            "seeds_skipped",
            "\n  ".join([f"standard input: {lines} without a seed", *places]),
            skipped=seeds.skipped,
            first_skipped=[each._asdict() for each in seeds.first_skipped],
        )
