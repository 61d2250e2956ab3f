"""Rows of a Spark job that ends when nobody waits for them any more.

PySpark waits for Java where Ctrl-C does not reach it in good order, so the rows are
fetched by a thread of their own.
"""

from __future__ import annotations

from queue import Full, Queue
from threading import Event
from typing import TYPE_CHECKING, Generic, TypeVar
from uuid import uuid4

from pyspark import InheritableThread
from pyspark.sql import is_remote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

T = TypeVar("T")

_AHEAD = 4
"""How many rows are fetched before they are asked for."""

_LOOK_EVERY = 0.1
"""Seconds until a thread that nobody takes rows from looks whether somebody still will."""


def cancellable(spark: SparkSession, rows: Callable[[], Iterator[T]]) -> Iterator[T]:
    """Yield the rows that a job gives; leaving them cancels the job."""
    name = f"headrace-{uuid4().hex}"
    tag, cancel = _tagging(spark)
    fetched: _Fetched[T] = _Fetched()

    def fetch() -> None:
        try:
            tag(name)
            for row in rows():
                if not fetched.give(row):
                    return
            fetched.give(_Ended(None))
        except BaseException as error:  # noqa: BLE001, it is raised where the rows are taken
            fetched.give(_Ended(error))

    thread = InheritableThread(target=fetch, session=spark)
    thread.start()
    try:
        yield from fetched.rows()
    finally:
        fetched.left.set()
        while thread.is_alive():
            # A job that is not there yet cannot be cancelled, and may come.
            cancel(name)
            thread.join(_LOOK_EVERY)


def _tagging(
    spark: SparkSession,
) -> tuple[Callable[[str], object], Callable[[str], object]]:
    """Return what tags the jobs of a thread, and what cancels those with a tag.

    The tags of a session are known only to the thread that set them, but over Connect.
    """
    if is_remote():
        return spark.addTag, spark.interruptTag
    context = spark.sparkContext
    return context.addJobTag, context.cancelJobsWithTag


class _Ended:
    """There are no further rows; `error` says why, if that is not in order."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class _Fetched(Generic[T]):
    """Rows on their way from one thread to another, until these are `left` alone."""

    def __init__(self) -> None:
        self.left = Event()
        self._queue: Queue[T | _Ended] = Queue(_AHEAD)

    def give(self, row: T | _Ended) -> bool:
        """Hand a row over; false if nobody takes it any more."""
        while not self.left.is_set():
            try:
                self._queue.put(row, timeout=_LOOK_EVERY)
            except Full:
                continue
            return True
        return False

    def rows(self) -> Iterator[T]:
        """Yield the rows, or raise what went wrong with them."""
        while not isinstance(row := self._queue.get(), _Ended):
            yield row
        if row.error is not None:
            raise row.error
