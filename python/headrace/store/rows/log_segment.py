"""Rows of a log segment: the index of the log counts and finds them, not a scan.

Entries are written after their lines. So the index is right about a file that has not changed
since the index was written, and about one that is still appended to, up to the lines to which
the source is pinned. In any other case the index is not used, and the rows are counted.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.kernel.rows import RowIndex
from headrace.store.files import system
from headrace.store.files.opened import OpenedFile
from headrace.store.files.source import Segment
from headrace.store.log import files
from headrace.store.log.entries import entry_at
from headrace.store.log.names import LogNames


def recorded_total(opened: OpenedFile) -> int | None:
    """Return the number of rows, None if the index does not fit the segment."""
    with _fitting(opened) as found:
        return None if found is None else found[1].rows


def recorded_index(opened: OpenedFile, interval: int) -> RowIndex | None:
    """Return a row index made of entries, None if the index does not fit the segment."""
    with _fitting(opened) as found:
        if found is None:
            return None
        descriptor, segment = found
        rows = range(0, segment.rows, interval)
        entries = [entry_at(descriptor, row, segment.salt) for row in rows]
        offsets = [entry.start for entry in entries if entry is not None]
        if len(offsets) < len(entries):
            return None
        return RowIndex.known(interval, offsets, segment.rows, opened.size)


@contextmanager
def _fitting(opened: OpenedFile) -> Iterator[tuple[int, Segment] | None]:
    """Open the index of a plain segment; None if it has none that fits."""
    source = opened.source
    segment = source.segment
    if segment is None or source.codec != "none":
        yield None
        return
    names = LogNames(Path(source.location).parent)
    try:
        descriptor = files.open_to_read(names.index(segment.base))
    except OSError:
        yield None
        return
    with system.closing(descriptor):
        fits = _is_of(descriptor, segment, opened)
        yield (descriptor, segment) if fits else None


def _is_of(descriptor: int, segment: Segment, opened: OpenedFile) -> bool:
    size, _mtime_ns, changed_ns = opened.stat()
    appended_to = segment.growing and size > opened.size
    if not appended_to and changed_ns > os.fstat(descriptor).st_ctime_ns:
        return False
    if segment.rows == 0:
        return True
    last = entry_at(descriptor, segment.rows - 1, segment.salt)
    line = segment.base + segment.rows
    return last is not None and (last.line, last.end) == (line, opened.size)
