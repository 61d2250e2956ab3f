"""How many files are open at a time.

A data set may have more files than a process may open. Those that were used last stay
open; one that is let go is opened again when it is needed.
"""

from __future__ import annotations

import resource
import threading
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_OPEN = 128


def _most_open() -> int:
    """Return how many files may stay open: a quarter of what a process may have."""
    limit, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_OPEN if limit < 0 else max(min(MOST_OPEN, limit // 4), 1)


class Resting(Protocol):
    """Something that has a file open."""

    def rest(self) -> bool:
        """Let go of the file; false if it is at work with it."""
        ...


class OpenFiles:
    """Those that have a file open, the one that was used last at the end."""

    def __init__(self, most: int | None = None) -> None:
        self._most = _most_open() if most is None else most
        self._lock = threading.Lock()
        self._open: OrderedDict[int, Callable[[], Resting | None]] = OrderedDict()

    def use(self, file: Resting) -> None:
        """Remember that `file` is used now; if there are too many, others rest."""
        with self._lock:
            self._open[id(file)] = weakref.ref(file)
            self._open.move_to_end(id(file))
            surplus = len(self._open) - self._most
            others = list(self._open.items())[:-1] if surplus > 0 else []
        for key, other in others:
            if surplus <= 0:
                return
            found = other()
            if found is None or found.rest():
                surplus -= 1
                with self._lock:
                    self._open.pop(key, None)


OPEN_FILES = OpenFiles()
