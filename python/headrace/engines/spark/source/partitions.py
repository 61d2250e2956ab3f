"""Partitions of a Spark read: the fragments that each task reads.

The fragments are those of a local scan; this module numbers and packs them.
A *partition* is what one task reads: a run of fragments, in the order of the
files, of at most `ReadOptions.partition_bytes` together, so that a folder of
small files does not need a task for each.

This runs once for a DataFrame, on the driver.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple, TypeAlias

from headrace.engines.rows.fragment import count_rows_of
from headrace.engines.spark.source.options import ReadOptions, local_path
from headrace.errors import UsageError
from headrace.physical.fragment import Fragment, fragments, runs_of
from headrace.store.files.opened import OpenedFile
from headrace.store.files.source import Source, expand
from headrace.store.index.subject import FileSubject, Subject, set_named

Partition: TypeAlias = tuple[Fragment, ...]


def plan(options: ReadOptions, *, number_rows: bool) -> list[Partition]:
    """List the partitions of a read.

    With `number_rows` every fragment has its first row number. For a file of several
    fragments this counts the lines; otherwise no data is read here.
    """
    if options.keys is not None:
        flat: Iterable[Fragment] = _with_keys(options)
        if number_rows:
            flat = [replace(each, first_row=first_row(each)) for each in flat]
        return list(packed(flat, options.partition_bytes))
    files = [fragments(source, options.partition_bytes) for source in _sources(options)]
    if number_rows:
        files = numbered_rows(files, options)
    flat = (fragment for file in files for fragment in file)
    return list(packed(flat, options.partition_bytes))


def _with_keys(options: ReadOptions) -> Iterator[Fragment]:
    """Yield the fragments to read for the rows with the wanted keys."""
    from headrace.engines.spark.source.key_partitions import held

    for subject in _subjects(options):
        for fragment in held(subject, options):
            yield replace(fragment, source=absolute(fragment.source))


def _subjects(options: ReadOptions) -> Iterator[Subject]:
    """Yield sets that are read whole, and all other files."""
    for path in map(local_path, options.paths):
        whole = options.name_glob is None and options.blocks
        subject = set_named(path) if whole and options.max_decoded is None else None
        if subject is not None:
            yield subject
            continue
        yield from map(FileSubject, _sources(replace(options, paths=(path,))))


def first_row(fragment: Fragment) -> int:
    """Return the number of the first row of `fragment`, counting rows if it is not known."""
    if fragment.first_row is not None or fragment.start == 0:
        return fragment.first_row or 0
    return count_rows_of(replace(fragment, start=0, end=fragment.start))


def _sources(options: ReadOptions) -> Iterator[Source]:
    paths = [local_path(path) for path in options.paths]
    # Only a reader of the whole file knows its decoded size, which the limit needs.
    blocks = options.blocks and options.max_decoded is None
    for source in expand(paths, blocks=blocks, name_glob=options.name_glob):
        if source.is_pipe:
            raise UsageError(f"{source.location}: Spark cannot read a pipe; use a file")
        yield absolute(source)


def absolute(source: Source) -> Source:
    """Return the source with an absolute path, since tasks have other working directories."""
    if source.kind != "file":
        return source
    return replace(source, location=str(Path(source.location).absolute()))


def numbered_rows(
    files: list[list[Fragment]], options: ReadOptions
) -> list[list[Fragment]]:
    """Set the first row of all fragments; the first fragment of a file may have one already."""
    count = partial(count_rows_of, decoding=options.decoding)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        # No fragment follows the last of a file, so its rows need no count.
        counts = [pool.map(count, file[:-1]) for file in files]
        return [
            [
                replace(fragment, first_row=first)
                for fragment, first in zip(
                    file, accumulate(counted, initial=first_row(file[0])), strict=True
                )
            ]
            for file, counted in zip(files, counts, strict=True)
            if file
        ]


def packed(
    split: Iterable[Fragment], most_bytes: int, least: int = 0
) -> Iterator[Partition]:
    """Yield runs of fragments of at most `most_bytes`; each counts as `least` bytes or more."""
    return runs_of(split, most_bytes, lambda each: max(each.size, least))


_NEAR = 1 << 18
"""The largest gap in bytes between rows that are read together in a file without blocks."""


class Range(NamedTuple):
    """Bytes on disk."""

    start: int
    end: int


def ranges_holding(opened: OpenedFile, offsets: Sequence[int]) -> list[Range]:
    """Return the ranges that contain the rows at these offsets of the decoded file, in order.

    A file of blocks is read by whole blocks; if the rows of its blocks were not counted, the block
    before is decoded too, to find whether a row ends with it. In a file without blocks, rows that
    are near each other are read together, and the bytes between other rows are not read.
    """
    table = opened.table
    if table is None:
        return _joined((Range(at, at + 1) for at in offsets), _NEAR)
    # The caller verified that the offsets belong to this file, so each has a block.
    found = sorted({block for at in offsets if (block := table.at_offset(at))})
    return _joined((Range(start, end) for _number, start, end in found), 0)


def _joined(rows: Iterable[Range], near: int) -> list[Range]:
    """Join ranges that are at most `near` bytes from each other."""
    joined: list[Range] = []
    for row in rows:
        if joined and row.start - joined[-1].end <= near:
            joined[-1] = joined[-1]._replace(end=row.end)
        else:
            joined.append(row)
    return joined
