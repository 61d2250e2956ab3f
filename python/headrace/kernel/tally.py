"""Accounting for lines: each is a record, blank, bad or too long."""

from __future__ import annotations

from headrace import _native
from headrace.record import record, replace

FIRST_BAD = 10
"""How many bad lines are remembered with their place."""


@record
class BadLine:
    """A line that is no record. `line` counts from 1; `offset` is where it goes wrong."""

    path: str
    line: int
    offset: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: line {self.line}, byte {self.offset}: {self.reason}"


@record
class Stats:
    """Lines by kind; lines = records + blank + bad + too_long.

    >>> str(Stats(lines=3, records=2, blank=1))
    '3 lines = 2 records + 1 blank + 0 bad + 0 too long'
    """

    lines: int = 0
    records: int = 0
    blank: int = 0
    bad: int = 0
    too_long: int = 0
    first_bad: tuple[BadLine, ...] = ()

    def __add__(self, other: Stats) -> Stats:
        return Stats(
            self.lines + other.lines,
            self.records + other.records,
            self.blank + other.blank,
            self.bad + other.bad,
            self.too_long + other.too_long,
            (self.first_bad + other.first_bad)[:FIRST_BAD],
        )

    def after(self, rows: int) -> Stats:
        """Return the same with `rows` more lines in front of them."""
        moved = (replace(bad, line=bad.line + rows) for bad in self.first_bad)
        return replace(self, first_bad=tuple(moved))

    def __str__(self) -> str:
        return (
            f"{self.lines} lines = {self.records} records + {self.blank} blank "
            f"+ {self.bad} bad + {self.too_long} too long"
        )


class Tally(_native.Tally):
    """Counts the lines of one file by kind."""

    @property
    def stats(self) -> Stats:
        """What was counted so far."""
        bad = tuple(BadLine(*each) for each in self.first_bad)
        return Stats(*self.counts, first_bad=bad)
