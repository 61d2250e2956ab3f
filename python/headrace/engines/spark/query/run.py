"""Run of a query on Spark: the query as the driver runs it, and the tasks that read its rows.

The strategies (`engine`, `joins`, `shuffles`) are functions over a `SparkRun`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from headrace.engines.query.scan import rows_by_key, scan_of, scan_of_rows
from headrace.engines.spark.query.indexed_rows import IndexedRows, indexed_rows
from headrace.engines.spark.query.row_order import PlacedChunk, RowOrder, jobs_of
from headrace.engines.spark.query.task import TaskRun
from headrace.errors import HeadraceError
from headrace.kernel.programs import Counts
from headrace.kernel.rows import END
from headrace.physical.query_plan import JoinPlan, RowPlan, StreamPlan
from headrace.store.rows.demand import KeyFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from headrace.engines.query.run import QueryRun
    from headrace.engines.query.scan import Rows, Scan
    from headrace.engines.spark.query.joins import JoinIndexes
    from headrace.engines.spark.query.survey_task import Survey
    from headrace.engines.spark.query.task_query import Chunk, RefusedRow, TaskQuery
    from headrace.engines.spark.tasks.jobs import OnTasks
    from headrace.physical.fragment import Fragment
    from headrace.store.rows.demand import Keys
    from headrace.store.rows.row_file import RowOptions

RunTasks: TypeAlias = "Callable[[TaskQuery, Sequence[Sequence[Fragment]], OnTasks], Iterator[tuple[int, Chunk]]]"
"""Runs a query over partitions, each in one task; yields the number of the partition with each
chunk, in the order of both. Calls the last argument with the numbers of done and of all tasks."""

PARTITION_BYTES = 64 << 20
"""How many bytes of files one task reads by default."""

FEW_TASKS = 16
"""The driver holds the first rows of each key that this many tasks find; every task that joins
holds the rows that this many tasks read."""

_EXPANSION = (1, 10)
"""How many bytes a plain and a compressed byte of a file may decode to."""


@dataclass(slots=True)
class SparkRun:
    """One run of a query on Spark.

    `run` is the query as this process runs it: all that tasks cannot do is done there.
    `start` starts Spark when the first tasks run. The other fields cache facts that strategies
    need: the indexes of right sides, the joins that tasks do by an index, and indexed rows.
    """

    run: QueryRun
    start: Callable[[], RunTasks]
    reading: RowOptions
    partition_bytes: int
    join_indexes: dict[JoinPlan, JoinIndexes | None] = field(default_factory=dict)
    joins_by_index: dict[JoinPlan, bool] = field(default_factory=dict)
    _run_tasks: RunTasks | None = None
    _indexed: list[tuple[KeyFilter, Sequence[IndexedRows | None]]] = field(
        default_factory=list
    )

    # Rows

    def order_of(
        self, name: str | None, found: Sequence[IndexedRows | None] = ()
    ) -> RowOrder:
        """Return the rows of a source in their order, divided among tasks."""
        sources = [file.source for file in self.run.files[name]]
        return RowOrder(sources, self.partition_bytes, self.reading, found)

    def main_order(self, plan: RowPlan | StreamPlan) -> RowOrder:
        """Return the rows of the main source that tasks read for a plan."""
        if isinstance(plan, RowPlan):
            scan = scan_of_rows(plan, self.run.options)
        else:
            scan = scan_of(plan, plan.limit)
        return self.order_of(None, self.indexed(scan))

    def counted_order(self, query: TaskQuery) -> RowOrder:
        """Return the rows that tasks read for a query, and begin to count the main source."""
        # Several plans have no filter in common.
        alone = len(query.plans) == 1
        order = self.main_order(query.plans[0]) if alone else self.order_of(None)
        self.run.report.count(None, Counts(), [order])
        return order

    def indexed(self, scan: Scan) -> Sequence[IndexedRows | None]:
        """Return the rows of each main file that key indexes find; empty if no index does."""
        keys = filter_of(scan.keys)
        if keys is None or scan.source is not None or scan.reverse:
            return ()
        for known, found in self._indexed:
            # By identity: `1` and `true` are equal here.
            if known is keys:
                return found
        found = tuple(self._indexed_in(file, scan) for file in self.run.files[None])
        self._indexed.append((keys, found if any(found) else ()))
        return self._indexed[-1][1]

    def _indexed_in(self, file: Rows, scan: Scan) -> IndexedRows | None:
        compressed = file.source.codec != "none"
        if compressed and self.reading.decoding.max_decoded != END:
            return None
        try:
            keyed = rows_by_key(file, scan, self.run.options)
            return None if keyed is None else indexed_rows(keyed, self.partition_bytes)
        except HeadraceError:
            # The error of a file is raised in its place, behind the files before it.
            return None

    def is_small(
        self, order: RowOrder, *, share: int = 1, tasks: int | None = None
    ) -> bool:
        """Whether few tasks read all rows, and one part in `share` of the memory holds them."""
        size = sum(
            each.size * _EXPANSION[each.source.codec != "none"]
            for each in order.fragments
        )
        few = len(order.partitions) <= (FEW_TASKS if tasks is None else tasks)
        return few and size * share <= self.run.options.max_memory

    # Tasks

    def chunks(
        self, query: TaskQuery, order: RowOrder, *, early: bool = False
    ) -> Iterator[PlacedChunk]:
        """Run a query in tasks over all rows; yield their chunks in the order of the rows.

        `early`: the first rows may be enough, so few tasks run at first.
        """
        report = self.run.report
        report.bytes_by_tasks = 0
        for job in jobs_of(order.partitions, early=early):
            tasks = [order.fragments_of(task) for task in job]
            for task, chunk in self.run_tasks(query, tasks):
                number = job[task][chunk.fragment]
                yield from order.placed(query, number, chunk)
        order.end()
        report.bytes_by_tasks = order.bytes_of_files

    def run_tasks(
        self, query: TaskQuery, tasks: Sequence[Sequence[Fragment]]
    ) -> Iterator[tuple[int, Chunk]]:
        """Run a query in tasks; their fragments count as read in proportion to done tasks."""
        if self._run_tasks is None:
            self._run_tasks = self.start()
        report = self.run.report
        before = report.bytes_by_tasks
        size = sum(part.size for task in tasks for part in task)

        def on_tasks(done: int, count: int) -> None:
            # A job may have further stages, which read no rows.
            so_far = before + size * done // max(count, 1)
            report.bytes_by_tasks = max(report.bytes_by_tasks, so_far)

        yield from self._run_tasks(query, tasks, on_tasks)
        report.bytes_by_tasks = before + size

    def surveys(
        self, query: TaskQuery, order: RowOrder
    ) -> Iterator[tuple[PlacedChunk, Survey]]:
        """Run a survey of elements in tasks."""
        for placed in self.chunks(query, order):
            assert placed.chunk.survey is not None
            yield placed, placed.chunk.survey

    def report_chunk(self, placed: PlacedChunk, *, again: bool = False) -> None:
        """Report the bad rows of a chunk, and raise the error that ended it."""
        self.report_rows(((placed, row) for row in placed.chunk.refused), again=again)
        if placed.chunk.failure is not None:
            raise placed.failure(placed.chunk.failure)

    def report_rows(
        self, rows: Iterable[tuple[PlacedChunk, RefusedRow]], *, again: bool = False
    ) -> None:
        """Report bad rows."""
        for placed, row in rows:
            self.run.report.reject(
                lambda placed=placed, row=row: placed.error(row.refused),  # type: ignore[misc]
                lambda row=row: row.raw,  # type: ignore[misc]
                again=again,
            )


def rerun(
    query: TaskQuery, placed: PlacedChunk, stop: int | None = None
) -> Iterator[Chunk]:
    """Run a query here over the rows of a chunk, of which not all are needed."""
    first = placed.chunk.first
    if query.by_index and stop is None:
        # Only the keys of these rows are looked up then.
        stop = first + placed.chunk.rows
    return TaskRun(query).run_rows(placed.fragment, 0, first=first, stop=stop)


def filter_of(keys: Keys | None) -> KeyFilter | None:
    """Return keys that are the values of a filter, and not those of the left side of a join."""
    return keys if isinstance(keys, KeyFilter) else None
