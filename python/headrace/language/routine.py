"""Recursion that does not use Python's stack.

A *routine* is a generator. It calls another routine by yielding it, and is resumed with its
result; any other yielded value is passed back unchanged, so a plain function can take the place
of a routine. `run` keeps the waiting routines in a list, so the nesting of a query is limited by
`headrace.language.parser` and never by the interpreter.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")

Routine: TypeAlias = Generator[Any, Any, T]


def run(routine: Routine[T]) -> T:
    """Return the result of `routine`; an exception in one routine ends all of them.

    >>> def total(n):
    ...     return n + (yield total(n - 1)) if n else 0
    >>> run(total(100_000))
    5000050000
    """
    waiting: list[Routine[Any]] = [routine]
    result: Any = None
    while True:
        try:
            called = waiting[-1].send(result)
        except StopIteration as returned:
            result = returned.value
            waiting.pop()
            if not waiting:
                return returned.value  # type: ignore[no-any-return]
        else:
            if isinstance(called, Generator):
                waiting.append(called)
                called = None
            result = called


_FRAMES = 20_000
"""Python frames that suffice for any walk through a query of the greatest depth."""


class _Deep:
    """Number of users of the raised recursion limit, and the limit before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if self._inside == 0:
                self._before = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self._before, _FRAMES))
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    sys.setrecursionlimit(self._before)


deep = _Deep()
"""Raise the recursion limit while plain recursion walks the tree of a query."""
