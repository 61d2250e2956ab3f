"""Groups with aggregates that are more than the driver holds: a shuffle merges those of tasks.

Tasks reduce their rows to groups, and a first job sends these to the driver. Where they are more
than its memory, they are made again and merged by name in further tasks, which also do what the
query does with each group by itself. The driver gets the results in the order in which the groups
first come, and does the rest.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from headrace.engines.query.run import lines_of_value
from headrace.engines.spark.query.joins import task_query
from headrace.engines.spark.query.shuffles import (
    as_object,
    first_lines,
    partitions_of,
    run_shuffle,
    without_nulls,
)
from headrace.engines.spark.query.task_query import MergeShuffle
from headrace.errors import MemoryExceededError, QueryFailedError
from headrace.kernel.programs import Program
from headrace.kernel.rows import rows_of
from headrace.kernel.values import DEEPEST
from headrace.language import ast
from headrace.logical.encode.compiler import compile_query
from headrace.physical.distribution import are_local
from headrace.physical.query_plan import PlainStage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.engines.query.run import LineForm
    from headrace.engines.spark.query.run import SparkRun
    from headrace.engines.spark.query.task_query import TaskQuery
    from headrace.physical.query_plan import StagePlan, StreamPlan


_TASK_MEMORY = 64 << 20
"""Tasks may hold this much, whatever the driver may: groups are passed on long before."""


def group_query(spark: SparkRun, plan: StreamPlan) -> TaskQuery:
    """Return the query of tasks that reduce their rows to groups."""
    query = task_query(spark, "parts", (plan,))
    most = max(query.options.max_memory, _TASK_MEMORY)
    return replace(query, options=replace(query.options, max_memory=most))


def lines_of_groups(
    spark: SparkRun, plan: StreamPlan, size: int, form: LineForm
) -> Iterator[bytes]:
    """Yield the lines of the groups of a plan, which take `size` bytes in all tasks."""
    assert plan.merged is not None
    behind = plan.merged.behind
    if plan.merged.gives == "object":
        yield from as_object(_merged_texts(spark, plan, size))
    elif plan.spread and behind.reduction == "lines" and are_local(behind.stages):
        texts = _merged_texts(spark, plan, size)
        wanted = texts if form.nulls else map(without_nulls, texts)
        yield from first_lines(wanted, form.limit)
    else:
        yield from lines_of_value(value_of_groups(spark, plan, size), plan, form)


def value_of_groups(spark: SparkRun, plan: StreamPlan, size: int) -> bytes:
    """Return the answer of a plan about groups, as one value."""
    assert plan.merged is not None
    texts = _merged_texts(spark, plan, size)
    if plan.merged.gives == "object":
        return _joined(as_object(texts), spark.run.options.max_memory)
    left = plan.merged.behind
    left = replace(left, stages=left.stages[len(_of_tasks(left)) :])
    try:
        return _reduced(spark, left, texts)
    except QueryFailedError as error:
        return _value_of_all(spark, plan, size, error)


def _reduced(spark: SparkRun, plan: StreamPlan, texts: Iterator[bytes]) -> bytes:
    """Return the answer of a plan over elements that tasks have made."""
    run = spark.run
    query = run.reducing_query(plan)
    for text in texts:
        for batch in rows_of(text):
            refused = query.answer(batch, 0).refused
            run.report.watch_memory(query)
            if refused is not None:
                offset = (refused.column or 1) - 1
                raise QueryFailedError(plan.query, offset, refused.reason)
        if query.done:
            break
    query.end()
    return run.finish([plan], [query])[0]


def _value_of_all(
    spark: SparkRun, plan: StreamPlan, size: int, failed: QueryFailedError
) -> bytes:
    """Return the answer of a query about groups as one process does, where one of them has failed.

    It may not need that group; and the place in the query that its error names depends on how the
    query is cut. If memory does not hold all groups, the query has `failed`.
    """
    if plan.rest is None:
        raise failed
    run = spark.run
    most = run.options.max_memory
    try:
        lines = _joined(_merged_texts(spark, plan, size, whole=True), most)
    except MemoryExceededError:
        raise failed from None
    groups = b"[%s]" % lines.replace(b"\n", b",")
    if plan.reduction in ("count_by", "index_by", "pivot"):
        pairs = ast.Path(ast.Root(), (ast.Method("from_pairs"),))
        made = Program(plan.query, compile_query(plan.query, pairs))
        groups = made.evaluate(groups, DEEPEST)
    return run.of_reduced(plan, plan.rest, groups)


def _joined(texts: Iterator[bytes], max_memory: int) -> bytes:
    held, size = [], 0
    for text in texts:
        held.append(text)
        size += len(text)
        if size > max_memory:
            raise MemoryExceededError(max_memory)
    return b"".join(held).removesuffix(b"\n")


def _merged_texts(
    spark: SparkRun, plan: StreamPlan, size: int, *, whole: bool = False
) -> Iterator[bytes]:
    """Yield what tasks make of the merged groups, or the `whole` groups."""
    assert plan.merged is not None
    stages = () if whole else _of_tasks(plan.merged.behind)
    is_object = plan.merged.gives == "object" and not whole
    shuffle = MergeShuffle(
        tuple(stage.code for stage in stages if stage.code is not None),
        partitions_of(spark, size),
        one_object=is_object,
    )
    for _task, chunk in run_shuffle(spark, group_query(spark, plan), shuffle):
        if chunk.failure is not None:
            raise chunk.failure
        yield chunk.lines


def _of_tasks(behind: StreamPlan) -> list[PlainStage]:
    """Return the first stages, which handle each group by itself."""

    def is_local(stage: StagePlan) -> bool:
        return are_local([stage])

    first = takewhile(is_local, behind.stages)
    return [stage for stage in first if isinstance(stage, PlainStage)]
