"""Shuffles of query elements: tasks before a shuffle and behind it.

Before it, tasks make elements with keys; behind it, they put elements into chunks for the
driver.
"""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from headrace.engines.spark.query.task import CHUNK_BYTES, TaskRun
from headrace.engines.spark.query.task_query import (
    Chunk,
    GroupShuffle,
    JoinShuffle,
    MergeShuffle,
    SortShuffle,
    TaskQuery,
    UniqueShuffle,
)
from headrace.engines.spark.shuffle.finish_task import ChunkMaker, Element
from headrace.engines.spark.shuffle.frames import (
    SCHEMA,
    first_of_each_key,
    grouped_lines,
    joined_lines,
    sorted_lines,
)
from headrace.engines.spark.shuffle.group_task import (
    GroupMaker,
    GroupMerger,
    Member,
    Piece,
)
from headrace.engines.spark.shuffle.stage_task import (
    JoinElements,
    integers,
    keyed_columns,
    made_schema,
    pass_stages,
    texts,
)
from headrace.engines.spark.tasks.jobs import NumberedTask, Task, numbered, shared
from headrace.kernel.programs import SiftedRow
from headrace.kernel.values import DEEPEST
from headrace.physical.query_plan import GroupPlan, PlainStage, StreamPlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from headrace.physical.fragment import Fragment

_PLACE = ("fragment", "row", "offset")
_KEYED = ", ".join([SCHEMA, *(f"{name} bigint" for name in _PLACE)])
_ELEMENT = ("task", "number", *_PLACE)
_FAILURE = ("reason", "column", "at")
_ARROW_GROUPED = pa.schema(
    [
        ("stage", "int32"),
        ("task", "int64"),
        ("number", "int64"),
        ("place", "int64"),
        ("text", "binary"),
        ("failure", "binary"),
    ]
)
_MOST_PIECES = 10_000
_CHUNKS = "task bigint, chunk binary"
_ARROW_CHUNKS = pa.schema([("task", "int64"), ("chunk", "binary")])


def shuffled(
    spark: SparkSession, query: TaskQuery, tasks: Sequence[Sequence[Fragment]]
) -> DataFrame:
    """Return the frame of the chunks of a shuffle, in their order."""
    if isinstance(query.shuffle, MergeShuffle):
        grouped = (replace(query, output="groups"), tasks, uuid4().hex)
        parts = numbered(spark, len(tasks)).mapInArrow(
            NumberedTask(partial_groups, grouped), SCHEMA
        )
        merging = Task(merge_groups, (query, query.shuffle))
        merged = grouped_lines(parts, merging, query.shuffle.buckets)
        return merged.mapInArrow(chunks_of_pieces, _CHUNKS)
    keyed = _keyed(spark, query, tasks)
    match query.shuffle:
        case SortShuffle(bounds):
            lines = keyed.select("task", "number", "key", "line")
            ordered = sorted_lines(lines, bounds)
            return ordered.select("line").mapInArrow(chunks_of_lines, _CHUNKS)
        case UniqueShuffle(buckets, behind):
            firsts = first_of_each_key(keyed, buckets, tasks=len(tasks))
            if behind is None:
                return firsts.mapInArrow(chunks_of_rows, _CHUNKS)
            stages = (_codes(behind), DEEPEST, query.known, _ELEMENT)
            # No element moves to another partition here.
            passed = firsts.mapInArrow(Task(pass_stages, stages), made_schema(_ELEMENT))
            return passed.mapInArrow(Task(finish_elements, (query, behind)), _CHUNKS)
        case JoinShuffle(join, other, other_tasks, buckets, behind):
            others = _keyed(spark, other, other_tasks)
            joining = JoinElements(
                join.kind,
                join.key,
                join.right_key,
                join.name,
                query.options.max_memory,
                DEEPEST,
                query.known,
                _ELEMENT,
                () if behind is None else _codes(behind),
            )
            joined = joined_lines(
                keyed, others.drop(*_PLACE), joining, buckets, tasks=len(tasks)
            )
            if behind is None:
                return joined.mapInArrow(chunks_of_rows, _CHUNKS)
            return joined.mapInArrow(Task(finish_elements, (query, behind)), _CHUNKS)
        case GroupShuffle(plan, buckets):
            grouping = Task(make_groups, (query, plan))
            lines = keyed.select("task", "number", "key", "line")
            made = grouped_lines(lines, grouping, buckets)
            return made.mapInArrow(chunks_of_pieces, _CHUNKS)
        case MergeShuffle() | None:
            raise AssertionError("no elements are shuffled")


def _codes(plan: StreamPlan) -> tuple[bytes, ...]:
    """Return the programs of stages that are all local to an element."""
    plain = [stage for stage in plan.stages if isinstance(stage, PlainStage)]
    return tuple(stage.code for stage in plain if stage.code is not None)


def _keyed(
    spark: SparkSession, query: TaskQuery, tasks: Sequence[Sequence[Fragment]]
) -> DataFrame:
    keying = NumberedTask(key_elements, (query, tasks, uuid4().hex))
    return numbered(spark, len(tasks)).mapInArrow(keying, _KEYED)


