"""Running a query with Spark: tasks ask the rows, the driver puts the answers together.

How the work is divided is decided in `headrace.physical.distribution`. This goes on from the
run of a query in one process, `headrace.engines.query.run`: only the way through the rows of
the main source is another, so whatever tasks cannot do is done here, by the same code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.engines.query.run import ELEMENTS, QueryRun
from headrace.engines.spark.query.driver import filter_of
from headrace.engines.spark.query.shuffles import ShufflingRun
from headrace.kernel.programs import Counts, StreamQuery
from headrace.kernel.rows import RowBatch
from headrace.physical.distribution import division, may_end_early, sifting
from headrace.physical.query_plan import RowPlan, StreamPlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from headrace.engines.query.scan import Pass
    from headrace.engines.spark.query.chunk_order import Arrived
    from headrace.engines.spark.query.task import (
        Chunk,
        TaskQuery,
    )
    from headrace.kernel.programs import RowQuery
    from headrace.physical.query_plan import StagePlan


@dataclass(slots=True)
class SparkRun(ShufflingRun):
    """A run of a query whose rows are asked in tasks, wherever they can be."""

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
        if divided == "sorted" and not self._main_is_held_here(plan, by_one_task=True):
            return self._sorted_lines(plan, nulls=nulls, limit=limit)
        if divided == "grouped" and not self._main_is_held_here(plan, by_one_task=True):
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

    # What they reduce their rows to

    def _results(self, plans: Sequence[StreamPlan]) -> list[bytes]:
        if len(plans) == 1:
            if self._asks_here(self._pass(plans[0], plans[0].limit)):
                return QueryRun._results(self, plans)
            divided = division(plans[0], self._in_tasks(plans[0]))
            left = self._behind_shuffle(_as_value(plans[0]), divided, nulls=True)
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
            plan = StreamPlan(None, way.stages, "count", keys=filter_of(way.keys))
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


def _as_value(plan: StreamPlan) -> StreamPlan:
    """Return a plan whose elements become one array, where it would write them as lines."""
    return replace(plan, reduction="collect") if plan.reduction == "lines" else plan
