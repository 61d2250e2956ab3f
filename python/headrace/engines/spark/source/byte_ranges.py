"""Byte ranges on disk that contain the rows at given offsets of a file.

A file of blocks is read by whole blocks; if the rows of its blocks were not counted, the block
before is decoded too, to find whether a row ends with it. In a file without blocks, rows that
are near each other are read together, and the bytes between other rows are not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from headrace.store.files.opened import OpenedFile

_NEAR = 1 << 18
"""The largest gap in bytes between rows that are read together in a file without blocks."""


class Range(NamedTuple):
    """Bytes on disk, and the number of their blocks; 1 in a file without blocks."""

    start: int
    end: int
    blocks: int


def ranges_holding(opened: OpenedFile, offsets: Sequence[int]) -> list[Range]:
    """Return the ranges that contain the rows at these offsets of the decoded file, in order."""
    table = opened.table
    if table is None:
        return list(_joined(Range(at, at + 1, 1) for at in offsets))
    # The caller verified that the offsets belong to this file, so each has a block.
    found = sorted({block for at in offsets if (block := table.at_offset(at))})
    numbered = [(number, Range(start, end, 1)) for number, start, end in found]
    runs: list[Range] = []
    for (number, block), before in zip(numbered, [None, *numbered], strict=False):
        if before is not None and before[0] + 1 == number:
            start, _end, blocks = runs.pop()
            runs.append(Range(start, block.end, blocks + 1))
        else:
            runs.append(block)
    return runs


def _joined(rows: Iterable[Range]) -> Iterator[Range]:
    """Join ranges of rows that are near each other; the result counts as one block."""
    last: Range | None = None
    for row in rows:
        if last is not None and row.start - last.end > _NEAR:
            yield last
            last = None
        last = row if last is None else last._replace(end=row.end)
    if last is not None:
        yield last
