"""Slices and segments of a set index, the same in every engine.

The rows of a set are cut into *slices*, runs of bytes of one part. A scan of a slice sends keys to
their segments, in packets; the thread or task that has all packets of a segment writes it. The
result depends neither on the cuts nor on the order of packets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from headrace.engines.index.collect import line_of
from headrace.errors import DuplicateKeyError
from headrace.kernel.index_meta import HASH_BYTES, Lines, MadeOf
from headrace.kernel.key_index import (
    Kept,
    KeyIndex,
    KeyPackets,
    KeyRuns,
    KeyScan,
    Plan,
    Skipped,
    skipped_by,
    write_index,
)
from headrace.kernel.rows import explaining, reading
from headrace.store.files.opened import rows_from
from headrace.store.index.set import commit
from headrace.store.index.set.stored import source_mark
from headrace.store.shards.opened_set import OpenedSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from headrace.store.files.source import Source
    from headrace.store.shards.metadata import Part

SEGMENT_ROWS = 1 << 22
"""About the number of rows of a segment, some 25 MB."""

_MOST_SEGMENTS = 256
_PACKET_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Slice:
    """The rows of a part that begin in ``[start, end)`` of all rows of the set."""

    part: int
    start: int
    end: int

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.end - self.start


class SliceCounts(NamedTuple):
    """The lines of a slice."""

    lines: Lines
    skipped: tuple[Skipped, ...]
    plain_numbers: bool


@dataclass(frozen=True, slots=True)
class SetScan:
    """A set, and the options of its scan, as plain data that is sent to tasks."""

    location: str
    parts: tuple[Part, ...]
    sources: tuple[Source, ...]
    fields: tuple[str, ...]
    unique: bool
    max_line: int
    max_depth: int
    segments: int
    all_skipped: bool = False

    def opened(self) -> OpenedSet:
        """Open the set, for one thread."""
        return OpenedSet(self.location, self.parts, self.sources)

    def scan(self, part: Slice, opened: OpenedSet) -> Scanning:
        """Scan a slice."""
        return Scanning(self, part, opened)

    def write(
        self, number: int, runs: KeyRuns, directory: Path, kept: KeptSegment | None
    ) -> MadeSegment | DuplicateKeyError:
        """Write a segment of new runs and kept entries under a temporary name.

        The error of a duplicate key in a unique index is returned.
        """
        try:
            return self._write(number, runs, directory, kept)
        except DuplicateKeyError as error:
            return error

    def _write(
        self, number: int, runs: KeyRuns, directory: Path, kept: KeptSegment | None
    ) -> MadeSegment:
        opened = self.opened()
        known = None if kept is None else kept.opened(directory)
        covers = 0 if kept is None or kept.whole else kept.covers
        path = commit.new_segment(directory)
        try:
            with explaining(self.location):
                made = write_index(
                    [runs],
                    path,
                    self._plan(covers, opened.size),
                    source=self.location,
                    line_of=lambda offset: line_of(opened, offset),
                    kept=known
                    and Kept(known, opened.data, kept is not None and kept.whole),
                )
            commit.finish_segment(path)
            build = _build_id(path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return MadeSegment(
            number, path.name, made.size, made.records, made.keys, f"{build:016x}"
        )

    def _plan(self, covers: int, size: int) -> Plan:
        # The manifest proves that the parts are the same, not hashes of blocks.
        blocks = -(-covers // HASH_BYTES) - covers // HASH_BYTES
        return Plan(
            fields=self.fields,
            unique=self.unique,
            version=2,
            # The counts of all lines are in the manifest.
            lines=Lines(),
            plain_numbers=False,
            made_of=MadeOf(
                self.max_line,
                self.max_depth,
                logical_size=size,
                coverage_end=size,
                hashed=covers,
                source=source_mark(size),
            ),
            hashes=[0] * (blocks + 1),
        )


class MakeSegments(Protocol):
    """Scans slices, and writes segments of new and kept entries under temporary names.

    `done` is called with each slice, in order.
    """

    def __call__(
        self,
        how: SetScan,
        cut: Sequence[Slice],
        kept: Sequence[KeptSegment | None],
        directory: Path,
        done: Callable[[Slice, SliceCounts], None],
    ) -> list[MadeSegment]:
        """Return the segments."""
        ...


class MadeSegment(NamedTuple):
    """A segment under a temporary name."""

    number: int
    temporary: str
    bytes: int
    records: int
    keys: int
    build: str


class KeptSegment(NamedTuple):
    """A segment to update, by the names of its files; see `Kept`.

    `covers` is the first byte after the bytes of its base.
    """

    base: str
    delta: str | None
    whole: bool
    covers: int

    def opened(self, directory: Path) -> KeyIndex:
        """Open the segment."""
        with reading(str(directory)):
            delta = None if self.delta is None else directory / self.delta
            return KeyIndex(directory / self.base, delta)


class Scanning:
    """One scan of a slice."""

    def __init__(self, how: SetScan, part: Slice, opened: OpenedSet) -> None:
        self._opened = opened
        self._scan = KeyScan(
            how.fields, max_depth=how.max_depth, all_skipped=how.all_skipped
        )
        self._packets = KeyPackets(how.segments)
        self._rows = rows_from(opened, how.max_line, start=part.start, end=part.end)

    def packets(self) -> Iterator[tuple[int, bytes]]:
        """Scan all rows, and yield packets with the numbers of their segments."""
        while self._rows.advance(
            lambda stream: self._packets.advance(self._scan, stream)
        ):
            yield from self._packets.take(_PACKET_BYTES)
        yield from self._packets.take(0)

    @property
    def counts(self) -> SliceCounts:
        """The lines so far."""
        return SliceCounts(
            Lines(*self._scan.lines),
            tuple(skipped_by(self._scan)),
            self._scan.plain_numbers,
        )


def slices(parts: Sequence[Part], slice_bytes: int, first: int = 0) -> list[Slice]:
    """Cut the rows of parts from number `first` on into slices."""
    found, at = [], 0
    for number, part in enumerate(parts):
        end = at + part.logical_bytes
        if number >= first:
            found += [
                Slice(number, start, min(start + slice_bytes, end))
                for start in range(at, end, slice_bytes)
            ]
        at = end
    return found


def segments_for(rows: int, segment_rows: int = SEGMENT_ROWS) -> int:
    """Return the number of segments for an index of `rows`, a power of two.

    >>> [segments_for(rows, 100) for rows in (0, 100, 101, 1000, 10**9)]
    [1, 1, 2, 16, 256]
    """
    wanted = -(-rows // max(segment_rows, 1))
    return min(1 << max(wanted - 1, 0).bit_length(), _MOST_SEGMENTS)


def _build_id(path: Path) -> int:
    """Return the id in the footer of a segment, which may be a delta."""
    with path.open("rb") as file:
        file.seek(-24, 2)
        return int.from_bytes(file.read(8), "little")


def without_duplicates(
    made: Sequence[MadeSegment | DuplicateKeyError],
) -> list[MadeSegment]:
    """Return the segments, or raise the error of the first row with a duplicate key."""
    twice = [each for each in made if isinstance(each, DuplicateKeyError)]
    if twice:
        raise min(twice, key=lambda each: each.other)
    return [each for each in made if not isinstance(each, DuplicateKeyError)]
