"""How numbers of things are said."""

from __future__ import annotations


def counted(number: int, thing: str) -> str:
    """Say how many of something there are.

    >>> counted(1, "row"), counted(12345, "row")
    ('1 row', '12,345 rows')
    """
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
