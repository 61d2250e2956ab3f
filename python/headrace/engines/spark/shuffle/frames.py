"""Sorting, deduplicating and joining lines with Spark's shuffles, always with the same result.

A *keyed frame* has the columns `SCHEMA`: a line, its key (`headrace.kernel.sort_keys`), and
where it stands in the input, by the number of its task and its own number there. Which
partition a row goes to depends on the row alone, never on its turn or on chance: a task
that is tried again moves no row, and the rows that come out, and their order, do not depend
on how many partitions there are. Partitions hold their rows sorted, on disk where there is
no room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from headrace.engines.spark.shuffle.join_task import Joining

SCHEMA = "task bigint, number bigint, key binary, line binary"
GROUPED = "task bigint, number bigint, place bigint, text binary, failure binary"

MapInArrow: TypeAlias = "Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]"

Keep: TypeAlias = Literal["first", "last"]


def sorted_lines(frame: DataFrame, bounds: Sequence[bytes]) -> DataFrame:
    """Return a keyed frame in the order of its keys, those of one key as they came.

    The partitions, one more than there are `bounds`, are in that order too. What good
    bounds are is found by `headrace.engines.spark.shuffle.key_sample`.
    """
    part = _part_of_key(F.col("key"), bounds)
    divided = frame.repartitionById(len(bounds) + 1, part)
    return divided.sortWithinPartitions("key", "task", "number")


def first_of_each_key(
    frame: DataFrame, buckets: int, *, tasks: int, keep: Keep = "first"
) -> DataFrame:
    """Return a keyed frame with the first, or the last, row of each key, as they came.

    `tasks` is how many tasks the input had. The rows are in `buckets` partitions, each
    with those of a run of tasks.
    """
    firsts = _ranked(frame, buckets, keep).where(F.col("rank") == 1).drop("rank")
    return as_they_came(firsts, buckets, "task", "number", tasks=tasks)


def marked_firsts(
    frame: DataFrame, buckets: int, *, tasks: int, keep: Keep = "first"
) -> DataFrame:
    """Return the same as `first_of_each_key`, but all rows, the others without their line."""
    line = F.when(F.col("rank") == 1, F.col("line"))
    marked = _ranked(frame, buckets, keep).select("task", "number", line.alias("line"))
    return as_they_came(marked, buckets, "task", "number", tasks=tasks)


def _ranked(frame: DataFrame, buckets: int, keep: Keep) -> DataFrame:
    """Return a keyed frame with the `rank` of each row among those of its key."""
    place = [F.col("task"), F.col("number")]
    wanted = place if keep == "first" else [column.desc() for column in place]
    rank = F.row_number().over(Window.partitionBy("key").orderBy(*wanted))
    return frame.repartition(buckets, "key").withColumn("rank", rank)


def joined_lines(
    left: DataFrame, right: DataFrame, joining: Joining, buckets: int, *, tasks: int
) -> DataFrame:
    """Return what a join makes of the rows of two keyed frames, as the left ones came.

    The columns are those of `Joining.schema`, in `buckets` partitions, each with the rows of
    a run of the left side's `tasks`. No task holds more than a batch of both sides and the
    right rows of one key, which come as they came.
    """
    sides = left.select(F.lit(1).alias("side"), "*").unionByName(
        right.where(F.length("key") > 0).select(F.lit(0).alias("side"), "*"),
        allowMissingColumns=True,
    )
    # What finds nothing need not be together.
    alone = F.when(F.length("key") == 0, F.col("task"))
    divided = sides.repartition(buckets, "key", alone)
    divided = divided.sortWithinPartitions("key", "side", "task", "number")
    joined = divided.mapInArrow(joining, joining.schema)
    return as_they_came(joined, buckets, "task", "number", "place", tasks=tasks)


def grouped_lines(frame: DataFrame, grouping: MapInArrow, buckets: int) -> DataFrame:
    """Return what is made of the rows of each key, as the first rows of keys came.

    `grouping` gets them in their order, and gives columns `GROUPED`, of which each row is
    small. What has a failure comes before all else.
    """
    divided = frame.repartition(buckets, "key")
    divided = divided.sortWithinPartitions("key", "task", "number")
    made = divided.mapInArrow(grouping, GROUPED)
    # Few groups may begin in the first task and have all rows, so parts are found by a sample.
    order = [F.col("failure").isNull(), "task", "number", "place"]
    return made.repartitionByRange(buckets, *order).sortWithinPartitions(*order)


def as_they_came(frame: DataFrame, parts: int, *place: str, tasks: int) -> DataFrame:
    """Return rows in the order of the input, in partitions by runs of its `tasks`."""
    part = F.floor(F.col("task") * parts / max(tasks, 1)).cast("int")
    return frame.repartitionById(parts, part).sortWithinPartitions(*place)


def _part_of_key(key: Column, bounds: Sequence[bytes], before: int = 0) -> Column:
    """Return how many bounds a key is not below, found as in a sorted list."""
    if not bounds:
        return F.lit(before)
    middle = len(bounds) // 2
    below = _part_of_key(key, bounds[:middle], before)
    behind = _part_of_key(key, bounds[middle + 1 :], before + middle + 1)
    return F.when(key < F.lit(bounds[middle]), below).otherwise(behind)
