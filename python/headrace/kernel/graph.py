"""Graph indexes, in our words.

`GraphAccess`, `GraphExpansion`, `GraphIndex` and `GraphRuns` are the core's own classes. What
an edge is, and the format of the file: docs/formats/graph-index.md.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from headrace._native import (
    EdgeSift,
    GraphAccess,
    GraphExpansion,
    GraphIndex,
    GraphRuns,
    graph_columns,
    reached_columns,
    write_graph_index,
)
from headrace.errors import UsageError
from headrace.kernel.index_meta import IndexMeta, Lines, MadeOf, said_of_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from headrace.kernel.key_index import KeyScan
    from headrace.kernel.rows import RowStream


class Texts(NamedTuple):
    """Texts as Arrow has them: the places at which they begin, and at last end; their bytes."""

    places: bytes
    data: bytes

    def listed(self) -> list[str]:
        """Return the texts one by one."""
        places = memoryview(self.places).cast("q").tolist()
        return [self.data[start:end].decode() for start, end in pairwise(places)]

    def __len__(self) -> int:
        return len(self.places) // 8 - 1


class GraphColumns(NamedTuple):
    """Edges in file order, as numbers of 32 bits, and the places of rows as those of 64.

    Nodes and predicates have numbers in the order in which edges first have them.
    """

    nodes: Texts
    predicates: Texts
    from_: bytes
    pred: bytes
    to: bytes
    offset: bytes


def columns_of(index: GraphIndex) -> GraphColumns:
    """Take all edges of an index."""
    nodes, predicates, *edges = graph_columns(index)
    return GraphColumns(Texts(*nodes), Texts(*predicates), *edges)


class ReachedColumns(NamedTuple):
    """Nodes in the order in which they are reached, numbers of 32 bits.

    `via` are numbers among `predicates`; `led` has a bit for each node to which an edge led.
    """

    nodes: Texts
    level: bytes
    predicates: Texts
    via: bytes
    led: bytes


def reached_of(expansion: GraphExpansion) -> ReachedColumns:
    """Take all nodes that an expansion comes upon."""
    nodes, level, predicates, via, led = reached_columns(expansion)
    return ReachedColumns(Texts(*nodes), level, Texts(*predicates), via, led)


__all__ = [
    "Degrees",
    "Direction",
    "Edge",
    "EdgeFields",
    "EdgeSift",
    "Followed",
    "GraphAccess",
    "GraphExpansion",
    "GraphIndex",
    "GraphMeta",
    "GraphPlan",
    "GraphRuns",
    "GraphStats",
    "GraphWritten",
    "Reached",
    "SiftedEdges",
    "edges_of",
    "meta_of",
    "sifted",
    "stats_of",
    "steps",
    "write_index",
]

Direction: TypeAlias = Literal["out", "in", "both"]


class EdgeFields(NamedTuple):
    """The fields of a row that make it an edge. Without `pred`, all say the same: nothing."""

    from_: str
    pred: str | None
    to: str

    @property
    def names(self) -> tuple[str, ...]:
        """Those there are, in order.

        >>> EdgeFields("from", None, "to").names
        ('from', 'to')
        """
        return tuple(name for name in self if name is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphMeta(IndexMeta):
    """What a graph index is of.

    How many `nodes` and `predicates` a base and its delta have together is not in the files.
    """

    fields: EdgeFields
    reverse: bool
    edges: int
    nodes: int | None
    predicates: int | None


def meta_of(text: str) -> GraphMeta:
    """Return what an index is of, from what it says."""
    found = said_of_source(json.loads(text))
    fields = EdgeFields(found.pop("from"), found.pop("pred"), found.pop("to"))
    return GraphMeta(fields=fields, **found)


def lines_of(index: GraphIndex) -> Lines:
    """Return what lines an index was made of, with its delta if it has one."""
    meta = meta_of(index.meta)
    if index.delta is None:
        return meta.lines
    return meta.covered_lines.plus(meta_of(index.delta[0]).lines)


class GraphPlan(NamedTuple):
    """What index is to be written; see `key_index.Plan`."""

    fields: EdgeFields
    reverse: bool
    version: int | None
    memory: int
    lines: Lines
    made_of: MadeOf
    hashes: Sequence[int]


class GraphWritten(NamedTuple):
    """An index that was written; `why` it has not the version that is usual."""

    version: int
    why: str | None
    edges: int
    nodes: int
    predicates: int
    size: int


def write_index(
    runs: Sequence[GraphRuns],
    path: Path,
    plan: GraphPlan,
    *,
    source: str,
    base: GraphIndex | None = None,
) -> GraphWritten:
    """Write the index of what is in `runs` to the empty file `path`; with `base`, its delta."""
    match write_graph_index(runs, path, **plan._asdict(), base=base):
        case ("written", version, why, edges, nodes, predicates, size):
            return GraphWritten(version, why, edges, nodes, predicates, size)
        case ("no_room", why):
            advice = "let the version be chosen" if plan.version else "split the file"
            raise UsageError(
                f"{source}: the index has no room for it ({why}); {advice}"
            )


class Edge(NamedTuple):
    """An edge, seen from one of its ends.

    `node` is the other one, `offset` where its row begins, and `outgoing` whether it is
    followed in its own direction.
    """

    pred: str
    node: str
    offset: int
    outgoing: bool


def edges_of(
    access: GraphAccess,
    node: str,
    *,
    direction: Direction = "out",
    predicates: Sequence[str] | None = None,
    most: int | None = None,
) -> list[Edge] | None:
    """Return the edges of a node in file order; None if there is no such node."""
    found = access.edges(node, direction=direction, predicates=predicates, most=most)
    return None if found is None else [Edge(*edge) for edge in found]


class Reached(NamedTuple):
    """A node that was reached, `level` edges away, first along an edge that says `via`."""

    node: str
    level: int
    via: str | None


class Followed(NamedTuple):
    """An edge that was followed; `leads` if a node was reached along it for the first time."""

    from_: str
    pred: str
    to: str
    offset: int
    leads: bool


_STEPS = 1 << 15
"""How many steps are made before Python sees them."""


def steps(expansion: GraphExpansion) -> Iterator[Reached | Followed]:
    """Yield what an expansion comes upon; an edge comes before the node that it leads to."""
    most = 64
    while some := expansion.advance(most):
        most = _STEPS
        for step in some:
            yield Reached(*step) if len(step) == 3 else Followed(*step)


class Degrees(NamedTuple):
    """How many nodes have how many edges.

    `none`: without one. `powers`: with 1, with 2 or 3, with 4 to 7, and so on. `most` are
    those of the node `most_node`.
    """

    none: int
    powers: list[int]
    most: int
    most_node: str


class GraphStats(NamedTuple):
    """What a graph is like; `loops` are edges from a node to itself."""

    nodes: int
    edges: int
    loops: int
    predicates: dict[str, int]
    out: Degrees
    in_: Degrees
    components: int
    largest_component: int


def stats_of(index: GraphIndex) -> GraphStats:
    """Look at all edges of an index."""
    counts, predicates, out, incoming, components, largest = index.stats()
    return GraphStats(
        *counts,
        dict(predicates),
        Degrees(*out),
        Degrees(*incoming),
        components,
        largest,
    )


class SiftedEdges(NamedTuple):
    """Edges in the order of the rows, each seen from a node that was wanted.

    Nodes are `places`, of 64 bits, or where all are wanted, `ids`. `nodes` are the other ends,
    `offsets` of 64 bits say where rows begin, and of `outgoing` each byte is 1 or 0.
    """

    places: bytes
    ids: Texts
    predicates: Texts
    nodes: Texts
    offsets: bytes
    outgoing: bytes

    def __len__(self) -> int:
        return len(self.outgoing)


def sifted(sift: EdgeSift, scan: KeyScan, stream: RowStream) -> SiftedEdges | None:
    """Return the edges among the next thousands of rows; None behind the last."""
    found = sift.advance(stream, scan)
    if found is None:
        return None
    places, ids, predicates, nodes, offsets, outgoing = found
    return SiftedEdges(
        places, Texts(*ids), Texts(*predicates), Texts(*nodes), offsets, outgoing
    )
