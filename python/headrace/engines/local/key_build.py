"""Building key indexes, in parallel.

The order of the index is that of the keys, so it does not depend on how rows were collected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from headrace.engines.local.index_scan import (
    Collected,
    Collecting,
    ScanOptions,
    collect,
    line_of,
)
from headrace.kernel.key_index import KeyRuns, KeyScan, Plan, write_index
from headrace.store.atomic import in_place_of
from headrace.store.index_file import mark_of, refuse_unless_seekable, remove_delta
from headrace.store.key_index import Stored
from headrace.store.opened import OpenedFile

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.kernel.key_index import Skipped, Written
    from headrace.kernel.sealed import Lines
    from headrace.store.source import Source

W = TypeVar("W")


@dataclass(frozen=True, slots=True)
class KeyBuild(ScanOptions):
    """What index is to be built."""

    fields: tuple[str, ...]
    unique: bool = False
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Built(Generic[W]):
    """An index that was built."""

    path: Path
    written: W
    lines: Lines
    first_skipped: tuple[Skipped, ...]


def build(source: Source, path: Path, asked: KeyBuild) -> Built[Written]:
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
            keys.plain_numbers,
            keys.made_of(asked, mark),
            keys.hashes,
        )
        written = write_index(
            keys.runs,
            new.temporary,
            plan,
            source=source.location,
            line_of=lambda offset: line_of(opened, offset),
        )
    remove_delta(path, Stored)
    return Built(path, written, keys.lines, keys.skipped)


def scan_keys(
    opened: OpenedFile,
    asked: KeyBuild,
    directory: Path,
    start: int = 0,
    first_line: int = 0,
) -> Collected[KeyRuns]:
    """Take the keys of all rows from `start` on, which is where line `first_line` begins."""

    def scan(how: ScanOptions, unterminated: int | None) -> KeyScan:
        return KeyScan(
            asked.fields,
            max_depth=how.max_depth,
            unterminated=unterminated,
            all_skipped=how.skipped is not None,
        )

    keys = Collecting(
        lambda directory, memory, _number: KeyRuns(directory, memory),
        scan,
        KeyScan.advance,
        KeyRuns.finish,
    )
    return collect(opened, asked, keys, directory, start, first_line)
