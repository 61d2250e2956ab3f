"""Rotation: the limits of a segment, checked before each record, so none is split."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from headrace.kernel.log import LogLines, Place

MOST_ROWS = (1 << 32) - 1
"""The largest number of lines in an index."""

_NO_LIMIT = (1 << 63) - 1


class SegmentState(NamedTuple):
    """The argument of a rule for rotation: a segment, and the size of the next record."""

    rows: int
    bytes: int
    seconds: float
    next_bytes: int


@dataclass(frozen=True, slots=True)
class Rotation:
    """The limits of a segment [default: none]; a true result of `rule` begins another.

    A segment has at least one record, of any size.
    """

    bytes: int | None = None
    rows: int | None = None
    seconds: float | None = None
    rule: Callable[[SegmentState], object] | None = None

    def fitting(self, lines: LogLines, start: int, place: Place, age: float) -> int:
        """Return how many lines from `start` on fit into a segment that ends at `place`.

        0 begins another segment. `age` is the number of seconds since the segment began.
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
