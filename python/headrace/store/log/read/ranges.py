"""Lines of a log within a range of times, or of numbers.

Times may go back: with `monotonic` off or late, and where a record had no time. So nothing
follows from the order of lines. The manifest has the earliest and the latest time of a full
segment: it matches as a whole, not at all, or in part. For those in part, and the last one,
only the index is read, and decides the same for runs of entries; in runs that match in
part, lines are chosen one by one.

A *stretch* is consecutive lines of one segment. The index has the start of each line. So the
bytes of a line, and the last line within a number of bytes, are found without reading lines.
Offsets count decompressed bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.errors import DamagedEntryError
from headrace.kernel.log import (
    ENTRY_BYTES,
    log_lines_between,
    log_time_span,
    times_in,
)
from headrace.store.log.manifest import Active, Sealed
from headrace.store.log.read.reader import Block, LogReader, SkippedLines, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.store.files.units import Between

_ENTRIES_AT_ONCE = 1024


@dataclass(frozen=True, slots=True)
class _Run:
    """A run of lines that all match, or may match."""

    first: int
    last: int
    all: bool


def blocks_between(
    reader: LogReader,
    start: int,
    last: int,
    times: Between,
    *,
    share: int = 1,
    passed: SkippedLines | None = None,
) -> Iterator[Block]:
    """Yield those of the lines `start` to `last` that have these times, in order.

    A block may have lines left out; its entries tell which it has. `share` and `passed` are
    those of `LogReader.blocks`.
    """
    if times.everything:
        yield from reader.blocks(start, last, share, passed)
        return
    for run in _joined(_runs(reader, start, last, times)):
        for block in reader.blocks(run.first, run.last, share, passed):
            chosen = block if run.all else chosen_lines(block, times)
            if chosen.rows:
                yield chosen


def chosen_lines(block: Block, times: Between) -> Block:
    """Return the lines of a block that have these times."""
    entries, data = log_lines_between(
        block.entries, block.data, times.since, times.until
    )
    rows = len(entries) // ENTRY_BYTES
    first = line_of(entries) if rows else block.first_line
    return replace(block, first_line=first, rows=rows, data=data, entries=entries)


def ranges_between(
    reader: LogReader, start: int, last: int, times: Between
) -> Iterator[tuple[int, int]]:
    """Yield which of the lines `start` to `last` have these times, as ``[first, end)``.

    Only the index is read. Ranges may follow each other without a gap.
    """
    for run in _joined(_runs(reader, start, last, times)):
        if run.all:
            yield run.first, run.last + 1
            continue
        for number, entries in reader.entries(run.first, run.last):
            if log_time_span(entries, reader.manifest.salt) is None:
                reason = f"an entry of lines {run.first} to {run.last} is not good"
                raise DamagedEntryError(reader.path, 0, reason)
            for line, time in enumerate(times_in(entries), number):
                if times.since <= time < times.until:
                    yield line, line + 1


def first_between(reader: LogReader, start: int, last: int, times: Between) -> int:
    """Return a line from `start` on such that no earlier one up to `last` has these times."""
    if times.everything:
        return start
    run = next(_runs(reader, start, last, times), None)
    return last + 1 if run is None else run.first


def _runs(reader: LogReader, start: int, last: int, times: Between) -> Iterator[_Run]:
    for segment in reader.manifest.all_segments:
        first = max(start, segment.base + 1)
        end = min(last, segment.last_line) if isinstance(segment, Sealed) else last
        if first <= end:
            yield from _runs_of(reader, segment, _Run(first, end, all=True), times)


def _runs_of(
    reader: LogReader, segment: Sealed | Active, lines: _Run, times: Between
) -> Iterator[_Run]:
    if (span := known_span(segment)) is not None:
        if not times.has_some(*span):
            return
        if times.has_all(*span):
            yield lines
            return
    salt = reader.manifest.salt
    for first, entries in reader.entries(lines.first, lines.last):
        for at in range(0, len(entries), _ENTRIES_AT_ONCE * ENTRY_BYTES):
            some = entries[at : at + _ENTRIES_AT_ONCE * ENTRY_BYTES]
            number = first + at // ENTRY_BYTES
            end = number + len(some) // ENTRY_BYTES - 1
            found = log_time_span(some, salt)
            # Reading lines with damaged entries reports them.
            if found is None or times.has_some(*found):
                yield _Run(number, end, all=found is not None and times.has_all(*found))


def known_span(segment: Sealed | Active) -> tuple[int, int] | None:
    """Return the earliest and the latest time of all lines, if the manifest has them."""
    earliest, latest = segment.times.earliest, segment.times.latest
    if isinstance(segment, Sealed) and earliest is not None and latest is not None:
        return earliest, latest
    return None


def _joined(runs: Iterator[_Run]) -> Iterator[_Run]:
    """Join adjacent runs of one kind."""
    held: _Run | None = None
    for run in runs:
        if held is not None and (held.last + 1, held.all) == (run.first, run.all):
            held = replace(held, last=run.last)
            continue
        if held is not None:
            yield held
        held = run
    if held is not None:
        yield held


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines `first` to `last` of a segment, which are its bytes ``[start, end)``."""

    segment: Sealed | Active
    first: int
    last: int
    start: int
    end: int

    @property
    def first_row(self) -> int:
        """The number of its first line in the segment, from 0."""
        return self.first - self.segment.base - 1

    @property
    def bytes(self) -> int:
        """The number of its bytes."""
        return self.end - self.start


def stretches(reader: LogReader, first: int, last: int) -> Iterator[Stretch]:
    """Yield lines `first` to `last`, except those that are gone or were given up.

    `last` is a line that `reader` knows to be committed.
    """
    for segment in reader.manifest.all_segments:
        sealed = isinstance(segment, Sealed)
        has_last = segment.base + segment.rows if sealed else last
        begin, behind = max(first, segment.base + 1), min(last, has_last)
        if begin > behind:
            continue
        start = 0 if begin == segment.base + 1 else reader.entry(begin).start
        whole = sealed and behind == has_last
        end = segment.bytes if whole else reader.entry(behind).end
        yield Stretch(segment, begin, behind, start, end)


def first_of(reader: LogReader, stretch: Stretch, most_bytes: int) -> Stretch:
    """Return the first lines of a stretch within `size` bytes, but at least one line."""
    if stretch.bytes <= most_bytes:
        return stretch
    fits, too_far = stretch.first, stretch.last
    while too_far - fits > 1:
        middle = (fits + too_far) // 2
        if reader.entry(middle).end - stretch.start <= most_bytes:
            fits = middle
        else:
            too_far = middle
    return first_lines(reader, stretch, fits - stretch.first + 1)


def first_lines(reader: LogReader, stretch: Stretch, most: int) -> Stretch:
    """Return the first `count` lines of a stretch, or all."""
    last = stretch.first + most - 1
    if last >= stretch.last:
        return stretch
    end = reader.entry(last).end
    return Stretch(stretch.segment, stretch.first, last, stretch.start, end)


def pieces(reader: LogReader, stretch: Stretch, most_bytes: int) -> Iterator[Stretch]:
    """Cut a stretch into pieces of `size` bytes, each of at least one line."""
    while True:
        piece = first_of(reader, stretch, most_bytes)
        yield piece
        if piece.last == stretch.last:
            return
        stretch = Stretch(
            stretch.segment, piece.last + 1, stretch.last, piece.end, stretch.end
        )
