"""Reader of a log by line number, also while it is written.

A line is *committed* when the index has a good entry for it; no other line is ever
returned. The manifest leads to the segment, the entry to the bytes, and its checksum proves
that they are the written ones. The reader writes nothing. Full segments may be compressed
or removed meanwhile: an open file stays readable, and a missing one is looked up in the
manifest again.
"""

from __future__ import annotations

import os
import struct
import threading
from bisect import bisect_right
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headrace.errors import (
    DamagedEntryError,
    DamagedLineError,
    LineGivenUpError,
    LineOutOfRangeError,
    LogDamagedError,
    LogFileMissingError,
    SourceNotFoundError,
)
from headrace.kernel.checksum import crc32c
from headrace.kernel.log import ENTRY_BYTES, HEADER_BYTES, Place, verify_lines
from headrace.kernel.rows import reading
from headrace.store.log import files
from headrace.store.log import manifest as manifests
from headrace.store.log.entries import committed, entry_at
from headrace.store.log.manifest import Sealed
from headrace.store.log.names import LogNames

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.kernel.log import Fault, LogEntry
    from headrace.store.log.manifest import Active, Manifest

_MOST_OPEN = 32
"""The number of segments whose files stay open."""

_ROWS_AT_ONCE = 4096
_BYTES_AT_ONCE = 1 << 20
_ENTRIES_AT_ONCE = 16 << 10

_END = struct.Struct("<8xQ40x")


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive lines: their bytes, their entries, and the number of the first.

    Lines may be left out because of their times.
    """

    first_line: int
    rows: int
    data: bytes
    entries: bytes

    def lines(self) -> list[bytes]:
        """Return each line without its newline."""
        return self.data.split(b"\n")[:-1]

    @property
    def last_line(self) -> int:
        """The number of the last line."""
        return line_of(self.entries[(self.rows - 1) * ENTRY_BYTES :])

    def numbered(self) -> Iterator[tuple[int, bytes]]:
        """Yield each line without its newline, with its number."""
        for at, line in enumerate(self.lines()):
            yield line_of(self.entries[at * ENTRY_BYTES :][:ENTRY_BYTES]), line

    def first(self, rows: int) -> Block:
        """Return the first `count` lines."""
        if rows >= self.rows:
            return self
        rest = self.data.split(b"\n", rows)[rows]
        data = self.data[: len(self.data) - len(rest)]
        return Block(self.first_line, rows, data, self.entries[: rows * ENTRY_BYTES])


def line_of(entry: bytes) -> int:
    """Return the line number of an entry that was verified before."""
    return int.from_bytes(entry[24:32], "little")


class _Files:
    """The two files of a segment."""

    def __init__(self, names: LogNames, segment: Sealed | Active) -> None:
        path = names.file_of(segment)
        self.name = segment.name
        self.path = str(path)
        index_path = names.index(segment.base)
        self.index_path = str(index_path)
        self.data = files.open_data(path)
        with reading(self.index_path):
            self.index = files.open_to_read(index_path)

    def entry(self, row: int, salt: int) -> LogEntry:
        """Return the entry of a row of the segment, counted from 0."""
        with reading(self.index_path):
            entry = entry_at(self.index, row, salt)
        if entry is None:
            offset = HEADER_BYTES + row * ENTRY_BYTES
            raise DamagedEntryError(self.index_path, offset, "the entry is not good")
        return entry

    def __del__(self) -> None:
        # A reader refers to this object, so its files stay open while it reads.
        if (descriptor := vars(self).get("index")) is not None:
            os.close(descriptor)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A manifest as it was read, the identity of its file, and the lines of the last segment."""

    manifest: Manifest
    file: tuple[int, int, int]
    bases: tuple[int, ...]
    committed: int = 0

    @property
    def first_line(self) -> int:
        return self.bases[0] + 1

    @property
    def last_line(self) -> int:
        return self.manifest.active.base + self.committed

    def counts(self) -> Iterator[tuple[Sealed | Active, int]]:
        """Yield the segments, with the number of lines of each."""
        for segment in self.manifest.segments:
            yield segment, segment.rows
        yield self.manifest.active, self.committed

    def segment(self, line: int) -> tuple[Sealed | Active, int]:
        """Return the segment of an existing line, and its number of lines."""
        position = bisect_right(self.bases, line - 1) - 1
        segments = self.manifest.segments
        if position < len(segments):
            return segments[position], segments[position].rows
        return self.manifest.active, self.committed


