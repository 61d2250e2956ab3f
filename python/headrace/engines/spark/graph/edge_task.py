"""Edge tasks: find the edges of nodes by index or by scan.

Nodes are identified by their number in the level, `place`. Edges come in the order in which a
search in one process follows them: by the places of their nodes, and the edges of one node in
the order of the files.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from headrace.engines.rows.fragment import rows_of
from headrace.errors import GraphIndexError, KeyIndexError, SourceNotFoundError
from headrace.kernel.graph import (
    EdgeFields,
    EdgeScan,
    GraphAccess,
    GraphIndex,
    edges_of,
)
from headrace.kernel.key_index import KeyIndex, KeyScan
from headrace.kernel.rows import Decoding, SidecarError, reading
from headrace.store.files.opened import OpenedFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from headrace.kernel.graph import Direction, ScannedEdges
    from headrace.physical.fragment import Fragment
    from headrace.physical.hops import Strategy
    from headrace.store.files.source import Source
    from headrace.store.index.stored_index import AnyStored

X = TypeVar("X", GraphIndex, KeyIndex)

_MAX_LINE = 64 << 20
_MAX_DEPTH = 256
"""The limits of a row that can be an edge, as in an index build."""


class FoundEdge(NamedTuple):
    """An edge of the node at `place`; the rest is as `kernel.graph.Edge` has it."""

    place: int
    pred: str
    node: str
    offset: int
    outgoing: bool


@dataclass(frozen=True, slots=True)
class EdgesWanted:
    """The wanted edges of nodes.

    At most the first `most` of each node, and one more as a sign that it has more. Without
    `all_edges`, only the first edge between two nodes.
    """

    fields: EdgeFields
    direction: Direction
    predicates: tuple[str, ...] | None
    most: int | None
    all_edges: bool


@dataclass(frozen=True, slots=True)
class IndexFile:
    """An index that the driver has verified against its source.

    `stamp` distinguishes it from an index that replaces it.
    """

    path: str
    delta: str | None
    stamp: tuple[int, tuple[str, int, int] | None]

    @classmethod
    def of(cls, stored: AnyStored) -> IndexFile:
        """Return the files of a stored index, for tasks to open."""
        delta = None if stored.delta is None else str(stored.delta.path.absolute())
        index = stored.index
        return cls(str(stored.path.absolute()), delta, (index.build_id, index.delta))

    def open(self, kind: type[X]) -> X:
        """Open the index; raise if it was replaced."""
        try:
            with reading(self.path):
                index = kind(self.path, self.delta)
        except SourceNotFoundError:
            raise SidecarError(self.path, 0, "it was removed") from None
        if (index.build_id, index.delta) != self.stamp:
            raise SidecarError(self.path, 0, "it was replaced meanwhile")
        return index


@dataclass(frozen=True, slots=True)
class EdgeIndex:
    """The indexes of the edges of one file: a graph index, or key indexes of its ends.

    `before` is the number of bytes of the files before it.
    """

    source: Source
    before: int
    fields: EdgeFields
    graph: IndexFile | None = None
    from_: IndexFile | None = None
    to: IndexFile | None = None

    def access(self) -> tuple[GraphAccess, OpenedFile | None]:
        """Open the indexes, and the file if its rows are read."""
        if self.graph is not None:
            return GraphAccess.of_graph(self.graph.open(GraphIndex)), None
        opened = OpenedFile(self.source)
        ends = {"from_index": self.from_, "to_index": self.to}
        indexes = {
            end: file.open(KeyIndex) for end, file in ends.items() if file is not None
        }
        access = GraphAccess.of_keys(self.fields, opened.data, opened.size, **indexes)
        return access, opened

    def damaged(self, error: SidecarError) -> KeyIndexError:
        """Return the error for a damaged index."""
        kind = GraphIndexError if self.graph is not None else KeyIndexError
        file = next(file for file in (self.graph, self.from_, self.to) if file)
        return kind(self.source.location, file.path, "corrupt", error.damage)


@dataclass(frozen=True, slots=True)
class PlacedFragment:
    """A fragment of a file; `before` is the number of bytes of the files before it."""

    fragment: Fragment
    before: int


@dataclass(frozen=True, slots=True)
class Hop:
    """A level of nodes, and the strategy for finding their edges.

    With an index, each task looks up some of the `nodes`; otherwise, each of `tasks` scans.
    """

    strategy: Strategy
    nodes: tuple[str, ...]
    wanted: EdgesWanted
    indexes: tuple[EdgeIndex, ...]
    tasks: tuple[tuple[PlacedFragment, ...], ...]


def by_indexes(
    indexes: Sequence[EdgeIndex], wanted: EdgesWanted, nodes: Sequence[str], first: int
) -> Iterator[FoundEdge]:
    """Yield the edges of nodes, the first of which is at place `first`."""
    most = None if wanted.most is None else wanted.most + 1
    opened = [(index, *_opened(index)) for index in indexes]
    for place, node in enumerate(nodes, first):
        for index, access, file in opened:
            try:
                with reading(index.source.location):
                    found = edges_of(
                        access,
                        node,
                        direction=wanted.direction,
                        predicates=wanted.predicates,
                        most=most,
                    )
            except SidecarError as error:
                raise index.damaged(error) from None
            if file is not None:
                file.check()
            for pred, other, offset, outgoing in found or ():
                yield FoundEdge(place, pred, other, index.before + offset, outgoing)


def _opened(index: EdgeIndex) -> tuple[GraphAccess, OpenedFile | None]:
    try:
        return index.access()
    except SidecarError as error:
        raise index.damaged(error) from None


def by_scan(
    task: Iterable[PlacedFragment], fields: EdgeFields, edge_scan: EdgeScan
) -> Iterator[tuple[int, ScannedEdges]]:
    """Yield edges in the order of rows, with the number of bytes before their file."""
    for placed in task:
        scan = KeyScan(fields.names, max_depth=_MAX_DEPTH, apart=True)
        look = partial(edge_scan.advance, scan=scan)
        rows = rows_of(placed.fragment, _MAX_LINE, Decoding(threads=1))
        while (found := rows.advance(look)) is not None:
            if len(found):
                yield placed.before, found


def thinned(edges: Iterable[FoundEdge], wanted: EdgesWanted) -> Iterator[FoundEdge]:
    """Drop edges that change no result, from edges in order.

    The first edge of each node stays, as a sign that the node has edges.
    """
    if wanted.most is None and wanted.all_edges:
        yield from edges
        return
    place, count, known = -1, 0, set[str]()
    for edge in edges:
        count = count + 1 if edge.place == place else 1
        place = edge.place
        if wanted.most is not None:
            if count <= wanted.most + 1:
                yield edge
        elif count == 1 or edge.node not in known:
            known.add(edge.node)
            yield edge


class Doubts(NamedTuple):
    """Nodes and predicates that may occur in no edge."""

    nodes: frozenset[str]
    predicates: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.nodes or self.predicates)

    def without(self, others: Doubts) -> Doubts:
        """Return the doubts that are not in `others`."""
        return Doubts(self.nodes - others.nodes, self.predicates - others.predicates)


def seen_in(
    task: Sequence[PlacedFragment], fields: EdgeFields, doubts: Doubts
) -> Doubts:
    """Return the nodes and predicates of `doubts` that occur in edges of the fragments."""
    nodes, predicates = set[str](), set[str]()
    if doubts.nodes:
        looked_for = sorted(doubts.nodes)
        edge_scan = EdgeScan(looked_for, direction="both")
        for _before, found in by_scan(task, fields, edge_scan):
            nodes.update(looked_for[at] for at in memoryview(found.places).cast("Q"))
            if len(nodes) == len(looked_for):
                break
    if doubts.predicates:
        edge_scan = EdgeScan(None, predicates=list(doubts.predicates))
        for _before, found in by_scan(task, fields, edge_scan):
            predicates.update(found.predicates.listed())
            if len(predicates) == len(doubts.predicates):
                break
    return Doubts(frozenset(nodes), frozenset(predicates))
