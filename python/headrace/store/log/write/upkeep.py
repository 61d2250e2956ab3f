"""Upkeep of a log: full segments are compressed and removed, beside a writer and without one.

The thread of a writer lives as long as there is something to do. Appending waits for it only
while the manifest is replaced. Without a writer, commands do the same under the lock.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from headrace.errors import (
    HeadraceError,
    LogBusyError,
    LogDamagedError,
    LogLockedError,
    UsageError,
)
from headrace.store.files.atomic import unwritable
from headrace.store.log.lock import LogLock
from headrace.store.log.manifest import Manifest, Sealed
from headrace.store.log.names import LogNames
from headrace.store.log.recover.indexes import RecoveryOptions
from headrace.store.log.recover.recovery import recover
from headrace.store.log.write.appender import SegmentAppender
from headrace.store.log.write.compaction import Compressed, compress, plain_segments
from headrace.store.log.write.retention import Removed, Retention, remove
from headrace.store.shards.options import PackOptions


class _StoppedError(Exception):
    """The writer is being closed."""


class BackgroundUpkeep:
    """The thread of one writer that compresses and removes full segments."""

    def __init__(
        self,
        appender: SegmentAppender,
        lock: LogLock,
        packing: PackOptions | None,
        retention: Retention | None,
    ) -> None:
        self.failures: list[str] = []
        """The reasons why segments were not compressed or removed."""
        self._appender = appender
        self._lock = lock  # kept for as long as the thread may change the log
        self._packing = packing
        self._retention = retention
        self._mutex = threading.Lock()
        self._removing = threading.Lock()
        self._thread: threading.Thread | None = None
        self._due = False
        self._stopped = False
        self._left_plain: set[int] = set()

    def begin(self) -> None:
        """Compress and remove the segments that are full now, in the background."""
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
        """Stop soon; the next writer does the rest."""
        with self._mutex:
            self._stopped = True
        self.wait()

    def _run(self) -> None:
        try:
            while self._is_due():
                self._run_once()
        finally:
            # However the thread ends: a caller of `wait` must not wait for ever.
            with self._mutex:
                if self._thread is threading.current_thread():
                    self._thread = None

    def _is_due(self) -> bool:
        with self._mutex:
            due, self._due = self._due and not self._stopped, False
            if not due:
                self._thread = None
            return due

    def _run_once(self) -> None:
        try:
            if self._retention is not None:
                self.retain(self._retention)
            if self._packing is not None:
                for segment in plain_segments(self._appender.manifest):
                    self._compress(segment, self._packing)
        except _StoppedError:
            return
        except (HeadraceError, OSError) as error:
            self._note(error)

    def _note(self, error: Exception) -> None:
        message = str(error)
        if message not in self.failures:
            self.failures.append(message)

    def _compress(self, segment: Sealed, packing: PackOptions) -> None:
        self._go_on()
        if segment.base in self._left_plain:
            return
        try:
            compress(self._appender, segment, packing, self._go_on)
        except (LogDamagedError, UsageError) as error:
            # This segment stays plain; the others can still be compressed.
            self._left_plain.add(segment.base)
            self._note(error)
        except (HeadraceError, OSError):
            # It does not matter if the segment was removed meanwhile.
            if segment in self._appender.manifest.segments:
                raise

    def _go_on(self, _done: int = 0) -> None:
        if self._stopped:
            raise _StoppedError

    def retain(self, retention: Retention) -> Removed:
        """Remove the segments that retention does not keep."""
        now = time.time_ns() // 1_000_000
        with self._removing:
            return remove(self._appender, retention, now)


@dataclass(slots=True)
class OfflineLog:
    """A recovered log whose lock a command holds."""

    names: LogNames
    manifest: Manifest

    @property
    def last_bytes(self) -> int:
        """The bytes of the last segment, with its index."""
        return last_bytes(self.names, self.manifest)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Do nothing: the lock keeps others from changing the log."""
        yield

    def put(self, manifest: Manifest, _what_failed: str) -> None:
        """Replace the manifest, durably."""
        self.manifest = manifest.save(self.names)

    def removed(self, bases: Collection[int]) -> None:
        """Note in the manifest that the files of removed segments are gone."""
        self.manifest = self.manifest.without_files(bases).save(self.names)


@contextmanager
def offline(names: LogNames, options: RecoveryOptions) -> Iterator[OfflineLog]:
    """Lock and recover a log that has no writer."""
    names.refuse_unless_log()
    try:
        lock = LogLock(names)
    except LogLockedError as error:
        raise LogBusyError(error.path, error.holder) from None
    left = "all lines are in the log; try again when that is over"
    try:
        with unwritable(names.text, left):
            manifest, _report = recover(names, lock, options)
            # A writer on another machine, whose lock is not seen here, notices the epoch.
            epoch = max(manifest.epoch, lock.epoch) + 1
            lock.sign(epoch)
            yield OfflineLog(names, replace(manifest, epoch=epoch))
    finally:
        lock.release()


def compress_all(
    log: OfflineLog,
    options: PackOptions,
    *,
    before: int | None,
    keep_plain: int,
    progress: Callable[[int, int], object],
) -> Compressed:
    """Compress full segments one by one; an interrupt keeps those that are done."""
    done = Compressed()
    chosen = plain_segments(log.manifest, before=before, keep_plain=keep_plain)
    total = sum(segment.bytes for segment in chosen)
    begun = 0
    for segment in chosen:
        start = begun

        def report(count: int, start: int = start) -> None:
            progress(start + count, total)

        begun += segment.bytes
        try:
            made = compress(log, segment, options, report)
        except (LogDamagedError, UsageError) as error:
            done.failures.append(str(error))
        else:
            done.segments += [] if made is None else [made]
    return done


def last_bytes(names: LogNames, manifest: Manifest) -> int:
    """Return the bytes of the last segment, with its index."""
    base = manifest.active.base
    paths = names.data(base), names.index(base)
    return sum(path.stat().st_size for path in paths)
