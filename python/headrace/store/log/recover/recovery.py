"""Recovery of a log: after it, a writer can continue.

A crash leaves at most files that a writer had begun, entries that are not durable, lines
without entries, and bytes after the last good line that are not a line. All of it is at the
end of the last segment, or after it. Anything else is damage, which is reported, and
repaired only on request. No byte of data is destroyed: bytes that are not a line move to
quarantine. Recovery reads only what came after the manifest. A second recovery changes
nothing.
"""

import os
import time
from contextlib import closing
from dataclasses import replace
from functools import partial

from headrace.errors import LogDamagedError, SourceNotFoundError
from headrace.kernel.checksum import digest
from headrace.kernel.log import LogClock
from headrace.kernel.rows import reading
from headrace.store.files import system
from headrace.store.log import files
from headrace.store.log import manifest as manifests
from headrace.store.log.entries import Header, create_index, rows_in
from headrace.store.log.lock import LogLock
from headrace.store.log.manifest import (
    FORMAT,
    Active,
    Manifest,
    Packed,
    Sealed,
    Times,
)
from headrace.store.log.names import CODECS, LogNames
from headrace.store.log.recover.indexes import Indexes, IndexRepair, RecoveryOptions
from headrace.store.log.recover.leftovers import Leftovers
from headrace.store.log.recover.quarantine import move_aside, unpack
from headrace.store.log.recover.report import Report
from headrace.store.log.recover.tail import Tail


def recover(
    names: LogNames, lock: LogLock, options: RecoveryOptions
) -> tuple[Manifest, Report]:
    """Recover a log whose lock the caller holds; return its new state, and a report."""
    began = time.monotonic()
    for path in names.leftovers():
        system.calls.unlink(path)  # their writers are dead: we hold the lock
    recovery = _Recovery(Indexes(names, options))
    known = recovery.load()
    found = recovery.run(recovery.begin(lock) if known is None else known)
    report = recovery.report
    if found != known:
        found = found.save(names)
    if report.recovered:
        took = round(1000 * (time.monotonic() - began))
        files.replace_content(names.report, report.encode(found.epoch, took))
    return found, report


