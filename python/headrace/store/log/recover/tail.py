"""Tail of a log: the only place where a crash leaves traces.

Lines that were durable according to the manifest are trusted, except for a check of the
last ones. After them, entries are good if their checksums say so. Lines without an entry
must be records. The first one that is not ends the log; it and all bytes after it move to
quarantine.
"""

from dataclasses import dataclass

from headrace.errors import LogDamagedError, TornTailError
from headrace.kernel.log import Fault, LogClock, Place
from headrace.store.files import system
from headrace.store.log import files
from headrace.store.log.entries import entry_at, rows_in
from headrace.store.log.files import OpenSegment
from headrace.store.log.manifest import Manifest
from headrace.store.log.recover.indexes import Indexes, LinesAfter
from headrace.store.log.recover.quarantine import move_aside

_LOOKED_AT = 64
"""The number of last durable lines that are always compared with their entries."""


@dataclass(slots=True)
class Tail:
    """The last segment of a log, and its entry in the manifest."""

    indexes: Indexes
    manifest: Manifest
    segment: OpenSegment

    def settle(self) -> tuple[Place, LogClock]:
        """Give every line its entry, and leave no bytes after them."""
        size, index_size = self.segment.size, self.segment.index_size
        place, clock, fault = self._good_entries(size)
        behind = self.indexes.lines_behind(place, self.segment.path, size)
        if fault is not None and fault.kind == "data":
            # Its entry belongs to another line.
            behind.stop, behind.reason = "bad", fault.reason
        if self.indexes.options.tail == "strict":
            self._refuse_torn(behind, clock.copy(), size)
            behind = self.indexes.lines_behind(place, self.segment.path, size)
        untouched = place == self.manifest.mark and size == place.end
        if untouched and index_size == place.index_end:
            return place, clock
        self._write_again(place, size)
        system.calls.sync_data(self.segment.data)
        self._drop_entries(place, index_size, fault)
        place = self._index(behind, clock)
        place = self._end(place, size, behind, clock)
        system.calls.sync_data(self.segment.index)
        return place, clock

    def _write_again(self, place: Place, size: int) -> None:
        """Write bytes again that may not be durable.

        After a failed sync, the system may report them as durable.
        """
        mark = self.manifest.mark
        start = mark.end if self._unsure else max(mark.end, place.end)
        for descriptor, begin, end in (
            (self.segment.data, start, size),
            (self.segment.index, mark.index_end, place.index_end),
        ):
            for offset, length in files.pieces(begin, end):
                data = files.read_at(descriptor, length, offset)
                files.write_at(descriptor, data, offset)

    @property
    def _unsure(self) -> bool:
        """Whether lines may have entries without being durable."""
        return self.manifest.durability == "os"

    def _good_entries(self, size: int) -> tuple[Place, LogClock, Fault | None]:
        """Find the last good entry, and the fault of the next one."""
        rows = rows_in(self.segment.index_size)
        late = self.manifest.timing.late
        place, clock = self.manifest.mark, self.manifest.active.clock(late)
        if not self._mark_holds(rows, size, clock):
            # The index was changed; the data still matches, and rebuilds it.
            place, clock = self.segment.header.place, LogClock(late)
        place, fault = self.indexes.verified(
            place, rows, size, clock, self.segment.path if self._unsure else None
        )
        return place, clock, fault

    def _mark_holds(self, rows: int, size: int, clock: LogClock) -> bool:
        """Whether the durable entries still exist; raise if their lines do not."""
        mark = self.manifest.mark
        begin = self._before(mark) if rows >= mark.rows else None
        if begin is None:
            return False
        place, fault = self.indexes.verified(
            begin, mark.rows, size, clock, self.segment.path
        )
        if fault is not None and fault.kind != "entry":
            raise LogDamagedError(str(self.segment.path), place.end, fault.reason)
        return place == mark

    def _before(self, mark: Place) -> Place | None:
        """Return the place some lines before the mark, if the entry before it is good."""
        rows = mark.rows - _LOOKED_AT
        if rows <= 0:
            return self.segment.header.place
        entry = entry_at(self.segment.index, rows - 1, mark.salt)
        return None if entry is None else mark._replace(rows=rows, end=entry.end)

    def _refuse_torn(self, behind: LinesAfter, clock: LogClock, size: int) -> None:
        for _entries in behind.entries(clock):
            pass
        if behind.stop != "end":
            end = behind.place.end
            path = str(self.segment.path)
            raise TornTailError(path, end, size - end, behind.reason)

    def _drop_entries(self, place: Place, index_size: int, fault: Fault | None) -> None:
        if index_size <= place.index_end:
            return
        system.calls.truncate(self.segment.index, place.index_end)
        self.indexes.report.add(
            "entries_dropped",
            str(self.segment.index_path),
            fault.reason if fault is not None else "the last one was cut off",
            rows=rows_in(index_size) - place.rows,
        )

    def _index(self, behind: LinesAfter, clock: LogClock) -> Place:
        """Write entries for the lines without one."""
        first = place = behind.place
        for entries in behind.entries(clock):
            files.write_at(self.segment.index, entries, place.index_end)
            place = behind.place
        if place.rows > first.rows:
            self.indexes.report.add(
                "indexed",
                str(self.segment.path),
                "they had no entries",
                rows=place.rows - first.rows,
                bytes=place.end - first.end,
                offset=first.end,
            )
        return place

    def _end(
        self, place: Place, size: int, behind: LinesAfter, clock: LogClock
    ) -> Place:
        """Handle the bytes after the last line."""
        if size == place.end:
            return place
        action, length, start = "quarantined", size - place.end, place.end
        rows = 0
        if self.indexes.options.tail == "keep":
            action = "kept"
        elif behind.stop == "whole":
            action, rows = "completed", 1
            entry = behind.completed(clock)
            files.write_at(self.segment.data, b"\n", size)
            system.calls.sync_data(self.segment.data)
            files.write_at(self.segment.index, entry, place.index_end)
            place = behind.place
        else:
            segment = self.segment
            move_aside(self.indexes.names, segment.path, segment.data, start, size)
        path = str(self.segment.path)
        self.indexes.report.add(
            action, path, behind.reason, rows=rows, bytes=length, offset=start
        )
        return place
