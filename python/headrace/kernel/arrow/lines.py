"""Columns of values, as Arrow lays them out, to lines of JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace._native import ColumnLines
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Column", "ColumnLines", "Kind", "NoJsonError", "lines_of"]

_ENOUGH = 4 << 20
"""Bytes of lines that are made at a time."""


class Kind(NamedTuple):
    """The type of a column: its name, a width or scale, and the fields of a struct."""

    name: str
    number: int = 0
    fields: Sequence[str] = ()


class Column(NamedTuple):
    """An Arrow array: `length` values from `offset` on, in the buffers of the type.

    `validity` is a bitmap, `values` has values or offsets, and `data` what offsets refer to.
    """

    kind: Kind
    length: int
    offset: int = 0
    validity: bytes | None = None
    values: bytes | None = None
    data: bytes | None = None
    children: Sequence[Column] = ()


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
