"""Run of a query: its subqueries, its joins and its main part, over the rows of files.

`execute` is the run. It reaches rows by the four functions of `Streams`: those of this process
read all rows here, and those of `headrace.engines.spark.query.engine` have tasks read the main source.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from headrace.engines.query.report import RunReport
from headrace.engines.query.scan import (
    QueryInput,
    Scanner,
    Sharing,
    ZippedLines,
    rows_by_proven_index,
    scan_of,
    scan_of_rows,
)
from headrace.errors import QueryFailedError, RowFailedError
from headrace.kernel.programs import RowQuery, Sources, Stage, StreamQuery
from headrace.kernel.rows import rows_of
from headrace.kernel.values import DEEPEST
from headrace.logical.methods import union
from headrace.physical.query_plan import (
    ELEMENTS,
    JoinPlan,
    PlainStage,
    RowPlan,
    StreamPlan,
    ValuePlan,
    ZipPlan,
    whole_row,
)
from headrace.record import field, mutable_record, record, replace
from headrace.store.rows.demand import KeySet, Lanes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from headrace.engines.query.options import QueryOptions, Shape
    from headrace.engines.query.scan import Query, Rows, Scan
    from headrace.kernel.programs import Cancel, JoinTable, Program
    from headrace.kernel.rows import RowBatch
    from headrace.kernel.sort_keys import KeyedRows
    from headrace.physical.query_plan import QueryPlan
    from headrace.store.index.key_scan import Proven


@record
class LineForm:
    """The lines of an answer: null elements only with `nulls`, and at most `limit` lines."""

    nulls: bool = True
    limit: int | None = None


ALL_LINES = LineForm()

GROUP_BYTES = 32 << 20
"""Groups of some rows that hold this much are merged into those of all rows: rows of a group that
come closer together are merged where they are read."""


class Streams(NamedTuple):
    """The access of an engine to rows.

    `rows` yields the lines of a query over each row, `lines` those of a plan over all rows.
    `values` returns the answers of plans over the same rows, each as one value. `scan` puts
    the rows of a scan through queries, and yields their lines; threads may share it.
    """

    rows: Callable[[RowPlan], Iterator[bytes]]
    lines: Callable[[StreamPlan, LineForm], Iterator[bytes]]
    values: Callable[[Sequence[StreamPlan]], list[bytes]]
    scan: Callable[[Sequence[Query], Scan, Sharing | None], Iterator[bytes]]


def local_streams(run: QueryRun) -> Streams:
    """Return the access of this process, which reads all rows."""
    return Streams(
        partial(lines_of_rows, run),
        partial(lines_of, run),
        partial(values_of, run),
        run.scanner.read,
    )


@record
class LeftKeysFirst:
    """Of a right side that is much larger, hold only rows with a key of the left side."""


@record
class WholeTables:
    """Hold all rows of the right sides: the left rows come in batches, from the caller."""


@record
class ProvenIndexes:
    """Of the right sides of `joins`, hold only rows with a key of `rows`, found by index.

    The indexes are `proven` to fit their files. Other right sides are held whole.
    """

    joins: tuple[JoinPlan, ...]
    proven: tuple[Proven, ...]
    rows: Callable[[], Iterable[RowBatch]] = tuple


TableAccess: TypeAlias = LeftKeysFirst | WholeTables | ProvenIndexes


@mutable_record
class QueryRun:
    """One run of a query: it makes the core's queries, and reads join tables for them.

    `known` are the results of subqueries, which programs read by number.
    """

    plan: QueryPlan
    options: QueryOptions
    scanner: Scanner
    table_access: TableAccess
    streams: Streams = field(init=False)
    known: tuple[str, ...] | None = None
    _sources: Sources | None = None
    _sources_size: int = 0
    _tables: dict[JoinPlan, JoinTable] = field(default_factory=dict)

    @property
    def report(self) -> RunReport:
        """The counts, errors and progress of this run."""
        return self.scanner.report

    @property
    def files(self) -> Mapping[str | None, Sequence[Rows]]:
        """The sources by name; that of the main source is None."""
        return self.scanner.files

    def set_known(self, texts: Sequence[str]) -> None:
        """Set the results of subqueries."""
        self.known = tuple(texts)
        self._sources_size = sum(map(len, texts))
        # An array of rows is one level deeper than they are.
        self._sources = Sources(list(texts), self.options.max_depth + 1)

    def rows_of(self, name: str | None) -> int | None:
        """Estimate how many rows a source has; None if that is unknown."""
        from headrace.physical.joins import estimated_rows

        if name is not None and name in self.options.size_hints:
            return self.options.size_hints[name]
        sources = [file.source for file in self.files[name]]
        if any(source.is_pipe for source in sources):
            return None
        return estimated_rows(sum(source.size for source in sources))

    def request_lanes(self, name: str | None, several: Sequence[Lanes]) -> None:
        """Restrict the fields that the core records of a source to those that are needed."""
        if not self.options.lanes:
            return
        together = Lanes(
            union(lanes.scan for lanes in several),
            union(lanes.result for lanes in several),
            all(lanes.selective for lanes in several),
        )
        for rows in self.files[name]:
            rows.request_lanes(together)

    @property
    def held(self) -> int:
        """How many bytes the results of subqueries and the tables of joins hold."""
        return self._sources_size + sum(table.held for table in self._tables.values())

    # Queries of the core

    def row_query(self, main: RowPlan, cancel: Cancel | None = None) -> RowQuery:
        """Return the query over each row."""
        options = self.options
        return RowQuery(
            main.program,
            output=options.output,
            nulls=options.nulls,
            limit=options.limit,
            max_depth=options.max_depth,
            frame=options.frame,
            whole=not options.lanes,
            sources=self._sources,
            cancel=cancel,
        )

    def stream_query(
        self,
        plan: StreamPlan,
        reduction: str,
        *,
        limit: int | None = None,
        nulls: bool = True,
        last: Stage | None = None,
        cancel: Cancel | None = None,
    ) -> StreamQuery:
        """Return the query over the rows of a plan; join tables are read for it."""
        stages = [self.stage(plan, at) for at in range(len(plan.stages))]
        own = {self._tables[stage] for stage in plan.stages if stage in self._tables}
        others = set(self._tables.values()) - own
        return StreamQuery(
            stages if last is None else [*stages, last],
            reduction=reduction,
            limit=limit,
            nulls=nulls,
            max_memory=self.options.max_memory,
            held_before=self._sources_size + sum(table.held for table in others),
            # Elements that were made of rows may be deeper than these.
            max_depth=(DEEPEST if plan.source == ELEMENTS else self.options.max_depth),
            frame=self.options.frame if plan.source is None else None,
            whole=not self.options.lanes,
            prune=plan.prune if last is None else None,
            slots=plan.slots,
            sources=self._sources,
            cancel=cancel,
            counts_elements=self.options.analyze,
        )

    def lines_query(
        self, plan: StreamPlan, form: LineForm, cancel: Cancel | None = None
    ) -> StreamQuery:
        """Return the query that makes lines of the rows of a plan."""
        return self.stream_query(
            plan, "lines", nulls=form.nulls, limit=form.limit, cancel=cancel
        )

    def reducing_query(
        self, plan: StreamPlan, cancel: Cancel | None = None
    ) -> StreamQuery:
        """Return the query that reduces the rows of a plan to one value."""
        reduction = "collect" if plan.reduction == "lines" else plan.reduction
        return self.stream_query(plan, reduction, limit=plan.limit, cancel=cancel)

    def keyed_rows(
        self,
        plan: StreamPlan,
        key: bytes,
        then: StreamPlan,
        *,
        descending: Sequence[bool],
        joins: bool,
        compact: bool,
    ) -> KeyedRows:
        """Return the core's maker of elements of `plan` with keys, which then go through `then`."""
        from headrace.kernel.sort_keys import KeyedRows

        return KeyedRows(
            key,
            stages=[self.stage(plan, at) for at in range(len(plan.stages))],
            then=[self.stage(then, at) for at in range(len(then.stages))],
            falling=descending,
            joins=joins,
            compact=compact,
            max_depth=self.options.max_depth,
            frame=self.options.frame if plan.source is None else None,
            whole=not self.options.lanes,
            sources=self._sources,
            counts_elements=self.options.analyze,
        )

    def finish(
        self, plans: Sequence[StreamPlan], queries: Sequence[StreamQuery]
    ) -> list[bytes]:
        """Return the answers of plans whose queries have read all rows."""
        with self.report.finishing():
            results = [
                self._reduced(plan, query)
                for plan, query in zip(plans, queries, strict=True)
            ]
            return [
                result
                if plan.rest is None
                else self.of_reduced(plan, plan.rest, result)
                for plan, result in zip(plans, results, strict=True)
            ]

    def _reduced(self, plan: StreamPlan, query: StreamQuery) -> bytes:
        try:
            return query.finish()
        except QueryFailedError as error:
            from headrace.engines.query import failed_rows

            raise failed_rows.of_reduction(self, plan, error) from None

    def of_reduced(self, plan: StreamPlan, rest: Program, reduced: bytes) -> bytes:
        """Return the answer of the rest of a plan, which runs on the reduced rows."""
        depth = self.options.max_depth + plan.result_depth
        try:
            return rest.evaluate(reduced, depth, self._sources)
        except QueryFailedError as error:
            from headrace.engines.query import failed_rows

            raise failed_rows.of_rest(self, plan, error) from None

    def evaluate(self, plan: ValuePlan) -> bytes:
        """Return the answer of a plan that reads only the results of subqueries."""
        with self.report.finishing():
            return plan.program.evaluate(b"null", self.options.max_depth, self._sources)

    # Joins

    def stage(self, plan: StreamPlan, at: int) -> Stage:
        """Return a stage of a plan; the table of a join is read."""
        match plan.stages[at]:
            case PlainStage(kind, code, count):
                return Stage.plain(kind, code, count)
            case ZipPlan(right, longest):
                zipped = ZippedLines(self.streams.lines(right, ALL_LINES))
                self.scanner.zipped.append(zipped)
                return Stage.zip(zipped, longest)
            case JoinPlan() as join:
                if join not in self._tables:
                    self.report.discard_index_counts(join)
                    self._tables[join] = self._read_table(plan, at, join)
                return Stage.join(join.kind, join.key, self._tables[join], join.name)

    def has_table(self, join: JoinPlan) -> bool:
        """Whether the table of a join has been read."""
        return join in self._tables

    def discard_tables(self, joins: Iterable[JoinPlan]) -> None:
        """Discard tables, which are read again when they are needed."""
        for join in joins:
            self._tables.pop(join, None)

    def _read_table(self, plan: StreamPlan, at: int, join: JoinPlan) -> JoinTable:
        left = replace(plan, stages=plan.stages[:at], reduction="lines")
        wanted: JoinTable | None = None
        proven: tuple[Proven, ...] | None = None
        match self.table_access:
            case LeftKeysFirst() if self._left_is_smaller(left, join):
                keys = Stage.table(None, join.key, None)
                # A second scan of these rows reports their errors.
                wanted = self._fill(left, keys, join, again=True)
            case ProvenIndexes() as indexes if join in indexes.joins:
                wanted, proven = self._keys_of_batches(left, join), indexes.proven
            case _:
                pass
        table = Stage.table(join.kind, join.right_key, wanted)
        keys_wanted = self._keys(join, wanted)
        return self._fill(join.right, table, join, keys=keys_wanted, proven=proven)

    def _left_is_smaller(self, left: StreamPlan, join: JoinPlan) -> bool:
        """Whether the left side is much smaller, and can be read twice."""
        from headrace.physical.joins import left_keys_first

        if any(file.source.is_pipe for file in self.files[left.source]) or any(
            isinstance(stage, ZipPlan) for stage in left.stages
        ):
            return False
        left_rows, right_rows = map(self.rows_of, (left.source, join.right.source))
        return left_keys_first(left_rows, right_rows)

    def _keys_of_batches(self, left: StreamPlan, join: JoinPlan) -> JoinTable:
        """Return the keys of the batches that `ProvenIndexes` names."""
        assert isinstance(self.table_access, ProvenIndexes)
        keys = Stage.table(None, join.key, None)
        query = self.stream_query(left, "count", last=keys)
        for batch in self.table_access.rows():
            for _ in self.scanner.answers_of([query], batch, reverse=False):
                # The query itself reports bad rows.
                pass
        return query.table()

    def _keys(self, join: JoinPlan, wanted: JoinTable | None) -> KeySet | None:
        """Return the keys of the right rows that are needed, if an index may find them."""
        from headrace.logical.key_filter import keys_of

        if wanted is None or join.right_fields is None or not self.options.index:
            return None
        texts = wanted.keys(KeySet.most)
        return None if texts is None else keys_of(join.right_fields, texts)

    def can_look_up(self, left: StreamPlan, join: JoinPlan) -> bool:
        """Whether proven indexes can find the right rows of a join with the current batches."""
        from headrace.store.index.key_scan import KeyRows

        assert isinstance(self.table_access, ProvenIndexes)
        keys = self._keys(join, self._keys_of_batches(left, join))
        proven = self.table_access.proven
        return keys is not None and all(
            isinstance(rows_by_proven_index(file, keys, self.options, proven), KeyRows)
            for file in self.files[join.right.source]
        )

    def _fill(
        self,
        plan: StreamPlan,
        table: Stage,
        join: JoinPlan,
        *,
        again: bool = False,
        keys: KeySet | None = None,
        proven: tuple[Proven, ...] | None = None,
    ) -> JoinTable:
        """Return a table for a join with the elements of a plan.

        They are at least those that have one of `keys`.
        """
        if plan.reduction == "lines":
            query = self.stream_query(plan, "count", last=table)
            # The table keeps whole elements.
            self.request_lanes(plan.source, [Lanes()])
            scan = replace(scan_of(plan, None), again=again, join=join)
            if keys is not None:
                scan = replace(scan, keys=keys, proven=proven, all_emitted=True)
            read_all(self, [query], scan)
            return query.table()
        value = value_of(self, plan)
        elements = replace(plan, source=ELEMENTS, stages=(), reduction="lines")
        query = self.stream_query(elements, "count", last=table)
        for batch in rows_of(elements_of(value, ALL_LINES)):
            refused = query.answer(batch, 0).refused
            if refused is not None:
                name, column = f"@{plan.source}", refused.column or 1
                raise RowFailedError(name, None, 0, refused.reason, column)
        return query.table()


