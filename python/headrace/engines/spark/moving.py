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
from headrace.engines.spark import key_sample, shuffles
from headrace.engines.spark.column_lines import json_lines
from headrace.engines.spark.joining import texts
from headrace.engines.spark.key_sample import Sampling
from headrace.engines.spark.same_version import SameVersion
from headrace.engines.spark.tasks import SCHEMA, answered, results_of, run_each
from headrace.errors import RowFailedError
from headrace.kernel.order_keys import KeyedRows
from headrace.kernel.values import MAX_DEPTH
from headrace.store.row_file import BATCH_BYTES, BATCH_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from headrace.engines.spark.key_sample import KeySample
    from headrace.engines.spark.shuffles import Keep
    from headrace.kernel.order_keys import KeyedElements
    from headrace.kernel.programs import Program
    from headrace.physical.fragment import Fragment
    from headrace.store.shards.job import Job
    from headrace.store.shards.metadata import Part

Tell: TypeAlias = "Callable[[int, int], object] | None"

_KEYED = pa.schema(
    [("task", "int64"), ("number", "int64"), ("key", "binary"), ("line", "binary")]
)


@dataclass(frozen=True, slots=True)
class Moving:
    """Rows that are to be moved, as plain data.

    The rows of the first `known` tasks are in the set already: they have keys, but are
    not written.
    """

    fragments: tuple[tuple[Fragment, ...], ...]
    key: Program
    max_line: int
    job: Job
    parts: int
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
    samples = run_each(spark, Sampled(moving), len(moving.fragments), tell)
    bounds = key_sample.bounds(key_sample.merged(samples), moving.parts)
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


def _keyed(spark: SparkSession, moving: Moving) -> DataFrame:
    count = len(moving.fragments)
    # Each task begins with one number: its own.
    return spark.range(0, count, 1, count).mapInArrow(Keying(moving), shuffles.SCHEMA)


def _written(
    spark: SparkSession, moved: DataFrame, moving: Moving, parts: int, tell: Tell
) -> list[MovedDone]:
    writing = Writing(moving.job, moving.known)
    frame = moved.select("task", "line").mapInArrow(writing, SCHEMA)
    return results_of(spark, frame, parts, tell)


def keyed_rows(moving: Moving, task: int) -> Iterator[KeyedElements]:
    """Yield the rows of a task with their keys."""
    keys = KeyedRows(moving.key.code)
    for fragment in moving.fragments[task]:
        rows = rows_of(fragment, moving.max_line)
        while (batch := rows.next_batch(BATCH_ROWS, BATCH_BYTES)) is not None:
            found = keys.of(batch)
            for refused in (*found.refused, *found.late):
                # Rows without a key were rejected before they came here.
                path, reason = fragment.source.location, refused.reason
                raise RowFailedError(
                    path, None, refused.offset, reason, refused.column or 1
                )
            yield found


@dataclass(frozen=True, slots=True)
class Sampled:
    """Tasks that give some of the keys."""

    moving: Moving

    def __call__(self, task: int) -> KeySample:
        """Do one of them."""
        sampling = Sampling()
        for keyed in keyed_rows(self.moving, task):
            sampling.add(keyed)
        return sampling.taken()


class Keying:
    """Gives the lines of tasks their keys."""

    def __init__(self, moving: Moving) -> None:
        self._version = SameVersion()  # the first that is unpickled
        self._moving = moving

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the rows of the tasks whose numbers come."""
        for batch in batches:
            for task in batch.column(0).to_pylist():
                number = 0
                for keyed in keyed_rows(self._moving, task):
                    yield self._placed(task, number, keyed)
                    number += keyed.length

    def _placed(self, task: int, number: int, keyed: KeyedElements) -> pa.RecordBatch:
        count = keyed.length
        known = task < self._moving.known
        columns = [
            pa.repeat(pa.scalar(task, pa.int64()), count),
            pa.array(range(number, number + count), pa.int64()),
            texts(keyed.keys, count),
            pa.nulls(count, pa.binary()) if known else texts(keyed.lines, count),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=_KEYED)


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
