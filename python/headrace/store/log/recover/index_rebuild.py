"""Indexes of a log in recovery: verified, and rebuilt from the data."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from headrace.errors import LogDamagedError
from headrace.kernel.log import HEADER_BYTES, Place, verify
from headrace.kernel.rows import reading
from headrace.store.files import system
from headrace.store.files.atomic import temporary_name
from headrace.store.log import files
from headrace.store.log.data_file import open_data, reading_lines
from headrace.store.log.entries import Header, create_index, decode_header, rows_in
from headrace.store.log.manifest import Active, RecordLimits, fresh_clock
from headrace.store.log.recover.report import Report
from headrace.store.log.segment import LinesAfter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.kernel.log import Fault, LogClock
    from headrace.kernel.programs import Program
    from headrace.store.log.manifest import Times
    from headrace.store.log.names import LogNames

TailPolicy: TypeAlias = Literal["auto", "keep", "strict"]
TAILS: tuple[TailPolicy, ...] = ("auto", "keep", "strict")


@dataclass(frozen=True, slots=True)
class RecoveryOptions:
    """Options of recovery: what to do with bytes that are not a record, and with damage.

    `compile` returns the program of a time expression, None if it is invalid.
    """

    compile: Callable[[str], Program | None]
    tail: TailPolicy = "auto"
    repair: bool = False


@dataclass(slots=True)
class Indexes:
    """The indexes of one log.

    `limits` are those of its last writer, and `time` extracts the times of records.
    """

    names: LogNames
    options: RecoveryOptions
    report: Report = field(default_factory=Report)
    limits: RecordLimits = field(default_factory=RecordLimits)
    time: Program | None = None

    def header(self, base: int) -> Header | None:
        """Return the header of a segment, None if it is damaged."""
        try:
            descriptor = files.open_to_read(self.names.index(base))
        except FileNotFoundError:
            return None
        try:
            header = decode_header(files.read_at(descriptor, HEADER_BYTES, 0))
        finally:
            os.close(descriptor)
        return header if header is not None and header.base == base else None

    def ensure(self, header: Header) -> int:
        """Make sure that the index of a segment has this header; return its size."""
        path = self.names.index(header.base)
        try:
            size = files.size_of(path)
        except FileNotFoundError:
            create_index(self.names, header)
            system.calls.sync_directory(self.names.directory)
            self.report.add("index_rebuilt", str(path), "it was missing")
            return HEADER_BYTES
        if self.header(header.base) != header:
            with system.closing(files.open_to_write(path)) as descriptor:
                files.write_at(descriptor, header.encode(), 0)
                system.calls.sync_data(descriptor)
            self.report.add("header_rewritten", str(path), "it was damaged")
        return max(size, HEADER_BYTES)

    def ensure_rows(
        self,
        header: Header,
        rows: int,
        path: Path,
        created: int | None = None,
        announce: Callable[[Times], None] = lambda _times: None,
    ) -> Times | None:
        """Rebuild the index of a full segment, unless it has the right length.

        `path` has the lines. Lost times become `created`, or the time of the file; the
        result is the range of times, which may differ from the earlier one. `announce` is
        called with it before the index is renamed into place.
        """
        if self.ensure(header) == header.place._replace(rows=rows).index_end:
            return None
        index_path = self.names.index(header.base)
        clock = fresh_clock()
        with reading(str(path)):
            size = open_data(path).stat()[0]
        behind = self.lines_behind(header.place, path, size, created)
        temporary = temporary_name(index_path)
        with system.closing(system.calls.create(temporary)) as descriptor:
            files.write_at(descriptor, header.encode(), 0)
            place = header.place
            for entries in behind.entries(clock):
                files.write_at(descriptor, entries, place.index_end)
                place = behind.place
            system.calls.sync_data(descriptor)
        if behind.stop != "end" or place.rows != rows:
            system.calls.unlink(temporary)
            reason = behind.reason or f"it has {place.rows} lines, not {rows}"
            raise LogDamagedError(str(path), place.end, reason)
        times = Active(header.file_number, header.base).reached(place, clock).times
        announce(times)
        system.calls.rename(temporary, index_path)
        system.calls.sync_directory(self.names.directory)
        self.report.add("index_rebuilt", str(index_path), "it was not whole", rows=rows)
        return times

    def lines_behind(
        self, place: Place, path: Path, size: int, created: int | None = None
    ) -> LinesAfter:
        """Return a reader of the lines of a segment, in `path`, from `place` on."""
        return LinesAfter(
            path,
            place,
            size,
            max_depth=self.limits.max_depth,
            max_line=self.limits.max_record,
            time=self.time,
            created=created,
        )

    def rows(self, base: int) -> int:
        """Return the number of entries that fit in an index."""
        return rows_in(self.names.index(base).stat().st_size)

    def verified(
        self, place: Place, rows: int, size: int, clock: LogClock, path: Path | None
    ) -> tuple[Place, Fault | None]:
        """Verify the entries of a segment up to row `rows`, and its lines in `path`."""
        index_path = self.names.index(place.base)
        with reading(str(index_path)):
            index = files.open_file(index_path)
        data = None if path is None else open_data(path)
        with reading_lines(str(path or index_path)):
            return verify(index, data, size, place, rows, clock)
