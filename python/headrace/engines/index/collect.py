"""Index scans: the entries that rows have for an index are collected, the same in every engine.

Threads or tasks scan fragments, each into *runs*, which sort the entries; an index written from
the runs does not depend on the cuts. A `Total` adds up the results of fragments in their order. The
build of each kind of index takes the entries from rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from headrace.engines.rows.fragment import rows_of
from headrace.errors import StrictRowError
from headrace.kernel.index_meta import HASH_BYTES, Lines, MadeOf, hash_all, hash_blocks
from headrace.kernel.key_index import skipped_by
from headrace.kernel.rows import (
    Decoding,
    count_rows,
    line_end,
    reading,
)
from headrace.physical.fragment import fragments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.engines.index.kinds import AnyBuild
    from headrace.engines.index.set_slices import SliceCounts
    from headrace.kernel.graph import GraphPlan
    from headrace.kernel.index_meta import SourceMark
    from headrace.kernel.key_index import Plan, Skipped
    from headrace.physical.fragment import Fragment
    from headrace.store.files.opened import OpenedFile
    from headrace.store.files.source import Source

C = TypeVar("C", bound="ScanOptions")

FRAGMENT_BYTES = 16 << 20
FIRST_SKIPPED = 10
"""How many unindexed lines are reported by default."""

_FOR_KEYS = 0.6
"""The share of the memory for keys; the rest is room to grow, to read and to write."""

_FRAGMENT_OF_ALL_SKIPPED = 1 << 20
"""Unindexed lines are held until the lines before them are counted."""


def no_progress(_bytes: int, _records: int) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanOptions:
    """Options of an index scan.

    `progress` is called, now and then, with the bytes that are done and the rows that are in the
    index; `skipped` gets all unindexed lines, in order.
    """

    memory: int = 256 << 20
    threads: int | None = None
    max_line: int = 64 << 20
    max_depth: int = 256
    strict: bool = False
    fragment_bytes: int = FRAGMENT_BYTES
    decoding: Decoding = Decoding()  # noqa: RUF009, frozen
    progress: Callable[[int, int], None] = no_progress
    skipped: Callable[[Sequence[Skipped]], None] | None = None

    def again(self, before: C) -> C:
        """Return an earlier build with the options of this scan."""
        return replace(
            before,
            memory=self.memory,
            threads=self.threads,
            strict=self.strict,
            progress=self.progress,
            skipped=self.skipped,
        )

    def memory_of(self, several: int) -> int:
        """Return the memory for the keys of each of `several` threads or tasks."""
        return int(self.memory * _FOR_KEYS) // several

    def cut(self, source: Source, start: int = 0) -> list[Fragment]:
        """Cut a source into the fragments to scan."""
        return fragments(source, self.bytes_at_once, start)

    @property
    def bytes_at_once(self) -> int:
        """The size of a fragment."""
        if self.skipped is None:
            return self.fragment_bytes
        return min(self.fragment_bytes, _FRAGMENT_OF_ALL_SKIPPED)


@dataclass(frozen=True, slots=True)
class Collected:
    """The entries of a source from some byte on.

    `size` is the size of the source after decompression, `covered` the byte after the last
    newline, and `last` the kind of the row after it. `hashes` are those of the first `hashed`
    bytes on disk in blocks, from the block where the scan began, and the hash of the rest.
    """

    runs: list[Any]
    lines: Lines
    skipped: tuple[Skipped, ...]
    last: str | None
    plain_numbers: bool
    size: int
    covered: int
    hashed: int
    hashes: list[int]

    def plan(self, build: AnyBuild, mark: SourceMark) -> Plan | GraphPlan:
        """Return the plan to write the entries of the source, which had the given mark."""
        made_of = MadeOf(
            build.max_line,
            build.max_depth,
            self.size,
            self.covered,
            self.hashed,
            mark,
            self.last,
        )
        return build.plan(self.lines, made_of, self.hashes, plain=self.plain_numbers)


def line_of(opened: OpenedFile, offset: int) -> int:
    """Return the number of the line that begins at a byte."""
    with reading(opened.path):
        return count_rows(opened.data, opened.size, 0, offset) + 1


class Ends(NamedTuple):
    """The start of a scan, the offset of a last row without a newline, and the bytes to hash."""

    start: int
    unterminated: int | None
    hashed: int


def ends_of(opened: OpenedFile, start: int = 0) -> Ends:
    """Return the ends of a scan of a file that begins at `start`."""
    with reading(opened.path):
        end = line_end(opened.data, 0, opened.size)
    unterminated = None if end == opened.size else end
    plain = opened.source.codec == "none"
    whole = not plain or unterminated is None
    return Ends(start, unterminated, opened.source.size if whole else unterminated or 0)


class Scanned(NamedTuple):
    """The result of a fragment, without the entries, which are in runs."""

    lines: Lines
    skipped: list[Skipped]
    last: str | None
    plain_numbers: bool
    hashes: list[int]
    end: int


def scan_fragment(
    fragment: Fragment,
    opened: OpenedFile,
    build: AnyBuild,
    runs: Any,  # noqa: ANN401, of the kind of the build
    ends: Ends,
) -> Scanned:
    """Add the entries of the rows of a fragment to `runs`."""
    scan = build.begin_scan(ends.unterminated)
    rows = rows_of(fragment, build.max_line, build.decoding._replace(threads=1))
    while rows.advance(lambda stream: build.advance(scan, stream, runs)):
        pass
    # Hash now, while the bytes are in memory. A block belongs to the fragment it begins in.
    start, end = (_round_up(at, HASH_BYTES) for at in (fragment.start, fragment.end))
    with reading(opened.path):
        hashes = hash_blocks(opened.file, start, min(end, ends.hashed))
    opened.check()
    return Scanned(
        Lines(*scan.lines),
        skipped_by(scan),
        scan.last,
        scan.plain_numbers,
        hashes,
        rows.advance(lambda stream: stream.offset),
    )


def _round_up(at: int, step: int) -> int:
    return -(-at // step) * step


@dataclass(slots=True)
class Counted:
    """The lines that were read so far, in order; there are `first_line` lines before them."""

    location: str
    options: ScanOptions
    first_line: int = 0
    lines: Lines = field(default_factory=Lines)
    skipped: list[Skipped] = field(default_factory=list)
    plain_numbers: bool = True

    def add(self, end: int, part: Scanned | SliceCounts) -> None:
        """Add the next lines, which end at a byte.

        Raises for a bad line if the scan is strict.
        """
        before = self.first_line + self.lines.lines
        new = [row._replace(line=row.line + before) for row in part.skipped]
        self.lines = self.lines.plus(part.lines)
        self.skipped = [*self.skipped, *new[:FIRST_SKIPPED]][:FIRST_SKIPPED]
        self.plain_numbers = self.plain_numbers and part.plain_numbers
        if self.options.strict:
            _refuse_bad(self.location, new)
        if self.options.skipped is not None:
            self.options.skipped(new)
        self.options.progress(end, self.lines.records)


def total(
    opened: OpenedFile, options: ScanOptions, ends: Ends, first_line: int = 0
) -> Total:
    """Begin a `Total`; `first_line` is the number of the line at the start.

    The hashes begin with the block that contains the start.
    """
    first = ends.start // HASH_BYTES * HASH_BYTES
    end = min(_round_up(ends.start, HASH_BYTES), ends.hashed)
    with reading(opened.path):
        hashes = hash_blocks(opened.file, first, end)
    counted = Counted(opened.path, options, first_line)
    return Total(opened, options, ends, counted, hashes=list(hashes))


@dataclass(slots=True)
class Total:
    """The result of all fragments so far."""

    opened: OpenedFile
    options: ScanOptions
    ends: Ends
    counted: Counted
    last: str | None = None
    hashes: list[int] = field(default_factory=list)
    end: int = 0

    def add(self, end: int, part: Scanned) -> None:
        """Add the result of the next fragment, which ends at a byte.

        Raises for a bad line if the scan is strict.
        """
        self.last = part.last or self.last
        self.hashes += part.hashes
        self.end = part.end
        self.counted.add(end, part)

    def collected(self, runs: list[Any]) -> Collected:
        """Return the result of all fragments; raises if the file was changed meanwhile."""
        opened, (_start, unterminated, hashed) = self.opened, self.ends
        with reading(opened.path):
            rest = hash_all(opened.file, hashed, opened.source.size)
        opened.check()
        return Collected(
            runs,
            self.counted.lines,
            tuple(self.counted.skipped),
            self.last,
            self.counted.plain_numbers,
            opened.size if opened.source.seekable else self.end,
            opened.size if unterminated is None else unterminated,
            hashed,
            [*self.hashes, rest],
        )


def _refuse_bad(location: str, skipped: list[Skipped]) -> None:
    for row in skipped:
        if row.cause in ("bad", "too_long"):
            raise StrictRowError(location, row.line, row.offset, row.reason)
