"""Lines of standard input, as many at a time as have come.

Imported when a command runs, not when its help is shown.
"""

from __future__ import annotations

import os
import select
import sys

from headrace.errors import UsageError

MOST_LINES = 1000
MOST_BYTES = 1 << 20

_READ = 1 << 18


class WaitingLines:
    """Takes what is there, and waits only while there is no whole line."""

    def __init__(self, max_line: int) -> None:
        if sys.stdin is None:
            raise UsageError("standard input is closed; give it records")
        self._input = sys.stdin.fileno()
        self._max_line = max_line
        self._held = bytearray()
        self._newlines = 0
        self._ended = False
        self._cut = False

    def pass_over_rest(self) -> None:
        """Go on behind a line of which only the beginning was taken, as it is too long."""
        if not self._cut:
            return
        self._ended = self._cut = False
        while not self._ended and self._newlines == 0:
            self._held.clear()
            self._read()
            if self._cut:  # what is left of it is too long as well
                self._ended = self._cut = False
        behind = self._held.find(b"\n") + 1
        self._newlines -= min(behind, 1)
        del self._held[: behind or len(self._held)]

    def take(self) -> bytes:
        """Return some whole lines, none at the end. A last one may have no newline."""
        while not self._ended and (self._newlines == 0 or self._more_wait()):
            self._read()
        end = self._end()
        data = bytes(self._held[:end])
        del self._held[:end]
        self._newlines -= data.count(b"\n")
        return data

    def _more_wait(self) -> bool:
        if self._newlines >= MOST_LINES or len(self._held) >= MOST_BYTES:
            return False
        return bool(select.select([self._input], [], [], 0)[0])

    def _read(self) -> None:
        try:
            data = os.read(self._input, _READ)
        except BlockingIOError:
            select.select([self._input], [], [])
            return
        self._ended = not data
        self._newlines += data.count(b"\n")
        self._held += data
        if self._newlines == 0 and len(self._held) > self._max_line:
            # It is refused as it is; there is no need to hold more of it.
            self._ended = self._cut = True

    def _end(self) -> int:
        """Return the end of the lines that the next batch takes."""
        if self._newlines == 0:
            return len(self._held)
        end = self._held.rfind(b"\n", 0, MOST_BYTES) + 1
        end = end or self._held.find(b"\n") + 1
        if self._held.count(b"\n", 0, end) > MOST_LINES:
            end -= len(self._held[:end].split(b"\n", MOST_LINES)[-1])
        return end
