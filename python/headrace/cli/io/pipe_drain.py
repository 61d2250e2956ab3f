"""Lines written to a pipe that its reader has read.

Bytes in a pipe are lost if its reader ends. Linux tells the writer how many bytes are in the
pipe; on other systems, all written bytes count as read.
"""

from __future__ import annotations

import fcntl
import os
import select
import stat
import struct
import sys
import termios
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.store.log.read.reader import Block

_LOOK_MS = 20


class TakenOutput:
    """The lines written to a pipe on standard output, and the last that its reader has read."""

    def __init__(self) -> None:
        self._descriptor = sys.stdout.fileno()
        self._written = 0
        self._ends: deque[tuple[int, int]] = deque()
        self._taken = 0
        """The last line that has left the pipe."""

    @staticmethod
    def is_for_pipes() -> bool:
        """Whether standard output is a pipe."""
        return stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)

    def note(self, block: Block) -> None:
        """Record that the lines of a block were written."""
        for number, line in block.numbered():
            self._written += len(line) + 1
            self._ends.append((self._written, number))

    def taken(self) -> int:
        """Return the last line that has left the pipe, 0 if none has."""
        out = self._written - self._unread()
        while self._ends and self._ends[0][0] <= out:
            self._taken = self._ends.popleft()[1]
        return self._taken

    def _unread(self) -> int:
        try:
            found = fcntl.ioctl(self._descriptor, termios.FIONREAD, bytes(4))
        except OSError:
            return 0
        return int(struct.unpack("i", found)[0])

    def wait(self) -> bool:
        """Wait until everything has left the pipe; false if its reader ended before."""
        reader = select.poll()
        reader.register(self._descriptor, 0)
        while self._unread():
            if reader.poll(_LOOK_MS):
                return False
        return True
