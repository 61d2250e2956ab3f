"""Keyed rows: elements with binary keys, for a shuffle that sorts, groups or joins them.

The keys of two values compare byte by byte, unsigned, as the values do in a query, and are
the same bytes if the values are equal. No key is empty. The layout is that of the core's
``value/order_key.rs``; it is for the run of one job, not for files. The classes are the core's own,
as they are in ``_native.pyi``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace import _native
from headrace._native import KeyedElements, KeyedRows
from headrace.kernel.rows import END

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["KeyedElements", "KeyedRows", "SortedLines"]


class SortedLines(_native.SortedLines):
    """The lines of keyed elements, in the order of their keys."""

    def chunks(self, *, nulls: bool, limit: int | None) -> Iterator[bytes]:
        """Yield the lines, many at a time, `limit` at most; without `nulls`, no null."""
        left = END if limit is None else limit
        while True:
            lines, written = self.next(nulls, left)
            if not lines:
                return
            left -= written
            yield lines
