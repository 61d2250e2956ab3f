"""Cancellation: a Spark job ends when the reader of its rows leaves them.

PySpark waits for Java where Ctrl-C does not reach it reliably, so another thread fetches the
rows.
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
"""How many rows are fetched ahead of the reader."""

_POLL_SECONDS = 0.1
"""Seconds after which a fetching thread that waits checks whether the reader has left."""


def cancellable(spark: SparkSession, rows: Callable[[], Iterator[T]]) -> Iterator[T]:
    """Yield the rows of a job; closing the iterator cancels the job."""
    name = f"headrace-{uuid4().hex}"
    tag, cancel = _tagging(spark)
    fetched: _Fetched[T] = _Fetched()

    def fetch() -> None:
        try:
            tag(name)
            for row in rows():
                if not fetched.put(row):
                    return
            fetched.put(_Ended(None))
        except BaseException as error:  # noqa: BLE001, it is raised where the rows are taken
            fetched.put(_Ended(error))

    thread = InheritableThread(target=fetch, session=spark)
    thread.start()
    try:
        yield from fetched.rows()
    finally:
        fetched.left.set()
        while thread.is_alive():
            # A job that has not started yet cannot be cancelled, and may start.
            cancel(name)
            thread.join(_POLL_SECONDS)


def _tagging(
    spark: SparkSession,
) -> tuple[Callable[[str], object], Callable[[str], object]]:
    """Return a function that tags the jobs of this thread, and one that cancels tagged jobs.

    Without Spark Connect, `SparkSession.interruptTag` sees only the tags of its own thread.
    """
    if is_remote():
        return spark.addTag, spark.interruptTag
    context = spark.sparkContext
    return context.addJobTag, context.cancelJobsWithTag


class _Ended:
    """The end of the rows; `error` is None if the job succeeded."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class _Fetched(Generic[T]):
    """A queue of rows between two threads, until the reader has `left`."""

    def __init__(self) -> None:
        self.left = Event()
        self._queue: Queue[T | _Ended] = Queue(_AHEAD)

    def put(self, row: T | _Ended) -> bool:
        """Put a row into the queue; false if the reader has left."""
        while not self.left.is_set():
            try:
                self._queue.put(row, timeout=_POLL_SECONDS)
            except Full:
                continue
            return True
        return False

    def rows(self) -> Iterator[T]:
        """Yield the rows, or raise the error of the job."""
        while not isinstance(row := self._queue.get(), _Ended):
            yield row
        if row.error is not None:
            raise row.error
