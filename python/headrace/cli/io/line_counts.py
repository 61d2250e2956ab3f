"""Counts of the lines a command read: each is a record, blank, bad or too long.

Lines are checked only for ``--stats`` and ``--strict``. A row that is too long cannot be
printed, so a warning always says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.errors import LineTooLongError

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.api.dataset import Batch
    from headrace.api.results import QueryStats
    from headrace.cli.console import Console
    from headrace.kernel.join import JoinCounts
    from headrace.kernel.programs import Counts
    from headrace.kernel.tally import Stats


def row_counts(counts: Counts | JoinCounts | QueryStats) -> dict[str, int]:
    """Return the counts of rows for an event."""
    names = ("rows", "emitted", "filtered", "skipped", "blank")
    return {name: getattr(counts, name) for name in names}


def row_summary(counts: Counts | JoinCounts | QueryStats, outside: int = 0) -> str:
    """Return the counts of rows for people."""
    beyond = f" + outside the times {outside}" if outside else ""
    return (
        f"rows {counts.rows} = emitted {counts.emitted} + filtered {counts.filtered} "
        f"+ skipped {counts.skipped} + blank {counts.blank}{beyond}"
    )


class Place(NamedTuple):
    """The place of a bad line. Read from the end of a file, lines have no number."""

    path: str
    line: int | None
    offset: int
    reason: str

    def __str__(self) -> str:
        line = "" if self.line is None else f"line {self.line}, "
        return f"{self.path}: {line}byte {self.offset}: {self.reason}"


class Account:
    """The counts of one command."""

    def __init__(
        self, options: Namespace, console: Console, *, must_deliver: bool = False
    ) -> None:
        self._console = console
        self._wanted: bool = options.stats
        self._strict: bool = options.strict
        self._limit: int = options.max_line
        self._must_deliver = must_deliver
        self._stats: Stats | None = None
        self._bad: list[Place] = []

    @property
    def checking(self) -> bool:
        """Whether the kind of each line is needed."""
        return self._wanted or self._strict

    @property
    def refused(self) -> bool:
        """Whether ``--strict`` found a bad line so far."""
        return self._strict and bool(self._bad)

    def add(self, batch: Batch) -> None:
        """Count rows of a data set."""
        if self.checking:
            from headrace.kernel.tally import Tally
            from headrace.kernel.values import MAX_DEPTH

            tally = Tally(batch.path, MAX_DEPTH)
            tally.add(batch.rows)
            self.add_stats(tally.stats, numbered=batch.numbered)
        for position, length in batch.rows.too_long:
            offset = batch.rows.offsets[position]
            self._warn(batch.path, batch.line(position), offset, length)

    def add_stats(self, stats: Stats, *, numbered: bool = True) -> None:
        """Add lines that were counted elsewhere."""
        from headrace.kernel.tally import FIRST_BAD

        places = (
            Place(bad.path, bad.line if numbered else None, bad.offset, bad.reason)
            for bad in stats.first_bad
        )
        self._stats = stats if self._stats is None else self._stats + stats
        self._bad = [*self._bad, *places][:FIRST_BAD]

    def report(self) -> None:
        """Emit the counts of ``--stats``, also of interrupted work."""
        if not self._wanted:
            return
        from headrace.kernel.tally import Stats

        stats = self._stats or Stats()
        counts = {
            "lines": stats.lines,
            "records": stats.records,
            "blank": stats.blank,
            "bad": stats.bad,
            "too_long": stats.too_long,
        }
        summary = " / ".join(
            f"{name.replace('_', ' ')} {count}" for name, count in counts.items()
        )
        more = stats.bad + stats.too_long - len(self._bad)
        places = [*map(str, self._bad), *([f"and {more} more"] if more else [])]
        self._console.emit(
            "stats",
            "\n  ".join([summary, *places]),
            **counts,
            first_bad=[bad._asdict() for bad in self._bad],
        )

    def verdict(self) -> int:
        """Return the exit code: 1 if ``--strict`` found a bad line."""
        if not self.refused:
            return 0
        first = self._bad[0]
        self._console.emit(
            "error",
            f"{first}; --strict allows no such line",
            error="BadRowError",
            **first._asdict(),
        )
        return 1

    def _warn(self, path: str, line: int | None, offset: int, length: int) -> None:
        long = LineTooLongError(path, line, offset, length, self._limit)
        if self._must_deliver:
            raise long
        self._console.emit("line_too_long", str(long), **vars(long))
