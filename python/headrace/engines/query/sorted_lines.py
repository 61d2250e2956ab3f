"""Sort of a stream by keys, in limited memory: the lines of the answer, without its array.

The core makes lines with binary keys, as for a shuffle, and sorts them; what exceeds the memory of
the query is in temporary files. If a key or a stage behind the sort fails, the error is that of
the sort in memory, which is run for it.
"""

from __future__ import annotations

from functools import partial
from tempfile import gettempdir
from typing import TYPE_CHECKING

from headrace.engines.query.run import lines_of_value, values_of
from headrace.engines.query.scan import scan_of
from headrace.errors import MemoryExceededError, QueryFailedError
from headrace.kernel.programs import Answers, Counts
from headrace.kernel.sort_keys import SortedLines
from headrace.physical.access import is_divisible
from headrace.physical.query_plan import PlainStage
from headrace.record import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.engines.query.run import LineForm, QueryRun
    from headrace.kernel.programs import Refused
    from headrace.kernel.rows import RowBatch
    from headrace.kernel.sort_keys import KeyedRows
    from headrace.physical.query_plan import OrderPlan, StreamPlan


def sorts_lines(run: QueryRun, plan: StreamPlan, order: OrderPlan) -> bool:
    """Whether the answer of a plan can be sorted as lines."""
    return (
        plan.spread
        and plan.prune is None
        and plan.limit is None
        and is_divisible(plan)
        and all(isinstance(stage, PlainStage) for stage in order.then)
        and not plan.reverse
        and not run.plan.places
        and run.options.lanes
    )


def sorted_lines(
    run: QueryRun, plan: StreamPlan, order: OrderPlan, form: LineForm
) -> Iterator[bytes]:
    """Yield the lines of the answer of a plan that sorts."""
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
    query = SortQuery(rows, run)
    for _ in run.streams.scan([query], scan_of(plan, None), None):
        pass
    if query.failed is not None:
        yield from _failing(run, plan, form, query.failed)
        return
    query.lines.sort()
    yield from query.lines.chunks(nulls=form.nulls, limit=form.limit)


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


class SortQuery:
    """The keyed rows of a sort, as a query of a scan."""

    done = False

    def __init__(self, make: Callable[[], KeyedRows], run: QueryRun) -> None:
        self._make = make
        self._rows = make()
        memory = max(run.options.max_memory - run.held, 0)
        self.lines = SortedLines(gettempdir(), memory, run.options.threads)
        self.failed: Refused | None = None
        """The first row that failed behind the stages."""
        self._aborts = run.options.on_error == "abort"
        self._refused: list[Refused] = []
        self._at_refusal: Counts | None = None

    @property
    def counts(self) -> Counts:
        """What was counted so far; up to the row that ends the run, if one does."""
        return self._rows.counts if self._at_refusal is None else self._at_refusal

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
