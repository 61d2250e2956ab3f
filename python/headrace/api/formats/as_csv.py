"""Comma-separated values with a header, as RFC 4180 has them.

Null and a missing field are empty, an empty string is ``""``; in a table of one column null
is ``""`` as well. Numbers keep their text; arrays and objects are JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.api.formats.delimited import delimited
from headrace.kernel.cells import csv_header, csv_records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.api.formats import Layout


def write(answers: Iterator[bytes], layout: Layout) -> Iterator[bytes]:
    """Write the header and a record for each answer; none of them loses a field."""
    return delimited(answers, layout, csv_header, csv_records)
