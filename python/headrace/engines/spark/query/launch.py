"""Launch of query tasks as Spark jobs.

This and `headrace.engines.spark.shuffle.query_frames` are the only modules that import both
queries and PySpark, and only its DataFrames.
"""

from __future__ import annotations

import pickle
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

from headrace.engines.spark.query.task import TaskRun
from headrace.engines.spark.session.session import session_at
from headrace.engines.spark.shuffle.query_frames import shuffled
from headrace.engines.spark.tasks.jobs import (
    NumberedTask,
    job_rows,
    numbered,
    rows_by_partition,
    shared,
)
from headrace.physical.fragment import runs_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

    from headrace.engines.spark.query.run import RunTasks
    from headrace.engines.spark.query.task_query import Chunk, TaskQuery
    from headrace.engines.spark.session.master import Place
    from headrace.engines.spark.tasks.jobs import OnTasks
    from headrace.physical.fragment import Fragment

_SCHEMA = "task bigint, number bigint, part int, chunk binary"
_ARROW_SCHEMA = pa.schema(
    [("task", "int64"), ("number", "int64"), ("part", "int32"), ("chunk", "binary")]
)

_PART_BYTES = 32 << 20
"""The driver fetches the chunks of about this many bytes of files together."""


def start(place: Place) -> RunTasks:
    """Return a function that runs tasks in the session of a place, which may have to start."""
    return partial(run_tasks, session_at(place, shows_progress=True))


def run_tasks(
    spark: SparkSession,
    query: TaskQuery,
    tasks: Sequence[Sequence[Fragment]],
    on_tasks: OnTasks,
) -> Iterator[tuple[int, Chunk]]:
    """Run a query over the fragments of each task; yield its number with each chunk, in order.

    All tasks run before the first chunk comes, and `on_tasks` is called with how many are
    done; the driver holds the chunks of a few tasks at a time.
    """
    prepared = tuple(map(tuple, tasks))

    def rows() -> Iterator[tuple[int, bytes]]:
        if query.shuffle is None:
            yield from _chunks(spark, query, prepared)
        else:
            yield from rows_by_partition(spark, shuffled(spark, query, prepared))

    for task, chunk in job_rows(spark, rows, on_tasks):
        yield task, pickle.loads(chunk)


def _chunks(
    spark: SparkSession, query: TaskQuery, tasks: Sequence[Sequence[Fragment]]
) -> Iterator[tuple[int, bytes]]:
    """Yield the chunks of tasks in the order of these."""
    parts = _parts(query, tasks)
    task = NumberedTask(run_fragments, (query, tasks, parts, uuid4().hex))
    chunks = numbered(spark, len(tasks)).mapInArrow(task, _SCHEMA)
    if parts[-1] == 0:
        # One fetch takes all of them: no shuffle writes them to disk.
        few = chunks.select("task", "number", "chunk").collect()
        yield from ((task, chunk) for task, _number, chunk in sorted(few))
        return
    ordered = chunks.repartitionById(parts[-1] + 1, "part")
    ordered = ordered.sortWithinPartitions("task", "number")
    yield from rows_by_partition(spark, ordered.select("task", "chunk"))


def run_fragments(
    query: TaskQuery,
    tasks: Sequence[Sequence[Fragment]],
    parts: Sequence[int],
    job: str,
    task: int,
) -> Iterator[pa.RecordBatch]:
    """Yield the chunks of one task, which runs a query over its fragments.

    `parts` has, for each task, the number of the group that the driver fetches together.
    """
    run = shared(job, lambda: TaskRun(query))
    for number, chunk in enumerate(run.run(tasks[task])):
        columns = [[task], [number], [parts[task]], [pickle.dumps(chunk)]]
        yield pa.record_batch(columns, schema=_ARROW_SCHEMA)


def _parts(query: TaskQuery, tasks: Sequence[Sequence[Fragment]]) -> list[int]:
    """Return, for each task, the number of the group that is fetched together."""
    if query.has_small_results:
        return [0] * len(tasks)
    parts = runs_of(tasks, _PART_BYTES, lambda task: sum(each.size for each in task))
    return [number for number, part in enumerate(parts) for _task in part]
