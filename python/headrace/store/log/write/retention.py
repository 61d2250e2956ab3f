"""Which old segments of a log may go, and what goes with them.

Whole segments go, the oldest first, never the last one; so the numbers of all other lines
stay, and no number of a line or a file is ever used again. The manifest is first to say so.
From then on the lines are gone, whatever becomes of the files.
"""

from __future__ import annotations

import errno
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from headrace.errors import UsageError
from headrace.kernel.log import ENTRY_BYTES, HEADER_BYTES
from headrace.store.files import system
from headrace.store.files.units import parse_duration, parse_size
from headrace.store.log.recover.leftovers import files_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import timedelta

    from headrace.store.log.manifest import Manifest, Sealed
    from headrace.store.log.names import LogNames

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Retention:
    """What is kept, None where anything is: a segment beyond any of these may go.

    `age` in milliseconds is that of its last line, by its time; `bytes` are those of all files
    of lines and entries; of lines before `before_line`, whole segments.
    """

    age: int | None = None
    bytes: int | None = None
    before_line: int | None = None

    def expired(
        self, manifest: Manifest, last_bytes: int, now: int
    ) -> tuple[Sealed, ...]:
        """Return the segments that may go; the last one has so many bytes."""
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
    """Check what is to be kept."""
    if max_age is None and max_bytes is None and before_line is None:
        raise UsageError(
            "what is to be kept? give an age (retain_age, --max-age), a size "
            "(retain_bytes, --max-bytes) or a line (before_line, --before-line)"
        )
    if before_line is not None and (type(before_line) is not int or before_line < 1):
        raise UsageError(f"before_line {before_line!r}: lines count from 1")
    return Retention(
        None if max_age is None else parse_duration(max_age),
        None if max_bytes is None else parse_size(max_bytes),
        before_line,
    )


def bytes_of(segment: Sealed) -> int:
    """Return how much room a full segment takes, with its index."""
    return segment.bytes_on_disk + HEADER_BYTES + segment.rows * ENTRY_BYTES


@dataclass(frozen=True, slots=True)
class Removed:
    """Segments that were removed, or would be."""

    segments: Sequence[Sealed]

    @property
    def lines(self) -> int:
        """How many lines they had."""
        return sum(segment.rows for segment in self.segments)

    @property
    def bytes(self) -> int:
        """How much room they took, with their indexes."""
        return sum(map(bytes_of, self.segments))

    def told(self) -> dict[str, object]:
        """Return what they were as plain data."""
        times = [segment.times for segment in self.segments]
        earliest = [each.earliest for each in times if each.earliest is not None]
        latest = [each.latest for each in times if each.latest is not None]
        return {
            "segments": len(self.segments),
            "lines": self.lines,
            "bytes": self.bytes,
            "first_line": self.segments[0].base + 1 if self.segments else None,
            "last_line": self.segments[-1].last_line if self.segments else None,
            "min_time": min(earliest, default=None),
            "max_time": max(latest, default=None),
        }


_FULL = (errno.ENOSPC, errno.EDQUOT)


def on_full_disk(names: LogNames, gone: Sequence[Sealed], save: Callable[[], T]) -> T:
    """Save a manifest without the segments that are `gone`, also where the disk is full.

    There may be no room for it, and it must be durable before lines go. An index follows
    from its lines, so those of segments that are to go make room first; whoever is killed
    then has the lines, and recovery makes their indexes again.
    """
    for segment in gone:
        try:
            return save()
        except OSError as error:
            if error.errno not in _FULL:
                raise
        with suppress(FileNotFoundError):
            system.calls.unlink(names.index(segment.base))
    return save()


def remove_files(names: LogNames, bases: Sequence[int]) -> None:
    """Remove the files of segments that the manifest names no more, durably."""
    for path in files_of(names, bases):
        if path.exists():
            system.calls.unlink(path)
    system.calls.sync_directory(names.directory)
