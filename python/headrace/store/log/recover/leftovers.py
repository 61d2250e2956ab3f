"""Leftovers of a process that was killed while it compressed or removed segments.

The manifest has decided already: it names the segments that are being removed, and of a
segment in two files the one to keep. This finishes the work.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.kernel.checksum import digest
from headrace.kernel.rows import reading
from headrace.store.files import system
from headrace.store.log import files
from headrace.store.log.entries import rows_in
from headrace.store.log.names import CODECS, LogNames

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from headrace.store.log.manifest import Manifest, Sealed
    from headrace.store.log.recover.report import Report


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Files that do not belong to a log any more, or not yet."""

    names: LogNames
    report: Report

    def removed(self, manifest: Manifest) -> Manifest:
        """Finish the removal of segments; return the new state."""
        if not manifest.removing:
            return manifest
        manifest = self._decided(manifest)
        paths = files_of(self.names, manifest.removing)
        self._remove("expired", "it was not finished", *paths)
        return replace(manifest, removing=())

    def copies(self, manifest: Manifest) -> Manifest:
        """Remove the second file of segments that exist plain and compressed."""
        known = {segment.base: segment for segment in manifest.segments}
        others: list[tuple[str, str, Path]] = []
        for base, path in self.names.segments():
            segment = known.get(base)
            if segment is None or path.name == segment.name:
                continue
            if segment.packed is None:
                others.append(("discarded", "it was not finished", path))
            elif path == self.names.data(base) and not self._is_whole(segment):
                known[base] = replace(segment, packed=None)
                packed = self.names.file_of(segment)
                others.append(("discarded", "it is not what was written", packed))
            else:
                others.append(("replaced", "it was not finished", path))
        if others:
            segments = tuple(known.values())
            manifest = self._decided(replace(manifest, segments=segments))
        for action, why, path in others:
            self._remove(action, why, path)
        return manifest

    def _decided(self, manifest: Manifest) -> Manifest:
        """Make the manifest durable: the killed process may not have done so."""
        return manifest.save(self.names)

    def _is_whole(self, segment: Sealed) -> bool:
        path, packed = self.names.file_of(segment), segment.packed
        assert packed is not None
        with reading(str(path)):
            return digest(files.open_file(path), packed.bytes) == packed.digest

    def indexes(self) -> None:
        """Remove empty indexes of segments that were never begun."""
        there = set(self.names.bases())
        for base in self.names.indexes():
            path = self.names.index(base)
            if base not in there and rows_in(path.stat().st_size) == 0:
                self._remove("removed", "a writer had just begun it", path)

    def begun(self, base: int) -> None:
        """Remove an empty segment that is not the last one."""
        paths = self.names.data(base), self.names.index(base)
        self._remove("removed", "a writer had just begun it", *paths)

    def _remove(self, action: str, why: str, *paths: Path) -> None:
        for path in paths:
            if path.exists():
                size = path.stat().st_size
                system.calls.unlink(path)
                self.report.add(action, str(path), why, bytes=size)
        system.calls.sync_directory(self.names.directory)


def files_of(names: LogNames, bases: Collection[int]) -> list[Path]:
    """List the possible files of segments, and the sidecars beside them."""
    paths = names.sidecars(bases)
    for base in bases:
        packed = [names.packed(base, codec) for codec in CODECS]
        paths += [names.data(base), *packed, names.index(base)]
    return paths
