"""Retention: which old segments of a log are removed.

Whole segments are removed, the oldest first, never the last one. So the numbers of the
remaining lines do not change, and no number of a line or a file is used twice. The manifest
changes first: from then on the lines are gone, even if their files still exist.
"""

import errno
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from headrace.errors import UsageError
from headrace.kernel.log import ENTRY_BYTES, HEADER_BYTES
from headrace.store.files import system
from headrace.store.files.units import parse_duration, parse_size
from headrace.store.log.manifest import Manifest, Sealed, Times
from headrace.store.log.recover.leftovers import files_of
from headrace.store.log.write.compaction import FullSegments


@dataclass(frozen=True, slots=True)
class Retention:
    """What to keep: a segment beyond any of these limits is removed [default: keep all].

    `age` in milliseconds counts from the time of the last line of a segment; `bytes` counts
    all files of lines and entries; `before_line` removes whole segments before a line.
    """

    age: int | None = None
    bytes: int | None = None
    before_line: int | None = None

    def expired(
        self, manifest: Manifest, last_bytes: int, now: int
    ) -> tuple[Sealed, ...]:
        """Return the segments to remove; `last_bytes` is the size of the last segment."""
        total = last_bytes + sum(map(bytes_of, manifest.segments))
        count = 0
        for segment in manifest.segments:
            if not self._may_go(segment, total, now):
                break
            total -= bytes_of(segment)
            count += 1
        return manifest.segments[:count]

    def _may_go(self, segment: Sealed, total: int, now: int) -> bool:
        latest = segment.times.latest
        return (
            (self.bytes is not None and total > self.bytes)
            or (self.before_line is not None and segment.last_line < self.before_line)
            or (self.age is not None and (latest is None or latest < now - self.age))
        )


def retention(
    max_age: str | timedelta | None,
    max_bytes: int | str | None,
    before_line: int | None,
) -> Retention:
    """Return what to keep; raise if an option is invalid."""
    if max_age is None and max_bytes is None and before_line is None:
        raise UsageError(
            "what is to be kept? give an age (retain_age, --retain-age), a size "
            "(retain_bytes, --retain-bytes) or a line (before_line, --before-line)"
        )
    if before_line is not None and (type(before_line) is not int or before_line < 1):
        raise UsageError(f"before_line {before_line!r}: lines count from 1")
    return Retention(
        None if max_age is None else parse_duration(max_age),
        None if max_bytes is None else parse_size(max_bytes),
        before_line,
    )


def bytes_of(segment: Sealed) -> int:
    """Return the bytes of a full segment, with its index."""
    return segment.bytes_on_disk + HEADER_BYTES + segment.rows * ENTRY_BYTES


@dataclass(frozen=True, slots=True)
class Removed:
    """Segments that were removed, or would be."""

    segments: Sequence[Sealed]

    @property
    def lines(self) -> int:
        """The number of their lines."""
        return sum(segment.rows for segment in self.segments)

    @property
    def bytes(self) -> int:
        """The bytes of their files, with their indexes."""
        return sum(map(bytes_of, self.segments))

    def as_fields(self) -> dict[str, object]:
        """Return the numbers as plain data."""
        times = Times.known([segment.times for segment in self.segments])
        return {
            "segments": len(self.segments),
            "lines": self.lines,
            "bytes": self.bytes,
            "first_line": self.segments[0].base + 1 if self.segments else None,
            "last_line": self.segments[-1].last_line if self.segments else None,
            "min_time": times.earliest,
            "max_time": times.latest,
        }


_FULL = (errno.ENOSPC, errno.EDQUOT)


def _save_without(log: FullSegments, gone: Sequence[Sealed]) -> None:
    """Save the manifest without the segments that are `gone`, even on a full disk.

    The manifest must be durable before lines are removed, and may not fit. The index of a
    segment follows from its lines, so the indexes of the `gone` segments are removed first
    to make room; after a crash at that moment recovery builds them again.
    """
    without = log.manifest.without(len(gone))
    save = partial(log.put, without, "segments could not be removed")
    for segment in gone:
        try:
            return save()
        except OSError as error:
            if error.errno not in _FULL:
                raise
        with suppress(FileNotFoundError):
            system.calls.unlink(log.names.index(segment.base))
    return save()


def remove(log: FullSegments, retention: Retention, now: int) -> Removed:
    """Remove the segments that retention does not keep, and what earlier runs left of some."""
    with log.changing():
        gone = retention.expired(log.manifest, log.last_bytes, now)
        if gone:
            _save_without(log, gone)
    if bases := log.manifest.removing:
        for path in files_of(log.names, bases):
            if path.exists():
                system.calls.unlink(path)
        system.calls.sync_directory(log.names.directory)
        log.removed(bases)
    return Removed(gone)
