"""Segment open for writing: its two files, and the lines that have no entry yet."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from headrace.kernel.log import LogTail, Place
from headrace.kernel.rows import reading
from headrace.store.log import files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.kernel.log import LogClock, LogLines
    from headrace.kernel.programs import Program
    from headrace.store.log.entries import Header
    from headrace.store.log.names import LogNames

_SCANNED_AT_ONCE = 16 << 20


class OpenSegment:
    """Both files of a segment, which must exist."""

    def __init__(self, names: LogNames, header: Header) -> None:
        self.header = header
        self.path = names.data(header.base)
        self.index_path = names.index(header.base)
        self.data = files.open_to_write(self.path)
        try:
            self.index = files.open_to_write(self.index_path)
        except BaseException:
            os.close(self.data)
            raise

    def close(self) -> None:
        """Close both files."""
        data, self.data = self.data, -1
        index, self.index = self.index, -1
        for descriptor in (data, index):
            if descriptor >= 0:
                os.close(descriptor)

    @property
    def size(self) -> int:
        """The bytes of its data."""
        return os.fstat(self.data).st_size

    @property
    def index_size(self) -> int:
        """The bytes of its index."""
        return os.fstat(self.index).st_size


class LinesAfter:
    """Lines of a file from a place on, read and checked like new input.

    `stop` is the reason why they end: ``end`` of the file, or the kind of bytes that are
    not a line: ``whole`` except for the newline, ``torn`` or ``bad``.
    """

    def __init__(
        self,
        path: Path,
        place: Place,
        size: int,
        *,
        max_depth: int,
        max_line: int,
        time: Program | None,
        created: int | None = None,
    ) -> None:
        self.place = place
        self.stop = ""
        self.reason = ""
        self._path = str(path)
        file = files.open_data(path)
        with reading(self._path):
            # The time of writing is unknown; this is a lower bound.
            mtime = file.stat()[1] // 1_000_000
            self._created = mtime if created is None else created
            self._tail = LogTail(
                file,
                place.end,
                size,
                max_depth=max_depth,
                max_line=max_line,
                time=None if time is None else time.native,
            )

    def entries(self, clock: LogClock) -> Iterator[bytes]:
        """Yield the entries of all lines, in pieces; their times are that of the file."""
        while not self.stop:
            with files.reading_lines(self._path):
                lines, stop = self._tail.next(_SCANNED_AT_ONCE)
            if stop is not None:
                self.stop, _offset, self.reason = stop
            if len(lines):
                yield self._entries(lines, clock)

    def completed(self, clock: LogClock) -> bytes:
        """Return the entry of the last line, once it has its newline."""
        return self._entries(self._tail.completed(), clock)

    def _entries(self, lines: LogLines, clock: LogClock) -> bytes:
        entries, reached = lines.entries(
            0, len(lines), self.place, clock, created=self._created, reconstructed=True
        )
        self.place = self.place.at(*reached)
        return entries


def write_entries(segment: OpenSegment, place: Place, entries: bytes) -> None:
    """Write entries; the first is that of the line at `place`."""
    files.write_at(segment.index, entries, place.index_end)