def key_elements(
    query: TaskQuery, tasks: Sequence[Sequence[Fragment]], job: str, task: int
) -> Iterator[pa.RecordBatch]:
    """Yield the elements of one task with their keys, before a shuffle."""
    run = shared(job, lambda: TaskRun(query))
    before = 0
    for fragment, first, keyed in run.keyed(tasks, task):
        length = keyed.length
        offsets = [None, pa.py_buffer(keyed.offsets)]
        columns = {
            **keyed_columns(task, before, keyed),
            "fragment": pa.repeat(pa.scalar(fragment, "int64"), length),
            "row": pc.add(integers(keyed.positions, length).cast("int64"), first),
            "offset": pa.Array.from_buffers(pa.int64(), length, offsets),
        }
        placed = pa.record_batch(columns)
        if not query.form.nulls:
            placed = placed.filter(pc.not_equal(placed.column("line"), b"null"))
        yield placed
        before += length


def chunks_of_lines(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Put lines into chunks, in their order."""
    for batch in batches:
        if batch.num_rows:
            lines = b"\n".join([*batch.column("line").to_pylist(), b""])
            yield _chunk(0, Chunk(0, 0, lines=lines))


def finish_elements(
    query: TaskQuery, behind: StreamPlan, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Make chunks of elements behind a shuffle and the stages of `pass_stages`."""
    finishing = ChunkMaker(query, behind)
    names = ("task", *_PLACE, "line", *_FAILURE)
    for batch in batches:
        elements = map(Element._make, _rows(batch, names))
        for task, chunk in finishing.chunks(elements):
            yield _chunk(task, chunk)


def make_groups(
    query: TaskQuery, plan: GroupPlan, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Make pieces of the groups of elements that are sorted by their keys."""
    members = (member for batch in batches for member in _members(batch))
    held, size = list[Piece](), 0
    for piece in GroupMaker(query, plan).pieces(members):
        held.append(piece)
        size += len(piece.text)
        if len(held) >= _MOST_PIECES or size >= CHUNK_BYTES:
            yield _pieces(held)
            held, size = [], 0
    yield _pieces(held)


def _rows(batch: pa.RecordBatch, names: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    return zip(*(batch.column(name).to_pylist() for name in names), strict=True)


def _members(batch: pa.RecordBatch) -> list[Member]:
    return list(map(Member._make, _rows(batch, Member._fields)))


def _pieces(pieces: Sequence[Piece]) -> pa.RecordBatch:
    rows = [
        each._asdict() | {"failure": each.failure and pickle.dumps(each.failure)}
        for each in pieces
    ]
    return pa.RecordBatch.from_pylist(rows, schema=_ARROW_GROUPED)


def partial_groups(
    query: TaskQuery, tasks: Sequence[Sequence[Fragment]], job: str, task: int
) -> Iterator[pa.RecordBatch]:
    """Yield the groups of the rows of one task, before a shuffle."""
    run = shared(job, lambda: TaskRun(query))
    for before, groups in run.groups(tasks[task]):
        count = len(groups.firsts) // 8
        firsts = pa.Array.from_buffers(
            pa.int64(), count, [None, pa.py_buffer(groups.firsts)]
        )
        yield pa.record_batch(
            {
                "task": pa.repeat(pa.scalar(task, "int64"), count),
                "number": pc.add(firsts, before),
                "key": texts(groups.names, count),
                "line": texts(groups.parts, count),
            }
        )


def merge_groups(
    query: TaskQuery, shuffle: MergeShuffle, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Make pieces of the merged groups of a partition, which are sorted by names and places."""
    merger, open_name = GroupMerger(query, shuffle), None
    for batch in batches:
        if not batch.num_rows:
            continue
        names = batch.column("key")
        # The last group may go on in the next batch.
        last = pc.index(names, names[-1]).as_py()
        if last or names[0].as_py() != open_name:
            merger.merge(_members(batch.slice(0, last)))
            yield _pieces(merger.take())
        merger.merge(_members(batch.slice(last)))
        open_name = names[-1].as_py()
    yield _pieces(merger.take())


def chunks_of_pieces(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Put pieces of groups into chunks, in their order; a failure has its own chunk."""
    for batch in batches:
        lines = b"".join(batch.column("text").to_pylist())
        for failure in batch.column("failure").drop_null().to_pylist():
            yield _chunk(0, Chunk(0, 0, failure=pickle.loads(failure)))
        if lines:
            yield _chunk(0, Chunk(0, 0, lines=lines))


def chunks_of_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Put elements into chunks as sifted rows, one chunk for each fragment."""
    for batch in batches:
        rows = _rows(batch, ("task", *_PLACE, "line"))
        for (task, fragment), group in groupby(rows, key=itemgetter(0, 1)):
            sifted = [SiftedRow(*row) for _, _, *row in group]
            yield _chunk(task, Chunk(fragment, 0, sifted=sifted))


def _chunk(task: int, chunk: Chunk) -> pa.RecordBatch:
    return pa.record_batch([[task], [pickle.dumps(chunk)]], schema=_ARROW_CHUNKS)
