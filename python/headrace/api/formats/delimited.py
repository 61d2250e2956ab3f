r"""Comma- and tab-separated values: answers as records of fields.

Objects have a column for each key. Where the first answer is an array, all answers are arrays
of its length, each element is a field, and there is no header. Null and a missing field are
empty, numbers keep their text, and arrays and objects are JSON.

Comma-separated values are those of RFC 4180: an empty string is ``""``, and in a table of one
column null is ``""`` as well. Tab-separated values are for `cut`, `awk`, and to paste into a
sheet: a tab, a line break, a carriage return and a backslash in a value are ``\t``, ``\n``,
``\r`` and ``\\``, so that each answer is one line; null and an empty string are both empty.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from headrace.api.formats.first_rows import (
    FIRST_BYTES,
    FIRST_ROWS,
    LateColumnError,
    take,
)
from headrace.errors import HeadraceError
from headrace.kernel.cells import VALUE, cells, csv_header, csv_records, new_columns
from headrace.kernel.programs import Program, RowQuery
from headrace.kernel.rows import rows_of
from headrace.kernel.values import DEEPEST, parse
from headrace.language import parser
from headrace.logical.encode.compiler import compile_query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.api.formats import Layout


class OtherLengthError(HeadraceError):
    """An answer is not an array of as many elements as the first one."""

    WHAT = "answer {answer} is not an array of {length} elements, as the first one is"
    ADVICE = "give all answers the same fields, as in [id, name] or {{id, name}}"

    answer: int
    length: int


def csv(answers: Iterator[bytes], layout: Layout) -> Iterator[bytes]:
    """Write the header and a record for each answer."""
    return _delimited(answers, layout, csv_header, csv_records)


def tsv(answers: Iterator[bytes], layout: Layout) -> Iterator[bytes]:
    """Write the header and a line for each answer."""
    return _delimited(answers, layout, _tsv_line, _tsv_records)


_ESCAPES = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"})


def _tsv_line(texts: Sequence[str | None]) -> bytes:
    fields = ("" if text is None else text.translate(_ESCAPES) for text in texts)
    return "\t".join(fields).encode() + b"\n"


def _tsv_records(lines: bytes, columns: Sequence[str]) -> tuple[bytes, int, str | None]:
    rows, others = cells(lines, columns)
    count, stranger = others[0] if others else (len(rows), None)
    return b"".join(map(_tsv_line, rows[:count])), count, stranger


def _delimited(
    answers: Iterator[bytes],
    layout: Layout,
    header: Callable[[Sequence[str]], bytes],
    records: Callable[[bytes, Sequence[str]], tuple[bytes, int, str | None]],
) -> Iterator[bytes]:
    """Yield the header and a record for each answer; none of them loses a field.

    `records` gives the records of lines under columns, how many they are, and the column of
    the next line that is not among them.
    """
    columns = layout.columns
    if columns is None:
        first, others = take(answers, FIRST_ROWS, FIRST_BYTES)
        if not first:
            return
        answers = chain([first], others)
        length = _elements(first)
        if length:
            columns = tuple(map(str, range(length)))
            answers = _as_objects(answers, columns)
        else:
            columns = tuple(new_columns(first)) or (VALUE,)
            yield header(columns)
    else:
        yield header(columns)
    written = 0
    for lines in answers:
        text, count, stranger = records(lines, columns)
        yield text
        written += count
        if stranger is not None:
            raise LateColumnError(written + 1, stranger, columns)


def _elements(lines: bytes) -> int:
    """Return how many elements the first answer has, 0 if it is no array."""
    if not lines.startswith(b"["):
        return 0
    first = parse(lines[: lines.index(b"\n")], DEEPEST)
    return len(first) if isinstance(first, list) else 0


def _as_objects(answers: Iterator[bytes], columns: Sequence[str]) -> Iterator[bytes]:
    """Yield arrays as objects, whose keys are the positions."""
    fields = ", ".join(f'"{at}": @[{at}]' for at in columns)
    text = f"match $ with {{array when $.len() == {len(columns)} -> {{{fields}}}}}"
    program = Program(text, compile_query(text, parser.parse(text)))
    query = RowQuery(
        program, output="answer", nulls=True, limit=None, max_depth=DEEPEST
    )
    written = 0
    for lines in answers:
        for batch in rows_of(lines):
            made = query.answer(batch, 0)
            yield made.lines
            written += made.lines.count(b"\n")
            if made.refused is not None:
                raise OtherLengthError(written + 1, len(columns))
