"""The rows of one source: by number, in order, and from the end.

Rows of a plain file are read where they lie, found through its row index, which
is built in the background when first needed. So are those of a file of blocks, by
decoding the blocks they are in; if they were counted when it was written, they are
its index. Another compressed file or a pipe cannot
be entered in the middle: read in order it is decoded on the fly; to reach rows
by number, what was decoded so far is kept in a nameless temporary file, and the
rows are read from there.
"""

from __future__ import annotations

import os
import threading
from codecs import BOM_UTF8
from collections import deque
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from headrace.errors import (
    SourceChangedError,
    SpoolError,
    UnusableTableError,
    UsageError,
)
from headrace.kernel.rows import (
    END,
    Decoding,
    File,
    IndexBuild,
    Reader,
    RowBatch,
    RowIndex,
    RowStream,
    SidecarError,
    count_rows,
    reach_back,
    reading,
)
from headrace.store.files.open_files import OPEN_FILES
from headrace.store.files.opened import (
    OpenedFile,
    Rows,
    open_pipe,
    read_in_order,
    rows_from,
)
from headrace.store.files.remote import Stream
from headrace.store.rows import checkpoints
from headrace.store.rows.demand import Capabilities, NoKeyRows
from headrace.store.rows.index_job import IndexJob

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from headrace.store.files.source import Source
    from headrace.store.index.key_scan import KeyRows, Proven
    from headrace.store.rows.checkpoints import Keeping
    from headrace.store.rows.demand import IndexPolicy, Keys, Lanes

    Progress: TypeAlias = Callable[[int], None]

T = TypeVar("T")

INTERVAL = 1000
"""Rows from one checkpoint to the next."""

FIRST_BATCH_ROWS = 64
FIRST_BATCH_BYTES = 1 << 15
"""Often the first rows are enough: batches grow from here, and one read fills the first."""

_NOT_COUNTED = (-1, 0)
"""Up to which byte rows were counted, and how many they are."""

BATCH_ROWS = 4096
BATCH_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class RowOptions:
    """What a reader of rows can choose."""

    max_line: int
    keeping: Keeping
    decoding: Decoding
    blocks: bool = True


@dataclass(frozen=True, slots=True)
class _Indexed:
    """A row index, and the file that its offsets are in.

    Without a job it was kept from an earlier time. `copied`: the file holds what
    was decoded so far, and the job goes on when more is needed.
    """

    index: RowIndex
    file: File
    job: IndexJob | None
    copied: bool


class KnownRows(Protocol):
    """Facts about the rows of a source that its writer recorded; None where there are none."""

    def total(self, opened: OpenedFile) -> int | None:
        """Return the number of rows."""
        ...

    def index(self, opened: OpenedFile, interval: int) -> RowIndex | None:
        """Return a row index, with a checkpoint at every `interval`-th row."""
        ...

    def moved(self, source: Source) -> Source | None:
        """Return the file that has the rows now, after the source could not be opened."""
        ...


