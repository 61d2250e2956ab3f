"""The rows that a failure behind all rows is about.

The core finds such a failure at the end of a run, when the rows are gone. They are read again to
name the row: the first value of each kind for ``min`` and ``max``, which compare one kind; and for
the steps behind a sort, the first row that they fail on. Of other failures no row is known.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.engines.query.report import RunReport
from headrace.engines.query.scan import Scanner, scan_of
from headrace.errors import QueryFailedError, RowFailedError
from headrace.kernel.programs import Stage
from headrace.language.parser import parse
from headrace.logical.encode.compiler import compile_query

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.engines.query.options import BadRow
    from headrace.engines.query.run import QueryRun
    from headrace.physical.query_plan import StreamPlan

_KINDS = ("number", "string", "bool", "array", "object")
_MARK = "a value of this kind"

_NOT_SKIPPED = (
    "on_error='skip' (--on-error skip) skips no row here, behind the step that needs all rows; "
    "try … else … answers it"
)


class _Found(Exception):  # noqa: N818
    """Signal that the first row with an error was read."""

    def __init__(self, error: RowFailedError) -> None:
        super().__init__()
        self.error = error


def of_reduction(
    run: QueryRun, plan: StreamPlan, failed: QueryFailedError
) -> QueryFailedError:
    """Return the error of a reduction with its place in the query, and the rows it is about."""
    reason = failed.reason
    if plan.reduction in ("min", "max"):
        # The reason names the kinds, so each scan ends at a row.
        kinds = [kind for kind in _KINDS if kind in reason]
        rows = [(kind, _first_of_kind(run, plan, kind)) for kind in kinds]
        places = [
            f"{_place(row)} has a {kind}" for kind, row in rows if row is not None
        ]
        if len(places) > 1:
            reason = f"{reason}; {'; '.join(places)}"
    return QueryFailedError(plan.query, plan.offset, reason)


def of_rest(
    run: QueryRun, plan: StreamPlan, failed: QueryFailedError
) -> QueryFailedError:
    """Return the error of what runs on a reduction with the row it is about, if one is known."""
    reason = failed.reason
    if plan.order is not None:
        sorted_by = replace(plan, stages=(*plan.stages, *plan.order.then))
        row = _first(run, sorted_by, None, lambda error: error.reason == failed.reason)
        if row is not None:
            reason = f"{reason}; {_place(row)} is the first such row"
    cure = "" if run.options.on_error == "abort" else _NOT_SKIPPED
    return QueryFailedError(failed.query, failed.offset, reason, cure)


def _first_of_kind(run: QueryRun, plan: StreamPlan, kind: str) -> RowFailedError | None:
    """Return an error about the first row whose elements have a value of a kind."""
    # A value of the kind fails its row; a failure of the query itself has another reason.
    test = f'("{_MARK}" as float) if $ is {kind} else null'
    last = Stage.plain("each", compile_query(test, parse(test)), 0)
    return _first(run, plan, last, lambda error: _MARK in error.reason)


def _first(
    run: QueryRun,
    plan: StreamPlan,
    last: Stage | None,
    is_wanted: Callable[[RowFailedError], bool],
) -> RowFailedError | None:
    """Return the first error of the stages of a plan that is wanted; None of a pipe."""
    if any(file.source.is_pipe for file in run.files[plan.source]):
        return None

    def stop(row: BadRow) -> None:
        if isinstance(row.error, RowFailedError) and is_wanted(row.error):
            raise _Found(row.error)

    report = RunReport("skip", on_bad_row=stop)
    options = replace(run.options, on_error="collect")
    scanner = Scanner(run.scanner.files, options, report, run.scanner.reads_places)
    query = run.stream_query(plan, "count", last=last)
    try:
        for _ in scanner.read([query], replace(scan_of(plan, None), keys=None)):
            pass
    except _Found as found:
        return found.error
    return None


def _place(row: RowFailedError) -> str:
    line = "" if row.line is None else f"line {row.line}, "
    return f"{row.path}: {line}byte {row.offset}"
