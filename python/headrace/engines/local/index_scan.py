"""Collecting what rows have for an index, in parallel.

Threads take the rows of fragments, each into *runs* of its own, which sort them; what is
made of the runs does not depend on the cuts. What is taken from a row is the business of each
kind of index: `Collecting`.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from headrace.engines.fragment_rows import rows_of
from headrace.errors import StrictRowError
from headrace.kernel.key_index import skipped_by
from headrace.kernel.rows import END, Decoding, count_rows, reach_back, reading
from headrace.kernel.sealed import HASH_BYTES, Lines, MadeOf, hash_all, hash_blocks
from headrace.physical.fragment import fragments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headrace.kernel.key_index import KeyScan, Skipped
    from headrace.kernel.rows import RowStream
    from headrace.kernel.sealed import SourceMark
    from headrace.physical.fragment import Fragment
    from headrace.store.opened import OpenedFile
    from headrace.store.source import Source

R = TypeVar("R")
A = TypeVar("A", bound="ScanOptions")

FRAGMENT_BYTES = 16 << 20
FIRST_SKIPPED = 10
"""How many lines that are in no index are told of."""

_FOR_KEYS = 0.6
"""How much of the memory is for keys; the rest is for room to grow, reading and writing."""

_FRAGMENT_OF_ALL_SKIPPED = 1 << 20
"""Lines that are in no index are held until those before them are known."""


def _no_progress(_bytes: int, _records: int) -> None:
    pass


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
    progress: Callable[[int, int], None] = _no_progress
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


class Collecting(NamedTuple, Generic[R]):
    """How an index collects rows.

    `runs` makes room for what a thread collects, in a directory, some memory and with a
    number; `advance` puts some rows of a stream there, as a `scan` reads them, and is false
    behind the last; `finish` sorts them.
    """

    runs: Callable[[Path, int, int], R]
    scan: Callable[[ScanOptions, int | None], KeyScan]
    advance: Callable[[KeyScan, RowStream, R], bool]
    finish: Callable[[R], None]


@dataclass(frozen=True, slots=True)
class Collected(Generic[R]):
    """What was collected of a source from some byte on.

    `size` is that of the source after decompression, `covered` is the byte behind the last newline, `last` what a row behind it is, and
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


def collect(
    opened: OpenedFile,
    asked: ScanOptions,
    collecting: Collecting[R],
    directory: Path,
    start: int = 0,
    first_line: int = 0,
) -> Collected[R]:
    """Collect all rows from `start` on, which is where line `first_line` begins."""
    runs = new_runs(asked, collecting, directory)
    found = collect_into(runs, opened, asked, collecting, start, first_line)
    sort_runs(runs, collecting)
    return found


def new_runs(asked: ScanOptions, collecting: Collecting[R], directory: Path) -> list[R]:
    """Make room for what threads collect."""
    threads = max(asked.threads or os.cpu_count() or 1, 1)
    memory = int(asked.memory * _FOR_KEYS) // threads
    return [collecting.runs(directory, memory, number) for number in range(threads)]


def sort_runs(runs: list[R], collecting: Collecting[R]) -> None:
    """Sort all that was collected."""
    with ThreadPoolExecutor(len(runs)) as pool:
        list(pool.map(collecting.finish, runs))


def collect_into(
    runs: list[R],
    opened: OpenedFile,
    asked: ScanOptions,
    collecting: Collecting[R],
    start: int = 0,
    first_line: int = 0,
) -> Collected[R]:
    """Collect rows into `runs`, which may have those of other sources too."""
    source = opened.source
    unterminated = _unterminated(opened)
    covered = opened.size if unterminated is None else unterminated
    hashed = covered if source.codec == "none" else source.size
    total = _Total(first_line)
    with reading(source.location):
        # The block that `start` is in begins before it.
        first = start // HASH_BYTES * HASH_BYTES
        end = min(_round_up(start, HASH_BYTES), hashed)
        total.hashes += hash_blocks(opened.file, first, end)
    ends = _Ends(start, unterminated, hashed)
    _scan(opened, asked, collecting, runs, total, ends)
    with reading(source.location):
        total.hashes.append(hash_all(opened.file, hashed, source.size))
    opened.check()
    skipped = tuple(total.skipped)
    return Collected(
        runs,
        total.lines,
        skipped,
        total.last,
        total.plain_numbers,
        opened.size if source.seekable else total.end,
        covered,
        hashed,
        total.hashes,
    )


