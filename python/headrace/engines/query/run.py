"""Running a query over the rows of files.

A run reads all rows in this process; the Spark engine goes on from it and has tasks read
the rows of the main source instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headrace.engines.query.scan import Partners, Pass, RowPasses
from headrace.errors import RowFailedError
from headrace.kernel.programs import RowQuery, Sources, Stage, StreamQuery
from headrace.kernel.rows import rows_of
from headrace.kernel.sort_keys import KeyedRows
from headrace.kernel.values import DEEPEST
from headrace.logical.demand import union
from headrace.logical.key_filter import keys_of
from headrace.physical.access import choose_scan
from headrace.physical.joins import estimated_rows, left_keys_first
from headrace.physical.query_plan import (
    JoinPlan,
    PlainStage,
    RowPlan,
    StreamPlan,
    ValuePlan,
    ZipPlan,
    whole_row,
)
from headrace.store.rows.demand import KeySet, Lanes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headrace.engines.query.options import Shape
    from headrace.engines.query.scan import Rows
    from headrace.kernel.programs import JoinTable

ELEMENTS = ""
"""A source that is none, with elements that were made before: nothing frames them."""


@dataclass(slots=True)
class QueryRun(RowPasses):
    """One run of a query over some files.

    `whole_tables`: the right sides of joins are held whatever the left side is. `known` are
    the answers that programs have by number.
    """

    whole_tables: bool = False
    known: tuple[str, ...] | None = None
    _values: Sources | None = None
    _values_held: int = 0
    _tables: dict[JoinPlan, JoinTable] = field(default_factory=dict)

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

    def _main_lines(self) -> Iterator[bytes]:
        main, options = _shaped(self.plan.main, self.options.shape), self.options
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
        """Yield a value as a line, or the elements of an array as lines."""
        if spread and value.startswith(b"["):
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
        depth = self.options.max_depth
        return [
            result
            if plan.rest is None
            else plan.rest.evaluate(result, depth + plan.result_depth, self._values)
            for plan, result in zip(plans, [q.finish() for q in queries], strict=True)
        ]

    def _tail_is_enough(self, plan: StreamPlan) -> bool:
        """Whether the last rows of the last files are all that is needed."""
        files = self._files[plan.source]
        return bool(files) and all(
            choose_scan(plan, rows.capabilities) == "tail" for rows in files
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
            slots=plan.slots,
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
                partners = Partners(self._lines(right, nulls=True, limit=None))
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

    def _drive(self, queries: Sequence[StreamQuery], way: Pass) -> None:
        """Take in all rows of a pass."""
        for lines in self._asked(queries, way):
            if lines:
                raise AssertionError("what is reduced has no lines")
        for query in queries:
            query.end()


def _shaped(
    main: RowPlan | StreamPlan | ValuePlan, shape: Shape | None
) -> RowPlan | StreamPlan | ValuePlan:
    """Return a plan whose answer has the shape that the options ask for."""
    if shape is None or isinstance(main, RowPlan):
        return main
    spread = shape == "lines"
    if isinstance(main, ValuePlan):
        return replace(main, spread=spread)
    if main.reduction == "lines":
        return main if spread else replace(main, reduction="collect")
    if main.spread == spread:
        return main
    # Without what says the same in another shape.
    return replace(main, spread=spread, order=None, group=None)
