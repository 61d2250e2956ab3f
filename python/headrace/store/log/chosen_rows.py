"""Some rows of a segment, by number: ranges that are in order and do not touch."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class ChosenRows:
    """Rows that were chosen, and which of them is the first, the second and so on.

    A range takes 24 bytes, however many rows it has.

    >>> some = ChosenRows([(2, 4), (4, 5), (9, 11)])
    >>> len(some), some.row(0), some.row(3)
    (5, 2, 9)
    >>> list(some.ranges(1, 4))
    [(3, 5), (9, 10)]
    """

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        self._first, self._end, self._before = array("q"), array("q"), array("q")
        self._count = 0
        for first, end in ranges:
            if self._end and self._end[-1] == first:
                self._end[-1] = end
            else:
                self._first.append(first)
                self._end.append(end)
                self._before.append(self._count)
            self._count += end - first

    def __len__(self) -> int:
        return self._count

    def row(self, position: int) -> int:
        """Return which row of the segment is at a position among those chosen."""
        at = bisect_right(self._before, position) - 1
        return self._first[at] + position - self._before[at]

    def ranges(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield the rows at positions `start` up to `stop`, as ``[first, end)``."""
        at = max(bisect_right(self._before, start) - 1, 0)
        while at < len(self._first) and self._before[at] < stop:
            first, before = self._first[at], self._before[at]
            length = self._end[at] - first
            yield (
                first + max(start - before, 0),
                first + min(stop - before, length),
            )
            at += 1
