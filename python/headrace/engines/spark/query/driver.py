"""Rows that tasks ask: which they get, and what of their answers arrives at the driver."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from headrace.engines.query.run import QueryRun
from headrace.engines.spark.query.chunk_order import Arrived, RowOrder, jobs_of
from headrace.engines.spark.query.indexed_rows import FoundRows, found_in
from headrace.engines.spark.query.task import Chunk, TaskQuery, TaskRun
from headrace.errors import HeadraceError
from headrace.kernel.programs import Counts
from headrace.kernel.rows import END
from headrace.physical.query_plan import RowPlan, StreamPlan
from headrace.store.rows.demand import KeyFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from headrace.engines.query.scan import Pass, Rows
    from headrace.engines.spark.query.survey_task import Looked
    from headrace.engines.spark.query.task import RefusedRow
    from headrace.engines.spark.tasks.progress import Tell
    from headrace.physical.fragment import Fragment
    from headrace.store.rows.demand import Keys
    from headrace.store.rows.row_file import RowOptions

RunTasks: TypeAlias = "Callable[[TaskQuery, Sequence[Sequence[Fragment]], Tell], Iterator[tuple[int, Chunk]]]"
"""Asks partitions, each in a task of its own, and yields the number of the partition with
each chunk, in the order of both. It tells how many tasks are done, and how many there are."""

PARTITION_BYTES = 64 << 20
"""How many bytes of files one task reads, unless told otherwise."""

_FEW_TASKS = 16
"""The first rows of each key that so many tasks find are held by the driver, and what so
many tasks read by every task that joins with it."""

_EXPANSION = (1, 10)
"""How many bytes a plain and a compressed byte of a file may be."""


@dataclass(slots=True)
class TaskedRows(QueryRun):
    """A run of a query that can have rows asked in tasks, and takes what they give in order.

    `start` starts Spark, when it is needed, and gives what runs tasks there.
    """

    start: Callable[[], RunTasks] = field(kw_only=True)
    reading: RowOptions = field(kw_only=True)
    partition_bytes: int = field(default=PARTITION_BYTES, kw_only=True)
    _fragments_done: int = 0
    _wrong_is_said: bool = False
    _run_tasks: RunTasks | None = None
    _by_filter: list[tuple[KeyFilter, Sequence[FoundRows | None]]] = field(
        default_factory=list
    )

    def bytes_done(self) -> int:
        """Return how many bytes of the main source were read so far, here or by tasks."""
        return max(self._fragments_done, QueryRun.bytes_done(self))

    # Which rows

    def _row_order(
        self, name: str | None, found: Sequence[FoundRows | None] = ()
    ) -> RowOrder:
        sources = [file.source for file in self._files[name]]
        return RowOrder(sources, self.partition_bytes, self.reading, found)

    def _main_order(self, plan: RowPlan | StreamPlan) -> RowOrder:
        """Return the rows of the main source that tasks get for a plan."""
        if isinstance(plan, RowPlan):
            way = self._row_pass(plan)
        else:
            way = self._pass(plan, plan.limit)
        return self._row_order(None, self._found(way))

    def _begun(self, query: TaskQuery) -> RowOrder:
        """Return what tasks get for a query, to be counted anew."""
        # Several plans have no filter in common.
        alone = len(query.plans) == 1
        order = self._main_order(query.plans[0]) if alone else self._row_order(None)
        self.asked, self._passed_over = Counts(), [order]
        return order

    def _found(self, way: Pass) -> Sequence[FoundRows | None]:
        """Find by key indexes which rows of the main source may count; nothing if all may."""
        keys = filter_of(way.keys)
        if keys is None or way.source is not None or way.reverse:
            return ()
        for known, found in self._by_filter:
            # Only the very same: `1` and `true` are equal here.
            if known is keys:
                return found
        found = tuple(self._found_in(file, way) for file in self._files[None])
        self._by_filter.append((keys, found if any(found) else ()))
        return self._by_filter[-1][1]

    def _found_in(self, file: Rows, way: Pass) -> FoundRows | None:
        compressed = file.source.codec != "none"
        if compressed and self.reading.decoding.max_decoded != END:
            return None
        try:
            keyed = self._by_key(file, way)
            return None if keyed is None else found_in(keyed, self.partition_bytes)
        except HeadraceError:
            # What is wrong with a file is said in its place, behind those before it.
            return None

    def _is_held_here(self, name: str, *, share: int = 1) -> bool:
        """Whether a source is so small that a `share` of the memory can hold all of it."""
        return self._is_held(self._row_order(name), _FEW_TASKS, share)

    def _main_is_held_here(
        self, plan: StreamPlan, *, by_one_task: bool = False
    ) -> bool:
        """Whether the rows of the main source that tasks would get for a plan are so few."""
        return self._is_held(self._main_order(plan), 1 if by_one_task else _FEW_TASKS)

    def _is_held(self, order: RowOrder, tasks: int, share: int = 1) -> bool:
        size = sum(
            (each.end - each.start) * _EXPANSION[each.source.codec != "none"]
            for each in order.fragments
        )
        few = len(order.partitions) <= tasks
        return few and size * share <= self.options.max_memory

    # What arrives

    def _arriving(
        self, query: TaskQuery, order: RowOrder, *, early: bool
    ) -> Iterator[Arrived]:
        """Have tasks ask all rows of the main source, and yield chunk after chunk.

        `early`: the first rows may be enough, so few tasks run at first.
        """
        self._fragments_done = 0
        for job in jobs_of(order.partitions, early=early):
            tasks = [order.fragments_of(task) for task in job]
            for task, chunk in self._tasks_of(query, tasks):
                number = job[task][chunk.fragment]
                yield from order.arrived(query, number, chunk)
        order.end()
        self._fragments_done = order.bytes_of_files

    def _tasks_of(
        self, query: TaskQuery, tasks: Sequence[Sequence[Fragment]]
    ) -> Iterator[tuple[int, Chunk]]:
        """Have tasks ask fragments; these are done as their tasks are, with all before them."""
        if self._run_tasks is None:
            self._run_tasks = self.start()
        before = self._fragments_done
        size = sum(part.end - part.start for task in tasks for part in task)

        def tell(done: int, of: int) -> None:
            # A job may have stages behind that in which rows are read.
            so_far = before + size * done // max(of, 1)
            self._fragments_done = max(self._fragments_done, so_far)

        yield from self._run_tasks(query, tasks, tell)
        self._fragments_done = before + size

    def _asked_again(
        self, query: TaskQuery, arrived: Arrived, stop: int | None = None
    ) -> Iterator[Chunk]:
        """Ask the rows of a chunk here, of which not all are needed."""
        first = arrived.chunk.first
        if query.by_index and stop is None:
            # What is needed is among them, and only their keys need be looked up.
            stop = first + arrived.chunk.rows
        return TaskRun(query).ask(arrived.fragment, 0, first=first, stop=stop)

    def _looked(
        self, query: TaskQuery, order: RowOrder
    ) -> Iterator[tuple[Arrived, Looked]]:
        """Have tasks look at the elements that are to be shuffled."""
        for arrived in self._arriving(query, order, early=False):
            assert arrived.chunk.looked is not None
            yield arrived, arrived.chunk.looked

    def _say_what_is_wrong(self, arrived: Arrived, *, again: bool = False) -> None:
        """Raise or tell of the rows of a chunk that have no answer, and what ended it."""
        rows = ((arrived, row) for row in arrived.chunk.refused)
        self._say_wrong(rows, again=again or self._wrong_is_said)
        if arrived.chunk.failure is not None:
            raise arrived.failure(arrived.chunk.failure)

    def _say_wrong(
        self, rows: Iterable[tuple[Arrived, RefusedRow]], *, again: bool = False
    ) -> None:
        for arrived, row in rows:
            self._pass_over(
                lambda arrived=arrived, row=row: arrived.error(row.refused),  # type: ignore[misc]
                lambda row=row: row.raw,  # type: ignore[misc]
                again=again,
            )


def filter_of(keys: Keys | None) -> KeyFilter | None:
    """Return keys that are the values of a filter, not those of the other side of a join."""
    return keys if isinstance(keys, KeyFilter) else None
