"""Graphs: going along the edges that are rows.

What leads to the edges is chosen in `api/graph/access.py`. An index that turns out to be damaged
on the way is given up, and what was begun is gone on with by another way: all of them give the
same answers in the same order.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal, Self, TypeAlias, TypeVar

from headrace.api.graph.access import (
    USUAL,
    Reach,
    Wanted,
    Way,
    edge_files,
    reach_edges,
    scan_edges,
)
from headrace.api.index.key import LEAST_MEMORY, MEMORY, where_of
from headrace.engines.index.kinds import GraphBuild
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
    ReachedColumns,
    columns_of,
    edges_of,
    meta_of,
    reached_of,
    stats_of,
    steps,
)
from headrace.kernel.rows import SidecarError, reading
from headrace.store.files.closing import Closing
from headrace.store.files.opened import OpenedFile
from headrace.store.files.units import parse_size

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    import networkx
    import pyarrow

    from headrace.api.graph.spark import SparkGraph
    from headrace.api.graph.tables import GraphMatrix
    from headrace.kernel.graph import GraphExpansion, GraphIndex, GraphStats
    from headrace.physical.hops import HopChoice

T = TypeVar("T")
Emit: TypeAlias = Literal["nodes", "edges", "tree"]

_ALL: tuple[Direction, ...] = ("out", "in", "both")
_ENDLESS = 2**32 - 1
"""No graph index has as many nodes, and so no shortest way as many edges."""


@dataclass(frozen=True, slots=True)
class GraphWay:
    """How edges are reached: by a `graph` index, by `keys`, or by a `scan`, and why."""

    path: Way
    edges: str
    files: tuple[str, ...]
    reason: str


class Graph(Closing):
    """Goes along edges, from any number of threads.

    They are in a file, or in several: a list of them, a set of shards, a directory, a log. Each row is an edge: it comes `from_` a node, goes `to` one, and `pred` says what it means.
    Without names of fields they are those of the graph index, else ``from``, ``pred`` and
    ``to``. The graph index leads to edges, or key indexes on the fields of both ends do; without
    them the file is scanned once, and a `HeadraceWarning` says so; with `strict` that is an
    error, and with ``index=False`` no index is looked for. Answers are the same. Several files
    are always scanned.

    The edges are those that the files had when they were named. A node is named by its text; the
    number 7 and the text ``"7"`` are one node.
    """

    def __init__(
        self,
        edges: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        from_: str | None = None,
        pred: str | None = None,
        to: str | None = None,
        *,
        index: str | os.PathLike[str] | Literal[False] | None = None,
        index_dir: str | os.PathLike[str] | None = None,
        strict: bool = False,
        memory: int | str = MEMORY,
        threads: int | None = None,
        tell: Callable[[KeyIndexError, Way | None], None] | None = None,
    ) -> None:
        if index is False and strict:
            raise UsageError("strict wants an index, and index=False none")
        self._edges_in = edge_files(edges)
        self._named = _fields_of(from_, pred, to)
        self._no_index = index is False
        self._where = where_of(index or None, index_dir)
        self._strict = strict
        self._memory = max(parse_size(memory), LEAST_MEMORY)
        self._threads = threads
        self._tell = tell or _warn
        self._lock = threading.RLock()
        self._ways: dict[Direction, Reach] = {}
        self._scanned: Reach | None = None
        self._closed = False
        only = self._edges_in.only
        if only is None and index:
            raise UsageError(f"{self.location}: several files have no index; name none")
        self._opened = None if only is None else OpenedFile(only)

    @property
    def location(self) -> str:
        """Where the edges are, as it was said."""
        return self._edges_in.location

    # Ways to edges

    def reach(self, direction: Direction = "out") -> Reach:
        """Return what leads to edges; the first time, that is found."""
        found = self._ways.get(direction)
        return self._find(direction) if found is None else found

    def way(self, direction: Direction = "out") -> GraphWay:
        """Say how edges are reached, or would be; nothing is scanned for it."""
        known = self._ways.get(direction)
        if known is not None:
            return way_of(self.location, known.path, known.files, [])
        if self._no_index:
            return GraphWay("scan", self.location, (), "no index is wanted")
        troubles: list[KeyIndexError] = []
        wanted = self._wanted(
            direction, lambda trouble, _way: troubles.append(trouble)
        )._replace(strict=True)
        try:
            found = reach_edges(self._edges_in, wanted)
        except GraphIndexError as error:
            troubles.append(error)
            path: Way = "scan"
            files: tuple[str, ...] = ()
        else:
            path, files = found.path, found.files
        grown = [error.index for error in troubles if error.kind == "grown"]
        if grown and not self._strict:
            path, files = "graph", tuple(grown)
        return way_of(self.location, path, files, troubles)

    def _wanted(
        self, direction: Direction, tell: Callable[[KeyIndexError, Way | None], None]
    ) -> Wanted:
        return Wanted(
            self._named,
            direction,
            self._where,
            self._strict,
            self._memory,
            self._threads,
            tell,
        )

    def _find(self, direction: Direction) -> Reach:
        with self._lock:
            self._refuse_if_closed()
            known = self._ways.get(direction)
            if known is not None:
                return known
            if self._no_index:
                found = self._scan(direction, self._named or USUAL)
            else:
                found = reach_edges(self._edges_in, self._wanted(direction, self._tell))
            self._keep(found, direction)
        return found

    def _keep(self, found: Reach, direction: Direction) -> None:
        all_ = direction == "both" or _has_incoming(found)
        for each in _ALL if all_ else (direction,):
            self._ways.setdefault(each, found)

    def _scan(self, direction: Direction, fields: EdgeFields) -> Reach:
        """Make a graph index aside, unless there is one that has such edges."""
        known = self._scanned
        if known is not None and (direction == "out" or _has_incoming(known)):
            return known
        asked = GraphBuild(
            fields,
            reverse=direction != "out",
            memory=self._memory,
            threads=self._threads,
        )
        self._scanned = scan_edges(self._edges_in, asked)
        return self._scanned

    def _give_up(self, way: Reach, direction: Direction, damage: SidecarError) -> None:
        """Go on without an index that is damaged."""
        _path, offset, reason = damage.args
        kind = KeyIndexError if way.path == "keys" else GraphIndexError
        where = way.files[0] if way.files else self.location
        error = kind(self.location, where, "corrupt", f"{reason} (byte {offset})")
        if self._strict or way.path == "scan":
            raise error from None
        with self._lock:
            self._refuse_if_closed()
            if self._ways.get(direction) is not way:
                # Somebody else has seen to it.
                return
            self._ways = {
                each: other for each, other in self._ways.items() if other is not way
            }
            self._tell(error, "scan")
            self._keep(self._scan(direction, way.fields), direction)

    def _asked(self, direction: Direction, ask: Callable[[Reach], T]) -> T:
        """Ask for edges, and again where an index turns out to be damaged."""
        while True:
            way = self.reach(direction)
            try:
                with reading(self.location):
                    found = ask(way)
            except SidecarError as error:
                self._give_up(way, direction, error)
            else:
                self._check(way)
                return found

    def _check(self, way: Reach) -> None:
        """Raise if rows were read of a file that is another one meanwhile."""
        # Keys lead to the rows of one file only.
        if way.path == "keys" and self._opened is not None:
            self._opened.check()

    # Edges

    def out(
        self,
        node: str | int,
        *,
        predicates: str | int | Iterable[str | int] | None = None,
    ) -> Iterator[Edge]:
        """Give the edges that come from a node, in file order."""
        return iter(self._edges(node, "out", predicates) or ())

    def in_(
        self,
        node: str | int,
        *,
        predicates: str | int | Iterable[str | int] | None = None,
    ) -> Iterator[Edge]:
        """Give the edges that go to a node, in file order."""
        return iter(self._edges(node, "in", predicates) or ())

    def neighbors(
        self,
        node: str | int,
        *,
        predicates: str | int | Iterable[str | int] | None = None,
        direction: Direction = "both",
    ) -> Iterator[str]:
        """Give the nodes at the other ends of the edges of a node, each once."""
        found = self._edges(node, direction, predicates) or ()
        return iter(dict.fromkeys(edge.node for edge in found))

    def __contains__(self, node: str | int) -> bool:
        """Whether an edge comes from a node or goes to it, as far as an index knows."""
        # Any way will do: whoever knows a node knows it in both directions.
        direction: Direction = next(iter(self._ways), "out")
        if self.reach(direction).path == "keys":
            # Keys lead to edges, and know nothing of a node that has none of theirs.
            return bool(self._edges(node, direction, None, most=1)) or self._is_there(
                _text(node)
            )
        return self._edges(node, direction, None, most=0) is not None

    def _is_there(self, node: str) -> bool:
        """Ask an index that has all edges whether a node is there."""

        def ask(index: GraphIndex) -> bool:
            access = GraphAccess.of_graph(index)
            return edges_of(access, node, most=0) is not None

        return self._whole(ask)

    def _edges(
        self,
        node: str | int,
        direction: Direction,
        predicates: str | int | Iterable[str | int] | None,
        most: int | None = None,
    ) -> list[Edge] | None:
        text, wanted = _text(node), texts_of(predicates)
        return self._asked(
            direction,
            lambda way: edges_of(
                way.access, text, direction=direction, predicates=wanted, most=most
            ),
        )

    # Ways along edges

    def expand(
        self,
        seeds: str | int | Iterable[str | int],
        hops: int | None = None,
        *,
        predicates: str | int | Iterable[str | int] | None = None,
        direction: Direction = "out",
        emit: Emit = "nodes",
        limit: int | None = None,
        most_edges: int | None = None,
    ) -> Expansion:
        """Give all that can be reached from nodes, at most `hops` edges away.

        Level by level, each node once, at its smallest level, with the predicate of the first
        edge that leads there. `emit` gives also the ``"edges"`` that were followed, or those of
        the ``"tree"`` only, which lead to a node for the first time; an edge comes before the
        node that it leads to. No more than `limit` nodes are given, and no more than
        `most_edges` edges of one node followed; the answer says whether there were more.
        """
        return Expansion(
            self,
            seeds_of(seeds),
            hops=at_most("hops", hops),
            predicates=texts_of(predicates),
            direction=direction,
            emit=emit,
            limit=at_most("limit", limit),
            most_edges=at_most("most_edges", most_edges),
        )

    def shortest_path(
        self,
        start: str | int,
        goal: str | int,
        *,
        hops: int | None = None,
        predicates: str | int | Iterable[str | int] | None = None,
        direction: Direction = "out",
    ) -> list[Reached | Followed] | None:
        """Return the way from one node to another that has the fewest edges.

        Nodes and edges in turn, as `expand` gives them; None if there is no way. Of several, it
        is the one that going level by level comes upon first; that of a node to itself has no
        edges.
        """
        first, last, wanted = _text(start), _text(goal), texts_of(predicates)
        hops = at_most("hops", hops)

        def ask(way: Reach) -> list[Edge] | None:
            if first == last:
                # Also if there is no such node, as not every way to edges can tell.
                return []
            try:
                found = way.access.shortest_path(
                    first, last, hops=hops, predicates=wanted, direction=direction
                )
            except LookupError:
                return None
            return None if found is None else [Edge(*edge) for edge in found]

        found = self._asked(direction, ask)
        return None if found is None else list(_along(first, found))

    def stats(self) -> GraphStats:
        """Look at all edges: how many there are, of what kinds, and how they hang together."""
        return self._whole(stats_of)

    def _whole(self, ask: Callable[[GraphIndex], T]) -> T:
        """Ask an index that has all edges; without one, the file is scanned."""

        def asked(way: Reach) -> T:
            if way.instead_of is not None:
                if self._strict:
                    raise way.instead_of
                with self._lock:
                    if self._scanned is None:
                        self._tell(way.instead_of, "scan")
                    way = self._scan("out", way.fields)
            assert way.graph is not None
            return ask(way.graph)

        return self._asked("out", asked)

    # With Spark

    def on_spark(
        self,
        master: str | None = None,
        *,
        partition_bytes: int | str | None = None,
        tell_hop: Callable[[int, int, HopChoice], None] | None = None,
    ) -> SparkGraph:
        """Return this graph as one whose edges are found by tasks of Spark.

        They run at `master` (``local[*,4]`` unless told: all cores of this machine), and where
        they scan, read `partition_bytes` of the files each (64 MiB unless told). Its
        `expand` gives what that of the graph gives. `tell_hop` hears, of each level, how many
        edges away it is, how many nodes it has, and how their edges are found.
        """
        from headrace.api.graph.spark import SparkGraph

        self._refuse_if_closed()
        if self._where.path is not None and len(self._edges_in.sources) > 1:
            raise UsageError(
                f"{self.location}: an index is of one file; name a directory with index_dir"
            )
        return SparkGraph(
            self._edges_in.sources,
            self.location,
            lambda direction: (
                None
                if self._no_index
                else self._wanted(direction, lambda _trouble, _way: None)
            ),
            self._tell,
            fields=self._named,
            strict=self._strict,
            master=master,
            partition_bytes=partition_bytes,
            tell_hop=tell_hop,
        )

    # All of it

    def to_arrow(self) -> pyarrow.Table:
        """Return all edges in file order as an Arrow table.

        The columns have the names of the fields, and ``offset`` says where the row of an edge
        begins. Nodes and predicates are dictionaries.
        """
        from headrace.api.graph.tables import as_arrow

        return as_arrow(self._whole(columns_of), self.reach().fields)

    def to_networkx(self) -> networkx.MultiDiGraph:
        """Return all edges as a graph of networkx; they have a `pred` and an `offset`."""
        from headrace.api.graph.tables import as_networkx

        return as_networkx(self._whole(columns_of), self.reach().fields)

    def to_scipy(self) -> GraphMatrix:
        """Return how many edges go from each node to each, as a sparse matrix of scipy."""
        from headrace.api.graph.tables import as_scipy

        return as_scipy(self._whole(columns_of))

    # The file

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise UsageError(f"{self.location}: its graph was closed")

    def close(self) -> None:
        """Let go of the files."""
        with self._lock:
            self._closed = True
            self._opened = self._scanned = None
            self._ways = {}


class Expansion:
    """What is reached from nodes, as it is reached: an iterator.

    How it went is known when it has ended.
    """

    def __init__(
        self,
        graph: Graph,
        seeds: list[str],
        *,
        hops: int | None,
        predicates: list[str] | None,
        direction: Direction,
        emit: Emit,
        limit: int | None,
        most_edges: int | None,
    ) -> None:
        self._graph = graph
        self._direction = direction
        self._emit = emit
        self._found: GraphExpansion | None = None

        def begin(access: GraphAccess) -> GraphExpansion:
            return access.expand(
                seeds,
                hops=hops,
                predicates=predicates,
                direction=direction,
                emit=emit,
                limit=limit,
                most_edges=most_edges,
            )

        self._begin = begin
        self._steps = self._run()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Reached | Followed:
        return next(self._steps)

    def _run(self) -> Iterator[Reached | Followed]:
        graph, given = self._graph, 0
        while True:
            way = graph.reach(self._direction)
            try:
                with reading(graph.location):
                    self._found = self._begin(way.access)
                    # What another way has given would come again.
                    for step in islice(steps(self._found), given, None):
                        given += 1
                        yield step
            except SidecarError as error:
                graph._give_up(way, self._direction, error)
            else:
                graph._check(way)
                return

    def to_arrow(self) -> pyarrow.Table:
        """Return all nodes that are reached as an Arrow table: ``node``, ``level``, ``via``.

        That takes a fraction of the time of going through them. Where edges are given too, and
        where some steps were taken already, it is refused.
        """
        from headrace.api.graph.tables import reached_as_arrow

        if self._emit != "nodes" or self._found is not None:
            raise UsageError(
                "a table has all nodes and no edges: call expand(...).to_arrow() without emit"
            )

        def ask(way: Reach) -> ReachedColumns:
            self._found = self._begin(way.access)
            return reached_of(self._found)

        return reached_as_arrow(self._graph._asked(self._direction, ask))

    @property
    def missing(self) -> list[str]:
        """Nodes to begin with that the graph does not have."""
        return [] if self._found is None else self._found.missing

    @property
    def unknown(self) -> list[str]:
        """Predicates that no edge has, as far as an index knows."""
        return [] if self._found is None else self._found.unknown

    @property
    def truncated(self) -> bool:
        """Whether there are more nodes than were given."""
        return self._found is not None and self._found.truncated

    @property
    def capped(self) -> int:
        """How many nodes have more edges than were followed."""
        return 0 if self._found is None else self._found.capped


def _has_incoming(found: Reach) -> bool:
    return found.graph is not None and meta_of(found.graph.meta).reverse


def _along(start: str, edges: Iterable[Edge]) -> Iterator[Reached | Followed]:
    """Tell of a way as of an expansion that found nothing else."""
    at = start
    yield Reached(at, 0, None)
    for level, edge in enumerate(edges, 1):
        ends = (at, edge.node) if edge.outgoing else (edge.node, at)
        yield Followed(ends[0], edge.pred, ends[1], edge.offset, leads=True)
        at = edge.node
        yield Reached(at, level, edge.pred)


def way_of(
    edges: str, path: Way, files: tuple[str, ...], troubles: Sequence[KeyIndexError]
) -> GraphWay:
    """Say how edges are reached, and why."""
    reasons = {
        "graph": "the graph index is that of the file",
        "keys": "key indexes lead to the ends of edges",
        "scan": "no index can be used",
    }
    reason = "; ".join([reasons[path], *(error.what for error in troubles)])
    return GraphWay(path, edges, files, reason)


def _fields_of(
    from_: str | None, pred: str | None, to: str | None
) -> EdgeFields | None:
    if from_ is None and pred is None and to is None:
        return None
    if from_ is None or to is None:
        raise UsageError(
            "name both ends of an edge, from and to, and what it says, pred, if it does"
        )
    return EdgeFields(from_, pred, to)


def _text(node: str | int, what: str = "a node") -> str:
    if type(node) is str:
        return _encoded(node)
    if isinstance(node, bool):
        return "true" if node else "false"
    if isinstance(node, str | int):
        return str(node)
    raise UsageError(f"{node!r}: {what} is named by a text or a whole number")


def seeds_of(seeds: str | int | Iterable[str | int]) -> list[str]:
    """Return nodes to begin with as the texts that name them."""
    if isinstance(seeds, str | int):
        return [_text(seeds)]
    if isinstance(seeds, bytes | bytearray) or not isinstance(seeds, Iterable):
        raise UsageError(f"{seeds!r}: a node is named by a text or a whole number")
    return [_text(seed) for seed in seeds]


def at_most(name: str, bound: int | None) -> int | None:
    """Return a bound of a search; None if nothing can be beyond it."""
    if bound is not None and type(bound) is not int:
        raise UsageError(f"{name} must be a whole number, not {bound!r}")
    if bound is not None and bound < 0:
        raise UsageError(f"{name} {bound}: it cannot be below 0")
    return None if bound is None or bound >= _ENDLESS else bound


def texts_of(
    predicates: str | int | Iterable[str | int] | None,
) -> list[str] | None:
    """Return predicates as the texts that name them; None stands for every predicate."""
    if predicates is None:
        return None
    # The letters of a text are no predicates.
    if isinstance(predicates, str | int):
        predicates = [predicates]
    if isinstance(predicates, bytes | bytearray) or not isinstance(
        predicates, Iterable
    ):
        raise UsageError(f"{predicates!r}: a predicate is a text or a whole number")
    return [_text(each, "a predicate") for each in predicates]


def _encoded(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{text!r}: not a text in UTF-8") from None
    return text


def _warn(trouble: KeyIndexError, path: Way | None) -> None:
    done = {
        None: "it is not used",
        "graph": "the new rows are scanned",
        "keys": "key indexes are used",
        "scan": "all rows are scanned",
    }
    message = f"{trouble.what}; {done[path]}"
    warnings.warn(message, HeadraceWarning, stacklevel=2)
