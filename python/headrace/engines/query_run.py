"""Running a query over the rows of files.

A run reads all rows in this process; the Spark engine goes on from it and has tasks read
the rows of the main source instead.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from headrace.engines.passed_over import OutsideTimes, PassedOver
from headrace.errors import (
    BadRowError,
    HeadraceError,
    HeadraceWarning,
    KeyIndexError,
    MemoryWarning,
    RowFailedError,
    UnusableTableError,
)
from headrace.kernel.order_keys import KeyedRows
from headrace.kernel.programs import (
    Counts,
    RowQuery,
    Sources,
    Stage,
    StreamQuery,
)
from headrace.kernel.rows import rows_of
from headrace.kernel.tally import FIRST_BAD
from headrace.kernel.values import DEEPEST
from headrace.logical.demand import union
from headrace.logical.key_filter import keys_of
from headrace.physical.access import choose
from headrace.physical.distribution import may_end_early
from headrace.physical.query_plan import (
    JoinPlan,
    PlainStage,
    RowPlan,
    StreamPlan,
    ValuePlan,
    ZipPlan,
    whole_row,
)
from headrace.physical.sides import estimated_rows, left_keys_first
from headrace.store.row_provider import KeyFilter, KeySet, Lanes, NoKeyRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Protocol

    from headrace.engines.passed_over import Uncounted
    from headrace.kernel.programs import Answers, Frame, JoinTable, Output, Refused
    from headrace.kernel.rows import RowBatch
    from headrace.physical.query_plan import QueryPlan, StagePlan
    from headrace.store.key_rows import KeyRows
    from headrace.store.log.timed_rows import TimedRows
    from headrace.store.row_file import RowFile
    from headrace.store.row_provider import Keys, ProviderRows
    from headrace.store.source import Source

    Rows: TypeAlias = RowFile | ProviderRows | TimedRows

    class Placing(Protocol):
        """What knows where the rows of a batch stand."""

        @property
        def source(self) -> Source:
            """The file they are of."""

        def place(
            self, row: int, offset: int, *, reverse: bool
        ) -> tuple[int | None, int]:
            """Return the line and the byte of something in a row."""


OnError: TypeAlias = Literal["abort", "skip", "collect"]

ELEMENTS = ""
"""A source that is none, with elements that were made before: nothing frames them."""

_WATERMARK = 0.8
"""The part of the memory from which on it is said that little is left."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that was passed over, and its bytes, None if it is too long to be read."""

    error: BadRowError | RowFailedError
    raw: bytes | None


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """How a query runs.

    `size_hints` are rows of named sources, for who knows them. Without `lanes`, rows
    are recorded as a whole, whatever is read of them. Without `index`, all rows are read,
    whatever key indexes there are.
    """

    output: Output = "answer"
    nulls: bool = False
    on_error: OnError = "abort"
    limit: int | None = None
    max_depth: int = 256
    max_memory: int = 1 << 30
    reverse: bool = False
    frame: Frame | None = None
    size_hints: Mapping[str, int] = field(default_factory=dict)
    lanes: bool = True
    index: bool = True


@dataclass(frozen=True, slots=True)
class Pass:
    """One way through the rows of a source.

    Every query of the pass puts them through `stages`; with several queries there are
    none. `again`: the rows are read another time, which then says what is wrong with
    them. `keys` is what rows must have to count; `ends_early`: the first rows may be
    enough; `taken_in`: rows that do not count are taken in like those that do.
    """

    source: str | None
    stages: tuple[StagePlan, ...] = ()
    reverse: bool = False
    again: bool = False
    keys: Keys | None = None
    ends_early: bool = False
    taken_in: bool = False


def warn_of_memory(message: str) -> None:
    """Say that a query holds most of what it may, as a Python warning."""
    warnings.warn(message, MemoryWarning, stacklevel=2)


