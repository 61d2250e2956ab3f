"""Graphs on Spark: access to edges by the indexes of all files, or by scans of all rows.

An index that turns out to be damaged is given up: the search begins again with scans, and the
steps that were yielded already are skipped.
"""

from __future__ import annotations

from functools import cached_property, partial
from itertools import accumulate, islice
from typing import TYPE_CHECKING, NamedTuple, Self, Unpack

from headrace.api.graph.access import (
    USUAL,
    EdgeFiles,
    Reach,
    fields_of,
    only_file,
    reach_edges,
)
from headrace.api.graph.graph import EdgePlan, plan_of
from headrace.api.graph.names import at_most, predicates_of, texts_of
from headrace.api.options import ExpandOptions, refuse_unknown
from headrace.api.spark_engine import task_bytes
from headrace.engines.spark.graph.edge_task import (
    Doubts,
    EdgeIndex,
    EdgesWanted,
    IndexFile,
)
from headrace.engines.spark.graph.expansion import EdgeFinder, EdgeTasks, Walk
from headrace.engines.spark.session.master import Place, chosen_place, needing_pyspark
from headrace.engines.spark.source.partitions import absolute
from headrace.errors import GraphIndexError, KeyIndexError
from headrace.kernel.graph import Direction, EdgeFields, Followed, Reached, edges_of
from headrace.kernel.rows import SidecarError, reading
from headrace.physical.hops import HopChoice, Indexed
from headrace.store.files.opened import OpenedFile
from headrace.store.index import graph as store
from headrace.store.index import key as keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.api.graph.access import Strategy, Wanted
    from headrace.api.options import Names
    from headrace.store.files.source import Source


class SparkReach(NamedTuple):
    """Access to edges: an index of each of the files, or none; and the faults of others."""

    fields: EdgeFields
    indexes: tuple[Reach, ...]
    troubles: tuple[KeyIndexError, ...] = ()

    @property
    def strategy(self) -> Strategy:
        """How edges are reached."""
        return self.indexes[0].strategy if self.indexes else "scan"


class SparkGraph:
    """A graph whose edges are found by tasks of Spark; `Graph.on_spark` makes it."""

    def __init__(
        self,
        edges: EdgeFiles,
        wanted: Wanted,
        *,
        no_index: bool,
        place: Place | None,
        partition_bytes: int | str | None,
        report_hop: Callable[[int, int, HopChoice], None] | None,
        tasks: EdgeTasks | None = None,
    ) -> None:
        self.sources, self.location = edges
        self._wanted = wanted
        self._no_index = no_index
        self._partition_bytes = task_bytes(partition_bytes)
        self._start = partial(_started, chosen_place(place), tasks)
        self._report_hop = report_hop or (lambda _level, _nodes, _choice: None)
        self._reaches: dict[Direction, SparkReach] = {}

    def reach(self, direction: Direction = "out") -> SparkReach:
        """Return the access to edges; the first call finds it."""
        found = self._reaches.get(direction)
        if found is None:
            found = self._found(direction)
            self._keep(found, direction)
        return found

    def _keep(self, found: SparkReach, direction: Direction) -> None:
        """Report the faults of indexes, or raise if one is required."""
        if self._wanted.require_index and found.troubles and not found.indexes:
            raise found.troubles[-1]
        self._reaches[direction] = found
        for trouble in found.troubles:
            self._wanted.report(trouble, found.strategy)

    def plan(self, direction: Direction = "out") -> EdgePlan:
        """Return how edges are found, or would be; nothing is scanned for it."""
        found = self._reaches.get(direction) or self._found(direction)
        return plan_of(
            self.location,
            found.strategy,
            tuple(file for index in found.indexes for file in index.files),
            found.troubles,
        )

    def _found(self, direction: Direction) -> SparkReach:
        if self._no_index or not self.sources:
            return SparkReach(self._wanted.fields or USUAL, ())
        fields = fields_of(self.sources, self._wanted)
        troubles, found = list[KeyIndexError](), list[Reach]()
        wanted = self._wanted._replace(
            fields=fields,
            direction=direction,
            require_index=True,
            report=lambda trouble, _strategy: troubles.append(trouble),
        )
        for source in self.sources:
            try:
                found.append(reach_edges(only_file(source), wanted))
            except GraphIndexError as error:
                return SparkReach(fields, (), (*troubles, error))
            # The edges of all files are of the same fields.
            fields = found[0].fields
            wanted = wanted._replace(fields=fields)
        return SparkReach(fields, tuple(found), tuple(troubles))

    def give_up(self, direction: Direction, damage: KeyIndexError) -> None:
        """Replace the access through a damaged index by scans."""
        reach = self.reach(direction)
        if not reach.indexes:
            raise damage
        self._keep(SparkReach(reach.fields, (), (damage,)), direction)

    @cached_property
    def _sizes(self) -> list[int]:
        """The size of each file after decompression."""
        return [OpenedFile(source).size for source in self.sources]

    def finder(self, wanted: EdgesWanted) -> EdgeFinder:
        """Return the finder of edges."""
        reaches = self.reach(wanted.direction).indexes
        sources, sizes = self.sources, self._sizes
        before = accumulate(sizes, initial=0)
        return EdgeFinder(
            sources,
            sizes,
            wanted,
            [_index(*each) for each in zip(sources, before, reaches, strict=False)],
            _indexed(reaches, wanted.direction),
            self._partition_bytes,
            self._start,
            self._report_hop,
        )

    def expand(
        self,
        seeds: Names,
        hops: int | None = None,
        **options: Unpack[ExpandOptions],
    ) -> SparkExpansion:
        """Return the nodes that are reached from others, as `Graph.expand` does."""
        refuse_unknown(options, ExpandOptions)
        hops, limit = at_most("hops", hops), at_most("limit", options.get("limit"))
        most_edges = at_most("most_edges", options.get("most_edges"))
        nodes, followed = texts_of(seeds), predicates_of(options.get("pred"))
        direction: Direction = options.get("direction", "out")
        emit = options.get("emit", "nodes")

        def begin() -> Walk:
            wanted = EdgesWanted(
                self.reach(direction).fields,
                direction,
                None if followed is None else tuple(followed),
                most_edges,
                all_edges=emit == "edges",
            )
            return Walk(nodes, hops, emit, limit, self.finder(wanted))

        return SparkExpansion(self, direction, begin)


