"""The rows of a fragment, the same for every engine.

A fragment is a range of bytes on disk. Of a file of blocks it has the blocks that
begin in it, and so the rows that begin in what these decode to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.kernel.rows import END, Decoding, count_rows, reading
from headrace.store.opened import OpenedFile, Rows, rows_from

if TYPE_CHECKING:
    from headrace.physical.fragment import Fragment


def rows_of(
    fragment: Fragment,
    max_line: int,
    decoding: Decoding = Decoding(),  # noqa: B008, frozen
) -> Rows:
    """Return the rows that begin in `fragment`, if its file is what it was."""
    opened = OpenedFile(fragment.source, decoding=decoding, warn=fragment.start == 0)
    start, end = _decoded_range(fragment, opened)
    return rows_from(
        opened,
        max_line,
        start=start,
        end=end,
        first_row=fragment.first_row or 0,
        at_row=opened.counted_table is not None,
    )


def count_rows_of(
    fragment: Fragment,
    decoding: Decoding = Decoding(),  # noqa: B008, frozen
) -> int:
    """Count the rows that begin in a fragment."""
    opened = OpenedFile(fragment.source, decoding=decoding, warn=fragment.start == 0)
    if (table := opened.counted_table) is not None:
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
    """Return the range of decoded bytes that the rows of a fragment begin in."""
    if opened.table is not None:
        start, _row = opened.table.at_physical(fragment.start)
        end, _row = opened.table.at_physical(fragment.end)
        return start, end
    if opened.codec == "none":
        return fragment.start, fragment.end
    # What cannot be entered in the middle is one block, and begins at byte 0.
    return 0, END if fragment.start == 0 else 0