@dataclass(slots=True)
class QueryRun:
    """One run of a query over some files; what it counted can be asked at any time.

    `asked` has the rows that were asked, `counts` also those that were passed over by an index.
    `bad` counts the rows that were passed over. `errors` has the first of them, with
    ``collect`` all, unless there is `tell`, which is called with each. `readings` has
    what was counted in named sources, each time one was read. `whole_tables`: the right
    sides of joins are held whatever the left side is. `known` are the answers that
    programs have by number.
    """

    plan: QueryPlan
    options: QueryOptions
    warn: Callable[[str], None] = warn_of_memory
    tell: Callable[[BadRow], object] | None = None
    bad: int = 0
    errors: list[HeadraceError] = field(default_factory=list)
    asked: Counts = field(default_factory=Counts)
    whole_tables: bool = False
    known: tuple[str, ...] | None = None
    _files: dict[str | None, Sequence[Rows]] = field(default_factory=dict)
    _values: Sources | None = None
    _values_held: int = 0
    _tables: dict[JoinPlan, JoinTable] = field(default_factory=dict)
    _partners: list[_Partners] = field(default_factory=list)
    _warned: bool = False
    _passed_over: list[Uncounted] = field(default_factory=list)
    _readings: list[tuple[str, Counts, Sequence[Uncounted]]] = field(
        default_factory=list
    )

    @property
    def counts(self) -> Counts:
        """What was counted in the main source."""
        return _counted(self.asked, self._passed_over)

    @property
    def readings(self) -> list[tuple[str, Counts]]:
        """What was counted in named sources."""
        return [
            (name, _counted(asked, passed_over))
            for name, asked, passed_over in self._readings
        ]

    def answers(
        self,
        files: Sequence[Rows],
        named: Mapping[str, Sequence[Rows]] | None = None,
    ) -> Iterator[bytes]:
        """Yield the lines of output, many at a time, or one that is long in pieces."""
        self._files = {None: files, ELEMENTS: ()}
        self._files.update(named or {})
        self._ask_questions()
        yield from (lines for lines in self._main_lines() if lines)

    def bytes_done(self) -> int:
        """Return how many bytes of the main source were read so far."""
        return sum(file.bytes_read() for file in self._files.get(None, ()))

    def _main_lines(self) -> Iterator[bytes]:
        main, options = self.plan.main, self.options
        if isinstance(main, ValuePlan):
            answer = main.program.evaluate(b"null", options.max_depth, self._values)
            yield from self._printed(
                answer, spread=main.spread, nulls=options.nulls, limit=options.limit
            )
            return
        if isinstance(main, StreamPlan):
            main = replace(main, reverse=options.reverse != main.reverse)
            yield from self._lines(main, nulls=options.nulls, limit=options.limit)
            return
        yield from self._row_lines(main)

    def _row_lines(self, main: RowPlan) -> Iterator[bytes]:
        matches = self.options.output == "match"
        self._request_lanes(
            None, [Lanes(main.fields, None if matches else main.fields, matches)]
        )
        query = self.row_query(main)
        yield from self._asked([query], self._row_pass(main))

    def _row_pass(self, main: RowPlan) -> Pass:
        options = self.options
        keys = main.matching if options.output == "match" else main.giving
        return Pass(
            None,
            reverse=options.reverse,
            keys=None if options.nulls and options.output == "answer" else keys,
            ends_early=options.limit is not None,
        )

    def _pass(
        self, plan: StreamPlan, limit: int | None, *, again: bool = False
    ) -> Pass:
        ends_early = may_end_early(plan.stages, limit)
        return Pass(
            plan.source, plan.stages, plan.reverse, again, plan.keys, ends_early
        )

    def row_query(self, main: RowPlan) -> RowQuery:
        """Return what each row is asked."""
        options = self.options
        return RowQuery(
            main.program,
            output=options.output,
            nulls=options.nulls,
            limit=options.limit,
            max_depth=options.max_depth,
            frame=options.frame,
            whole=not options.lanes,
            sources=self._values,
        )

    def know(
        self, answers: Sequence[str] | None, named: Mapping[str, Sequence[Rows]]
    ) -> None:
        """Go on where questions have been answered elsewhere, with these named sources."""
        self._files = {None: ()}
        self._files.update(named)
        if answers is not None:
            self._hold(answers)

    def _ask_questions(self) -> None:
        """Find what the programs have by number."""
        answers: dict[int, bytes] = {}
        questions = [self._in_order(question) for question in self.plan.questions]
        to_main = [at for at, each in enumerate(questions) if each.source is None]
        # Several to the main source need no others and are one pass; a single one may
        # be needed by those behind it.
        together = to_main if len(to_main) > 1 else []
        for number, question in enumerate(questions):
            if number not in together:
                answers[number] = self._result(question)
                self._keep(answers)
        if together:
            results = self._results([questions[at] for at in together])
            answers.update(zip(together, results, strict=True))
            self._keep(answers)

    def _in_order(self, plan: StreamPlan) -> StreamPlan:
        """Return a plan that goes through the main source as the options ask."""
        if plan.source is not None:
            return plan
        return replace(plan, reverse=self.options.reverse != plan.reverse)

    def _keep(self, answers: Mapping[int, bytes]) -> None:
        """Let programs have these answers, and null for those that are yet to come."""
        numbers = range(len(self.plan.questions))
        self._hold([answers.get(number, b"null").decode() for number in numbers])

    def _hold(self, texts: Sequence[str]) -> None:
        self.known = tuple(texts)
        self._values_held = sum(map(len, texts))
        # An array of rows is one level deeper than they are.
        self._values = Sources(list(texts), self.options.max_depth + 1)

    # Streams

    def _lines(
        self, plan: StreamPlan, *, nulls: bool, limit: int | None
    ) -> Iterator[bytes]:
        """Yield what a plan gives, an element on a line."""
        if plan.reduction == "lines":
            query = self.stream_query(plan, "lines", nulls=nulls, limit=limit)
            self._request_lanes(plan.source, [plan.lanes])
            yield from self._asked([query], self._pass(plan, limit))
            yield query.end()
            return
        yield from self._printed(
            self._result(plan), spread=plan.spread, nulls=nulls, limit=limit
        )

    def _printed(
        self, value: bytes, *, spread: bool, nulls: bool, limit: int | None
    ) -> Iterator[bytes]:
        """Yield a value as a line, or its elements as lines."""
        if spread:
            yield self._elements(value, nulls=nulls, limit=limit)
        elif nulls or value != b"null":
            yield value + b"\n"

    def _result(self, plan: StreamPlan) -> bytes:
        """Return what a plan gives, as one value."""
        if self._tail_is_enough(plan):
            plan = replace(plan, reverse=True, reduction="last_from_end")
        (result,) = self._results([plan])
        return result

    def _results(self, plans: Sequence[StreamPlan]) -> list[bytes]:
        """Return what plans give that are about the same rows, which are read once."""
        queries = [self.reducing(plan) for plan in plans]
        self._request_lanes(plans[0].source, [plan.lanes for plan in plans])
        way = Pass(plans[0].source, reverse=plans[0].reverse)
        if len(plans) == 1:
            way = self._pass(plans[0], plans[0].limit)
        self._drive(queries, way)
        return self._finished(plans, queries)

    def reducing(self, plan: StreamPlan) -> StreamQuery:
        """Return what makes one value of the rows of a plan."""
        reduction = "collect" if plan.reduction == "lines" else plan.reduction
        return self.stream_query(plan, reduction, limit=plan.limit)

    def _finished(
        self, plans: Sequence[StreamPlan], queries: Sequence[StreamQuery]
    ) -> list[bytes]:
        """Ask the rest of the plans, now that all rows have been taken in."""
        # An array of rows is one level deeper than they are.
        depth = self.options.max_depth + 1
        return [
            result
            if plan.rest is None
            else plan.rest.evaluate(result, depth, self._values)
            for plan, result in zip(plans, [q.finish() for q in queries], strict=True)
        ]

    def _tail_is_enough(self, plan: StreamPlan) -> bool:
        """Whether the last rows of the last files are all that is needed."""
        files = self._files[plan.source]
        return bool(files) and all(
            choose(plan, rows.capabilities) == "tail" for rows in files
        )

    def _elements(self, value: bytes, *, nulls: bool, limit: int | None) -> bytes:
        """Return the elements of a value, each on a line."""
        query = RowQuery(
            whole_row(), output="elements", nulls=nulls, limit=limit, max_depth=1000
        )
        batches = (batch for batch in rows_of(value) if not query.done)
        return b"".join(query.answer(batch, 0).lines for batch in batches)

    def _request_lanes(self, name: str | None, several: Sequence[Lanes]) -> None:
        if not self.options.lanes:
            return
        together = Lanes(
            union(lanes.scan for lanes in several),
            union(lanes.result for lanes in several),
            all(lanes.selective for lanes in several),
        )
        for rows in self._files[name]:
            rows.request_lanes(together)

    def stream_query(
        self,
        plan: StreamPlan,
        reduction: str,
        *,
        limit: int | None = None,
        nulls: bool = True,
        last: Stage | None = None,
    ) -> StreamQuery:
        """Return what takes in the rows of a plan; tables to join with are read for it."""
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
            # What was made of rows may be deeper than they are.
            max_depth=(DEEPEST if plan.source == ELEMENTS else self.options.max_depth),
            frame=self.options.frame if plan.source is None else None,
            whole=not self.options.lanes,
            prune=plan.prune if last is None else None,
            sources=self._values,
        )

    def keyed_rows(
        self,
        plan: StreamPlan,
        key: bytes,
        then: StreamPlan,
        *,
        falling: Sequence[bool],
        joins: bool,
        compact: bool,
    ) -> KeyedRows:
        """Return what gives the elements of a plan keys, and then puts them through another."""
        return KeyedRows(
            key,
            stages=[self._stage(plan, at) for at in range(len(plan.stages))],
            then=[self._stage(then, at) for at in range(len(then.stages))],
            falling=falling,
            joins=joins,
            compact=compact,
            max_depth=self.options.max_depth,
            frame=self.options.frame if plan.source is None else None,
            whole=not self.options.lanes,
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
            wanted = self._left_keys(left, Stage.table(None, join.key, None))
        table = Stage.table(join.kind, join.right_key, wanted)
        return self._filled(join.right, table, keys=self._keys(join, wanted))

    def _left_keys(self, left: StreamPlan, keys: Stage) -> JoinTable:
        """Read the keys of the left side of a join."""
        # What is wrong with its rows is said when they are read again.
        return self._filled(left, keys, again=True)

    def _keys(self, join: JoinPlan, wanted: JoinTable | None) -> KeySet | None:
        """Return what right rows must have to be wanted, if an index can tell."""
        if wanted is None or join.right_fields is None or not self.options.index:
            return None
        texts = wanted.keys(KeySet.most)
        return None if texts is None else keys_of(join.right_fields, texts)

    def _filled(
        self,
        plan: StreamPlan,
        table: Stage,
        *,
        again: bool = False,
        keys: KeySet | None = None,
    ) -> JoinTable:
        """Return a table with the elements of a plan in it, those with `keys` at least."""
        if plan.reduction == "lines":
            query = self.stream_query(plan, "count", last=table)
            # The table keeps whole elements.
            self._request_lanes(plan.source, [Lanes()])
            way = self._pass(plan, None, again=again)
            if keys is not None:
                way = replace(way, keys=keys, taken_in=True)
            self._drive([query], way)
            return query.table()
        result = self._result(plan)
        elements = replace(plan, source=ELEMENTS, stages=(), reduction="lines")
        query = self.stream_query(elements, "count", last=table)
        for batch in rows_of(self._elements(result, nulls=True, limit=None)):
            refused = query.answer(batch, 0).refused
            if refused is not None:
                name, column = f"@{plan.source}", refused.column or 1
                raise RowFailedError(name, None, 0, refused.reason, column)
        return query.table()

    def _reads_left_keys_first(self, plan: StreamPlan, at: int, join: JoinPlan) -> bool:
        if self.whole_tables:
            return False
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

    def _drive(self, queries: Sequence[StreamQuery], way: Pass) -> None:
        """Take in all rows of a pass."""
        for lines in self._asked(queries, way):
            if lines:
                raise AssertionError("what is reduced has no lines")
        for query in queries:
            query.end()

    def _asked(
        self, queries: Sequence[RowQuery | StreamQuery], way: Pass
    ) -> Iterator[bytes]:
        """Ask row after row, and yield the lines they give."""
        files = self._files[way.source]
        passed_over: list[Uncounted] = []
        counted = _most_rows
        try:
            for file in reversed(files) if way.reverse else files:
                if all(query.done for query in queries):
                    return
                yield from self._asked_file(file, queries, way, passed_over)
        except (BadRowError, RowFailedError):
            counted = counts_up_to_refusal
            raise
        finally:
            self._count(counted(queries), way, passed_over)

    def _asked_file(
        self,
        file: Rows,
        queries: Sequence[RowQuery | StreamQuery],
        way: Pass,
        passed_over: list[Uncounted],
    ) -> Iterator[bytes]:
        """Ask the rows of a file, or those of them that an index leads to."""
        if file.source.times is not None:
            timed = cast("TimedRows", file)
            yield from self._asked_timed(timed, queries, way, passed_over)
            return
        keyed = self._by_key(file, way) if len(queries) == 1 else None
        if keyed is None:
            yield from self._asked_rows(file, queries, way)
            return
        over = PassedOver(keyed, queries[0], reverse=way.reverse, taken_in=way.taken_in)
        passed_over.append(over)
        whole = astray = False
        try:
            yield from self._asked_rows(keyed, queries, way)
            whole = not queries[0].done
        except (KeyIndexError, UnusableTableError) as error:
            astray = not over.asked
            if not astray:
                raise
            message = f"{error.what}; the file is scanned"
            warnings.warn(message, HeadraceWarning, stacklevel=2)
        finally:
            over.end(whole=whole)
        if astray:
            passed_over.pop()
            yield from self._asked_rows(file, queries, way)

    def _asked_timed(
        self,
        file: TimedRows,
        queries: Sequence[RowQuery | StreamQuery],
        way: Pass,
        passed_over: list[Uncounted],
    ) -> Iterator[bytes]:
        """Ask the rows of a segment that have the times that are meant."""
        before, counted, whole = _most_rows(queries).rows, _most_rows, False
        try:
            yield from self._asked_rows(file, queries, way)
            whole = not all(query.done for query in queries)
        except (BadRowError, RowFailedError):
            counted = counts_up_to_refusal
            raise
        finally:
            asked = None if whole else counted(queries).rows - before
            passed_over.append(OutsideTimes(file, asked, way.reverse))

    def reached(
        self, files: Sequence[Rows], named: Mapping[str, Sequence[Rows]]
    ) -> tuple[KeyFilter | None, list[tuple[str, str]]]:
        """Say what rows must have to count, and of each file how such rows are found."""
        way = self._main_pass()
        if way is None or not isinstance(way.keys, KeyFilter):
            return None, []
        told = []
        for file in files if way.source is None else named[way.source]:
            found = self._found_by_key(file, way)
            how = "all rows are read" if found is None else found.told
            told.append((file.source.location, how))
        return way.keys, told

    def _main_pass(self) -> Pass | None:
        """Return the way through the rows that the query itself takes, if it is about any."""
        main = self.plan.main
        if isinstance(main, ValuePlan):
            return None
        if isinstance(main, RowPlan):
            return self._row_pass(main)
        lines = main.reduction == "lines"
        return self._pass(main, self.options.limit if lines else main.limit)

    def _by_key(self, file: Rows, way: Pass) -> KeyRows | None:
        """Find the rows of a file that count by a key index, if there is one that can tell."""
        found = self._found_by_key(file, way)
        return None if found is None or isinstance(found, NoKeyRows) else found

    def _found_by_key(self, file: Rows, way: Pass) -> KeyRows | NoKeyRows | None:
        is_framed = way.source is None and self.options.frame is not None
        if way.keys is None or is_framed or not self.options.index:
            return None
        depth, prove = self.options.max_depth, not way.ends_early
        return file.by_key(way.keys, depth, prove=prove)

    def _asked_rows(
        self,
        rows: Rows | KeyRows,
        queries: Sequence[RowQuery | StreamQuery],
        way: Pass,
    ) -> Iterator[bytes]:
        for batch in rows.backwards() if way.reverse else rows.batches():
            for lines, refused in self.answers_of(queries, batch, reverse=way.reverse):
                yield lines
                if refused is not None:
                    self._refuse(rows, batch, refused, way)
            if all(query.done for query in queries):
                return

    def _count(
        self, asked: Counts, way: Pass, passed_over: Sequence[Uncounted] = ()
    ) -> None:
        """Remember what was counted in a pass."""
        if way.again:
            return
        if way.source is None:
            self.asked, self._passed_over = asked, list(passed_over)
        else:
            self._readings.append((way.source, asked, passed_over))

    def answers_of(
        self,
        queries: Sequence[RowQuery | StreamQuery],
        batch: RowBatch,
        *,
        reverse: bool,
    ) -> Iterator[tuple[bytes, Refused | None]]:
        """Ask the rows of a batch; yield lines, and the row behind them that has no answer.

        A refusal comes once, however many queries ask the row, and those of several
        queries come in the order of the rows, however these were divided into batches.
        """
        if len(queries) == 1:
            for answers in self._answers(queries[0], batch, reverse=reverse):
                yield answers.lines, answers.refused
            return
        refusals: dict[Refused, int] = {}
        for query in queries:
            for answers in self._answers(query, batch, reverse=reverse):
                yield answers.lines, None
                if answers.refused is not None:
                    refusals.setdefault(answers.refused, answers.asked)
                    if self.options.on_error == "abort":
                        break
        for refused in sorted(refusals, key=refusals.__getitem__):
            yield b"", refused

    def _answers(
        self, query: RowQuery | StreamQuery, batch: RowBatch, *, reverse: bool
    ) -> Iterator[Answers]:
        """Ask the rows of a batch, going on behind those that have no answer."""
        start = 0
        while start < len(batch) and not query.done:
            answers = query.answer(batch, start, reverse=reverse)
            self._say_what_is_held(query)
            yield answers
            for partners in self._partners:
                partners.raise_error()
            start = answers.asked

    def _refuse(
        self, file: Placing, batch: RowBatch, refused: Refused, way: Pass
    ) -> None:
        """Raise what is wrong with a row, or pass over it and remember or tell it."""

        def raw() -> bytes | None:
            (content,) = batch.slice(refused.row - batch.first_row, 1).contents()
            return content

        self._pass_over(
            lambda: _error(file, refused, reverse=way.reverse), raw, again=way.again
        )

    def _pass_over(
        self,
        error: Callable[[], BadRowError | RowFailedError],
        raw: Callable[[], bytes | None],
        *,
        again: bool = False,
    ) -> None:
        """Raise the error of a row, or remember or tell it, making only what is needed."""
        on_error = self.options.on_error
        if on_error == "abort":
            raise error()
        if again:
            return
        self.bad += 1
        keep = len(self.errors) < FIRST_BAD
        if self.tell is None and not keep and on_error == "skip":
            return
        made = error()
        if keep or self.tell is None:
            self.errors.append(made)
        if self.tell is not None:
            self.tell(BadRow(made, raw()))

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


def _counted(asked: Counts, passed_over: Iterable[Uncounted]) -> Counts:
    return sum((each.counts for each in passed_over), asked)


def _most_rows(queries: Sequence[RowQuery | StreamQuery]) -> Counts:
    return max((query.counts for query in queries), key=_rows_of)


def counts_up_to_refusal(queries: Sequence[RowQuery | StreamQuery]) -> Counts:
    """Return what was counted up to a row that ends the run; other queries may be ahead."""
    going = [query for query in queries if not query.done] or queries
    # Of those that have come as far, one has passed over the row.
    return min(
        (query.counts for query in going),
        key=lambda counts: (counts.rows, -counts.skipped),
    )


def _rows_of(counts: Counts) -> int:
    return counts.rows


def _error(
    rows: Placing, refused: Refused, *, reverse: bool
) -> BadRowError | RowFailedError:
    path = rows.source.location
    line, offset = rows.place(refused.row, refused.offset, reverse=reverse)
    if refused.column is None:
        return BadRowError(path, line, offset, refused.reason)
    return RowFailedError(path, line, offset, refused.reason, refused.column)
