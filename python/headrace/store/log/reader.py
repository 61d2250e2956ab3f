"""Reading a log by the numbers of its lines, also while it is written.

A line is *committed* when its entry is in the index and good; no other is ever shown. The
manifest leads to the segment, the entry to the bytes, and its checksum says that they are
those that were written. Nothing is written here.
"""

from __future__ import annotations

import os
import struct
import threading
from bisect import bisect_right
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.errors import (
    LineOutOfRangeError,
    LogDamagedError,
    SourceNotFoundError,
    UnreadableError,
)
from headrace.kernel.checksum import crc32c
from headrace.kernel.log import ENTRY_BYTES, HEADER_BYTES, Place, verify_lines
from headrace.kernel.rows import reading
from headrace.store.log import files
from headrace.store.log import manifest as manifests
from headrace.store.log.index_file import committed, entry_at
from headrace.store.log.manifest import Sealed
from headrace.store.log.names import LogNames

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.kernel.log import Entry
    from headrace.store.log.manifest import Active, Manifest

_MOST_OPEN = 32
"""Segments whose files are kept open."""

_ROWS_AT_ONCE = 4096
_BYTES_AT_ONCE = 1 << 20
_ENTRIES_AT_ONCE = 16 << 10

_END = struct.Struct("<8xQ40x")


@dataclass(frozen=True, slots=True)
class Block:
    """Some lines: their bytes and their entries, and the number of the first.

    They follow each other, but for those that were left out because of their times.
    """

    first_line: int
    rows: int
    data: bytes
    entries: bytes

    def lines(self) -> list[bytes]:
        """Return each without its newline."""
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
        """Return its first lines."""
        if rows >= self.rows:
            return self
        rest = self.data.split(b"\n", rows)[rows]
        data = self.data[: len(self.data) - len(rest)]
        return Block(self.first_line, rows, data, self.entries[: rows * ENTRY_BYTES])


def line_of(entry: bytes) -> int:
    """Return the number of the line that an entry is of, which was looked at before."""
    return int.from_bytes(entry[24:32], "little")


class _Files:
    """The two files of a segment."""

    def __init__(self, names: LogNames, base: int) -> None:
        self.path = str(names.data(base))
        self.index_path = str(names.index(base))
        with reading(self.path):
            self.data = os.open(self.path, os.O_RDONLY)
        try:
            with reading(self.index_path):
                self.index = os.open(self.index_path, os.O_RDONLY)
        except BaseException:
            os.close(self.data)
            raise

    def entry(self, row: int, salt: int) -> Entry:
        """Return the entry of a row of the segment, counted from 0."""
        entry = entry_at(self.index, row, salt)
        if entry is None:
            offset = HEADER_BYTES + row * ENTRY_BYTES
            raise LogDamagedError(self.index_path, offset, "the entry is not good")
        return entry

    def __del__(self) -> None:
        # Whoever still reads has us, so that nobody's file is closed.
        for name in ("data", "index"):
            if (descriptor := vars(self).get(name)) is not None:
                os.close(descriptor)


