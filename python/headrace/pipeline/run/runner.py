"""Runner: brings the sets of a pipeline up to date, pass after pass.

Each pass compares its ledger with its inputs and runs *jobs* for the rest; a job ends with one
commit of rows and ledger. So a run that is interrupted, anywhere, continues after its last job, and
a run without work does not start Spark.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from headrace.engines.spark.session.master import chosen_master
from headrace.errors import HeadraceError
from headrace.physical.fragment import runs_of
from headrace.pipeline.plan.passes import passes, used_names
from headrace.pipeline.report.lineage import recording
from headrace.pipeline.report.report import (
    PassReport,
    Progress,
    Quarantine,
    Report,
    Result,
    next_number,
    save,
)
from headrace.pipeline.run.inputs import (
    check_named,
    main_inputs,
    named_inputs,
    part_inputs,
    state_of,
)
from headrace.pipeline.run.job import PassJob
from headrace.pipeline.run.session import RunContext, Session
from headrace.pipeline.spec import SetIndex
from headrace.pipeline.state import indexes as indexing
from headrace.pipeline.state.layout import Layout
from headrace.pipeline.state.ledger import added
from headrace.pipeline.state.quarantine import commonest
from headrace.store.files.units import parse_size

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from headrace.engines.spark.tasks.stage_metrics import SparkStage
    from headrace.pipeline.plan.passes import Pass
    from headrace.pipeline.report.report import IndexReport, Status, Tell
    from headrace.pipeline.run.inputs import Inputs
    from headrace.pipeline.run.job import JobDone
    from headrace.pipeline.spec import Pipeline
    from headrace.pipeline.state.ledger import Input, Ledger, Todo
    from headrace.store.shards.metadata import Metadata


def run(
    pipeline: Pipeline,
    *,
    master: str | None,
    spark: SparkSession | None,
    fresh: bool,
    tell: Tell | None,
    lineage: str | os.PathLike[str] | None,
) -> Report:
    """Run the passes that are not up to date, write a report, and return it."""
    layout = Layout(pipeline)
    started, clock = datetime.now(UTC), time.monotonic()
    session = Session(
        pipeline.name, chosen_master(master), spark, shows_progress=tell is not None
    )
    session.refuse_unshared(layout.root)
    with layout.locked():
        # Under the lock: another run may just have read newer files.
        inputs = main_inputs(pipeline, layout)
        named = named_inputs(pipeline, layout)
        every = passes(pipeline)
        going = _Run(pipeline, layout, session, every, named, tell)
        with recording(lineage, pipeline, layout, inputs, named) as complete:
            reports = going.through(inputs, fresh=fresh)
            indexes = going.index()
            report = Report(
                name=pipeline.name,
                run=next_number(layout.reports),
                started=started.isoformat(timespec="seconds"),
                seconds=round(time.monotonic() - clock, 3),
                master=session.master,
                passes=tuple(reports),
                quarantine=going.quarantine(),
                result=going.result(),
                indexes=indexes,
            )
            # Replaced generations and their rejected rows are no longer needed.
            going.sweep()
            for one in every:
                layout.vacuum(one)
            path = save(report, layout.reports, layout.root)
            complete(report)
    return replace(report, path=path)


@dataclass(slots=True)
class _Run:
    """One run of a pipeline."""

    pipeline: Pipeline
    layout: Layout
    session: Session
    every: list[Pass]
    named: Mapping[str, Inputs]
    tell: Tell | None
    _checked: set[str] = field(default_factory=set)

    # State

    def ledgers(self) -> list[Ledger]:
        """Return the ledgers of all passes that have one."""
        found = (self.layout.current(one, self.pipeline) for one in self.every)
        return [each[1] for each in found if each is not None]

    def sweep(self) -> None:
        """Remove what no ledger names."""
        self.layout.sweep(self.every, self.ledgers())

    def quarantine(self) -> Quarantine:
        """Return the rejected rows of all present jobs."""
        ledgers = self.ledgers()
        files = [
            file for each in ledgers for job in each.jobs for file in job.quarantine
        ]
        reasons: Counter[str] = Counter()
        for each in ledgers:
            reasons.update(each.reasons())
        return Quarantine(
            str(self.layout.quarantine),
            tuple(file.name for file in files),
            sum(file.records for file in files),
            commonest(reasons),
        )

    def result(self) -> Result:
        """Return the present output."""
        last = self.every[-1]
        metadata, _ledger = self._current(last)
        return Result(
            str(self.layout.names(last).meta(metadata.generation)),
            metadata.generation,
            metadata.total_records,
            len(metadata.parts),
            metadata.total_bytes,
            metadata.total_logical_bytes,
            len({part.partition for part in metadata.parts if part.partition}),
        )

    def index(self) -> tuple[IndexReport, ...]:
        """Build the missing indexes of the output and its parts."""
        names, pipeline = self.layout.names(self.every[-1]), self.pipeline
        if not pipeline.indexes:
            return ()
        parts = [source for _input, source in part_inputs(names)]
        size = parse_size(pipeline.source.partition_bytes)
        reports = []
        for index in pipeline.indexes:
            tell = self._telling_of(f"index of {indexing.title_of(index)}")
            if isinstance(index, SetIndex):
                make = partial(self.session.make_segments, task_bytes=size)
                shards = self.layout.output()
                report = indexing.bring_set_up_to_date(index, shards, make, tell)
            else:
                run_each = self.session.run_each
                report = indexing.bring_up_to_date(index, parts, run_each, size, tell)
            reports.append(report)
        return tuple(reports)

    def _current(self, one: Pass) -> tuple[Metadata, Ledger]:
        found = self.layout.current(one, self.pipeline)
        assert found is not None, "a pass that ran has made a set"
        return found

    # Passes

    def through(self, inputs: Inputs, *, fresh: bool) -> list[PassReport]:
        """Bring one pass after the other up to date."""
        self.sweep()
        reports = []
        try:
            for one in self.every:
                reports.append(self.bring_up_to_date(one, inputs, fresh=fresh))
                inputs = part_inputs(self.layout.names(one))
        except BaseException:
            # Rejected rows of jobs that did not commit are leftovers.
            with suppress(HeadraceError, OSError):
                self.sweep()
            raise
        return reports

    def bring_up_to_date(self, one: Pass, inputs: Inputs, *, fresh: bool) -> PassReport:
        """Run the jobs of a pass that are left."""
        clock = time.monotonic()
        before, fingerprint, inputs, todo = state_of(
            one,
            inputs,
            pipeline=self.pipeline,
            layout=self.layout,
            named=self.named,
            fresh=fresh,
        )
        read = None
        if one.number > 1:
            read, _ledger = self._current(self.every[one.number - 2])
        done: list[JobDone] = []
        stages: list[SparkStage] = []
        status: Status = "up to date"
        if todo.inputs or todo.replace:
            status = "made" if before is None else "appended"
            if todo.replace and before is not None:
                status = "replaced"
            if (tell := self._telling(one)) is not None:
                tell(0, 0)
            self._check_named(one)
            context = RunContext(self.pipeline, self.layout, self.session, self.named)
            with self.session.counted() as stages:
                for each, overwrite in self._batches(one, todo, before):
                    job = PassJob(context, one, fingerprint, each, overwrite=overwrite)
                    done.append(job.run(dict(inputs), read, self._telling(one)))
        metadata, now = self._current(one)
        return PassReport(
            number=one.number,
            title=one.title,
            status=status,
            why=todo.why,
            moves=one.mover is not None,
            inputs=len(todo.inputs),
            input_bytes=sum(each.length for each in todo.inputs),
            all_inputs=len(inputs),
            jobs=len(done),
            tasks=sum(each.tasks for each in done),
            seconds=round(time.monotonic() - clock, 3),
            counts=added(each.record.counts for each in done),
            in_all=now.counts(),
            set=self.layout.names(one).text,
            generation=metadata.generation,
            rows=metadata.total_records,
            bytes=metadata.total_bytes,
            spark=tuple(stages),
        )

    def _check_named(self, one: Pass) -> None:
        for name in used_names(one.stages):
            if name not in self._checked:
                self._checked.add(name)
                check_named(self.pipeline, [source for _, source in self.named[name]])

    def _batches(
        self, one: Pass, todo: Todo, before: Ledger | None
    ) -> Iterator[tuple[tuple[Input, ...], bool]]:
        """Yield the inputs of each job, and whether it replaces the set.

        A set that readers may use is replaced by one job, so that the change is atomic.
        """
        if not one.appends or (todo.replace and before is not None):
            yield todo.inputs, True
            return
        most = parse_size(self.pipeline.source.batch_bytes)
        batches = list(runs_of(todo.inputs, most, lambda each: each.length))
        for number, batch in enumerate(batches or [()]):
            yield batch, todo.replace and number == 0

    def _telling(self, one: Pass) -> Callable[[int, int], object] | None:
        """Return the progress callback of the tasks of a pass."""
        return self._telling_of(one.title, one.number)

    def _telling_of(
        self, title: str, number: int | None = None
    ) -> Callable[[int, int], object] | None:
        """Return a progress callback; tasks of indexes count after the last pass."""
        if self.tell is None:
            return None
        tell, of = self.tell, len(self.every)
        at = of if number is None else number
        return lambda done, tasks: tell(Progress(at, of, title, done, tasks))
