"""Being a consumer: lines from the checkpoint on, and the checkpoint moved behind them.

A line is *given out*, then *done*: whoever asks for more is done with what it had. So
a consumer that dies has every line that it had not finished given out again.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.errors import LogReplacedError, UsageError
from headrace.store.log.consumers import Checkpoints, checked_name
from headrace.store.log.follow import Follower
from headrace.store.log.names import LogNames
from headrace.store.times import Between

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.store.log.follow import Gone
    from headrace.store.log.reader import Block, LogReader

EVERY_LINES = 1000
EVERY_SECONDS = 5.0


class Consuming:
    """The right to be a consumer, held from construction to `close`.

    With `taken`, lines are done only up to the one that it returns.
    """

    def __init__(
        self,
        reader: LogReader,
        consumer: str,
        *,
        every_lines: int = EVERY_LINES,
        every_seconds: float = EVERY_SECONDS,
        gone: Gone = "error",
        taken: Callable[[], int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.consumer = checked_name(consumer)
        self._every_lines = every_lines
        self._every_seconds = every_seconds
        self._taken = taken
        self._clock = clock
        self._checkpoints = Checkpoints(LogNames(reader.path), reader.manifest.salt)
        self._lock = self._checkpoints.lock(consumer)
        try:
            next_line = self._next_line(reader)
            self._follower = Follower(reader, next_line, Between(), gone)
        except BaseException:
            self._lock.release()
            raise
        self.given = self.done = self.committed = next_line - 1
        self._committed_at = clock()
        self._closed = False

    def _next_line(self, reader: LogReader) -> int:
        found = self._checkpoints.load(self.consumer)
        if found is None:
            return reader.first_line
        if found.line > (last := reader.last_line):
            reason = (
                f"{self.consumer!r} is at line {found.line}, but it ends with {last}"
            )
            raise LogReplacedError(reader.path, reason)
        return found.line + 1

    @property
    def gone(self) -> int:
        """How many lines were gone, and passed over."""
        return self._follower.gone

    def blocks(self) -> Iterator[Block]:
        """Yield the lines that are committed and were not given out; asking moves on."""
        if self._closed:
            raise UsageError(f"consumer {self.consumer!r} is closed; open it again")
        for block in self._follower.blocks():
            yield block
            self.finish(block.last_line)
        self.finish(self._follower.next_line - 1)

    def finish(self, line: int) -> None:
        """Take note that all lines up to one are done, and commit now and then."""
        self.given = max(line, self.given)
        if self._taken is not None:
            line = min(line, self._taken())
        self.done = max(line, self.done)
        self.commit_if_due()

    def finish_given(self) -> None:
        """Take note that all lines that were given out are done."""
        self.done = self.given

    def commit_if_due(self) -> None:
        """Commit what is done, if that is much or long ago."""
        if self.done - self.committed >= self._every_lines or (
            self.done > self.committed
            and self._clock() - self._committed_at >= self._every_seconds
        ):
            self.commit(self.done)

    def commit(self, line: int) -> None:
        """Move the checkpoint to a line that was given out, durably."""
        if not self.committed <= line <= self.given:
            raise UsageError(
                f"consumer {self.consumer!r}: line {line} cannot be committed; it is one "
                f"from {self.committed} to {self.given}, the last that was given out"
            )
        if line > self.committed:
            self._checkpoints.save(self.consumer, line)
            self.committed = line
        self.done = max(self.done, line)
        self._committed_at = self._clock()

    def abandon(self) -> None:
        """Let others be this consumer, and leave the checkpoint where it is."""
        self._closed = True
        self._lock.release()

    def close(self) -> None:
        """Commit what is done, and let others be this consumer."""
        if self._closed:
            return
        self._closed = True
        try:
            self.commit(self.done)
        finally:
            self._lock.release()
