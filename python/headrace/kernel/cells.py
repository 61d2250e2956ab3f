"""Lines of JSON as cells under columns, and bytes compressed, by the core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace import _native
from headrace._native import Compressor
from headrace.kernel.values import InvalidJsonError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "VALUE",
    "Compressor",
    "cells",
    "csv_header",
    "csv_records",
    "new_columns",
]

VALUE = "value"
"""The column of answers that are no objects."""


def new_columns(lines: bytes, known: Sequence[str] = ()) -> list[str]:
    r"""Return the columns of `lines` that are not `known`, in the order they are met.

    >>> new_columns(b'{"a": 1}\n{"b": 2, "a": 3}\n[4]\n')
    ['a', 'b', 'value']
    """
    try:
        return _native.new_columns(lines, list(known))
    except _native.KernelError as error:
        raise _too_deep(error) from None


def cells(
    lines: bytes, columns: Sequence[str]
) -> tuple[list[list[str | None]], list[tuple[int, str]]]:
    r"""Return the cells of each line, None for null and what is missing.

    Strings are as they are, all else is JSON. Second come the unknown columns, each with
    the position of the first line that has it.

    >>> cells(b'{"a": 1.50}\n{"b": "x", "c": []}\n', ["a", "b"])
    ([['1.50', None], [None, 'x']], [(1, 'c')])
    """
    try:
        return _native.cells(lines, list(columns))
    except _native.KernelError as error:
        raise _too_deep(error) from None


def csv_header(columns: Sequence[str]) -> bytes:
    r"""Return the names of columns as comma-separated values.

    >>> csv_header(["a", "b,c"])
    b'a,"b,c"\r\n'
    """
    return _native.csv_header(list(columns))


def csv_records(lines: bytes, columns: Sequence[str]) -> tuple[bytes, int, str | None]:
    r"""Return lines as comma-separated values, and how many they are.

    They end before a line with another column, whose name is third.

    >>> csv_records(b'{"a": "x,y"}\n{"b": 1}\n', ["a"])
    (b'"x,y"\r\n', 1, 'b')
    """
    try:
        return _native.csv_records(lines, list(columns))
    except _native.KernelError as error:
        raise _too_deep(error) from None


def _too_deep(error: _native.KernelError) -> InvalidJsonError:
    _kind, offset, reason = error.args
    return InvalidJsonError(offset, reason)
