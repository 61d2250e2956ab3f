"""Which bytes on disk hold the rows that begin at some bytes of a file.

A file of blocks is read by whole blocks; where nobody has counted their rows, the block before
is decoded too, to see whether a row ends with it. Of a file without blocks, rows that are near
each other are read together, and what lies between others is passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from headrace.store.files.opened import OpenedFile

_NEAR = 1 << 18
"""Rows of a file without blocks that are no further apart are read together."""


class Range(NamedTuple):
    """Bytes on disk, and how many blocks they are; without blocks, they count as one."""

    start: int
    end: int
    blocks: int


def ranges_holding(opened: OpenedFile, offsets: Sequence[int]) -> list[Range]:
    """Return what holds the rows that begin at these bytes of what a file decodes to, in order."""
    table = opened.table
    if table is None:
        return list(_joined(Range(at, at + 1, 1) for at in offsets))
    # Who knows where rows begin has proven it of this file, so there is a block for each.
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
    """Yield rows that are near each other as one range, which counts as one block."""
    last: Range | None = None
    for row in rows:
        if last is not None and row.start - last.end > _NEAR:
            yield last
            last = None
        last = row if last is None else last._replace(end=row.end)
    if last is not None:
        yield last
