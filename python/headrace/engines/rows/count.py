"""Counts of fragments: rows with the checkpoints of every N-th row, and lines by kind.

The number of rows before a fragment is known when all earlier fragments are counted, so its
checkpoints are found in a second job. A file that is not seekable is one fragment, and is read
once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from headrace.engines.rows.fragment import count_rows_of, rows_of
from headrace.kernel.rows import IndexBuild, RowIndex, reading
from headrace.kernel.tally import Stats, Tally
from headrace.store.files.opened import OpenedFile

if TYPE_CHECKING:
    from headrace.kernel.rows import Decoding
    from headrace.physical.fragment import Fragment

_SLICE_BYTES = 16 << 20


class Counted(NamedTuple):
    """The number of rows of a fragment; if it is a whole file, also its checkpoints.

    `offsets` are those of every N-th row, `size` is the size after decompression.
    """

    rows: int
    offsets: list[int] | None = None
    size: int = 0
    terminated: bool = True
    bom: bool = False


@dataclass(frozen=True, slots=True)
class RowCount:
    """The options of a count of rows."""

    interval: int
    decoding: Decoding

    def of(self, fragment: Fragment) -> Counted:
        """Count the rows of a fragment."""
        if fragment.source.seekable:
            return Counted(count_rows_of(fragment, self.decoding))
        opened = OpenedFile(fragment.source, decoding=self.decoding, warn=False)
        index = RowIndex(self.interval)
        with reading(opened.path):
            build = IndexBuild(
                opened.data,
                opened.codec,
                size=opened.size,
                index=index,
                decoding=self.decoding,
            )
            while build.advance(_SLICE_BYTES):
                pass
        opened.check()
        return Counted(
            index.total_rows,
            index.checkpoints(),
            index.scanned,
            index.terminated,
            index.bom,
        )

    def checkpoints(self, fragment: Fragment) -> list[int]:
        """Find the checkpoint of every N-th row in a fragment whose first row is known."""
        rows = rows_of(fragment, 0, self.decoding)
        rows.skip(-(fragment.first_row or 0) % self.interval)
        offsets: list[int] = []
        while (batch := rows.next_batch(1, 1)) is not None and len(batch):
            offsets += batch.offsets
            rows.skip(self.interval - 1)
        return offsets


@dataclass(frozen=True, slots=True)
class Tallying:
    """The options of a tally."""

    max_line: int
    max_depth: int
    decoding: Decoding

    def of(self, fragment: Fragment) -> Stats:
        """Count the lines of a fragment by kind; line numbers begin with the fragment."""
        rows = rows_of(fragment, self.max_line, self.decoding)
        counted = Tally(fragment.source.location, self.max_depth)
        while rows.advance(counted.advance):
            pass
        return counted.stats
