"""How many lines of a file are before its fragments, counted when somebody asks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.engines.fragment_rows import count_rows_of, rows_of
from headrace.kernel.tally import Tally
from headrace.kernel.values import MAX_DEPTH
from headrace.store.key_rows import Passed
from headrace.store.row_file import BATCH_BYTES, BATCH_ROWS

if TYPE_CHECKING:
    from headrace.physical.fragment import Fragment
    from headrace.store.row_file import RowOptions


class LinesBefore:
    """The lines of one file before its fragments, and if asked for how many are blank.

    They are asked for in the order of the file, mostly, and counted from the last one on.
    """

    def __init__(self, reading: RowOptions, *, count_blank: bool) -> None:
        self._reading = reading
        self._counts_blank = count_blank
        self._start, self._passed = 0, Passed(0, 0)

    def of(self, fragment: Fragment) -> Passed:
        """Count the lines that begin before a fragment."""
        if fragment.start < self._start:
            self._start, self._passed = 0, Passed(0, 0)
        between = replace(fragment, start=self._start, end=fragment.start)
        if between.start < between.end:
            lines, blank = self._passed
            lines += count_rows_of(between, self._reading.decoding)
            blank += self._blank_in(between) if self._counts_blank else 0
            self._start, self._passed = fragment.start, Passed(lines, blank)
        return self._passed

    def _blank_in(self, fragment: Fragment) -> int:
        reading = self._reading
        tally = Tally(fragment.source.location, MAX_DEPTH)
        rows = rows_of(fragment, reading.max_line, reading.decoding)
        while (batch := rows.next_batch(BATCH_ROWS, BATCH_BYTES)) is not None:
            tally.add(batch)
        return tally.stats.blank
