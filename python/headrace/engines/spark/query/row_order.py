"""Row order: the fragments of files in the order of their rows, and the place of each chunk.

Chunks arrive in that order, whichever task was first. So the number of a row in its file is
the number of rows in the chunks before it, and a bad row comes behind everything that stands
before it in the files.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from headrace.engines.rows.fragment import count_rows_of, rows_of
from headrace.engines.spark.query.task import TaskRun
from headrace.engines.spark.source.partitions import absolute, packed
from headrace.errors import BadRowError, RowFailedError, UnusableTableError
from headrace.kernel.programs import Counts
from headrace.kernel.rows import END
from headrace.kernel.tally import Tally
from headrace.kernel.values import MAX_DEPTH
from headrace.physical.fragment import Fragment, fragments
from headrace.store.files.opened import read_in_order
from headrace.store.index.key_scan import Passed
from headrace.store.rows.row_file import BATCH_BYTES, BATCH_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.engines.spark.query.indexed_rows import IndexedRows
    from headrace.engines.spark.query.task_query import Chunk, TaskQuery
    from headrace.errors import HeadraceError
    from headrace.kernel.programs import Refused
    from headrace.store.files.source import Source
    from headrace.store.rows.row_file import RowOptions


class LinesBefore:
    """The lines of one file before its fragments, counted from the last fragment on.

    This is fast if the fragments come in the order of the file.
    """

    def __init__(self, reading: RowOptions, *, count_blank: bool) -> None:
        self._reading = reading
        self._counts_blank = count_blank
        self._start, self._lines = 0, Passed(0, 0)

    def of(self, fragment: Fragment) -> Passed:
        """Count the lines that begin before a fragment."""
        if fragment.start < self._start:
            self._start, self._lines = 0, Passed(0, 0)
        between = replace(fragment, start=self._start, end=fragment.start)
        if between.start < between.end:
            lines, blank = self._lines
            lines += count_rows_of(between, self._reading.decoding)
            blank += self._blank_in(between) if self._counts_blank else 0
            self._start, self._lines = fragment.start, Passed(lines, blank)
        return self._lines

    def _blank_in(self, fragment: Fragment) -> int:
        reading = self._reading
        tally = Tally(fragment.source.location, MAX_DEPTH)
        rows = rows_of(fragment, reading.max_line, reading.decoding)
        while (batch := rows.next_batch(BATCH_ROWS, BATCH_BYTES)) is not None:
            tally.add(batch)
        return tally.stats.blank


MOST_TASKS = 1024
"""The number of tasks of one job; the next job begins when their chunks have been taken."""

_SEEK_BYTES = 1 << 16
"""A seek in a file takes as long as reading this many bytes."""

_NONE = Passed(0, 0)


@dataclass(frozen=True, slots=True)
class PlacedChunk:
    """A chunk with its fragment; `before` counts the rows of the file before that.

    `number` is that of the fragment, in the order of the rows. `is_distrusted`: the table of
    the file does not fit its blocks.
    """

    source: Source
    number: int
    fragment: Fragment
    before: Callable[[], int]
    chunk: Chunk
    is_distrusted: bool = False

    def error(self, refused: Refused) -> BadRowError | RowFailedError:
        """Return the error of a refused row."""
        path, line = self.source.location, self.before() + refused.row + 1
        if refused.column is None:
            return BadRowError(path, line, refused.offset, refused.reason)
        return RowFailedError(
            path, line, refused.offset, refused.reason, refused.column
        )

    def failure(self, error: HeadraceError) -> HeadraceError:
        """Return the error of a file with the name that the caller gave the file."""
        path, *facts = error.args
        if path != self.fragment.source.location:
            return error
        return type(error)(self.source.location, *facts)

    def place(self, row: int, offset: int, *, reverse: bool) -> tuple[int | None, int]:
        """Return the line and the byte of an offset in a sifted row."""
        assert not reverse
        sifted = self.chunk.sifted[row]
        return self.before() + sifted.position + 1, sifted.offset + offset


class RowOrder:
    """The fragments of some files, numbered in the order of their rows.

    `partitions` are runs of numbers, one for each task. Of a file with rows that an index
    `found`, only the fragments that hold these are included. The index knows how many lines
    the file has; lines up to a fragment are counted when a caller needs them.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        partition_bytes: int,
        reading: RowOptions,
        found: Sequence[IndexedRows | None] = (),
    ) -> None:
        self.fragments: list[Fragment] = []
        self._sources, self._reading = sources, reading
        self._found = list(found) or [None] * len(sources)
        self._files: list[int] = []
        for file, (source, some) in enumerate(zip(sources, self._found, strict=True)):
            held = (
                self._all_of(source, partition_bytes)
                if some is None
                else some.fragments
            )
            self.fragments += held
            self._files += [file] * len(held)
        numbers = iter(range(len(self.fragments)))
        least = _SEEK_BYTES if any(self._found) else 0
        self.partitions = [
            [next(numbers) for _ in partition]
            for partition in packed(self.fragments, partition_bytes, least)
        ]
        self._file = self._number = -1
        self._ended = False
        # The lines of files that tasks have read, and those of a file before a fragment.
        self._read = [_NONE] * len(sources)
        self._before: dict[int, Passed] = {}
        self._lines: dict[int, LinesBefore] = {}
        self._distrusted: set[int] = set()

    def _all_of(self, source: Source, partition_bytes: int) -> list[Fragment]:
        placed = absolute(source)
        if self._reading.decoding.max_decoded != END:
            # Only a reader of the whole file knows its size after decompression.
            placed = replace(placed, blocks=False)
        return fragments(placed, partition_bytes)

    @property
    def size(self) -> int:
        """How many bytes tasks read."""
        return sum(fragment.size for fragment in self.fragments)

    @property
    def bytes_of_files(self) -> int:
        """How many bytes the files have."""
        return sum(source.size for source in self._sources)

    def fragments_of(self, numbers: Sequence[int]) -> list[Fragment]:
        """Return the fragments that have these numbers."""
        return [self.fragments[number] for number in numbers]

    def placed(
        self, query: TaskQuery, number: int, chunk: Chunk
    ) -> Iterator[PlacedChunk]:
        """Yield a chunk of a fragment with its place; chunks come in the order of rows.

        If the table of a file does not fit its blocks, the rest of the file is read here.
        """
        file, fragment = self._files[number], self.fragments[number]
        if file in self._distrusted:
            return
        if number != self._number:
            self._file, self._number = file, number
            self._before[number] = self._read[file]
        lines, blank = self._read[file]
        lines += chunk.rows
        self._read[file] = Passed(lines, blank + chunk.counts.blank)
        before = partial(self._rows_before, number)
        placed = PlacedChunk(self._sources[file], number, fragment, before, chunk)
        unusable = isinstance(chunk.failure, UnusableTableError)
        if not unusable or (self._found[file] is not None and lines):
            # An index that was made by the table does not know which rows are left.
            yield placed
            return
        self._found[file] = None
        yield from self._read_in_order(query, placed, first=lines)

    def _read_in_order(
        self, query: TaskQuery, placed: PlacedChunk, first: int
    ) -> Iterator[PlacedChunk]:
        """Run a query over the rows of a file from row `first` on, without the file's table."""
        chunk, source = placed.chunk, placed.source
        assert isinstance(chunk.failure, UnusableTableError)
        self._distrusted.add(self._file)
        distrusted = replace(placed, is_distrusted=True)
        yield replace(distrusted, chunk=replace(chunk, failure=None))
        source = read_in_order(source, chunk.failure)
        whole = Fragment(source, 0, source.size)
        for rest in TaskRun(query).run_rows(whole, 0, first=first):
            yield PlacedChunk(source, placed.number, whole, lambda: 0, rest)

    def end(self) -> None:
        """Note that all chunks have arrived."""
        self._ended = True

    # Lines that no task reads

    def _rows_before(self, number: int) -> int:
        """Return how many rows of its file are before a fragment."""
        if self._found[self._files[number]] is None:
            return self._before[number].lines
        return self._lines_before(number).lines

    def _lines_before(self, number: int) -> Passed:
        file = self._files[number]
        if file not in self._lines:
            found = self._found[file]
            assert found is not None
            blank = found.lines.blank > 0
            self._lines[file] = LinesBefore(self._reading, count_blank=blank)
        return self._lines[file].of(self.fragments[number])

    @property
    def counts(self) -> Counts:
        """The counts of skipped lines, to be added to those of the chunks that have arrived."""
        return self.counts_before(None if self._ended else self._number)

    def counts_before(self, number: int | None) -> Counts:
        """Return the counts of lines that were skipped before a fragment, or of all."""
        file = len(self._sources)
        if number is not None:
            file = self._files[number] if number >= 0 else 0
        counts = Counts()
        for whole, read in zip(self._found[:file], self._read, strict=False):
            if whole is not None:
                counts += _filtered(whole.lines, read)
        if number is not None and number >= 0 and self._found[file] is not None:
            counts += _filtered(self._lines_before(number), self._before[number])
        return counts


def _filtered(lines: Passed, read: Passed) -> Counts:
    """Count lines of which some were read: the others have no key of the query."""
    others, blank = lines.lines - read.lines, lines.blank - read.blank
    return Counts(rows=others, filtered=others - blank, blank=blank)


def jobs_of(
    partitions: Sequence[list[int]], *, early: bool
) -> Iterator[Sequence[list[int]]]:
    """Divide partitions among jobs; the first jobs are small if they may be enough."""
    start, size = 0, 1 if early else MOST_TASKS
    while start < len(partitions):
        yield partitions[start : start + size]
        start, size = start + size, min(size * 2, MOST_TASKS)
