"""Skipped lines: lines that a key index or a time range left out, counted like filtered rows.

Where a run ended early, counting the skipped lines before that row may read the file. So they
are counted when a caller reads the counts, not during the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from headrace.kernel.programs import Counts
from headrace.record import record

if TYPE_CHECKING:
    from headrace.engines.query.scan import Query
    from headrace.store.index.key_scan import KeyRows, Passed
    from headrace.store.log.read.timed_rows import TimedRows


class SkippedLines(Protocol):
    """Lines that are not among the rows that a query read."""

    @property
    def counts(self) -> Counts:
        """Their counts, to be added to the counts of the rows that were read."""


class SkippedByIndex:
    """The lines of one file that a key index left out of a scan.

    `as_emitted`: a scan of all rows would count them as emitted, although they change no result.
    """

    def __init__(
        self,
        rows: KeyRows,
        query: Query,
        *,
        reverse: bool,
        as_emitted: bool = False,
    ) -> None:
        self._rows: KeyRows | None = rows
        self._query = query
        self._before = query.counts.rows
        self._reverse = reverse
        self._as_emitted = as_emitted
        self._read: int | None = None
        self._lines: Passed | None = None

    @property
    def read(self) -> int:
        """The number of rows of the file that the query has read."""
        if self._read is not None:
            return self._read
        return self._query.counts.rows - self._before

    def end(self, *, whole: bool) -> None:
        """Note that no further row is read; `whole`: the query would have read any row left."""
        self._read = self.read
        if whole and self._rows is not None:
            # There may be many files: release this one.
            self._lines = self._rows.lines()
            self._rows.file.rest()
            self._rows = None

    @property
    def counts(self) -> Counts:
        """Their counts, to be added to the counts of the rows that were read."""
        read = self.read
        if self._lines is None:
            assert self._rows is not None  # until the lines are counted
            self._lines = self._rows.lines_with(read, reverse=self._reverse)
        lines, blank = self._lines
        skipped = lines - read
        records = skipped - blank
        if self._as_emitted:
            return Counts(rows=skipped, emitted=records, blank=blank)
        return Counts(rows=skipped, filtered=records, blank=blank)


@record
class SkippedByTime:
    """The lines of a log segment outside a time range, up to row `read` of the range [None: all]."""

    rows: TimedRows
    read: int | None
    reverse: bool

    @property
    def counts(self) -> Counts:
        """Their counts, to be added to the counts of the rows that were read."""
        skipped = self.rows.others(self.read, reverse=self.reverse)
        return Counts(rows=skipped, outside=skipped)