class LogReader:
    """The committed lines of a log."""

    def __init__(
        self, directory: str | os.PathLike[str], *, most_open: int | None = None
    ) -> None:
        self._names = LogNames(directory)
        self._most_open = _MOST_OPEN if most_open is None else most_open
        self._open: OrderedDict[int, _Files] = OrderedDict()
        self._mutex = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._committed = 0
        self._salt = 0
        self._refresh()

    @property
    def path(self) -> str:
        """The directory, as it was given."""
        return self._names.text

    @property
    def manifest(self) -> Manifest:
        """What the manifest said when it was last looked at."""
        return self._manifest

    def _refresh(self) -> None:
        """See which segments there are now, and how many lines the last one has."""
        with reading(self._names.text):
            try:
                found = self._names.manifest.stat()
            except FileNotFoundError:
                raise SourceNotFoundError(self._names.text) from None
        seen = (found.st_ino, found.st_mtime_ns, found.st_size)
        if seen != self._seen:
            manifest = manifests.load(self._names)
            if manifest is None:
                raise SourceNotFoundError(self._names.text)
            if manifest.salt != self._salt:
                self._open.clear()  # it is another log, with files of the same names
            self._manifest, self._seen = manifest, seen
            self._salt = manifest.salt
            self._bases = [each.base for each in manifest.all_segments]
        self._committed = self._active_rows()

    def _active_rows(self) -> int:
        """Return how many good entries the last segment has, but for holes."""
        mark = self._manifest.mark
        return committed(self._files(mark.base).index, mark).rows

    @property
    def first_line(self) -> int:
        """The number of the first line that is still there."""
        return self._bases[0] + 1

    @property
    def last_line(self) -> int:
        """The number of the last line that is committed now, 0 if there is none."""
        self._refresh()
        return self._last

    @property
    def _last(self) -> int:
        return self._manifest.active.base + self._committed

    def _files(self, base: int) -> _Files:
        with self._mutex:
            found = self._open.pop(base, None) or _Files(self._names, base)
            self._open[base] = found
            while len(self._open) > self._most_open:
                self._open.popitem(last=False)
            return found

    def _segment(self, line: int) -> tuple[Sealed | Active, int]:
        """Return the segment of a line, and how many lines it has."""
        position = bisect_right(self._bases, line - 1) - 1
        segments = self._manifest.segments
        if position < len(segments):
            return segments[position], segments[position].rows
        return self._manifest.active, self._committed

    def line(self, number: int) -> bytes:
        """Return a line without its newline."""
        segment, rows = self._reach(number)
        row = number - segment.base - 1
        if row >= rows:
            path = str(self._names.data(segment.base))
            raise LogDamagedError(path, segment.bytes, f"line {number} was given up")
        at = self._files(segment.base)
        try:
            entry = at.entry(row, self._salt)
            line = files.read_at(at.data, entry.end - entry.start, entry.start)
        except OSError as error:
            raise UnreadableError(at.path, error.strerror or str(error)) from error
        if entry.line != number or crc32c(line) != entry.checksum:
            reason = f"line {number} is not what was written"
            raise LogDamagedError(at.path, entry.start, reason)
        return line[:-1]

    def entry(self, number: int) -> Entry:
        """Return what the index says of a line."""
        segment, _rows = self._reach(number)
        at = self._files(segment.base)
        with reading(at.index_path):
            return at.entry(number - segment.base - 1, self._salt)

    def entries(self, start: int, last: int) -> Iterator[tuple[int, bytes]]:
        """Yield the entries of lines `start` to `last`, some at a time, as they are.

        With the number of the first line; those of lines that were given up are passed over.
        """
        while start <= last:
            segment, rows = self._reach(start)
            row = start - segment.base - 1
            most = min(last - start + 1, rows - row, _ENTRIES_AT_ONCE)
            if most > 0:
                at = self._files(segment.base)
                offset = HEADER_BYTES + row * ENTRY_BYTES
                with reading(at.index_path):
                    yield start, files.read_at(at.index, most * ENTRY_BYTES, offset)
                start += most
            elif isinstance(segment, Sealed):
                start = segment.last_line + 1

    def _reach(self, number: int) -> tuple[Sealed | Active, int]:
        if not self.first_line <= number <= self._last:
            self._refresh()
            if not self.first_line <= number <= self._last:
                raise LineOutOfRangeError(
                    self._names.text, number, self.first_line, self._last
                )
        return self._segment(number)

    def blocks(self, start: int, last: int, share: int = 1) -> Iterator[Block]:
        """Yield the lines with numbers `start` to `last`, some at a time.

        Those that were given up are passed over. Whoever reads many logs at once says how
        many share the memory for that.
        """
        while start <= last:
            segment, rows = self._reach(start)
            row = start - segment.base - 1
            most = min(last - start + 1, rows - row, -(-_ROWS_AT_ONCE // share))
            if most > 0:
                block = self._block(segment, row, most, _BYTES_AT_ONCE // share)
                yield block
                start += block.rows
            elif isinstance(segment, Sealed):
                start = segment.last_line + 1

    def _block(
        self, segment: Sealed | Active, row: int, most: int, most_bytes: int
    ) -> Block:
        at = self._files(segment.base)
        with reading(at.path):
            begin = at.entry(row - 1, self._salt).end if row else 0
            place = Place(self._salt, segment.file_number, segment.base, row, begin)
            entries = files.read_at(at.index, most * ENTRY_BYTES, place.index_end)
            entries = _some(entries, begin + most_bytes)
            end = _END.unpack_from(entries, len(entries) - ENTRY_BYTES)[0]
            size = os.fstat(at.data).st_size
            data = files.read_at(at.data, max(min(end, size) - begin, 0), begin)
        good, fault = verify_lines(entries, data, place)
        if fault is not None:
            number = segment.base + row + good + 1
            raise LogDamagedError(at.path, begin, f"line {number}: {fault.reason}")
        return Block(segment.base + row + 1, good, data, entries)


def _some(entries: bytes, end: int) -> bytes:
    """Return the first entries whose lines end up to a byte, at least one."""
    ends = [each for (each,) in _END.iter_unpack(entries)]
    count = bisect_right(ends, end)
    return entries[: max(count, 1) * ENTRY_BYTES]
