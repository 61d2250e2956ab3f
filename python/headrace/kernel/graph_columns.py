"""Edges of a graph, and what is reached along them, in memory."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from headrace._native import graph_columns, reached_columns

if TYPE_CHECKING:
    from headrace.kernel.graph import GraphExpansion, GraphIndex


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