class Engine(Protocol):
    """Runs queries: `LocalEngine`, or `SparkEngine` of `headrace.engines.spark.query.engine`."""

    def answers(self, query: QueryInput, report: RunReport) -> Iterator[bytes]:
        """Yield the lines of output, many at a time; a long line comes in pieces."""

    def explain(self, query: QueryInput) -> Iterator[str]:
        """Yield how the work is divided."""


class LocalEngine:
    """Runs queries in this process."""

    def answers(self, query: QueryInput, report: RunReport) -> Iterator[bytes]:
        """Yield the lines of output, many at a time; a long line comes in pieces."""
        return execute(begin(query, report))

    def explain(self, _query: QueryInput) -> Iterator[str]:
        """Yield nothing: the work is not divided."""
        return iter(())


def begin(
    query: QueryInput,
    report: RunReport | None = None,
    table_access: TableAccess | None = None,
) -> QueryRun:
    """Return a run that has read nothing yet, in this process."""
    report = report or RunReport(query.options.on_error)
    report.files = query.files
    scanner = Scanner(query.sources, query.options, report, query.plan.places)
    access = table_access or LeftKeysFirst()
    run = QueryRun(query.plan, query.options, scanner, access)
    run.streams = local_streams(run)
    return run


def execute(run: QueryRun) -> Iterator[bytes]:
    """Yield the lines of output, many at a time; a long line comes in pieces."""
    _run_subqueries(run)
    yield from (lines for lines in _main_lines(run) if lines)


