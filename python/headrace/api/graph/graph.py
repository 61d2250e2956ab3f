"""Graphs: following the edges that are rows.

`api/graph/access.py` chooses how edges are reached. An index that turns out to be damaged is
given up, and the search goes on with another access: all of them return the same edges in the
same order.
"""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, Unpack

from headrace.api.graph.access import (
    USUAL,
    Reach,
    Strategy,
    Wanted,
    edge_files,
    reach_edges,
    scan_edges,
)
from headrace.api.graph.expansion import Expansion
from headrace.api.graph.names import at_most, predicates_of, text_of, texts_of
from headrace.api.index.build import MEMORY, memory_of, where_of
from headrace.api.options import GraphOptions, place_of_tasks, refuse_unknown
from headrace.errors import (
    GraphIndexError,
    HeadraceWarning,
    KeyIndexError,
    UsageError,
)
from headrace.kernel.graph import (
    Direction,
    Edge,
    EdgeFields,
    Followed,
    GraphAccess,
    Reached,
    edges_of,
    graph_columns,
    meta_of,
    stats_of,
)
from headrace.kernel.rows import SidecarError, reading
from headrace.store.files.opened import Closing, OpenedFile

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import networkx
    import pyarrow
    from pyspark.sql import SparkSession

    from headrace.api.graph.spark_graph import SparkGraph
    from headrace.api.graph.tables import GraphMatrix
    from headrace.api.options import ExpandOptions, Name, Names
    from headrace.engines.spark.graph.expansion import EdgeTasks
    from headrace.kernel.graph import GraphIndex, GraphStats
    from headrace.physical.hops import HopChoice
    from headrace.store.files.source import Source

T = TypeVar("T")

_ALL: tuple[Direction, ...] = ("out", "in", "both")


@dataclass(frozen=True, slots=True)
class EdgePlan:
    """How edges are reached: by a `graph` index, by `keys`, or by a `scan`, and why."""

    strategy: Strategy
    edges: str
    files: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        how = {
            "graph": "by its graph index",
            "keys": "by key indexes",
            "scan": "by a scan",
        }
        return (
            f"{self.edges}: edges are reached {how[self.strategy]}, since {self.reason}"
        )


