"""Lines and index entries of the append log, made and compared by the core.

`LogChecking`, `LogLines`, `LogClock`, `LogTail` and `LogMerge` are the core's own classes: what looks at
lines, lines that were looked at, the times of a log, and what reads lines that have no entry.
`LogMerge` is what brings lines of several logs into one order.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from headrace import _native
from headrace._native import (
    LogChecking,
    LogClock,
    LogEntry,
    LogLines,
    LogMerge,
    LogTail,
    log_entry,
    log_lines_between,
    log_time_span,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.kernel.rows import File

__all__ = [
    "ENTRY_BYTES",
    "FLAGS",
    "HEADER_BYTES",
    "Fault",
    "LogChecking",
    "LogClock",
    "LogEntry",
    "LogLines",
    "LogMerge",
    "LogTail",
    "Place",
    "log_entry",
    "log_lines_between",
    "log_time_span",
    "picks_in",
    "times_in",
    "verify",
    "verify_lines",
]

HEADER_BYTES = 256
"""The line of JSON that an index begins with."""

ENTRY_BYTES = 56
"""Each entry behind it."""

_PICK = Struct("<IQqQ")
_TIME = Struct("<16xq32x")

FLAGS = ("crlf", "blank", "completed", "time reconstructed")
"""What the flags of an entry mean, from the lowest bit on."""


class Place(NamedTuple):
    """Where the next line of a file goes: behind `rows` lines, which end at byte `end`."""

    salt: int
    file_number: int
    base: int
    rows: int = 0
    end: int = 0

    def at(self, rows: int, end: int) -> Place:
        """Return another place of the same file."""
        return self._replace(rows=rows, end=end)

    @property
    def last_line(self) -> int:
        """The number of the line before it, counted from 1 in the whole log."""
        return self.base + self.rows

    @property
    def index_end(self) -> int:
        """Where its entry goes."""
        return HEADER_BYTES + self.rows * ENTRY_BYTES


class Fault(NamedTuple):
    """What is wrong: with an ``entry``, or with the ``data`` it is of, which may be ``short``."""

    kind: str
    reason: str


def verify(
    index: File, data: File | None, size: int, place: Place, rows: int, clock: LogClock
) -> tuple[Place, Fault | None]:
    """Go through the entries from `place` on up to row `rows` of the file.

    Lines are compared as well if there is `data`, of which `size` bytes belong to the
    file. Returns how far all is good, and what is wrong with the next entry.
    """
    reached, fault = _native.verify_log(index, data, size, place, rows, clock)
    return place.at(*reached), None if fault is None else Fault(*fault)


def verify_lines(
    entries: bytes, lines: bytes, place: Place
) -> tuple[int, Fault | None]:
    """Compare lines with their entries: how many fit, and what is wrong with the next."""
    good, fault = _native.verify_log_lines(entries, lines, place)
    return good, None if fault is None else Fault(*fault)


def times_in(entries: bytes) -> Iterator[int]:
    """Yield the time of each entry; they were looked at before."""
    return (time for (time,) in _TIME.iter_unpack(entries))


def picks_in(picks: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yield where merged lines are from: log, line, time, and where each ends."""
    return _PICK.iter_unpack(picks)
