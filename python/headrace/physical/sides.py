"""Which side of a join is held in memory.

Held are the right elements by their keys. Where the left side is much smaller, its
keys are read first, and only right elements that have one of them are held: the
left side is then read twice. The answer is the same, in the order of the left side.
"""

from __future__ import annotations

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
