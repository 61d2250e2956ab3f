"""Building key indexes, in parallel.

Threads take the keys of fragments, each into runs of its own; the runs are merged into
one file. The order of the index is that of the keys, so it does not depend on the cuts.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

from headrace.engines.fragment_rows import rows_of
from headrace.errors import StrictRowError
from headrace.kernel.key_index import (
    HASH_BYTES,
    KeyRuns,
    KeyScan,
    Lines,
    Plan,
    hash_all,
    hash_blocks,
    skipped_by,
    write_index,
)
from headrace.kernel.rows import END, Decoding, count_rows, reach_back, reading
from headrace.physical.fragment import fragments
from headrace.store.atomic import in_place_of
from headrace.store.key_index import mark_of, refuse_unless_seekable, remove_delta
from headrace.store.opened import OpenedFile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headrace.kernel.key_index import Skipped, Written
    from headrace.physical.fragment import Fragment
    from headrace.store.source import Source

FRAGMENT_BYTES = 16 << 20
FIRST_SKIPPED = 10
"""How many lines without a key are told of."""

_FOR_KEYS = 0.6
"""How much of the memory is for keys; the rest is for room to grow, reading and writing."""

_FRAGMENT_OF_ALL_SKIPPED = 1 << 20
"""Lines without a key are held until those before them are known."""


def _no_progress(_bytes: int, _records: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class KeyBuild:
    """What index is to be built.

    `progress` is told, now and then, how many bytes are done and how many rows have
    keys; `skipped` gets all lines without a key, in order.
    """

    fields: tuple[str, ...]
    unique: bool = False
    version: int | None = None
    memory: int = 256 << 20
    threads: int | None = None
    max_line: int = 64 << 20
    max_depth: int = 256
    strict: bool = False
    fragment_bytes: int = FRAGMENT_BYTES
    decoding: Decoding = Decoding()  # noqa: RUF009, frozen
    progress: Callable[[int, int], None] = _no_progress
    skipped: Callable[[Sequence[Skipped]], None] | None = None


@dataclass(frozen=True, slots=True)
class Built:
    """An index that was built."""

    path: Path
    written: Written
    lines: Lines
    first_skipped: tuple[Skipped, ...]


def build(source: Source, path: Path, asked: KeyBuild) -> Built:
    """Build the index of a source at `path`, which is replaced in one instant.

    A source that is changed meanwhile is an error; one that grows is indexed as far
    as it was. What was a delta of the index before is removed.
    """
    refuse_unless_seekable(source)
    opened = OpenedFile(source, decoding=asked.decoding)
    refuse_unless_seekable(opened.source)
    mark = mark_of(source, opened)
    with in_place_of(path) as new:
        keys = scan_keys(opened, asked, path.parent)
        plan = Plan(
            asked.fields,
            asked.unique,
            asked.version,
            keys.lines,
            keys.last,
            keys.plain_numbers,
            asked.max_line,
            asked.max_depth,
            opened.size,
            keys.covered,
            (keys.hashed, keys.hashes),
            mark,
        )
        written = write_index(
            keys.runs,
            new.temporary,
            plan,
            source=source.location,
            line_of=lambda offset: line_of(opened, offset),
        )
    remove_delta(path)
    return Built(path, written, keys.lines, keys.skipped)


class Keys(NamedTuple):
    """The keys of a source from some byte on.

    `covered` is the byte behind the last newline, `last` what a row behind it is, and
    `hashed` the bytes on disk that `hashes` are about: those of blocks, from the first one
    on that was scanned, and that of the rest.
    """

    runs: list[KeyRuns]
    lines: Lines
    skipped: tuple[Skipped, ...]
    last: str | None
    plain_numbers: bool
    covered: int
    hashed: int
    hashes: list[int]


def scan_keys(
    opened: OpenedFile,
    asked: KeyBuild,
    directory: Path,
    start: int = 0,
    first_line: int = 0,
) -> Keys:
    """Take the keys of all rows from `start` on, which is where line `first_line` begins."""
    source = opened.source
    unterminated = _unterminated(opened)
    covered = opened.size if unterminated is None else unterminated
    hashed = covered if source.codec == "none" else source.size
    threads = max(asked.threads or os.cpu_count() or 1, 1)
    memory = int(asked.memory * _FOR_KEYS) // threads
    runs = [KeyRuns(directory, memory) for _ in range(threads)]
    total = _Total(first_line)
    with reading(source.location):
        # The block that `start` is in begins before it.
        first = start // HASH_BYTES * HASH_BYTES
        end = min(_round_up(start, HASH_BYTES), hashed)
        total.hashes += hash_blocks(opened.file, first, end)
    _scan(opened, asked, runs, total, _Ends(start, unterminated, hashed))
    with reading(source.location):
        total.hashes.append(hash_all(opened.file, hashed, source.size))
    opened.check()
    skipped = tuple(total.skipped)
    return Keys(
        runs,
        total.lines,
        skipped,
        total.last,
        total.plain_numbers,
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


@dataclass(slots=True)
class _Total:
    """What was found in all fragments so far."""

    first_line: int
    lines: Lines = field(default_factory=Lines)
    skipped: list[Skipped] = field(default_factory=list)
    last: str | None = None
    plain_numbers: bool = True
    hashes: list[int] = field(default_factory=list)

    def add(self, part: _Scanned) -> list[Skipped]:
        """Add what was found in the next fragment, and return its lines without a key."""
        before = self.first_line + self.lines.lines
        new = [row._replace(line=row.line + before) for row in part.skipped]
        self.lines = self.lines.plus(part.lines)
        self.skipped = [*self.skipped, *new[:FIRST_SKIPPED]][:FIRST_SKIPPED]
        self.last = part.last or self.last
        self.plain_numbers = self.plain_numbers and part.plain_numbers
        self.hashes += part.hashes
        return new


def _scan(
    opened: OpenedFile,
    asked: KeyBuild,
    runs: list[KeyRuns],
    total: _Total,
    ends: _Ends,
) -> None:
    """Put the keys of all rows into `runs`."""
    unused: SimpleQueue[KeyRuns] = SimpleQueue()
    for each in runs:
        unused.put(each)

    def scan(part: Fragment) -> _Scanned:
        mine = unused.get()
        try:
            return _scan_fragment(part, opened, asked, mine, ends)
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
            list(pool.map(KeyRuns.finish, runs))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _scan_fragment(
    fragment: Fragment,
    opened: OpenedFile,
    asked: KeyBuild,
    runs: KeyRuns,
    ends: _Ends,
) -> _Scanned:
    scan = KeyScan(
        asked.fields,
        max_depth=asked.max_depth,
        unterminated=ends.unterminated,
        all_skipped=asked.skipped is not None,
    )
    rows = rows_of(fragment, asked.max_line, asked.decoding._replace(threads=1))
    while rows.advance(lambda stream: scan.advance(stream, runs)):
        pass
    # While what was read is still in memory. Blocks belong to the fragment they begin in.
    start, end = (_round_up(at, HASH_BYTES) for at in (fragment.start, fragment.end))
    with reading(opened.path):
        hashes = hash_blocks(opened.file, start, min(end, ends.hashed))
    opened.check()
    return _Scanned(
        Lines(*scan.lines), skipped_by(scan), scan.last, scan.plain_numbers, hashes
    )


def _round_up(at: int, step: int) -> int:
    return -(-at // step) * step


def _refuse_bad(source: Source, skipped: list[Skipped]) -> None:
    for row in skipped:
        if row.cause in ("bad", "too_long"):
            raise StrictRowError(source.location, row.line, row.offset, row.reason)
