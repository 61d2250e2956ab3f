"""Progress of Spark jobs: the number of done tasks, while they run."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

from pyspark.sql import is_remote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager
    from typing import TypeAlias

    from pyspark.sql import SparkSession

    OnTasks: TypeAlias = Callable[[int, int], object]
    """Called with the numbers of done and of all tasks."""

_POLL_SECONDS = 0.2
"""Seconds between two polls of the status."""


@contextmanager
def reporting_tasks(spark: SparkSession, on_tasks: OnTasks | None) -> Iterator[None]:
    """Call `on_tasks` now and then, while jobs run."""
    if on_tasks is None:
        yield
        return
    with _remote(spark, on_tasks) if is_remote() else _polling(spark, on_tasks):
        yield


def _remote(spark: SparkSession, on_tasks: OnTasks) -> AbstractContextManager[None]:
    """Listen to a server of Spark Connect."""

    # Spark passes keywords, and stages that are over, too.
    def listener(stages: Iterable[object] | None, **_others: object) -> None:
        _report(
            [
                (each.num_completed_tasks, each.num_tasks)  # type: ignore[attr-defined]
                for each in stages or ()
            ],
            on_tasks,
        )

    @contextmanager
    def listening() -> Iterator[None]:
        spark.registerProgressHandler(listener)
        try:
            yield
        finally:
            spark.removeProgressHandler(listener)

    return listening()


@contextmanager
def _polling(spark: SparkSession, on_tasks: OnTasks) -> Iterator[None]:
    tracker = spark.sparkContext.statusTracker()
    over = Event()

    def poll() -> None:
        while not over.wait(_POLL_SECONDS):
            found = map(tracker.getStageInfo, tracker.getActiveStageIds())
            _report(
                [
                    (each.numCompletedTasks, each.numTasks)
                    for each in found
                    if each is not None
                ],
                on_tasks,
            )

    thread = Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _report(stages: list[tuple[int, int]], on_tasks: OnTasks) -> None:
    if stages:
        on_tasks(sum(done for done, _ in stages), sum(tasks for _, tasks in stages))
