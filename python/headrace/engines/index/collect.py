"""What rows have for an index, the same for every engine.

Fragments are scanned by whoever has the time, each into *runs*, which sort what was found;
what is made of the runs does not depend on the cuts. A `Total` puts what was found in
fragments together, in their order. What is taken from a row is the business of each
kind of index: `Collecting`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from headrace.engines.rows.fragment import rows_of
from headrace.errors import StrictRowError
from headrace.kernel.index_meta import HASH_BYTES, Lines, MadeOf, hash_all, hash_blocks
from headrace.kernel.key_index import skipped_by
from headrace.kernel.rows import END, Decoding, count_rows, reach_back, reading
from headrace.physical.fragment import fragments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headrace.kernel.index_meta import SourceMark
    from headrace.kernel.key_index import KeyScan, Skipped
    from headrace.kernel.rows import RowStream
    from headrace.physical.fragment import Fragment
    from headrace.store.files.opened import OpenedFile
    from headrace.store.files.source import Source

R = TypeVar("R")
A = TypeVar("A", bound="ScanOptions")

FRAGMENT_BYTES = 16 << 20
FIRST_SKIPPED = 10
"""How many lines that are in no index are told of."""

_FOR_KEYS = 0.6
"""How much of the memory is for keys; the rest is for room to grow, reading and writing."""

_FRAGMENT_OF_ALL_SKIPPED = 1 << 20
"""Lines that are in no index are held until those before them are known."""


def no_progress(_bytes: int, _records: int) -> None:
    """Tell nobody how far it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanOptions:
    """How rows are read for an index.

    `progress` is told, now and then, how many bytes are done and how many rows are in the
    index; `skipped` gets all lines that are not, in order.
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

    def again(self, asked: A) -> A:
        """Return what was asked for before, read as is asked for now."""
        return replace(
            asked,
            memory=self.memory,
            threads=self.threads,
            strict=self.strict,
            progress=self.progress,
            skipped=self.skipped,
        )

    def memory_of(self, several: int) -> int:
        """Return the memory for keys of each of several who collect at once."""
        return int(self.memory * _FOR_KEYS) // several

    def cut(self, source: Source, start: int = 0) -> list[Fragment]:
        """Cut a source into what is scanned at a time."""
        return fragments(source, self.bytes_at_once, start)

    @property
    def bytes_at_once(self) -> int:
        """How much is scanned at a time."""
        if self.skipped is None:
            return self.fragment_bytes
        return min(self.fragment_bytes, _FRAGMENT_OF_ALL_SKIPPED)


class Collecting(NamedTuple, Generic[R]):
    """How an index collects rows.

    `runs` makes room for what one collects, in a directory, some memory and with a
    number; `advance` puts some rows of a stream there, as a `scan` reads them, and is false
    behind the last; `finish` sorts them. `save` puts them into a file, for another process,
    and `saved` is what there is in such a file.
    """

    runs: Callable[[Path, int, int], R]
    scan: Callable[[ScanOptions, int | None], KeyScan]
    advance: Callable[[KeyScan, RowStream, R], bool]
    finish: Callable[[R], None]
    save: Callable[[R, Path], None]
    saved: Callable[[Path], R]


@dataclass(frozen=True, slots=True)
class Collected(Generic[R]):
    """What was collected of a source from some byte on.

    `size` is that of the source after decompression, `covered` the byte behind the last newline, `last` what a row behind it is, and
    `hashed` the bytes on disk that `hashes` are about: those of blocks, from the first one
    on that was scanned, and that of the rest.
    """

    runs: list[R]
    lines: Lines
    skipped: tuple[Skipped, ...]
    last: str | None
    plain_numbers: bool
    size: int
    covered: int
    hashed: int
    hashes: list[int]

    def made_of(self, asked: ScanOptions, mark: SourceMark) -> MadeOf:
        """Say what an index of it is made of: of a source that looked like `mark`."""
        return MadeOf(
            asked.max_line,
            asked.max_depth,
            self.size,
            self.covered,
            self.hashed,
            mark,
            self.last,
        )


def line_of(opened: OpenedFile, offset: int) -> int:
    """Return the number of the line that begins at a byte."""
    with reading(opened.path):
        return count_rows(opened.data, opened.size, 0, offset) + 1


class Ends(NamedTuple):
    """Where a scan begins, where a last row without a newline does, and what is hashed."""

    start: int
    unterminated: int | None
    hashed: int


def ends_of(opened: OpenedFile, start: int = 0) -> Ends:
    """Return the ends of a scan of a file from `start` on."""
    unterminated = _unterminated(opened)
    plain = opened.source.codec == "none"
    whole = not plain or unterminated is None
    return Ends(start, unterminated, opened.source.size if whole else unterminated or 0)


def _unterminated(opened: OpenedFile) -> int | None:
    """Return where a last row without a newline begins."""
    if opened.size == 0:
        return None
    with reading(opened.path):
        if opened.data.read_at(opened.size - 1, 1) == b"\n":
            return None
        offset, _rows = reach_back(
            opened.data, end=opened.size, max_rows=1, max_bytes=END
        )
    return offset


class Scanned(NamedTuple):
    """What was found in a fragment, but for what is in runs."""

    lines: Lines
    skipped: list[Skipped]
    last: str | None
    plain_numbers: bool
    hashes: list[int]
    end: int


def scan_fragment(
    fragment: Fragment,
    opened: OpenedFile,
    asked: ScanOptions,
    collecting: Collecting[R],
    runs: R,
    ends: Ends,
) -> Scanned:
    """Put what the rows of a fragment have into `runs`."""
    scan = collecting.scan(asked, ends.unterminated)
    rows = rows_of(fragment, asked.max_line, asked.decoding._replace(threads=1))
    while rows.advance(lambda stream: collecting.advance(scan, stream, runs)):
        pass
    # While what was read is still in memory. Blocks belong to the fragment they begin in.
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
    """The lines that were read so far, in order; `first_line` is how many are before them."""

    location: str
    asked: ScanOptions
    first_line: int = 0
    lines: Lines = field(default_factory=Lines)
    skipped: list[Skipped] = field(default_factory=list)
    plain_numbers: bool = True

    def add(
        self, end: int, lines: Lines, skipped: Sequence[Skipped], *, plain_numbers: bool
    ) -> None:
        """Add the next lines, which end at a byte.

        Raises for a bad line, if somebody is strict.
        """
        before = self.first_line + self.lines.lines
        new = [row._replace(line=row.line + before) for row in skipped]
        self.lines = self.lines.plus(lines)
        self.skipped = [*self.skipped, *new[:FIRST_SKIPPED]][:FIRST_SKIPPED]
        self.plain_numbers = self.plain_numbers and plain_numbers
        if self.asked.strict:
            _refuse_bad(self.location, new)
        if self.asked.skipped is not None:
            self.asked.skipped(new)
        self.asked.progress(end, self.lines.records)


def total(
    opened: OpenedFile, asked: ScanOptions, ends: Ends, first_line: int = 0
) -> Total:
    """Begin a `Total`; `first_line` is the number of the line at the start.

    The hashes begin with the block that the start is in, which begins before it.
    """
    first = ends.start // HASH_BYTES * HASH_BYTES
    end = min(_round_up(ends.start, HASH_BYTES), ends.hashed)
    with reading(opened.path):
        hashes = hash_blocks(opened.file, first, end)
    counted = Counted(opened.path, asked, first_line)
    return Total(opened, asked, ends, counted, hashes=list(hashes))


@dataclass(slots=True)
class Total:
    """What was found in all fragments so far."""

    opened: OpenedFile
    asked: ScanOptions
    ends: Ends
    counted: Counted
    last: str | None = None
    hashes: list[int] = field(default_factory=list)
    end: int = 0

    def add(self, end: int, part: Scanned) -> None:
        """Add what was found in the next fragment, which ends at a byte.

        Raises for a bad line, if somebody is strict.
        """
        self.last = part.last or self.last
        self.hashes += part.hashes
        self.end = part.end
        self.counted.add(
            end, part.lines, part.skipped, plain_numbers=part.plain_numbers
        )

    def collected(self, runs: list[R]) -> Collected[R]:
        """Return all that was found, if the file is still what it was."""
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
