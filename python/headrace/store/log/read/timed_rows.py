"""Rows of a segment whose lines have certain times, numbered as if there were no others.

The index tells which they are, before any is read. They are read from the file like all of
its rows, so errors name the same lines and bytes.
"""

import threading
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path

from headrace.errors import LineOutOfRangeError
from headrace.kernel.rows import RowBatch
from headrace.store.files.source import Source
from headrace.store.log.read.ranges import ranges_between
from headrace.store.log.read.reader import LogReader
from headrace.store.log.read.sources import gone
from headrace.store.rows.demand import Capabilities, Lanes, NoKeyRows
from headrace.store.rows.row_file import (
    BATCH_BYTES,
    BATCH_ROWS,
    FIRST_BATCH_ROWS,
    INTERVAL,
    RowFile,
    RowOptions,
)


class ChosenRows:
    """A selection of rows, and the position of each in it.

    A range takes 24 bytes, with any number of rows.

    >>> some = ChosenRows([(2, 4), (4, 5), (9, 11)])
    >>> len(some), some.row(0), some.row(3)
    (5, 2, 9)
    >>> list(some.ranges(1, 4))
    [(3, 5), (9, 10)]
    """

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        self._first, self._end, self._before = array("q"), array("q"), array("q")
        self._count = 0
        for first, end in ranges:
            if self._end and self._end[-1] == first:
                self._end[-1] = end
            else:
                self._first.append(first)
                self._end.append(end)
                self._before.append(self._count)
            self._count += end - first

    def __len__(self) -> int:
        return self._count

    def row(self, position: int) -> int:
        """Return the row of the segment at a position in the selection."""
        at = bisect_right(self._before, position) - 1
        return self._first[at] + position - self._before[at]

    def ranges(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield the rows at positions `start` up to `stop`, as ``[first, end)``."""
        at = max(bisect_right(self._before, start) - 1, 0)
        while at < len(self._first) and self._before[at] < stop:
            first, before = self._first[at], self._before[at]
            length = self._end[at] - first
            yield (
                first + max(start - before, 0),
                first + min(stop - before, length),
            )
            at += 1


class TimedRows:
    """Selected rows of one segment in one process; nothing is opened before it is needed."""

    capabilities = Capabilities(reverse=True, tail=True, positions=True)

    def __init__(self, source: Source, options: RowOptions) -> None:
        self._file = RowFile(source, options)
        self._lock = threading.Lock()
        self._chosen: ChosenRows | None = None

    @property
    def source(self) -> Source:
        """The segment."""
        return self._file.source

    def _rows(self) -> ChosenRows:
        with self._lock:
            if self._chosen is None:
                self._chosen = ChosenRows(self._look())
            return self._chosen

    def _look(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges of selected rows, from the index."""
        segment = self.source.segment
        assert segment is not None
        assert segment.times is not None
        if segment.outside or segment.rows == 0:
            return
        first, last = segment.base + 1, segment.base + segment.rows
        try:
            reader = LogReader(Path(self.source.location).parent, most_open=1)
            if reader.manifest.salt != segment.salt or reader.first_line > first:
                raise gone(self.source)
            for start, end in ranges_between(reader, first, last, segment.times):
                yield start - first, end - first
        except LineOutOfRangeError:
            raise gone(self.source) from None

    # In order, by number and from the end

    def batches(
        self,
        start: int = 0,
        stop: int | None = None,
        *,
        ends_at_long_row: bool = False,  # noqa: ARG002, lines of a log have a limit
    ) -> Iterator[RowBatch]:
        """Yield the rows at positions `start` up to `stop`, with their numbers in the file."""
        chosen = self._rows()
        stop = len(chosen) if stop is None else min(stop, len(chosen))
        if start >= stop:
            return
        for stretch in _stretches(chosen.ranges(start, stop)):
            yield from self._some(stretch)

    def _some(self, ranges: list[tuple[int, int]]) -> Iterator[RowBatch]:
        """Read a stretch of rows, and yield those within some ranges."""
        at = 0
        for batch in self._file.batches(ranges[0][0], ranges[-1][1]):
            begin, behind = batch.first_row, batch.first_row + len(batch)
            while at < len(ranges) and ranges[at][0] < behind:
                first, end = max(ranges[at][0], begin), min(ranges[at][1], behind)
                yield batch.slice(first - begin, end - first)
                if ranges[at][1] > behind:
                    break
                at += 1

    def backwards(self) -> Iterator[RowBatch]:
        """Yield runs of rows, the last run first; rows within a run are in order."""
        end, count = self.total(), FIRST_BATCH_ROWS
        while end > 0:
            count = min(count, end)
            found = self._held(end - count, end)
            if found is None:
                count //= 2
                continue
            yield from reversed(found)
            end, count = end - count, min(2 * count, BATCH_ROWS)

    def _held(self, start: int, stop: int) -> list[RowBatch] | None:
        """Return rows, None if they are too long for memory and more than one."""
        found, held = list[RowBatch](), 0
        for batch in self.batches(start, stop):
            found.append(batch)
            held += batch.offsets[-1] - batch.offsets[0]
            if held > BATCH_BYTES and stop - start > 1:
                return None
        return found

    def tail(self, count: int) -> list[RowBatch]:
        """Read the last `count` rows."""
        total = self.total()
        return list(self.batches(max(total - count, 0), total))

    def read(self, first: int, count: int) -> RowBatch:
        """Read rows from a position on: at least one, if it exists."""
        found = next(self.batches(first, first + count), None)
        return RowBatch.of_contents(first, []) if found is None else found

    def total(self, *_: object, **__: object) -> int:
        """Return the number of selected rows."""
        return len(self._rows())

    def others(self, count: int | None, *, reverse: bool) -> int:
        """Count the lines that were left out among the first `count` selected rows, or all."""
        segment = self.source.segment
        assert segment is not None
        chosen = self._rows()
        if count is None:
            return segment.rows - len(chosen)
        if count == 0:
            return 0
        if reverse:
            return segment.rows - chosen.row(len(chosen) - count) - count
        return chosen.row(count - 1) + 1 - count

    # Same as for any file

    def request_lanes(self, lanes: Lanes) -> None:
        """Do nothing: all fields of a line are available."""

    def place(self, row: int, offset: int, *, reverse: bool) -> tuple[int | None, int]:
        """Return the line and the byte of a position in a row."""
        del reverse
        return row + 1, offset

    def by_key(self, *_: object, **__: object) -> NoKeyRows:
        """Read all rows: an index finds lines of any time."""
        location = self.source.location
        reason = "only lines with certain times are meant"
        return NoKeyRows(f"all rows are read, {location} is not used: {reason}")

    def bytes_read(self) -> int:
        """Return the number of bytes read from the file so far."""
        return self._file.bytes_read()

    def rest(self) -> bool:
        """Close the file, which is opened again when it is needed."""
        return self._file.rest()

    def close(self) -> None:
        """Close everything."""
        self._file.close()


def _stretches(
    ranges: Iterable[tuple[int, int]],
) -> Iterator[list[tuple[int, int]]]:
    """Group ranges so near that reading the rows between them is faster than seeking.

    >>> list(_stretches([(0, 2), (5, 9), (5000, 5001)]))
    [[(0, 2), (5, 9)], [(5000, 5001)]]
    """
    held: list[tuple[int, int]] = []
    for first, end in ranges:
        far = held and first - held[-1][1] > INTERVAL
        if far or len(held) == BATCH_ROWS:
            yield held
            held = []
        held.append((first, end))
    if held:
        yield held
