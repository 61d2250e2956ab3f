"""How the right rows of a join are reached: all in memory, or by a key index.

A hash join reads every right row, and then looks each left one up in memory. An index
reads only the right rows that are asked for, one here and one there, and holds few. With
Spark, memory is that of every task (*broadcast*), or of the driver; where it is not enough, a
*shuffle* joins. The rows are the same. Nothing else decides between these; no file is opened here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

BYTES_PER_ROW = 128
"""Of a file whose rows nobody has counted, to compare it with one that was."""


def estimated_rows(size: int) -> int:
    """Guess how many rows so many bytes have."""
    return size // BYTES_PER_ROW


def left_keys_first(left_rows: int | None, right_rows: int | None) -> bool:
    """Whether to read the keys of the left side first; None is a side of unknown size.

    >>> left_keys_first(1000, 1_000_000), left_keys_first(1000, 1000)
    (True, False)
    """
    if left_rows is None:
        return False
    return right_rows is None or left_rows * 2 <= right_rows


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

    `indexed`: the right side has an index that can be used, which leads to `rows_per_key` right
    rows for a key; `demanded`: whoever asks wants it to be.
    """

    left_bytes: int | None
    right_bytes: int | None
    indexed: bool
    demanded: bool
    memory: int
    rows_per_key: float = 1.0


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
        if sides.left_bytes * sides.rows_per_key * _LOOKUPS_PER_ROW <= right:
            return Choice("index", "the left side is much smaller")
        return Choice(
            "hash", "a key has many right rows, which an index finds one by one"
        )
    return Choice("hash", "the left side is not much smaller than the right one")


SparkStrategy: TypeAlias = Literal["index", "broadcast", "driver", "shuffle"]


@dataclass(frozen=True, slots=True)
class SparkSides:
    """What is known of both sides of a join with Spark, in rows; None is any number.

    `indexed`: the right side has indexes that can be used, which lead to `rows_per_key` right
    rows for a key. It may be that `tasks_hold` all of
    it, that the driver does (`held_here`), and that both can be `shuffled`.
    """

    left_rows: int | None
    right_rows: int | None
    indexed: bool
    tasks_hold: bool
    held_here: bool
    shuffled: bool
    rows_per_key: float = 1.0


@dataclass(frozen=True, slots=True)
class SparkChoice:
    """How, and why."""

    strategy: SparkStrategy
    reason: str


def choose_on_spark(sides: SparkSides) -> SparkChoice:
    """Pick what reads and sends the least.

    >>> from dataclasses import replace
    >>> large = SparkSides(10**6, 10**9, True, False, False, True)
    >>> (
    ...     choose_on_spark(large).strategy,
    ...     choose_on_spark(replace(large, indexed=False)).strategy,
    ... )
    ('index', 'shuffle')
    >>> choose_on_spark(replace(large, left_rows=10**9)).reason
    'the left side is not much smaller, and the right one is too large for every task'
    """
    left_first = left_keys_first(sides.left_rows, sides.right_rows)
    if _is_for_index(sides):
        return SparkChoice("index", "the left side is much smaller")
    if sides.tasks_hold and not left_first:
        return SparkChoice("broadcast", "the right side is small")
    if sides.held_here and left_first:
        reason = "the left side is much smaller, and the right one fits into memory"
        return SparkChoice("driver", reason)
    if not sides.shuffled:
        return SparkChoice(
            "driver", "what comes behind, or before, needs rows in order"
        )
    if not left_first:
        reason = "the left side is not much smaller, and the right one is too large for every task"
        return SparkChoice("shuffle", reason)
    return SparkChoice(
        "shuffle", "there is no index that is faster, and the right side is large"
    )


def _is_for_index(sides: SparkSides) -> bool:
    left, right = sides.left_rows, sides.right_rows
    if left is None or right is None or not sides.indexed:
        return False
    looked_up = left * max(sides.rows_per_key, 1.0)
    return not is_small(right * BYTES_PER_ROW) and looked_up * _LOOKUPS_PER_ROW <= right
