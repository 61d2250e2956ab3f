"""Shuffles of lines by key: deterministic sorts, deduplication, joins and groups.

A *keyed frame* has the columns `SCHEMA`: a line, its key (`headrace.kernel.sort_keys`), and
its place in the input, by the number of its task and its number in that. The partition of a row
depends on the row alone: a retried task moves no row, and the rows that come out, and their
order, do not depend on how many partitions there are. Spark sorts partitions, and spills them
to disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812, the usual name

from headrace.engines.spark.tasks.jobs import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from headrace.engines.spark.shuffle.stage_task import JoinElements

SCHEMA = "task bigint, number bigint, key binary, line binary"
GROUPED = (
    "stage int, task bigint, number bigint, place bigint, text binary, failure binary"
)

MapInArrow: TypeAlias = "Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]"

Keep: TypeAlias = Literal["first", "last"]


def sorted_lines(frame: DataFrame, bounds: Sequence[bytes]) -> DataFrame:
    """Return a keyed frame in the order of its keys; rows with one key stay in input order.

    The partitions, one more than there are `bounds`, are in that order too.
    `headrace.engines.spark.shuffle.key_sample` finds good bounds.
    """
    part = _part_of_key(F.col("key"), bounds)
    divided = frame.repartitionById(len(bounds) + 1, part)
    return divided.sortWithinPartitions("key", "task", "number")


def first_of_each_key(
    frame: DataFrame, buckets: int, *, tasks: int, keep: Keep = "first"
) -> DataFrame:
    """Return a keyed frame with the first, or the last, row of each key, in input order.

    `tasks` is how many tasks the input had. Each of the `buckets` partitions has the rows of
    a run of tasks.
    """
    firsts = _ranked(frame, buckets, keep).where(F.col("rank") == 1).drop("rank")
    return in_input_order(firsts, buckets, "task", "number", tasks=tasks)


def marked_firsts(
    frame: DataFrame, buckets: int, *, tasks: int, keep: Keep = "first"
) -> DataFrame:
    """Return all rows; those that `first_of_each_key` leaves out have no line."""
    line = F.when(F.col("rank") == 1, F.col("line"))
    marked = _ranked(frame, buckets, keep).select("task", "number", line.alias("line"))
    return in_input_order(marked, buckets, "task", "number", tasks=tasks)


def _ranked(frame: DataFrame, buckets: int, keep: Keep) -> DataFrame:
    """Return a keyed frame with the `rank` of each row among the rows of its key."""
    place = [F.col("task"), F.col("number")]
    order = place if keep == "first" else [column.desc() for column in place]
    rank = F.row_number().over(Window.partitionBy("key").orderBy(*order))
    return frame.repartition(buckets, "key").withColumn("rank", rank)


def joined_lines(
    left: DataFrame,
    right: DataFrame,
    joining: JoinElements,
    buckets: int,
    *,
    tasks: int,
) -> DataFrame:
    """Return the joined lines of two keyed frames, in the order of the left rows.

    The columns are those of `JoinElements.schema`. Each of the `buckets` partitions has the rows
    of a run of the left side's `tasks`. A task holds at most a batch of both sides and the right
    rows of one key, which stay in input order.
    """
    sides = left.select(F.lit(1).alias("side"), "*").unionByName(
        right.where(F.length("key") > 0).select(F.lit(0).alias("side"), "*"),
        allowMissingColumns=True,
    )
    # Rows that join with nothing need not be together.
    alone = F.when(F.length("key") == 0, F.col("task"))
    divided = sides.repartition(buckets, "key", alone)
    divided = divided.sortWithinPartitions("key", "side", "task", "number")
    joined = divided.mapInArrow(Task(joining), joining.schema)
    return in_input_order(joined, buckets, "task", "number", "place", tasks=tasks)


def grouped_lines(frame: DataFrame, grouping: MapInArrow, buckets: int) -> DataFrame:
    """Return the groups of rows with one key, in the order of the first rows of the keys.

    `grouping` receives the rows of each key in input order, and returns the columns `GROUPED`,
    in small rows. Rows of a lower stage come first.
    """
    divided = frame.repartition(buckets, "key")
    divided = divided.sortWithinPartitions("key", "task", "number")
    made = divided.mapInArrow(grouping, GROUPED)
    # Few groups may begin in the first task and have all rows, so parts are found by a sample.
    order = ["stage", "task", "number", "place"]
    return made.repartitionByRange(buckets, *order).sortWithinPartitions(*order)


def in_input_order(frame: DataFrame, parts: int, *place: str, tasks: int) -> DataFrame:
    """Return rows in input order, in partitions by runs of its `tasks`."""
    part = F.floor(F.col("task") * parts / max(tasks, 1)).cast("int")
    return frame.repartitionById(parts, part).sortWithinPartitions(*place)


def _part_of_key(key: Column, bounds: Sequence[bytes], before: int = 0) -> Column:
    """Return how many bounds are not above a key, by binary search."""
    if not bounds:
        return F.lit(before)
    middle = len(bounds) // 2
    below = _part_of_key(key, bounds[:middle], before)
    behind = _part_of_key(key, bounds[middle + 1 :], before + middle + 1)
    return F.when(key < F.lit(bounds[middle]), below).otherwise(behind)
