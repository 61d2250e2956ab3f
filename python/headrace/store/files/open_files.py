"""Open files: objects that are open until `close`, and the limit on files that stay open.

A data set may have more files than a process may open. The files used last stay open; a file that
was closed is opened again when it is needed.
"""

from __future__ import annotations

import resource
import threading
import weakref
from abc import ABC, abstractmethod
from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_OPEN = 128


def _most_open() -> int:
    """Return how many files may stay open: a quarter of the limit of the process."""
    limit, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_OPEN if limit < 0 else max(min(MOST_OPEN, limit // 4), 1)


class Resting(Protocol):
    """An object that has a file open."""

    def rest(self) -> bool:
        """Close the file; false if it is in use."""
        ...


class OpenFiles:
    """The objects that have a file open, the object used last at the end."""

    def __init__(self, most: int | None = None) -> None:
        self._most = _most_open() if most is None else most
        self._lock = threading.Lock()
        self._open: OrderedDict[int, Callable[[], Resting | None]] = OrderedDict()

    def use(self, file: Resting) -> None:
        """Record that `file` is used now, and close the least recently used ones over the limit."""
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


class Closing(ABC):
    """An object that is open until `close`, which leaving a `with` calls."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources; a second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