def _main_lines(run: QueryRun) -> Iterator[bytes]:
    main, options = _shaped(run.plan.main, run.options.shape), run.options
    form = LineForm(options.nulls, options.limit)
    match main:
        case RowPlan():
            return run.streams.rows(main)
        case StreamPlan():
            return run.streams.lines(_in_order(main, options), form)
        case ValuePlan():
            return lines_of_value(run.evaluate(main), main, form)


def _run_subqueries(run: QueryRun) -> None:
    """Set the results of the subqueries, which the programs read by number."""
    answers: dict[int, bytes] = {}
    plans = [_in_order(plan, run.options) for plan in run.plan.questions]
    over_main = [at for at, each in enumerate(plans) if each.source is None]
    # Several over the main source do not depend on others, and share a scan; later plans
    # may depend on a single one.
    together = over_main if len(over_main) > 1 else []
    for number, plan in enumerate(plans):
        if number not in together:
            run.report.parts = (number,)
            answers[number] = value_of(run, plan)
            _set_known(run, answers)
    if together:
        run.report.parts = together
        values = run.streams.values([plans[at] for at in together])
        answers.update(zip(together, values, strict=True))
        _set_known(run, answers)
    run.report.parts = ()


def _in_order(plan: StreamPlan, options: QueryOptions) -> StreamPlan:
    """Return a plan that reads the main source in the direction of the options."""
    if plan.source is not None:
        return plan
    return replace(plan, reverse=options.reverse != plan.reverse)


