"""The rows of a segment, told by its index instead of being counted.

Entries are written behind the lines they are of. So a file that was not changed since its
index was has the rows that the index says; so has one that is still appended to, up to the
lines it is pinned to. In any other case nothing is believed, and the rows are counted.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.kernel.rows import RowIndex
from headrace.store.log import files
from headrace.store.log.entries import entry_at
from headrace.store.log.names import LogNames

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.store.files.opened import OpenedFile
    from headrace.store.files.source import Segment


def known_rows(opened: OpenedFile) -> int | None:
    """Return how many rows a segment has, None if its index cannot tell."""
    with _fitting(opened) as found:
        return None if found is None else found[1].rows


def row_index(opened: OpenedFile, interval: int) -> RowIndex | None:
    """Return where every `interval`th row of a segment begins, None if its index cannot tell."""
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
    """Open the index of a plain segment, None if there is none that fits."""
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
    try:
        fits = _is_of(descriptor, segment, opened)
        yield (descriptor, segment) if fits else None
    finally:
        os.close(descriptor)


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