class LogReader:
    """The committed lines of a log."""

    def __init__(
        self, directory: str | os.PathLike[str], *, most_open: int | None = None
    ) -> None:
        self._names = LogNames(directory)
        self._most_open = _MOST_OPEN if most_open is None else most_open
        self._open: OrderedDict[int, _Files] = OrderedDict()
        self._mutex = threading.Lock()
        # Replaced as a whole: other threads may be reading.
        self._seen = self._looked(None)
        self._refresh()

    @property
    def path(self) -> str:
        """The directory, as the caller named it."""
        return self._names.text

    @property
    def manifest(self) -> Manifest:
        """The manifest, as it was last read."""
        return self._seen.manifest

    def _refresh(self) -> None:
        """Read the manifest again, and count the lines of the last segment."""
        seen = self._looked(self._seen)
        while True:
            try:
                rows = self._active_rows(seen.manifest)
            except SourceNotFoundError:
                # It may be full by now, and compressed or removed.
                newer = self._looked(seen)
                if newer is not seen:
                    seen = newer
                    continue
                # It is lost; reading its lines raises.
                self._refuse_unknown_rows(seen.manifest.active)
                rows = seen.manifest.active.rows
            self._seen = replace(seen, committed=rows)
            return

    def _looked(self, before: _Seen | None) -> _Seen:
        """Return the manifest; `before` if its file is unchanged."""
        with reading(self._names.text):
            try:
                found = self._names.manifest.stat()
            except FileNotFoundError:
                raise SourceNotFoundError(self._names.text) from None
        file = (found.st_ino, found.st_mtime_ns, found.st_size)
        if before is not None and before.file == file:
            return before
        manifest = manifests.existing(self._names)
        self._let_go(before, manifest)
        return _Seen(manifest, file, tuple(each.base for each in manifest.all_segments))

    def _let_go(self, before: _Seen | None, now: Manifest) -> None:
        """Close files that no longer belong to the log, so that their space is freed."""
        names = {each.base: each.name for each in now.all_segments}
        with self._mutex:
            if before is not None and before.manifest.salt != now.salt:
                self._open.clear()  # it is another log, with the same file names
            for base, files_of in list(self._open.items()):
                if names.get(base) != files_of.name:
                    del self._open[base]

    def _refuse_unknown_rows(self, active: Active) -> None:
        """Raise if only its index could count the lines of the last segment."""
        index, path = self._names.index(active.base), self._names.data(active.base)
        if index.exists() or not path.exists():
            return
        if files.size_of(path) > active.bytes:
            raise LogFileMissingError(str(index), 0, "it is missing")

    def _active_rows(self, manifest: Manifest) -> int:
        """Return the number of good entries of the last segment, apart from holes."""
        index = self._files(manifest.active).index
        return committed(index, manifest.mark).rows

    @property
    def first_line(self) -> int:
        """The number of the first line that exists."""
        return self._seen.first_line

    @property
    def last_line(self) -> int:
        """The number of the last line that is committed now, 0 if there is none."""
        self._refresh()
        return self._seen.last_line

    def count(self) -> int:
        """Return the number of existing lines, without those that were given up."""
        self._refresh()
        return sum(rows for _segment, rows in self._seen.counts())

    def number_at(self, position: int) -> int:
        """Return the line number at a position, from 0, among the existing lines.

        After the last one it is a number that no line has.
        """
        for segment, rows in self._seen.counts():
            if position < rows:
                return segment.base + position + 1
            position -= rows
        return self._seen.last_line + position + 1

    def nth_from(self, first: int, count: int) -> int:
        """Return the number of the last of `count` existing lines from `first` on."""
        before = 0
        for segment, rows in self._seen.counts():
            before += max(min(first - 1 - segment.base, rows), 0)
        return self.number_at(before + count - 1)

    def given_up(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of line numbers from `first` to `last` that were given up."""
        for segment, rows in self._seen.counts():
            start = max(first, segment.base + rows + 1)
            end = min(last, _end(segment, rows))
            if start <= end:
                yield start, end

    def _files(self, segment: Sealed | Active) -> _Files:
        with self._mutex:
            found = self._open.pop(segment.base, None)
            if found is None or found.name != segment.name:
                found = _Files(self._names, segment)
            self._open[segment.base] = found
            while len(self._open) > self._most_open:
                self._open.popitem(last=False)
            return found

    def line(self, number: int) -> bytes:
        """Return a line without its newline."""
        segment, at = self._found(number)
        entry = at.entry(number - segment.base - 1, self.manifest.salt)
        with files.reading_lines(at.path):
            line = at.data.read_at(entry.start, entry.end - entry.start)
        if entry.line != number or crc32c(line) != entry.checksum:
            reason = f"line {number} is not what was written"
            raise DamagedLineError(at.path, entry.start, reason)
        return line[:-1]

    def entry(self, number: int) -> LogEntry:
        """Return the index entry of a line."""
        segment, at = self._found(number)
        return at.entry(number - segment.base - 1, self.manifest.salt)

    def entries(self, start: int, last: int) -> Iterator[tuple[int, bytes]]:
        """Yield the entries of lines `start` to `last` in blocks of bytes.

        Each comes with the number of its first line; lines that were given up are skipped.
        """
        while start <= last:
            segment, rows, at = self._reach(start)
            if at is not None:
                row = start - segment.base - 1
                most = min(last - start + 1, rows - row, _ENTRIES_AT_ONCE)
                offset = HEADER_BYTES + row * ENTRY_BYTES
                with reading(at.index_path):
                    yield start, files.read_at(at.index, most * ENTRY_BYTES, offset)
                start += most
            elif isinstance(segment, Sealed):
                start = segment.last_line + 1

    def _found(self, number: int) -> tuple[Sealed | Active, _Files]:
        """Return the segment of a line, and its files; raise if it was given up."""
        segment, _rows, at = self._reach(number)
        if at is None:
            path = str(self._names.file_of(segment))
            raise LineGivenUpError(path, segment.bytes, number)
        return segment, at

    def _reach(self, number: int) -> tuple[Sealed | Active, int, _Files | None]:
        """Return the segment of a line, its number of lines, and its files.

        None if the line was given up: its files may not exist.
        """
        seen = self._seen
        if not seen.first_line <= number <= seen.last_line:
            self._refresh()
            seen = self._seen
        while True:
            if not seen.first_line <= number <= seen.last_line:
                raise LineOutOfRangeError(
                    self._names.text, number, seen.first_line, seen.last_line
                )
            segment, rows = seen.segment(number)
            if number > segment.base + rows:
                return segment, rows, None
            try:
                return segment, rows, self._files(segment)
            except SourceNotFoundError:
                self._refresh()
                if self._seen.manifest is seen.manifest:
                    raise
                seen = self._seen

    def blocks(
        self,
        start: int,
        last: int,
        share: int = 1,
        passed: SkippedLines | None = None,
    ) -> Iterator[Block]:
        """Yield the lines with numbers `start` to `last`, in blocks.

        Lines that were given up are skipped. A line that cannot be read raises after those
        before it were yielded; with `passed` it is counted there, and the lines after it
        are yielded too. A caller that reads many logs together passes how many `share` the
        memory.
        """
        most = many = -(-_ROWS_AT_ONCE // share)
        while start <= last:
            try:
                segment, rows, at = self._there(start)
                if at is None:
                    start = _end(segment, rows) + 1
                    continue
                row = start - segment.base - 1
                wanted = min(last - start + 1, rows - row, most)
                block = self._block(segment, at, row, wanted, _BYTES_AT_ONCE // share)
            except LogDamagedError as error:
                if passed is None:
                    raise
                behind = min(self._behind(start, error), last + 1)
                passed.note(behind - start, error)
                start, most = behind, 1  # there may be more of them
            else:
                yield block
                start, most = start + block.rows, min(2 * most, many)

    def _there(self, number: int) -> tuple[Sealed | Active, int, _Files | None]:
        """Find a line, whose files must exist."""
        try:
            return self._reach(number)
        except SourceNotFoundError as error:
            index = error.path.endswith(".idx")
            kind = LogFileMissingError if index else LogDamagedError
            raise kind(error.path, 0, "it is missing") from None

    def _behind(self, number: int, error: LogDamagedError) -> int:
        """Return the line after a damaged one, or after the rest of its segment."""
        if isinstance(error, DamagedLineError | DamagedEntryError):
            return number + 1
        segment, rows = self._seen.segment(number)
        return _end(segment, rows) + 1

    def _block(
        self,
        segment: Sealed | Active,
        at: _Files,
        row: int,
        most: int,
        most_bytes: int,
    ) -> Block:
        salt, first = self.manifest.salt, segment.base + row + 1
        begin = _begin(at, row, salt)
        place = Place(salt, segment.file_number, segment.base, row, begin)
        with reading(at.index_path):
            entries = files.read_at(at.index, most * ENTRY_BYTES, place.index_end)
        if len(entries) < ENTRY_BYTES:
            raise LogDamagedError(
                at.index_path, place.index_end, "the index ends there"
            )
        whole = len(entries) // ENTRY_BYTES * ENTRY_BYTES
        entries = _some(entries[:whole], begin + most_bytes)
        end = _END.unpack_from(entries, len(entries) - ENTRY_BYTES)[0]
        size = at.data.stat()[0]
        try:
            with files.reading_lines(at.path):
                data = at.data.read_at(begin, max(min(end, size) - begin, 0))
        except LogDamagedError as error:
            if len(entries) > ENTRY_BYTES:
                # The first of them may be in a good block.
                fewer = len(entries) // ENTRY_BYTES // 2
                return self._block(segment, at, row, fewer, most_bytes)
            reason = f"line {first}: {error.reason}"
            raise DamagedLineError(at.path, error.offset, reason) from None
        good, fault = verify_lines(entries, data, place)
        if fault is not None:
            if good == 0:
                raise _damaged(at, place, fault)
            entries = entries[: good * ENTRY_BYTES]
            end = _END.unpack_from(entries, len(entries) - ENTRY_BYTES)[0]
            data = data[: end - begin]
        return Block(first, good, data, entries)


def _end(segment: Sealed | Active, rows: int) -> int:
    """Return the number of the last line of a segment, including those given up."""
    return segment.last_line if isinstance(segment, Sealed) else segment.base + rows


def _begin(at: _Files, row: int, salt: int) -> int:
    """Return the start of a line: the end of the one before it, if its entry is good."""
    try:
        return at.entry(row - 1, salt).end if row else 0
    except DamagedEntryError:
        return at.entry(row, salt).start


def _damaged(at: _Files, place: Place, fault: Fault) -> LogDamagedError:
    """Return the fault of the line at a place."""
    reason = f"line {place.last_line + 1}: {fault.reason}"
    if fault.kind == "entry":
        return DamagedEntryError(at.index_path, place.index_end, reason)
    # There is no other line after the end of a file.
    kind = LogDamagedError if fault.kind == "short" else DamagedLineError
    return kind(at.path, place.end, reason)


def _some(entries: bytes, end: int) -> bytes:
    """Return the first entries whose lines end before a byte, at least one."""
    ends = [each for (each,) in _END.iter_unpack(entries)]
    count = bisect_right(ends, end)
    return entries[: max(count, 1) * ENTRY_BYTES]


@dataclass(slots=True)
class SkippedLines:
    """The number of skipped lines, and the fault of the first.

    Threads that read several logs may share it.
    """

    lines: int = 0
    first: LogDamagedError | None = None
    _mutex: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def note(self, lines: int, error: LogDamagedError) -> None:
        """Count more lines."""
        with self._mutex:
            self.lines += lines
            self.first = self.first or error

    def __str__(self) -> str:
        if self.first is None:
            return "nothing was skipped"
        many = "1 line that is" if self.lines == 1 else f"{self.lines:,} lines that are"
        was = "was" if self.lines == 1 else "were"
        return f"{many} damaged {was} skipped; {self.first.what}"
