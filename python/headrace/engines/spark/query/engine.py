"""Spark engine of queries: one function for each strategy of `headrace.physical.distribution`.

All that tasks cannot do is done by the same functions as in one process
(`headrace.engines.query.run`), which reach the rows of the main source by these `Streams`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from headrace.engines.query.run import (
    ALL_LINES,
    LineForm,
    Streams,
    begin,
    execute,
    lines_of,
    lines_of_rows,
    lines_of_value,
    values_of,
)
from headrace.engines.query.scan import main_scan, scan_of, scan_of_rows
from headrace.engines.spark.query.joins import (
    choices,
    joins_in_tasks,
    read_right_sides,
    reads_here,
    task_query,
)
from headrace.engines.spark.query.merged_groups import (
    group_query,
    lines_of_groups,
    value_of_groups,
)
from headrace.engines.spark.query.run import (
    PARTITION_BYTES,
    SparkRun,
    filter_of,
    rerun,
)
from headrace.engines.spark.query.shuffles import (
    grouped_lines,
    lines_of_shuffle,
    shuffle_by_key,
    sorted_lines,
    value_of_shuffle,
)
from headrace.errors import MemoryExceededError
from headrace.kernel.programs import Counts
from headrace.kernel.rows import RowBatch
from headrace.physical.distribution import (
    DriverScan,
    Found,
    Grouped,
    Joined,
    SiftedRows,
    Sorted,
    TaskLines,
    TaskParts,
    Unique,
    described,
    described_joins,
    may_end_early,
    sifting,
    strategy_of,
)
from headrace.physical.query_plan import StreamPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from headrace.engines.query.report import RunReport
    from headrace.engines.query.run import QueryRun
    from headrace.engines.query.scan import Query, QueryInput, Scan, Sharing
    from headrace.engines.spark.query.row_order import PlacedChunk
    from headrace.engines.spark.query.run import RunTasks
    from headrace.engines.spark.query.task_query import Chunk, TaskQuery
    from headrace.kernel.programs import StreamQuery
    from headrace.physical.distribution import Strategy
    from headrace.physical.query_plan import RowPlan
    from headrace.store.rows.row_file import RowOptions


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """Runs queries with tasks of Spark; `start` starts it when the first tasks run."""

    start: Callable[[], RunTasks]
    reading: RowOptions
    partition_bytes: int = PARTITION_BYTES

    def answers(self, query: QueryInput, report: RunReport) -> Iterator[bytes]:
        """Yield the lines of output, many at a time; a long line comes in pieces."""
        return execute(self._begin(query, report).run)

    def explain(self, query: QueryInput) -> Iterator[str]:
        """Yield how the work is divided, and how named sources are joined with."""
        spark = self._begin(query)
        found = _found(spark)
        yield described(query.plan, found)
        if found is None or not found.here:
            yield described_joins(choices(spark))

    def _begin(self, query: QueryInput, report: RunReport | None = None) -> SparkRun:
        run = begin(query, report)
        spark = SparkRun(run, self.start, self.reading, self.partition_bytes)
        run.streams = Streams(
            partial(_rows, spark),
            partial(_lines, spark),
            partial(_values, spark),
            partial(_scan, spark),
        )
        return spark


def _found(spark: SparkRun) -> Found | None:
    """Return the rows that key indexes find, and whether the driver reads them."""
    scan = main_scan(spark.run.plan, spark.run.options)
    found = () if scan is None else spark.indexed(scan)
    if scan is None or not found:
        return None
    return Found(
        sum(file.rows for file in found if file),
        reads_here(spark, scan),
        spark.order_of(None, found).size,
        sum(file.source.size for file in spark.run.files[None]),
    )


# Streams, with a strategy for each plan


def _rows(spark: SparkRun, main: RowPlan) -> Iterator[bytes]:
    options = spark.run.options
    if options.reverse or reads_here(spark, scan_of_rows(main, options)):
        return lines_of_rows(spark.run, main)
    form = LineForm(options.nulls, options.limit)
    return _task_lines(spark, replace(task_query(spark, "lines", (main,)), form=form))


def _lines(spark: SparkRun, plan: StreamPlan, form: LineForm) -> Iterator[bytes]:
    match _lines_strategy(spark, plan, form.limit):
        case TaskLines():
            read_right_sides(spark, plan)
            query = task_query(spark, "lines", (plan,))
            return _task_lines(spark, replace(query, form=form))
        case TaskParts() if plan.merged is not None:
            return _lines_of_groups(spark, plan, form)
        case Sorted() | Grouped() as strategy:
            return _shuffled_lines(spark, plan, strategy, form)
        case Unique() | Joined() as strategy if (
            plan.reduction == "lines" and form.limit is None
        ):
            result = shuffle_by_key(spark, plan, strategy, form)
            if result is not None:
                return lines_of_shuffle(spark, result, form)
        case DriverScan() | TaskParts() | SiftedRows() | Unique() | Joined():
            pass
    return lines_of(spark.run, plan, form)


def _values(spark: SparkRun, plans: Sequence[StreamPlan]) -> list[bytes]:
    if len(plans) == 1 and reads_here(spark, scan_of(plans[0], plans[0].limit)):
        return values_of(spark.run, plans)
    limited = len(plans) > 1 and any(plan.limit is not None for plan in plans)
    if not limited and all(
        isinstance(_strategy(spark, plan), (TaskParts, Sorted, Grouped))
        for plan in plans
    ):
        return _task_values(spark, plans)
    strategy = _strategy(spark, plans[0])
    if len(plans) == 1 and isinstance(strategy, (Unique, Joined)):
        plan = plans[0]
        if plan.reduction == "lines":
            # Tasks reduce the elements to one array, and do not write them as lines.
            plan = replace(plan, reduction="collect")
        result = shuffle_by_key(spark, plan, strategy, ALL_LINES)
        if result is not None:
            return [value_of_shuffle(spark, result)]
    return values_of(spark.run, plans)


def _scan(
    spark: SparkRun,
    queries: Sequence[Query],
    scan: Scan,
    sharing: Sharing | None,
) -> Iterator[bytes]:
    if scan.source is None and not scan.reverse and not reads_here(spark, scan):
        plan = StreamPlan(None, scan.stages, "count", keys=filter_of(scan.keys))
        stages = sifting(scan.stages, joins_in_tasks(spark, plan))
        if stages:
            query = task_query(spark, "rows", (replace(plan, stages=stages),))
            yield from _sifted_rows(spark, query, queries, scan)
            return
    yield from spark.run.scanner.read(queries, scan, sharing)


def _lines_strategy(spark: SparkRun, plan: StreamPlan, limit: int | None) -> Strategy:
    """Return the strategy for the lines of a plan, as far as it depends on the files."""
    if reads_here(spark, scan_of(plan, limit)):
        return DriverScan("key indexes find few rows")
    strategy = _strategy(spark, plan)
    if isinstance(strategy, (Sorted, Grouped)) and spark.is_small(
        spark.main_order(plan), tasks=1
    ):
        return TaskParts("one task reads all rows")
    return strategy


def _strategy(spark: SparkRun, plan: StreamPlan) -> Strategy:
    return strategy_of(plan, joins_in_tasks(spark, plan))


# Lines of output that tasks make


def _task_lines(spark: SparkRun, query: TaskQuery) -> Iterator[bytes]:
    """Yield the lines that tasks make, in the order of the rows."""
    order, left, report = spark.counted_order(query), query.form.limit, spark.run.report
    if left == 0:
        return
    for placed in spark.chunks(query, order, early=left is not None):
        chunks: Iterable[Chunk] = [placed.chunk]
        if left is not None and placed.chunk.lines.count(b"\n") >= left:
            form = replace(query.form, limit=left)
            chunks = rerun(replace(query, form=form), placed)
        for chunk in chunks:
            yield chunk.lines
            report.read += chunk.counts
            if left is not None:
                left -= chunk.lines.count(b"\n")
            spark.report_chunk(replace(placed, chunk=chunk))
        if left == 0:
            return


def _shuffled_lines(
    spark: SparkRun, plan: StreamPlan, strategy: Sorted | Grouped, form: LineForm
) -> Iterator[bytes]:
    """Yield the lines of a sort or of groups, without a shuffle if it cannot give them."""
    match strategy:
        case Sorted():
            lines = sorted_lines(spark, plan, strategy, form)
        case Grouped():
            lines = grouped_lines(spark, plan, strategy, form)
    if lines is None:
        # The survey has reported the bad rows.
        (value,) = _task_values(spark, [plan], again=True)
        lines = lines_of_value(value, plan, form)
    yield from lines


# Parts that tasks reduce their rows to


def _task_values(
    spark: SparkRun, plans: Sequence[StreamPlan], *, again: bool = False
) -> list[bytes]:
    """Return the values of plans whose rows tasks reduce; `again`: bad rows are reported."""
    reduced = _reduced_by_tasks(spark, plans, again=again)
    if isinstance(reduced, _TooMany):
        return [value_of_groups(spark, plans[0], reduced.size)]
    return spark.run.finish(plans, reduced)


def _lines_of_groups(
    spark: SparkRun, plan: StreamPlan, form: LineForm
) -> Iterator[bytes]:
    """Yield the lines of a plan about groups with aggregates."""
    reduced = _reduced_by_tasks(spark, [plan])
    if isinstance(reduced, _TooMany):
        yield from lines_of_groups(spark, plan, reduced.size, form)
    else:
        (value,) = spark.run.finish([plan], reduced)
        yield from lines_of_value(value, plan, form)


class _TooMany(NamedTuple):
    """Groups that are more than the driver holds; `size` is how many bytes tasks have sent."""

    size: int


def _reduced_by_tasks(
    spark: SparkRun, plans: Sequence[StreamPlan], *, again: bool = False
) -> list[StreamQuery] | _TooMany:
    """Return the queries of plans with the merged parts of all tasks."""
    for plan in plans:
        read_right_sides(spark, plan)
    if len(plans) == 1 and plans[0].merged is not None:
        return _merged_groups(spark, plans[0])
    run = spark.run
    queries = [run.reducing_query(replace(plan, stages=())) for plan in plans]
    _merge(spark, queries, task_query(spark, "parts", plans), again=again)
    return queries


def _merged_groups(spark: SparkRun, plan: StreamPlan) -> list[StreamQuery] | _TooMany:
    """Merge the groups of tasks, as far as they fit into memory; all rows are read and reported."""
    report, query, size = spark.run.report, group_query(spark, plan), 0
    merging = spark.run.reducing_query(replace(plan, stages=()))
    full: MemoryExceededError | None = None
    is_distrusted = False
    for placed in spark.chunks(query, spark.counted_order(query)):
        (part,) = placed.chunk.parts
        size += len(part)
        is_distrusted |= placed.is_distrusted
        if full is None:
            try:
                merging.merge(part)
            except MemoryExceededError as error:
                full = error
                # The memory of the groups so far is free again.
                merging = spark.run.reducing_query(replace(plan, stages=()))
        report.read += placed.chunk.counts
        spark.report_chunk(placed)
    if full is None:
        return [merging]
    if is_distrusted:
        # Tasks cannot read a file whose table does not fit.
        raise full
    return _TooMany(size)


def _merge(
    spark: SparkRun, queries: Sequence[StreamQuery], query: TaskQuery, *, again: bool
) -> None:
    """Merge the parts of tasks."""
    order, report = spark.counted_order(query), spark.run.report
    if all(each.done for each in queries):
        return
    plan = query.plans[0]
    assert isinstance(plan, StreamPlan)
    for placed in spark.chunks(query, order, early=plan.limit is not None):
        chunk, taken = placed.chunk, queries[0].elements
        for merging, part in zip(queries, chunk.parts, strict=True):
            try:
                merging.merge(part)
            except MemoryExceededError as error:
                # An error that counts groups names Spark, which cannot help here.
                raise MemoryExceededError(error.limit) from None
            report.watch_memory(merging)
        done = all(each.done for each in queries)
        chunks: Iterable[Chunk] = [chunk]
        if done and plan.limit is not None:
            wanted = replace(plan, limit=plan.limit - taken)
            chunks = rerun(replace(query, plans=(wanted,)), placed)
        for each in chunks:
            report.read += each.counts
            spark.report_chunk(replace(placed, chunk=each), again=again)
        if done:
            return


# Rows that tasks pass on


def _sifted_rows(
    spark: SparkRun,
    query: TaskQuery,
    queries: Sequence[Query],
    scan: Scan,
) -> Iterator[bytes]:
    """Put the rows that tasks pass on through a query."""
    (reading,), run = queries, spark.run
    order = spark.main_order(query.plans[0])
    left_out = Counts()
    try:
        if reading.done:
            return
        early = may_end_early(scan.stages, run.options.limit)
        for placed in spark.chunks(query, order, early=early):
            before, ended = reading.counts.rows, True
            try:
                yield from _read_sifted(run, reading, placed, scan)
                ended = reading.done
            finally:
                taken = reading.counts.rows - before if ended else None
                left_out += _left_out(query, placed, taken)
            if ended:
                return
            spark.report_chunk(placed, again=scan.again)
    finally:
        if not scan.again:
            run.report.count(scan.source, left_out + reading.counts, [order])


def _left_out(query: TaskQuery, placed: PlacedChunk, taken: int | None) -> Counts:
    """Count the rows of a chunk that were not passed on, up to the last one that was `taken`."""
    if taken is None:
        return placed.chunk.counts
    if taken == 0:
        return Counts()
    stop = placed.chunk.sifted[taken - 1].position + 1
    chunks = rerun(query, placed, stop)
    return sum((chunk.counts for chunk in chunks), Counts())


def _read_sifted(
    run: QueryRun, query: Query, placed: PlacedChunk, scan: Scan
) -> Iterator[bytes]:
    """Put the sifted rows of a chunk through a query."""
    contents = [row.content for row in placed.chunk.sifted]
    batch = RowBatch.of_contents(0, contents)
    for lines, refused in run.scanner.answers_of([query], batch, reverse=False):
        yield lines
        if refused is not None:
            run.scanner.refuse(placed, batch, refused, scan)