class Graph(Closing):
    """The edges of files, followed from any number of threads; `Dataset.graph` opens it.

    Each row is an edge: it comes from the node in one field, goes to the node in another, and
    has a predicate. Without names of fields they are those of the graph index, else ``from``,
    ``pred`` and ``to``. Edges are reached by the graph index of the file, or by key indexes on
    the fields of both ends; without them the file is scanned once, and a `HeadraceWarning`
    says so. With `require_index` that is an error; with ``index=False`` no index is used.
    Several files are always scanned. The answers are the same.

    The edges are those that the files had when the graph was opened. A node is named by its
    text: the number 7 and the text ``"7"`` are one node.
    """

    def __init__(
        self,
        edges: str
        | os.PathLike[str]
        | Sequence[str | os.PathLike[str]]
        | Sequence[Source],
        **options: Unpack[GraphOptions],
    ) -> None:
        refuse_unknown(options, GraphOptions)
        index, required = options.get("index"), options.get("require_index", False)
        if index is False and required:
            raise UsageError("require_index needs an index, and index=False uses none")
        self._edges_in = edge_files(edges)
        self._no_index = index is False
        self._wanted = Wanted(
            _fields_of(options),
            "out",
            where_of(index or None, options.get("index_dir")),
            required,
            memory_of(options.get("memory", MEMORY)),
            options.get("threads"),
            options.get("report") or _warn,
        )
        self._lock = threading.RLock()
        self._reaches: dict[Direction, Reach] = {}
        self._scanned: Reach | None = None
        self._closed = False
        only = self._edges_in.only
        if only is None and index:
            raise UsageError(f"{self.location}: several files have no index; name none")
        self._opened = None if only is None else OpenedFile(only)

    @property
    def location(self) -> str:
        """Where the edges are, as the caller named it."""
        return self._edges_in.location

    # How edges are reached

    def reach(self, direction: Direction = "out") -> Reach:
        """Return the access to edges; the first call finds it."""
        found = self._reaches.get(direction)
        return self._find(direction) if found is None else found

    def explain(self, direction: Direction = "out") -> str:
        """Return how edges are reached, or would be, and why; nothing is scanned for it."""
        return str(self.plan(direction))

    def plan(self, direction: Direction = "out") -> EdgePlan:
        """Return how edges are reached, or would be; nothing is scanned for it."""
        known = self._reaches.get(direction)
        if known is not None:
            return plan_of(self.location, known.strategy, known.files, [])
        if self._no_index:
            return EdgePlan("scan", self.location, (), "no index is wanted")
        troubles: list[KeyIndexError] = []
        wanted = self._wanted._replace(
            direction=direction,
            require_index=True,
            report=lambda trouble, _strategy: troubles.append(trouble),
        )
        try:
            found = reach_edges(self._edges_in, wanted)
        except GraphIndexError as error:
            troubles.append(error)
            strategy: Strategy = "scan"
            files: tuple[str, ...] = ()
        else:
            strategy, files = found.strategy, found.files
        grown = [error.index for error in troubles if error.kind == "grown"]
        if grown and not self._wanted.require_index:
            strategy, files = "graph", tuple(grown)
        return plan_of(self.location, strategy, files, troubles)

    def _find(self, direction: Direction) -> Reach:
        with self._lock:
            self._refuse_if_closed()
            known = self._reaches.get(direction)
            if known is not None:
                return known
            if self._no_index:
                found = self._scan(direction, self._wanted.fields or USUAL)
            else:
                wanted = self._wanted._replace(direction=direction)
                found = reach_edges(self._edges_in, wanted)
            self._keep(found, direction)
        return found

    def _keep(self, found: Reach, direction: Direction) -> None:
        all_ = direction == "both" or _has_incoming(found)
        for each in _ALL if all_ else (direction,):
            self._reaches.setdefault(each, found)

    def _scan(self, direction: Direction, fields: EdgeFields) -> Reach:
        """Build a temporary graph index, unless there is one that has such edges."""
        known = self._scanned
        if known is not None and (direction == "out" or _has_incoming(known)):
            return known
        wanted = self._wanted._replace(direction=direction)
        self._scanned = scan_edges(self._edges_in, fields, wanted)
        return self._scanned

    def give_up(self, reach: Reach, direction: Direction, damage: SidecarError) -> None:
        """Replace the access through a damaged index by a scan."""
        _path, offset, reason = damage.args
        kind = KeyIndexError if reach.strategy == "keys" else GraphIndexError
        where = reach.files[0] if reach.files else self.location
        error = kind(self.location, where, "corrupt", f"{reason} (byte {offset})")
        if self._wanted.require_index or reach.strategy == "scan":
            raise error from None
        with self._lock:
            self._refuse_if_closed()
            if self._reaches.get(direction) is not reach:
                # Another thread has replaced it.
                return
            self._reaches = {
                each: other
                for each, other in self._reaches.items()
                if other is not reach
            }
            self._wanted.report(error, "scan")
            self._keep(self._scan(direction, reach.fields), direction)

    def on_edges(self, direction: Direction, run: Callable[[Reach], T]) -> T:
        """Run a search over edges, and again if an index turns out to be damaged."""
        while True:
            reach = self.reach(direction)
            try:
                with reading(self.location):
                    found = run(reach)
            except SidecarError as error:
                self.give_up(reach, direction, error)
            else:
                self.check_source(reach)
                return found

    def check_source(self, reach: Reach) -> None:
        """Raise if rows were read from a file that was replaced meanwhile."""
        # Keys lead to the rows of one file only.
        if reach.strategy == "keys" and self._opened is not None:
            self._opened.check()

    # Edges

    def out(self, node: Name, *, pred: Names | None = None) -> Iterator[Edge]:
        """Yield the edges that come from a node, in file order."""
        return iter(self._edges(node, "out", pred) or ())

    def in_(self, node: Name, *, pred: Names | None = None) -> Iterator[Edge]:
        """Yield the edges that go to a node, in file order."""
        return iter(self._edges(node, "in", pred) or ())

    def neighbors(
        self, node: Name, *, pred: Names | None = None, direction: Direction = "both"
    ) -> Iterator[str]:
        """Yield the nodes at the other ends of the edges of a node, each once."""
        found = self._edges(node, direction, pred) or ()
        return iter(dict.fromkeys(edge.node for edge in found))

    def __contains__(self, node: Name) -> bool:
        """Whether an edge comes from a node or goes to it."""
        # Any access will do: a graph index has nodes of both ends.
        direction: Direction = next(iter(self._reaches), "out")
        if self.reach(direction).strategy == "keys":
            # A key index of one end does not have nodes of the other.
            return bool(self._edges(node, direction, None, most=1)) or self._is_there(
                text_of(node)
            )
        return self._edges(node, direction, None, most=0) is not None

    def _is_there(self, node: str) -> bool:
        """Whether an index of all edges has a node."""

        def has(index: GraphIndex) -> bool:
            access = GraphAccess.of_graph(index)
            return edges_of(access, node, most=0) is not None

        return self._whole(has)

    def _edges(
        self,
        node: Name,
        direction: Direction,
        pred: Names | None,
        most: int | None = None,
    ) -> list[Edge] | None:
        text, wanted = text_of(node), predicates_of(pred)
        return self.on_edges(
            direction,
            lambda reach: edges_of(
                reach.access, text, direction=direction, predicates=wanted, most=most
            ),
        )

    # Searches

    def expand(
        self,
        seeds: Names,
        hops: int | None = None,
        **options: Unpack[ExpandOptions],
    ) -> Expansion:
        """Return the nodes that are reached from others, at most `hops` edges away.

        Level by level, each node once, at its smallest level, with the predicate of the first
        edge that leads there. An edge comes before the node that it leads to.
        """
        return Expansion(self, texts_of(seeds), hops, options)

    def shortest_path(
        self,
        start: Name,
        goal: Name,
        *,
        hops: int | None = None,
        pred: Names | None = None,
        direction: Direction = "out",
    ) -> list[Reached | Followed] | None:
        """Return the path from one node to another that has the fewest edges.

        Nodes and edges in turn, as `expand` yields them; None if there is no path. Of several
        paths, it is the one that a search level by level finds first. The path of a node to
        itself has no edges.
        """
        first, last, wanted = text_of(start), text_of(goal), predicates_of(pred)
        hops = at_most("hops", hops)

        def search(reach: Reach) -> list[Edge] | None:
            if first == last:
                # Even without such a node: key indexes do not have all nodes.
                return []
            try:
                found = reach.access.shortest_path(
                    first, last, hops=hops, predicates=wanted, direction=direction
                )
            except LookupError:
                return None
            return None if found is None else [Edge(*edge) for edge in found]

        found = self.on_edges(direction, search)
        return None if found is None else list(_along(first, found))

    def stats(self) -> GraphStats:
        """Count all edges, predicates, degrees and connected components."""
        return self._whole(stats_of)

    def _whole(self, run: Callable[[GraphIndex], T]) -> T:
        """Run a function over an index of all edges; without one, the file is scanned."""

        def on_index(reach: Reach) -> T:
            if reach.instead_of is not None:
                if self._wanted.require_index:
                    raise reach.instead_of
                with self._lock:
                    if self._scanned is None:
                        self._wanted.report(reach.instead_of, "scan")
                    reach = self._scan("out", reach.fields)
            assert reach.graph is not None
            return run(reach.graph)

        return self.on_edges("out", on_index)

    # With Spark

    def on_spark(
        self,
        master: str | None = None,
        *,
        spark: SparkSession | None = None,
        partition_bytes: int | str | None = None,
        report_hop: Callable[[int, int, HopChoice], None] | None = None,
        _tasks: EdgeTasks | None = None,
    ) -> SparkGraph:
        """Return this graph with an `expand` whose edges are found by tasks of Spark.

        They run at `master` [default: local[*,4], all cores of this machine], or in the session
        `spark` [default: that of this process]; those that scan read `partition_bytes` of the files each [default: 64MiB]. `report_hop` is called with
        each level, how many nodes it has, and how their edges are found. Tests pass `_tasks`,
        which run without Spark.
        """
        from headrace.api.graph.spark_graph import SparkGraph

        self._refuse_if_closed()
        if self._wanted.where.path is not None and len(self._edges_in.sources) > 1:
            raise UsageError(
                f"{self.location}: an index is of one file; name a directory with index_dir"
            )
        return SparkGraph(
            self._edges_in,
            self._wanted,
            no_index=self._no_index,
            place=place_of_tasks({"master": master, "spark": spark}),
            partition_bytes=partition_bytes,
            report_hop=report_hop,
            tasks=_tasks,
        )

    # Tables

    def to_arrow(self) -> pyarrow.Table:
        """Return all edges in file order as an Arrow table.

        The columns have the names of the fields; ``offset`` is the byte at which the row of an
        edge begins. Nodes and predicates are dictionaries.
        """
        from headrace.api.graph.tables import as_arrow

        return as_arrow(self._whole(graph_columns), self.reach().fields)

    def to_networkx(self) -> networkx.MultiDiGraph:
        """Return all edges as a networkx graph; each has a `pred` and an `offset`."""
        from headrace.api.graph.tables import as_networkx

        return as_networkx(self._whole(graph_columns), self.reach().fields)

    def to_scipy(self) -> GraphMatrix:
        """Return how many edges go from each node to each, as a scipy sparse matrix."""
        from headrace.api.graph.tables import as_scipy

        return as_scipy(self._whole(graph_columns))

    # The files

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise UsageError(f"{self.location}: its graph was closed")

    def close(self) -> None:
        """Close the files."""
        with self._lock:
            self._closed = True
            self._opened = self._scanned = None
            self._reaches = {}


