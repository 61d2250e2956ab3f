"""Follower of a log: reads on from a line as more lines are committed.

`Follower.blocks` yields the lines that are committed now and never waits; the caller polls.
Each call reads the manifest and the size of one index, so frequent polls are cheap. Lines
are counted: a missing line is *gone*, removed by retention or given up in a repair, and
never skipped silently.
"""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from headrace.errors import (
    HeadraceWarning,
    LineOutOfRangeError,
    LinesGoneError,
    LogReplacedError,
    SourceNotFoundError,
    UsageError,
)
from headrace.store.log.read.time_range import chosen_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.store.files.units import Between
    from headrace.store.log.read.reader import Block, LogReader

Gone: TypeAlias = Literal["error", "skip"]
GONE: tuple[Gone, ...] = get_args(Gone)

POLL = 0.1
"""Seconds between polls of a followed log."""


class Follower:
    """A position in a log that moves forward."""

    def __init__(
        self, reader: LogReader, next_line: int, times: Between, gone: Gone = "error"
    ) -> None:
        if gone not in GONE:
            raise UsageError(
                f"gone {gone!r}: it is one of {', '.join(map(repr, GONE))}"
            )
        self.next_line = next_line
        self.gone = 0
        """The number of lines that were gone."""
        self._reader = reader
        self._seen = 0
        self._salt = reader.manifest.salt
        self._times = times
        self._skip = gone == "skip"

    def blocks(self) -> Iterator[Block]:
        """Yield the committed lines that were not yielded before."""
        last = self._last()
        while self.next_line <= last:
            try:
                yield from self._some(last)
            except (LineOutOfRangeError, SourceNotFoundError):
                # Retention may have run in between; gone lines are skipped then.
                before = self.next_line
                self._last()
                if self.next_line == before:
                    raise

    def _last(self) -> int:
        last = self._reader.last_line
        if self._reader.manifest.salt != self._salt:
            raise LogReplacedError(self._reader.path, "it is another log now")
        if last < self._seen:
            reason = f"it had line {self._seen}, but ends with line {last} now"
            raise LogReplacedError(self._reader.path, reason)
        self._seen = last
        self._pass_over(self._reader.first_line)
        return last

    def _some(self, last: int) -> Iterator[Block]:
        for block in self._reader.blocks(self.next_line, last):
            self._pass_over(block.first_line)
            self.next_line = block.first_line + block.rows
            if self._times.everything:
                yield block
            elif (chosen := chosen_lines(block, self._times)).rows:
                yield chosen
        self._pass_over(last + 1)

    def _pass_over(self, line: int) -> None:
        """Continue with a line; those before it are gone."""
        if self.next_line >= line:
            return
        error = LinesGoneError(self._reader.path, self.next_line, line - 1)
        if not self._skip:
            raise error
        warnings.warn(error.what, HeadraceWarning, stacklevel=2)
        self.gone += line - self.next_line
        self.next_line = line


def poll_forever(
    look: Callable[[], Iterator[Block]], poll: float
) -> Iterator[Block | None]:
    """Yield the results of `look`, None when there are no more yet, and look again."""
    while True:
        yield from look()
        yield None
        time.sleep(poll)
