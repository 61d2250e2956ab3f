"""Row file: the rows of one source, by number, in order, and from the end.

Rows of a plain file are read in place, through its row index, which is built in the background
when it is first needed. In a file of blocks, only the blocks with the rows are decoded; if the
block table has row counts, it is the index. Other compressed files and pipes are not seekable: in
order, they are decoded on the fly; by number, the decoded bytes are kept in a nameless temporary
file, and the rows are read from there.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from headrace.errors import (
    SourceChangedError,
    UnusableTableError,
    UsageError,
)
from headrace.kernel.rows import (
    END,
    Decoding,
    File,
    Reader,
    RowBatch,
    RowIndex,
    RowStream,
    SidecarError,
    count_rows,
    reading,
)
from headrace.record import record, replace
from headrace.store.files.opened import (
    OPEN_FILES,
    Keeping,
    OpenedFile,
    Rows,
    open_pipe,
    read_in_order,
    rows_from,
)
from headrace.store.rows.demand import Capabilities, IndexPolicy, Keys, Lanes, NoKeyRows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from headrace.store.files.source import Source
    from headrace.store.index.key_scan import KeyRows, Proven
    from headrace.store.rows.reverse_scan import ReverseScan
    from headrace.store.rows.row_index import IndexedRows, IndexJob

    Progress: TypeAlias = Callable[[int], None]

T = TypeVar("T")

FIRST_BATCH_ROWS = 64
FIRST_BATCH_BYTES = 1 << 15
"""The size of the first batch, which one read fills; batches grow from there."""

INTERVAL = 1000
"""Rows from one checkpoint of a row index to the next."""

_NOT_COUNTED = (-1, 0)
"""The byte up to which rows were counted, and their number."""

BATCH_ROWS = 4096
BATCH_BYTES = 1 << 20


@record
class RowOptions:
    """Options of a reader of rows."""

    max_line: int
    keeping: Keeping
    decoding: Decoding
    blocks: bool = True


class RowFile:
    """The rows of one source in one process; the file is opened when it is needed."""

    def __init__(self, source: Source, options: RowOptions) -> None:
        self.source = source
        self.options = options
        self._lock = threading.RLock()
        self._opened: OpenedFile | None = None
        self._bytes_before = 0
        self._indexed: IndexedRows | None = None
        self._total: int | None = None
        self._pipe_taken = False
        self._counted = _NOT_COUNTED

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the source."""
        return Capabilities(
            reverse=not self.source.is_pipe, tail=self._seekable, positions=True
        )

    @property
    def _seekable(self) -> bool:
        """Whether rows can be read by offset; for a file of blocks, it is opened to find out."""
        if self.source.blocks:
            self.open()
        return self.source.seekable

    def _with_fallback(self, read: Callable[[], T]) -> T:
        """Read by the block table, or in order if the table turns out to be wrong."""
        try:
            return read()
        except UnusableTableError as error:
            self.distrust(error)
            return read()

    def distrust(self, error: UnusableTableError) -> None:
        """Read the file in order from now on: its block table does not fit it."""
        with self._lock:
            # Only the first thread that finds the error switches.
            if self.source.blocks:
                self.close()
                self._counted = _NOT_COUNTED
                self.source = read_in_order(self.source, error)

    def request_lanes(self, lanes: Lanes) -> None:
        """Do nothing: all fields of a line are there."""

    def place(self, row: int, offset: int, *, reverse: bool) -> tuple[int | None, int]:
        """Return the line and the byte of a place in a row."""
        return (self._line(offset) if reverse else row + 1), offset

    def _line(self, offset: int) -> int:
        """Return the line that contains a byte, if rows have no numbers.

        Lines are counted from the last place that was counted.
        """
        return self._with_fallback(lambda: self._count_lines(offset))

    def _count_lines(self, offset: int) -> int:
        data, size = self.positions()
        known, line = self._counted
        with reading(self.source.location):
            if offset <= known:
                line -= count_rows(data, size, offset + 1, known + 1)
            else:
                line += count_rows(data, size, known + 1, offset + 1)
        self._counted = (offset, line)
        return line

    # In order

    def batches(
        self,
        start: int = 0,
        stop: int | None = None,
        *,
        ends_at_long_row: bool = False,
    ) -> Iterator[RowBatch]:
        """Yield the rows from number `start` up to `stop`.

        With `ends_at_long_row`, the first row over the limit is the last, and its length is that of
        the bytes that were read.
        """
        try:
            for batch in self._batches(start, stop, ends_at_long_row=ends_at_long_row):
                start += len(batch)
                yield batch
        except UnusableTableError as error:
            # The rows that were yielded are right: continue after them.
            self.distrust(error)
            yield from self._batches(start, stop, ends_at_long_row=ends_at_long_row)
        if stop is None and self._indexed is None:
            # A data set may have many files.
            self.rest()

    def _batches(
        self, start: int, stop: int | None, *, ends_at_long_row: bool
    ) -> Iterator[RowBatch]:
        rows = None
        if self._in_order(start):
            rows = self._rows(start, stop, ends_at_long_row=ends_at_long_row)
        size, length = FIRST_BATCH_ROWS, FIRST_BATCH_BYTES
        while stop is None or start < stop:
            count = size if stop is None else min(stop - start, size)
            batch = (
                rows.next_batch(count, length)
                if rows is not None
                else self.read(start, count)
            )
            if not batch:
                return
            yield batch
            start += len(batch)
            size, length = min(size * 2, BATCH_ROWS), min(length * 2, BATCH_BYTES)

    def _in_order(self, start: int) -> bool:
        """Whether to read in order up to row `start`, rather than through an index."""
        if self._indexed is not None and self._indexed.copied:
            return False
        if start < INTERVAL or not self._seekable:
            return True
        return self.open().counted_table is not None

    def _rows(self, start: int, stop: int | None, *, ends_at_long_row: bool) -> Rows:
        """Return the rows from number `start` on; rows after `stop` may be missing."""
        if self.source.is_pipe:
            rows, first = self._pipe_rows(ends_at_long_row=ends_at_long_row), 0
        elif (table := self.open().counted_table) is None:
            opened, max_line = self.open(), self.options.max_line
            rows = rows_from(opened, max_line, ends_at_long_row=ends_at_long_row)
            first = 0
        else:
            begin, _end, first = table.at_row(start)
            last = start if stop is None else max(stop - 1, start)
            _begin, end, _first = table.at_row(last)
            rows = rows_from(
                self.open(),
                self.options.max_line,
                start=begin,
                end=END if stop is None else end,
                first_row=first,
                at_row=True,
                ends_at_long_row=ends_at_long_row,
            )
        rows.skip(start - first)
        return rows

    def _pipe_rows(self, *, ends_at_long_row: bool) -> Rows:
        reader, codec = self._take_pipe()
        with reading(self.source.location):
            stream = RowStream(
                reader,
                codec,
                size=END,
                max_line=self.options.max_line,
                decoding=self.options.decoding,
                ends_at_long_row=ends_at_long_row,
            )
        return Rows(self.source.location, stream, None)

    # By number

    def read(self, first: int, count: int) -> RowBatch:
        """Read up to `count` rows from number `first` on; none beyond the last row."""
        return self._with_fallback(lambda: self._read_indexed(first, count))

    def _read_indexed(self, first: int, count: int) -> RowBatch:
        known = self._known_rows()
        if known is not None and first >= known:
            return RowBatch.of_contents(first, [])
        try:
            return self._read(first, count)
        except SidecarError as error:
            if self._indexed is None or self._indexed.job is not None:
                # This process has built the index, so the file was changed.
                reason = "the file was changed while open"
                raise SourceChangedError(self.source.location, 0, reason) from error
            with self._lock:
                self._indexed = self._make_index(look_for_kept=False)
            return self._read(first, count)

    def _read(self, first: int, count: int) -> RowBatch:
        indexed = self._reach(first)
        index = indexed.index
        opened = None if self.source.is_pipe else self.open()
        size = self.source.size if opened is None else opened.size
        if indexed.copied:
            size = index.scanned
            if not index.complete:
                # After the last whole row, the copy ends within another.
                count = min(count, max(index.total_rows - first, 0))
        with reading(self.source.location):
            batch = index.read(
                indexed.file,
                size=size,
                first=first,
                count=count,
                max_line=self.options.max_line,
                max_bytes=BATCH_BYTES,
            )
        if opened is not None:
            opened.check()
        return batch

    def _reach(self, row: int) -> IndexedRows:
        """Wait until the index reaches row `row`, or the end."""
        indexed = self._index()
        if indexed.job is not None:
            if indexed.copied:
                indexed.job.run(row)
            else:
                indexed.job.start()
                indexed.job.wait(row)
        return indexed

    def total(
        self, progress: Progress = lambda _bytes: None, *, use_up: bool = False
    ) -> int:
        """Count all rows. The bytes of a pipe are kept, unless it may be used up."""
        return self._with_fallback(lambda: self._count(progress, use_up=use_up))

    def _known_rows(self) -> int | None:
        """Return the number of rows that the writer recorded."""
        if self.source.segment is None or self._indexed is not None:
            return None
        from headrace.store.rows.log_segment import recorded_total

        return recorded_total(self.open())

    # Counts of other processes

    @property
    def keeps_index(self) -> bool:
        """Whether a row index that is built is kept."""
        from headrace.store.rows import checkpoints

        return checkpoints.worth_keeping(self.source, self.options.keeping)

    def known_total(self) -> int | None:
        """Return the number of rows, if it is known without reading them."""
        from headrace.store.rows import checkpoints

        known = self._known_rows()
        if known is None and self._seekable:
            indexed = self._index()
            known = indexed.index.total_rows if indexed.job is None else None
        elif known is None:
            kept = checkpoints.load(self.source, self.open(), self.options.keeping)
            known = None if kept is None else kept.index.total_rows
        return known

    def take_count(
        self,
        rows: int,
        offsets: list[int] | None,
        size: int,
        terminated: bool,  # noqa: FBT001
        bom: bool,  # noqa: FBT001
    ) -> None:
        """Accept the number of rows from another counter; with `offsets`, keep an index.

        `size`, `terminated` and `bom` are ignored for a seekable file, where they are read.
        """
        from headrace.store.rows import checkpoints
        from headrace.store.rows.row_index import counted_index

        opened = self.open()
        opened.check()
        self._total = rows
        if offsets is None:
            return
        ends = (size, terminated, bom)
        index = counted_index(self.source, opened, rows, offsets, ends)
        checkpoints.save(self.source, opened, index, self.options.keeping)

    def _count(self, progress: Progress, *, use_up: bool) -> int:
        if self._total is not None:
            return self._total
        known = self._known_rows()
        if known is not None:
            return known
        if self._seekable or self._indexed or (self.source.is_pipe and not use_up):
            indexed = self._index()
            if indexed.job is not None:
                self._finish(indexed.job, progress, here=indexed.copied)
            return indexed.index.total_rows
        self._total = self._count_decoded(progress)
        return self._total

    def _count_decoded(self, progress: Progress) -> int:
        from headrace.store.rows import checkpoints
        from headrace.store.rows.row_index import index_job

        opened = None if self.source.is_pipe else self.open()
        if opened is not None:
            kept = checkpoints.load(self.source, opened, self.options.keeping)
            if kept is not None:
                return kept.index.total_rows
        index = RowIndex(INTERVAL)
        data, codec = self._data(opened)
        job = index_job(self.source, opened, data, codec, self.options, index)
        self._finish(job, progress, here=True)
        return index.total_rows

    def _finish(self, job: IndexJob, progress: Progress, *, here: bool) -> None:
        opened = self._opened

        def tick() -> None:
            progress(opened.file.bytes_read if opened else job.index.scanned)

        if here:
            job.run(tick=tick)
        else:
            job.start()
            job.wait(tick=tick)

    # From the end

    def tail(self, count: int) -> list[RowBatch]:
        """Read the last `count` rows."""
        return self._with_fallback(lambda: self._tail(count))

    def _tail(self, count: int) -> list[RowBatch]:
        if self._by_position():
            return list(self._from_end().tail(count))
        last: deque[RowBatch] = deque()
        held = 0
        for batch in self.batches():
            last.append(batch)
            held += len(batch)
            while last and held - len(last[0]) >= count:
                held -= len(last.popleft())
        return list(last)

    def backwards(self) -> Iterator[RowBatch]:
        """Yield runs of rows, the last run first; a run is in order."""
        given = 0
        try:
            for run in self._from_end().runs():
                given += len(run)
                yield run
        except UnusableTableError as error:
            self.distrust(error)
        else:
            return
        for run in self._from_end().runs():
            left = max(len(run) - given, 0)
            given -= len(run) - left
            if left:
                yield run.slice(0, left)

    def _from_end(self) -> ReverseScan:
        from headrace.store.rows.reverse_scan import ReverseScan

        if not self._by_position() and (job := self._index().job) is not None:
            job.run()
        file, end = self.positions()
        opened = None if self.source.is_pipe else self.open()
        location, max_line = self.source.location, self.options.max_line
        return ReverseScan(location, file, end, opened, max_line)

    def _by_position(self) -> bool:
        """Whether the last rows can be read without reading the rows before them."""
        if self._seekable:
            return True
        indexed = self._indexed
        return indexed is not None and indexed.copied and indexed.index.complete

    def positions(self) -> tuple[File, int]:
        """Return the file that has the rows at their offsets, and its size."""
        if self._seekable:
            opened = self.open()
            return opened.data, opened.size
        indexed = self._index()
        return indexed.file, indexed.index.scanned

    # By key

    def by_key(
        self,
        keys: Keys,
        max_depth: int,
        policy: IndexPolicy,
        *,
        prove: bool,
        proven: Collection[Proven] = (),
    ) -> KeyRows | NoKeyRows:
        """Find the rows with some keys through an index; see `headrace.store.index.key_scan`."""
        if self.source.kind != "file" or not self._seekable:
            return NoKeyRows(policy.choose_index(()).reason)
        from headrace.store.index.key_scan import find

        return find(self, keys, max_depth, policy, prove=prove, proven=proven)

    # What is open

    def bytes_read(self) -> int:
        """Return how many bytes of the source were read so far."""
        opened, indexed = self._opened, self._indexed
        if opened is not None:
            return self._bytes_before + opened.file.bytes_read
        return self._bytes_before if indexed is None else indexed.index.scanned

    def rest(self) -> bool:
        """Close the file, which is opened again when it is needed; false if it is in use.

        It is in use while its index is being built, or if decoded bytes are kept.
        """
        if not self._lock.acquire(blocking=False):
            return False
        try:
            indexed = self._indexed
            job = None if indexed is None else indexed.job
            if job is not None and not job.ended:
                return False
            if indexed is not None and indexed.copied:
                return False
            if self._opened is not None:
                self._bytes_before += self._opened.file.bytes_read
                self._opened = self._indexed = None
            return True
        finally:
            self._lock.release()

    def close(self) -> None:
        """End the background job and release all resources."""
        with self._lock:
            if self._indexed is not None and self._indexed.job is not None:
                self._indexed.job.cancel()
            self._indexed = None
            self._opened = None

    def open(self) -> OpenedFile:
        """Return the opened file."""
        with self._lock:
            if self._opened is None:
                opened = self._open_file()
                self._opened, self.source = opened, opened.source
                OPEN_FILES.use(self)
            return self._opened

    def _open_file(self) -> OpenedFile:
        keeping, decoding = self.options.keeping, self.options.decoding
        try:
            return OpenedFile(self.source, keeping, decoding)
        except SourceChangedError:
            if self.source.segment is None:
                raise
            from headrace.store.log.read.sources import elsewhere

            moved = elsewhere(self.source)
            if moved is None:
                raise
        if not self.options.blocks:
            moved = replace(moved, blocks=False)
        return OpenedFile(moved, keeping, decoding)

    def _take_pipe(self) -> tuple[Reader, str]:
        from headrace.store.files.remote import Stream

        with self._lock:
            if self._pipe_taken:
                reason = f"{self.source.location}: a pipe can be read only once"
                raise UsageError(reason)
            self._pipe_taken = not isinstance(self.source.origin, Stream)
        return open_pipe(self.source)

    def _index(self) -> IndexedRows:
        if self._indexed is None:
            with self._lock:
                if self._indexed is None:
                    self._indexed = self._make_index()
        return self._indexed

    def _make_index(self, *, look_for_kept: bool = True) -> IndexedRows:
        from headrace.store.rows.row_index import index_copy, index_in_place

        options = self.options
        if self._seekable:
            return index_in_place(self.open(), options, kept=look_for_kept)
        opened = None if self.source.is_pipe else self.open()
        data, codec = self._data(opened)
        return index_copy(self.source, opened, data, codec, options)

    def _data(self, opened: OpenedFile | None) -> tuple[File | Reader, str]:
        """Return the bytes to decode, and their codec; a pipe is not `opened`."""
        if opened is None:
            return self._take_pipe()
        return opened.data, opened.codec
