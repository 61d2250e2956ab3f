"""Counts of rows, by this process or by tasks of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.api.options import (
    EngineOptions,
    refuse_for_local,
    refuse_other,
    refuse_unknown,
)
from headrace.errors import UnusableTableError, UsageError
from headrace.kernel.tally import Stats, Tally
from headrace.store.files.source import total_size

if TYPE_CHECKING:
    from headrace.api.dataset import Dataset, Progress


def count(dataset: Dataset[Any], progress: Progress, options: EngineOptions) -> int:
    """Count the rows of a data set."""
    if _is_on_spark(options):
        from headrace.api.spark_engine import count_with_spark

        return count_with_spark(dataset.files(), options, progress)
    size = total_size(dataset.sources)
    total = before = 0
    for file in dataset.files():

        def report(done: int, before: int = before) -> None:
            progress(before + done, size)

        total += file.total(report, use_up=True)
        before += 0 if file.source.is_pipe else file.source.size
    return total


def stats(
    dataset: Dataset[Any],
    threads: int | None,
    progress: Progress,
    options: EngineOptions,
) -> Stats:
    """Check every line of a data set, and count them by kind."""
    if _is_on_spark(options):
        if threads is not None:
            raise UsageError("threads is for engine='local' (--engine local)")
        return _on_spark(dataset, progress, options)
    sources, reading = dataset.sources, dataset.row_options
    if any(source.is_pipe or source.times for source in sources):
        return _in_order(dataset)
    from headrace.engines.local import tally

    size = total_size(sources)
    return tally.tally(
        sources,
        max_line=reading.max_line,
        max_depth=dataset.max_depth,
        threads=threads,
        decoding=reading.decoding,
        progress=lambda done: progress(done, size),
    )


def _is_on_spark(options: EngineOptions) -> bool:
    refuse_unknown(options, EngineOptions)
    engine = options.get("engine", "local")
    refuse_other("engine", engine, ("local", "spark"))
    if engine == "local":
        refuse_for_local(
            master=options.get("master"),
            spark=options.get("spark"),
            partition_bytes=options.get("partition_bytes"),
        )
    return engine == "spark"


def _on_spark(
    dataset: Dataset[Any], progress: Progress, options: EngineOptions
) -> Stats:
    from headrace.api.spark_engine import stats_with_spark
    from headrace.engines.rows.count import Tallying

    reading = dataset.row_options
    decoding = reading.decoding._replace(threads=1)
    how = Tallying(reading.max_line, dataset.max_depth, decoding)
    try:
        return stats_with_spark(dataset.files(), how, options, progress)
    except UnusableTableError:
        # In doubt, scan: this process finds the damage, and reports it.
        return stats(dataset, None, progress, {})


def _in_order(dataset: Dataset[Any]) -> Stats:
    total = Stats()
    for file in dataset.files():
        counted = Tally(file.source.location, dataset.max_depth)
        for rows in file.batches():
            counted.add(rows)
        total += counted.stats
    return total
