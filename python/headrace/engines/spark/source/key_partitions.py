"""Key partitions: the byte ranges to read for the rows with wanted keys.

If a set or a file has a usable key index, only the blocks that contain such rows are read;
otherwise all of it, and always the rows appended since the index was built. Tasks compare the
key of each row with the wanted keys in either case, so an index only reduces what is read.
"""

import warnings
from collections.abc import Iterator, Sequence
from itertools import groupby

from headrace.engines.spark.source.options import KeysWanted, ReadOptions
from headrace.engines.spark.source.partitions import ranges_holding
from headrace.errors import HeadraceWarning, KeyIndexError
from headrace.kernel.key_index import KeyRequest, KeyScan, Meta, WantedKeys, request
from headrace.kernel.rows import RowBatch, SidecarError, reading
from headrace.kernel.values import MAX_DEPTH
from headrace.physical.fragment import Fragment, fragments
from headrace.store.files.opened import OpenedFile
from headrace.store.index.key import Stored
from headrace.store.index.stored_index import Unreadable, Where
from headrace.store.index.subject import Subject
from headrace.store.shards.opened_set import OpenedSet

_MOST_ROWS = 1 << 22
"""The largest number of rows that is looked up; for more, the source is read in full."""


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


def held(subject: Subject, options: ReadOptions) -> list[Fragment]:
    """Return the fragments of a file or a set that contain the rows with the keys of a read."""
    assert options.keys is not None
    opened = subject.open()
    found = _found(subject, opened, options)
    if isinstance(found, KeyIndexError):
        if found.kind != "missing":
            message = f"{found.what}; the source is read in full"
            warnings.warn(message, HeadraceWarning, stacklevel=2)
        return [*_behind(opened, 0, options)]
    offsets, below = found
    return [*_holding(opened, offsets), *_behind(opened, below, options)]


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


def _holding(opened: OpenedFile, offsets: Sequence[int]) -> Iterator[Fragment]:
    """Yield the blocks that contain the rows at these offsets, in order."""
    if not isinstance(opened, OpenedSet):
        yield from _holding_in(opened, offsets)
        return
    for number, some in groupby(offsets, opened.part_at):
        start = opened.starts[number]
        inside = [offset - start for offset in some]
        yield from _holding_in(opened.opened_part(number), inside)


def _holding_in(file: OpenedFile, offsets: Sequence[int]) -> Iterator[Fragment]:
    for start, end in ranges_holding(file, offsets):
        yield Fragment(file.source, start, end)


def _behind(opened: OpenedFile, below: int, options: ReadOptions) -> Iterator[Fragment]:
    """Yield all rows from byte `below` on, at which a part or a row begins."""
    if isinstance(opened, OpenedSet):
        for start, source in zip(opened.starts, opened.sources, strict=True):
            if start >= below:
                yield from fragments(source, options.partition_bytes)
    elif below < opened.size:
        # Only a file without blocks can have grown.
        yield from fragments(opened.source, options.partition_bytes, below)