def _set_known(run: QueryRun, answers: Mapping[int, bytes]) -> None:
    """Set the results of subqueries; those that have not run yet are null."""
    numbers = range(len(run.plan.questions))
    run.set_known([answers.get(number, b"null").decode() for number in numbers])


def lines_of_rows(run: QueryRun, main: RowPlan) -> Iterator[bytes]:
    """Yield the lines of a query over each row, with one scan."""
    matches = run.options.output == "match"
    run.request_lanes(
        None, [Lanes(main.fields, None if matches else main.fields, matches)]
    )
    query = run.row_query(main)
    sharing = Sharing(
        lambda cancel: [run.row_query(main, cancel)],
        lines=True,
        limit=run.options.limit,
    )
    yield from run.streams.scan([query], scan_of_rows(main, run.options), sharing)


def lines_of(run: QueryRun, plan: StreamPlan, form: LineForm) -> Iterator[bytes]:
    """Yield the answer of a plan, one element on a line, with one scan."""
    if plan.reduction == "lines":
        query = run.lines_query(plan, form)
        run.request_lanes(plan.source, [plan.lanes])
        sharing = Sharing(
            lambda cancel: [run.lines_query(plan, form, cancel)],
            lines=True,
            limit=form.limit,
        )
        yield from run.streams.scan(
            [query], scan_of(plan, form.limit), _if_divisible(sharing, [plan])
        )
        yield query.end()
        return
    if (order := plan.order) is not None and run.streams.scan == run.scanner.read:
        from headrace.engines.query.sorted_lines import sorted_lines, sorts_lines

        if sorts_lines(run, plan, order):
            yield from sorted_lines(run, plan, order, form)
            return
    yield from lines_of_value(value_of(run, plan), plan, form)


