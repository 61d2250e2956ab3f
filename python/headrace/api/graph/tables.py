"""Export of graphs to Arrow, networkx and scipy, with all edges in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    import networkx
    import pyarrow
    import scipy.sparse

    from headrace.kernel.graph import (
        EdgeFields,
        GraphColumns,
        LargeTexts,
        ReachedColumns,
    )

_MOST_NODES = 2**31 - 1
"""The largest number of a node in these libraries."""


class GraphMatrix(NamedTuple):
    """Counts of edges between nodes; row and column n are those of ``nodes[n]``."""

    matrix: scipy.sparse.csr_array
    nodes: list[str]


class _Arrow:
    """Makes Arrow arrays of bytes that have their layout already."""

    def __init__(self) -> None:
        try:
            import pyarrow as pa
        except ImportError as error:
            raise MissingExtraError("arrow", "pyarrow") from error
        self.pa = pa

    def texts(self, of: LargeTexts) -> Any:  # noqa: ANN401, pyarrow has no types
        buffers = [None, *map(self.pa.py_buffer, (of.places, of.data))]
        return self.pa.Array.from_buffers(self.pa.large_string(), len(of), buffers)

    def numbers(self, data: bytes, kind: Any, there: bytes | None = None) -> Any:  # noqa: ANN401
        count = len(data) // (kind.bit_width // 8)
        known = None if there is None else self.pa.py_buffer(there)
        return self.pa.Array.from_buffers(kind, count, [known, self.pa.py_buffer(data)])

    def named(self, data: bytes, names: Any, there: bytes | None = None) -> Any:  # noqa: ANN401
        numbers = self.numbers(data, self.pa.int32(), there)
        return self.pa.DictionaryArray.from_arrays(numbers, names)


def as_arrow(columns: GraphColumns, fields: EdgeFields) -> pyarrow.Table:
    """Make a table of edges, with the offset of the row of each."""
    arrow = _Arrow()
    _refuse_too_many(columns)
    nodes = arrow.texts(columns.nodes)
    table = {fields.from_: arrow.named(columns.from_, nodes)}
    if fields.pred is not None:
        table[fields.pred] = arrow.named(columns.pred, arrow.texts(columns.predicates))
    table[fields.to] = arrow.named(columns.to, nodes)
    table["offset"] = arrow.numbers(columns.offset, arrow.pa.int64())
    return arrow.pa.table(list(table.values()), names=list(table))


def reached_as_arrow(columns: ReachedColumns) -> pyarrow.Table:
    """Make a table of nodes that were reached."""
    arrow = _Arrow()
    predicates = arrow.texts(columns.predicates)
    table = {
        "node": arrow.texts(columns.nodes),
        "level": arrow.numbers(columns.level, arrow.pa.int32()),
        "via": arrow.named(columns.via, predicates, columns.led),
    }
    return arrow.pa.table(list(table.values()), names=list(table))


def as_networkx(columns: GraphColumns, fields: EdgeFields) -> networkx.MultiDiGraph:
    """Make a graph in which edges have `pred` and `offset`."""
    try:
        import networkx as nx
    except ImportError as error:
        raise MissingExtraError("networkx", "networkx") from error
    nodes, predicates = columns.nodes.listed(), columns.predicates.listed()
    starts, kinds, ends = (
        memoryview(column).cast("I")
        for column in (columns.from_, columns.pred, columns.to)
    )
    places = memoryview(columns.offset).cast("Q")
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(nodes)
    for start, kind, end, offset in zip(starts, kinds, ends, places, strict=True):
        predicate = {} if fields.pred is None else {"pred": predicates[kind]}
        graph.add_edge(nodes[start], nodes[end], **predicate, offset=offset)
    return graph


def as_scipy(columns: GraphColumns) -> GraphMatrix:
    """Make a sparse matrix of how many edges there are."""
    try:
        import numpy as np
        import scipy.sparse as sp
    except ImportError as error:
        raise MissingExtraError("scipy", "scipy") from error
    _refuse_too_many(columns)
    rows, cols = (
        np.frombuffer(column, np.int32) for column in (columns.from_, columns.to)
    )
    size = len(columns.nodes)
    ones: Any = np.ones(len(rows), np.int64)
    matrix = sp.coo_array((ones, (rows, cols)), shape=(size, size)).tocsr()
    return GraphMatrix(matrix, columns.nodes.listed())


def _refuse_too_many(columns: GraphColumns) -> None:
    if len(columns.nodes) > _MOST_NODES:
        raise UsageError(
            f"{len(columns.nodes)} nodes are more than there are numbers for; use expand"
        )
