"""Counts and bad rows of a query whose elements come out of a shuffle.

Tasks survey all rows; a shuffle then leaves or joins some of their elements. Counts and errors
must be as if all rows had gone through the query in their order, so they are put together
from the survey.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.engines.spark.query.run import rerun
from headrace.engines.spark.query.task import TaskRun
from headrace.kernel.programs import Counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.engines.query.skipped import SkippedLines
    from headrace.engines.spark.query.row_order import PlacedChunk, RowOrder
    from headrace.engines.spark.query.task_query import (
        Chunk,
        RefusedRow,
        RowPlace,
        TaskQuery,
    )

MOST_HELD = 100_000
"""The number of bad rows that are held until the rows before them have been read."""


@dataclass(frozen=True, slots=True)
class _SkippedBefore:
    """The lines that were skipped before a fragment."""

    order: RowOrder
    number: int

    @property
    def counts(self) -> Counts:
        return self.order.counts_before(self.number)


class ShuffledRows:
    """The surveyed rows of a shuffle: all `chunks`, in the `order` of the rows.

    A row has one element at most, and only a row that is not JSON is refused.
    """

    def __init__(
        self, query: TaskQuery, chunks: Sequence[PlacedChunk], order: RowOrder
    ) -> None:
        self._query = query
        self._order = order
        self._chunks = chunks
        self._fragments = {placed.number: placed for placed in chunks}
        self._bad = deque(
            (placed, row) for placed in chunks for row in placed.chunk.refused
        )

    def placed(self, task: int, chunk: Chunk) -> PlacedChunk:
        """Return a chunk that came out of the shuffle with its place."""
        number = self._order.partitions[task][chunk.fragment]
        return replace(self._fragments[number], chunk=chunk)

    def bad_before(
        self, place: RowPlace | None
    ) -> Iterator[tuple[PlacedChunk, RefusedRow]]:
        """Yield the bad rows up to a place, or all, each once."""
        while self._bad:
            placed, row = self._bad[0]
            if place is not None and (placed.number, row.refused.row) > place:
                return
            yield self._bad.popleft()

    def row(self, place: RowPlace) -> bytes | None:
        """Return a row as it stands in its file, None if it is too long."""
        number, row = place
        fragment = self._fragments[number].fragment
        batches = TaskRun(self._query).rows(fragment, row, row + 1)
        (content,) = next(batches).contents()
        return content

    def counts(self, left: Counts, place: RowPlace | None) -> Counts:
        """Return the counts of all rows, or of those up to a place.

        `left` are the counts of the elements that the shuffle left.
        """
        all_rows = sum(
            (self._counts_of(each, place) for each in self._chunks), Counts()
        )
        return Counts(
            all_rows.rows,
            left.emitted,
            all_rows.filtered + all_rows.emitted - left.rows + left.filtered,
            all_rows.skipped + left.skipped,
            all_rows.blank,
        )

    def skipped(self, place: RowPlace | None) -> SkippedLines:
        """Return the lines that no task read, all or up to a place."""
        return self._order if place is None else _SkippedBefore(self._order, place[0])

    def _counts_of(self, placed: PlacedChunk, place: RowPlace | None) -> Counts:
        chunk = placed.chunk
        end = chunk.first + chunk.rows
        if place is None or (placed.number, end) <= place:
            return chunk.counts
        if (placed.number, chunk.first) > place:
            return Counts()
        (again,) = rerun(self._query, placed, stop=min(place[1] + 1, end))
        return again.counts
