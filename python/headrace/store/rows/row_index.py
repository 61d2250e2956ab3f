"""The row index of an opened source: kept, recorded by its writer, or built by a job.

A plain file or a file of blocks is indexed in place. What any other source decodes to is copied to
a nameless temporary file, and the index is that of the copy.
"""

import errno
import os
import threading
import time
from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path

from headrace.errors import HeadraceError, SpoolError
from headrace.kernel.rows import File, IndexBuild, Reader, RowIndex, reading
from headrace.record import record
from headrace.store.files.opened import OpenedFile
from headrace.store.files.source import Source
from headrace.store.rows import checkpoints
from headrace.store.rows.row_file import INTERVAL, RowOptions


@record
class IndexedRows:
    """A row index, and the file that its offsets are in.

    Without a job, the index is complete. `copied`: the file has the bytes that were decoded so
    far, and the job continues when more are needed.
    """

    index: RowIndex
    file: File
    job: "IndexJob | None" = None
    copied: bool = False


def index_in_place(
    opened: OpenedFile, options: RowOptions, *, kept: bool
) -> IndexedRows:
    """Return the row index of a seekable file; `kept`: one that was stored may be used."""
    table = opened.counted_table
    counted = None if table is None else table.index()
    if counted is None and kept and opened.source.segment is not None:
        from headrace.store.rows.log_segment import recorded_index

        counted = recorded_index(opened, INTERVAL)
    if counted is not None:
        return IndexedRows(counted, opened.data)
    found = None
    if kept:
        found = checkpoints.load(opened.source, opened, options.keeping)
    if found is not None and found.whole:
        return IndexedRows(found.index, found.file)
    index = RowIndex(INTERVAL) if found is None else found.index
    job = index_job(opened.source, opened, opened.data, opened.codec, options, index)
    return IndexedRows(index, opened.data, job)


def index_copy(
    source: Source,
    opened: OpenedFile | None,
    data: File | Reader,
    codec: str,
    options: RowOptions,
) -> IndexedRows:
    """Return the row index of a copy of the decoded bytes of a source; a pipe is not `opened`."""
    import tempfile

    directory = os.environ.get("HEADRACE_SPOOL_DIR") or tempfile.gettempdir()
    if not os.access(directory, os.W_OK | os.X_OK) or not Path(directory).is_dir():
        raise SpoolError(directory, "it is no directory that can be written to")
    index = RowIndex(INTERVAL)
    job = index_job(source, opened, data, codec, options, index, directory)
    copy = job.build.copy
    assert copy is not None  # a job with a directory makes a copy
    return IndexedRows(index, copy, job, copied=True)


def counted_index(
    source: Source,
    opened: OpenedFile,
    rows: int,
    offsets: list[int],
    ends: tuple[int, bool, bool],
) -> RowIndex:
    """Return the row index of a file whose rows were counted elsewhere.

    `ends` are its decoded size, whether a newline ends it, and whether a byte order mark begins
    it; of a seekable file, they are read.
    """
    size, terminated, bom = ends
    if source.seekable:
        size = opened.size
        with reading(source.location):
            terminated = not size or opened.data.read_at(size - 1, 1) == b"\n"
            bom = opened.data.read_at(0, len(BOM_UTF8)) == BOM_UTF8
        if terminated and rows and rows % INTERVAL == 0:
            # The offset of the next row.
            offsets = [*offsets, size]
    return RowIndex.known(INTERVAL, offsets, rows, size, terminated=terminated, bom=bom)


def index_job(
    source: Source,
    opened: OpenedFile | None,
    data: File | Reader,
    codec: str,
    options: RowOptions,
    index: RowIndex,
    copy_directory: str | None = None,
) -> "IndexJob":
    """Return the job that completes an index, and keeps it if the source is a file."""
    with reading(source.location):
        build = IndexBuild(
            data,
            codec,
            size=source.size if opened is None else opened.size,
            index=index,
            copy_dir=copy_directory,
            decoding=options.decoding,
        )

    def keep() -> None:
        if opened is not None:
            opened.check()
            checkpoints.save(source, opened, index, options.keeping)

    return IndexJob(source.location, index, build, keep, spool=copy_directory)


SLICE_BYTES = 16 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

FIRST_SLICE_BYTES = 1 << 20
"""The first page should not wait for a whole slice."""


class IndexJob:
    """One scan of one source into one row index."""

    def __init__(
        self,
        path: str,
        index: RowIndex,
        build: IndexBuild,
        on_done: Callable[[], None] = lambda: None,
        spool: str | None = None,
    ) -> None:
        self.path = path
        self.index = index
        self.build = build
        self._on_done = on_done
        self._spool = spool
        self._changed = threading.Condition()
        self._running = threading.Lock()
        self.cancelled = False
        self.ended = False
        """Whether the job is done, failed or cancelled."""
        self._error: HeadraceError | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Scan in the background."""
        if self._thread is None:
            name = f"headrace-index-{self.path}"
            self._thread = threading.Thread(target=self._run_quietly, name=name)
            self._thread.start()

    def run(
        self, until_row: int | None = None, tick: Callable[[], None] = lambda: None
    ) -> None:
        """Scan here until row `until_row` is known, or to the end.

        `tick` is called after each slice.
        """
        with self._running:
            slice_bytes = FIRST_SLICE_BYTES
            while not self.ended and not self._knows(until_row):
                self._advance(slice_bytes)
                slice_bytes = SLICE_BYTES
                tick()
        self._raise_failure(until_row)

    def wait(
        self,
        until_row: int | None = None,
        timeout: float | None = None,
        tick: Callable[[], None] = lambda: None,
    ) -> bool:
        """Wait until row `until_row` is known or the job has ended; false when out of time.

        `tick` is called after each slice.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while not self.ended and not self._knows(until_row):
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._changed.wait(left)
                tick()
        self._raise_failure(until_row)
        return True

    def wait_for_first_page(self, timeout: float | None = None) -> bool:
        """Wait until the first rows or bytes are known, or the job has ended."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self.ended or self.index.scanned > 0, timeout
            )

    def cancel(self) -> None:
        """Cancel the job, and wait until it has ended."""
        self.cancelled = True
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        self._end()

    def _raise_failure(self, until_row: int | None) -> None:
        # Rows found before the failure can be used.
        if self._error is not None and not self._knows(until_row):
            raise self._error

    def _knows(self, row: int | None) -> bool:
        return row is not None and self.index.total_rows > row

    def _run_quietly(self) -> None:
        # Python waits for this thread at exit, so it must notice the exit.
        main = threading.main_thread()
        slice_bytes = FIRST_SLICE_BYTES
        with self._running:
            while not self.ended and main.is_alive():
                self._advance(slice_bytes)
                slice_bytes = SLICE_BYTES

    def _advance(self, slice_bytes: int) -> None:
        if self.cancelled:
            self._end()
            return
        try:
            with reading(self.path):
                more = self._advanced(slice_bytes)
            if not more:
                self._on_done()
        except HeadraceError as error:
            self._error = error
            more = False
        if more:
            with self._changed:
                self._changed.notify_all()
        else:
            self._end()

    def _advanced(self, slice_bytes: int) -> bool:
        try:
            return self.build.advance(slice_bytes)
        except OSError as error:
            if self._spool is None or error.errno not in _FULL:
                raise
            # The disk of the copy is full, not that of the source.
            reason = error.strerror or str(error)
            raise SpoolError(self._spool, reason) from error

    def _end(self) -> None:
        with self._changed:
            self.ended = True
            self._changed.notify_all()
