"""Jobs of numbered tasks, each of which returns one plain value.

Spark may run a task several times, even concurrently; one result of each number comes
back. A `HeadraceError` that would be raised again is a result, too: the job ends without
retries, and the driver raises that error.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pyarrow as pa
from pyspark.sql import is_remote

from headrace.engines.spark.tasks.cancel import cancellable
from headrace.engines.spark.tasks.failure_text import in_one_line
from headrace.engines.spark.tasks.progress import reporting_tasks
from headrace.engines.spark.tasks.task import NumberedTask
from headrace.errors import HeadraceError, SparkFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, Row, SparkSession

    from headrace.engines.spark.tasks.progress import OnTasks

T = TypeVar("T")

SCHEMA = "task bigint, result binary"
_ARROW_SCHEMA = pa.schema([("task", "int64"), ("result", "binary")])


def run_each(
    spark: SparkSession,
    do: Callable[[int], T],
    count: int,
    on_tasks: OnTasks | None = None,
) -> list[T]:
    """Call `do` with 0 to `count` in as many tasks; return the results in that order."""
    if count == 0:
        return []
    frame = numbered(spark, count).mapInArrow(CallWithNumber(do), SCHEMA)
    return cast("list[T]", results_of(spark, frame, count, on_tasks))


def results_of(
    spark: SparkSession,
    frame: DataFrame,
    count: int,
    on_tasks: OnTasks | None = None,
) -> list[Any]:
    """Run a frame of results, one for each of `count` tasks; return them in order."""
    found: dict[int, object] = {}

    def rows() -> Iterator[Row]:
        yield from frame.collect()

    try:
        with reporting_tasks(spark, on_tasks):
            for task, result in cancellable(spark, rows):
                found[task] = pickle.loads(result)
    except Exception as error:
        raise SparkFailedError(in_one_line(error)) from error
    for _task, result in sorted(found.items()):
        if isinstance(result, HeadraceError):
            raise result
    if sorted(found) != list(range(count)):
        raise SparkFailedError(f"of {count} tasks only {len(found)} have answered")
    return [found[task] for task in range(count)]


def rows_by_partition(spark: SparkSession, frame: DataFrame) -> Iterator[Row]:
    """Yield the rows of a frame in order; the driver holds one partition at a time.

    `DataFrame.toLocalIterator` of PySpark 4.3 keeps all rows in the driver's Java until that
    ends.
    """
    if is_remote():
        # With Spark Connect there is no Java in this process.
        yield from frame.toLocalIterator()
        return
    rows = frame.rdd
    for partition in range(rows.getNumPartitions()):
        yield from spark.sparkContext.runJob(rows, iter, [partition])


def numbered(spark: SparkSession, count: int) -> DataFrame:
    """Return a frame of `count` partitions, each with one row: its own number."""
    return spark.range(0, count, 1, max(count, 1))


@dataclass(frozen=True)
class CallWithNumber(NumberedTask):
    """Calls `do` with the number of each task."""

    do: Callable[[int], object]

    def run(self, task: int) -> Iterator[pa.RecordBatch]:
        """Yield the result of `do`."""
        yield answered(task, lambda: self.do(task))


def answered(task: int, do: Callable[[], object]) -> pa.RecordBatch:
    """Return the result of `do`, or the error that would be raised again."""
    result: object
    try:
        result = do()
    except HeadraceError as error:
        # An error of the operating system may not occur the next time.
        if isinstance(error, OSError):
            raise
        result = error
    columns = [[task], [pickle.dumps(result)]]
    return pa.record_batch(columns, schema=_ARROW_SCHEMA)
