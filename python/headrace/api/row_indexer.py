"""The row index alone, for callers that read files themselves."""

from __future__ import annotations

import os

from headrace.errors import UsageError
from headrace.kernel.rows import IndexBuild, RowIndex, reading
from headrace.store.files.opened import OpenedFile
from headrace.store.files.source import expand
from headrace.store.rows.row_file import INTERVAL
from headrace.store.rows.row_index import IndexJob


class RowIndexer:
    """The row index of a file: where every thousandth row begins.

    `build_index` scans the file, once; `start` does the same in the background.
    All else may be called at any time and from any thread: while the scan is
    running, it is about the part already scanned. Of a compressed file, offsets are those
    after decompression. In a forked process the scan begins anew.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        sources = expand(path)
        if len(sources) != 1:
            raise UsageError(
                f"{os.fspath(path)}: a RowIndexer is of one file, and these are {len(sources)}; "
                "make one of each, or headrace.open them together"
            )
        (self._source,) = sources
        if self._source.is_pipe:
            reason = (
                f"{self._source.location}: a pipe has no byte offsets to go back to"
            )
            raise UsageError(f"{reason}; save it to a file first")
        self._begun = False
        self._renew()

    def _renew(self) -> None:
        """Begin with an empty index."""
        self._pid = os.getpid()
        self._opened = OpenedFile(self._source)
        self._built = RowIndex(INTERVAL)
        with reading(self._source.location):
            build = IndexBuild(
                self._opened.data,
                self._opened.codec,
                size=self._opened.size,
                index=self._built,
            )
        self._job_here = IndexJob(
            self._source.location, self._built, build, self._opened.check
        )

    @property
    def _job(self) -> IndexJob:
        # Locks that a thread of the parent held at the fork are never released in the child.
        if self._pid != os.getpid():
            self._renew()
            if self._begun:
                self._job_here.start()
        return self._job_here

    @property
    def _index(self) -> RowIndex:
        return self._job.index

    def build_index(self) -> None:
        """Scan the whole file. Call it once, from one thread."""
        self._begin()
        self._job.run()

    def start(self) -> None:
        """Scan in the background; see `wait` and `wait_for_first_page`."""
        self._begin()
        self._job.start()

    def _start_once(self) -> None:
        # Another thread may still build it: then this waits for that scan to end.
        if not self._begun:
            self._job.start()

    def _begin(self) -> None:
        if self._begun:
            raise UsageError(
                "the index of a file is built once; make another RowIndexer"
            )
        self._begun = True

    def get_checkpoint(self, row: int) -> tuple[int, int]:
        """Return the byte offset of the nearest known row, and how many rows to skip there."""
        if row < 0:
            raise UsageError(f"row {row}: rows are counted from 0")
        return self._index.checkpoint(row)

    def checkpoints(self) -> list[int]:
        """Return the byte offset of each row 0, 1000, 2000, … known."""
        return self._index.checkpoints()

    @property
    def total_rows(self) -> int:
        """Rows found so far."""
        return self._index.total_rows

    @property
    def file_path(self) -> str:
        """The file, as the caller named it."""
        return self._job.path

    @property
    def complete(self) -> bool:
        """Whether the whole file has been scanned."""
        return self._index.complete

    @property
    def progress(self) -> tuple[int, int]:
        """Bytes scanned, and bytes in all."""
        index = self._index
        if self._opened.codec == "none":
            return index.scanned, self._opened.size
        size = self._source.size
        return size if index.complete else min(self._opened.file.bytes_read, size), size

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the scan, however it ends; false when out of time.

        Starts it if needed. Raises the error of the scan.
        """
        self._start_once()
        return self._job.wait(timeout=timeout)

    def wait_for_first_page(self, timeout: float | None = None) -> bool:
        """Wait until the first rows are known, or the scan ends; start the scan if needed."""
        self._start_once()
        return self._job.wait_for_first_page(timeout)

    def cancel(self) -> None:
        """End the scan. The rows found so far stay."""
        self._job.cancel()
