"""Joins of a query on Spark: which of them tasks can do, with a table or by an index.

`headrace.physical.joins` chooses the strategy; this module finds the facts for it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from headrace.engines.query.report import NamedScan
from headrace.engines.spark.query.indexed_rows import are_few
from headrace.engines.spark.query.survey import SideSurvey
from headrace.engines.spark.query.task_query import JoinKey, TaskQuery
from headrace.engines.spark.source.partitions import absolute
from headrace.kernel.programs import Counts
from headrace.physical import access
from headrace.physical.choice import Choice
from headrace.physical.distribution import joins_by_shuffle
from headrace.physical.joins import SparkSides, choose_on_spark
from headrace.physical.query_plan import JoinPlan, StreamPlan, ZipPlan
from headrace.store.index.key_scan import KeyRows, Proven
from headrace.store.rows.demand import KeySet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.engines.query.scan import Scan
    from headrace.engines.spark.query.run import SparkRun
    from headrace.engines.spark.query.task_query import Output
    from headrace.physical.joins import SparkChoice
    from headrace.physical.query_plan import RowPlan, StagePlan


class JoinIndexes(NamedTuple):
    """The indexes of the right side of a join, proven to fit their files, and its counts."""

    proven: tuple[Proven, ...]
    counts: Counts
    rows_per_key: float


def reads_here(spark: SparkRun, scan: Scan) -> bool:
    """Whether key indexes find so few rows that the driver reads them, and runs no task.

    Where a join is shuffled, the other side has many rows, which tasks read.
    """
    found = spark.indexed(scan)
    return (
        bool(found)
        and are_few(found)
        and not any(
            isinstance(stage, JoinPlan)
            and choice_of(spark, scan.stages[at:], None).strategy == "shuffle"
            for at, stage in enumerate(scan.stages)
        )
    )


def joins_in_tasks(spark: SparkRun, plan: StreamPlan) -> Callable[[JoinPlan], bool]:
    """Return a function: whether tasks can do a join that is among the stages of a plan."""

    def in_tasks(join: JoinPlan) -> bool:
        stages, at = plan.stages, plan.stages.index(join)
        match choice_of(spark, stages[at:], None).strategy:
            case "broadcast":
                return True
            case "index":
                left = StreamPlan(None, stages[:at], "lines", keys=plan.keys)
                return _can_look_up(spark, left, join)
            case "driver" | "shuffle":
                return False

    return in_tasks


def choices(spark: SparkRun) -> Iterator[tuple[str, SparkChoice]]:
    """Yield each named source that the main part joins with, and the strategy of the join."""
    main = spark.run.plan.main
    if not isinstance(main, StreamPlan) or main.source is not None or main.reverse:
        return
    for at, stage in enumerate(main.stages):
        if isinstance(stage, JoinPlan) and stage.right.source is not None:
            choice = choice_of(spark, main.stages[at:], main.limit)
            yield stage.right.source, choice


def choice_of(
    spark: SparkRun, stages: tuple[StagePlan, ...], limit: int | None
) -> SparkChoice:
    """Choose the strategy of the first of some stages, which is a join."""
    join = stages[0]
    assert isinstance(join, JoinPlan)
    name, right, run = join.right.source, join.right, spark.run
    if name is None or any(file.source.is_pipe for file in run.files[name]):
        return Choice("driver", "the right side can be read only here")
    plain = not any(isinstance(each, (JoinPlan, ZipPlan)) for each in right.stages)
    indexes = _indexes_of(spark, join)
    order = spark.order_of(name)
    return choose_on_spark(
        SparkSides(
            run.rows_of(None),
            run.rows_of(name),
            indexed=indexes is not None,
            # A table takes more room than the rows do in their file.
            tasks_hold=plain and spark.is_small(order, share=4),
            held_here=spark.is_small(order),
            shuffled=limit is None and joins_by_shuffle(stages),
            rows_per_key=1.0 if indexes is None else indexes.rows_per_key,
        )
    )


def _indexes_of(spark: SparkRun, join: JoinPlan) -> JoinIndexes | None:
    """Return indexes of all files of the right side; None if one file has none."""
    if join not in spark.join_indexes:
        spark.join_indexes[join] = _find_indexes(spark, join)
    return spark.join_indexes[join]


def _find_indexes(spark: SparkRun, join: JoinPlan) -> JoinIndexes | None:
    options = spark.run.options
    if join.right_fields is None or not options.index:
        return None
    keys = KeySet(join.right_fields.names, ())
    proven, counts, rows, distinct = list[Proven](), Counts(), 0, 0
    for file in spark.run.files[join.right.source]:
        found = file.by_key(keys, options.max_depth, access, prove=True)
        # Whether equal numbers have one key must not depend on the rows.
        if not isinstance(found, KeyRows) or not found.stored.whole.plain_numbers:
            return None
        proven.append(found.proven)
        lines, blank = found.lines()
        counts += Counts(rows=lines, emitted=lines - blank, blank=blank)
        meta = found.stored.whole
        rows += meta.records
        distinct += meta.records if meta.keys is None else meta.keys
    return JoinIndexes(tuple(proven), counts, rows / max(distinct, 1))


def _can_look_up(spark: SparkRun, plan: StreamPlan, join: JoinPlan) -> bool:
    """Whether tasks can look up all keys of a join; raises the error of a bad left row.

    As in one process, the left rows are read for their keys first.
    """
    if join in spark.joins_by_index:
        return spark.joins_by_index[join]
    read_right_sides(spark, plan)
    query = task_query(spark, "survey", (plan,), (join,))
    query = replace(query, key=JoinKey(join.key, lookup=join))
    side, usable = SideSurvey(query), True
    for placed, survey in spark.surveys(query, spark.main_order(plan)):
        side.add(placed, survey)
        failed = placed.chunk.failure is not None or placed.is_distrusted
        usable = not failed and not side.late
        if not usable or (side.failed and query.aborts):
            break
    if usable and side.failed and query.aborts:
        spark.report_rows([side.failed])
    spark.joins_by_index[join] = usable
    return usable


def read_right_sides(spark: SparkRun, plan: StreamPlan) -> None:
    """Count the right sides of the joins of a plan, and report their bad rows.

    A right side that every task reads is read here too.
    """
    run = spark.run
    for at, stage in enumerate(plan.stages):
        if not isinstance(stage, JoinPlan):
            continue
        indexes = spark.join_indexes.get(stage)
        if indexes is None or not spark.joins_by_index.get(stage):
            run.stage(plan, at)
        elif not run.has_table(stage) and not any(
            scan.join == stage for scan in run.report.named_scans
        ):
            assert stage.right.source is not None
            scan = NamedScan(stage.right.source, indexes.counts, join=stage)
            run.report.named_scans.append(scan)


def task_query(
    spark: SparkRun,
    output: Output,
    plans: Sequence[RowPlan | StreamPlan],
    others: Sequence[JoinPlan] = (),
) -> TaskQuery:
    """Return the query of tasks for plans; it includes the right sides of `others`, too."""
    run = spark.run
    joins = [
        stage
        for plan in plans
        if isinstance(plan, StreamPlan)
        for stage in plan.stages
        if isinstance(stage, JoinPlan)
    ]
    named = {
        name: tuple(absolute(file.source) for file in run.files[name])
        for name in {join.right.source for join in (*joins, *others)}
        if name is not None
    }
    by_index = tuple(join for join in joins if spark.joins_by_index.get(join))
    indexes = [spark.join_indexes[join] for join in (*by_index, *others)]
    return TaskQuery(
        output,
        tuple(plans),
        run.options,
        spark.reading,
        run.known,
        named,
        raw=run.report.on_bad_row is not None,
        by_index=by_index,
        proven=tuple(each for found in indexes if found for each in found.proven),
    )
