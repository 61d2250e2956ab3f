"""Running tasks that are given by their number, and return plain data.

Spark may run a task several times, even at the same time; of each number one result comes
back. An error of ours that would come again is a result too: it ends the job at once, and
as what it is.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pyarrow as pa
from pyspark.sql import is_remote

from headrace.engines.spark.tasks.cancel import cancellable
from headrace.engines.spark.tasks.failure_text import in_one_line
from headrace.engines.spark.tasks.progress import telling
from headrace.engines.spark.tasks.task import NumberedTask
from headrace.errors import HeadraceError, SparkFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, Row, SparkSession

T = TypeVar("T")

SCHEMA = "task bigint, result binary"
_ARROW_SCHEMA = pa.schema([("task", "int64"), ("result", "binary")])


def run_each(
    spark: SparkSession,
    do: Callable[[int], T],
    count: int,
    tell: Callable[[int, int], object] | None = None,
) -> list[T]:
    """Do tasks 0 to `count`, and return their results in that order.

    `tell` is called now and then with how many tasks are done, and how many there are.
    """
    if count == 0:
        return []
    frame = numbered(spark, count).mapInArrow(CallWithNumber(do), SCHEMA)
    return cast("list[T]", results_of(spark, frame, count, tell))


def results_of(
    spark: SparkSession,
    frame: DataFrame,
    count: int,
    tell: Callable[[int, int], object] | None = None,
) -> list[Any]:
    """Run a frame of results, one for each of `count` tasks; return them in order."""
    found: dict[int, object] = {}

    def rows() -> Iterator[Row]:
        yield from frame.collect()

    try:
        with telling(spark, tell):
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
    """Yield the rows of a frame in order; the driver holds those of one partition.

    `DataFrame.toLocalIterator` of PySpark 4.3 keeps all of them in the driver's Java, for as
    long as that runs.
    """
    if is_remote():
        # What a server of Spark Connect sends is held by no Java here.
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
    """Do something and return its result, or the error that would come again."""
    result: object
    try:
        result = do()
    except HeadraceError as error:
        # What the operating system says may be otherwise the next time.
        if isinstance(error, OSError):
            raise
        result = error
    columns = [[task], [pickle.dumps(result)]]
    return pa.record_batch(columns, schema=_ARROW_SCHEMA)
