"""Check of a set of shards: every byte of every part against the metadata.

A part is sound if it has the path, length and digest of the metadata, and if each of its blocks
has its checksum and decodes to its rows. All faults are reported, not only the first.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.kernel.checksum import digest
from headrace.kernel.rows import BlockTable, Decoding, reading
from headrace.store.files.opened import Keeping, OpenedFile
from headrace.store.rows.row_file import RowFile, RowOptions
from headrace.store.shards.options import LARGEST_BLOCK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.store.shards.metadata import Part
    from headrace.store.shards.shard_set import ShardSet

_BLOCKS_AT_ONCE = 64
"""Blocks that are checked between two reports of progress."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a part; of a block, also its number, offset and rows."""

    reason: str
    block: int | None = None
    offset: int | None = None
    rows: range | None = None

    def __str__(self) -> str:
        where = "" if self.block is None else f"block {self.block}, "
        where += "" if self.offset is None else f"byte {self.offset}"
        lost = ""
        if self.rows is not None:
            lost = f" (rows {self.rows.start} to {self.rows.stop - 1})"
        return f"{where}: {self.reason}{lost}" if where else self.reason


@dataclass(frozen=True, slots=True)
class Checked:
    """A part, its path, and its faults."""

    part: Part
    path: str
    faults: tuple[Fault, ...]


def check_shards(
    shards: ShardSet,
    *,
    threads: int | None = None,
    progress: Callable[[int], None] = lambda _bytes: None,
) -> Iterator[Checked]:
    """Yield the parts of a set in order, each with its faults.

    `progress` is called with how many bytes of the files are done.
    """
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        done = 0
        for checked in pool.map(partial(_check, shards), shards.metadata.parts):
            done += checked.part.bytes
            progress(done)
            yield checked


def _check(shards: ShardSet, part: Part) -> Checked:
    path = shards.at(part)
    try:
        faults = tuple(_faults(shards, part))
    except HeadraceError as error:
        faults = (Fault(error.what.removeprefix(f"{path}: ")),)
    return Checked(part, path, faults)


def _faults(shards: ShardSet, part: Part) -> Iterator[Fault]:
    opened = OpenedFile(shards.source(part))
    with reading(opened.path):
        found = digest(opened.file, part.bytes)
    if found != part.digest:
        yield Fault(f"its digest is {found}, but the metadata says {part.digest}")
    if opened.table is not None:
        faults = list(_faults_of_blocks(opened, opened.table, part))
        yield from faults
        if faults and opened.counted_table is None:
            return  # what cannot be decoded cannot be counted
    elif opened.source.codec != "none" and not opened.is_hopped_over:
        yield Fault("the table of its blocks cannot be used")
    rows = RowFile(
        opened.source, RowOptions(LARGEST_BLOCK, Keeping(), Decoding())
    ).total()
    if rows != part.records:
        yield Fault(f"it has {rows} rows, but the metadata says {part.records}")


def _faults_of_blocks(
    opened: OpenedFile, table: BlockTable, part: Part
) -> Iterator[Fault]:
    for name, found, stated in (
        ("blocks", len(table), part.blocks),
        ("bytes after decompression", table.logical_size, part.logical_bytes),
    ):
        if found != stated:
            yield Fault(f"it has {found} {name}, but the metadata says {stated}")
    with reading(opened.path):
        for start in range(0, len(table), _BLOCKS_AT_ONCE):
            stop = start + _BLOCKS_AT_ONCE
            for bad in table.check(opened.file, start, stop):
                rows = None if bad.rows is None else range(*bad.rows)
                yield Fault(bad.reason, bad.block, bad.offset, rows)
