"""Indexed rows: rows of the main source that key indexes find, before any task runs.

They are found on the driver, by `headrace.store.index.key_scan`. If all files have an index
and it finds few rows, the driver reads them itself. Otherwise tasks read the bytes that hold
them, and all bytes of files without an index. Tasks put their rows through the whole query,
so rows beside them in these bytes are filtered as usual.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.engines.spark.source.partitions import absolute, ranges_holding
from headrace.physical.fragment import Fragment, fragments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.store.index.key_scan import KeyRows, Passed

FEW_ROWS = 4096
"""The driver reads this many rows by index in the time in which a Spark job starts."""


@dataclass(frozen=True, slots=True)
class IndexedRows:
    """The indexed rows of one file: how many, the fragments that hold them, all lines."""

    rows: int
    fragments: tuple[Fragment, ...]
    lines: Passed


def indexed_rows(keyed: KeyRows, partition_bytes: int) -> IndexedRows:
    """Return the rows that an index finds, and the bytes of the file that hold them."""
    holding: list[Fragment] = []
    if len(keyed):
        # A part without such rows is not even opened.
        source = absolute(keyed.source)
        for start, end in ranges_holding(keyed.opened, keyed.offsets):
            holding += fragments(source, partition_bytes, start, end)
    return IndexedRows(len(keyed), tuple(holding), keyed.lines())


def are_few(files: Sequence[IndexedRows | None]) -> bool:
    """Whether indexes find so few rows of all files that the driver reads them."""
    found = [file for file in files if file is not None]
    return len(found) == len(files) and sum(file.rows for file in found) <= FEW_ROWS
