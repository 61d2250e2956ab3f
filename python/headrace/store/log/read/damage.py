"""Damaged lines that a reader of a log skips."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.errors import LogDamagedError


@dataclass(slots=True)
class SkippedLines:
    """The number of skipped lines, and the fault of the first.

    Threads that read several logs may share it.
    """

    lines: int = 0
    first: LogDamagedError | None = None
    _mutex: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def note(self, lines: int, error: LogDamagedError) -> None:
        """Count more lines."""
        with self._mutex:
            self.lines += lines
            self.first = self.first or error

    def __str__(self) -> str:
        if self.first is None:
            return "nothing was skipped"
        many = "1 line that is" if self.lines == 1 else f"{self.lines:,} lines that are"
        was = "was" if self.lines == 1 else "were"
        return f"{many} damaged {was} skipped; {self.first.what}"
