"""Log as sources: its segments in order, each pinned to the lines that are committed now.

A line without an entry is never read. Lines that recovery would still index after a crash
are not read either, with a warning: this writes nothing. Every line is compared with its entry
when it is read, so a changed line is an error here, as it is for `LogReader`, and never a row.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import (
    HeadraceError,
    HeadraceWarning,
    LogDamagedError,
    LogFileMissingError,
    SourceChangedError,
    SourceNotFoundError,
)
from headrace.kernel.rows import File, reading
from headrace.store.files.source import Segment, Source, local_file
from headrace.store.log import files
from headrace.store.log import manifest as manifests
from headrace.store.log.entries import committed_now
from headrace.store.log.lock import is_locked
from headrace.store.log.manifest import Active, Manifest, Sealed
from headrace.store.log.names import LogNames, lost_manifest
from headrace.store.log.read.ranges import known_span

if TYPE_CHECKING:
    from headrace.kernel.log import Place
    from headrace.store.files.units import Between


def log_sources(directory: str, times: Between | None = None) -> list[Source]:
    """Return the segments of a log that have lines, and the last one.

    With `times`, only lines with these times are read: if all lines of a segment have them
    according to the manifest, it is read like any other; if none has, it is left out.
    """
    names = LogNames(directory)
    while True:
        manifest = _manifest(names)
        try:
            return [
                _source(names, manifest, segment, times)
                for segment in manifest.all_segments
                if segment.rows or segment is manifest.active
            ]
        except SourceNotFoundError as error:
            # A process that compresses or removes a segment replaces the manifest first.
            if _manifest(names).generation == manifest.generation:
                index = error.path.endswith(".idx")
                kind = LogFileMissingError if index else LogDamagedError
                raise kind(error.path, 0, "it is missing") from None


def segment_source(path: Path, times: Between | None = None) -> Source | None:
    """Return the source of a file of a log, None if the manifest does not name it."""
    names = LogNames(path.parent)
    manifest = _manifest(names)
    named = (each for each in manifest.all_segments if each.name == path.name)
    segment = next(named, None)
    return None if segment is None else _source(names, manifest, segment, times)


def elsewhere(source: Source) -> Source | None:
    """Return the compressed source of lines that were plain, None if there is none."""
    found = full_by_now(source)
    if found is None:
        return None
    assert found.segment is not None
    assert source.segment is not None
    if source.segment.growing:
        # It has the lines that were committed then, and more after them.
        return replace(found, segment=source.segment)
    if replace(found.segment, times=source.times) != source.segment:
        return None
    return replace(found, segment=source.segment)


def full_by_now(source: Source) -> Source | None:
    """Return the full segment that has the lines of `source`, and maybe more.

    None if it is gone or where it was.
    """
    pinned, names, manifest = _log_of(source)
    for segment in manifest.segments:
        same = (segment.base, manifest.salt) == (pinned.base, pinned.salt)
        if same and names.file_of(segment) != Path(source.location):
            return _source(names, manifest, segment)
    return None


def is_still_there(source: Source) -> bool:
    """Whether the log still has the lines of a source."""
    pinned, _names, manifest = _log_of(source)
    bases = {segment.base for segment in manifest.all_segments}
    return manifest.salt == pinned.salt and pinned.base in bases


def gone(source: Source) -> SourceChangedError:
    """Return the error for a source whose file is missing."""
    segment = source.segment
    assert segment is not None
    first, last = segment.base + 1, segment.base + segment.rows
    reason = f"lines {first} to {last} of the log were compressed or removed since it was opened"
    return SourceChangedError(source.location, 0, reason)


def _log_of(source: Source) -> tuple[Segment, LogNames, Manifest]:
    """Return the segment that a source was, and the log as it is now."""
    assert source.segment is not None
    names = LogNames(Path(source.location).parent)
    return source.segment, names, _manifest(names)


def _manifest(names: LogNames) -> Manifest:
    with reading(names.text):
        manifest = manifests.load(names)
    if manifest is None and lost_manifest(names.directory):
        raise LogFileMissingError(str(names.manifest), 0, "it is gone")
    if manifest is None:
        raise SourceNotFoundError(names.text)
    return manifest


def _source(
    names: LogNames,
    manifest: Manifest,
    segment: Sealed | Active,
    times: Between | None = None,
) -> Source:
    path = str(names.file_of(segment))
    if not isinstance(segment, Sealed):
        return _last(names, path, manifest, times)
    if times is not None and (span := known_span(segment)) is not None:
        if not times.has_some(*span):
            known = replace(_known(manifest, segment, times), outside=True)
            return Source(path, "file", size=0, segment=known)
        if times.has_all(*span):
            times = None
    with reading(path):
        files.size_of(Path(path))
    source = local_file(path)
    size = segment.bytes_on_disk
    if source.size != size:
        reason = f"it has {source.size} bytes, but should have {size}"
        raise LogDamagedError(path, min(source.size, size), reason)
    codec = "none" if segment.packed is None else segment.packed.codec
    if segment.packed is not None and source.codec != codec:
        raise LogDamagedError(path, 0, f"it does not begin as {codec} does")
    # Damaged lines of a plain file may begin like compressed bytes.
    return replace(source, codec=codec, segment=_known(manifest, segment, times))


def _known(manifest: Manifest, segment: Sealed, times: Between | None) -> Segment:
    return Segment(
        segment.file_number, segment.base, segment.rows, manifest.salt, times=times
    )


def _last(
    names: LogNames, path: str, manifest: Manifest, times: Between | None
) -> Source:
    place = committed_now(names, manifest.mark)
    with reading(path):
        file = files.open_file(Path(path))
        size, mtime_ns, _ctime_ns = file.stat()
        if size < place.end:
            reason = f"it has {size} bytes, but {place.end} are committed"
            raise LogDamagedError(path, size, reason)
        ends = file.fingerprint(place.end)
    if size > place.end:
        warn_of_uncommitted(names, manifest.mark)
    known = Segment(
        place.file_number,
        place.base,
        place.rows,
        place.salt,
        growing=True,
        times=times,
    )
    return Source(path, "file", "none", place.end, mtime_ns, ends, segment=known)


def checked(source: Source, segment: Segment, data: File, size: int | None) -> File:
    """Return `data` such that every line is compared with its entry when it is read.

    `data` is the lines themselves, of `size` bytes, or compressed and read only in order
    with None. The index must have entries for as many rows, and as many bytes.
    """
    index_path = LogNames(Path(source.location).parent).index(segment.base)
    try:
        with reading(str(index_path)):
            index = files.open_file(index_path)
    except SourceNotFoundError:
        if not is_still_there(source):
            raise gone(source) from None
        raise LogFileMissingError(str(index_path), 0, "it is missing") from None
    place = segment.salt, segment.file_number, segment.base
    with reading(source.location):
        lines = data.checked(index, place, segment.rows, size is not None)
    if size is not None and segment.growing and size > (lines.checked_size or 0):
        return lines  # there are more lines after them
    if size not in (None, lines.checked_size):
        reason = f"its lines have {size} bytes, but should have {lines.checked_size}"
        raise LogDamagedError(source.location, 0, reason)
    return lines


def warn_of_uncommitted(names: LogNames, mark: Place) -> None:
    """Warn about bytes after the last committed line, unless a writer is active.

    A power failure can destroy the entries of acknowledged lines, which recovery rebuilds; while
    a writer is active, bytes without entries are its unfinished work. `mark` is the place up to
    which the last segment is durable according to the manifest.
    """
    if is_locked(names):
        return
    with suppress(HeadraceError, OSError):
        # A writer may just have committed them and closed the log.
        end = committed_now(names, mark).end
        length = files.size_of(names.data(mark.base)) - end
        if length > 0:
            warnings.warn(
                f"{names.text}: the last {length} bytes are not committed, and not read; "
                "`headrace log recover` brings back the lines in them, if there are any",
                HeadraceWarning,
                stacklevel=2,
            )
