"""Pipeline passes that move rows: sort, dedupe and join lines of files into parts of a set.

Tasks give the lines keys, a shuffle moves them, and other tasks write each partition as
staged parts. A row that is left out is moved without its line, so that the writing tasks count
every row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from headrace.engines.rows.fragment import rows_of
from headrace.engines.rows.partition_key import PathKeys
from headrace.engines.spark.shuffle import frames, key_sample
from headrace.engines.spark.shuffle.key_sample import KeySample, KeySampler
from headrace.engines.spark.shuffle.stage_task import JoinElements, keyed_columns
from headrace.engines.spark.sink.arrow_to_json import json_lines
from headrace.engines.spark.tasks.jobs import (
    SCHEMA,
    NumberedTask,
    Task,
    answered,
    numbered,
    results_of,
    run_each,
)
from headrace.errors import RowFailedError, UsageError
from headrace.kernel.sort_keys import KeyedElements, KeyedRows
from headrace.kernel.values import MAX_DEPTH
from headrace.store.rows.row_file import BATCH_BYTES, BATCH_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from headrace.engines.spark.shuffle.frames import Keep
    from headrace.physical.fragment import Fragment
    from headrace.store.shards.job.job import Job
    from headrace.store.shards.metadata import Part

OnTasks: TypeAlias = "Callable[[int, int], object] | None"

_MOVED = ("task", "number", "line", "reason")


@dataclass(frozen=True, slots=True)
class KeyedInput:
    """Files whose rows get keys, as plain data; `key` is the code of a program over a row.

    With `joins`, a key that joins with nothing, such as null, is empty. The rows of the first
    `known` tasks are in the set already, and are moved without a line. With `falling`, the sort
    directions, `key` returns an array of as many keys.
    """

    fragments: tuple[tuple[Fragment, ...], ...]
    key: bytes
    max_line: int
    joins: bool = False
    known: int = 0
    falling: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class Move:
    """Rows to move, and about how many parts of the set of `job` to make."""

    rows: KeyedInput
    job: Job
    parts: int


@dataclass(frozen=True, slots=True)
class MoveResult:
    """The staged parts of a task: rows `read`, rows `kept` with lines, and `written` lines."""

    parts: tuple[Part, ...]
    read: int
    kept: int
    written: int


def sort(
    spark: SparkSession, moving: Move, on_tasks: OnTasks = None
) -> list[MoveResult]:
    """Sort rows by their keys; rows with one key stay in input order."""
    samples = run_each(
        spark, partial(sample_keys, moving.rows), len(moving.rows.fragments), on_tasks
    )
    bounds = key_sample.bounds(key_sample.merged(samples), moving.parts)
    keyed = _keyed(spark, moving.rows)
    moved = frames.sorted_lines(keyed, bounds)
    return _written(spark, moved, moving, len(bounds) + 1, on_tasks)


def dedupe(
    spark: SparkSession, moving: Move, *, keep: Keep, on_tasks: OnTasks = None
) -> list[MoveResult]:
    """Leave one row of each key, in input order."""
    keyed, tasks = _keyed(spark, moving.rows), len(moving.rows.fragments)
    marked = frames.marked_firsts(keyed, moving.parts, tasks=tasks, keep=keep)
    return _written(spark, marked, moving, moving.parts, on_tasks)


def join(
    spark: SparkSession,
    moving: Move,
    right: KeyedInput,
    joining: JoinElements,
    on_tasks: OnTasks = None,
) -> list[MoveResult]:
    """Join rows with those of another source, in the order of the left rows."""
    joined = frames.joined_lines(
        _keyed(spark, moving.rows),
        _keyed(spark, right),
        replace(joining, marks=True),
        moving.parts,
        tasks=len(moving.rows.fragments),
    )
    return _written(spark, joined, moving, moving.parts, on_tasks)


def _keyed(spark: SparkSession, rows: KeyedInput) -> DataFrame:
    tasks = numbered(spark, len(rows.fragments))
    return tasks.mapInArrow(NumberedTask(key_lines, (rows,)), frames.SCHEMA)


def _written(
    spark: SparkSession, moved: DataFrame, moving: Move, parts: int, on_tasks: OnTasks
) -> list[MoveResult]:
    writing = Task(write_parts, (moving.job, moving.rows.known))
    wanted = [name for name in _MOVED if name in moved.columns]
    frame = moved.select(*wanted).mapInArrow(writing, SCHEMA)
    return results_of(spark, frame, parts, on_tasks)


def keyed_rows(keyed: KeyedInput, task: int) -> Iterator[KeyedElements]:
    """Yield the rows of a task with their keys."""
    keys = KeyedRows(keyed.key, falling=keyed.falling, joins=keyed.joins)
    for fragment in keyed.fragments[task]:
        rows = rows_of(fragment, keyed.max_line)
        while (batch := rows.next_batch(BATCH_ROWS, BATCH_BYTES)) is not None:
            found = keys.of(batch)
            for refused in (*found.refused, *found.late):
                # Rows without a key were rejected before they came here.
                path, reason = fragment.source.location, refused.reason
                raise RowFailedError(
                    path, None, refused.offset, reason, refused.column or 1
                )
            yield found


def sample_keys(rows: KeyedInput, task: int) -> KeySample:
    """Return a sample of the keys of one task."""
    sampling = KeySampler()
    for keyed in keyed_rows(rows, task):
        sampling.add(keyed)
    return sampling.sample()


def key_lines(rows: KeyedInput, task: int) -> Iterator[pa.RecordBatch]:
    """Yield the lines of one task with their keys."""
    number = 0
    for keyed in keyed_rows(rows, task):
        columns = keyed_columns(task, number, keyed)
        if task < rows.known:
            columns["line"] = pa.nulls(keyed.length, "binary")
        yield pa.record_batch(columns)
        number += keyed.length


def write_parts(
    job: Job, known: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Write the lines of a partition as staged parts, and yield its result."""
    task = TaskContext.get().partitionId()
    yield answered(task, lambda: _write(job, known, task, batches))


