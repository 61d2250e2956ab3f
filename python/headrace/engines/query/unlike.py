"""Values of several kinds in ``min`` or ``max``: the rows with the first value of each kind.

The core finds only at the end of a run that the kinds do not go together, and no single row is to
blame. The rows are read again to name one of each kind.
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
    from collections.abc import Sequence

    from headrace.engines.query.options import BadRow
    from headrace.engines.query.run import QueryRun
    from headrace.physical.query_plan import StreamPlan

_KINDS = ("number", "string", "bool", "array", "object")
_MARK = "a value of this kind"


class _Found(Exception):  # noqa: N818
    """Signal that the first row with a value of a kind was read."""

    def __init__(self, error: RowFailedError) -> None:
        super().__init__()
        self.error = error


def with_places(
    run: QueryRun, plans: Sequence[StreamPlan], failed: QueryFailedError
) -> QueryFailedError:
    """Return the error of plans with the rows of the first value of each kind.

    Of values of one kind, the query has failed for another reason.
    """
    for plan in plans:
        if plan.reduction in ("min", "max"):
            # The reason names the kinds, so each scan ends at a row.
            kinds = [kind for kind in _KINDS if kind in failed.reason]
            places = _places(run, plan, kinds)
            if len(places) > 1:
                reason = f"{failed.reason}; {'; '.join(places)}"
                return QueryFailedError(failed.query, failed.offset, reason)
    return failed


def _places(run: QueryRun, plan: StreamPlan, kinds: Sequence[str]) -> list[str]:
    """Return the row of the first value of each kind, in words; none of a pipe."""
    found: list[str] = []
    if any(file.source.is_pipe for file in run.files[plan.source]):
        return found
    for kind in kinds:
        error = _first(run, plan, kind)
        if error is not None:
            line = "" if error.line is None else f"line {error.line}, "
            found.append(f"{error.path}: {line}byte {error.offset} has a {kind}")
    return found


def _first(run: QueryRun, plan: StreamPlan, kind: str) -> RowFailedError | None:
    """Return the error of the first row whose elements have a value of a kind."""

    def stop(row: BadRow) -> None:
        if isinstance(row.error, RowFailedError) and _MARK in row.error.reason:
            raise _Found(row.error)

    # A value of the kind fails its row; a failure of the query itself has another reason.
    test = f'("{_MARK}" as float) if $ is {kind} else null'
    report = RunReport("skip", on_bad_row=stop)
    options = replace(run.options, on_error="collect")
    scanner = Scanner(run.scanner.files, options, report, run.scanner.reads_places)
    query = run.stream_query(
        plan, "count", last=Stage.plain("each", compile_query(test, parse(test)), 0)
    )
    try:
        for _ in scanner.read([query], replace(scan_of(plan, None), keys=None)):
            pass
    except _Found as found:
        return found.error
    return None
