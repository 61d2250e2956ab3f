"""What is asked by way of a shuffle: sorts, groups, first elements of a key, joins of large sides.

Tasks look at all elements first; what they saw says how these are divided, and whether the
shuffle gives the answer of the local engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from headrace.engines.query.run import ELEMENTS, QueryRun
from headrace.engines.spark.query.chunk_order import MOST_TASKS, Arrived
from headrace.engines.spark.query.joins import JoiningRun
from headrace.engines.spark.query.shuffle_counts import MOST_HELD, ShuffledRows
from headrace.engines.spark.query.survey import Seen
from headrace.engines.spark.query.task import (
    Chunk,
    Firsts,
    Grouped,
    Joined,
    Keying,
    Sorting,
    TaskQuery,
)
from headrace.engines.spark.shuffle.key_sample import bounds, merged
from headrace.kernel.programs import Counts, StreamQuery
from headrace.kernel.rows import RowBatch, rows_of
from headrace.physical.distribution import are_local, sifting
from headrace.physical.joins import left_keys_first
from headrace.physical.query_plan import JoinPlan, PlainStage, StreamPlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.engines.spark.query.shuffle_counts import Place
    from headrace.engines.spark.query.survey_task import Looked
    from headrace.kernel.programs import Program, RowQuery
    from headrace.physical.distribution import Division


@dataclass(slots=True)
class ShufflingRun(JoiningRun):
    """A run that has elements shuffled, and asks what comes out of it."""

    _shuffled_rows: ShuffledRows | None = None
    _shuffled_chunks: Iterator[tuple[int, Chunk]] = field(
        default_factory=lambda: iter(())
    )

    # Sorts and groups

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
            # Another error may come before it: of keys, or of the rest of the query.
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

    # Elements with the same key

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
        if self._main_is_held_here(first):
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
            raise seen.failed[0].first_error(seen.failed[1])
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
    ) -> Seen | None:
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
        seen, chunks, order = Seen(query), list[Arrived](), self._main_order(plan)
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

    def _looked_at_others(self, name: str, query: TaskQuery) -> Seen | None:
        """Have tasks look at the right side of a join, or raise what is wrong with it.

        None if what it gives cannot be told. A row that fails may have given elements
        before that, which the local engine has taken in.
        """
        seen = Seen(query)
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

    # What comes out

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

    def _parts(self, size: int) -> int:
        """Return into how many parts so many bytes of elements are divided."""
        return min(max(-(-size // self.partition_bytes), 1), MOST_TASKS)

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


def _can_be_joined(
    join: JoinPlan, behind: StreamPlan | None, left: Seen, right: Seen
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
