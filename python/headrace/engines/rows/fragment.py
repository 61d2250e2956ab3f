"""The rows of a fragment, the same in every engine.

A fragment is a range of bytes on disk. In a file of blocks, it owns the blocks that begin in it,
and so the rows that begin in the decoded bytes of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import LogDamagedError, SourceChangedError
from headrace.kernel.rows import END, Decoding, count_rows, reading
from headrace.store.files.opened import OpenedFile, Rows, rows_from

if TYPE_CHECKING:
    from headrace.physical.fragment import Fragment
    from headrace.store.files.source import Source


def rows_of(
    fragment: Fragment,
    max_line: int,
    decoding: Decoding = Decoding(),  # noqa: B008, frozen
) -> Rows:
    """Return the rows that begin in `fragment`; raises if its file was changed."""
    opened = _opened(fragment, decoding)
    start, end = _decoded_range(fragment, opened)
    return rows_from(
        opened,
        max_line,
        start=start,
        end=end,
        first_row=fragment.first_row or 0,
        at_row=fragment.logical or _has_counted_blocks(fragment, opened),
    )


def _opened(fragment: Fragment, decoding: Decoding) -> OpenedFile:
    warn = fragment.start == 0
    try:
        return OpenedFile(fragment.source, decoding=decoding, warn=warn)
    except SourceChangedError:
        moved = _moved(fragment)
        if moved is None:
            raise
    return OpenedFile(moved, decoding=decoding, warn=warn)


def _moved(fragment: Fragment) -> Source | None:
    """Return the file that has the lines of a fragment now, if it is another one."""
    if fragment.source.segment is None or not _is_of_lines(fragment):
        return None
    from headrace.store.log.read.sources import (
        full_by_now,  # most fragments do not belong to a log
    )

    return full_by_now(fragment.source)


def _is_of_lines(fragment: Fragment) -> bool:
    """Whether a fragment counts bytes before compression."""
    return fragment.logical or fragment.source.codec == "none"


def _has_counted_blocks(fragment: Fragment, opened: OpenedFile) -> bool:
    """Whether a fragment is a run of blocks whose rows are known."""
    return not _is_of_lines(fragment) and opened.counted_table is not None


def count_rows_of(
    fragment: Fragment,
    decoding: Decoding = Decoding(),  # noqa: B008, frozen
) -> int:
    """Count the rows that begin in a fragment."""
    opened = _opened(fragment, decoding)
    table = opened.counted_table
    if table is not None and _has_counted_blocks(fragment, opened):
        _offset, first = table.at_physical(fragment.start)
        _offset, behind = table.at_physical(fragment.end)
        return behind - first
    start, end = _decoded_range(fragment, opened)
    if opened.codec == "none":
        with reading(opened.path):
            count = count_rows(opened.data, opened.size, start, end)
        opened.check()
        return count
    count = 0
    rows = rows_from(opened, 0, start=start, end=end)
    while (batch := rows.next_batch(1 << 16, 1 << 20)) is not None:
        count += len(batch)
    return count


def _decoded_range(fragment: Fragment, opened: OpenedFile) -> tuple[int, int]:
    """Return the range of decoded bytes in which the rows of a fragment begin."""
    if _is_of_lines(fragment) and fragment.source.segment is not None:
        if opened.codec != "none":
            raise LogDamagedError(opened.path, 0, "it has no block table")
        return fragment.start, fragment.end
    if opened.table is not None:
        start, _row = opened.table.at_physical(fragment.start)
        end, _row = opened.table.at_physical(fragment.end)
        return start, end
    if opened.codec == "none":
        return fragment.start, fragment.end
    # A file that is not seekable is one block, which begins at byte 0.
    return 0, END if fragment.start == 0 else 0
