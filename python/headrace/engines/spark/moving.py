"""Passes that move rows: lines of files to parts of a set, sorted or without duplicates.

Tasks give the lines keys, Spark's shuffles bring them where they belong, and other tasks
put them aside as parts, one for each partition. A row that is left out goes all the way
without its line, so that whoever writes has seen every row there is and counts them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from headrace.engines.fragment_rows import rows_of
from headrace.engines.path_keys import PathKeys
from headrace.engines.spark import shuffles
from headrace.engines.spark.column_lines import json_lines
from headrace.engines.spark.same_version import SameVersion
from headrace.engines.spark.tasks import SCHEMA, answered, results_of
from headrace.errors import RowFailedError
from headrace.kernel.order_keys import KeyedRows
from headrace.kernel.values import MAX_DEPTH
from headrace.store.row_file import BATCH_BYTES, BATCH_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from headrace.engines.spark.shuffles import Keep
    from headrace.kernel.programs import Program
    from headrace.physical.fragment import Fragment
    from headrace.store.shards.job import Job
    from headrace.store.shards.metadata import Part

Tell: TypeAlias = "Callable[[int, int], object] | None"

_KEYED = pa.schema(
    [("task", "int64"), ("number", "int64"), ("key", "binary"), ("line", "binary")]
)

_SAMPLES = 64
"""How many keys are looked at for each partition that is to be made."""


@dataclass(frozen=True, slots=True)
class Moving:
    """Rows that are to be moved, as plain data.

    The rows of the first `known` tasks are in the set already: they have keys, but are
    not written. `rows` is about how many there are in all.
    """

    fragments: tuple[tuple[Fragment, ...], ...]
    key: Program
    max_line: int
    job: Job
    parts: int
    rows: int
    known: int = 0


@dataclass(frozen=True, slots=True)
class MovedDone:
    """What a task has put aside, of how many rows that came to it."""

    parts: tuple[Part, ...]
    read: int
    written: int


def sort(
    spark: SparkSession, moving: Moving, *, descending: bool, tell: Tell = None
) -> list[MovedDone]:
    """Put rows in the order of their keys, equal ones as they came."""
    every = max(moving.rows // (moving.parts * _SAMPLES), 1)
    sample = shuffles.sampled_keys(_keyed(spark, moving, lines=False), every)
    bounds = shuffles.bounds(sample, moving.parts)
    moved = shuffles.sorted_lines(_keyed(spark, moving), bounds, descending=descending)
    return _written(spark, moved, moving, len(bounds) + 1, tell)


def dedupe(
    spark: SparkSession, moving: Moving, *, keep: Keep, tell: Tell = None
) -> list[MovedDone]:
    """Leave one row of each key, as they came."""
    marked = shuffles.marked_firsts(
        _keyed(spark, moving), moving.parts, tasks=len(moving.fragments), keep=keep
    )
    return _written(spark, marked, moving, moving.parts, tell)


def _keyed(spark: SparkSession, moving: Moving, *, lines: bool = True) -> DataFrame:
    count = len(moving.fragments)
    # Each task begins with one number: its own.
    return spark.range(0, count, 1, count).mapInArrow(
        Keying(moving, lines=lines), shuffles.SCHEMA
    )


def _written(
    spark: SparkSession, moved: DataFrame, moving: Moving, parts: int, tell: Tell
) -> list[MovedDone]:
    writing = Writing(moving.job, moving.known)
    frame = moved.select("task", "line").mapInArrow(writing, SCHEMA)
    return results_of(spark, frame, parts, tell)


class Keying:
    """Gives the lines of tasks their keys."""

    def __init__(self, moving: Moving, *, lines: bool) -> None:
        self._version = SameVersion()  # the first that is unpickled
        self._moving = moving
        self._lines = lines

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the rows of the tasks whose numbers come."""
        for batch in batches:
            for task in batch.column(0).to_pylist():
                yield from self._task(task)

    def _task(self, task: int) -> Iterator[pa.RecordBatch]:
        moving, number = self._moving, 0
        with_lines = self._lines and task >= moving.known
        keys = KeyedRows(moving.key.code)
        for fragment in moving.fragments[task]:
            rows = rows_of(fragment, moving.max_line)
            while (batch := rows.next_batch(BATCH_ROWS, BATCH_BYTES)) is not None:
                found = keys.of(batch)
                for refused in (*found.refused, *found.late):
                    path, line = fragment.source.location, batch.first_row + 1
                    raise RowFailedError(
                        path, line, refused.offset, refused.reason, refused.column or 1
                    )
                count = found.length
                numbers = pa.array(range(number, number + count), pa.int64())
                columns = [
                    pa.repeat(pa.scalar(task, pa.int64()), count),
                    numbers,
                    _texts(count, *found.keys),
                    _texts(count, *found.lines)
                    if with_lines
                    else pa.nulls(count, pa.binary()),
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=_KEYED)
                number += count


def _texts(count: int, ends: bytes, data: bytes) -> pa.Array:
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


class Writing:
    """Puts the lines of a partition aside; rows without one are only counted."""

    def __init__(self, job: Job, known: int) -> None:
        self._version = SameVersion()
        self._job = job
        self._known = known

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write a partition, and say what came of it."""
        task = TaskContext.get().partitionId()
        yield answered(task, lambda: self._write(task, batches))

    def _write(self, task: int, batches: Iterator[pa.RecordBatch]) -> MovedDone:
        path = self._job.partition_by
        keys = None if path is None else PathKeys(path, MAX_DEPTH)
        read = 0
        with self._job.attempt(task, keys) as written:
            for batch in batches:
                new = batch.filter(pc.greater_equal(batch.column(0), self._known))
                read += len(new)
                lines = new.column(1).drop_null()
                for text in json_lines(
                    pa.record_batch([lines], ["_raw"]),
                    skip_nulls=True,
                    null_for_nan=False,
                ):
                    written.write_lines(text)
            return MovedDone(written.close(), read, written.records)
