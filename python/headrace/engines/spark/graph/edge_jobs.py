"""Spark jobs that find edges: the only module that imports both graphs and PySpark.

The partition of an edge depends on the edge alone, so a retried task moves no edge.
"""

from __future__ import annotations

import pickle
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812, the usual name

from headrace.engines.spark.graph.edge_task import (
    FoundEdge,
    by_indexes,
    by_scan,
    seen_in,
    thinned,
)
from headrace.engines.spark.graph.expansion import EdgeTasks
from headrace.engines.spark.session.session import session_at
from headrace.engines.spark.tasks.jobs import (
    NumberedTask,
    Task,
    job_rows,
    numbered,
    rows_by_partition,
    run_each,
    shared,
)
from headrace.errors import KeyIndexError
from headrace.kernel.graph import EdgeScan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from headrace.engines.spark.graph.edge_task import (
        Doubts,
        EdgesWanted,
        Hop,
        PlacedFragment,
    )
    from headrace.engines.spark.session.master import Place
    from headrace.kernel.graph import EdgeFields, LargeTexts, ScannedEdges

_CHUNKS = "task bigint, number bigint, chunk binary"
_ARROW_CHUNKS = pa.schema([("task", "int64"), ("number", "int64"), ("chunk", "binary")])
_EDGE = "task bigint, number bigint, pred string, node string, offset bigint, outgoing boolean"
_OF_NODES = f"place bigint, {_EDGE}"
_OF_ALL = f"id string, {_EDGE}"

_NODES_OF_A_TASK = 8192
_EDGES_OF_A_CHUNK = 8192


def start(place: Place) -> EdgeTasks:
    """Return the jobs that find edges, in the session of a place, which may have to start."""
    spark = session_at(place)
    return EdgeTasks(partial(_find, spark), partial(_seen, spark))


def _find(spark: SparkSession, hop: Hop) -> Iterator[Sequence[FoundEdge]]:
    """Yield the edges of a level in order, in batches.

    Spark keeps them until they are fetched, on disk if memory is short.
    """

    def chunks() -> Iterator[bytes]:
        for (chunk,) in rows_by_partition(spark, _chunks(spark, hop).select("chunk")):
            yield chunk

    for chunk in job_rows(spark, chunks):
        found = pickle.loads(chunk)
        if isinstance(found, KeyIndexError):
            raise found
        yield found


def _seen(
    spark: SparkSession,
    tasks: Sequence[Sequence[PlacedFragment]],
    fields: EdgeFields,
    doubts: Doubts,
) -> Sequence[Doubts]:
    return run_each(spark, partial(_seen_by, tasks, fields, doubts), len(tasks))


def _seen_by(
    tasks: Sequence[Sequence[PlacedFragment]],
    fields: EdgeFields,
    doubts: Doubts,
    task: int,
) -> Doubts:
    return seen_in(tasks[task], fields, doubts)


def _chunks(spark: SparkSession, hop: Hop) -> DataFrame:
    """Return the chunks of a level, in ordered partitions."""
    if hop.strategy == "index":
        tasks = -(-len(hop.nodes) // _NODES_OF_A_TASK)
        look_up = NumberedTask(look_up_edges, (hop, tasks))
        found = numbered(spark, tasks).mapInArrow(look_up, _CHUNKS)
        if tasks == 1:
            return found
        ordered = found.repartitionById(tasks, F.col("task").cast("int"))
        return ordered.sortWithinPartitions("number")
    count, job = len(hop.tasks), uuid4().hex
    if hop.strategy == "broadcast":
        scan = NumberedTask(scan_edges, (hop.nodes, hop.tasks, hop.wanted, job))
        edges = numbered(spark, count).mapInArrow(scan, _OF_NODES)
    else:
        places = pa.table(
            {
                "id": pa.array(hop.nodes, "string"),
                "place": pa.array(range(len(hop.nodes)), "int64"),
            }
        )
        scan = NumberedTask(scan_edges, (None, hop.tasks, hop.wanted, job))
        found = numbered(spark, count).mapInArrow(scan, _OF_ALL)
        edges = found.join(spark.createDataFrame(places), "id").drop("id")
    parts = max(min(count, len(hop.nodes) // _NODES_OF_A_TASK), 1)
    part = F.floor(F.col("place") * parts / len(hop.nodes)).cast("int")
    ordered = edges.repartitionById(parts, part)
    ordered = ordered.sortWithinPartitions("place", "task", "number")
    return ordered.mapInArrow(Task(thin_edges, (hop.wanted,)), _CHUNKS)


def look_up_edges(hop: Hop, tasks: int, task: int) -> Iterator[pa.RecordBatch]:
    """Yield the edges of one task's share of the nodes, found by indexes."""
    first, end = (len(hop.nodes) * at // tasks for at in (task, task + 1))
    edges = by_indexes(hop.indexes, hop.wanted, hop.nodes[first:end], first)
    return _in_chunks(task, thinned(edges, hop.wanted))


def _in_chunks(task: int, edges: Iterable[FoundEdge]) -> Iterator[pa.RecordBatch]:
    """Yield edges in chunks; the error of an unusable index is the last chunk."""
    left, number = iter(edges), 0
    found: Sequence[FoundEdge] | KeyIndexError
    while True:
        try:
            found = list(islice(left, _EDGES_OF_A_CHUNK))
        except KeyIndexError as error:
            # A retry would fail again; the driver scans instead.
            found = error
        if found == []:
            return
        columns = [[task], [number], [pickle.dumps(found)]]
        yield pa.record_batch(columns, schema=_ARROW_CHUNKS)
        number += 1


def scan_edges(
    nodes: Sequence[str] | None,
    tasks: Sequence[Sequence[PlacedFragment]],
    wanted: EdgesWanted,
    job: str,
    task: int,
) -> Iterator[pa.RecordBatch]:
    """Yield the edges of `nodes`, or all edges if None, in the fragments of one task, numbered."""
    predicates, direction = wanted.predicates, wanted.direction
    edge_scan = shared(
        job, lambda: EdgeScan(nodes, predicates=predicates, direction=direction)
    )
    number = 0
    for before, found in by_scan(tasks[task], wanted.fields, edge_scan):
        yield _columns(task, number, before, found)
        number += len(found)


def _columns(
    task: int, number: int, before: int, found: ScannedEdges
) -> pa.RecordBatch:
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


def _texts(texts: LargeTexts) -> pa.Array:
    buffers = [None, pa.py_buffer(texts.places), pa.py_buffer(texts.data)]
    return pa.Array.from_buffers(pa.large_string(), len(texts), buffers).cast("string")


def thin_edges(
    wanted: EdgesWanted, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield chunks of edges in order, without those that change no result."""
    edges = (
        FoundEdge._make(edge)
        for batch in batches
        for edge in zip(
            *(batch.column(name).to_pylist() for name in FoundEdge._fields),
            strict=True,
        )
    )
    return _in_chunks(0, thinned(edges, wanted))
