"""Running a query over the rows of files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from headrace.errors import BadRowError, HeadraceError
from headrace.kernel.programs import Counts, RowQuery, StreamQuery
from headrace.kernel.rows import count_rows, reading
from headrace.kernel.tally import FIRST_BAD
from headrace.physical.query_plan import RowPlan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.kernel.programs import Frame, Output, Refused
    from headrace.kernel.rows import RowBatch
    from headrace.physical.query_plan import QueryPlan, StreamPlan
    from headrace.store.row_file import RowFile

OnError: TypeAlias = Literal["abort", "skip", "collect"]


class RowFailedError(HeadraceError):
    """A query cannot be computed on a row, which itself is good."""

    def __init__(
        self, path: str, line: int | None, offset: int, reason: str, column: int
    ) -> None:
        super().__init__(path, line, offset, reason, column)
        self.path = path
        self.line = line
        self.offset = offset
        self.reason = reason
        self.column = column

    def __str__(self) -> str:
        line = "" if self.line is None else f"line {self.line}, "
        return (
            f"{self.path}: {line}byte {self.offset}: {self.reason} "
            f"(column {self.column} of the query)"
        )


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """How a query runs."""

    output: Output = "answer"
    nulls: bool = False
    on_error: OnError = "abort"
    limit: int | None = None
    max_depth: int = 256
    max_memory: int = 1 << 30
    reverse: bool = False
    frame: Frame | None = None


@dataclass(slots=True)
class QueryRun:
    """One run of a query over some files; what it counted can be asked at any time.

    `errors` has the first rows that were passed over, or with ``collect`` all of them.
    """

    plan: QueryPlan
    options: QueryOptions
    errors: list[HeadraceError] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)

    def answers(self, files: Sequence[RowFile]) -> Iterator[bytes]:
        """Yield the lines of output, many at a time, each with its newline."""
        plan = self.plan
        if isinstance(plan, RowPlan):
            return self._asked(
                self._row_query(plan), files, reverse=self.options.reverse
            )
        reverse = self.options.reverse != plan.reverse
        asked = self._asked(self._stream_query(plan), files, reverse=reverse)
        return asked if plan.reduction == "lines" else self._reduced(plan, files)

    def _row_query(self, plan: RowPlan) -> RowQuery:
        options = self.options
        return RowQuery(
            plan.program,
            output=options.output,
            nulls=options.nulls,
            limit=options.limit,
            max_depth=options.max_depth,
            frame=options.frame,
        )

    def _stream_query(self, plan: StreamPlan) -> StreamQuery:
        options = self.options
        limit = options.limit if plan.reduction == "lines" else plan.limit
        return StreamQuery(
            plan.stages,
            reduction=plan.reduction,
            limit=limit,
            nulls=options.nulls,
            max_memory=options.max_memory,
            max_depth=options.max_depth,
            frame=options.frame,
        )

    def _reduced(self, plan: StreamPlan, files: Sequence[RowFile]) -> Iterator[bytes]:
        query = self._stream_query(plan)
        reverse = self.options.reverse != plan.reverse
        for _lines in self._asked(query, files, reverse=reverse):
            raise AssertionError("what is reduced has no lines")
        result = query.finish()
        if plan.rest is not None:
            # An array of rows is one level deeper than they are.
            result = plan.rest.evaluate(result, self.options.max_depth + 1)
        yield from self._printed(plan, result)

    def _printed(self, plan: StreamPlan, result: bytes) -> Iterator[bytes]:
        """Yield a result as one line, or as one for each element."""
        options = self.options
        if plan.spread is None:
            if options.nulls or result != b"null":
                yield result + b"\n"
            return
        spread = plan.spread.lines(
            result, nulls=options.nulls, limit=options.limit, max_depth=1000
        )
        if spread:
            yield spread

    def _asked(
        self,
        query: RowQuery | StreamQuery,
        files: Sequence[RowFile],
        *,
        reverse: bool,
    ) -> Iterator[bytes]:
        """Ask row after row, and yield the lines they give."""
        for file in reversed(files) if reverse else files:
            if query.done:
                return
            for batch in file.backwards() if reverse else file.batches():
                yield from self._asked_of(query, file, batch, reverse=reverse)
                self.counts = query.counts
                if query.done:
                    return

    def _asked_of(
        self,
        query: RowQuery | StreamQuery,
        file: RowFile,
        batch: RowBatch,
        *,
        reverse: bool,
    ) -> Iterator[bytes]:
        start = 0
        while start < len(batch) and not query.done:
            answers = query.answer(batch, start, reverse=reverse)
            if answers.lines:
                yield answers.lines
            start = answers.asked
            if answers.refused is None:
                return
            error = _error(file, answers.refused, reverse=reverse)
            if self.options.on_error == "abort":
                self.counts = query.counts
                raise error
            if self.options.on_error == "collect" or len(self.errors) < FIRST_BAD:
                self.errors.append(error)


def _error(file: RowFile, refused: Refused, *, reverse: bool) -> HeadraceError:
    path = file.source.location
    line = (_row(file, refused) if reverse else refused.row) + 1
    if refused.column is None:
        return BadRowError(path, line, refused.offset, refused.reason)
    return RowFailedError(path, line, refused.offset, refused.reason, refused.column)


def _row(file: RowFile, refused: Refused) -> int:
    """Count which row begins at or before a byte: from the end, rows have no numbers."""
    data, size = file.positions()
    with reading(file.source.location):
        return count_rows(data, size, 0, refused.offset + 1) - 1
