"""Columns of values, as Arrow lays them out, to lines of JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from headrace._native import ColumnLines
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Column", "ColumnLines", "Kind", "NoJsonError", "lines_of"]

Kind: TypeAlias = tuple[str, int, list[str]]
"""What values are, a number that belongs to that (width, scale), and names of children."""

Buffers: TypeAlias = tuple[bytes | None, bytes | None, bytes | None]
"""Bits of what is not null, values or offsets, data."""

_ENOUGH = 4 << 20
"""Bytes of lines that are made at a time."""


class Column(NamedTuple):
    """Values of one kind; `extent` is how many, and how many stand before them."""

    kind: Kind
    extent: tuple[int, int]
    buffers: Buffers
    children: list[Column]


class NoJsonError(HeadraceError, ValueError):
    """A value has no JSON. `row` counts from 0 in its batch, `path` begins with the column."""

    WHAT = "row {row}, column {path}: {reason}"

    row: int
    path: str
    reason: str


def lines_of(rows: ColumnLines, column: str = "") -> Iterator[bytes]:
    """Yield whole lines, many at a time, up to a row that has no JSON.

    If the rows are the values of one column, it is called `column`.
    """
    while True:
        lines, fault = rows.next(_ENOUGH)
        if lines:
            yield lines
        if fault is not None:
            row, path, reason = fault
            raise NoJsonError(row, path or column, reason)
        if not lines:
            return
