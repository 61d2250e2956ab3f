"""``headrace pipeline run``: bring the output of a pipeline up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.console import counted
from headrace.cli.io.pipeline_text import PIPELINE, RunBar
from headrace.cli.options.common import OUTPUT_OPTIONS
from headrace.cli.registry import Example
from headrace.store.files.units import format_size

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console
    from headrace.pipeline.report.report import Report

ABOUT = """\
Reads the files of the pipeline, validates, transforms, joins, dedupes and sorts their
rows as it says, and writes them as a set of shards. What was done before is not done
again: a second run does nothing, new files are added to what is there, and a run that
was interrupted goes on behind its last commit. If a file or the pipeline itself was
changed, all of it is made anew, and takes the place of the old in one instant.

Rows that are rejected go to the quarantine with file, line, byte and reason. Every line
is accounted for; the report says where each has gone. Prints the file that committed
the output."""

EXAMPLES = (
    Example("headrace pipeline run events.toml", "on all cores of this machine"),
    Example(
        "headrace pipeline run events.toml --master spark://host:7077", "on a cluster"
    ),
    Example("headrace pipeline run events.toml --fresh", "make all of it again"),
    Example(
        "headrace pipeline run events.toml --lineage lineage.jsonl",
        "say what was read and written, for a catalog",
    ),
)

ARGUMENTS = (
    PIPELINE,
    Argument("master", "text", "where Spark runs (local[*,4])", ("--master",), "URL"),
    Argument("fresh", "switch", "make again what is there already", ("--fresh",)),
    Argument(
        "lineage",
        "file",
        "append what is read and written to this file, as events of OpenLineage",
        ("--lineage",),
        metavar="FILE",
    ),
    *OUTPUT_OPTIONS,
)


def run(options: Namespace, console: Console) -> int:
    """Run it, and say what became of the rows."""
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
