"""Stretches of lines by number, as byte ranges of their segments.

A *stretch* is consecutive lines of one segment. The index has the start of each line. So
the bytes of a line, and the last line within a number of bytes, are found without reading
lines. Offsets count decompressed bytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.store.log.manifest import Active, Sealed
from headrace.store.log.read.reader import LogReader


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
