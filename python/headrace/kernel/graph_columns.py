"""All edges of a graph index, in memory."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from headrace._native import graph_columns

if TYPE_CHECKING:
    from headrace.kernel.graph import GraphIndex


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
