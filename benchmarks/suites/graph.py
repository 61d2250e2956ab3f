"""Graphs: building an index of edges, and going along them from Python.

Headrace has its index and DuckDB a table that was loaded before; a dictionary of Python has to be
loaded each time, which is counted. Everyone goes from the same nodes, and says how many there are
on each level.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from statistics import median
from typing import TYPE_CHECKING, cast

from benchmarks.candidate import (
    AtLeast,
    AtMost,
    Benchmark,
    Candidate,
    Question,
    Ref,
    probe,
)
from benchmarks.generate import DATA, Extent, data_file
from benchmarks.probe import Meter, Outcome, value_digest
from benchmarks.suite import Settings, Suite
from benchmarks.suites.key_get import anonymous
from benchmarks.units import threads_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.kernel.graph import Reached

FIELDS = ("from", "pred", "to")
# 5 million edges in a full run.
BYTES_PER_EDGE = 200
EDGES_PER_SECOND = 1_000_000
OUT_SECONDS = 20e-6
HELD = 10_000_000
NODES, NODES_SECONDS = 1000, 5e-3
SEEDS, HOPS = 100, 3
OVER_DUCKDB, OVER_DICT = 5.0, 3.0
FEW, MANY = 20, 20_000


def nodes(edges: int, count: int) -> list[str]:
    """Choose nodes, the same for every candidate; most of them have few edges."""
    random = Random("nodes")
    return [f"n{int(random.random() * (edges // 10))}" for _ in range(count)]


def of_levels(levels: Iterable[int]) -> str:
    """Make an answer of the levels of all nodes."""
    found = sorted(Counter(levels).items())
    return ", ".join(f"{count} on {level}" for level, count in found)


def headrace_build(path: str, threads: int) -> Outcome:
    """Build an index, with incoming edges too."""
    from headrace import GraphIndex

    with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
        file = Path(folder) / "edges.jnx.graph"
        with Meter() as meter:
            built = GraphIndex.build(
                path, *FIELDS, incoming=True, threads=threads, index=file
            )
        size = file.stat().st_size
    return Outcome(built.written.edges, {**meter.figures, "bytes_written": size})


def timed(ask: Callable[[str], list[object]], nodes: list[str]) -> Outcome:
    """Give the median of single calls, and how much memory grew meanwhile."""
    answer = value_digest(ask(node) for node in nodes[:FEW])
    before, taken = anonymous(), []
    for node in nodes:
        began = time.perf_counter_ns()
        ask(node)
        taken.append(time.perf_counter_ns() - began)
    figures = {"time": median(taken) / 1e9, "peak_rss": anonymous() - before}
    return Outcome(answer, figures)


def headrace_out(path: str, index: str, edges: int) -> Outcome:
    """Read the edges of nodes, warm."""
    from headrace import GraphIndex

    with GraphIndex.open(path, index=index, require_index=True) as graph:
        return timed(
            lambda node: [[edge.pred, edge.node] for edge in graph.out(node)],
            nodes(edges, MANY),
        )


def headrace_near(path: str, index: str, edges: int) -> Outcome:
    """Expand nodes until a thousand are reached, at most three edges away."""
    from headrace import GraphIndex

    with GraphIndex.open(path, index=index, require_index=True) as graph:
        return timed(
            lambda node: list(graph.expand(node, HOPS, limit=NODES)),
            nodes(edges, SEEDS),
        )


def headrace_expand(path: str, index: str, edges: int) -> Outcome:
    """Expand all seeds together through the index, to a table."""
    import pyarrow  # noqa: F401, the import is not measured

    from headrace import GraphIndex

    with (
        Meter() as meter,
        GraphIndex.open(path, index=index, require_index=True) as graph,
    ):
        table = graph.expand(nodes(edges, SEEDS), HOPS).to_arrow()
    return Outcome(of_levels(table["level"].to_pylist()), meter.figures)


def headrace_steps(path: str, index: str, edges: int) -> Outcome:
    """Expand all seeds together through the index, to an object for each node."""
    from headrace import GraphIndex

    with (
        Meter() as meter,
        GraphIndex.open(path, index=index, require_index=True) as graph,
    ):
        steps = cast("Iterable[Reached]", graph.expand(nodes(edges, SEEDS), HOPS))
        found = of_levels(step.level for step in steps)
    return Outcome(found, meter.figures)


def duckdb_expand(store: str, edges: int) -> Outcome:
    """Run a recursive query over a table, one thread, to a table."""
    import duckdb
    import pyarrow  # noqa: F401, the import is not measured

    statement = f"""
        with recursive reached(node, level) as (
            select unnest(?), 0
            union
            select edges."to", level + 1 from reached join edges on edges."from" = node
            where level < {HOPS}
        )
        select node, min(level) as level from reached group by node
    """
    with (
        duckdb.connect(store, read_only=True, config={"threads": 1}) as connection,
        Meter() as meter,
    ):
        seeds = list(dict.fromkeys(nodes(edges, SEEDS)))
        table = connection.sql(statement, params=[seeds]).to_arrow_table()
    return Outcome(of_levels(table["level"].to_pylist()), meter.figures)


def python_expand(path: str, edges: int) -> Outcome:
    """Read all edges into a dictionary of lists, and expand."""
    with Meter() as meter:
        out = defaultdict(list)
        with Path(path).open("rb") as file:
            for line in file:
                edge = json.loads(line)
                out[edge["from"]].append(edge["to"])
        level = list(dict.fromkeys(nodes(edges, SEEDS)))
        levels = dict.fromkeys(level, 0)
        for hop in range(1, HOPS + 1):
            before, level = level, []
            for node in before:
                for other in out.get(node, ()):
                    if other not in levels:
                        levels[other] = hop
                        level.append(other)
        found = of_levels(levels.values())
    return Outcome(found, meter.figures)


def table_of(path: Path) -> Path:
    """Load a table of DuckDB, unless that has been done."""
    import duckdb

    file = DATA / f"{path.stem}.duckdb"
    if not file.exists():
        new = file.with_name(f"{file.name}.new")
        new.unlink(missing_ok=True)
        with duckdb.connect(new) as connection:
            connection.execute(
                f"create table edges as select * from read_ndjson('{path}')"
            )
        new.replace(file)
    return file


def index_of(path: Path) -> Path:
    """Build the index for the queries."""
    from headrace import GraphIndex

    index = DATA / f"{path.stem}.jnx.graph"
    GraphIndex.build(path, *FIELDS, incoming=True, index=index)
    return index


def others(path: Path, edges: int) -> list[Candidate]:
    """Return the candidates to compare with."""
    from importlib.util import find_spec

    made = [probe("Python dict", python_expand, path, edges)]
    if find_spec("duckdb") is not None:
        store = table_of(path)
        made.append(
            probe("DuckDB", duckdb_expand, store, edges, modules=("duckdb", "pyarrow"))
        )
    return made


def build(settings: Settings) -> Benchmark:
    """Make edges and their index, and run the queries."""
    edges = max(settings.size // BYTES_PER_EDGE, 10)
    path = data_file("edges", Extent(edges, "rows"))
    index = index_of(path)

    def ours(
        function: Callable[[str, str, int], Outcome], name: str = "headrace"
    ) -> Candidate:
        modules = ("headrace", "pyarrow")
        return probe(name, function, path, index, edges, modules=modules)

    built = Question(
        "an index of edges",
        tuple(
            probe(
                f"headrace, {threads_text(threads)}",
                headrace_build,
                path,
                threads,
                modules=("headrace",),
            )
            for threads in (1, 2)
        ),
        path.stat().st_size,
    )
    out = Question("the edges of a node", (ours(headrace_out),))
    near = Question(f"{NODES} nodes within {HOPS} hops", (ours(headrace_near),))
    far = Question(
        f"{HOPS} hops from {SEEDS} nodes",
        (
            ours(headrace_expand),
            ours(headrace_steps, "headrace, node by node"),
            *others(path, edges),
        ),
    )
    one_thread = built.candidates[0].name
    far_ref = Ref(far.label, "headrace")
    known = {each.name for each in far.candidates}
    return Benchmark(
        SUITE.name,
        SUITE.doc,
        (built, out, near, far),
        targets=(
            AtMost(Ref(built.label, one_thread), "time", edges / EDGES_PER_SECOND),
            AtMost(Ref(out.label, "headrace"), "time", OUT_SECONDS),
            AtMost(Ref(out.label, "headrace"), "peak_rss", HELD),
            AtMost(Ref(near.label, "headrace"), "time", NODES_SECONDS),
            *(
                AtLeast(far_ref, Ref(far.label, name), ratio)
                for name, ratio in (("DuckDB", OVER_DUCKDB), ("Python dict", OVER_DICT))
                if name in known
            ),
        ),
    )


SUITE = Suite("graph", "Build an index of edges, and go along them.", build)
