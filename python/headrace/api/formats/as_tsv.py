r"""Tab-separated values with a header: for `cut`, `awk`, and to paste into a sheet.

A tab, a line break, a carriage return and a backslash in a value are ``\t``, ``\n``,
``\r`` and ``\\``, so that each answer is one line. Null and an empty string are both empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.api.formats.delimited import delimited
from headrace.kernel.cells import cells

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.api.formats import Layout

_ESCAPES = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"})


def write(answers: Iterator[bytes], layout: Layout) -> Iterator[bytes]:
    """Write the header and a line for each answer; none of them loses a field."""
    return delimited(answers, layout, _header, _records)


def _header(columns: Sequence[str]) -> bytes:
    return _line(columns)


def _records(lines: bytes, columns: Sequence[str]) -> tuple[bytes, int, str | None]:
    rows, others = cells(lines, columns)
    count, stranger = others[0] if others else (len(rows), None)
    return b"".join(map(_line, rows[:count])), count, stranger


def _line(texts: Sequence[str | None]) -> bytes:
    fields = ("" if text is None else text.translate(_ESCAPES) for text in texts)
    return "\t".join(fields).encode() + b"\n"