class RowFile:
    """One source in one process; nothing is opened before it is needed."""

    def __init__(
        self, source: Source, options: RowOptions, known: KnownRows | None = None
    ) -> None:
        self.source = source
        self._known = known
        self._options = options
        self._lock = threading.RLock()
        self._opened: OpenedFile | None = None
        self._bytes_before = 0
        self._indexed: _Indexed | None = None
        self._total: int | None = None
        self._pipe_taken = False
        self._counted = _NOT_COUNTED

    @property
    def capabilities(self) -> Capabilities:
        """What can be done with its rows."""
        return Capabilities(
            reverse=not self.source.is_pipe, tail=self._seekable, positions=True
        )

    @property
    def _seekable(self) -> bool:
        """Whether rows can be read by position; of blocks that is known when it is open."""
        if self.source.blocks:
            self._open()
        return self.source.seekable

    def _asked(self, question: Callable[[], T]) -> T:
        """Answer from the blocks, or if they are not what their table says, in order."""
        try:
            return question()
        except UnusableTableError as error:
            self._distrust(error)
            return question()

    def _distrust(self, error: UnusableTableError) -> None:
        with self._lock:
            # Of several threads that have noticed, one is enough.
            if self.source.blocks:
                self.close()
                self._counted = _NOT_COUNTED
                self.source = read_in_order(self.source, error)

    def request_lanes(self, lanes: Lanes) -> None:
        """Do nothing: all fields of a line are there."""

    def place(self, row: int, offset: int, *, reverse: bool) -> tuple[int | None, int]:
        """Return the line and the byte of something in a row."""
        return (self._line(offset) if reverse else row + 1), offset

    def _line(self, offset: int) -> int:
        """Count which line has a byte, where rows have no numbers.

        Only the rows from the one that was counted before are counted.
        """
        return self._asked(lambda: self._count_lines(offset))

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

        With `ends_at_long_row`, the first row over the limit is the last, and its length is
        that of what was read: it may have no end.
        """
        try:
            for batch in self._batches(start, stop, ends_at_long_row=ends_at_long_row):
                start += len(batch)
                yield batch
        except UnusableTableError as error:
            # Rows of blocks that could be decoded are as good as any.
            self._distrust(error)
            yield from self._batches(start, stop, ends_at_long_row=ends_at_long_row)
        if stop is None and self._indexed is None:
            # There may be many others to read.
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
        """Whether reading from the front is the way to reach row `start`."""
        if self._indexed is not None and self._indexed.copied:
            return False
        if start < INTERVAL or not self._seekable:
            return True
        return self._open().counted_table is not None

    def _rows(self, start: int, stop: int | None, *, ends_at_long_row: bool) -> Rows:
        """Return the rows from number `start` on; those behind `stop` may be missing."""
        if self.source.is_pipe:
            rows, first = self._pipe_rows(ends_at_long_row=ends_at_long_row), 0
        elif (table := self._open().counted_table) is None:
            opened, max_line = self._open(), self._options.max_line
            rows = rows_from(opened, max_line, ends_at_long_row=ends_at_long_row)
            first = 0
        else:
            begin, _end, first = table.at_row(start)
            last = start if stop is None else max(stop - 1, start)
            _begin, end, _first = table.at_row(last)
            rows = rows_from(
                self._open(),
                self._options.max_line,
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
                max_line=self._options.max_line,
                decoding=self._options.decoding,
                ends_at_long_row=ends_at_long_row,
            )
        return Rows(self.source.location, stream, None)

    # By number

    def read(self, first: int, count: int) -> RowBatch:
        """Read up to `count` rows from number `first` on; none beyond the last row."""
        return self._asked(lambda: self._read_indexed(first, count))

    def _read_indexed(self, first: int, count: int) -> RowBatch:
        known = self._known_rows()
        if known is not None and first >= known:
            return RowBatch.of_contents(first, [])
        try:
            return self._read(first, count)
        except SidecarError as error:
            if self._indexed is None or self._indexed.job is not None:
                # We made the index ourselves, so the file is not what it was.
                reason = "the file was changed while open"
                raise SourceChangedError(self.source.location, 0, reason) from error
            with self._lock:
                self._indexed = self._index_in_place(look_for_kept=False)
            return self._read(first, count)

    def _read(self, first: int, count: int) -> RowBatch:
        indexed = self._reach(first)
        index = indexed.index
        opened = None if self.source.is_pipe else self._open()
        size = self.source.size if opened is None else opened.size
        if indexed.copied:
            size = index.scanned
            if not index.complete:
                # Behind the last whole row stands the beginning of another.
                count = min(count, max(index.total_rows - first, 0))
        with reading(self.source.location):
            batch = index.read(
                indexed.file,
                size=size,
                first=first,
                count=count,
                max_line=self._options.max_line,
                max_bytes=BATCH_BYTES,
            )
        if opened is not None:
            opened.check()
        return batch

    def _size(self) -> int:
        return self.source.size if self.source.is_pipe else self._open().size

    def _reach(self, row: int) -> _Indexed:
        """Wait until row `row` is known, or known not to be."""
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
        """Count all rows. What comes out of a pipe is kept, unless it may be used up."""
        return self._asked(lambda: self._count(progress, use_up=use_up))

    def _known_rows(self) -> int | None:
        """Return the number of rows that the writer recorded."""
        if self._known is None or self._indexed is not None:
            return None
        return self._known.total(self._open())

    # Counted by others

    @property
    def decoding(self) -> Decoding:
        """How its blocks are decoded."""
        return self._options.decoding

    @property
    def keeps_index(self) -> bool:
        """Whether a row index that is built is kept."""
        return checkpoints.worth_keeping(self.source, self._options.keeping)

    def known_total(self) -> int | None:
        """Return how many rows there are, if that is known without reading them."""
        known = self._known_rows()
        if known is None and self._seekable:
            indexed = self._index()
            known = indexed.index.total_rows if indexed.job is None else None
        elif known is None:
            kept = checkpoints.load(self.source, self._open(), self._options.keeping)
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
        """Be told how many rows there are by who has counted; with `offsets`, keep an index.

        `size`, `terminated` and `bom` are known here of a file that can be read by position.
        """
        opened = self._open()
        opened.check()
        self._total = rows
        if offsets is None:
            return
        if self.source.seekable:
            size = opened.size
            with reading(self.source.location):
                terminated = not size or opened.data.read_at(size - 1, 1) == b"\n"
                bom = opened.data.read_at(0, 3) == BOM_UTF8
            if terminated and rows and rows % INTERVAL == 0:
                # Where the next row would begin.
                offsets = [*offsets, size]
        index = RowIndex.known(
            INTERVAL, offsets, rows, size, terminated=terminated, bom=bom
        )
        checkpoints.save(self.source, opened, index, self._options.keeping)

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
        opened = None if self.source.is_pipe else self._open()
        if opened is not None:
            kept = checkpoints.load(self.source, opened, self._options.keeping)
            if kept is not None:
                return kept.index.total_rows
        index = RowIndex(INTERVAL)
        job = self._job(index, None)
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
        return self._asked(lambda: self._tail(count))

    def _tail(self, count: int) -> list[RowBatch]:
        if self._by_position():
            return list(self._tail_by_position(count))
        last: deque[RowBatch] = deque()
        held = 0
        for batch in self.batches():
            last.append(batch)
            held += len(batch)
            while last and held - len(last[0]) >= count:
                held -= len(last.popleft())
        return list(last)

    def backwards(self) -> Iterator[RowBatch]:
        """Yield runs of rows, the last run first; in a run rows stand in order."""
        given = 0
        try:
            for run in self._backwards():
                given += len(run)
                yield run
        except UnusableTableError as error:
            self._distrust(error)
        else:
            return
        for run in self._backwards():
            left = max(len(run) - given, 0)
            given -= len(run) - left
            if left:
                yield run.slice(0, left)

    def _backwards(self) -> Iterator[RowBatch]:
        if not self._by_position():
            self._finish_copy()
        file, end = self.positions()
        size = FIRST_BATCH_ROWS
        while end > 0:
            with reading(self.source.location):
                start, _rows = reach_back(
                    file, end=end, max_rows=size, max_bytes=BATCH_BYTES
                )
            size = min(size * 2, BATCH_ROWS)
            yield from reversed(list(self._run(file, start, end)))
            end = start

    def _finish_copy(self) -> None:
        job = self._index().job
        if job is not None:
            job.run()

    def _by_position(self) -> bool:
        """Whether the end of the rows can be read without reading all before it."""
        if self._seekable:
            return True
        indexed = self._indexed
        return indexed is not None and indexed.copied and indexed.index.complete

    def positions(self) -> tuple[File, int]:
        """Return the file that has the rows at their offsets, and its size."""
        if self._seekable:
            opened = self._open()
            return opened.data, opened.size
        indexed = self._index()
        return indexed.file, indexed.index.scanned

    def _tail_by_position(self, count: int) -> Iterator[RowBatch]:
        file, end = self.positions()
        with reading(self.source.location):
            start, _rows = reach_back(file, end=end, max_rows=count, max_bytes=END)
        yield from self._run(file, start, end)

    def _run(self, file: File, start: int, end: int) -> Iterator[RowBatch]:
        """Yield the rows that begin in ``[start, end)``. Their numbers are not known."""
        with reading(self.source.location):
            max_line = self._options.max_line
            stream = RowStream(
                file,
                "none",
                size=end,
                start=start,
                end=end,
                max_line=max_line,
                at_row=True,
            )
        opened = None if self.source.is_pipe else self._open()
        rows = Rows(self.source.location, stream, opened)
        while (batch := rows.next_batch(BATCH_ROWS, BATCH_BYTES)) is not None:
            yield batch

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
        """Find the rows that match a filter on keys through a key index, if `policy` chooses one.

        `prove` and `proven` are those of `headrace.store.index.key_scan.doubt`. The index of the
        set of a part is tried first, because that needs no open file.
        """
        if self.source.kind != "file" or not self._seekable:
            return NoKeyRows(policy.choose_index(()).reason)
        from headrace.store.index import key_scan
        from headrace.store.index.set import part_scan

        options = self._options
        of_set = key_scan.chosen(
            part_scan.offers(self, self._open, options, keys, max_depth, policy),
            policy,
            partial(part_scan.doubt, prove=prove, proven=proven),
        )
        if isinstance(of_set, key_scan.KeyRows):
            return of_set
        found = key_scan.chosen(
            key_scan.offers(self, self._open(), options, keys, max_depth, policy),
            policy,
            partial(key_scan.doubt, prove=prove, proven=proven),
        )
        if isinstance(found, key_scan.KeyRows):
            return found
        return NoKeyRows(policy.choose_index([*of_set, *found]).reason)

    # What is open

    def bytes_read(self) -> int:
        """Return how many bytes of the source were read so far."""
        opened, indexed = self._opened, self._indexed
        if opened is not None:
            return self._bytes_before + opened.file.bytes_read
        return self._bytes_before if indexed is None else indexed.index.scanned

    def rest(self) -> bool:
        """Let go of the file, which is opened again when it is needed.

        Not while its index is being built, nor if what was decoded is kept.
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
        """End the work in the background and let go of everything."""
        with self._lock:
            if self._indexed is not None and self._indexed.job is not None:
                self._indexed.job.cancel()
            self._indexed = None
            self._opened = None

    def _open(self) -> OpenedFile:
        with self._lock:
            if self._opened is None:
                opened = self._open_file()
                self._opened, self.source = opened, opened.source
                OPEN_FILES.use(self)
            return self._opened

    def _open_file(self) -> OpenedFile:
        keeping, decoding = self._options.keeping, self._options.decoding
        try:
            return OpenedFile(self.source, keeping, decoding)
        except SourceChangedError:
            moved = None if self._known is None else self._known.moved(self.source)
            if moved is None:
                raise
        if not self._options.blocks:
            moved = replace(moved, blocks=False)
        return OpenedFile(moved, keeping, decoding)

    def _take_pipe(self) -> tuple[Reader, str]:
        with self._lock:
            if self._pipe_taken:
                reason = f"{self.source.location}: a pipe can be read only once"
                raise UsageError(reason)
            self._pipe_taken = not isinstance(self.source.origin, Stream)
        return open_pipe(self.source)

    def _index(self) -> _Indexed:
        if self._indexed is None:
            with self._lock:
                if self._indexed is None:
                    in_place = self._seekable
                    self._indexed = (
                        self._index_in_place() if in_place else self._index_copy()
                    )
        return self._indexed

    def _index_in_place(self, *, look_for_kept: bool = True) -> _Indexed:
        opened = self._open()
        table = opened.counted_table
        counted = None if table is None else table.index()
        if counted is not None:
            return _Indexed(counted, opened.data, None, copied=False)
        kept = None
        if look_for_kept and self._known is not None:
            recorded = self._known.index(opened, INTERVAL)
            if recorded is not None:
                return _Indexed(recorded, opened.data, None, copied=False)
        if look_for_kept:
            kept = checkpoints.load(self.source, opened, self._options.keeping)
        if kept is not None and kept.whole:
            return _Indexed(kept.index, kept.file, None, copied=False)
        index = RowIndex(INTERVAL) if kept is None else kept.index
        return _Indexed(index, opened.data, self._job(index, None), copied=False)

    def _index_copy(self) -> _Indexed:
        import tempfile

        directory = os.environ.get("HEADRACE_SPOOL_DIR") or tempfile.gettempdir()
        if not os.access(directory, os.W_OK | os.X_OK) or not Path(directory).is_dir():
            raise SpoolError(directory, "it is no directory that can be written to")
        index = RowIndex(INTERVAL)
        job = self._job(index, directory)
        file = job.copy
        if file is None:
            raise AssertionError("a job with a directory makes a copy")
        return _Indexed(index, file, job, copied=True)

    def _job(self, index: RowIndex, copy_dir: str | None) -> IndexJob:
        source = self.source
        opened = None if source.is_pipe else self._open()
        data: File | Reader
        if opened is None:
            data, codec = self._take_pipe()
        else:
            data, codec = opened.data, opened.codec
        with reading(source.location):
            build = IndexBuild(
                data,
                codec,
                size=self._size(),
                index=index,
                copy_dir=copy_dir,
                decoding=self._options.decoding,
            )

        def keep() -> None:
            if opened is not None:
                opened.check()
                checkpoints.save(source, opened, index, self._options.keeping)

        return IndexJob(source.location, index, build, keep, spool=copy_dir)


def row_file(source: Source, options: RowOptions) -> RowFile:
    """Return the rows of a source of any kind."""
    if source.segment is None:
        return RowFile(source, options)
    from headrace.store.rows.log_segment import RecordedRows

    return RowFile(source, options, RecordedRows())
