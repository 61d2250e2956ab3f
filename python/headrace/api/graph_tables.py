"""Graphs as others have them: Arrow, networkx, scipy. All edges are held in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    import networkx
    import pyarrow
    import scipy.sparse

    from headrace.kernel.graph import EdgeFields
    from headrace.kernel.graph_columns import GraphColumns, Texts

_MOST_NODES = 2**31 - 1
"""What others have room for in the numbers of nodes."""


class GraphMatrix(NamedTuple):
    """How many edges go from each node to each; row and column n are those of ``nodes[n]``."""

    matrix: scipy.sparse.csr_array
    nodes: list[str]


def as_arrow(columns: GraphColumns, fields: EdgeFields) -> pyarrow.Table:
    """Make a table of edges, with the place of the row of each."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtraError("arrow", "pyarrow") from error
    _refuse_too_many(columns)

    def texts(of: Texts) -> Any:  # noqa: ANN401, pyarrow has no types
        buffers = [None, *map(pa.py_buffer, of)]
        return pa.Array.from_buffers(pa.large_string(), len(of), buffers)

    def numbers(data: bytes, kind: Any) -> Any:  # noqa: ANN401
        count = len(data) // (kind.bit_width // 8)
        return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(data)])

    def named(data: bytes, names: Any) -> Any:  # noqa: ANN401
        return pa.DictionaryArray.from_arrays(numbers(data, pa.int32()), names)

    nodes = texts(columns.nodes)
    table = {fields.from_: named(columns.from_, nodes)}
    if fields.pred is not None:
        table[fields.pred] = named(columns.pred, texts(columns.predicates))
    table[fields.to] = named(columns.to, nodes)
    table["offset"] = numbers(columns.offset, pa.int64())
    return pa.table(list(table.values()), names=list(table))


def as_networkx(columns: GraphColumns, fields: EdgeFields) -> networkx.MultiDiGraph:
    """Make a graph in which edges have `pred` and `offset`."""
    try:
        import networkx as nx
    except ImportError as error:
        raise MissingExtraError("networkx", "networkx") from error
    nodes, predicates = columns.nodes.listed(), columns.predicates.listed()
    starts, kinds, ends = (memoryview(column).cast("I") for column in columns[2:5])
    places = memoryview(columns.offset).cast("Q")
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(nodes)
    for start, kind, end, offset in zip(starts, kinds, ends, places, strict=True):
        said = {} if fields.pred is None else {"pred": predicates[kind]}
        graph.add_edge(nodes[start], nodes[end], **said, offset=offset)
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
