"""Joins: the strategy that reaches the right rows, a hash table in memory or a key index.

A hash join reads every right row, and then looks each left row up in memory. An index join
reads only the right rows that match, in random order, and holds few. With Spark, the memory is
that of every task (*broadcast*), or of the driver; where it is not enough, a *shuffle* joins. The
rows are the same. Nothing else decides between these; no file is opened here.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from headrace.physical.choice import Choice
from headrace.record import record

BYTES_PER_ROW = 128
"""Estimate for a file whose rows were not counted, to compare it with a file whose rows were."""


def estimated_rows(size: int) -> int:
    """Estimate the rows in `size` bytes."""
    return size // BYTES_PER_ROW


def left_keys_first(left_rows: int | None, right_rows: int | None) -> bool:
    """Whether to read the keys of the left side first; None is an unknown size.

    >>> left_keys_first(1000, 1_000_000), left_keys_first(1000, 1000)
    (True, False)
    """
    if left_rows is None:
        return False
    return right_rows is None or left_rows * 2 <= right_rows


Strategy: TypeAlias = Literal["hash", "index"]

SMALL_BYTES = 8 << 20
"""A right side of up to this size is always read into memory."""

_ROW_BYTES = 128
_HELD_WITH_A_ROW = 72
"""Memory of a row beside its bytes."""

_LOOKUPS_PER_ROW = 3
"""In the time of one index look-up, this many rows are read in order."""


@record
class Sides:
    """Both sides of a join; None is an unknown size.

    `indexed`: the right side has an index that can be used, which leads to `rows_per_key` right
    rows for a key; `demanded`: the caller demands that it is used.
    """

    left_bytes: int | None
    right_bytes: int | None
    indexed: bool
    demanded: bool
    memory: int
    rows_per_key: float = 1.0


def is_small(size: int | None) -> bool:
    """Whether a side is so small that holding it in memory is always fastest."""
    return size is not None and size <= SMALL_BYTES


def estimated_memory(size: int) -> int:
    """Estimate the memory of the rows in `size` bytes.

    >>> estimated_memory(1 << 20)
    1638400
    """
    return size + size // _ROW_BYTES * _HELD_WITH_A_ROW


def choose(sides: Sides) -> Choice[Strategy]:
    """Choose the faster strategy for which there is memory.

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
        return Choice("index", "the caller demands it")
    if estimated_memory(right) > sides.memory:
        return Choice("index", "the right side does not fit into memory")
    if sides.left_bytes is None:
        return Choice("index", "the size of the left side is not known")
    if sides.left_bytes * _LOOKUPS_PER_ROW <= right:
        if sides.left_bytes * sides.rows_per_key * _LOOKUPS_PER_ROW <= right:
            return Choice("index", "the left side is much smaller")
        return Choice(
            "hash", "a key has many right rows, which an index finds one by one"
        )
    return Choice("hash", "the left side is not much smaller than the right one")


SparkStrategy: TypeAlias = Literal["index", "broadcast", "driver", "shuffle"]

SparkChoice: TypeAlias = Choice[SparkStrategy]


@record
class SparkSides:
    """Both sides of a join on Spark, in rows; None is an unknown number.

    `indexed`: the right side has indexes that can be used, which lead to `rows_per_key` right
    rows for a key. `tasks_hold`: it fits into every task; `held_here`: it fits into the driver;
    `shuffled`: both sides can be shuffled.
    """

    left_rows: int | None
    right_rows: int | None
    indexed: bool
    tasks_hold: bool
    held_here: bool
    shuffled: bool
    rows_per_key: float = 1.0


def choose_on_spark(sides: SparkSides) -> SparkChoice:
    """Choose the strategy that reads and sends the least.

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
        return Choice("index", "the left side is much smaller")
    if sides.tasks_hold and not left_first:
        return Choice("broadcast", "the right side is small")
    if sides.held_here and left_first:
        reason = "the left side is much smaller, and the right one fits into memory"
        return Choice("driver", reason)
    if not sides.shuffled:
        return Choice("driver", "a stage before or after the join needs rows in order")
    if not left_first:
        reason = "the left side is not much smaller, and the right one is too large for every task"
        return Choice("shuffle", reason)
    return Choice(
        "shuffle", "there is no index that is faster, and the right side is large"
    )


def _is_for_index(sides: SparkSides) -> bool:
    left, right = sides.left_rows, sides.right_rows
    if left is None or right is None or not sides.indexed:
        return False
    looked_up = left * max(sides.rows_per_key, 1.0)
    return not is_small(right * BYTES_PER_ROW) and looked_up * _LOOKUPS_PER_ROW <= right
