"""Running tasks of a query with Spark.

The only module here that knows both queries and PySpark, and that by its DataFrames alone.
"""

from __future__ import annotations

import pickle
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

from headrace.engines.spark.asking import TaskRun
from headrace.engines.spark.cancelling import cancellable
from headrace.engines.spark.failures import in_one_line
from headrace.engines.spark.same_version import SameVersion
from headrace.engines.spark.session import session
from headrace.errors import SparkFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Row, SparkSession

    from headrace.engines.spark.asking import Chunk, TaskQuery
    from headrace.engines.spark.query import RunTasks
    from headrace.physical.fragment import Fragment

_SCHEMA = "task bigint, number bigint, part int, chunk binary"
_ARROW_SCHEMA = pa.schema(
    [("task", "int64"), ("number", "int64"), ("part", "int32"), ("chunk", "binary")]
)

_PART_BYTES = 64 << 20
"""How many bytes of files the answers are about that the driver fetches together."""


def start(master: str) -> RunTasks:
    """Start Spark at `master`, and return what runs tasks there."""
    return partial(run_tasks, session(master, "headrace", {}))


def run_tasks(
    spark: SparkSession, query: TaskQuery, tasks: Sequence[Sequence[Fragment]]
) -> Iterator[tuple[int, Chunk]]:
    """Ask the fragments of each task, and yield its number with each chunk, in order.

    All tasks run before the first chunk comes; a few tasks' chunks are held here at a
    time, however many there are.
    """
    asking = Asking(query, tuple(map(tuple, tasks)))
    count = len(tasks)

    def rows() -> Iterator[Row]:
        # Each task begins with one number: its own.
        chunks = spark.range(0, count, 1, count).mapInArrow(asking, _SCHEMA)
        ordered = chunks.repartitionById(asking.parts[-1] + 1, "part")
        ordered = ordered.sortWithinPartitions("task", "number")
        yield from ordered.select("task", "chunk").toLocalIterator()

    try:
        for task, chunk in cancellable(spark, rows):
            yield task, pickle.loads(chunk)
    except Exception as error:
        raise SparkFailedError(in_one_line(error)) from error


class Asking:
    """The function that tasks run; it is sent to them as plain data."""

    def __init__(
        self, query: TaskQuery, tasks: tuple[tuple[Fragment, ...], ...]
    ) -> None:
        self._version = SameVersion()  # the first that is unpickled
        self._query = query
        self._tasks = tasks
        self._name = uuid4().hex
        self.parts = _parts([sum(map(_size, task)) for task in tasks])

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Ask the fragments of the tasks whose numbers come."""
        run = _task_run(self._name, self._query)
        for batch in batches:
            for task in batch.column(0).to_pylist():
                part = self.parts[task]
                for number, chunk in enumerate(run.ask_all(self._tasks[task])):
                    columns = [[task], [number], [part], [pickle.dumps(chunk)]]
                    yield pa.record_batch(columns, schema=_ARROW_SCHEMA)


_kept: dict[str, TaskRun] = {}


def _task_run(name: str, query: TaskQuery) -> TaskRun:
    """Return the run of a job: the tasks of one process share what joins hold."""
    if name not in _kept:
        _kept.clear()
        _kept[name] = TaskRun(query)
    return _kept[name]


def _parts(sizes: Sequence[int]) -> list[int]:
    """Return for each task the number of the run that is fetched together."""
    parts, part, held = [], 0, 0
    for size in sizes:
        if held and held + size > _PART_BYTES:
            part, held = part + 1, 0
        held += size
        parts.append(part)
    return parts


def _size(fragment: Fragment) -> int:
    return fragment.end - fragment.start