def line_of(opened: OpenedFile, offset: int) -> int:
    """Return the number of the line that begins at a byte."""
    with reading(opened.path):
        return count_rows(opened.data, opened.size, 0, offset) + 1


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


class _Ends(NamedTuple):
    start: int
    unterminated: int | None
    hashed: int


class _Scanned(NamedTuple):
    lines: Lines
    skipped: list[Skipped]
    last: str | None
    plain_numbers: bool
    hashes: list[int]
    end: int


@dataclass(slots=True)
class _Total:
    """What was found in all fragments so far."""

    first_line: int
    lines: Lines = field(default_factory=Lines)
    skipped: list[Skipped] = field(default_factory=list)
    last: str | None = None
    plain_numbers: bool = True
    hashes: list[int] = field(default_factory=list)
    end: int = 0

    def add(self, part: _Scanned) -> list[Skipped]:
        """Add what was found in the next fragment, and return its lines without a key."""
        before = self.first_line + self.lines.lines
        new = [row._replace(line=row.line + before) for row in part.skipped]
        self.lines = self.lines.plus(part.lines)
        self.skipped = [*self.skipped, *new[:FIRST_SKIPPED]][:FIRST_SKIPPED]
        self.last = part.last or self.last
        self.plain_numbers = self.plain_numbers and part.plain_numbers
        self.hashes += part.hashes
        self.end = part.end
        return new


def _scan(
    opened: OpenedFile,
    asked: ScanOptions,
    collecting: Collecting[R],
    runs: list[R],
    total: _Total,
    ends: _Ends,
) -> None:
    """Put all rows into `runs`."""
    unused: SimpleQueue[R] = SimpleQueue()
    for each in runs:
        unused.put(each)

    def scan(part: Fragment) -> _Scanned:
        mine = unused.get()
        try:
            return _scan_fragment(part, opened, asked, collecting, mine, ends)
        finally:
            unused.put(mine)

    source = opened.source
    most = asked.fragment_bytes
    if asked.skipped is not None:
        most = min(most, _FRAGMENT_OF_ALL_SKIPPED)
    parts = fragments(source, most, ends.start)
    with ThreadPoolExecutor(len(runs)) as pool:
        pending = [pool.submit(scan, part) for part in parts]
        try:
            for part, result in zip(parts, pending, strict=True):
                new = total.add(result.result())
                if asked.strict:
                    _refuse_bad(source, new)
                if asked.skipped is not None:
                    asked.skipped(new)
                asked.progress(part.end, total.lines.records)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _scan_fragment(
    fragment: Fragment,
    opened: OpenedFile,
    asked: ScanOptions,
    collecting: Collecting[R],
    runs: R,
    ends: _Ends,
) -> _Scanned:
    scan = collecting.scan(asked, ends.unterminated)
    rows = rows_of(fragment, asked.max_line, asked.decoding._replace(threads=1))
    while rows.advance(lambda stream: collecting.advance(scan, stream, runs)):
        pass
    # While what was read is still in memory. Blocks belong to the fragment they begin in.
    start, end = (_round_up(at, HASH_BYTES) for at in (fragment.start, fragment.end))
    with reading(opened.path):
        hashes = hash_blocks(opened.file, start, min(end, ends.hashed))
    opened.check()
    return _Scanned(
        Lines(*scan.lines),
        skipped_by(scan),
        scan.last,
        scan.plain_numbers,
        hashes,
        rows.advance(lambda stream: stream.offset),
    )


def _round_up(at: int, step: int) -> int:
    return -(-at // step) * step


def _refuse_bad(source: Source, skipped: list[Skipped]) -> None:
    for row in skipped:
        if row.cause in ("bad", "too_long"):
            raise StrictRowError(source.location, row.line, row.offset, row.reason)
