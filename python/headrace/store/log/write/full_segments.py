"""Full segments: compressed one by one, and removed from the oldest on.

This is the only code that does so, beside a writer and without one. `FullSegments` is the
owner of the manifest in both cases: the appender of a writer, or a command that holds the
lock of the log. The manifest always changes before files are removed: a crash in between
leaves files that the next recovery removes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from headrace.store.files import system
from headrace.store.log.write.compaction import pack
from headrace.store.log.write.retention import Removed, on_full_disk, remove_files

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from contextlib import AbstractContextManager

    from headrace.store.log.manifest import Manifest, Sealed
    from headrace.store.log.names import LogNames
    from headrace.store.log.write.retention import Retention
    from headrace.store.shards.options import PackOptions


class FullSegments(Protocol):
    """The owner of the manifest of a log."""

    @property
    def names(self) -> LogNames:
        """The files of the log."""
        ...

    @property
    def manifest(self) -> Manifest:
        """The manifest as it was last written."""
        ...

    @property
    def last_bytes(self) -> int:
        """The bytes of the last segment, with its index."""
        ...

    def changing(self) -> AbstractContextManager[None]:
        """Keep others from changing the manifest, and refuse if another process has."""
        ...

    def put(self, manifest: Manifest, what_failed: str) -> None:
        """Replace the manifest, durably; only while `changing`."""
        ...

    def removed(self, bases: Collection[int]) -> None:
        """Note that the files of removed segments are gone."""
        ...


@dataclass(slots=True)
class Compressed:
    """Segments that were compressed, and the reasons why others could not be."""

    segments: list[Sealed] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def lines(self) -> int:
        """The number of their lines."""
        return sum(segment.rows for segment in self.segments)

    @property
    def bytes_before(self) -> int:
        """The bytes of their lines."""
        return sum(segment.bytes for segment in self.segments)

    @property
    def bytes_after(self) -> int:
        """The bytes of their files now."""
        return sum(segment.bytes_on_disk for segment in self.segments)

    def as_fields(self) -> dict[str, object]:
        """Return the numbers as plain data."""
        return {
            "segments": len(self.segments),
            "lines": self.lines,
            "bytes_before": self.bytes_before,
            "bytes_after": self.bytes_after,
        }


def compress(
    log: FullSegments,
    segment: Sealed,
    options: PackOptions,
    progress: Callable[[int], object],
) -> Sealed | None:
    """Replace the plain file of a segment by a compressed one; None if it was removed."""
    made = pack(log.names, log.manifest.salt, segment, options, progress)
    try:
        with log.changing():
            if segment not in log.manifest.segments:
                return None
            made.name()
            packed = log.manifest.with_packed(made.segment)
            log.put(packed, "a segment could not be compressed")
    finally:
        made.discard_unnamed()
    system.calls.unlink(log.names.data(segment.base))
    return made.segment


def remove(log: FullSegments, retention: Retention, now: int) -> Removed:
    """Remove the segments that retention does not keep, and what earlier runs left of some."""
    with log.changing():
        gone = retention.expired(log.manifest, log.last_bytes, now)
        if gone:
            without = log.manifest.without(len(gone))
            save = "segments could not be removed"
            on_full_disk(log.names, gone, lambda: log.put(without, save))
    if bases := log.manifest.removing:
        remove_files(log.names, bases)
        log.removed(bases)
    return Removed(gone)
