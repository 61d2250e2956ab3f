"""Row steps: each row goes through steps by itself, and every row is accounted for.

A *step* checks rows or runs a query over them. A row that fails is *rejected*, and reported with
its place in the first batch, however many steps were before, so that it can be found in its file.
Steps are plain data; a task makes a `RowSteps` of them. For each step: read = blank + rejected +
filtered + kept, and the next step reads the `written` lines that the kept rows give.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from headrace.engines.query.run import WholeTables, begin
from headrace.engines.query.scan import QueryInput
from headrace.engines.rows.partition_key import PathKeys
from headrace.errors import QueryFailedError, UsageError
from headrace.kernel.programs import Program, RowQuery
from headrace.kernel.rows import rows_of
from headrace.physical.distribution import TaskLines, strategy_of
from headrace.physical.query_plan import (
    QueryPlan,
    RowPlan,
    StreamPlan,
    plan_query,
    row_program,
)
from headrace.store.rows.row_file import RowFile, RowOptions
from headrace.store.shards.write.hive_partitions import directory_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.engines.query.options import QueryOptions
    from headrace.kernel.programs import Refused, StreamQuery
    from headrace.kernel.rows import RowBatch
    from headrace.store.files.source import Source


_SHOWN = 60
"""Limit on the characters of a value in a reason."""

_MOST_VALUES = 1 << 16
"""Limit on the cached values that are valid as partitions."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A query that must be true for a row, and the reason to reject the row otherwise.

    ``{}`` in the reason is replaced by the answer to the query `found`, if there is one.
    """

    test: str
    reason: str
    found: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """A step that keeps good rows unchanged and rejects the others.

    A good row is JSON, has at most `max_bytes`, and meets all conditions.
    """

    name: str
    conditions: tuple[Condition, ...] = ()
    max_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class QueryStep:
    """A step that replaces rows by the answers of a query; `named` are the sources it joins."""

    name: str
    query: str
    named: tuple[tuple[str, tuple[Source, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Divide:
    """A step that rejects rows whose value at a path cannot be a partition."""

    name: str
    path: str


Step: TypeAlias = Check | QueryStep | Divide


@dataclass(frozen=True, slots=True)
class StepCounts:
    """Rows of a step, and the lines that it has written."""

    read: int = 0
    blank: int = 0
    rejected: int = 0
    filtered: int = 0
    kept: int = 0
    written: int = 0

    def __add__(self, other: StepCounts) -> StepCounts:
        return StepCounts(
            *(
                getattr(self, each.name) + getattr(other, each.name)
                for each in fields(self)
            )
        )

    @property
    def add_up(self) -> bool:
        """Whether every row that was read is counted exactly once."""
        return self.read == self.blank + self.rejected + self.filtered + self.kept


class Rejected(NamedTuple):
    """A rejected row: its number in the batch, and the byte of the error.

    `kind` is the reason without values of the row, so that many rows share it.
    """

    position: int
    offset: int
    step: str
    reason: str
    kind: str


class _Refusal(NamedTuple):
    """A row that a step rejects, by its number in the batch of this step."""

    row: int
    offset: int
    reason: str
    kind: str


class _Taken(NamedTuple):
    """The result of a step for a batch."""

    lines: bytes
    refused: list[_Refusal]
    counts: StepCounts


class _Run(Protocol):
    """A running step."""

    name: str

    def take(self, batch: RowBatch) -> _Taken:
        """Run the step over the rows of a batch."""
        ...


class RowSteps:
    """Runs all steps over batch after batch."""

    def __init__(
        self, steps: Sequence[Step], reading: RowOptions, options: QueryOptions
    ) -> None:
        self._runs = [_begun(step, reading, options) for step in steps]
        self.counts = [StepCounts() for _ in steps]

    def anew(self) -> RowSteps:
        """Return the same steps with counts of zero."""
        begun = copy(self)
        begun.counts = [StepCounts() for _ in self.counts]
        return begun

    def take(self, batch: RowBatch) -> tuple[bytes, list[Rejected]]:
        """Return the lines of the last step, and the rejected rows."""
        trace = _Trace(batch)
        rejected: list[Rejected] = []
        inputs, lines = [batch], b""
        for at, run in enumerate(self._runs):
            written = []
            for part in inputs:
                taken = run.take(part)
                written.append(taken.lines)
                self.counts[at] += taken.counts
                rejected += [trace.rejected(run.name, each) for each in taken.refused]
            lines = b"".join(written)
            trace.follow(run, inputs)
            inputs = list(rows_of(lines)) if run is not self._runs[-1] else []
        return lines, sorted(rejected)


def _begun(step: Step, reading: RowOptions, options: QueryOptions) -> _Run:
    match step:
        case Check():
            return _Checking(step, options)
        case QueryStep():
            return _QueryRun(step, reading, options)
        case Divide():
            return _Dividing(step, options)


class _Trace:
    """Maps a row of a later step back to its row in the first batch.

    It is needed only if a later step rejects a row. A bisection then runs the steps again over
    half of the possible rows at a time, and counts the lines they give.
    """

    def __init__(self, batch: RowBatch) -> None:
        self._batch = batch
        self._steps: list[tuple[_Run, list[RowBatch]]] = []
        self._written: dict[tuple[int, int, range], int] = {}

    def follow(self, run: _Run, inputs: list[RowBatch]) -> None:
        """Keep the input of a step."""
        self._steps.append((run, inputs))

    def rejected(self, step: str, refused: _Refusal) -> Rejected:
        """Return a row that the next step rejects, with its place in the first batch."""
        if not self._steps:
            position, offset = refused.row - self._batch.first_row, refused.offset
            return Rejected(position, offset, step, refused.reason, refused.kind)
        row = refused.row
        for at in reversed(range(len(self._steps))):
            row = self._origin(at, row)
        # The bytes of this row are not those of the file.
        offset = self._batch.offsets[row]
        return Rejected(row, offset, step, refused.reason, refused.kind)

    def _origin(self, at: int, line: int) -> int:
        """Return the number of the row that gave a line of a step."""
        _run, inputs = self._steps[at]
        number = before = 0
        while line >= (written := self._lines(at, number, range(len(inputs[number])))):
            line -= written
            before += len(inputs[number])
            number += 1
        rows = range(len(inputs[number]))
        while len(rows) > 1:
            first, second = rows[: len(rows) // 2], rows[len(rows) // 2 :]
            written = self._lines(at, number, first)
            rows = first if line < written else second
            line -= 0 if line < written else written
        return before + rows[0]

    def _lines(self, at: int, number: int, rows: range) -> int:
        """Return the number of lines that a step writes for some rows of one of its batches."""
        key = (at, number, rows)
        if key not in self._written:
            run, inputs = self._steps[at]
            taken = run.take(inputs[number].slice(rows[0], len(rows)))
            self._written[key] = taken.counts.written
        return self._written[key]


class _Checking:
    """Runs a `Check`."""

    def __init__(self, step: Check, options: QueryOptions) -> None:
        self.name = step.name
        self._max_bytes = step.max_bytes
        self._depth = options.max_depth
        self._conditions = [
            (
                each,
                row_program(f"not ({each.test})"),
                None if each.found is None else row_program(each.found),
            )
            for each in step.conditions
        ]
        every = " and ".join(f"({each.test})" for each in step.conditions) or "true"
        self._good = row_program(every)
        bad = f"$.rows().filter(not ({every}))"
        self._failing = begin(QueryInput(plan_query(bad), options))

    def take(self, batch: RowBatch) -> _Taken:
        """Return the good rows of a batch, and the errors of the others."""
        refused: list[_Refusal] = []
        good: list[bytes] = []
        start = rows = blank = 0
        for position, length in (*self._too_long(batch), (len(batch), 0)):
            between = batch.slice(start, position - start)
            lines, bad, found_blank = self._sifted(between)
            good.append(lines)
            refused += bad
            blank += found_blank
            rows += len(between)
            if length:
                row, offset = batch.first_row + position, batch.offsets[position]
                kind = f"over the limit of {self._max_bytes}"
                reason = f"{length} bytes long, {kind}"
                refused.append(_Refusal(row, offset, reason, kind))
                rows += 1
            start = position + 1
        written = b"".join(good)
        kept = rows - blank - len(refused)
        counts = StepCounts(rows, blank, len(refused), 0, kept, written.count(b"\n"))
        return _Taken(written, refused, counts)

    def _too_long(self, batch: RowBatch) -> list[tuple[int, int]]:
        """List the rows over the limit that can be read, with their lengths."""
        if self._max_bytes is None:
            return []
        import pyarrow as pa
        import pyarrow.compute as pc

        ends, data = batch.arrow_buffers()
        if len(data) <= self._max_bytes:
            return []
        rows = pa.Array.from_buffers(
            pa.binary(), len(batch), [None, pa.py_buffer(ends), pa.py_buffer(data)]
        )
        lengths = pc.binary_length(rows)
        over = pc.indices_nonzero(pc.greater(lengths, self._max_bytes))
        return list(zip(over.to_pylist(), lengths.take(over).to_pylist(), strict=True))

    def _sifted(self, batch: RowBatch) -> tuple[bytes, list[_Refusal], int]:
        query = RowQuery(
            self._good, output="match", nulls=True, limit=None, max_depth=self._depth
        )
        lines, refused = _answers(query, batch)
        bad = [self._refusal(batch, each) for each in refused]
        if query.counts.filtered:
            known = {each.row for each in bad}
            bad += self._failed(batch, known)
            bad.sort()
        return lines, bad, query.counts.blank

    def _failed(self, batch: RowBatch, known: set[int]) -> Iterator[_Refusal]:
        """Yield the rows that do not meet a condition, except those `known` to be bad."""
        plan = self._failing.plan.main
        assert isinstance(plan, StreamPlan)
        query = self._failing.stream_query(plan, "count")
        start = 0
        while start < len(batch):
            rows, start, _too_long = query.sift(batch, start)
            for row in rows:
                number = batch.first_row + row.position
                if number not in known:
                    yield _Refusal(number, row.offset, *self._reason(row.content))

    def _refusal(self, batch: RowBatch, refused: Refused) -> _Refusal:
        """Return the error of a row for which the conditions have no answer."""
        row, offset, position = (
            refused.row,
            refused.offset,
            refused.row - batch.first_row,
        )
        if refused.column is not None:
            (content,) = batch.slice(position, 1).contents()
            return _Refusal(row, offset, *self._reason(content or b""))
        if (length := dict(batch.too_long).get(position)) is not None:
            kind = "over the limit that max_line sets"
            return _Refusal(row, offset, f"{length} bytes long, {kind}", kind)
        return _Refusal(row, offset, refused.reason, refused.reason)

    def _reason(self, content: bytes) -> tuple[str, str]:
        """Return the condition that a row does not meet, with the value of the row and without."""
        for condition, fails, found in self._conditions:
            try:
                if fails.evaluate(content, self._depth) == b"false":
                    continue
                value = "" if found is None else _plain(found, content, self._depth)
            except QueryFailedError as error:
                kind = f"the rule {condition.test} fails"
                return f"{kind}: {error.reason}", kind
            reason = condition.reason
            return reason.replace("{}", value), reason.replace("{}", "…")
        return "it cannot be checked", "it cannot be checked"


class _QueryRun:
    """Runs an `QueryStep`."""

    def __init__(
        self, step: QueryStep, reading: RowOptions, options: QueryOptions
    ) -> None:
        self.name = step.name
        plan = row_by_row(step.query)
        named = {
            name: [RowFile(source, reading) for source in sources]
            for name, sources in step.named
        }
        given = QueryInput(plan, options, named=named)
        self._run = begin(given, table_access=WholeTables())

    def take(self, batch: RowBatch) -> _Taken:
        """Return the answers for a batch, and the errors of rows without one."""
        query = self._query()
        lines, refused = _answers(query, batch)
        counted = query.counts
        counts = StepCounts(
            counted.rows,
            counted.blank,
            counted.skipped,
            counted.filtered,
            counted.emitted,
            lines.count(b"\n"),
        )
        return _Taken(lines, [_refusal(each) for each in refused], counts)

    def _query(self) -> RowQuery | StreamQuery:
        main = self._run.plan.main
        if isinstance(main, StreamPlan):
            return self._run.stream_query(main, "lines", nulls=False)
        assert isinstance(main, RowPlan)
        return self._run.row_query(main)


class _Dividing:
    """Runs a `Divide`, with the same rules as the writer of partitions."""

    def __init__(self, step: Divide, options: QueryOptions) -> None:
        self.name = step.name
        self._keys = PathKeys(step.path, options.max_depth)
        self._usable: set[bytes] = set()

    def take(self, batch: RowBatch) -> _Taken:
        """Return the rows of a batch that can be written, and the errors of the others."""
        refused = list(self._refused(batch))
        good, start = [], 0
        for each in refused:
            position = each.row - batch.first_row
            good.append(batch.slice(start, position - start).lines())
            start = position + 1
        good.append(batch.slice(start, len(batch) - start).lines())
        kept = len(batch) - len(refused)
        counts = StepCounts(
            read=len(batch), rejected=len(refused), kept=kept, written=kept
        )
        return _Taken(b"".join(good), refused, counts)

    def _refused(self, batch: RowBatch) -> Iterator[_Refusal]:
        start = 0
        while start < len(batch):
            values, failed = self._keys.of(batch.slice(start, len(batch) - start))
            for position, value in enumerate(values, start):
                if (reason := self._wrong_with(value)) is not None:
                    row, offset = batch.first_row + position, batch.offsets[position]
                    yield _Refusal(row, offset, reason, reason)
            start += len(values)
            if failed is not None:
                _position, offset, reason = failed
                yield _Refusal(batch.first_row + start, offset, reason, reason)
                start += 1

    def _wrong_with(self, value: bytes) -> str | None:
        if value in self._usable:
            return None
        found = directory_of(self._keys.key, value)
        if isinstance(found, str):
            return found
        if len(self._usable) < _MOST_VALUES:
            self._usable.add(value)
        return None


def row_by_row(query: str) -> QueryPlan:
    """Plan a query that needs only one row at a time; refuses all others.

    >>> row_by_row("$.rows().filter(x > 1)").main.reduction
    'lines'
    """
    plan = plan_query(query)
    main = plan.main
    local = isinstance(main, RowPlan) or (
        isinstance(main, StreamPlan) and isinstance(strategy_of(main), TaskLines)
    )
    if not local or plan.questions:
        raise UsageError(
            f"{query}: it needs more than one row at a time, so it cannot be a step; "
            "a step may filter, map, flat_map and join"
        )
    return plan


def _answers(
    query: RowQuery | StreamQuery, batch: RowBatch
) -> tuple[bytes, list[Refused]]:
    """Run a query over all rows of a batch, and continue after errors."""
    lines: list[bytes] = []
    refused: list[Refused] = []
    start = 0
    while start < len(batch):
        answers = query.answer(batch, start)
        lines.append(answers.lines)
        if answers.refused is not None:
            refused.append(answers.refused)
        start = answers.end
    return b"".join(lines), refused


def _refusal(refused: Refused) -> _Refusal:
    where = "" if refused.column is None else f" (column {refused.column} of the query)"
    reason = f"{refused.reason}{where}"
    return _Refusal(refused.row, refused.offset, reason, reason)


def _plain(program: Program, content: bytes, max_depth: int) -> str:
    """Return an answer for people: a string without its quotes, shortened."""
    text = program.evaluate(content, max_depth).decode()
    if text.startswith('"'):
        text = text[1:-1]
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