def _write(
    job: Job, known: int, task: int, batches: Iterator[pa.RecordBatch]
) -> MoveResult:
    """Write lines; rows without a line are only counted."""
    path = job.partition_by
    keys = None if path is None else PathKeys(path, MAX_DEPTH)
    read, kept = _Rows(), _Rows()
    with job.attempt(task, keys) as written:
        for batch in batches:
            new = batch.filter(pc.greater_equal(batch["task"], known))
            _refuse_failed(new)
            read.add(new)
            lines = new.filter(_has_line(new))
            kept.add(lines)
            for text in json_lines(
                pa.record_batch([lines["line"]], ["_raw"]),
                skip_nulls=True,
                null_for_nan=False,
            ):
                written.write_lines(text)
        parts = written.close()
        return MoveResult(parts, read.count, kept.count, written.records)


class _Rows:
    """Counts rows; the lines of one row come one after the other."""

    def __init__(self) -> None:
        self.count = 0
        self._last: tuple[int, int] | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Count the rows of a batch, except a first row that ended the batch before."""
        if not batch.num_rows:
            return
        tasks, numbers = batch["task"], batch["number"]
        same = pc.and_(
            pc.equal(tasks[1:], tasks[:-1]), pc.equal(numbers[1:], numbers[:-1])
        )
        first = (tasks[0].as_py(), numbers[0].as_py())
        again = (pc.sum(same).as_py() or 0) + (first == self._last)
        self.count += batch.num_rows - again
        self._last = (tasks[-1].as_py(), numbers[-1].as_py())


def _has_line(batch: pa.RecordBatch) -> pa.BooleanArray:
    """Return which rows are written; in a join, null is no answer, as in a query."""
    if "reason" in batch.schema.names:
        return pc.not_equal(batch["line"], pa.scalar(b"null", pa.binary()))
    return pc.is_valid(batch["line"])


def _refuse_failed(batch: pa.RecordBatch) -> None:
    """Raise if rows could not be joined: left rows were checked, so the right side is wrong."""
    if "reason" in batch.schema.names:
        for reason in batch["reason"].drop_null():
            raise UsageError(f"a row cannot be joined: {reason.as_py()}")
