"""Moves: jobs that shuffle rows, with their tasks and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.engines.rows.steps import StepCounts
from headrace.engines.spark.session.missing_extra import needing_pyspark
from headrace.kernel.values import MAX_DEPTH
from headrace.physical.query_plan import row_program
from headrace.pipeline.plan.lowering import join_plan, key_query
from headrace.pipeline.run.inputs import part_inputs, split
from headrace.pipeline.spec import Dedupe, Join, Sort
from headrace.store.files.units import parse_size
from headrace.store.shards.options import LARGEST_BLOCK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.engines.spark.shuffle.join_task import JoinElements
    from headrace.engines.spark.shuffle.pipeline import MoveResult
    from headrace.physical.query_plan import JoinPlan
    from headrace.pipeline.run.inputs import Inputs
    from headrace.pipeline.run.session import RunContext, TellTasks
    from headrace.pipeline.spec import Mover, Pipeline
    from headrace.store.shards.job.job import Job
    from headrace.store.shards.metadata import Metadata
    from headrace.store.shards.names import SetNames


def move(
    context: RunContext,
    stage: Mover,
    job: Job,
    names: SetNames,
    chosen: Inputs,
    read: Metadata,
    tell: TellTasks | None,
) -> list[MoveResult]:
    """Move the rows of parts of the set `read` to the set `names`."""
    with needing_pyspark():
        from headrace.engines.spark.shuffle.pipeline import (
            KeyedInput,
            Move,
            dedupe,
            join,
            sort,
        )
    pipeline = context.pipeline
    size = parse_size(pipeline.source.partition_bytes)
    new = split(chosen, size)
    if not new:
        return []
    # A duplicate may repeat a row that is already in the set.
    deduping = isinstance(stage, Dedupe) and not job.overwrite
    known = split(part_inputs(names), size) if deduping else ()
    rows = KeyedInput(
        (*known, *new),
        _key(stage),
        LARGEST_BLOCK,
        joins=isinstance(stage, Join),
        known=len(known),
        falling=(stage.descending,) if isinstance(stage, Sort) else (),
    )
    moving = Move(rows, job, max(-(-read.total_logical_bytes // size), 1))
    spark = context.session.get()
    match stage:
        case Sort():
            return sort(spark, moving, tell)
        case Dedupe(keep=keep):
            return dedupe(spark, moving, keep=keep, on_tasks=tell)
        case Join():
            right = split(context.named[stage.with_], size)
            plan = join_plan(stage)
            limit = parse_size(pipeline.source.max_line)
            others = KeyedInput(right, plan.right_key, limit, joins=True)
            return join(spark, moving, others, _joining(plan, pipeline), tell)


def _key(stage: Mover) -> bytes:
    """Return the code of the program for the key of a row."""
    if isinstance(stage, Join):
        return join_plan(stage).key
    if isinstance(stage, Sort):
        # An array of one key, ascending or descending.
        return row_program(f"[{key_query(stage.by)}]").code
    return row_program(key_query(stage.key)).code


def _joining(plan: JoinPlan, pipeline: Pipeline) -> JoinElements:
    from headrace.engines.spark.shuffle.join_task import JoinElements

    memory = parse_size(pipeline.memory)
    return JoinElements(
        plan.kind, plan.key, plan.right_key, plan.name, memory, MAX_DEPTH
    )


def counted(done: Sequence[MoveResult]) -> StepCounts:
    """Return the counts of the rows that tasks received."""
    read, kept = sum(each.read for each in done), sum(each.kept for each in done)
    written = sum(each.written for each in done)
    return StepCounts(read=read, filtered=read - kept, kept=kept, written=written)
