"""Asking with Spark: what must be right before it starts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from headrace.engines.spark.extra import needing_pyspark
from headrace.engines.spark.master import MASTER
from headrace.engines.spark.query import PARTITION_BYTES, SparkRun
from headrace.errors import UsageError
from headrace.store.sizes import parse_size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.engines.query_run import QueryOptions, QueryRun
    from headrace.engines.spark.query import RunTasks
    from headrace.physical.query_plan import QueryPlan
    from headrace.store.row_file import RowOptions
    from headrace.store.source import Source


def starting(
    sources: Sequence[Source],
    options: QueryOptions,
    reading: RowOptions,
    master: str | None,
    partition_bytes: int | str | None,
) -> Callable[[QueryPlan, QueryOptions], QueryRun]:
    """Return what makes runs with Spark, if these sources can be asked there."""
    for source in sources:
        if source.is_pipe:
            raise UsageError(
                f"{source.location}: Spark's tasks cannot read a pipe; save it to a file, "
                "or use engine='local' (--engine local)"
            )
    if options.reverse:
        raise UsageError(
            "reverse (--rev) begins at the end of the files, which Spark's tasks do not; "
            "leave it out, or use engine='local' (--engine local)"
        )
    size = PARTITION_BYTES if partition_bytes is None else parse_size(partition_bytes)
    if size < 1:
        raise UsageError(f"partition_bytes {size}: a task must read at least a byte")
    return partial(
        SparkRun,
        start=partial(_start, master or MASTER),
        reading=reading,
        partition_bytes=size,
    )


def refuse_for_local(**options: object) -> None:
    """Refuse what only Spark knows."""
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"{name} is for engine='spark' (--engine spark)")


def _start(master: str) -> RunTasks:
    with needing_pyspark():
        from headrace.engines.spark.jobs import start
    return start(master)
