"""Changing the full segments of a log that nobody writes."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headrace.errors import (
    HeadraceError,
    LogBusyError,
    LogDamagedError,
    LogLockedError,
    UnwritableError,
    UsageError,
)
from headrace.store.files import system
from headrace.store.log.lock import LogLock
from headrace.store.log.recover.recovery import recover
from headrace.store.log.write.compaction import pack, plain_segments
from headrace.store.log.write.retention import Removed, on_full_disk, remove_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.store.log.manifest import Manifest, Sealed
    from headrace.store.log.names import LogNames
    from headrace.store.log.recover.index_rebuild import RecoveryOptions
    from headrace.store.log.write.retention import Retention
    from headrace.store.shards.options import PackOptions


@contextmanager
def alone(names: LogNames, options: RecoveryOptions) -> Iterator[Manifest]:
    """Hold the lock of a log; give its manifest, recovered, with an epoch of our own."""
    names.refuse_unless_log()
    try:
        lock = LogLock(names)
    except LogLockedError as error:
        raise LogBusyError(error.path, error.holder) from None
    try:
        manifest, _report = recover(names, lock, options)
        # A writer that cannot be seen by its lock notices us by that.
        epoch = max(manifest.epoch, lock.epoch) + 1
        lock.say(epoch)
        yield replace(manifest, epoch=epoch)
    except HeadraceError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        left = "all lines are in the log; try again when that is over"
        raise UnwritableError(names.text, reason, left) from error
    finally:
        lock.release()


@dataclass(slots=True)
class Packing:
    """What was compressed: how many bytes it took before and after; and what could not be."""

    segments: list[Sealed] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def lines(self) -> int:
        """How many lines there are in them."""
        return sum(segment.rows for segment in self.segments)

    @property
    def bytes_before(self) -> int:
        """Bytes of their lines."""
        return sum(segment.bytes for segment in self.segments)

    @property
    def bytes_after(self) -> int:
        """Bytes of their files now."""
        return sum(segment.bytes_on_disk for segment in self.segments)

    def told(self) -> dict[str, object]:
        """Return it as plain data."""
        return {
            "segments": len(self.segments),
            "lines": self.lines,
            "bytes_before": self.bytes_before,
            "bytes_after": self.bytes_after,
        }


def pack_all(
    names: LogNames,
    manifest: Manifest,
    options: PackOptions,
    *,
    before: int | None,
    keep_plain: int,
    progress: Callable[[int, int], object],
) -> Packing:
    """Compress full segments, one after the other; what is done stays if it is ended."""
    done = Packing()
    chosen = plain_segments(manifest, before=before, keep_plain=keep_plain)
    total = sum(segment.bytes for segment in chosen)
    begun = 0
    for segment in chosen:
        start = begun

        def report(count: int, start: int = start) -> None:
            progress(start + count, total)

        begun += segment.bytes
        try:
            made = pack(names, manifest.salt, segment, options, report)
        except (LogDamagedError, UsageError) as error:
            done.failures.append(str(error))
            continue
        try:
            made.name()
        finally:
            made.discard_unnamed()
        manifest = manifest.with_packed(made.segment).save(names)
        system.calls.unlink(names.data(segment.base))
        done.segments.append(made.segment)
    return done


def remove_expired(
    names: LogNames, manifest: Manifest, retention: Retention, now: int
) -> Removed:
    """Remove old segments: first from the manifest, then their files."""
    gone = retention.expired(manifest, last_bytes(names, manifest), now)
    if gone:
        without = manifest.without(len(gone))
        manifest = on_full_disk(names, gone, lambda: without.save(names))
        remove_files(names, manifest.removing)
        replace(manifest, removing=()).save(names)
    return Removed(gone)


def last_bytes(names: LogNames, manifest: Manifest) -> int:
    """Return how much room the last segment takes, with its index."""
    base = manifest.active.base
    paths = names.data(base), names.index(base)
    return sum(path.stat().st_size for path in paths)
