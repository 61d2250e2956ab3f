"""Finding edges with Spark: the only module that knows both graphs and PySpark.

Where an edge goes depends on the edge alone, so that a task that is tried again moves none.
"""

from __future__ import annotations

import pickle
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from headrace.engines.spark.graph.edge_task import (
    FoundEdge,
    by_indexes,
    by_scan,
    seen_in,
    thinned,
)
from headrace.engines.spark.graph.expansion import EdgeTasks
from headrace.engines.spark.session.session import session
from headrace.engines.spark.session.version_guard import SameVersion
from headrace.engines.spark.shuffle.query_frames import numbered
from headrace.engines.spark.tasks.cancel import cancellable
from headrace.engines.spark.tasks.failure_text import in_one_line
from headrace.engines.spark.tasks.run import rows_by_partition, run_each
from headrace.errors import KeyIndexError, SparkFailedError
from headrace.kernel.graph import EdgeSift

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from headrace.engines.spark.graph.edge_task import (
        Doubts,
        EdgesWanted,
        Hop,
        PlacedFragment,
    )
    from headrace.kernel.graph import EdgeFields, SiftedEdges, Texts

_CHUNKS = "task bigint, number bigint, chunk binary"
_ARROW_CHUNKS = pa.schema([("task", "int64"), ("number", "int64"), ("chunk", "binary")])
_EDGE = "task bigint, number bigint, pred string, node string, offset bigint, outgoing boolean"
_OF_NODES = f"place bigint, {_EDGE}"
_OF_ALL = f"id string, {_EDGE}"

_NODES_OF_A_TASK = 8192
_EDGES_OF_A_CHUNK = 8192


def start(master: str) -> EdgeTasks:
    """Start Spark at `master`, and return what finds edges there."""
    spark = session(master, "headrace", {})
    return EdgeTasks(partial(_find, spark), partial(_seen, spark))


def _find(spark: SparkSession, hop: Hop) -> Iterator[Sequence[FoundEdge]]:
    """Yield the edges of a level in their order, some at a time.

    Spark holds them, on disk where there is no room, until they are taken.
    """
    for chunk in _fetched(spark, hop):
        found = pickle.loads(chunk)
        if isinstance(found, KeyIndexError):
            raise found
        yield found


def _fetched(spark: SparkSession, hop: Hop) -> Iterator[bytes]:
    def chunks() -> Iterator[bytes]:
        for (chunk,) in rows_by_partition(spark, _chunks(spark, hop).select("chunk")):
            yield chunk

    try:
        yield from cancellable(spark, chunks)
    except Exception as error:
        raise SparkFailedError(in_one_line(error)) from error


def _seen(
    spark: SparkSession,
    tasks: Sequence[Sequence[PlacedFragment]],
    fields: EdgeFields,
    doubts: Doubts,
) -> Sequence[Doubts]:
    return run_each(spark, Looking(tasks, fields, doubts), len(tasks))


class Looking:
    """What each task looks for."""

    def __init__(
        self,
        tasks: Sequence[Sequence[PlacedFragment]],
        fields: EdgeFields,
        doubts: Doubts,
    ) -> None:
        self._tasks, self._fields, self._doubts = tasks, fields, doubts

    def __call__(self, task: int) -> Doubts:
        """Look for it."""
        return seen_in(self._tasks[task], self._fields, self._doubts)


