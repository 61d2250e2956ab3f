"""Tasks, the plain data that Spark sends to its Python workers and calls there, and their jobs.

In a job of numbered tasks, each returns one plain value. Spark may run a task several times, even
concurrently; one result of each number comes back. A `HeadraceError` that would be raised again is
a result, too: the job ends without retries, and the driver raises that error.

PySpark waits for Java where Ctrl-C does not reach it reliably, so another thread fetches the rows
of a job.
"""

from __future__ import annotations

import pickle
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Full, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast
from uuid import uuid4

import pyarrow as pa
from pyspark import InheritableThread
from pyspark.sql import DataFrame, Row, SparkSession, is_remote

from headrace.engines.spark.session.version_guard import SameVersion
from headrace.errors import HeadraceError, SparkFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    OnTasks: TypeAlias = Callable[[int, int], object]
    """Called with the numbers of done and of all tasks."""

T = TypeVar("T")


@dataclass(frozen=True)
class Task:
    """A function over the Arrow batches of one partition, with its first arguments.

    `version` is the first field, so it is the first value that a worker unpickles: a worker
    with another version of headrace fails there, before it misreads the other fields.
    """

    version: SameVersion = field(
        default_factory=SameVersion, init=False, repr=False, compare=False
    )
    do: Callable[..., Iterator[pa.RecordBatch]]
    arguments: tuple[Any, ...] = ()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the result of a partition."""
        return self.do(*self.arguments, batches)


class NumberedTask(Task):
    """A function over a frame of `numbered`: it receives the number of each task."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the tasks whose numbers are in a partition."""
        for batch in batches:
            for task in batch.column(0).to_pylist():
                yield from self.do(*self.arguments, task)


_shared: dict[str, object] = {}


def shared(job: str, make: Callable[[], T]) -> T:
    """Return the value that all tasks of a job share in this process.

    One value is kept: that of the latest job.
    """
    if job not in _shared:
        _shared.clear()
        _shared[job] = make()
    return _shared[job]  # type: ignore[return-value]


SCHEMA = "task bigint, result binary"
_ARROW_SCHEMA = pa.schema([("task", "int64"), ("result", "binary")])


def run_each(
    spark: SparkSession,
    do: Callable[[int], T],
    count: int,
    on_tasks: OnTasks | None = None,
) -> list[T]:
    """Call `do` with 0 to `count` in as many tasks; return the results in that order."""
    if count == 0:
        return []
    task = NumberedTask(_answer, (do,))
    frame = numbered(spark, count).mapInArrow(task, SCHEMA)
    return cast("list[T]", results_of(spark, frame, count, on_tasks))


def results_of(
    spark: SparkSession,
    frame: DataFrame,
    count: int,
    on_tasks: OnTasks | None = None,
) -> list[Any]:
    """Run a frame of results, one for each of `count` tasks; return them in order."""
    found: dict[int, object] = {
        task: pickle.loads(result)
        for task, result in job_rows(spark, lambda: iter(frame.collect()), on_tasks)
    }
    for _task, result in sorted(found.items()):
        if isinstance(result, HeadraceError):
            raise result
    if sorted(found) != list(range(count)):
        raise SparkFailedError(f"of {count} tasks only {len(found)} have answered")
    return [found[task] for task in range(count)]


def rows_by_partition(spark: SparkSession, frame: DataFrame) -> Iterator[Row]:
    """Yield the rows of a frame in order; the driver holds one partition at a time.

    `DataFrame.toLocalIterator` of PySpark 4.3 keeps all rows in the driver's Java until that
    ends.
    """
    if is_remote():
        # With Spark Connect there is no Java in this process.
        yield from frame.toLocalIterator()
        return
    rows = frame.rdd
    for partition in range(rows.getNumPartitions()):
        yield from spark.sparkContext.runJob(rows, iter, [partition])


def numbered(spark: SparkSession, count: int) -> DataFrame:
    """Return a frame of `count` partitions, each with one row: its own number."""
    return spark.range(0, count, 1, max(count, 1))


def _answer(do: Callable[[int], object], task: int) -> Iterator[pa.RecordBatch]:
    yield answered(task, lambda: do(task))


def answered(task: int, do: Callable[[], object]) -> pa.RecordBatch:
    """Return the result of `do`, or the error that would be raised again."""
    result: object
    try:
        result = do()
    except HeadraceError as error:
        # An error of the operating system may not occur the next time.
        if isinstance(error, OSError):
            raise
        result = error
    columns = [[task], [pickle.dumps(result)]]
    return pa.record_batch(columns, schema=_ARROW_SCHEMA)


_AHEAD = 4
"""How many rows are fetched ahead of the reader."""

_POLL_SECONDS = 0.1
"""Seconds after which a fetching thread that waits checks whether the reader has left."""


def job_rows(
    spark: SparkSession,
    rows: Callable[[], Iterator[T]],
    on_tasks: OnTasks | None = None,
) -> Iterator[T]:
    """Yield the rows of a job; closing the iterator cancels the job.

    `on_tasks` is called now and then while the job runs.
    """
    try:
        with _reporting_tasks(spark, on_tasks):
            yield from _cancellable(spark, rows)
    except Exception as error:
        raise SparkFailedError(_in_one_line(error)) from error


def _cancellable(spark: SparkSession, rows: Callable[[], Iterator[T]]) -> Iterator[T]:
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


_STATUS_SECONDS = 0.2
"""Seconds between two polls of the status."""


@contextmanager
def _reporting_tasks(spark: SparkSession, on_tasks: OnTasks | None) -> Iterator[None]:
    """Call `on_tasks` now and then, while jobs run."""
    if on_tasks is None:
        yield
        return
    with _listening(spark, on_tasks) if is_remote() else _polling(spark, on_tasks):
        yield


@contextmanager
def _listening(spark: SparkSession, on_tasks: OnTasks) -> Iterator[None]:
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

    spark.registerProgressHandler(listener)
    try:
        yield
    finally:
        spark.removeProgressHandler(listener)


@contextmanager
def _polling(spark: SparkSession, on_tasks: OnTasks) -> Iterator[None]:
    tracker = spark.sparkContext.statusTracker()
    over = Event()

    def poll() -> None:
        while not over.wait(_STATUS_SECONDS):
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


_NOT_FOUND = "ModuleNotFoundError: No module named 'headrace"

_MISSING = "the Python of a node (PYSPARK_PYTHON) has no headrace; install it there, or send it along"


def _in_one_line(error: Exception) -> str:
    """Return the last message of a failed task, or else the first line of Spark's message."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    traces = [at for at, line in enumerate(lines) if line.startswith("Traceback")]
    messages = (
        [line for line in lines[traces[-1] + 1 :] if line[0] != " "]
        if traces
        else lines
    )
    first = messages[0] if messages else type(error).__name__
    return _MISSING if first.startswith(_NOT_FOUND) else first
