"""Sort of a stream by keys, in limited memory: the lines of the answer, without its array.

The core makes lines with binary keys, as for a shuffle, and sorts them; what exceeds the memory of
the query is in temporary files. If a key or a stage behind the sort fails, the error is that of
the sort in memory, which is run for it.
"""

from __future__ import annotations

from functools import partial
from tempfile import gettempdir
from typing import TYPE_CHECKING, NamedTuple

from headrace.engines.query.run import lines_of_value, values_of
from headrace.engines.query.scan import Sharing, scan_of
from headrace.errors import MemoryExceededError, QueryFailedError
from headrace.kernel.programs import Answers, Counts
from headrace.kernel.rows import END
from headrace.kernel.sort_keys import SortedLines
from headrace.physical.access import why_indivisible
from headrace.physical.query_plan import PlainStage
from headrace.record import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.engines.query.run import LineForm, QueryRun
    from headrace.kernel.programs import Cancel, Refused
    from headrace.kernel.rows import RowBatch
    from headrace.kernel.sort_keys import KeyedRows
    from headrace.physical.query_plan import OrderPlan, StreamPlan


def sorts_lines(run: QueryRun, plan: StreamPlan, order: OrderPlan) -> bool:
    """Whether the answer of a plan can be sorted as lines."""
    return (
        plan.spread
        and plan.prune is None
        and plan.limit is None
        and why_indivisible([plan]) is None
        and all(isinstance(stage, PlainStage) for stage in order.then)
        and not plan.reverse
        and not run.plan.places
        and run.options.lanes
    )


def sorted_lines(
    run: QueryRun, plan: StreamPlan, order: OrderPlan, form: LineForm
) -> Iterator[bytes]:
    """Yield the lines of the answer of a plan that sorts."""
    from headrace.engines.query.threads import HELD_AHEAD

    run.request_lanes(plan.source, [plan.lanes])
    rows = partial(
        run.keyed_rows,
        plan,
        order.key,
        replace(plan, stages=order.then),
        descending=order.falling,
        joins=False,
        compact=True,
    )
    memory = max(run.options.max_memory - run.held, 0)
    aborts = run.options.on_error == "abort"
    ahead = run.options.threads * HELD_AHEAD
    sharing = None
    if run.options.threads > 1 and memory >= 2 * ahead:
        memory -= ahead
        sharing = Sharing(
            lambda cancel: [SortQuery(rows, END, aborts=aborts, cancel=cancel)],
            lines=False,
            limit=None,
        )
    query = SortQuery(rows, memory, run.options.threads, aborts=aborts)
    for _ in run.streams.scan([query], scan_of(plan, None), sharing):
        pass
    if query.failed is not None:
        yield from _failing(run, plan, form, query.failed)
        return
    with run.report.finishing():
        query.lines.sort()
    chunks = query.lines.chunks(nulls=form.nulls, limit=form.limit)
    while True:
        with run.report.finishing():
            lines = next(chunks, None)
        if lines is None:
            return
        yield lines


def _failing(
    run: QueryRun, plan: StreamPlan, form: LineForm, failed: Refused
) -> Iterator[bytes]:
    """Raise the error of a plan in which a row fails behind the stages."""
    files = run.files[plan.source]
    assert plan.rest is not None
    place = f"byte {failed.offset}"
    if len(files) == 1:
        place = f"{files[0].source.location}: {place}"
    error = QueryFailedError(
        plan.rest.query, (failed.column or 1) - 1, f"{failed.reason} ({place})"
    )
    if any(file.source.is_pipe for file in files):
        raise error
    try:
        (value,) = values_of(run, [plan], again=True)
    except MemoryExceededError:
        raise error from None
    yield from lines_of_value(value, plan, form)


class SortPart(NamedTuple):
    """What the rows of a share gave: their lines, and the first row that failed behind the stages."""

    lines: SortedLines
    failed: Refused | None


class SortQuery:
    """The keyed rows of a sort, as a query of a scan; threads read shares with others like it."""

    elements = 0
    wanted = END

    def __init__(
        self,
        make: Callable[[], KeyedRows],
        memory: int,
        threads: int = 1,
        *,
        aborts: bool,
        cancel: Cancel | None = None,
    ) -> None:
        self._make = make
        self._rows = make()
        self.lines = SortedLines(gettempdir(), memory, threads)
        self.failed: Refused | None = None
        """The first row that failed behind the stages."""
        self._aborts = aborts
        self._cancel = cancel
        self._refused: list[Refused] = []
        self._at_refusal: Counts | None = None
        self._absorbed = Counts()
        self._arrived: list[Sequence[int]] = []

    @property
    def done(self) -> bool:
        """Whether no further row is needed."""
        return self._cancel is not None and self._cancel.cancelled

    @property
    def held(self) -> int:
        """How many bytes are in memory."""
        return self.lines.held

    @property
    def arrived(self) -> list[int]:
        """How many elements came to each stage, and last how many came out of all of them."""
        here = self._rows.arrived
        return [sum(each) for each in zip(here, *self._arrived, strict=True)]

    @property
    def counts(self) -> Counts:
        """What was counted so far; up to the row that ends the run, if one does."""
        here = self._rows.counts if self._at_refusal is None else self._at_refusal
        return self._absorbed + here

    def answer(self, batch: RowBatch, start: int, *, reverse: bool = False) -> Answers:
        """Take in the rows of a batch; stop at each that is refused, in their order."""
        if reverse:
            raise AssertionError("rows with keys are read forwards")
        if start == 0:
            before = self._rows.counts
            self._refused, late = self.lines.add(self._rows, batch)
            if late and self.failed is None:
                self.failed = late[0]
            if self._refused and self._aborts:
                read = self._refused[0].row - batch.first_row + 1
                again = self._make()
                again.of(batch.slice(0, read))
                self._at_refusal = before + again.counts
        if not self._refused:
            return Answers(b"", len(batch), None)
        refused = self._refused.pop(0)
        return Answers(b"", refused.row - batch.first_row + 1, refused)

    def part(self) -> SortPart:
        """Return what the rows gave, for a query like this one to `merge`."""
        return SortPart(self.lines, self.failed)

    def merge(self, part: SortPart) -> None:
        """Take in what the rows behind those so far gave elsewhere."""
        self.lines.append(part.lines)
        if self.failed is None:
            self.failed = part.failed

    def absorb(self, counts: Counts, _lines: int) -> None:
        """Count the rows of a query like this one."""
        self._absorbed += counts

    def absorb_arrived(self, others: Sequence[int]) -> None:
        """Count the elements that came to the stages of a query like this one."""
        self._arrived.append(others)
