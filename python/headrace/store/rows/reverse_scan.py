"""Reverse scan: the rows of a file from the end, found without a row index."""

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.kernel.rows import END, File, RowBatch, RowStream, reach_back, reading
from headrace.store.files.opened import OpenedFile, Rows

_FIRST_ROWS = 64
_BATCH_ROWS = 4096
_BATCH_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ReverseScan:
    """The rows of a decoded file that end at a byte; the row numbers are not known.

    `opened` is the file to check after each batch, None for the copy of a pipe.
    """

    location: str
    file: File
    end: int
    opened: OpenedFile | None
    max_line: int

    def tail(self, count: int) -> Iterator[RowBatch]:
        """Yield the last `count` rows, in order."""
        yield from self._rows(self._start(self.end, count, END), self.end)

    def runs(self) -> Iterator[RowBatch]:
        """Yield runs of rows, the last run first; a run is in order."""
        end, rows = self.end, _FIRST_ROWS
        while end > 0:
            start = self._start(end, rows, _BATCH_BYTES)
            rows = min(rows * 2, _BATCH_ROWS)
            yield from reversed(list(self._rows(start, end)))
            end = start

    def _start(self, end: int, max_rows: int, max_bytes: int) -> int:
        """Return the offset of the first of the last rows before `end`."""
        with reading(self.location):
            start, _rows = reach_back(
                self.file, end=end, max_rows=max_rows, max_bytes=max_bytes
            )
        return start

    def _rows(self, start: int, end: int) -> Iterator[RowBatch]:
        """Yield the rows that begin in ``[start, end)``."""
        with reading(self.location):
            stream = RowStream(
                self.file,
                "none",
                size=end,
                start=start,
                end=end,
                max_line=self.max_line,
                at_row=True,
            )
        rows = Rows(self.location, stream, self.opened)
        while (batch := rows.next_batch(_BATCH_ROWS, _BATCH_BYTES)) is not None:
            yield batch
