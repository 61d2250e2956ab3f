"""One job of a pass: some inputs become parts of its set, in one commit.

The output of the tasks is compared with their counts before the commit: a row that is not accounted
for ends the run. A pass that moves rows shuffles them.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from headrace.engines.query.options import QueryOptions
from headrace.engines.rows.row_steps import StepCounts
from headrace.engines.rows.step_tasks import RowTasks
from headrace.engines.spark.session.master import needing_pyspark
from headrace.engines.spark.source.partitions import absolute
from headrace.errors import UnaccountedRowsError, UnusableTableError
from headrace.kernel.rows import Decoding
from headrace.kernel.values import MAX_DEPTH
from headrace.physical.query_plan import row_program
from headrace.pipeline.plan.lowering import join_plan, key_query, step_of
from headrace.pipeline.run.inputs import part_inputs, split
from headrace.pipeline.spec import Dedupe, Join, Output, Sort
from headrace.pipeline.state import ledger
from headrace.pipeline.state.ledger import JobRecord
from headrace.pipeline.state.quarantine import write_down
from headrace.pipeline.validation import pack_options
from headrace.store.files import system
from headrace.store.files.directories import make_directories, remove_directories
from headrace.store.files.opened import Keeping, read_in_order
from headrace.store.files.units import parse_size
from headrace.store.rows.row_file import RowOptions
from headrace.store.shards.job.job import begin
from headrace.store.shards.options import LARGEST_BLOCK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from headrace.engines.rows.step_tasks import RowsDone
    from headrace.engines.spark.shuffle.row_moves import MoveResult
    from headrace.engines.spark.shuffle.stage_task import JoinElements
    from headrace.physical.query_plan import JoinPlan
    from headrace.pipeline.plan.passes import Pass
    from headrace.pipeline.run.inputs import Inputs
    from headrace.pipeline.run.session import RunContext, TellTasks
    from headrace.pipeline.spec import Mover, Pipeline
    from headrace.pipeline.state.ledger import Input
    from headrace.store.files.source import Source
    from headrace.store.shards.job.job import Job
    from headrace.store.shards.metadata import Metadata, Part
    from headrace.store.shards.names import SetNames

_WORK = Output(level=1, max_bytes=None)
"""Options for rows between passes, which are read once or twice."""


class JobDone(NamedTuple):
    """The committed job, and the number of its tasks."""

    record: JobRecord
    tasks: int


class _Made(NamedTuple):
    """The staged parts of a job, and the entries for its ledger."""

    parts: list[tuple[Part, ...]]
    record: JobRecord


class PassJob:
    """A job, which replaces a set or appends to it."""

    def __init__(
        self,
        context: RunContext,
        one: Pass,
        fingerprint: str,
        inputs: tuple[Input, ...],
        *,
        overwrite: bool,
    ) -> None:
        self._context = context
        self._pass = one
        self._fingerprint = fingerprint
        self._inputs = inputs
        self._overwrite = overwrite
        found = context.layout.current(one, context.pipeline)
        before = None if found is None else found[1]
        self._id = ledger.job_id(fingerprint, before, inputs, overwrite=overwrite)
        self._staging = context.layout.quarantine / f".staging-{self._id}"

    def run(
        self,
        sources: Mapping[Input, Source],
        read: Metadata | None,
        tell: TellTasks | None,
    ) -> JobDone:
        """Run the tasks and commit their parts.

        `read` is the set of which the inputs are parts, if there is one.
        """
        context, one = self._context, self._pass
        names = context.layout.names(one)
        output = context.pipeline.output if one.last else _WORK
        job = begin(
            names.directory,
            names.name,
            overwrite=self._overwrite,
            job_id=self._id,
            options=lambda _before: pack_options(output, checked=True),
            partition_by=output.partition_by,
        )
        made_here: list[Path] = []
        try:
            make_directories(self._staging, made_here)
            chosen = [(each, sources[each]) for each in self._inputs]
            if one.mover is None:
                made = self._rows(job, chosen, tell)
            else:
                assert read is not None, "the first pass validates"
                made = self._moved(one.mover, job, chosen, read, tell)
            _account(names.text, made, self._expected(read))
            remember = partial(
                ledger.written, context.pipeline.name, self._fingerprint, made.record
            )
            job.commit(made.parts, remember)
            made_here.clear()
        finally:
            job.close()
            system.calls.remove_tree(self._staging)
            remove_directories(made_here)
        return JobDone(made.record, len(made.parts))

    def _expected(self, read: Metadata | None) -> int | None:
        """Return the number of rows in the inputs, if it is known."""
        if read is None:
            return None
        records = {part.path: part.records for part in read.parts}
        return sum(records[each.path] for each in self._inputs)

    def _moved(
        self,
        stage: Mover,
        job: Job,
        chosen: Inputs,
        read: Metadata,
        tell: TellTasks | None,
    ) -> _Made:
        """Move rows for the stage of the pass."""
        context, one = self._context, self._pass
        names = context.layout.names(one)
        done = move(context, stage, job, names, chosen, read, tell)
        counts = {one.title: counted(done)}
        record = JobRecord(self._id, self._inputs, counts)
        return _Made([each.parts for each in done], record)

    def _rows(self, job: Job, chosen: Inputs, tell: TellTasks | None) -> _Made:
        """Run rows through the row-local stages of the pass."""
        context, one = self._context, self._pass
        tasks, done = self._run_rows(job, chosen, tell)
        counts = [StepCounts() for _ in tasks.steps]
        for each in done:
            counts = [
                so_far + more for so_far, more in zip(counts, each.counts, strict=True)
            ]
        target = partial(context.layout.quarantine_file, one, self._id)
        quarantine, reasons = write_down(context.session, tasks, done, target)
        record = JobRecord(
            self._id,
            self._inputs,
            dict(zip([name for name, _ in one.stages], counts, strict=True)),
            quarantine,
            reasons,
        )
        return _Made([each.parts for each in done], record)

    def _run_rows(
        self, job: Job, chosen: Inputs, tell: TellTasks | None
    ) -> tuple[RowTasks, list[RowsDone]]:
        pipeline, _layout, session, found = self._context
        named = {
            name: [absolute(source) for _input, source in inputs]
            for name, inputs in found.items()
        }
        steps = tuple(step_of(stage, name, named) for name, stage in self._pass.stages)
        size = parse_size(pipeline.source.partition_bytes)
        # The output of stages may be longer than the row.
        limit = LARGEST_BLOCK
        if self._pass.number == 1:
            limit = parse_size(pipeline.source.max_line)
        reading = RowOptions(limit, Keeping(), Decoding())
        # A row of the other side without a key ends the run, as a bad row does.
        asking = QueryOptions(on_error="abort", max_memory=parse_size(pipeline.memory))
        while True:
            cut = split(chosen, size)
            tasks = RowTasks(cut, steps, reading, asking, job, self._staging)
            try:
                return tasks, session.run_each(tasks, len(cut), tell)
            except UnusableTableError as error:
                # In doubt, scan.
                chosen = [(each, _in_order(source, error)) for each, source in chosen]


def _in_order(source: Source, error: UnusableTableError) -> Source:
    named = absolute(source).location == error.path
    return read_in_order(source, error) if named else source


def _account(where: str, made: _Made, expected: int | None) -> None:
    """Raise unless every row that was read is accounted for.

    `expected` is the number of rows to read, if it is known beforehand.
    """
    parts, record = made
    stages = list(record.counts.items())
    rejected = sum(count.rejected for _stage, count in stages)
    sound = [
        expected in (None, stages[0][1].read),
        *(count.add_up for _stage, count in stages),
        *(one.written == two.read for (_, one), (_, two) in pairwise(stages)),
        rejected == sum(file.records for file in record.quarantine),
        stages[-1][1].written == sum(part.records for each in parts for part in each),
    ]
    if not all(sound):
        text = "; ".join(f"{stage}: {count}" for stage, count in stages)
        raise UnaccountedRowsError(where, text)


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
        from headrace.engines.spark.shuffle.row_moves import (
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
    from headrace.engines.spark.shuffle.stage_task import JoinElements

    memory = parse_size(pipeline.memory)
    return JoinElements(
        plan.kind, plan.key, plan.right_key, plan.name, memory, MAX_DEPTH
    )


def counted(done: Sequence[MoveResult]) -> StepCounts:
    """Return the counts of the rows that tasks received."""
    read, kept = sum(each.read for each in done), sum(each.kept for each in done)
    written = sum(each.written for each in done)
    return StepCounts(read=read, filtered=read - kept, kept=kept, written=written)
