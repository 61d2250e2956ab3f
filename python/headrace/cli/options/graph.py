"""The arguments that commands about graphs have in common, and what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.options.index import EVENTS, MEMORY, PLACES, THREADS

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable

    from headrace.api.graph.access import Strategy
    from headrace.api.graph.graph import EdgePlan, Graph
    from headrace.api.graph.spark import SparkGraph
    from headrace.cli.console import Console
    from headrace.errors import KeyIndexError
    from headrace.kernel.graph import Direction

EDGES = Argument(
    "edges",
    "file",
    "the edges: a file with one in each row, compressed or not; or several, as a set of "
    "shards, a directory, a log or a pattern; may be repeated",
    ("--edges",),
    metavar="FILE",
    arity="repeated",
)

FIELDS = (
    Argument(
        "from_",
        "text",
        "the field of the node that an edge comes from (as the graph index has it, or "
        "from, unless told)",
        ("--from",),
        metavar="FIELD",
    ),
    Argument(
        "pred_field",
        "text",
        "the field of what an edge says (as the graph index has it, or pred; with --from "
        "and --to, none unless told)",
        ("--pred-field",),
        metavar="FIELD",
    ),
    Argument(
        "to",
        "text",
        "the field of the node that an edge goes to (as the graph index has it, or to, "
        "unless told)",
        ("--to",),
        metavar="FIELD",
    ),
)

FOLLOWED = (
    Argument(
        "pred",
        "text",
        "follow only edges with one of these predicates, which have commas between them; may be "
        "repeated",
        ("--pred",),
        metavar="P[,P...]",
        arity="repeated",
    ),
    Argument(
        "pred_raw",
        "text",
        "such a predicate as it is, commas too; may be repeated",
        ("--pred-raw",),
        metavar="P",
        arity="repeated",
    ),
    Argument(
        "direction",
        "choice",
        "follow edges as they are, backwards, or both (out unless told)",
        ("--direction",),
        choices=("out", "in", "both"),
        default="out",
    ),
)

ACCESS = (
    Argument(
        "strict",
        "switch",
        "fail where no index fits, instead of scanning",
        ("--strict",),
    ),
    Argument("no_index", "switch", "use no index, but scan", ("--no-index",)),
    PLACES[0]._replace(help="the file of the graph index (beside FILE unless told)"),
    PLACES[1],
    MEMORY._replace(
        help="how much memory a scan may use (256MiB unless told); changes no byte"
    ),
    THREADS,
    *EVENTS,
)


def open_graph(options: Namespace, console: Console) -> Graph:
    """Open the edges that options name."""
    from headrace.api.graph.graph import Graph
    from headrace.cli.options.index import say_fallback, say_trouble
    from headrace.errors import UsageError

    if options.edges is None:
        raise UsageError("say where the edges are: --edges FILE")
    if options.no_index and (options.strict or options.index is not None):
        asked = "--strict" if options.strict else "--index"
        raise UsageError(f"{asked} asks for an index, and --no-index for none")

    def report(trouble: KeyIndexError, strategy: Strategy | None) -> None:
        say_trouble(console, trouble)
        if strategy in ("graph", "scan"):
            say_fallback(console, trouble)

    return Graph(
        options.edges,
        from_field=options.from_,
        pred_field=options.pred_field,
        to_field=options.to,
        index=False if options.no_index else options.index,
        index_dir=options.index_dir,
        require_index=options.strict,
        memory=options.memory,
        threads=options.threads,
        report=report,
    )


def reached(
    graph: Graph | SparkGraph,
    options: Namespace,
    console: Console,
    direction: Direction,
) -> bool:
    """Find a way to edges, and say which if that is asked for; false if that was all."""
    if options.explain != "plan":
        look_for_edges(graph, console, direction)
    if options.explain is not None:
        say_plan(console, graph.plan(direction))
    return bool(options.explain != "plan")


def look_for_edges(
    graph: Graph | SparkGraph, console: Console, direction: Direction = "out"
) -> None:
    """Find a way to edges; of an index or a scan without any, say which fields there are."""
    from headrace.api.graph.access import Reach
    from headrace.cli.io.index_events import fields_seen
    from headrace.kernel.graph import lines_of

    found = graph.reach(direction)
    # With Spark nothing was scanned yet.
    reaches = (found,) if isinstance(found, Reach) else found.indexes
    lines = [lines_of(each.graph) for each in reaches if each.graph is not None]
    if not lines or len(lines) < len(reaches) or any(each.records for each in lines):
        return
    if any(each.lines > each.blank for each in lines):
        from_, pred, to = found.fields
        names = {"from": from_, "pred": pred, "to": to}
        seen = ", ".join(fields_seen(graph.location)) or "none"
        say_no_edges(console, graph.location, names, seen)


def say_no_edges(
    console: Console, location: str, names: dict[str, str | None], seen: str
) -> None:
    """Say that no row is an edge, to whoever has mistyped a field."""
    fields = ", ".join(name for name in names.values() if name is not None)
    console.emit(
        "no_edges_indexed",
        f"{location}: no row is an edge of {fields}; fields of the first rows: {seen}",
        source=location,
        **names,
    )


def say_plan(console: Console, plan: EdgePlan) -> None:
    """Say how edges are reached."""
    console.emit(
        "graph_plan",
        str(plan),
        path=plan.strategy,
        edges=plan.edges,
        files=list(plan.files),
        reason=plan.reason,
    )


def predicates(options: Namespace) -> list[str] | None:
    """Return the predicates that are asked for, None if any is welcome."""
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
    """Say which nodes and predicates are not there; none is, unless edges are `named`."""
    for seed in seeds:
        message = f"{graph.location}: no edge comes from or goes to {seed!r}"
        console.emit("seed_not_found", message, id=seed)
    for pred in unknown:
        message = f"{graph.location}: no edge has the predicate {pred!r}"
        if not named:
            message = f"{graph.location}: edges have no predicate; --pred-field names its field"
        console.emit("predicate_not_found", message, pred=pred)


EXPLAIN = Argument(
    "explain",
    "choice",
    "say how edges are reached, and afterwards what was; with =plan, go nowhere",
    ("--explain",),
    choices=("plan",),
    arity="optional",
)

FORMAT = Argument(
    "format",
    "choice",
    "lines of JSON, a tree for people, or a picture for Graphviz or Mermaid (ndjson "
    "unless told)",
    ("--format",),
    choices=("ndjson", "tree", "dot", "mermaid"),
    default="ndjson",
)
