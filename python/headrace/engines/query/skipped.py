"""Lines that nobody asked: a key index did not lead to them, or their times are not meant.

Up to which line a run has come that ended early takes counting, so that is done when
somebody wants to know.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from headrace.kernel.programs import Counts

if TYPE_CHECKING:
    from headrace.kernel.programs import RowQuery, StreamQuery
    from headrace.store.index.key_scan import KeyRows, Passed
    from headrace.store.log.read.timed_rows import TimedRows


class Uncounted(Protocol):
    """Lines that are not among the rows that were asked."""

    @property
    def counts(self) -> Counts:
        """What is to be added to the counts of the rows that were asked."""


class PassedOver:
    """The lines of one file that were passed beside the rows that a query asked there.

    `taken_in`: whoever asks all rows takes them in as well, to no effect.
    """

    def __init__(
        self,
        rows: KeyRows,
        query: RowQuery | StreamQuery,
        *,
        reverse: bool,
        taken_in: bool = False,
    ) -> None:
        self._rows: KeyRows | None = rows
        self._query = query
        self._before = query.counts.rows
        self._reverse = reverse
        self._taken_in = taken_in
        self._asked: int | None = None
        self._passed: Passed | None = None

    @property
    def asked(self) -> int:
        """How many rows of the file have been asked."""
        if self._asked is not None:
            return self._asked
        return self._query.counts.rows - self._before

    def end(self, *, whole: bool) -> None:
        """Ask no more rows of the file; `whole` if all that it has would have been asked."""
        self._asked = self.asked
        if whole and self._rows is not None:
            # There may be many others: the file is let go.
            self._passed = self._rows.lines()
            self._rows.file.rest()
            self._rows = None

    @property
    def counts(self) -> Counts:
        """What is to be added to the counts of the rows that were asked."""
        asked = self.asked
        if self._passed is None:
            assert self._rows is not None  # until it is known what was passed
            self._passed = self._rows.lines_with(asked, reverse=self._reverse)
        lines, blank = self._passed
        others = lines - asked
        rows = others - blank
        if self._taken_in:
            return Counts(rows=others, emitted=rows, blank=blank)
        return Counts(rows=others, filtered=rows, blank=blank)


@dataclass(frozen=True, slots=True)
class OutsideTimes:
    """The lines of a segment that were passed over when `asked` rows were asked, None for all."""

    rows: TimedRows
    asked: int | None
    reverse: bool

    @property
    def counts(self) -> Counts:
        """What is to be added to the counts of the rows that were asked."""
        others = self.rows.others(self.asked, reverse=self.reverse)
        return Counts(rows=others, outside=others)