def _has_incoming(found: Reach) -> bool:
    return found.graph is not None and meta_of(found.graph.meta).reverse


def _along(start: str, edges: Iterable[Edge]) -> Iterator[Reached | Followed]:
    """Yield a path as the steps of an expansion that found nothing else."""
    at = start
    yield Reached(at, 0, None)
    for level, edge in enumerate(edges, 1):
        ends = (at, edge.node) if edge.outgoing else (edge.node, at)
        yield Followed(ends[0], edge.pred, ends[1], edge.offset, leads=True)
        at = edge.node
        yield Reached(at, level, edge.pred)


def plan_of(
    edges: str,
    strategy: Strategy,
    files: tuple[str, ...],
    troubles: Sequence[KeyIndexError],
) -> EdgePlan:
    """Return how edges are reached, and why."""
    reasons = {
        "graph": "the graph index is that of the file",
        "keys": "key indexes lead to the ends of edges",
        "scan": "no index can be used",
    }
    reason = "; ".join([reasons[strategy], *(error.what for error in troubles)])
    return EdgePlan(strategy, edges, files, reason)


def _fields_of(options: GraphOptions) -> EdgeFields | None:
    from_, to = options.get("from_field"), options.get("to_field")
    pred = options.get("pred_field")
    if from_ is None and pred is None and to is None:
        return None
    if from_ is None or to is None:
        raise UsageError(
            "name both ends of an edge, from_field and to_field, and its predicate, "
            "pred_field, if it has one"
        )
    return EdgeFields(from_, pred, to)


def _warn(trouble: KeyIndexError, strategy: Strategy | None) -> None:
    done = {
        None: "it is not used",
        "graph": "the new rows are scanned",
        "keys": "key indexes are used",
        "scan": "all rows are scanned",
    }
    message = f"{trouble.what}; {done[strategy]}"
    warnings.warn(message, HeadraceWarning, stacklevel=2)
