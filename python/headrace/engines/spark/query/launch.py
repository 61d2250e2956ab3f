"""Running tasks of a query with Spark.

This and `headrace.engines.spark.shuffle.query_frames` are the only modules that know both queries and
PySpark, and that by its DataFrames alone.
"""

from __future__ import annotations

import pickle
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

from headrace.engines.spark.session.session import session
from headrace.engines.spark.session.version_guard import SameVersion
from headrace.engines.spark.shuffle.query_frames import numbered, shuffled, task_run
from headrace.engines.spark.tasks.cancel import cancellable
from headrace.engines.spark.tasks.failure_text import in_one_line
from headrace.engines.spark.tasks.progress import telling
from headrace.engines.spark.tasks.run import rows_by_partition
from headrace.errors import SparkFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

    from headrace.engines.spark.query.driver import RunTasks
    from headrace.engines.spark.query.task import Chunk, TaskQuery
    from headrace.engines.spark.tasks.progress import Tell
    from headrace.physical.fragment import Fragment

_SCHEMA = "task bigint, number bigint, part int, chunk binary"
_ARROW_SCHEMA = pa.schema(
    [("task", "int64"), ("number", "int64"), ("part", "int32"), ("chunk", "binary")]
)

_PART_BYTES = 32 << 20
"""How many bytes of files the answers are about that the driver fetches together."""


def start(master: str) -> RunTasks:
    """Start Spark at `master`, and return what runs tasks there."""
    return partial(run_tasks, session(master, "headrace", {}, tells=True))


def run_tasks(
    spark: SparkSession,
    query: TaskQuery,
    tasks: Sequence[Sequence[Fragment]],
    tell: Tell,
) -> Iterator[tuple[int, Chunk]]:
    """Ask the fragments of each task, and yield its number with each chunk, in order.

    All tasks run before the first chunk comes, and `tell` is told how many are done; a few
    tasks' chunks are held here at a time, however many there are.
    """
    prepared = tuple(map(tuple, tasks))

    def rows() -> Iterator[tuple[int, bytes]]:
        if query.shuffle is None:
            yield from _answered(spark, query, prepared)
        else:
            yield from rows_by_partition(spark, shuffled(spark, query, prepared))

    try:
        with telling(spark, tell):
            for task, chunk in cancellable(spark, rows):
                yield task, pickle.loads(chunk)
    except Exception as error:
        raise SparkFailedError(in_one_line(error)) from error


def _answered(
    spark: SparkSession, query: TaskQuery, tasks: Sequence[Sequence[Fragment]]
) -> Iterator[tuple[int, bytes]]:
    """Yield the chunks of tasks in the order of these."""
    asking = Asking(query, tasks)
    chunks = numbered(spark, len(tasks)).mapInArrow(asking, _SCHEMA)
    parts = asking.parts[-1] + 1
    if parts == 1:
        # They are fetched together: no shuffle need put them on disk.
        few = chunks.select("task", "number", "chunk").collect()
        yield from ((task, chunk) for task, _number, chunk in sorted(few))
        return
    ordered = chunks.repartitionById(parts, "part")
    ordered = ordered.sortWithinPartitions("task", "number")
    yield from rows_by_partition(spark, ordered.select("task", "chunk"))


class Asking:
    """The function that tasks run; it is sent to them as plain data."""

    def __init__(self, query: TaskQuery, tasks: Sequence[Sequence[Fragment]]) -> None:
        self._version = SameVersion()  # the first that is unpickled
        self._query = query
        self._tasks = tasks
        self._name = uuid4().hex
        sizes = [sum(map(_size, task)) for task in tasks]
        self.parts = [0] * len(tasks) if query.gives_little else _parts(sizes)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Ask the fragments of the tasks whose numbers come."""
        run = task_run(self._name, self._query)
        for batch in batches:
            for task in batch.column(0).to_pylist():
                part = self.parts[task]
                for number, chunk in enumerate(run.ask_all(self._tasks[task])):
                    columns = [[task], [number], [part], [pickle.dumps(chunk)]]
                    yield pa.record_batch(columns, schema=_ARROW_SCHEMA)


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