class SparkExpansion:
    """An expansion on Spark: an iterator over the nodes that are reached, level by level.

    `missing`, `unknown`, `truncated` and `capped` are known when it has ended.
    """

    def __init__(
        self, graph: SparkGraph, direction: Direction, begin: Callable[[], Walk]
    ) -> None:
        self._graph = graph
        self._direction = direction
        self._begin = begin
        self._walk: Walk | None = None
        self._steps = self._run()
        self.missing: list[str] = []
        self.unknown: list[str] = []

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Reached | Followed:
        return next(self._steps)

    def _run(self) -> Iterator[Reached | Followed]:
        given = 0
        while True:
            walk = self._walk = self._begin()
            try:
                # These steps came by way of the damaged index already.
                for step in islice(walk.steps(), given, None):
                    given += 1
                    yield step
                self._look_for_what_is_missing(walk)
            except KeyIndexError as error:
                self._graph.give_up(self._direction, error)
            else:
                return

    def _look_for_what_is_missing(self, walk: Walk) -> None:
        wanted = walk.finder.wanted.predicates or ()
        doubts = Doubts(
            frozenset(walk.emitted_seeds) - walk.connected_seeds,
            frozenset(wanted) - walk.predicates,
        )
        if not doubts:
            return
        indexes = self._graph.reach(self._direction).indexes
        if indexes:
            seen = _known(walk.finder.indexes, indexes, self._direction, doubts)
        else:
            seen = walk.finder.seen(doubts)
        nodes, predicates = (
            doubts.nodes - seen.nodes,
            doubts.predicates - seen.predicates,
        )
        self.missing = [seed for seed in walk.emitted_seeds if seed in nodes]
        self.unknown = [pred for pred in wanted if pred in predicates]

    @property
    def truncated(self) -> bool:
        """Whether `limit` left nodes out."""
        return self._walk is not None and self._walk.truncated

    @property
    def capped(self) -> int:
        """How many nodes have more than `most_edges` edges."""
        return 0 if self._walk is None else self._walk.capped


def _index(source: Source, before: int, reach: Reach) -> EdgeIndex:
    """Return what tasks need to reach the edges of a file."""
    placed = absolute(source)
    files = [IndexFile.of(stored) for stored in reach.stored]
    if reach.strategy == "graph":
        return EdgeIndex(placed, before, reach.fields, graph=files[0])
    ends = {
        stored.meta.key[0]: file
        for stored, file in zip(reach.stored, files, strict=True)
    }
    from_, _pred, to = reach.fields
    return EdgeIndex(
        placed, before, reach.fields, from_=ends.get(from_), to=ends.get(to)
    )


def _indexed(reaches: Sequence[Reach], direction: Direction) -> Indexed | None:
    """Add up the counts of indexes."""
    if not reaches:
        return None
    edges, degree = 0, 0.0
    for reach in reaches:
        stored = reach.stored[0]
        if isinstance(stored, store.StoredGraph):
            count, nodes = stored.whole.edges, stored.meta.nodes
        else:
            assert isinstance(stored, keys.Stored)
            count, nodes = stored.whole.records, stored.meta.keys
        edges += count
        degree += count / max(nodes or count, 1)
    ends = 2 if direction == "both" else 1
    return Indexed(edges, round(edges / (degree * ends)) if degree else 0)


def _known(
    indexes: Sequence[EdgeIndex],
    reaches: Sequence[Reach],
    direction: Direction,
    doubts: Doubts,
) -> Doubts:
    """Return which of the doubtful nodes and predicates the indexes have."""
    nodes, unknown = set[str](), set(doubts.predicates)
    for index, reach in zip(indexes, reaches, strict=True):
        try:
            with reading(index.source.location):
                for node in doubts.nodes - nodes:
                    if (
                        edges_of(reach.access, node, direction=direction, most=0)
                        is not None
                    ):
                        nodes.add(node)
                search = reach.access.expand([], predicates=sorted(unknown))
                unknown = set(search.unknown)
        except SidecarError as error:
            raise index.damaged(error) from None
    return Doubts(frozenset(nodes), doubts.predicates - unknown)


def _started(place: Place, tasks: EdgeTasks | None) -> EdgeTasks:
    if tasks is not None:
        return tasks
    with needing_pyspark():
        from headrace.engines.spark.graph.edge_jobs import start
    return start(place)
