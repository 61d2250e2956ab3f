"""The edges of some nodes among rows, in our words.

`EdgeSift` is the core's own class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace._native import EdgeSift
from headrace.kernel.graph_columns import Texts

if TYPE_CHECKING:
    from headrace.kernel.key_index import KeyScan
    from headrace.kernel.rows import RowStream

__all__ = ["EdgeSift", "SiftedEdges", "sifted"]


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
