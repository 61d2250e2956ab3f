"""Graph expansion with Spark, level by level: tasks find edges, the driver follows them.

The driver keeps only the reached nodes. It receives the edges of a level in the order in which a
search in one process (`crates/headrace-core/src/graph/expand.rs`) follows them, so the result is
the same. Every level begins with the driver's nodes, so no level depends on the tasks of another.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from headrace.engines.spark.graph.edge_task import (
    Doubts,
    EdgeIndex,
    EdgesWanted,
    FoundEdge,
    Hop,
    PlacedFragment,
)
from headrace.engines.spark.source.partitions import absolute, packed
from headrace.kernel.graph import EdgeFields, Followed, Reached
from headrace.physical.fragment import Fragment, fragments
from headrace.physical.hops import HopChoice, Indexed, choose
from headrace.store.files.source import Source

Emit: TypeAlias = Literal["nodes", "edges", "tree"]


@dataclass(frozen=True, slots=True)
class EdgeTasks:
    """The functions that run tasks: `find` yields the edges of a level in order, in batches.

    `seen` searches the fragments of each task for doubts; it returns one result per task.
    """

    find: Callable[[Hop], Iterator[Sequence[FoundEdge]]]
    seen: Callable[
        [Sequence[Sequence[PlacedFragment]], EdgeFields, Doubts], Sequence[Doubts]
    ]


@dataclass(slots=True)
class EdgeFinder:
    """Finds the edges of nodes, with the cheapest strategy for each level.

    `start` starts Spark when it is needed. `tell` receives each level, its number of nodes
    and its strategy. `sizes` are the decoded sizes of the files.
    """

    sources: Sequence[Source]
    sizes: Sequence[int]
    wanted: EdgesWanted
    indexes: Sequence[EdgeIndex]
    indexed: Indexed | None
    partition_bytes: int
    start: Callable[[], EdgeTasks]
    tell: Callable[[int, int, HopChoice], None]
    _tasks: EdgeTasks | None = None

    def of(self, nodes: Sequence[str], level: int) -> Iterator[FoundEdge]:
        """Yield the edges of nodes that are `level` edges away."""
        choice = choose(len(nodes), self.indexed)
        self.tell(level, len(nodes), choice)
        scans = choice.strategy != "index"
        hop = Hop(
            choice.strategy,
            tuple(nodes),
            self.wanted,
            () if scans else tuple(self.indexes),
            self._scans() if scans else (),
        )
        for some in self._started().find(hop):
            yield from some

    def seen(self, doubts: Doubts) -> Doubts:
        """Return the nodes and predicates of `doubts` that occur in an edge."""
        found = self._started().seen(self._scans(), self.wanted.fields, doubts)
        nodes = frozenset[str]().union(*(each.nodes for each in found))
        predicates = frozenset[str]().union(*(each.predicates for each in found))
        return Doubts(nodes, predicates)

    def _started(self) -> EdgeTasks:
        if self._tasks is None:
            self._tasks = self.start()
        return self._tasks

    def _scans(self) -> tuple[tuple[PlacedFragment, ...], ...]:
        """Return the fragments of each task, in the order of the files."""
        cut, bases, before = list[Fragment](), list[int](), 0
        for source, size in zip(self.sources, self.sizes, strict=True):
            parts = fragments(absolute(source), self.partition_bytes)
            cut += parts
            bases += [before] * len(parts)
            before += size
        left = iter(bases)
        return tuple(
            tuple(PlacedFragment(fragment, next(left)) for fragment in task)
            for task in packed(cut, self.partition_bytes)
        )


@dataclass(slots=True)
class Walk:
    """A breadth-first search from the seeds; its counts are complete when `steps` has ended."""

    seeds: Iterable[str]
    hops: int | None
    emit: Emit
    limit: int | None
    finder: EdgeFinder
    truncated: bool = False
    capped: int = 0
    emitted_seeds: list[str] = field(default_factory=list)
    """The seeds that were returned."""
    predicates: set[str] = field(default_factory=set)
    """The predicates of the followed edges."""
    connected_seeds: set[str] = field(default_factory=set)
    """The seeds of which an edge was followed."""
    _reached: dict[str, int] = field(default_factory=dict)

    def steps(self) -> Iterator[Reached | Followed]:
        """Yield reached nodes and followed edges; an edge comes before the node that it leads to."""
        for seed in self.seeds:
            if seed in self._reached:
                continue
            if not self._has_room():
                return
            self._reach(seed)
            self.emitted_seeds.append(seed)
            yield Reached(seed, 0, None)
        level, nodes = 0, self.emitted_seeds
        while nodes and level != self.hops and not self.truncated:
            further: list[str] = []
            yield from self._level(nodes, level, further)
            level, nodes = level + 1, further

    def _level(
        self, nodes: Sequence[str], level: int, further: list[str]
    ) -> Iterator[Reached | Followed]:
        """Follow the edges of a level; append the new nodes to `further`."""
        first = len(self._reached) - len(nodes)
        for edge in self._within_bounds(self.finder.of(nodes, level)):
            node, here = edge.node, first + edge.place
            known = self._reached.get(node)
            if known is None and not self._has_room():
                return
            if level == 0:
                self.connected_seeds.add(nodes[edge.place])
            if self._emits(known, here):
                ends = (nodes[edge.place], node)
                from_, to = ends if edge.outgoing else ends[::-1]
                leads = known is None
                yield Followed(from_, edge.pred, to, edge.offset, leads=leads)
            if known is None:
                self._reach(node)
                further.append(node)
                yield Reached(node, level + 1, edge.pred)

    def _within_bounds(self, edges: Iterable[FoundEdge]) -> Iterator[FoundEdge]:
        """Yield the first edges of each node; count the nodes with more edges in `capped`."""
        most, place, count = self.finder.wanted.most, -1, 0
        for edge in edges:
            count = count + 1 if edge.place == place else 1
            place = edge.place
            if most is None or count <= most:
                self.predicates.add(edge.pred)
                yield edge
            elif count == most + 1:
                self.capped += 1

    def _emits(self, known: int | None, here: int) -> bool:
        match self.emit:
            case "nodes":
                return False
            case "tree":
                return known is None
            case "edges":
                # The edge was already followed from its other end, if that node came earlier.
                both = self.finder.wanted.direction == "both"
                return not (both and known is not None and known < here)

    def _has_room(self) -> bool:
        """Whether the limit allows one more node; otherwise mark the result as truncated."""
        self.truncated = self.truncated or len(self._reached) == self.limit
        return not self.truncated

    def _reach(self, node: str) -> None:
        self._reached[node] = len(self._reached)
