"""Rows whose elements come out of a shuffle, on their way through the rest of a query.

Tasks look at all rows, and a shuffle leaves some elements, or joins them: these are asked
here one after the other, as if nothing else were in the files. What is counted and what is
said of rows must be as if all rows had been asked in their order, so it is put together of
what tasks saw.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from headrace.engines.spark.query.task import TaskRun
from headrace.kernel.programs import Counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.engines.query.skipped import Uncounted
    from headrace.engines.spark.query.chunk_order import Arrived, RowOrder
    from headrace.engines.spark.query.task import Chunk, RefusedRow, TaskQuery

MOST_HELD = 100_000
"""How many rows that are wrong are held until those before them have been asked."""

Place: TypeAlias = tuple[int, int]
"""The number of a fragment, and of a row in it."""


@dataclass(frozen=True, slots=True)
class _UpTo:
    """What was passed over up to a fragment."""

    order: RowOrder
    number: int

    @property
    def counts(self) -> Counts:
        return self.order.counts_before(self.number)


class ShuffledRows:
    """What tasks saw: `seen` are all chunks, in `order` of the rows.

    A row has one element at most, and is only refused if it is no JSON.
    """

    def __init__(
        self, query: TaskQuery, seen: Sequence[Arrived], order: RowOrder
    ) -> None:
        self._query = query
        self._order = order
        self._seen = seen
        self._fragments = {arrived.number: arrived for arrived in seen}
        self._wrong = deque(
            (arrived, row) for arrived in seen for row in arrived.chunk.refused
        )

    def arrived(self, task: int, chunk: Chunk) -> Arrived:
        """Return a chunk of elements that a task has left with its place."""
        number = self._order.partitions[task][chunk.fragment]
        return replace(self._fragments[number], chunk=chunk)

    def wrong_before(self, place: Place | None) -> Iterator[tuple[Arrived, RefusedRow]]:
        """Yield the rows up to a place that are wrong, or all, each once."""
        while self._wrong:
            arrived, row = self._wrong[0]
            if place is not None and (arrived.number, row.refused.row) > place:
                return
            yield self._wrong.popleft()

    def row(self, place: Place) -> bytes | None:
        """Return a row as it stands in its file, None if it is too long."""
        number, row = place
        fragment = self._fragments[number].fragment
        batches = TaskRun(self._query).rows(fragment, row, row + 1)
        (content,) = next(batches).contents()
        return content

    def counts(self, asked: Counts, place: Place | None) -> Counts:
        """Return what is counted of all rows, or of those up to a place.

        `asked` is what was counted of the elements that were left.
        """
        seen = sum((self._counted(each, place) for each in self._seen), Counts())
        return Counts(
            seen.rows,
            asked.emitted,
            seen.filtered + seen.emitted - asked.rows + asked.filtered,
            seen.skipped + asked.skipped,
            seen.blank,
        )

    def passed_over(self, place: Place | None) -> Uncounted:
        """Return the lines that no task was sent, of all or up to a place."""
        return self._order if place is None else _UpTo(self._order, place[0])

    def _counted(self, arrived: Arrived, place: Place | None) -> Counts:
        chunk = arrived.chunk
        end = chunk.first + chunk.rows
        if place is None or (arrived.number, end) <= place:
            return chunk.counts
        if (arrived.number, chunk.first) > place:
            return Counts()
        (again,) = TaskRun(self._query).ask(
            arrived.fragment, 0, first=chunk.first, stop=min(place[1] + 1, end)
        )
        return again.counts
