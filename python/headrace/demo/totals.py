"""Totals of a Spark read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions

from headrace.engines.spark.source.data_source import HeadraceSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over one read; `distinct` counts the different (_file, _row) in it."""

    partitions: int
    lines: int
    distinct: int
    too_long: int
    content_bytes: int


def totals(
    spark: SparkSession, path: str, *, partition_bytes: int, max_line: int
) -> Totals:
    """Read `path` in splits of `partition_bytes` and add up."""
    lines = (
        spark.read.format(HeadraceSource.name())
        .option("maxPartitionBytes", partition_bytes)
        .option("maxLineBytes", max_line)
        .load(path)
    )
    sums = lines.select(
        functions.count("*").alias("lines"),
        functions.count_distinct("_file", "_row").alias("distinct"),
        functions.count_if(functions.isnull("_raw")).alias("too_long"),
        functions.sum(functions.octet_length("_raw")).alias("content_bytes"),
    ).first()
    return Totals(
        partitions=lines.rdd.getNumPartitions(),
        lines=sums["lines"],
        distinct=sums["distinct"],
        too_long=sums["too_long"],
        # The sum of no rows is null.
        content_bytes=sums["content_bytes"] or 0,
    )
