"""Running a query with Spark: tasks ask the rows, the driver puts the answers together.

How the work is divided is decided in `headrace.physical.distribution`. This goes on from the
run of a query in one process, `headrace.engines.query_run`: only the way through the rows of
the main source is another, so whatever tasks cannot do is done here, by the same code.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from headrace.engines.query_run import ELEMENTS, QueryRun
from headrace.engines.spark.asking import (
    Chunk,
    Firsts,
    Grouped,
    Joined,
    Keying,
    Sorting,
    TaskQuery,
    TaskRun,
)
from headrace.engines.spark.found_rows import FoundRows, are_few, found_in
from headrace.engines.spark.key_sample import bounds, merged
from headrace.engines.spark.row_order import MOST_TASKS, Arrived, RowOrder, jobs_of
from headrace.engines.spark.shuffled_rows import MOST_HELD, ShuffledRows
from headrace.engines.spark.splits import absolute
from headrace.errors import HeadraceError
from headrace.kernel.programs import Counts, StreamQuery
from headrace.kernel.rows import END, RowBatch, rows_of
from headrace.physical.distribution import (
    Found,
    are_local,
    division,
    joins_by_shuffle,
    may_end_early,
    sifting,
)
from headrace.physical.join_choice import SparkChoice, SparkSides, choose_on_spark
from headrace.physical.query_plan import (
    JoinPlan,
    PlainStage,
    RowPlan,
    StreamPlan,
    ZipPlan,
)
from headrace.physical.sides import left_keys_first
from headrace.store.key_rows import KeyRows, Proven
from headrace.store.row_provider import KeyFilter, KeySet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from headrace.engines.passed_over import Uncounted
    from headrace.engines.query_run import Pass, Rows
    from headrace.engines.spark.asking import Gives, RefusedRow
    from headrace.engines.spark.looking import Looked
    from headrace.engines.spark.shuffled_rows import Place
    from headrace.engines.spark.telling import Tell
    from headrace.kernel.programs import JoinTable, Program, RowQuery
    from headrace.physical.distribution import Division
    from headrace.physical.fragment import Fragment
    from headrace.physical.query_plan import StagePlan
    from headrace.store.row_file import RowOptions
    from headrace.store.row_provider import Keys

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
class _Seen:
    """What tasks saw of a side before a shuffle, asked `query`.

    `wrong` are its rows without an answer, `failed` the first of them that is not just no
    JSON; to abort, any is. `late`: an element has no key, and its row is not one of these.
    """

    query: TaskQuery
    size: int = 0
    counts: Counts = field(default_factory=Counts)
    objects: bool = True
    late: bool = False
    has_several: bool = False
    wrong: list[tuple[Arrived, RefusedRow]] = field(default_factory=list)
    failed: tuple[Arrived, RefusedRow] | None = None

    def add(self, arrived: Arrived, looked: Looked) -> None:
        """Take in a chunk."""
        chunk, aborts = arrived.chunk, self.query.options.on_error == "abort"
        self.size += looked.size
        self.counts += chunk.counts
        self.objects = self.objects and looked.objects
        self.late = self.late or looked.late
        if looked.elements > chunk.counts.emitted:
            self.has_several = True
        for row in chunk.refused:
            self.wrong.append((arrived, row))
            if self.failed is None and (aborts or row.refused.column is not None):
                self.failed = arrived, row


class _Lookup(NamedTuple):
    """Indexes that lead to the right rows of a join, and what there is to count of these."""

    proven: tuple[Proven, ...]
    counts: Counts


@dataclass(slots=True)
class SparkRun(QueryRun):
    """A run of a query whose rows are asked in tasks, wherever they can be.

    `start` starts Spark, when it is needed, and gives what runs tasks there.
    """

    start: Callable[[], RunTasks] = field(kw_only=True)
    reading: RowOptions = field(kw_only=True)
    partition_bytes: int = field(default=PARTITION_BYTES, kw_only=True)
    _fragments_done: int = 0
    _wrong_is_said: bool = False
    _shuffled_rows: ShuffledRows | None = None
    _shuffled_chunks: Iterator[tuple[int, Chunk]] = field(
        default_factory=lambda: iter(())
    )
    _run_tasks: RunTasks | None = None
    _lookups: dict[JoinPlan, _Lookup | None] = field(default_factory=dict)
    _looked_up: dict[JoinPlan, bool] = field(default_factory=dict)
    _counted: dict[JoinPlan, tuple[str, Counts, Sequence[Uncounted]]] = field(
        default_factory=dict
    )
    _by_filter: list[tuple[KeyFilter, Sequence[FoundRows | None]]] = field(
        default_factory=list
    )

    def bytes_done(self) -> int:
        """Return how many bytes of the main source were read so far, here or by tasks."""
        return max(self._fragments_done, QueryRun.bytes_done(self))

    # What tasks answer as a whole

    def _row_lines(self, main: RowPlan) -> Iterator[bytes]:
        options = self.options
        if options.reverse or self._asks_here(self._row_pass(main)):
            return QueryRun._row_lines(self, main)
        query = self._task_query("lines", (main,))
        return self._lines_of(replace(query, nulls=options.nulls, limit=options.limit))

    def _lines(
        self, plan: StreamPlan, *, nulls: bool, limit: int | None
    ) -> Iterator[bytes]:
        if self._asks_here(self._pass(plan, limit)):
            return QueryRun._lines(self, plan, nulls=nulls, limit=limit)
        divided = division(plan, self._in_tasks(plan))
        if divided == "lines":
            self._read_joined(plan)
            query = self._task_query("lines", (plan,))
            return self._lines_of(replace(query, nulls=nulls, limit=limit))
        # What one task can make, nothing needs to be shuffled for.
        if divided == "sorted" and not self._main_is_held_here(plan, tasks=1):
            return self._sorted_lines(plan, nulls=nulls, limit=limit)
        if divided == "grouped" and not self._main_is_held_here(plan, tasks=1):
            return self._grouped_lines(plan, nulls=nulls, limit=limit)
        if plan.reduction == "lines" and limit is None:
            left = self._behind_shuffle(plan, divided, nulls=nulls)
            if left is not None and not left.stages:
                return (chunk.lines for chunk in self._finished_chunks())
            plan = left or plan
        return QueryRun._lines(self, plan, nulls=nulls, limit=limit)

    def _lines_of(self, query: TaskQuery) -> Iterator[bytes]:
        """Yield lines of output in the order of the rows."""
        order, left = self._begun(query), query.limit
        if left == 0:
            return
        for arrived in self._arriving(query, order, early=left is not None):
            chunks: Iterable[Chunk] = [arrived.chunk]
            if left is not None and arrived.chunk.lines.count(b"\n") >= left:
                chunks = self._asked_again(replace(query, limit=left), arrived)
            for chunk in chunks:
                yield chunk.lines
                self.asked += chunk.counts
                if left is not None:
                    left -= chunk.lines.count(b"\n")
                self._say_what_is_wrong(replace(arrived, chunk=chunk))
            if left == 0:
                return

    # What they shuffle

    def _sorted_lines(
        self, plan: StreamPlan, *, nulls: bool, limit: int | None
    ) -> Iterator[bytes]:
        """Yield lines of output in the order of their keys."""
        order = plan.order
        assert order is not None
        self._read_joined(plan)
        query = self._task_query("keys", (plan,))
        keying = Keying(order.key, order.then, order.falling, compact=True)
        query = replace(query, keying=keying, nulls=nulls)
        found = self._looked_at_elements(query)
        if found is None:
            yield from self._held_lines(plan, nulls=nulls, limit=limit)
            return
        if limit == 0:
            return
        keys = merged([looked.sample for looked in found])
        parts = self._parts(sum(looked.size for looked in found))
        cuts = tuple(bounds(keys, parts))
        shuffled = self._shuffled(replace(query, shuffle=Sorting(cuts)))
        yield from _first_lines((chunk.lines for _, chunk in shuffled), limit)

    def _grouped_lines(
        self, plan: StreamPlan, *, nulls: bool, limit: int | None
    ) -> Iterator[bytes]:
        """Yield what groups give, in the order in which they first come."""
        group = plan.group
        assert group is not None
        self._read_joined(plan)
        query = self._task_query("keys", (plan,))
        query = replace(query, keying=Keying(group.key, compact=True))
        found = self._looked_at_elements(query)
        if found is None:
            yield from self._held_lines(plan, nulls=nulls, limit=limit)
            return
        parts = self._parts(sum(looked.size for looked in found))
        chunks = self._shuffled(replace(query, shuffle=Grouped(group, parts)))
        # What fails comes before all else, in its order.
        first = next(chunks, (0, Chunk(0, 0)))[1]
        if first.failure is not None:
            if group.rest is None:
                raise first.failure
            # The rest may not have come to it.
            yield from self._held_lines(plan, nulls=nulls, limit=limit)
            return
        texts = chain([first.lines], (chunk.lines for _, chunk in chunks))
        if group.gives == "object":
            yield from _as_object(texts)
            return
        if group.rest is not None:
            value = self._asked_of_groups(group.rest, texts)
            yield from self._printed(
                value, spread=plan.spread, nulls=nulls, limit=limit
            )
            return
        wanted = texts if nulls else map(_without_nulls, texts)
        yield from _first_lines(wanted, limit)

    def _asked_of_groups(self, rest: Program, texts: Iterable[bytes]) -> bytes:
        """Ask the rest of a query of all that groups gave."""
        plan = StreamPlan(ELEMENTS, (), "collect")
        holding = self.reducing(plan)
        for text in texts:
            for batch in rows_of(text):
                holding.answer(batch, 0)
                self._say_what_is_held(holding)
        return self._finished([replace(plan, rest=rest)], [holding])[0]

    def _looked_at_elements(self, query: TaskQuery) -> list[Looked] | None:
        """Have tasks look at all elements; None if what is shuffled would not be all."""
        found, ordinary = [], True
        for arrived, looked in self._looked(query, self._begun(query)):
            self.asked += arrived.chunk.counts
            self._say_what_is_wrong(arrived)
            found.append(looked)
            ordinary = ordinary and not looked.late and not arrived.is_distrusted
        return found if ordinary else None

    def _held_lines(
        self, plan: StreamPlan, *, nulls: bool, limit: int | None
    ) -> Iterator[bytes]:
        """Yield what a plan gives without a shuffle; what is wrong with rows is said."""
        self._wrong_is_said = True
        yield from QueryRun._lines(self, plan, nulls=nulls, limit=limit)
        self._wrong_is_said = False

    def _behind_shuffle(
        self, plan: StreamPlan, divided: Division, *, nulls: bool
    ) -> StreamPlan | None:
        """Have elements shuffled, if that is how a plan is divided.

        Returns what is left to ask here; if it has no stages, tasks make lines of the
        elements or reduce them. None if nothing was shuffled.
        """
        if divided not in ("unique", "joined"):
            return None
        first = sifting(plan.stages, self._in_tasks(plan))
        join = plan.stages[len(first)] if divided == "joined" else None
        rest = plan.stages[len(first) + (join is not None) :]
        left = replace(plan, source=ELEMENTS, stages=rest)
        behind = left if are_local(rest) else None
        plan = replace(plan, stages=first)
        if isinstance(join, JoinPlan):
            query = self._joined_by_key(plan, join, behind)
        else:
            query = self._firsts_of_each_key(plan, behind)
        if query is None:
            return None
        self._shuffled_chunks = self._shuffled(replace(query, nulls=nulls))
        return left if behind is None else replace(left, stages=())

    def _firsts_of_each_key(
        self, first: StreamPlan, behind: StreamPlan | None
    ) -> TaskQuery | None:
        """Shuffle elements by the key of the last stage; None if the answer would be another."""
        if self._main_is_held_here(first, tasks=_FEW_TASKS):
            return None
        distinct = first.stages[-1]
        assert isinstance(distinct, PlainStage)
        assert distinct.code is not None
        seen = self._looked_at_rows(first, Keying(distinct.code), behind)
        if seen is None or seen.failed or seen.late:
            return None
        return replace(seen.query, shuffle=Firsts(self._parts(seen.size), behind))

    def _joined_by_key(
        self, first: StreamPlan, join: JoinPlan, behind: StreamPlan | None
    ) -> TaskQuery | None:
        """Shuffle elements with those of the other side of a join; None as above."""
        name, right = join.right.source, join.right
        if self._choice((join,), None).strategy == "driver":
            return None
        keys_first = left_keys_first(self._rows(None), self._rows(name))
        seen = self._looked_at_rows(first, Keying(join.key, joins=True), behind)
        if seen is None:
            return None
        aborts = self.options.on_error == "abort"
        if aborts and seen.failed and keys_first:
            # They are read before the other side, only for their keys.
            raise seen.failed[0].error(seen.failed[1].refused)
        other = replace(
            self._task_query("keys", (right,)),
            keying=Keying(join.right_key, joins=True),
        )
        assert name is not None
        others = self._looked_at_others(name, other)
        if others is None or not _can_be_joined(join, behind, seen, others):
            return None
        self._readings.append((name, others.counts, ()))
        self._say_wrong(others.wrong)
        order = self._row_order(name)
        tasks = tuple(tuple(order.fragments_of(task)) for task in order.partitions)
        query = seen.query
        if aborts and seen.failed:
            arrived, row = seen.failed
            stop = arrived.number, row.refused.row
            assert query.keying is not None
            query = replace(query, keying=replace(query.keying, stop=stop))
        parts = self._parts(seen.size + others.size)
        return replace(query, shuffle=Joined(join, other, tasks, parts, behind))

    def _looked_at_rows(
        self, plan: StreamPlan, keying: Keying, behind: StreamPlan | None
    ) -> _Seen | None:
        """Have tasks look at rows; None if some cannot be accounted for one by one.

        If all is done by tasks that elements cannot fail in, rows may have several.
        """
        self._read_joined(plan)
        query = replace(self._task_query("keys", (plan,)), keying=keying)
        several = (
            behind is not None
            and not behind.stages
            and behind.reduction not in ("sum", "avg")
        )
        seen, chunks, order = _Seen(query), list[Arrived](), self._main_order(plan)
        for arrived, looked in self._looked(query, order):
            seen.add(arrived, looked)
            if arrived.chunk.failure is not None or arrived.is_distrusted:
                return None
            if seen.has_several and not several:
                return None
            if len(seen.wrong) > MOST_HELD:
                return None
            chunks.append(replace(arrived, chunk=replace(arrived.chunk, looked=None)))
            if arrived.chunk.refused and self.options.on_error == "abort":
                break
        self._shuffled_rows = ShuffledRows(query, chunks, order)
        return seen

    def _looked_at_others(self, name: str, query: TaskQuery) -> _Seen | None:
        """Have tasks look at the right side of a join, or raise what is wrong with it.

        None if what it gives cannot be told. A row that fails may have given elements
        before that, which the local engine has taken in.
        """
        seen = _Seen(query)
        for arrived, looked in self._looked(query, self._row_order(name)):
            seen.add(arrived, looked)
            chunk = arrived.chunk
            if chunk.failure is not None or arrived.is_distrusted:
                return None
            if chunk.refused and self.options.on_error == "abort":
                self._readings.append((name, seen.counts, ()))
                self._say_wrong([(arrived, chunk.refused[0])])
            if len(seen.wrong) > MOST_HELD:
                return None
        return None if seen.failed else seen

    def _asked_shuffled(self, asked: RowQuery | StreamQuery) -> Iterator[bytes]:
        """Ask the elements that a shuffle left, and tell of rows as if all had been asked."""
        shuffled = self._shuffled_rows
        assert shuffled is not None
        for task, chunk in self._shuffled_chunks:
            arrived = shuffled.arrived(task, chunk)
            batch = RowBatch.of_contents(0, [row.content for row in chunk.passed_on])
            for lines, refused in self.answers_of([asked], batch, reverse=False):
                yield lines
                if refused is not None:
                    row = chunk.passed_on[refused.row]
                    place = arrived.number, row.position
                    if self.options.on_error == "abort":
                        self._count_shuffled(asked.counts, place)
                    self._say_wrong(shuffled.wrong_before(place))
                    offset = row.offset + refused.offset
                    failed = replace(refused, row=row.position, offset=offset)
                    self._pass_over(
                        lambda failed=failed, arrived=arrived: arrived.error(failed),  # type: ignore[misc]
                        lambda place=place: shuffled.row(place),  # type: ignore[misc]
                    )
        self._count_shuffled(asked.counts, None)
        self._say_wrong(shuffled.wrong_before(None))

    def _finished_chunks(self) -> Iterator[Chunk]:
        """Yield what tasks made behind a shuffle, and tell of rows as if all had been asked."""
        shuffled = self._shuffled_rows
        assert shuffled is not None
        asked = Counts()
        for task, chunk in self._shuffled_chunks:
            arrived = shuffled.arrived(task, chunk)
            asked += chunk.counts
            yield chunk
            for row in chunk.refused:
                place = arrived.number, row.refused.row
                if self.options.on_error == "abort":
                    self._count_shuffled(asked, place)
                self._say_wrong(shuffled.wrong_before(place))
                self._pass_over(
                    lambda arrived=arrived, row=row: arrived.error(row.refused),  # type: ignore[misc]
                    lambda place=place: shuffled.row(place),  # type: ignore[misc]
                )
        self._count_shuffled(asked, None)
        self._say_wrong(shuffled.wrong_before(None))

    def _count_shuffled(self, asked: Counts, place: Place | None) -> None:
        """Remember what is counted of all rows, or of those up to a place."""
        assert self._shuffled_rows is not None
        self.asked = self._shuffled_rows.counts(asked, place)
        self._passed_over = [self._shuffled_rows.passed_over(place)]

    def _merged_chunks(self, plan: StreamPlan) -> list[bytes]:
        """Return what tasks have reduced elements to behind a shuffle."""
        merging = self.reducing(plan)
        for chunk in self._finished_chunks():
            for part in chunk.parts:
                merging.merge(part)
            self._say_what_is_held(merging)
        return self._finished([plan], [merging])

    def _is_held_here(self, name: str, *, tasks: int, share: int = 1) -> bool:
        """Whether a source is so small that a `share` of the memory can hold all of it."""
        return self._is_held(self._row_order(name), tasks, share)

    def _main_is_held_here(self, plan: StreamPlan, *, tasks: int) -> bool:
        """Whether the rows of the main source that tasks would get for a plan are so few."""
        return self._is_held(self._main_order(plan), tasks)

    def _is_held(self, order: RowOrder, tasks: int, share: int = 1) -> bool:
        size = sum(
            (each.end - each.start) * _EXPANSION[each.source.codec != "none"]
            for each in order.fragments
        )
        few = len(order.partitions) <= tasks
        return few and size * share <= self.options.max_memory

    def _looked(
        self, query: TaskQuery, order: RowOrder
    ) -> Iterator[tuple[Arrived, Looked]]:
        """Have tasks look at the elements that are to be shuffled."""
        for arrived in self._arriving(query, order, early=False):
            assert arrived.chunk.looked is not None
            yield arrived, arrived.chunk.looked

    def _parts(self, size: int) -> int:
        """Return into how many parts so many bytes of elements are divided."""
        return min(max(-(-size // self.partition_bytes), 1), MOST_TASKS)

    def _shuffled(self, query: TaskQuery) -> Iterator[tuple[int, Chunk]]:
        """Yield what a shuffle gives; all tasks of the main source take part, up to a stop."""
        order = self._main_order(query.plans[0])
        partitions: list[list[int]] = order.partitions
        if query.keying is not None and query.keying.stop is not None:
            last, _ = query.keying.stop
            wanted = [[each for each in task if each <= last] for task in partitions]
            partitions = [task for task in wanted if task]
        tasks = [order.fragments_of(task) for task in partitions]
        self._fragments_done = 0
        return self._tasks_of(replace(query, gives="shuffled"), tasks)

    # What they reduce their rows to

    def _results(self, plans: Sequence[StreamPlan]) -> list[bytes]:
        if len(plans) == 1:
            if self._asks_here(self._pass(plans[0], plans[0].limit)):
                return QueryRun._results(self, plans)
            divided = division(plans[0], self._in_tasks(plans[0]))
            left = self._behind_shuffle(plans[0], divided, nulls=True)
            if left is not None and not left.stages:
                return self._merged_chunks(left)
            plans = plans if left is None else [left]
        reduced = all(
            division(plan, self._in_tasks(plan)) in ("parts", "sorted", "grouped")
            for plan in plans
        )
        limited = any(plan.limit is not None for plan in plans)
        if not reduced or (limited and len(plans) > 1):
            return QueryRun._results(self, plans)
        for plan in plans:
            self._read_joined(plan)
        queries = [self.reducing(replace(plan, stages=())) for plan in plans]
        self._merge(queries, self._task_query("parts", plans), plans[0].limit)
        return self._finished(plans, queries)

    def _merge(
        self, queries: Sequence[StreamQuery], query: TaskQuery, limit: int | None
    ) -> None:
        """Merge what tasks have reduced their rows to."""
        order = self._begun(query)
        if all(query.done for query in queries):
            return
        for arrived in self._arriving(query, order, early=limit is not None):
            chunk, taken = arrived.chunk, queries[0].elements
            for merging, part in zip(queries, chunk.parts, strict=True):
                merging.merge(part)
                self._say_what_is_held(merging)
            done = all(query.done for query in queries)
            chunks: Iterable[Chunk] = [chunk]
            if done and limit is not None:
                (plan,) = query.plans
                assert isinstance(plan, StreamPlan)
                wanted = replace(plan, limit=limit - taken)
                chunks = self._asked_again(replace(query, plans=(wanted,)), arrived)
            for each in chunks:
                self.asked += each.counts
                self._say_what_is_wrong(replace(arrived, chunk=each))
            if done:
                return

    # Rows that they pass on

    def _asked(
        self, queries: Sequence[RowQuery | StreamQuery], way: Pass
    ) -> Iterator[bytes]:
        if way.source == ELEMENTS:
            (asked,) = queries
            yield from self._asked_shuffled(asked)
            return
        stages: tuple[StagePlan, ...] = ()
        if way.source is None and not way.reverse and not self._asks_here(way):
            plan = StreamPlan(None, way.stages, "count", keys=_filter(way.keys))
            stages = sifting(way.stages, self._in_tasks(plan))
        if not stages:
            yield from QueryRun._asked(self, queries, way)
            return
        query = self._task_query("rows", (replace(plan, stages=stages),))
        order = self._main_order(query.plans[0])
        (asked,) = queries
        left_out = Counts()
        try:
            if asked.done:
                return
            early = may_end_early(way.stages, self.options.limit)
            for arrived in self._arriving(query, order, early=early):
                before, ended = asked.counts.rows, True
                try:
                    yield from self._passed_on(asked, arrived, way)
                    ended = asked.done
                finally:
                    taken = asked.counts.rows - before if ended else None
                    left_out += self._left_out(query, arrived, taken)
                if ended:
                    return
                self._say_what_is_wrong(arrived, again=way.again)
        finally:
            self._count(left_out + asked.counts, way, [order])

    def _left_out(
        self, query: TaskQuery, arrived: Arrived, taken: int | None
    ) -> Counts:
        """Count the rows of a chunk that were not passed on, up to the last one `taken`."""
        if taken is None:
            return arrived.chunk.counts
        if taken == 0:
            return Counts()
        stop = arrived.chunk.passed_on[taken - 1].position + 1
        chunks = self._asked_again(query, arrived, stop)
        return sum((chunk.counts for chunk in chunks), Counts())

    def _passed_on(
        self, asked: RowQuery | StreamQuery, arrived: Arrived, way: Pass
    ) -> Iterator[bytes]:
        """Ask the rows of a chunk that were passed on."""
        contents = [row.content for row in arrived.chunk.passed_on]
        batch = RowBatch.of_contents(0, contents)
        for lines, refused in self.answers_of([asked], batch, reverse=False):
            yield lines
            if refused is not None:
                self._refuse(arrived, batch, refused, way)

    # Tasks and chunks

    def _task_query(
        self,
        gives: Gives,
        plans: Sequence[RowPlan | StreamPlan],
        others: Sequence[JoinPlan] = (),
    ) -> TaskQuery:
        """Return what tasks are asked; they know the right sides of `others` too."""
        joins = [
            stage
            for plan in plans
            if isinstance(plan, StreamPlan)
            for stage in plan.stages
            if isinstance(stage, JoinPlan)
        ]
        named = {
            name: tuple(absolute(file.source) for file in self._files[name])
            for name in {join.right.source for join in (*joins, *others)}
            if name is not None
        }
        by_index = tuple(join for join in joins if self._looked_up.get(join))
        lookups = [self._lookups[join] for join in (*by_index, *others)]
        return TaskQuery(
            gives,
            tuple(plans),
            self.options,
            self.reading,
            self.known,
            named,
            raw=self.tell is not None,
            by_index=by_index,
            proven=tuple(each for found in lookups if found for each in found.proven),
        )

    # Joins

    def joins(
        self, files: Sequence[Rows], named: Mapping[str, Sequence[Rows]]
    ) -> Iterator[tuple[str, SparkChoice]]:
        """Say of each named source that the query joins with how that is done, and why."""
        self._files = {None: files}
        self._files.update(named)
        main = self.plan.main
        if not isinstance(main, StreamPlan) or main.source is not None or main.reverse:
            return
        for at, stage in enumerate(main.stages):
            if isinstance(stage, JoinPlan) and stage.right.source is not None:
                yield stage.right.source, self._choice(main.stages[at:], main.limit)

    def _in_tasks(self, plan: StreamPlan) -> Callable[[JoinPlan], bool]:
        """Return what says whether tasks can do a join that is among the stages of a plan."""

        def in_tasks(join: JoinPlan) -> bool:
            stages, at = plan.stages, plan.stages.index(join)
            match self._choice(stages[at:], None).strategy:
                case "broadcast":
                    return True
                case "index":
                    left = StreamPlan(None, stages[:at], "lines", keys=plan.keys)
                    return self._looks_up(left, join)
                case _:
                    return False

        return in_tasks

    def _choice(self, stages: Sequence[StagePlan], limit: int | None) -> SparkChoice:
        """Choose how the first of some stages is done, which is a join."""
        join = stages[0]
        assert isinstance(join, JoinPlan)
        name, right = join.right.source, join.right
        if name is None or any(file.source.is_pipe for file in self._files[name]):
            return SparkChoice("driver", "the right side can be read only here")
        plain = not any(isinstance(each, (JoinPlan, ZipPlan)) for each in right.stages)
        shuffled = limit is None and joins_by_shuffle(stages)
        return choose_on_spark(
            SparkSides(
                self._rows(None),
                self._rows(name),
                indexed=self._proven(join) is not None,
                # A table takes more room than the rows do in their file.
                tasks_hold=plain
                and self._is_held_here(name, tasks=_FEW_TASKS, share=4),
                held_here=self._is_held_here(name, tasks=_FEW_TASKS),
                shuffled=shuffled,
            )
        )

    def _proven(self, join: JoinPlan) -> _Lookup | None:
        """Find indexes of all files of the right side of a join that can tell of its key."""
        if join not in self._lookups:
            self._lookups[join] = self._found_indexes(join)
        return self._lookups[join]

    def _found_indexes(self, join: JoinPlan) -> _Lookup | None:
        if join.right_fields is None or not self.options.index:
            return None
        keys = KeySet(join.right_fields.names, ())
        proven, counts = list[Proven](), Counts()
        for file in self._files[join.right.source]:
            found = file.by_key(keys, self.options.max_depth, prove=True)
            # Whether numbers that are equal have one key must not depend on the rows.
            if not isinstance(found, KeyRows) or not found.stored.whole.plain_numbers:
                return None
            proven.append(found.proven)
            lines, blank = found.lines()
            counts += Counts(rows=lines, emitted=lines - blank, blank=blank)
        return _Lookup(tuple(proven), counts)

    def _looks_up(self, plan: StreamPlan, join: JoinPlan) -> bool:
        """Whether tasks can look up all keys of a join; raises what is wrong with left rows.

        As in one process they are read first, only for their keys.
        """
        if join in self._looked_up:
            return self._looked_up[join]
        self._read_joined(plan)
        keying = Keying(join.key, joins=True, looked_up=join)
        query = replace(self._task_query("keys", (plan,), (join,)), keying=keying)
        seen, usable = _Seen(query), True
        for arrived, looked in self._looked(query, self._main_order(plan)):
            seen.add(arrived, looked)
            failed = arrived.chunk.failure is not None or arrived.is_distrusted
            usable = not failed and not seen.late
            if not usable or (seen.failed and self.options.on_error == "abort"):
                break
        if usable and seen.failed and self.options.on_error == "abort":
            arrived, row = seen.failed
            raise arrived.error(row.refused)
        self._looked_up[join] = usable
        return usable

    def _read_joined(self, plan: StreamPlan) -> None:
        """Count the right sides of joins, and say what is wrong with them.

        What every task reads is read here too.
        """
        for at, stage in enumerate(plan.stages):
            if not isinstance(stage, JoinPlan):
                continue
            lookup = self._lookups.get(stage)
            if lookup is None or not self._looked_up.get(stage):
                self._stage(plan, at)
            elif stage not in self._counted and stage not in self._tables:
                assert stage.right.source is not None
                self._counted[stage] = (stage.right.source, lookup.counts, ())
                self._readings.append(self._counted[stage])

    def _table(self, plan: StreamPlan, at: int, join: JoinPlan) -> JoinTable:
        if join in self._counted:
            # Whoever reads it here counts it too.
            self._readings.remove(self._counted.pop(join))
        return QueryRun._table(self, plan, at, join)

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

    # Rows that key indexes lead to

    def found(
        self, files: Sequence[Rows], named: Mapping[str, Sequence[Rows]]
    ) -> Found | None:
        """Say which rows key indexes lead to, if they are used, and who asks them."""
        self._files = {None: files}
        self._files.update(named)
        way = self._main_pass()
        found = () if way is None else self._found(way)
        if way is None or not found:
            return None
        return Found(
            sum(file.rows for file in found if file),
            self._asks_here(way),
            self._row_order(None, found).size,
            sum(file.source.size for file in files),
        )

    def _asks_here(self, way: Pass) -> bool:
        """Whether key indexes lead to so few rows that no task need be run to ask them.

        Where a join is shuffled, there are many rows on the other side, which tasks read.
        """
        found = self._found(way)
        return (
            bool(found)
            and are_few(found)
            and not any(
                isinstance(stage, JoinPlan)
                and self._choice(way.stages[at:], None).strategy == "shuffle"
                for at, stage in enumerate(way.stages)
            )
        )

    def _found(self, way: Pass) -> Sequence[FoundRows | None]:
        """Find by key indexes which rows of the main source may count; nothing if all may."""
        keys = _filter(way.keys)
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


def _filter(keys: Keys | None) -> KeyFilter | None:
    """Return keys that are the values of a filter, not those of the other side of a join."""
    return keys if isinstance(keys, KeyFilter) else None


def _can_be_joined(
    join: JoinPlan, behind: StreamPlan | None, left: _Seen, right: _Seen
) -> bool:
    """Whether it is known what becomes of elements that cannot be joined."""
    objects = left.objects and (join.name is not None or right.objects)
    if objects or join.kind in ("diff", "intersect"):
        return True
    # Tasks tell of a row that fails, if all of it comes to one of them.
    return behind is not None and not left.has_several


def _as_object(entries: Iterable[bytes]) -> Iterator[bytes]:
    """Yield one line, in pieces, of entries that each begin with a comma."""
    begun = False
    for text in entries:
        if text:
            yield text if begun else b"{" + text[1:]
            begun = True
    yield b"}\n" if begun else b"{}\n"


def _without_nulls(lines: bytes) -> bytes:
    kept = lines.splitlines(keepends=True)
    return b"".join(line for line in kept if line != b"null\n")


def _first_lines(texts: Iterable[bytes], limit: int | None) -> Iterator[bytes]:
    """Yield texts of whole lines, up to so many lines."""
    for text in texts:
        count = text.count(b"\n")
        if limit is None or count < limit:
            yield text
        else:
            yield b"".join(text.splitlines(keepends=True)[:limit])
            return
        limit = None if limit is None else limit - count
