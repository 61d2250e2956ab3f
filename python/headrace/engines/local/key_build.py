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
    account_of,
    hash_all,
    hash_blocks,
    write_index,
)
from headrace.kernel.rows import END, Decoding, count_rows, reach_back, reading
from headrace.physical.fragment import fragments
from headrace.store.atomic import in_place_of
from headrace.store.key_index import mark_of, refuse_unless_seekable
from headrace.store.opened import OpenedFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.kernel.key_index import Skipped, Written
    from headrace.physical.fragment import Fragment
    from headrace.store.source import Source

FRAGMENT_BYTES = 16 << 20
FIRST_SKIPPED = 10
"""How many lines without a key are told of."""

_FOR_KEYS = 0.75
"""How much of the memory is for keys; the rest is for reading and writing."""


@dataclass(frozen=True, slots=True)
class KeyBuild:
    """What index is to be built."""

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


@dataclass(frozen=True, slots=True)
class Built:
    """An index that was built."""

    path: Path
    written: Written
    lines: Lines
    first_skipped: tuple[Skipped, ...]


class _Scanned(NamedTuple):
    lines: Lines
    skipped: list[Skipped]
    hashes: list[int]


@dataclass(slots=True)
class _Total:
    """What was found in all fragments so far."""

    lines: Lines = field(default_factory=Lines)
    skipped: list[Skipped] = field(default_factory=list)
    hashes: list[int] = field(default_factory=list)

    def add(self, part: _Scanned) -> list[Skipped]:
        """Add what was found in the next fragment, and return its lines without a key."""
        before = self.lines.lines
        new = [row._replace(line=row.line + before) for row in part.skipped]
        self.lines = self.lines.plus(part.lines)
        self.skipped = [*self.skipped, *new][:FIRST_SKIPPED]
        self.hashes += part.hashes
        return new


def build(
    source: Source,
    path: Path,
    asked: KeyBuild,
    progress: Callable[[int, int], None] = lambda _bytes, _records: None,
) -> Built:
    """Build the index of a source at `path`, which is replaced in one instant.

    `progress` is told, now and then, how many bytes are done and how many rows have
    keys. A source that is changed meanwhile is an error; one that grows is indexed as far
    as it was.
    """
    refuse_unless_seekable(source)
    opened = OpenedFile(source, decoding=asked.decoding)
    refuse_unless_seekable(opened.source)
    mark = mark_of(source, opened)
    last = _unterminated(opened)
    covered = opened.size if last is None else last
    hashed = covered if source.codec == "none" else source.size
    threads = max(asked.threads or os.cpu_count() or 1, 1)
    with in_place_of(path) as new:
        memory = int(asked.memory * _FOR_KEYS) // threads
        runs = [KeyRuns(path.parent, memory) for _ in range(threads)]
        total = _scan(opened, asked, runs, (last, hashed), progress)
        with reading(source.location):
            total.hashes.append(hash_all(opened.file, hashed, source.size))
        opened.check()
        written = write_index(
            runs,
            new.temporary,
            source=source.location,
            line_of=lambda offset: _line_of(opened, offset),
            fields=asked.fields,
            unique=asked.unique,
            version=asked.version,
            lines=total.lines,
            max_line=asked.max_line,
            max_depth=asked.max_depth,
            logical_size=opened.size,
            coverage_end=covered,
            hashes=(hashed, total.hashes),
            mark=mark,
        )
    return Built(path, written, total.lines, tuple(total.skipped))


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


def _line_of(opened: OpenedFile, offset: int) -> int:
    with reading(opened.path):
        return count_rows(opened.data, opened.size, 0, offset) + 1


def _scan(
    opened: OpenedFile,
    asked: KeyBuild,
    runs: list[KeyRuns],
    ends: tuple[int | None, int],
    progress: Callable[[int, int], None],
) -> _Total:
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
    total, parts = _Total(), fragments(source, asked.fragment_bytes)
    with ThreadPoolExecutor(len(runs)) as pool:
        pending = [pool.submit(scan, part) for part in parts]
        try:
            for part, result in zip(parts, pending, strict=True):
                new = total.add(result.result())
                if asked.strict:
                    _refuse_bad(source, new)
                progress(part.end, total.lines.records)
            list(pool.map(KeyRuns.finish, runs))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return total


def _scan_fragment(
    fragment: Fragment,
    opened: OpenedFile,
    asked: KeyBuild,
    runs: KeyRuns,
    ends: tuple[int | None, int],
) -> _Scanned:
    unterminated, hashed = ends
    scan = KeyScan(asked.fields, max_depth=asked.max_depth, unterminated=unterminated)
    rows = rows_of(fragment, asked.max_line, asked.decoding._replace(threads=1))
    while rows.advance(lambda stream: scan.advance(stream, runs)):
        pass
    # While what was read is still in memory. Blocks belong to the fragment they begin in.
    start, end = (_round_up(at, HASH_BYTES) for at in (fragment.start, fragment.end))
    with reading(opened.path):
        hashes = hash_blocks(opened.file, start, min(end, hashed))
    opened.check()
    return _Scanned(*account_of(scan), hashes)


def _round_up(at: int, step: int) -> int:
    return -(-at // step) * step


def _refuse_bad(source: Source, skipped: list[Skipped]) -> None:
    for row in skipped:
        if row.cause in ("bad", "too_long"):
            raise StrictRowError(source.location, row.line, row.offset, row.reason)
