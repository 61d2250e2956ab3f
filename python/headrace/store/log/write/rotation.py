"""When a segment is full: asked before each record, so that none is ever split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.kernel.log import LogLines, Place

MOST_ROWS = (1 << 32) - 1
"""What an index can count."""

_NO_LIMIT = (1 << 63) - 1


class SegmentState(NamedTuple):
    """What a rule for rotation is asked about: a segment, and the record that comes next."""

    rows: int
    bytes: int
    seconds: float
    next_bytes: int


@dataclass(frozen=True, slots=True)
class Rotation:
    """The limits of a segment, None where there is none; `rule` says true to begin another.

    A segment has at least one record, however large.
    """

    bytes: int | None = None
    rows: int | None = None
    seconds: float | None = None
    rule: Callable[[SegmentState], object] | None = None

    def fitting(self, lines: LogLines, start: int, place: Place, age: float) -> int:
        """Return how many lines from `start` on go into a segment that ends at `place`.

        None means that another segment begins. `age` is how long ago the segment began.
        """
        if place.rows and self.seconds is not None and age >= self.seconds:
            return 0
        rows = min(self.rows or MOST_ROWS, MOST_ROWS) - place.rows
        most = _NO_LIMIT if self.bytes is None else self.bytes
        fitting = lines.fitting(start, max(rows, 0), max(most - place.end, 0))
        if self.rule is not None:
            fitting = self._ruled(lines, start, fitting, place, age)
        return fitting if fitting or place.rows else 1

    def _ruled(
        self, lines: LogLines, start: int, fitting: int, place: Place, age: float
    ) -> int:
        assert self.rule is not None
        begin = lines.end_of(start)
        for position in range(start, start + fitting):
            before, end = lines.end_of(position) - begin, lines.end_of(position + 1)
            state = SegmentState(
                place.rows + position - start,
                place.end + before,
                age,
                end - begin - before,
            )
            if state.rows and self.rule(state):
                return position - start
        return fitting
