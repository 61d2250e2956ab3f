"""Indexes of a log in recovery: verified, rebuilt from the data, and repaired in the middle.

A repair leaves good entries unchanged, and with them the times of their lines. A new entry
overwrites the damaged one in place: a crash leaves it damaged, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from headrace.errors import LogDamagedError
from headrace.kernel.log import (
    ENTRY_BYTES,
    HEADER_BYTES,
    LogClock,
    LogTail,
    Place,
    verify,
)
from headrace.kernel.rows import reading
from headrace.store.files import system
from headrace.store.files.atomic import temporary_name
from headrace.store.log import files
from headrace.store.log.entries import (
    Header,
    create_index,
    decode_header,
    entry_at,
    rows_in,
)
from headrace.store.log.manifest import Active, RecordLimits, Times
from headrace.store.log.recover.report import Report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from headrace.kernel.log import Fault, LogLines
    from headrace.kernel.programs import Program
    from headrace.store.log.names import LogNames

_SCANNED_AT_ONCE = 16 << 20

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
        limits: RecordLimits,
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
                max_depth=limits.max_depth,
                max_line=limits.max_record,
                time=time,
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
        path = self.names.index(base)
        try:
            with system.closing(files.open_to_read(path)) as descriptor:
                header = decode_header(files.read_at(descriptor, HEADER_BYTES, 0))
        except FileNotFoundError:
            return None
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
        clock = LogClock(0)
        with reading(str(path)):
            size = files.open_data(path).stat()[0]
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
        return LinesAfter(path, place, size, self.limits, self.time, created)

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
        data = None if path is None else files.open_data(path)
        with files.reading_lines(str(path or index_path)):
            return verify(index, data, size, place, rows, clock)


@dataclass(slots=True)
class RepairPlan:
    """The result of verifying a segment: entries to write, and damaged lines.

    `damaged` has the number, the first byte and the reason of each. `times` are those of
    all lines whose entries are good, or will be.
    """

    entries: list[tuple[Place, bytes]] = field(default_factory=list)
    damaged: list[tuple[int, int, str]] = field(default_factory=list)
    times: Times = field(default_factory=Times)


class IndexRepair:
    """One segment, verified up to the place `until`.

    `path` has its lines. They are compared with their entries too, unless they are
    `packed`: a compressed file has a digest.
    """

    def __init__(
        self, indexes: Indexes, header: Header, path: Path, *, packed: bool = False
    ) -> None:
        self._indexes = indexes
        self._header = header
        self._path = path
        self._compared = None if packed else path
        self._index_path = indexes.names.index(header.base)

    def look(self, until: Place, late: int | None) -> RepairPlan:
        """Verify all entries, and rebuild the damaged ones."""
        found, clock, place = RepairPlan(), LogClock(late), self._header.place
        with system.closing(files.open_to_read(self._index_path)) as descriptor:
            while place.rows < until.rows:
                place, fault = self._verified(place, until, clock, self._compared)
                if fault is None:
                    break
                if fault.kind == "entry":
                    behind, time = self._next_good(descriptor, place, until)
                    clock = self._make(found, place, behind, clock, time)
                    place = behind
                    continue
                found.damaged.append((place.last_line + 1, place.end, fault.reason))
                one = until._replace(rows=place.rows + 1)
                place, fault = self._verified(place, one, clock, None)
                if fault is not None:
                    break
        active = Active(self._header.file_number, self._header.base)
        found.times = active.reached(place, clock).times
        return found

    def _verified(
        self, place: Place, until: Place, clock: LogClock, path: Path | None
    ) -> tuple[Place, Fault | None]:
        return self._indexes.verified(place, until.rows, until.end, clock, path)

    def _next_good(
        self, descriptor: int, place: Place, until: Place
    ) -> tuple[Place, int | None]:
        """Return the start of the next line with a good entry, and its time."""
        for row in range(place.rows + 1, until.rows):
            entry = entry_at(descriptor, row, place.salt)
            if entry is not None and entry.line == place.base + row + 1:
                return place._replace(rows=row, end=entry.start), entry.time
        return until, None

    def _make(
        self,
        found: RepairPlan,
        place: Place,
        until: Place,
        clock: LogClock,
        time: int | None,
    ) -> LogClock:
        """Rebuild the entries of the lines between two places; return the clock after them.

        A lost time becomes that of the line before, or else of the line after.
        """
        last = clock.times[0]
        created = time if last is None else last
        behind = self._indexes.lines_behind(place, self._path, until.end, created)
        then, entries = clock.copy(), b""
        try:
            entries = b"".join(behind.entries(then))
            reason = behind.reason or "its entry is damaged, and there are fewer lines"
        except LogDamagedError as error:
            reason = error.reason
        if behind.place == until:
            found.entries.append((place, entries))
            return then
        bad = behind.place if behind.place.rows < until.rows else place
        found.damaged.append((bad.last_line + 1, bad.end, reason))
        return clock

    def write(self, found: RepairPlan, announce: Callable[[Times], None]) -> None:
        """Write the rebuilt entries, after `announce` was called with the range of times."""
        if not found.entries:
            return
        announce(found.times)
        with system.closing(files.open_to_write(self._index_path)) as descriptor:
            for place, entries in found.entries:
                files.write_at(descriptor, entries, place.index_end)
            system.calls.sync_data(descriptor)
        rows = sum(len(entries) for _place, entries in found.entries) // ENTRY_BYTES
        first = found.entries[0][0]
        self._indexes.report.add(
            "entries_rebuilt",
            str(self._index_path),
            f"that of line {first.last_line + 1} was not good",
            rows=rows,
            offset=first.index_end,
        )

    def report(self, found: RepairPlan) -> None:
        """Report the damaged lines."""
        if found.damaged:
            line, offset, reason = found.damaged[0]
            self._indexes.report.add(
                "damaged",
                str(self._path),
                f"line {line}: {reason}",
                rows=len(found.damaged),
                offset=offset,
            )
