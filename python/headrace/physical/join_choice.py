"""How the right rows of a join are reached: all in memory, or by a key index.

A hash join reads every right row, and then looks each left one up in memory. An index
reads only the right rows that are asked for, one here and one there, and holds few. The
rows are the same. Nothing else decides between the two; no file is opened here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Strategy: TypeAlias = Literal["hash", "index"]

SMALL_BYTES = 8 << 20
"""A right side up to here is read into memory in no time."""

_ROW_BYTES = 128
_HELD_WITH_A_ROW = 72
"""What a row takes in memory beside its bytes."""

_LOOKUPS_PER_ROW = 3
"""In the time that one row is looked up by an index, so many are read in order."""


@dataclass(frozen=True, slots=True)
class Sides:
    """What is known of both sides; None is a size that nobody knows.

    `indexed`: the right side has an index that can be used; `demanded`: whoever asks
    wants it to be.
    """

    left_bytes: int | None
    right_bytes: int | None
    indexed: bool
    demanded: bool
    memory: int


@dataclass(frozen=True, slots=True)
class Choice:
    """How, and why."""

    strategy: Strategy
    reason: str


def is_small(size: int | None) -> bool:
    """Whether a side is so small that nothing is faster than to hold it."""
    return size is not None and size <= SMALL_BYTES


def estimated_memory(size: int) -> int:
    """Guess how much memory the rows of so many bytes take.

    >>> estimated_memory(1 << 20)
    1638400
    """
    return size + size // _ROW_BYTES * _HELD_WITH_A_ROW


def choose(sides: Sides) -> Choice:
    """Pick what takes less time, and memory that there is.

    >>> choose(Sides(1 << 20, 1 << 30, indexed=True, demanded=False, memory=1 << 34))
    Choice(strategy='index', reason='the left side is much smaller')
    >>> choose(Sides(1 << 30, 1 << 30, indexed=True, demanded=False, memory=1 << 34))
    Choice(strategy='hash', reason='the left side is not much smaller than the right one')
    """
    right = sides.right_bytes
    if is_small(right):
        return Choice("hash", "the right side is small, and preloaded")
    if right is None or not sides.indexed:
        return Choice("hash", "there is no index to use")
    if sides.demanded:
        return Choice("index", "it was asked for")
    if estimated_memory(right) > sides.memory:
        return Choice("index", "the right side does not fit into memory")
    if sides.left_bytes is None:
        return Choice("index", "how much the left side has is not known")
    if sides.left_bytes * _LOOKUPS_PER_ROW <= right:
        return Choice("index", "the left side is much smaller")
    return Choice("hash", "the left side is not much smaller than the right one")
