"""Jobs that move rows: what is to be read, by how many tasks, and what was counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.engines.row_steps import StepCounts
from headrace.engines.spark.extra import needing_pyspark
from headrace.physical.query_plan import row_program
from headrace.pipeline.inputs import part_inputs, split
from headrace.pipeline.lowering import key_query
from headrace.pipeline.spec import Sort
from headrace.store.shards.options import LARGEST_BLOCK
from headrace.store.sizes import parse_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.engines.spark.moving import MovedDone
    from headrace.pipeline.inputs import Inputs
    from headrace.pipeline.session import Session, TellTasks
    from headrace.pipeline.spec import Dedupe, Pipeline
    from headrace.store.shards.job import Job
    from headrace.store.shards.metadata import Metadata


def move(
    session: Session,
    pipeline: Pipeline,
    stage: Dedupe | Sort,
    job: Job,
    chosen: Inputs,
    read: Metadata,
    tell: TellTasks | None,
) -> list[MovedDone]:
    """Move the rows of parts of the set `read`, together with those the job appends to."""
    with needing_pyspark():
        from headrace.engines.spark.moving import Moving, dedupe, sort
    size = parse_size(pipeline.source.partition_bytes)
    known = () if job.overwrite else split(part_inputs(job.names), size)
    new = split(chosen, size)
    if not new:
        return []
    by = stage.by if isinstance(stage, Sort) else stage.key
    moving = Moving(
        fragments=(*known, *new),
        key=row_program(key_query(by)),
        max_line=LARGEST_BLOCK,
        job=job,
        parts=max(-(-read.total_logical_bytes // size), 1),
        known=len(known),
    )
    spark = session.get()
    if isinstance(stage, Sort):
        return sort(spark, moving, descending=stage.descending, tell=tell)
    return dedupe(spark, moving, keep=stage.keep, tell=tell)


def counted(done: Sequence[MovedDone]) -> StepCounts:
    """Return what became of the rows that came to tasks."""
    read, written = sum(each.read for each in done), sum(each.written for each in done)
    return StepCounts(read=read, filtered=read - written, kept=written, written=written)
