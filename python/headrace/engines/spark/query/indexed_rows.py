"""The rows of the main source that key indexes lead to, found on the driver before any task runs.

They are found as in one process, by `headrace.store.index.key_scan`. If all files have an index and it
leads to few rows, the driver asks them itself. Otherwise tasks get the bytes that hold them, and
all bytes of files without an index that can be used. Tasks put rows through the whole query, so
what stands beside them there is left out as it would be elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.engines.spark.source.byte_ranges import ranges_holding
from headrace.engines.spark.source.partitions import absolute
from headrace.physical.fragment import Fragment, fragments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.store.index.key_scan import KeyRows, Passed

FEW_ROWS = 4096
"""To find and ask so many rows takes the driver no longer than a job of Spark takes to start."""


@dataclass(frozen=True, slots=True)
class FoundRows:
    """Those of one file: how many there are, what holds them, and what lines the file has."""

    rows: int
    fragments: tuple[Fragment, ...]
    lines: Passed


def found_in(keyed: KeyRows, partition_bytes: int) -> FoundRows:
    """Return the rows that an index leads to, and the bytes of the file that hold them."""
    holding: list[Fragment] = []
    if len(keyed):
        # A part without such rows need not even be opened.
        source = absolute(keyed.source)
        for start, end, _blocks in ranges_holding(keyed.opened, keyed.offsets):
            holding += fragments(source, partition_bytes, start, end)
    return FoundRows(len(keyed), tuple(holding), keyed.lines())


def are_few(files: Sequence[FoundRows | None]) -> bool:
    """Whether indexes lead to so few rows of some files that no task need be run for them."""
    found = [file for file in files if file is not None]
    return len(found) == len(files) and sum(file.rows for file in found) <= FEW_ROWS
