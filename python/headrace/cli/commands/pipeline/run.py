"""``headrace pipeline run``: update the output of a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import PIPELINE
from headrace.cli.console import counted
from headrace.cli.flags import flag
from headrace.store.files.units import format_size

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console
    from headrace.cli.console import Progress as ReportTasks
    from headrace.pipeline.report.report import Progress, Report


ABOUT = """\
Reads the files of the pipeline, validates, transforms, joins, deduplicates and sorts their
rows, and writes them as a set of shards. No work is done twice: a second run does nothing,
new files are added to the output, and an interrupted run goes on after its last commit. If a
file or the pipeline itself was changed, the output is computed again and replaced atomically.

Rejected rows go to the quarantine with file, line, byte and reason. The report counts every
line and says where it went. Prints the file that committed the output."""

EXAMPLES = """\
headrace pipeline run events.toml  # on all cores of this machine
headrace pipeline run events.toml --master spark://host:7077  # on a cluster
headrace pipeline run events.toml --fresh  # compute all of it again
headrace pipeline run events.toml --lineage lineage.jsonl
    # record what was read and written, for a catalog
"""

ARGUMENTS = (
    PIPELINE,
    flag("--master", otherwise="local[*,4]"),
    flag("--fresh"),
    flag("--lineage"),
)


def run(options: Namespace, console: Console) -> int:
    """Run the pipeline, and report the rows of each pass."""
    from headrace.pipeline.spec import Pipeline

    pipeline = Pipeline.from_toml(options.pipeline)
    bar = RunBar(console)
    with console.progress(bar.draw, "tasks") as report:
        done = pipeline.run(
            options.master,
            fresh=options.fresh,
            tell=lambda progress: bar.tell(progress, report),
            lineage=options.lineage,
        )
    _report(done, console)
    console.text(f"{done.result.metadata}\n")
    return 0 if done.adds_up else 1


def _report(done: Report, console: Console) -> None:
    from headrace.pipeline.report.report import accounts

    for each in done.passes:
        console.emit(
            "pass",
            f"pass {each.number} ({each.title}): {each.status}"
            + ("" if each.status == "up to date" else f", {each.why}"),
            number=each.number,
            title=each.title,
            status=each.status,
            why=each.why,
            tasks=each.tasks,
            rows=each.rows,
            seconds=each.seconds,
            failed_tasks=sum(stage.failed_tasks for stage in each.spark),
            shuffled_bytes=sum(stage.shuffle_written_bytes for stage in each.spark),
            spilled_bytes=sum(stage.spilled_disk_bytes for stage in each.spark),
        )
    result = done.result
    console.emit(
        "written",
        f"{counted(result.rows, 'row')} in {counted(result.parts, 'file')}: "
        f"{format_size(result.logical_bytes)} as {format_size(result.bytes)}",
        generation=result.generation,
        parts=result.parts,
        records=result.rows,
        bytes=result.bytes,
        logical_bytes=result.logical_bytes,
    )
    for index in done.indexes:
        parts = counted(index.built, "part")
        console.emit(
            "indexed",
            f"index of {index.title}: {parts}, {counted(index.kept, 'other')} had it",
            index=index.title,
            built=index.built,
            kept=index.kept,
            records=index.rows,
            skipped=index.skipped,
            size_bytes=index.bytes,
            seconds=index.seconds,
        )
    console.emit(
        "accounts",
        accounts(done),
        stages=[
            {"stage": stage, **{name: getattr(count, name) for name in count.__slots__}}
            for each in done.passes
            for stage, count in each.in_all.items()
        ],
        adds_up=done.adds_up,
        rejected=done.quarantine.rows,
        report=done.path,
    )


class RunBar:
    """Draws the progress of a run."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._title = ""

    def tell(self, progress: Progress, report: ReportTasks) -> None:
        """Show the progress of a pass."""
        self._title = f"pass {progress.number} of {progress.passes}, {progress.title}"
        if progress.tasks:
            report(progress.done, progress.tasks)
            return
        self._console.emit(
            "begun",
            self._title,
            number=progress.number,
            passes=progress.passes,
            title=progress.title,
        )

    def draw(self, done: int, total: int | None, seconds: float, columns: int) -> str:
        """Draw one line of at most `columns` characters."""
        return task_bar(self._title, done, total or 0, seconds, columns)


def task_bar(title: str, done: int, tasks: int, seconds: float, columns: int) -> str:
    """Draw one line of at most `columns` characters.

    >>> task_bar("pass 1 of 2, validate", 3, 12, 7.5, 80)
    'pass 1 of 2, validate  [######                  ]  3 of 12 tasks  8 s'
    """
    share = done / tasks if tasks else 0.0
    blocks = f"[{'#' * int(share * 24):24}]"
    text = f"{title}  {blocks}  {done} of {tasks} tasks  {seconds:.0f} s"
    return text if len(text) <= columns else text.replace(f"{blocks}  ", "")[:columns]
