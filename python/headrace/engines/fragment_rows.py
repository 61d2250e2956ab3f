"""The rows of a fragment, the same for every engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.kernel.rows import END, count_rows, reading
from headrace.store.opened import OpenedFile, Rows, rows_from

if TYPE_CHECKING:
    from headrace.physical.fragment import Fragment


def rows_of(fragment: Fragment, max_line: int) -> Rows:
    """Return the rows that begin in `fragment`, if its file is what it was."""
    source = fragment.source
    return rows_from(
        OpenedFile(source),
        max_line,
        start=fragment.start,
        end=fragment.end if source.seekable else END,
        first_row=fragment.first_row or 0,
    )


def count_rows_of(fragment: Fragment) -> int:
    """Count the rows that begin in a fragment of a plain file."""
    source = fragment.source
    opened = OpenedFile(source)
    with reading(source.location):
        rows = count_rows(opened.file, source.size, fragment.start, fragment.end)
    opened.check()
    return rows