class _Recovery:
    def __init__(self, indexes: Indexes) -> None:
        self._indexes = indexes
        self._names = indexes.names
        self._repair = indexes.options.repair
        self.report = indexes.report
        self._saved: Manifest | None = None

    # Manifest

    def load(self) -> Manifest | None:
        """Return the manifest; move a damaged one to quarantine, if that is allowed."""
        path = self._names.manifest
        try:
            self._saved = manifests.load(self._names)
        except LogDamagedError as error:
            if not self._repair or FORMAT.encode() not in files.read_content(path):
                raise
            reason = error.reason
        else:
            return self._saved
        with system.closing(files.open_to_write(path)) as descriptor:
            size = os.fstat(descriptor).st_size
            move_aside(self._names, path, descriptor, 0, size)
        system.calls.unlink(path)
        self.report.add("quarantined", str(path), reason, bytes=size)
        return None

    def begin(self, lock: LogLock) -> Manifest:
        """Return the manifest of a log that has none: of an empty log, or from its files."""
        bases = self._names.bases()
        if not bases:
            return self._empty()
        headers = [self._indexes.header(base) for base in bases]
        salts = [header.salt for header in headers if header is not None]
        salt = salts[0] if salts else _new_salt()
        number = 0
        segments: list[Sealed] = []
        for position, (base, header) in enumerate(zip(bases, headers, strict=True)):
            number = max(number + 1, 0 if header is None else header.file_number)
            if position + 1 < len(bases):
                rows = bases[position + 1] - base
                segments.append(self._sealed_again(Header(number, base, salt), rows))
        self.report.add(
            "manifest_rebuilt",
            str(self._names.manifest),
            "there was none",
            rows=sum(segment.rows for segment in segments),
        )
        if not self._names.data(bases[-1]).exists():
            path = str(self._names.packed(bases[-1], CODECS[0]))
            reason = "the segment behind it is gone, which was the last one"
            raise LogDamagedError(path, 0, reason)
        # The promise of its writer is unknown, so every line is verified.
        return Manifest(
            salt,
            Active(number, bases[-1]),
            tuple(segments),
            epoch=lock.epoch,
            durability="os",
        )

    def _empty(self) -> Manifest:
        header = Header(1, 0, _new_salt())
        self._create(header)
        self.report.add("created", self._names.text, "there was none")
        return Manifest(header.salt, Active(1, 0))

    def _create(self, header: Header) -> None:
        os.close(system.calls.create(self._names.data(header.base)))
        create_index(self._names, header)
        system.calls.sync_directory(self._names.directory)

    def _sealed_again(self, header: Header, rows: int) -> Sealed:
        """Return the entry of a full segment with `rows` lines."""
        path = self._names.data(header.base)
        packed = None
        if not path.exists():
            packed = self._packed_again(header.base)
            path = self._names.packed(header.base, packed.codec)
        with reading(str(path)):
            size = files.open_data(path).stat()[0]
        self._indexes.ensure_rows(header, rows, path)
        clock = LogClock(0)
        place, fault = self._indexes.verified(header.place, rows, size, clock, path)
        if fault is not None or place.end != size:
            reason = f"it has more than the {rows} lines up to the next file"
            raise LogDamagedError(
                str(path), place.end, fault.reason if fault is not None else reason
            )
        full = Active(header.file_number, header.base).reached(place, clock).sealed()
        return replace(full, packed=packed)

    def _packed_again(self, base: int) -> Packed:
        """Return the entry of a compressed file."""
        for codec in CODECS:
            path = self._names.packed(base, codec)
            if path.exists():
                with reading(str(path)):
                    file = files.open_file(path)
                    size = file.stat()[0]
                    return Packed(codec, size, digest(file, size))
        raise SourceNotFoundError(str(self._names.data(base)))

    # Full segments

    def run(self, manifest: Manifest) -> Manifest:
        """Return the state of the log after all recovery."""
        self._indexes.limits = manifest.limits
        if manifest.timing.expression is not None:
            expression = manifest.timing.expression
            self._indexes.time = self._indexes.options.compile(expression)
        segments = tuple(self._sealed(manifest, each) for each in manifest.segments)
        if self._saved is not None:
            manifest = replace(manifest, generation=self._saved.generation)
        manifest = self._active(replace(manifest, segments=segments))
        return self._strays(manifest)

    def _sealed(self, manifest: Manifest, segment: Sealed) -> Sealed:
        path = self._names.file_of(segment)
        header = Header(segment.file_number, segment.base, manifest.salt)
        try:
            size = files.size_of(path)
        except FileNotFoundError:
            given_up = segment.damaged and segment.rows == 0
            return segment if given_up else self._lost(segment, "the file is gone")
        if size != segment.bytes_on_disk:
            reason = f"it has {size} bytes, but should have {segment.bytes_on_disk}"
            return self._cut(segment, header, reason)
        # A compressed file is younger than its lines.
        created = None if segment.packed is None else segment.times.latest
        times = self._indexes.ensure_rows(
            header, segment.rows, path, created, partial(self._widen, segment.base)
        )
        if times is not None:
            return replace(segment, times=times)
        if not self._repair:
            return segment
        mending = IndexRepair(
            self._indexes, header, path, packed=segment.packed is not None
        )
        until = header.place._replace(rows=segment.rows, end=segment.bytes)
        found = mending.look(until, manifest.timing.late)
        mending.write(found, partial(self._widen, segment.base))
        mending.report(found)
        if not found.entries:
            return segment
        return replace(segment, times=segment.times.covering(found.times))

    def _widen(self, base: int, times: Times) -> None:
        """Store times of a segment in the manifest that fit both its old and its new index.

        The new index is whole, so no later recovery would compare it again after a crash
        between the two.
        """
        if self._saved is None:
            return
        wide = replace(
            self._saved,
            segments=tuple(
                replace(each, times=each.times.covering(times))
                if each.base == base
                else each
                for each in self._saved.segments
            ),
        )
        if (active := wide.active).base == base:
            active = replace(active, times=active.times.covering(times))
            wide = replace(wide, active=active)
        if wide != self._saved:
            self._saved = wide.save(self._names)

    def _lost(self, segment: Sealed, reason: str) -> Sealed:
        """Give up all lines of a segment."""
        path = str(self._names.file_of(segment))
        if not self._repair:
            raise LogDamagedError(path, 0, reason)
        self.report.add("given_up", path, reason, rows=segment.rows)
        return replace(segment, rows=0, bytes=0, times=Times(), packed=None)

    def _cut(self, segment: Sealed, header: Header, reason: str) -> Sealed:
        """Give up the lines of a segment that differ from what was written, and those after them."""
        packed, path = segment.packed, self._names.file_of(segment)
        if not self._repair:
            at = min(path.stat().st_size, segment.bytes_on_disk)
            raise LogDamagedError(str(path), at, reason)
        if packed is not None:
            path = unpack(self._names, segment.base, packed.codec)
        size = path.stat().st_size
        rows = rows_in(self._indexes.ensure(header))
        clock = LogClock(0)
        place, _fault = self._indexes.verified(header.place, rows, size, clock, path)
        with closing(files.OpenSegment(self._names, header)) as files_of:
            if size > place.end:
                move_aside(self._names, path, files_of.data, place.end, size)
            system.calls.truncate(files_of.index, place.index_end)
            system.calls.sync_data(files_of.index)
        last = max(segment.last_line, place.last_line)
        self.report.add(
            "given_up",
            str(path),
            reason,
            rows=last - place.last_line,
            bytes=size - place.end,
            offset=place.end,
        )
        cut = Active(header.file_number, header.base).reached(place, clock).sealed()
        return replace(cut, last_line=last)

    # Last segment

    def _active(self, manifest: Manifest) -> Manifest:
        active = manifest.active
        path = self._names.data(active.base)
        header = Header(active.file_number, active.base, manifest.salt)
        try:
            size = files.size_of(path)
        except FileNotFoundError:
            if active.rows:
                return self._behind(manifest, self._lost(active.sealed(), "it is gone"))
            self._create(header)
            self.report.add("created", str(path), "it was missing, and had no lines")
            size = 0
        if size < active.bytes:
            reason = f"it has {size} bytes, but {active.bytes} were durable"
            sealed = self._cut(active.sealed(), header, reason)
            return self._behind(manifest, sealed)
        whole = rows_in(self._indexes.ensure(header)) >= active.rows
        if not (self._repair and whole):
            return self._settled(manifest, header)
        mending = IndexRepair(self._indexes, header, path)
        found = mending.look(manifest.mark, manifest.timing.late)
        mending.write(found, partial(self._widen, active.base))
        if found.entries:
            active = replace(active, times=active.times.covering(found.times))
            manifest = replace(manifest, active=active)
            if self._saved is not None:
                manifest = replace(manifest, generation=self._saved.generation)
        settled = self._settled(manifest, header)
        if settled.active.base == active.base:
            mending.report(found)
        return settled

    def _settled(self, manifest: Manifest, header: Header) -> Manifest:
        """Return the log once every line of its last segment has an entry."""
        active = manifest.active
        try:
            with closing(files.OpenSegment(self._names, header)) as segment:
                place, clock = Tail(self._indexes, manifest, segment).settle()
        except LogDamagedError as error:
            if not self._repair:
                raise
            sealed = self._cut(active.sealed(), header, error.reason)
            return self._behind(manifest, sealed)
        return replace(manifest, active=active.reached(place, clock))

    def _behind(self, manifest: Manifest, lost: Sealed) -> Manifest:
        """Continue in a new segment after lost lines, so that no line number is used twice."""
        header = Header(manifest.next_file_number, lost.last_line, manifest.salt)
        self._create(header)
        return manifest.rotated(full=lost)

    # Files that the manifest does not name

    def _strays(self, manifest: Manifest) -> Manifest:
        leftovers = Leftovers(self._names, self.report)
        manifest = leftovers.removed(manifest)
        manifest = leftovers.copies(manifest)
        known = {segment.base for segment in manifest.all_segments}
        for base in self._names.bases():
            if base not in known:
                manifest = self._stray(manifest, base)
        leftovers.indexes()
        return manifest

    def _stray(self, manifest: Manifest, base: int) -> Manifest:
        path = self._names.data(base)
        end = manifest.active.base + manifest.active.rows
        if base == end and path.exists():
            self.report.add("adopted", str(path), "a writer had just begun it")
            return self._active(manifest.rotated())
        if path.exists() and path.stat().st_size == 0:
            Leftovers(self._names, self.report).begun(base)
        elif base > manifest.active.base:
            reason = f"it begins behind line {base}, but the log ends at line {end}"
            raise LogDamagedError(str(path), 0, reason)
        else:
            self.report.add("left", str(path), "the manifest does not name it")
        return manifest


def _new_salt() -> int:
    return int.from_bytes(os.urandom(4))
