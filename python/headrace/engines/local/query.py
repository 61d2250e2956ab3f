"""Running a query over the rows of files."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from headrace.errors import BadRowError, HeadraceError
from headrace.kernel.programs import (
    Counts,
    RowQuery,
    Sources,
    Stage,
    StreamQuery,
)
from headrace.kernel.rows import rows_of
from headrace.kernel.tally import FIRST_BAD
from headrace.physical.access import choose
from headrace.physical.query_plan import (
    JoinPlan,
    PlainStage,
    RowPlan,
    ZipPlan,
    whole_row,
)
from headrace.physical.sides import estimated_rows, left_keys_first
from headrace.store.row_provider import Lanes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from headrace.kernel.programs import Frame, JoinTable, Output, Refused
    from headrace.kernel.rows import RowBatch
    from headrace.physical.query_plan import QueryPlan, StreamPlan
    from headrace.store.row_file import RowFile
    from headrace.store.row_provider import ProviderRows

    Rows: TypeAlias = RowFile | ProviderRows

OnError: TypeAlias = Literal["abort", "skip", "collect"]

_WATERMARK = 0.8
"""The part of the memory from which on it is said that little is left."""


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


class MemoryWarning(UserWarning):
    """A query holds most of what it may hold."""


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """How a query runs. `size_hints` are rows of named sources, for who knows them."""

    output: Output = "answer"
    nulls: bool = False
    on_error: OnError = "abort"
    limit: int | None = None
    max_depth: int = 256
    max_memory: int = 1 << 30
    reverse: bool = False
    frame: Frame | None = None
    size_hints: Mapping[str, int] = field(default_factory=dict)


def warn_of_memory(message: str) -> None:
    """Say that a query holds most of what it may, as a Python warning."""
    warnings.warn(message, MemoryWarning, stacklevel=2)


@dataclass(slots=True)
class QueryRun:
    """One run of a query over some files; what it counted can be asked at any time.

    `errors` has the first rows that were passed over, or with ``collect`` all of them.
    `readings` has what was counted in named sources, each time one was read.
    """

    plan: QueryPlan
    options: QueryOptions
    warn: Callable[[str], None] = warn_of_memory
    errors: list[HeadraceError] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    readings: list[tuple[str, Counts]] = field(default_factory=list)
    _files: dict[str | None, Sequence[Rows]] = field(default_factory=dict)
    _values: Sources | None = None
    _values_held: int = 0
    _tables: dict[JoinPlan, JoinTable] = field(default_factory=dict)
    _partners: list[_Partners] = field(default_factory=list)
    _warned: bool = False

    def answers(
        self,
        files: Sequence[Rows],
        named: Mapping[str, Sequence[Rows]] | None = None,
    ) -> Iterator[bytes]:
        """Yield the lines of output, many at a time, each with its newline."""
        self._files = {None: files}
        self._files.update(named or {})
        self._ask_questions()
        main, options = self.plan.main, self.options
        if not isinstance(main, RowPlan):
            main = replace(main, reverse=options.reverse != main.reverse)
            yield from self._lines(main, nulls=options.nulls, limit=options.limit)
            return
        matches = options.output == "match"
        lanes = Lanes(main.fields, None if matches else main.fields, selective=matches)
        self._request_lanes(None, lanes)
        query = RowQuery(
            main.program,
            output=options.output,
            nulls=options.nulls,
            limit=options.limit,
            max_depth=options.max_depth,
            frame=options.frame,
            sources=self._values,
        )
        yield from self._asked(query, None, reverse=options.reverse)

    def _ask_questions(self) -> None:
        """Find what the programs have by number."""
        answers: list[str] = []
        for question in self.plan.questions:
            answer = self._result(question)
            self._values_held += len(answer)
            answers.append(answer.decode())
            # An array of rows is one level deeper than they are.
            self._values = Sources(answers, self.options.max_depth + 1)

    # Streams

    def _lines(
        self, plan: StreamPlan, *, nulls: bool, limit: int | None
    ) -> Iterator[bytes]:
        """Yield what a plan gives, an element on a line."""
        if plan.reduction == "lines":
            query = self._query(plan, "lines", nulls=nulls, limit=limit)
            yield from self._asked(query, plan.source, reverse=plan.reverse)
            yield query.end()
            return
        result = self._result(plan)
        if plan.spread:
            yield self._elements(result, nulls=nulls, limit=limit)
        elif nulls or result != b"null":
            yield result + b"\n"

    def _result(self, plan: StreamPlan) -> bytes:
        """Return what a plan gives, as one value."""
        reduction: str = "collect" if plan.reduction == "lines" else plan.reduction
        if self._tail_is_enough(plan):
            plan, reduction = replace(plan, reverse=True), "last_from_end"
        query = self._query(plan, reduction, limit=plan.limit)
        self._drive(query, plan)
        result = query.finish()
        if plan.rest is None:
            return result
        # An array of rows is one level deeper than they are.
        return plan.rest.evaluate(result, self.options.max_depth + 1, self._values)

    def _tail_is_enough(self, plan: StreamPlan) -> bool:
        """Whether the last rows of the last files are all that is needed."""
        return all(
            choose(plan, rows.capabilities) == "tail"
            for rows in self._files[plan.source]
        )

    def _elements(self, value: bytes, *, nulls: bool, limit: int | None) -> bytes:
        """Return the elements of a value, each on a line."""
        query = RowQuery(
            whole_row(), output="elements", nulls=nulls, limit=limit, max_depth=1000
        )
        return b"".join(query.answer(batch, 0).lines for batch in rows_of(value))

    def _request_lanes(self, name: str | None, lanes: Lanes) -> None:
        for rows in self._files[name]:
            rows.request_lanes(lanes)

    def _query(
        self,
        plan: StreamPlan,
        reduction: str,
        *,
        limit: int | None = None,
        nulls: bool = True,
        last: Stage | None = None,
    ) -> StreamQuery:
        self._request_lanes(plan.source, plan.lanes)
        stages = [self._stage(plan, at) for at in range(len(plan.stages))]
        own = {self._tables[stage] for stage in plan.stages if stage in self._tables}
        others = set(self._tables.values()) - own
        return StreamQuery(
            stages if last is None else [*stages, last],
            reduction=reduction,
            limit=limit,
            nulls=nulls,
            max_memory=self.options.max_memory,
            held_before=self._values_held + sum(table.held for table in others),
            max_depth=self.options.max_depth,
            frame=self.options.frame if plan.source is None else None,
            sources=self._values,
        )

    def _stage(self, plan: StreamPlan, at: int) -> Stage:
        match plan.stages[at]:
            case PlainStage(kind, code, count):
                return Stage.plain(kind, code, count)
            case ZipPlan(right, longest):
                partners = _Partners(self._lines(right, nulls=True, limit=None))
                self._partners.append(partners)
                return Stage.zip(partners, longest)
            case JoinPlan() as join:
                if join not in self._tables:
                    self._tables[join] = self._table(plan, at, join)
                return Stage.join(join.kind, join.key, self._tables[join], join.name)

    def _table(self, plan: StreamPlan, at: int, join: JoinPlan) -> JoinTable:
        """Read the right side of a join."""
        wanted = None
        if self._reads_left_keys_first(plan, at, join):
            left = replace(plan, stages=plan.stages[:at], reduction="lines")
            # What is wrong with its rows is said when they are read again.
            keys = Stage.table(None, join.key, None)
            wanted = self._filled(left, keys, again=True)
        return self._filled(join.right, Stage.table(join.kind, join.right_key, wanted))

    def _filled(
        self, plan: StreamPlan, table: Stage, *, again: bool = False
    ) -> JoinTable:
        """Return a table with the elements of a plan in it."""
        if plan.reduction == "lines":
            query = self._query(plan, "count", last=table)
            self._drive(query, plan, again=again)
            return query.table()
        result = self._result(plan)
        elements = replace(plan, stages=(), reduction="lines")
        query = self._query(elements, "count", last=table)
        for batch in rows_of(self._elements(result, nulls=True, limit=None)):
            refused = query.answer(batch, 0).refused
            if refused is not None:
                name, column = f"@{plan.source}", refused.column or 1
                raise RowFailedError(name, None, 0, refused.reason, column)
        return query.table()

    def _reads_left_keys_first(self, plan: StreamPlan, at: int, join: JoinPlan) -> bool:
        left = self._files[plan.source]
        if any(file.source.is_pipe for file in left) or any(
            isinstance(stage, ZipPlan) for stage in plan.stages[:at]
        ):
            return False
        return left_keys_first(self._rows(plan.source), self._rows(join.right.source))

    def _rows(self, name: str | None) -> int | None:
        """Guess how many rows a source has."""
        if name is not None and name in self.options.size_hints:
            return self.options.size_hints[name]
        sources = [file.source for file in self._files[name]]
        if any(source.is_pipe for source in sources):
            return None
        return estimated_rows(sum(source.size for source in sources))

    # Rows

    def _drive(
        self, query: StreamQuery, plan: StreamPlan, *, again: bool = False
    ) -> None:
        """Take in all rows that a plan is about."""
        for _lines in self._asked(
            query, plan.source, reverse=plan.reverse, again=again
        ):
            raise AssertionError("what is reduced has no lines")
        query.end()

    def _asked(
        self,
        query: RowQuery | StreamQuery,
        name: str | None,
        *,
        reverse: bool,
        again: bool = False,
    ) -> Iterator[bytes]:
        """Ask row after row, and yield the lines they give.

        `again`: the rows are read another time, which then says what is wrong with them.
        """
        files = self._files[name]
        try:
            for file in reversed(files) if reverse else files:
                if query.done:
                    return
                for batch in file.backwards() if reverse else file.batches():
                    yield from self._asked_of(
                        query, file, batch, reverse=reverse, again=again
                    )
                    if name is None and not again:
                        self.counts = query.counts
                    if query.done:
                        return
        finally:
            if name is not None and not again:
                self.readings.append((name, query.counts))

    def _asked_of(
        self,
        query: RowQuery | StreamQuery,
        file: Rows,
        batch: RowBatch,
        *,
        reverse: bool,
        again: bool,
    ) -> Iterator[bytes]:
        start = 0
        while start < len(batch) and not query.done:
            answers = query.answer(batch, start, reverse=reverse)
            self._say_what_is_held(query)
            if answers.lines:
                yield answers.lines
            for partners in self._partners:
                partners.raise_error()
            start = answers.asked
            if answers.refused is None:
                return
            error = _error(file, answers.refused, reverse=reverse)
            if self.options.on_error == "abort":
                self.counts = query.counts
                raise error
            if again:
                continue
            if self.options.on_error == "collect" or len(self.errors) < FIRST_BAD:
                self.errors.append(error)

    def _say_what_is_held(self, query: RowQuery | StreamQuery) -> None:
        if self._warned or isinstance(query, RowQuery):
            return
        held, most = query.held, query.max_memory
        if held > _WATERMARK * most:
            self._warned = True
            self.warn(
                f"the query holds {held} of the {most} bytes that --memory allows"
            )


class _Partners:
    """The lines of the other side of a zip, as the core asks for them."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self._error: BaseException | None = None

    def __call__(self) -> bytes:
        """Return further lines; none at the end, and none if they fail."""
        try:
            return next((lines for lines in self._lines if lines), b"")
        except BaseException as error:  # noqa: BLE001, it is raised when the core returns
            self._error = error
            return b""

    def raise_error(self) -> None:
        """Raise what went wrong with the lines, if anything did."""
        if self._error is not None:
            raise self._error


def _error(rows: Rows, refused: Refused, *, reverse: bool) -> HeadraceError:
    path = rows.source.location
    line, offset = rows.place(refused.row, refused.offset, reverse=reverse)
    if refused.column is None:
        return BadRowError(path, line, offset, refused.reason)
    return RowFailedError(path, line, offset, refused.reason, refused.column)
