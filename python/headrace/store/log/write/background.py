"""What a writer does to full segments besides writing: compress them, and remove old ones.

That happens in a thread, which is there as long as there is something to do. Whoever appends
waits for it only while the manifest is replaced.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError, LogDamagedError, UsageError
from headrace.store.files import system
from headrace.store.log.write.compaction import pack, plain_segments
from headrace.store.log.write.retention import Removed, remove_files

if TYPE_CHECKING:
    from headrace.store.log.lock import LogLock
    from headrace.store.log.manifest import Sealed
    from headrace.store.log.names import LogNames
    from headrace.store.log.write.appender import Appending
    from headrace.store.log.write.retention import Retention
    from headrace.store.shards.options import PackOptions


class _StoppedError(Exception):
    """The writer is being closed."""


class Upkeep:
    """The full segments of a log that is being written; `committing` is held to commit."""

    def __init__(
        self,
        names: LogNames,
        appending: Appending,
        committing: threading.RLock,
        lock: LogLock,
        packing: PackOptions | None,
        retention: Retention | None,
    ) -> None:
        self.failures: list[str] = []
        """What could not be done."""
        self._names = names
        self._appending = appending
        self._committing = committing
        self._lock = lock  # held for as long as a thread of ours may change the log
        self._packing = packing
        self._retention = retention
        self._mutex = threading.Lock()
        self._removing = threading.Lock()
        self._thread: threading.Thread | None = None
        self._due = False
        self._stopped = False
        self._left_plain: set[int] = set()

    def begin(self) -> None:
        """See to the segments that are full now, while others go on."""
        if self._packing is None and self._retention is None:
            return
        with self._mutex:
            self._due = True
            if self._thread is None and not self._stopped:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()

    def wait(self) -> None:
        """Wait until there is nothing left to do."""
        while (thread := self._thread) is not None:
            thread.join()

    def stop(self) -> None:
        """Stop as soon as can be; what is left is done by the next writer."""
        with self._mutex:
            self._stopped = True
        self.wait()

    def _run(self) -> None:
        try:
            while self._is_due():
                self._see_to_all()
        finally:
            # However we end: nobody may wait for ever.
            with self._mutex:
                if self._thread is threading.current_thread():
                    self._thread = None

    def _is_due(self) -> bool:
        with self._mutex:
            due, self._due = self._due and not self._stopped, False
            if not due:
                self._thread = None
            return due

    def _see_to_all(self) -> None:
        try:
            if self._retention is not None:
                self.retain(self._retention)
            if self._packing is not None:
                for segment in plain_segments(self._appending.manifest):
                    self._pack(segment, self._packing)
        except _StoppedError:
            return
        except (HeadraceError, OSError) as error:
            self._note(error)

    def _note(self, error: Exception) -> None:
        said = str(error)
        if said not in self.failures:
            self.failures.append(said)

    # Compressing

    def _pack(self, segment: Sealed, packing: PackOptions) -> None:
        self._go_on()
        if segment.base in self._left_plain:
            return
        salt = self._appending.manifest.salt
        try:
            made = pack(self._names, salt, segment, packing, self._go_on)
        except (LogDamagedError, UsageError) as error:
            # It can be no more than it is; the others can.
            self._left_plain.add(segment.base)
            self._note(error)
            return
        except (HeadraceError, OSError):
            if segment not in self._appending.manifest.segments:
                return  # it was removed meanwhile
            raise
        try:
            with self._committing:
                packed = self._appending.pack(made)
        finally:
            made.discard_unnamed()
        if packed:
            system.calls.unlink(self._names.data(segment.base))

    def _go_on(self, _done: int = 0) -> None:
        if self._stopped:
            raise _StoppedError

    # Removing

    def retain(self, retention: Retention) -> Removed:
        """Remove what may go: first from the manifest, then the files."""
        now = time.time_ns() // 1_000_000
        with self._committing:
            gone = self._appending.remove(retention, now)
        with self._removing:
            if bases := self._appending.manifest.removing:
                remove_files(self._names, bases)
                with self._committing:
                    self._appending.removed(bases)
        return Removed(gone)
