"""Comma-separated values with a header, as RFC 4180 has them.

Null and what is missing is an empty field, an empty string is ``""``, but in a table of
one column null is ``""`` as well. Numbers keep their text; arrays and objects are JSON.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from headrace.api.formats.layout import (
    FIRST_BYTES,
    FIRST_ROWS,
    LateColumnError,
    take,
)
from headrace.kernel.table import VALUE, csv_header, csv_records, new_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.api.formats.layout import Layout


def write(answers: Iterator[bytes], layout: Layout) -> Iterator[bytes]:
    """Write the header and a record for each answer; none of them loses a field."""
    columns = layout.columns
    if columns is None:
        first, others = take(answers, FIRST_ROWS, FIRST_BYTES)
        if not first:
            return
        columns = tuple(new_columns(first)) or (VALUE,)
        answers = chain([first], others)
    yield csv_header(columns)
    written = 0
    for lines in answers:
        records, count, stranger = csv_records(lines, columns)
        yield records
        written += count
        if stranger is not None:
            raise LateColumnError(written + 1, stranger, columns)
