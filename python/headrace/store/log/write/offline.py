"""Upkeep of a log without a writer: commands compress and remove its full segments."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.errors import (
    LogBusyError,
    LogDamagedError,
    LogLockedError,
    UsageError,
)
from headrace.store.files.atomic import unwritable
from headrace.store.log.lock import LogLock
from headrace.store.log.recover.recovery import recover
from headrace.store.log.write.compaction import plain_segments
from headrace.store.log.write.full_segments import Compressed, compress

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from headrace.store.log.manifest import Manifest
    from headrace.store.log.names import LogNames
    from headrace.store.log.recover.index_rebuild import RecoveryOptions
    from headrace.store.shards.options import PackOptions


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
