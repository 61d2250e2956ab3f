"""Byte ranges on disk that contain the rows at given offsets of a file.

A file of blocks is read by whole blocks; if the rows of its blocks were not counted, the block
before is decoded too, to find whether a row ends with it. In a file without blocks, rows that
are near each other are read together, and the bytes between other rows are not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headrace.store.files.opened import OpenedFile

_NEAR = 1 << 18
"""The largest gap in bytes between rows that are read together in a file without blocks."""


class Range(NamedTuple):
    """Bytes on disk."""

    start: int
    end: int


def ranges_holding(opened: OpenedFile, offsets: Sequence[int]) -> list[Range]:
    """Return the ranges that contain the rows at these offsets of the decoded file, in order."""
    table = opened.table
    if table is None:
        return _joined((Range(at, at + 1) for at in offsets), _NEAR)
    # The caller verified that the offsets belong to this file, so each has a block.
    found = sorted({block for at in offsets if (block := table.at_offset(at))})
    return _joined((Range(start, end) for _number, start, end in found), 0)


def _joined(rows: Iterable[Range], near: int) -> list[Range]:
    """Join ranges that are at most `near` bytes from each other."""
    joined: list[Range] = []
    for row in rows:
        if joined and row.start - joined[-1].end <= near:
            joined[-1] = joined[-1]._replace(end=row.end)
        else:
            joined.append(row)
    return joined
