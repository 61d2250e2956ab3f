"""Queries and counts on Spark: checks before Spark starts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from headrace.api.options import EngineOptions, place_of_tasks
from headrace.engines.spark.query.engine import SparkEngine
from headrace.engines.spark.query.run import PARTITION_BYTES, RunTasks
from headrace.engines.spark.session.master import Place, chosen_place, needing_pyspark
from headrace.errors import UsageError
from headrace.store.files.units import parse_size
from headrace.store.rows.row_file import RowFile, RowOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.api.dataset import Progress
    from headrace.engines.query.options import QueryOptions
    from headrace.engines.query.scan import Rows
    from headrace.engines.rows.count import Tallying
    from headrace.engines.rows.item_tasks import RunEach
    from headrace.kernel.tally import Stats
    from headrace.store.files.source import Source


def spark_engine(
    sources: Sequence[Source],
    options: QueryOptions,
    reading: RowOptions,
    place: Place | None,
    partition_bytes: int | str | None,
    run_tasks: RunTasks | None = None,
) -> SparkEngine:
    """Return an engine for queries on Spark; raise if Spark cannot read the sources.

    Spark starts when the first tasks run, unless `run_tasks` runs them otherwise.
    """
    _refuse_pipes(sources)
    if options.reverse:
        raise UsageError(
            "reverse (--reverse) begins at the end of the files, which Spark's tasks do not; "
            "leave it out, or use engine='local' (--engine local)"
        )
    size = task_bytes(partition_bytes)
    start = partial(_started, chosen_place(place), run_tasks)
    return SparkEngine(start, reading, size)


def task_bytes(partition_bytes: int | str | None) -> int:
    """Return how many bytes of files one task reads."""
    size = PARTITION_BYTES if partition_bytes is None else parse_size(partition_bytes)
    if size < 1:
        raise UsageError(f"partition_bytes {size}: a task must read at least a byte")
    return size


def tasks_at(place: Place | None) -> RunEach:
    """Return a function that runs numbered tasks in the session of a place."""
    with needing_pyspark():
        from headrace.engines.spark.session.session import session_at
        from headrace.engines.spark.tasks.jobs import run_each
    return partial(run_each, session_at(chosen_place(place), shows_progress=True))


def count_with_spark(
    files: Sequence[Rows], options: EngineOptions, progress: Progress
) -> int:
    """Count the rows of files in tasks."""
    from headrace.engines.spark.index.row_counts import count_by_tasks

    size, run_each = task_bytes(options.get("partition_bytes")), _started_for(options)
    counted = _whole(files)
    tell = _telling([file.source for file in counted], progress)
    return count_by_tasks(counted, run_each, size, tell)


def stats_with_spark(
    files: Sequence[Rows], how: Tallying, options: EngineOptions, progress: Progress
) -> Stats:
    """Check every line of files in tasks, and count them by kind."""
    from headrace.engines.spark.index.row_counts import tally_by_tasks

    size, run_each = task_bytes(options.get("partition_bytes")), _started_for(options)
    sources = [file.source for file in _whole(files)]
    return tally_by_tasks(sources, how, run_each, size, _telling(sources, progress))


def _whole(files: Sequence[Rows]) -> list[RowFile]:
    """Return files, if tasks can count all their lines."""
    _refuse_pipes([file.source for file in files])
    whole = []
    for file in files:
        if not isinstance(file, RowFile):
            raise UsageError(
                f"{file.source.location}: Spark's tasks count all lines of a log; leave "
                "since and until out, or use engine='local' (--engine local)"
            )
        whole.append(file)
    return whole


def _started_for(options: EngineOptions) -> RunEach:
    """Return a function that runs numbered tasks; Spark starts when it is called."""
    place = place_of_tasks(options)
    return lambda do, count, tell=None: tasks_at(place)(do, count, tell)


def _telling(
    sources: Sequence[Source], progress: Progress
) -> Callable[[int, int], None]:
    total = sum(source.size for source in sources)
    return lambda done, tasks: progress(total * done // max(tasks, 1), total)


def _refuse_pipes(sources: Sequence[Source]) -> None:
    for source in sources:
        if source.is_pipe:
            raise UsageError(
                f"{source.location}: Spark's tasks cannot read a pipe; save it to a file, "
                "or use engine='local' (--engine local)"
            )


def _started(place: Place, run_tasks: RunTasks | None) -> RunTasks:
    if run_tasks is not None:
        return run_tasks
    with needing_pyspark():
        from headrace.engines.spark.query.launch import start
    return start(place)
