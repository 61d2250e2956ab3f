"""``headrace graph expand``: what can be reached from nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.options.engine import MASTER, PARTITION_BYTES, engine
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
    from collections.abc import Iterable, Iterator

    from headrace.api.graph.expansion import Expansion
    from headrace.api.graph.graph import Graph
    from headrace.api.graph.spark import SparkExpansion, SparkGraph
    from headrace.api.options import Emit
    from headrace.cli.console import Console
    from headrace.cli.io.graph_seeds import Seeds
    from headrace.kernel.graph import Followed, Reached
    from headrace.physical.hops import HopChoice

ABOUT = """\
Goes from the seeds along edges, level by level, and prints each node once: its id, the
smallest number of edges that it is away, and what the first edge that led to it says.
Nodes of a level come in the order in which they were reached, edges of a node in that of
FILE, so that the output is always the same. A seed that no edge has is printed too, and
an event says so.

Edges are reached by the graph index of FILE (`index build FILE --graph`; backwards, with
--reverse), by key indexes on the fields of both ends, or else by scanning FILE, which an
event tells. --explain says which. The output is the same.

With --engine spark, edges are found by tasks of Spark, on this machine or on the cluster
that --master names. Those of a level with few nodes are found by the indexes, if all files
have some; otherwise tasks scan the files for them. --explain says of each level which."""

EXAMPLES = (
    Example(
        "headrace graph expand --edges edges.jsonl --seed C123 --hops 3",
        "what is up to three edges away",
    ),
    Example(
        "headrace graph expand --edges edges.jsonl --seed C123 --pred subClassOf",
        "all that edges of one kind lead to",
    ),
    Example(
        "headrace graph expand --edges edges.jsonl --seed C123 --hops 2 --emit-edges",
        "the edges too",
    ),
    Example(
        "headrace graph expand --edges edges.jsonl --seed C789 --direction in "
        "--format tree",
        "where edges come from, for people",
    ),
    Example(
        "headrace head users.jsonl | headrace graph expand --edges edges.jsonl "
        "--seed-field id --hops 2",
        "from the nodes that rows name",
    ),
    Example(
        "headrace graph expand --engine spark --edges edges.jsonl --seed C123 --hops 2",
        "with tasks of Spark",
    ),
)

ARGUMENTS = (
    EDGES,
    Argument(
        "seed",
        "text",
        "a node to begin with; may be repeated",
        ("--seed",),
        metavar="ID",
        arity="repeated",
    ),
    Argument(
        "seed_field",
        "text",
        "begin with the nodes that rows on standard input have in this field",
        ("--seed-field",),
        metavar="FIELD",
    ),
    Argument(
        "hops",
        "number",
        "how many edges a node may be away (any number unless told)",
        ("--hops",),
        metavar="N",
    ),
    *FOLLOWED,
    Argument(
        "emit_edges",
        "switch",
        "print the edges that are followed too, each before the node that it leads to",
        ("--emit-edges",),
    ),
    Argument(
        "tree",
        "switch",
        "of the edges, print only those that lead to a node for the first time",
        ("--tree",),
    ),
    Argument(
        "limit",
        "number",
        "print no more nodes than this, with --per-seed of each seed",
        ("--limit",),
        metavar="N",
    ),
    Argument(
        "most_edges",
        "number",
        "follow no more than the first so many edges of a node",
        ("--most-edges",),
        metavar="N",
    ),
    Argument(
        "per_seed",
        "switch",
        "go from each seed by itself, as it comes, and name it in each line",
        ("--per-seed",),
    ),
    FORMAT,
    *FIELDS,
    EXPLAIN,
    *ACCESS,
    engine("finds edges", "the output is the same"),
    MASTER,
    PARTITION_BYTES,
)


class _Told:
    """Counts what is printed, and knows which predicates are known not to be there."""

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
    """Print what is reached."""
    import time

    from headrace.api.graph.render import DRAWINGS
    from headrace.cli.console import counted, ending_cleanly
    from headrace.cli.io.graph_seeds import Seeds
    from headrace.cli.options import graph as said
    from headrace.errors import UsageError

    drawing = DRAWINGS.get(options.format)
    if options.per_seed and drawing is not None and not drawing.apart:
        raise UsageError(
            f"--format {options.format} is one picture, and --per-seed makes several; "
            "leave one of them out"
        )
    with said.open_graph(options, console) as opened:
        graph = _by_engine(opened, options, console)
        seeds = Seeds(options)
        if not said.reached(graph, options, console, options.direction):
            return 0
        console.live = options.per_seed and seeds.live
        began, told = time.monotonic(), _Told()
        with ending_cleanly():
            for some in seeds if options.per_seed else [seeds]:
                _expand(graph, some, told, options, console)
        _say_skipped(seeds, console)
        if options.explain is not None:
            console.emit(
                "graph_stats",
                f"{counted(told.nodes, 'node')}, {counted(told.edges, 'edge')} told of",
                nodes=told.nodes,
                edges=told.edges,
                duration_ms=int((time.monotonic() - began) * 1000),
            )
    return 0


def _by_engine(
    graph: Graph, options: Namespace, console: Console
) -> Graph | SparkGraph:
    """Return what finds edges."""
    from headrace.api.local_engine import refuse_for_local

    if options.engine == "local":
        refuse_for_local(master=options.master, partition_bytes=options.partition_bytes)
        return graph

    def report_hop(level: int, nodes: int, choice: HopChoice) -> None:
        if options.explain is not None:
            _say_hop(console, level, nodes, choice)

    return graph.on_spark(
        options.master, partition_bytes=options.partition_bytes, report_hop=report_hop
    )


def _say_hop(console: Console, level: int, nodes: int, choice: HopChoice) -> None:
    from headrace.cli.console import counted

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
    told: _Told,
    options: Namespace,
    console: Console,
) -> None:
    from headrace.cli.io.graph_output import print_steps
    from headrace.cli.options.graph import predicates, say_missing

    found = graph.expand(
        seeds,
        options.hops,
        pred=predicates(options),
        direction=options.direction,
        emit=_emit(options),
        limit=options.limit,
        most_edges=options.most_edges,
    )
    seed = seeds if isinstance(seeds, str) else None
    named = graph.reach(options.direction).fields.pred is not None
    edges = options.emit_edges or options.tree
    print_steps(
        console,
        told.count(found),
        options.format,
        edges=edges,
        named=named,
        seed=seed,
    )
    unknown = dict.fromkeys(pred for pred in found.unknown if pred not in told.unknown)
    told.unknown.update(unknown)
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
    from headrace.cli.console import counted

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
            "which were not all followed",
            nodes=found.capped,
            most_edges=options.most_edges,
            **of,
        )


def _say_skipped(seeds: Seeds, console: Console) -> None:
    from headrace.cli.console import counted

    if seeds.skipped:
        lines = counted(seeds.skipped, "line")
        places = [f"line {line}: {reason}" for line, reason in seeds.first_skipped]
        console.emit(
            "seeds_skipped",
            "\n  ".join([f"standard input: {lines} without a seed", *places]),
            skipped=seeds.skipped,
            first_skipped=[each._asdict() for each in seeds.first_skipped],
        )
