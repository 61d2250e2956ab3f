"""Join run: right rows in memory or reached by an index, left rows in order.

If an index turns out to be damaged, or not to belong to its source, the right rows are read into
memory, and the join continues with the current left row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.engines.query.options import BadRow, OnError
from headrace.errors import (
    BadRowError,
    HeadraceError,
    JoinTooLargeError,
    KeyIndexError,
    StrictRowError,
    UsageError,
)
from headrace.kernel.index_meta import Lines
from headrace.kernel.join import Form, JoinCounts, RightIndex, RowJoin
from headrace.kernel.key_index import KeyScan, Skipped, skipped_by
from headrace.kernel.rows import RowBatch, SidecarError, reading
from headrace.kernel.tally import FIRST_BAD
from headrace.store.files.opened import rows_from

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.engines.local.key_lookup import LedBy
    from headrace.engines.query.scan import Rows
    from headrace.kernel.programs import Refused

MAX_BYTES = 1 << 20
"""About the size of a piece of output."""

BATCH_ROWS = 4096


@dataclass(frozen=True, slots=True)
class JoinTerms:
    """The options of a join."""

    left: tuple[str, ...]
    right: tuple[str, ...]
    form: Form = Form()  # noqa: RUF009, frozen
    typed: bool = True
    memory: int = 1 << 30
    max_line: int = 64 << 20
    max_depth: int = 256
    on_error: OnError = "abort"
    strict: bool = False


@dataclass(slots=True)
class JoinRun:
    """One run of a join; its counts can be read at any time.

    `bad` left rows were skipped; `errors` are the first of them, and `tell` is called with each.
    `lines` counts the scanned right rows, and `skipped` has the first bad ones. `give_up` is called
    with the error of an index that cannot be used any more.
    """

    terms: JoinTerms
    right: Sequence[Rows]
    led_by: LedBy | None = None
    tell: Callable[[BadRow], object] | None = None
    give_up: Callable[[KeyIndexError], object] = lambda _trouble: None
    bad: int = 0
    errors: list[HeadraceError] = field(default_factory=list)
    lines: Lines = field(default_factory=Lines)
    skipped: list[tuple[str, Skipped]] = field(default_factory=list)
    _join: RowJoin | None = None
    _before: JoinCounts = field(default_factory=JoinCounts)
    _left: Sequence[Rows] = ()

    @property
    def counts(self) -> JoinCounts:
        """The counts of left rows so far."""
        if self._join is None:
            return self._before
        return self._before.plus(JoinCounts(*self._join.counts))

    @property
    def reads(self) -> int:
        """The number of reads of the right side through the index."""
        return 0 if self._join is None else self._join.reads

    @property
    def held(self) -> int:
        """The bytes of right rows in memory."""
        return 0 if self._join is None else self._join.held[0]

    def bytes_done(self) -> int:
        """Return the bytes of both sides that were read so far."""
        return sum(file.bytes_read() for file in (*self.right, *self._left))

    def answers(self, left: Sequence[Rows]) -> Iterator[bytes]:
        """Yield pieces of output, of whole lines."""
        self._left = left
        self._begin()
        for file in left:
            for batch in file.batches():
                yield from filter(None, self._joined(file, batch))

    def _joined(self, file: Rows, batch: RowBatch) -> Iterator[bytes]:
        start = 0
        while True:
            try:
                yield from self._taken(file, batch, start)
            except SidecarError as error:
                start = self._go_on_without_index(error)
            else:
                return

    def _taken(self, file: Rows, batch: RowBatch, start: int) -> Iterator[bytes]:
        """Join the rows of a batch from a position on."""
        join, led_by = self._running, self.led_by
        join.begin(batch, start)
        right = file.source.location if led_by is None else led_by.opened.path
        while True:
            with reading(right):
                taken = join.take(MAX_BYTES)
            if led_by is not None:
                led_by.opened.check()
            if taken is None:
                return
            self._refuse_clash(right, file)
            lines, refused = taken
            yield lines
            if refused is not None:
                self._refuse(file, batch, refused)

    # The right side

    @property
    def _running(self) -> RowJoin:
        if self._join is None:
            raise AssertionError("a join that has not begun")
        return self._join

    def _begin(self) -> None:
        terms, led_by = self.terms, self.led_by
        index: RightIndex | None = None
        depth = terms.max_depth
        if led_by is not None:
            opened, meta = led_by.opened, led_by.stored.whole
            size = min(opened.size, meta.logical_size)
            index = RightIndex(led_by.stored.index, opened.data, size, led_by.below)
            depth = meta.max_depth
        self._join = RowJoin(
            terms.left,
            terms.right,
            form=terms.form,
            typed=terms.typed,
            max_depth=terms.max_depth,
            right_depth=depth,
            max_memory=terms.memory,
            index=index,
        )
        if led_by is None:
            for file in self.right:
                self._hold(file.source.location, file.batches())
        elif led_by.grown:
            opened = led_by.opened
            rows = rows_from(opened, terms.max_line, start=led_by.below, at_row=True)
            more = iter(lambda: rows.next_batch(BATCH_ROWS, MAX_BYTES), None)
            self._hold(opened.path, more)

    def _hold(self, path: str, batches: Iterator[RowBatch]) -> None:
        """Hold right rows in memory."""
        terms = self.terms
        scan = KeyScan(terms.right, max_depth=terms.max_depth)
        for batch in batches:
            if not self._running.hold(batch, scan):
                raise JoinTooLargeError(path, ",".join(terms.right), terms.memory)
            self._refuse_clash(path, None)
        self.lines = self.lines.plus(Lines(*scan.lines))
        bad = [row for row in skipped_by(scan) if row.cause in ("bad", "too_long")]
        if bad and terms.on_error == "abort":
            raise self._error(path, bad[0].line, bad[0].offset, bad[0].reason)
        self.skipped = [*self.skipped, *((path, row) for row in bad)][:FIRST_BAD]

    def _refuse_clash(self, right: str, left: Rows | None) -> None:
        """Raise if a row has a field with a name that the join adds: its value would be lost."""
        side, form = self._running.clash, self.terms.form
        if side is None:
            return
        path = right if side == "right" or left is None else left.source.location
        names = " or ".join(
            repr(name) for name in (form.target, form.indicator) if name is not None
        )
        raise UsageError(
            f"{path}: a {side} row already has a field {names}; name another field for "
            "target (--target) and indicator (--indicator)"
        )

    def _go_on_without_index(self, error: SidecarError) -> int:
        """Hold all right rows, and return the position of the left row to continue with."""
        led_by = self.led_by
        if led_by is None:
            raise error
        # If the source was changed, that is the error, not its index.
        led_by.opened.check()
        trouble = KeyIndexError(
            led_by.opened.path,
            str(led_by.stored.path),
            "corrupt",
            error.damage,
        )
        position, begun = self._running.position
        if begun:
            raise trouble
        self.give_up(trouble)
        self._before, self.led_by, self.lines = self.counts, None, Lines()
        self._begin()
        return position

    # Bad rows

    def _error(
        self, path: str, line: int | None, offset: int, reason: str
    ) -> BadRowError:
        kind = StrictRowError if self.terms.strict else BadRowError
        return kind(path, line, offset, reason)

    def _refuse(self, file: Rows, batch: RowBatch, refused: Refused) -> None:
        """Raise the error of a left row, or skip the row, and keep or report the error."""
        on_error = self.terms.on_error
        line, offset = file.place(refused.row, refused.offset, reverse=False)
        error = self._error(file.source.location, line, offset, refused.reason)
        if on_error == "abort":
            raise error
        self.bad += 1
        if len(self.errors) < FIRST_BAD or (on_error == "collect" and not self.tell):
            self.errors.append(error)
        if self.tell is not None:
            (raw,) = batch.slice(refused.row - batch.first_row, 1).contents()
            self.tell(BadRow(error, raw))
