"""Index job: builds a row index while other threads already read from it.

A job scans in slices, with the GIL released inside each, and wakes waiting threads after every
slice. It ends exactly once, as done, failed or cancelled, and each of these wakes all waiting
threads, so that none waits for ever.
"""

from __future__ import annotations

import errno
import threading
import time
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError, SpoolError
from headrace.kernel.rows import reading

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.kernel.rows import File, IndexBuild, RowIndex

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
        self._build = build
        self._on_done = on_done
        self._spool = spool
        self._changed = threading.Condition()
        self._running = threading.Lock()
        self._cancelled = False
        self._ended = False
        self._error: HeadraceError | None = None
        self._thread: threading.Thread | None = None

    @property
    def copy(self) -> File | None:
        """The file that the decoded bytes are written to, if they are kept."""
        return self._build.copy

    @property
    def ended(self) -> bool:
        """Whether the job is done, failed or cancelled."""
        return self._ended

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self._cancelled

    @property
    def error(self) -> HeadraceError | None:
        """Why it failed, if it did."""
        return self._error

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
            while not self._ended and not self._knows(until_row):
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
            while not self._ended and not self._knows(until_row):
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
                lambda: self._ended or self.index.scanned > 0, timeout
            )

    def cancel(self) -> None:
        """Cancel the job, and wait until it has ended."""
        self._cancelled = True
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
            while not self._ended and main.is_alive():
                self._advance(slice_bytes)
                slice_bytes = SLICE_BYTES

    def _advance(self, slice_bytes: int) -> None:
        if self._cancelled:
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
            return self._build.advance(slice_bytes)
        except OSError as error:
            if self._spool is None or error.errno not in _FULL:
                raise
            # The disk of the copy is full, not that of the source.
            reason = error.strerror or str(error)
            raise SpoolError(self._spool, reason) from error

    def _end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()
