"""Key partitions: the byte ranges to read for the rows with wanted keys.

If a set or a file has a usable key index, only the blocks that contain such rows are read;
otherwise all of it, and always the rows appended since the index was built. Tasks compare the
key of each row with the wanted keys in either case, so an index only reduces what is read.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

from headrace.engines.spark.source.byte_ranges import ranges_holding
from headrace.errors import HeadraceWarning, KeyIndexError
from headrace.kernel.key_index import KeyScan, WantedKeys, request
from headrace.kernel.rows import SidecarError, reading
from headrace.kernel.values import MAX_DEPTH
from headrace.physical.fragment import Fragment, fragments
from headrace.store.index.file import Unreadable, Where
from headrace.store.shards.opened_set import OpenedSet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.engines.spark.source.options import KeysWanted, ReadOptions
    from headrace.kernel.key_index import KeyRequest, Meta
    from headrace.kernel.rows import RowBatch
    from headrace.store.files.opened import OpenedFile
    from headrace.store.index.key import Stored
    from headrace.store.index.target import Subject

_MOST_ROWS = 1 << 22
"""The largest number of rows that is looked up; for more, the source is read in full."""


class Held(NamedTuple):
    """The fragments to read of a source: they span `blocks` of its `of_blocks` blocks.

    In a file without blocks, each fragment counts as a block.
    """

    fragments: list[Fragment]
    blocks: int
    of_blocks: int


def requests_of(keys: KeysWanted) -> list[KeyRequest]:
    """Return the keys in the form that the core looks up."""
    return [request(key, keys.fields) for key in keys.keys]


class KeyedRows:
    """Picks the rows with wanted keys, in a task."""

    def __init__(self, keys: KeysWanted) -> None:
        self._wanted = WantedKeys(requests_of(keys))
        self._scan = KeyScan(keys.fields, max_depth=MAX_DEPTH)

    def of(self, batch: RowBatch) -> Iterator[RowBatch]:
        """Yield the rows of a batch that have a wanted key, adjacent rows together."""
        first = behind = 0
        for position in self._scan.among(batch, self._wanted):
            if position != behind:
                if behind > first:
                    yield batch.slice(first, behind - first)
                first = position
            behind = position + 1
        if behind > first:
            yield batch.slice(first, behind - first)


def held(subject: Subject, options: ReadOptions) -> Held:
    """Return the fragments of a file or a set that contain the rows with the keys of a read."""
    assert options.keys is not None
    opened = subject.open()
    found = _found(subject, opened, options)
    if isinstance(found, KeyIndexError):
        if found.kind != "missing":
            message = f"{found.what}; the source is read in full"
            warnings.warn(message, HeadraceWarning, stacklevel=2)
        return _all(opened, options)
    offsets, below = found
    pieces = [_holding(opened, offsets), _behind(opened, below, options)]
    several = [fragment for piece in pieces for fragment in piece.fragments]
    blocks = sum(piece.blocks for piece in pieces)
    return Held(several, blocks, _count(opened))


def _found(
    subject: Subject, opened: OpenedFile, options: ReadOptions
) -> tuple[list[int], int] | KeyIndexError:
    """Return the offsets of rows that may have a key, and the byte up to which the index is complete."""
    keys = options.keys
    assert keys is not None
    place = (subject.location, Where(directory=options.index_dir), keys.fields)
    if not opened.source.seekable:
        return subject.indexes.missing(*place)
    match subject.indexes.find(*place):
        case None:
            return subject.indexes.missing(*place)
        case Unreadable(path, fault, reason):
            return KeyIndexError(subject.location, str(path), fault, reason)
        case stored:
            return _looked_up(subject, opened, stored, options)


def _looked_up(
    subject: Subject, opened: OpenedFile, stored: Stored, options: ReadOptions
) -> tuple[list[int], int] | KeyIndexError:
    keys, location = options.keys, subject.location
    assert keys is not None
    if _leaves_out(stored.whole, options):
        reason = "it was built with smaller limits, and leaves out rows of this read"
        return KeyIndexError(location, str(stored.path), "limits", reason)
    try:
        usable, fresh = subject.fitting(stored, opened)
        if fresh.state == "stale":
            return KeyIndexError(location, str(stored.path), "stale", fresh.reason)
        with reading(str(stored.path)):
            candidates = usable.index.candidates(requests_of(keys), _MOST_ROWS)
    except KeyIndexError as error:
        return error
    except SidecarError as error:
        return KeyIndexError(location, str(stored.path), "corrupt", error.damage)
    if candidates is None:
        reason = f"more than {_MOST_ROWS} rows have these keys"
        return KeyIndexError(location, str(stored.path), "limits", reason)
    end = opened.size if fresh.state == "fresh" else usable.newest.coverage_end
    return [offset for offset in candidates.offsets if offset < end], end


def _leaves_out(meta: Meta, options: ReadOptions) -> bool:
    longer = options.max_line > meta.max_line and meta.lines.too_long > 0
    return longer or (meta.max_depth < MAX_DEPTH and meta.lines.bad > 0)


# Fragments of the rows that were found


def _parts(opened: OpenedFile) -> Iterator[tuple[int, int]]:
    """Yield the number and the first byte of each part of a set; a file is one part."""
    starts = opened.starts if isinstance(opened, OpenedSet) else [0]
    yield from enumerate(starts)


def _part(opened: OpenedFile, number: int) -> OpenedFile:
    return opened.opened_part(number) if isinstance(opened, OpenedSet) else opened


def _holding(opened: OpenedFile, offsets: Sequence[int]) -> Held:
    """Return the blocks that contain the rows at these offsets, in order."""
    several: list[Fragment] = []
    blocks, at = 0, 0
    starts = [start for _number, start in _parts(opened)]
    for number, start in _parts(opened):
        end = starts[number + 1] if number + 1 < len(starts) else opened.size
        first = at
        while at < len(offsets) and offsets[at] < end:
            at += 1
        if at > first:
            inside = [offset - start for offset in offsets[first:at]]
            part = _part(opened, number)
            some = ranges_holding(part, inside)
            blocks += sum(each.blocks for each in some)
            several += [Fragment(part.source, each.start, each.end) for each in some]
    return Held(several, blocks, 0)


def _behind(opened: OpenedFile, below: int, options: ReadOptions) -> Held:
    """Return all rows from byte `below` on, at which a part or a row begins."""
    several: list[Fragment] = []
    blocks = 0
    if isinstance(opened, OpenedSet):
        for number, start in _parts(opened):
            if start >= below:
                source = opened.sources[number]
                several += fragments(source, options.partition_bytes)
                blocks += opened.parts[number].blocks
    elif below < opened.size:
        # Only a file without blocks can have grown.
        several = fragments(opened.source, options.partition_bytes, below)
        blocks = len(several)
    return Held(several, blocks, 0)


def _all(opened: OpenedFile, options: ReadOptions) -> Held:
    sources = opened.sources if isinstance(opened, OpenedSet) else [opened.source]
    several = [
        fragment
        for source in sources
        for fragment in fragments(source, options.partition_bytes)
    ]
    count = _count(opened)
    return Held(several, count, count)


def _count(opened: OpenedFile) -> int:
    """Return how many blocks there are."""
    if isinstance(opened, OpenedSet):
        return sum(part.blocks for part in opened.parts)
    return 1 if opened.table is None else len(opened.table)