def value_of(run: QueryRun, plan: StreamPlan) -> bytes:
    """Return the answer of a plan as one value."""
    if _needs_only_tail(run, plan):
        plan = replace(plan, reverse=True, reduction="last_from_end")
    (value,) = run.streams.values([plan])
    return value


def values_of(
    run: QueryRun, plans: Sequence[StreamPlan], *, again: bool = False
) -> list[bytes]:
    """Return the answers of plans over the same rows, with one scan.

    `again`: an earlier scan has reported the errors and counts of these rows.
    """
    queries = [run.reducing_query(plan) for plan in plans]
    run.request_lanes(plans[0].source, [plan.lanes for plan in plans])
    if len(plans) == 1:
        scan = scan_of(plans[0], plans[0].limit)
    else:
        scan = replace(scan_of(plans[0], None), stages=(), keys=None, ends_early=False)
    scan = replace(scan, again=again)
    sharing = Sharing(
        lambda cancel: [run.reducing_query(plan, cancel) for plan in plans],
        lines=False,
        limit=plans[0].limit if _collects(plans[0]) else None,
    )
    read_all(run, queries, scan, _if_divisible(sharing, plans))
    return run.finish(plans, queries)


def _if_divisible(sharing: Sharing, plans: Sequence[StreamPlan]) -> Sharing | None:
    """Return how threads can share a scan; None if they cannot."""
    from headrace.physical.access import why_indivisible

    return sharing if why_indivisible(plans) is None else None


def _collects(plan: StreamPlan) -> bool:
    return plan.reduction in ("lines", "collect")


def _needs_only_tail(run: QueryRun, plan: StreamPlan) -> bool:
    """Whether the last rows of the last files are enough."""
    from headrace.physical.access import choose_scan

    files = run.files[plan.source]
    return bool(files) and all(
        choose_scan(plan, rows.capabilities) == "tail" for rows in files
    )


def read_all(
    run: QueryRun,
    queries: Sequence[StreamQuery],
    scan: Scan,
    sharing: Sharing | None = None,
) -> None:
    """Put all rows of a scan through queries that yield no lines."""
    for lines in run.streams.scan(queries, scan, sharing):
        if lines:
            raise AssertionError("a query that reduces rows has no lines")
    for query in queries:
        query.end()


def lines_of_value(
    value: bytes, plan: StreamPlan | ValuePlan, form: LineForm
) -> Iterator[bytes]:
    """Yield the value of a plan as a line, or the elements of an array as lines."""
    if plan.spread and value.startswith(b"["):
        yield elements_of(value, form)
    elif form.nulls or value != b"null":
        yield value + b"\n"


def elements_of(value: bytes, form: LineForm) -> bytes:
    """Return the elements of an array, each on a line."""
    query = RowQuery(
        whole_row(),
        output="elements",
        nulls=form.nulls,
        limit=form.limit,
        max_depth=1000,
    )
    batches = (batch for batch in rows_of(value) if not query.done)
    return b"".join(query.answer(batch, 0).lines for batch in batches)


def _shaped(
    main: RowPlan | StreamPlan | ValuePlan, shape: Shape | None
) -> RowPlan | StreamPlan | ValuePlan:
    """Return a plan whose answer has the form that the options name."""
    if shape is None or isinstance(main, RowPlan):
        return main
    spread = shape == "lines"
    if isinstance(main, ValuePlan):
        return replace(main, spread=spread)
    if main.reduction == "lines":
        return main if spread else replace(main, reduction="collect")
    if main.spread == spread:
        return main
    # `order` and `group` describe the answer in its former shape.
    return replace(main, spread=spread, order=None, group=None)
