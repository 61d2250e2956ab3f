"""How many tasks of Spark are done, while they run."""

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

    Tell: TypeAlias = Callable[[int, int], object]

_LOOK_EVERY = 0.2
"""Seconds between looks at how many tasks are done."""


@contextmanager
def telling(spark: SparkSession, tell: Tell | None) -> Iterator[None]:
    """Call `tell` now and then with how many tasks are done, and how many there are."""
    if tell is None:
        yield
        return
    with _told(spark, tell) if is_remote() else _looking(spark, tell):
        yield


def _told(spark: SparkSession, tell: Tell) -> AbstractContextManager[None]:
    """Listen to a server of Spark Connect."""

    # Called by keyword, and with stages that are over as well.
    def hear(stages: Iterable[object] | None, **_others: object) -> None:
        _tell_of(
            [
                (each.num_completed_tasks, each.num_tasks)  # type: ignore[attr-defined]
                for each in stages or ()
            ],
            tell,
        )

    @contextmanager
    def listening() -> Iterator[None]:
        spark.registerProgressHandler(hear)
        try:
            yield
        finally:
            spark.removeProgressHandler(hear)

    return listening()


@contextmanager
def _looking(spark: SparkSession, tell: Tell) -> Iterator[None]:
    tracker = spark.sparkContext.statusTracker()
    over = Event()

    def look() -> None:
        while not over.wait(_LOOK_EVERY):
            found = map(tracker.getStageInfo, tracker.getActiveStageIds())
            _tell_of(
                [
                    (each.numCompletedTasks, each.numTasks)
                    for each in found
                    if each is not None
                ],
                tell,
            )

    thread = Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _tell_of(stages: list[tuple[int, int]], tell: Tell) -> None:
    if stages:
        tell(sum(done for done, _tasks in stages), sum(tasks for _, tasks in stages))