def _chunks(spark: SparkSession, hop: Hop) -> DataFrame:
    """Return the chunks of a level, in partitions that are in order."""
    if hop.strategy == "index":
        tasks = -(-len(hop.nodes) // _NODES_OF_A_TASK)
        found = numbered(spark, tasks).mapInArrow(ByIndexes(hop, tasks), _CHUNKS)
        if tasks == 1:
            return found
        ordered = found.repartitionById(tasks, F.col("task").cast("int"))
        return ordered.sortWithinPartitions("number")
    count = len(hop.tasks)
    if hop.strategy == "broadcast":
        edges = numbered(spark, count).mapInArrow(OfNodes(hop), _OF_NODES)
    else:
        places = pa.table(
            {
                "id": pa.array(hop.nodes, "string"),
                "place": pa.array(range(len(hop.nodes)), "int64"),
            }
        )
        found = numbered(spark, count).mapInArrow(OfAll(hop), _OF_ALL)
        edges = found.join(spark.createDataFrame(places), "id").drop("id")
    parts = max(min(count, len(hop.nodes) // _NODES_OF_A_TASK), 1)
    part = F.floor(F.col("place") * parts / len(hop.nodes)).cast("int")
    ordered = edges.repartitionById(parts, part)
    ordered = ordered.sortWithinPartitions("place", "task", "number")
    return ordered.mapInArrow(Thinning(hop.wanted), _CHUNKS)


class ByIndexes:
    """The function of tasks that are led to edges; it is sent to them as plain data."""

    def __init__(self, hop: Hop, tasks: int) -> None:
        self._version = SameVersion()  # the first that is unpickled
        self._hop = hop
        self._tasks = tasks

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Give the edges of the nodes of the tasks whose numbers come."""
        hop = self._hop
        for batch in batches:
            for task in batch.column(0).to_pylist():
                first, end = (
                    len(hop.nodes) * at // self._tasks for at in (task, task + 1)
                )
                nodes = hop.nodes[first:end]
                edges = by_indexes(hop.indexes, hop.wanted, nodes, first)
                yield from _in_chunks(task, thinned(edges, hop.wanted))


def _in_chunks(task: int, edges: Iterable[FoundEdge]) -> Iterator[pa.RecordBatch]:
    """Yield edges in chunks; an index that cannot be used is the last of them."""
    left, number = iter(edges), 0
    found: Sequence[FoundEdge] | KeyIndexError
    while True:
        try:
            found = list(islice(left, _EDGES_OF_A_CHUNK))
        except KeyIndexError as error:
            # It would come again; the driver knows another way.
            found = error
        if found == []:
            return
        columns = [[task], [number], [pickle.dumps(found)]]
        yield pa.record_batch(columns, schema=_ARROW_CHUNKS)
        number += 1


_kept: dict[str, EdgeSift] = {}


class OfNodes:
    """The function of tasks that scan for the edges of nodes that they hold."""

    def __init__(self, hop: Hop) -> None:
        self._version = SameVersion()  # the first that is unpickled
        self._hop = hop
        self._name = uuid4().hex

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Give the edges among the rows of the tasks whose numbers come."""
        # The tasks of one process share what they hold.
        if self._name not in _kept:
            _kept.clear()
            _kept[self._name] = _sift(self._hop.nodes, self._hop.wanted)
        hop = self._hop
        yield from _scanned(batches, hop.tasks, hop.wanted, _kept[self._name])


class OfAll:
    """The function of tasks that give all edges that may be wanted."""

    def __init__(self, hop: Hop) -> None:
        self._version = SameVersion()  # the first that is unpickled
        self._tasks, self._wanted = hop.tasks, hop.wanted

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Give the edges among the rows of the tasks whose numbers come."""
        sift = _sift(None, self._wanted)
        yield from _scanned(batches, self._tasks, self._wanted, sift)


def _sift(nodes: Sequence[str] | None, wanted: EdgesWanted) -> EdgeSift:
    return EdgeSift(nodes, predicates=wanted.predicates, direction=wanted.direction)


def _scanned(
    batches: Iterable[pa.RecordBatch],
    tasks: Sequence[Sequence[PlacedFragment]],
    wanted: EdgesWanted,
    sift: EdgeSift,
) -> Iterator[pa.RecordBatch]:
    """Yield the edges that tasks find, with their numbers in these."""
    for batch in batches:
        for task in batch.column(0).to_pylist():
            number = 0
            for before, found in by_scan(tasks[task], wanted.fields, sift):
                yield _columns(task, number, before, found)
                number += len(found)


def _columns(task: int, number: int, before: int, found: SiftedEdges) -> pa.RecordBatch:
    count = len(found)
    offsets = _numbers(found.offsets, pa.int64(), count)
    outgoing = _numbers(found.outgoing, pa.uint8(), count)
    node = (
        {"place": _numbers(found.places, pa.int64(), count)}
        if found.places
        else {"id": _texts(found.ids)}
    )
    columns = {
        **node,
        "task": pa.repeat(pa.scalar(task, "int64"), count),
        "number": pa.array(range(number, number + count), "int64"),
        "pred": _texts(found.predicates),
        "node": _texts(found.nodes),
        "offset": pc.add(offsets, before),
        "outgoing": outgoing.cast("bool"),
    }
    return pa.record_batch(columns)


def _numbers(data: bytes, kind: pa.DataType, count: int) -> pa.Array:
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(data)])


def _texts(texts: Texts) -> pa.Array:
    buffers = [None, *map(pa.py_buffer, texts)]
    return pa.Array.from_buffers(pa.large_string(), len(texts), buffers).cast("string")


class Thinning:
    """The function of tasks that get edges in their order."""

    def __init__(self, wanted: EdgesWanted) -> None:
        self._version = SameVersion()  # the first that is unpickled
        self._wanted = wanted

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Put those that make a difference into chunks."""
        edges = (
            FoundEdge._make(edge)
            for batch in batches
            for edge in zip(
                *(batch.column(name).to_pylist() for name in FoundEdge._fields),
                strict=True,
            )
        )
        yield from _in_chunks(0, thinned(edges, self._wanted))
