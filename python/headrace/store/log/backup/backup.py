"""Backup of a log, also while it is written; only new lines are copied.

Neither full segments nor committed lines ever change: a segment that grew is copied from
the end of its copy on. The backup is the old one until its contents file is replaced, and
the new one from then on. Copies are read back, and their lines are compared with their
checksums, so that damage does not replace good data.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from headrace.errors import (
    BackupError,
    BackupLossError,
    HeadraceError,
    LogDamagedError,
    SourceNotFoundError,
    UsageError,
)
from headrace.kernel.checksum import digest
from headrace.kernel.log import LogClock, Place, verify
from headrace.kernel.rows import File, reading
from headrace.store.files import system
from headrace.store.files.atomic import unwritable
from headrace.store.files.directories import make_durable_directories
from headrace.store.files.lock import FileLock
from headrace.store.log import files
from headrace.store.log import manifest as manifests
from headrace.store.log.backup import manifest as backup_file
from headrace.store.log.backup.manifest import Backup, BackupNames, Kept
from headrace.store.log.entries import committed_now, rows_in
from headrace.store.log.manifest import Active, Manifest, Sealed
from headrace.store.log.names import LogNames, segment_name


def refuse_loss(
    names: BackupNames, backup: Backup, log: LogNames, manifest: Manifest, place: Place
) -> None:
    """Raise if the log, committed up to `place`, has lost lines that the backup has.

    Segments that were full then and still have as many lines and bytes are not read.
    """
    by_name = {kept.name: kept for kept in backup.files}
    now = {segment.base: segment for segment in manifest.all_segments}
    for then in backup.manifest.all_segments:
        if then.base + 1 < manifest.first_line or then.name not in by_name:
            continue
        rows = rows_in(by_name[f"{segment_name(then.base)}.idx"].bytes)
        segment = now.get(then.base)
        there = 0 if segment is None else _rows(segment, place)
        if there < rows:
            lost = _lines(then.base + there + 1, then.base + rows)
            raise BackupLossError(names.text, f"{log.text} does not have {lost} of it")
        if segment and rows and not _goes_on(log, segment, then, by_name[then.name]):
            other = _lines(then.base + 1, then.base + rows)
            reason = f"{log.text} has something else than it in {other}"
            raise BackupLossError(names.text, reason)


def _rows(segment: Sealed | Active, place: Place) -> int:
    return segment.rows if isinstance(segment, Sealed) else place.rows


def _lines(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first} to {last}"


def _goes_on(
    log: LogNames, segment: Sealed | Active, then: Sealed | Active, kept: Kept
) -> bool:
    """Whether a segment begins with its copied lines."""
    if isinstance(then, Sealed):
        if isinstance(segment, Sealed) and segment.rows == then.rows:
            return segment.bytes == then.bytes
        if then.packed is not None:
            return False  # it was full and compressed then, and was changed
    path = log.file_of(segment)
    lines = files.open_data(path)
    with files.reading_lines(str(path)):
        size = lines.stat()[0]
        if size < kept.bytes:
            reason = f"it has {size} bytes, but had {kept.bytes} when it was backed up"
            raise LogDamagedError(str(path), size, reason)
        return digest(lines, kept.bytes) == kept.digest


@dataclass(frozen=True, slots=True)
class BackedUp:
    """The contents of a backup, and the number of bytes copied this time."""

    generation: int
    first_line: int
    last_line: int
    files: int
    bytes: int
    copied: int


def backup_log(
    directory: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    progress: Callable[[int], object] = lambda _bytes: None,
    *,
    accept_loss: bool = False,
) -> BackedUp:
    """Create or update the backup of a log.

    A backup that has lines which the log has lost does not change, and `BackupLossError` is
    raised, unless `accept_loss`. Lines that retention removed are not lost.
    """
    log, names = LogNames(directory), BackupNames(destination)
    manifests.existing(log)
    if names.directory.resolve().is_relative_to(log.directory.resolve()):
        raise UsageError(
            f"{names.text}: is within the log {log.text}, and would be lost with it; "
            "name a directory elsewhere"
        )
    left = "the backup is what it was; run it again when that is over"
    with unwritable(names.text, left):
        make_durable_directories(names.segments)
        lock = FileLock(names.lock, lambda holder: _busy(names, holder))
        try:
            return _Copying(log, names, progress, accept_loss=accept_loss).run()
        finally:
            lock.release()


def _busy(names: BackupNames, holder: str) -> BackupError:
    return BackupError(names.text, f"{holder} is writing it; wait until that is done")


class _Copying:
    """The copying of new data of one log."""

    def __init__(
        self,
        log: LogNames,
        names: BackupNames,
        progress: Callable[[int], object],
        *,
        accept_loss: bool,
    ) -> None:
        self._log = log
        self._names = names
        self._progress = progress
        self._accept_loss = accept_loss
        self._copied = 0
        self._known = backup_file.load(names)
        kept = () if self._known is None else self._known.files
        self._kept = {each.name: each for each in kept}
        self._refuse_other_files()

    def _refuse_other_files(self) -> None:
        """Raise if a directory without a backup has other files than those of an unfinished one."""
        if self._known is not None:
            return
        ours = (self._names.segments.name, self._names.lock.name)
        for other in sorted(system.calls.list_directory(self._names.directory)):
            if other not in ours and not other.startswith(".backup.json.tmp-"):
                raise UsageError(
                    f"{self._names.text}: there is {other!r}, but no backup; "
                    "give the backup another directory"
                )

    def run(self) -> BackedUp:
        manifest = manifests.existing(self._log)
        self._refuse_other_log(manifest)
        try:
            kept, last_line = self._segments(manifest)
        except SourceNotFoundError as error:
            # A process that compresses or removes a segment replaces the manifest first.
            if manifests.existing(self._log).generation == manifest.generation:
                raise LogDamagedError(error.path, 0, "it is missing") from None
            return self.run()
        system.calls.sync_directory(self._names.segments)
        backup = backup_file.following(self._known, manifest, kept)
        if backup is not self._known:
            backup.save(self._names)
        self._remove_others(backup)
        return BackedUp(
            backup.generation,
            manifest.all_segments[0].base + 1,
            last_line,
            len(backup.files),
            backup.bytes,
            self._copied,
        )

    def _refuse_other_log(self, manifest: Manifest) -> None:
        if self._known is not None and self._known.manifest.salt != manifest.salt:
            raise UsageError(
                f"{self._names.text}: is the backup of another log than "
                f"{self._log.text}; name another directory"
            )

    def _segments(self, manifest: Manifest) -> tuple[list[Kept], int]:
        place = committed_now(self._log, manifest.mark)
        if self._known is not None and not self._accept_loss:
            refuse_loss(self._names, self._known, self._log, manifest, place)
        kept: list[Kept] = []
        for segment in manifest.segments:
            if segment.rows:
                kept += self._full(manifest, segment)
        kept += self._both(manifest.active, place, place.end, final=False)
        return kept, place.last_line

    def _full(self, manifest: Manifest, segment: Sealed) -> Iterator[Kept]:
        place = Place(
            manifest.salt,
            segment.file_number,
            segment.base,
            segment.rows,
            segment.bytes,
        )
        path = self._log.file_of(segment)
        with reading(str(path)):
            there = files.size_of(path)
        if there != segment.bytes_on_disk:
            reason = f"it has {there} bytes, but should have {segment.bytes_on_disk}"
            raise LogDamagedError(str(path), there, reason)
        yield from self._both(segment, place, there, final=True)
        beside = path.with_name(path.name + ".ckpt")
        if beside.exists():
            yield self._file(beside.name, beside.stat().st_size, final=True)

    def _both(
        self, segment: Sealed | Active, place: Place, size: int, *, final: bool
    ) -> list[Kept]:
        """Copy data and index of a segment, which has its lines up to `place`."""
        before = self._copied
        data = self._file(segment.name, size, final=final)
        index = self._file(
            self._log.index(place.base).name, place.index_end, final=final
        )
        if self._copied > before:
            stored = self._names.stored(data), self._names.stored(index)
            if fault := _fault(segment, *stored, place):
                reached, reason = fault
                path = str(self._log.file_of(segment))
                raise LogDamagedError(path, reached.end, reason)
        return [data, index]

    def _file(self, name: str, size: int, *, final: bool) -> Kept:
        """Copy the first `size` bytes of a file, except those that are copied already."""
        known = self._kept.get(name)
        if known is not None and known.final and known.bytes == size:
            return known
        path = self._log.directory / name
        with reading(str(path)):
            source = files.open_file(path)
            there = source.stat()[0]
            if there < size or (final and there != size):
                reason = f"it has {there} bytes, but should have {size}"
                raise LogDamagedError(str(path), there, reason)
            wanted = digest(source, size)
            begun = known is not None and self._is_begun(known, source, size)
        if known is not None and begun:
            kept = Kept(name, known.stored, size, wanted, final)
            self._copy(source, path, kept, known.bytes)
            with suppress(BackupError):  # the earlier copy may be damaged by now
                refuse_damaged(self._names.stored(kept), kept)
                return kept
        kept = Kept(name, self._new_name(name), size, wanted, final)
        self._copy(source, path, kept, 0)
        refuse_damaged(self._names.stored(kept), kept)
        return kept

    def _is_begun(self, known: Kept, source: File, size: int) -> bool:
        """Whether the file still begins with its earlier copy."""
        if known.final or known.bytes > size:
            return False
        stored = self._names.stored(known)
        if not stored.is_file() or stored.stat().st_size < known.bytes:
            return False
        return digest(source, known.bytes) == known.digest

    def _new_name(self, name: str) -> str:
        """Return a file name that the backup does not have yet."""
        if name not in self._kept:
            return name
        generation = 1 if self._known is None else self._known.generation + 1
        return f"{name}~{generation}"

    def _copy(self, source: File, path: Path, kept: Kept, start: int) -> None:
        """Copy the bytes of a file from `start` on."""
        stored = self._names.stored(kept)
        if start == 0:
            system.unlink_if_exists(
                stored
            )  # an earlier backup began it, and did not finish
            descriptor = system.calls.create(stored)
        else:
            descriptor = files.open_to_write(stored)
        with system.closing(descriptor):
            system.calls.truncate(descriptor, start)
            for offset, length in files.pieces(start, kept.bytes):
                with reading(str(path)):
                    data = source.read_at(offset, length)
                files.write_at(descriptor, data, offset)
                self._copied += length
                self._progress(self._copied)
            system.calls.sync_data(descriptor)

    def _remove_others(self, backup: Backup) -> None:
        """Remove files that no longer belong to the backup, as far as possible."""
        ours = {kept.stored for kept in backup.files}
        with suppress(OSError):
            for name in sorted(system.calls.list_directory(self._names.segments)):
                if name not in ours:
                    system.calls.unlink(self._names.segments / name)


@dataclass(slots=True)
class Verified:
    """A file of a backup, and its faults. `rows` is None if it has no lines."""

    path: str
    bytes: int
    rows: int | None = None
    faults: list[str] = field(default_factory=list)


def verify_log_backup(
    directory: str | os.PathLike[str],
    progress: Callable[[int], object] = lambda _bytes: None,
) -> Iterator[Verified]:
    """Read every byte of a backup, and report the faults of each file."""
    names = BackupNames(directory)
    backup = backup_file.found(names)
    by_name = {kept.name: kept for kept in backup.files}
    segments = {each.name: each for each in backup.manifest.all_segments}
    done = 0
    for kept in backup.files:
        verified = Verified(kept.stored, kept.bytes)
        segment = segments.get(kept.name)
        try:
            if segment is None:
                refuse_damaged(names.stored(kept), kept)
            else:
                index = by_name[f"{segment_name(segment.base)}.idx"]
                verified.rows = rows_in(index.bytes)
                _refuse_damaged_lines(names, backup.manifest, segment, kept, index)
        except (BackupError, LogDamagedError) as error:
            verified.faults.append(error.what)
        except HeadraceError as error:
            verified.faults.append(str(error))
        progress(done := done + kept.bytes)
        yield verified


def _refuse_damaged_lines(
    names: BackupNames,
    manifest: Manifest,
    segment: Sealed | Active,
    kept: Kept,
    index: Kept,
) -> None:
    """Raise if the copy of a segment, or one of its lines, differs from the log."""
    refuse_damaged(names.stored(kept), kept)
    end = segment.bytes if isinstance(segment, Sealed) else kept.bytes
    rows, number = rows_in(index.bytes), segment.file_number
    place = Place(manifest.salt, number, segment.base, rows, end)
    data = names.stored(kept)
    if fault := _fault(segment, data, names.stored(index), place):
        raise BackupError(str(data), fault[1])


def refuse_damaged(path: Path, kept: Kept) -> None:
    """Raise if a file does not begin with the kept bytes."""
    try:
        with reading(str(path)):
            file = files.open_file(path)
            there = file.stat()[0]
            found = digest(file, kept.bytes) if there >= kept.bytes else None
    except SourceNotFoundError:
        raise BackupError(str(path), "it is missing") from None
    if found is None:
        reason = f"it has {there} bytes, but should have {kept.bytes}"
        raise BackupError(str(path), reason)
    if found != kept.digest:
        raise BackupError(str(path), "it is not what was copied")


def _fault(
    segment: Sealed | Active, data: Path, index: Path, place: Place
) -> tuple[Place, str] | None:
    """Compare all lines of a copied segment with their entries."""
    packed = segment.packed if isinstance(segment, Sealed) else None
    begin = place._replace(rows=0, end=0)
    with files.reading_lines(str(data)):
        lines = (
            files.open_file(data)
            if packed is None
            else files.open_packed(data, packed.codec)
        )
        files_of = files.open_file(index), lines
        reached, fault = verify(*files_of, place.end, begin, place.rows, LogClock(0))
    if fault is not None:
        return reached, f"line {reached.last_line + 1}: {fault.reason}"
    if reached.end != place.end:
        return reached, f"{place.end - reached.end} bytes are of no line"
    return None
