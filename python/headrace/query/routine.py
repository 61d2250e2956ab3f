"""Recursion that does not use Python's stack.

A *routine* is a generator: to call another routine it yields it and is resumed
with what that one returned; whatever else it yields comes straight back, so a plain
function can stand where a routine may. `run` keeps the waiting ones in a list, so how deep a
query nests is limited by a number of ours and never by the interpreter.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

Routine: TypeAlias = Generator[Any, Any, T]


def run(routine: Routine[T]) -> T:
    """Return what `routine` returns; what a routine raises ends all of them.

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
