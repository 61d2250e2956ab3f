"""Run report: the rows of each stage in one run, and the present output.

Every number is taken from committed data; `adds_up` compares each stage with the next one, from
the lines that were read to the rows of the output.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from headrace.errors import UnwritableError
from headrace.store.files.atomic import write_atomically
from headrace.store.files.directories import make_directories
from headrace.store.files.units import format_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from headrace.engines.rows.row_steps import StepCounts
    from headrace.engines.spark.tasks.stage_metrics import SparkStage

    Tell: TypeAlias = Callable[["Progress"], object]

Status: TypeAlias = Literal["up to date", "made", "appended", "replaced"]


@dataclass(frozen=True, slots=True)
class PassReport:
    """One pass. `counts` are those of this run, `in_all` those of all present rows."""

    number: int
    title: str
    status: Status
    why: str
    moves: bool
    inputs: int
    input_bytes: int
    all_inputs: int
    jobs: int
    tasks: int
    seconds: float
    counts: Mapping[str, StepCounts]
    in_all: Mapping[str, StepCounts]
    set: str
    generation: int
    rows: int
    bytes: int
    spark: tuple[SparkStage, ...] = ()
    """The metrics of Spark; none over Spark Connect."""


@dataclass(frozen=True, slots=True)
class Quarantine:
    """The rejected rows."""

    directory: str
    files: tuple[str, ...]
    rows: int
    reasons: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Result:
    """The present output."""

    metadata: str
    generation: int
    rows: int
    parts: int
    bytes: int
    logical_bytes: int
    partitions: int


@dataclass(frozen=True, slots=True)
class IndexReport:
    """An index of the output: the number of parts that were indexed, and that already were."""

    title: str
    built: int
    kept: int
    rows: int
    skipped: int
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Report:
    """One run."""

    name: str
    run: int
    started: str
    seconds: float
    master: str | None
    """The master of Spark; None if Spark was not needed."""
    passes: tuple[PassReport, ...]
    quarantine: Quarantine
    result: Result
    indexes: tuple[IndexReport, ...] = ()
    path: str = field(default="", compare=False)
    """The path of the HTML report, if it was written."""

    @property
    def changed(self) -> bool:
        """Whether the run changed anything."""
        made = any(each.status != "up to date" for each in self.passes)
        return made or any(each.built for each in self.indexes)

    @property
    def adds_up(self) -> bool:
        """Whether every line that was read is in the output or counted elsewhere."""
        stages = [count for each in self.passes for count in each.in_all.values()]
        whole = all(count.add_up for count in stages)
        chained = all(
            before.written == behind.read for before, behind in pairwise(stages)
        )
        rejected = sum(count.rejected for count in stages) == self.quarantine.rows
        return whole and chained and rejected and stages[-1].written == self.result.rows

    def to_json(self) -> str:
        """Return it as JSON."""
        facts = asdict(self)
        del facts["path"]
        facts["adds_up"] = self.adds_up
        return json.dumps(facts, ensure_ascii=False, indent=1) + "\n"


def save(report: Report, reports: Path, root: Path) -> str:
    """Write a report as JSON and HTML, under its number and as the latest one."""
    contents = {"json": report.to_json(), "html": page(report)}
    try:
        make_directories(reports, [])
        for ending, text in contents.items():
            # The name of a directory may be bytes that are no text.
            content = text.encode(errors="backslashreplace")
            write_atomically(reports / f"{report.run:06}.{ending}", [content])
            write_atomically(root / f"report.{ending}", [content])
    except OSError as error:
        where, reason = os.fspath(error.filename), error.strerror or str(error)
        left = "the output is committed, and the next run writes a report of it"
        raise UnwritableError(where, reason, left) from error
    return str(root / "report.html")


def next_number(reports: Path) -> int:
    """Return the number of the next run."""
    names = [path.stem for path in reports.glob("*.json")] if reports.is_dir() else []
    return max((int(name) for name in names if name.isdigit()), default=0) + 1


class Progress(NamedTuple):
    """The finished tasks of the `number`-th of `passes` passes.

    When a pass begins, there are none.
    """

    number: int
    passes: int
    title: str
    done: int
    tasks: int


_COLUMNS = ("read", "blank", "rejected", "filtered", "kept", "written")


def _numbers(count: StepCounts) -> list[str]:
    return [f"{getattr(count, name):,}" for name in _COLUMNS]


def accounts(report: Report) -> str:
    """Return the counts of all rows, stage after stage, as a text table."""
    stages = [
        (stage, count) for each in report.passes for stage, count in each.in_all.items()
    ]
    rows: list[tuple[str, ...]] = [("stage", *_COLUMNS)]
    rows += [(stage, *_numbers(count)) for stage, count in stages]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    held = report.quarantine
    if held.rows:
        lines.append(f"{held.rows:,} rejected rows are in {held.directory}")
        lines += [f"  {count:,}  {reason}" for reason, count in held.reasons.items()]
    verdict = (
        "every line is accounted for" if report.adds_up else "THE COUNTS DO NOT ADD UP"
    )
    lines.append(f"{verdict}; report: {report.path}")
    return "\n".join(lines)


# HTML: one file without external resources

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 64rem; padding: 0 1rem; color: #1c2430; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2rem; }
p.sub { color: #5a6675; margin-top: .2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .3rem .6rem; text-align: right; border-bottom: 1px solid #dde3ea; font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; } th { color: #5a6675; font-weight: 600; }
.ok { color: #17693a; } .bad { color: #a3201d; } code { background: #f2f5f8; padding: .1rem .3rem; border-radius: 3px; }
.bar { background: #dde3ea; height: .5rem; min-width: 8rem; display: flex; } .bar i { display: block; height: 100%; }
.kept { background: #3572b0; } .filtered { background: #e0b13c; } .rejected { background: #c14744; }
@media (prefers-color-scheme: dark) { body { background: #14181e; color: #dfe5ec; } th, td { border-color: #2c3540; } code { background: #232b35; } .bar { background: #2c3540; } .ok { color: #6fcf97; } .bad { color: #f08a86; } }
"""  # fmt: skip


def page(report: Report) -> str:
    """Return a report as HTML."""
    verdict = (
        '<span class="ok">every line is accounted for</span>'
        if report.adds_up
        else '<span class="bad">the counts do not add up</span>'
    )
    where = "nothing to do" if report.master is None else f"Spark at {report.master}"
    result = report.result
    return "".join(
        [
            "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
            "<meta name='viewport' content='width=device-width'>",
            f"<title>{escape(report.name)}, run {report.run}</title>",
            f"<style>{_STYLE}</style></head><body>",
            f"<h1>{escape(report.name)}, run {report.run}</h1>",
            f"<p class='sub'>{escape(report.started)}, {report.seconds:.1f} s, "
            f"{escape(where)}; {verdict}</p>",
            "<h2>Rows</h2>",
            _counts(report.passes),
            "<h2>Passes</h2>",
            _passes(report.passes),
            _spark(report.passes),
            "<h2>Quarantine</h2>",
            _quarantine(report),
            "<h2>Output</h2>",
            _table(
                ["set", "rows", "files", "partitions", "on disk", "as text"],
                [
                    [
                        f"<code>{escape(result.metadata)}</code>",
                        f"{result.rows:,}",
                        f"{result.parts:,}",
                        f"{result.partitions:,}",
                        format_size(result.bytes),
                        format_size(result.logical_bytes),
                    ]
                ],
            ),
            _indexes(report),
            "</body></html>\n",
        ]
    )


def _counts(passes: Iterable[PassReport]) -> str:
    """Return the counts of all rows, stage after stage."""
    rows = [
        [escape(stage), *_numbers(count), _bar(count)]
        for each in passes
        for stage, count in each.in_all.items()
    ]
    return _table(["stage", *_COLUMNS, ""], rows)


def _bar(count: StepCounts) -> str:
    whole = max(count.read, 1)
    shares = [
        f"<i class='{name}' style='width:{100 * number / whole:.2f}%'></i>"
        for name, number in (
            ("kept", count.kept),
            ("filtered", count.filtered),
            ("rejected", count.rejected),
        )
        if number
    ]
    return f"<div class='bar'>{''.join(shares)}</div>"


def _passes(passes: Iterable[PassReport]) -> str:
    heads = ["pass", "what was done", "inputs", "bytes", "jobs", "tasks", "seconds"]
    rows = [
        [
            f"{each.number}. {escape(each.title)}",
            escape(
                each.status if each.status == each.why else f"{each.status}: {each.why}"
            ),
            f"{each.inputs:,} of {each.all_inputs:,}",
            format_size(each.input_bytes),
            f"{each.jobs:,}",
            f"{each.tasks:,}",
            f"{each.seconds:.1f}",
        ]
        for each in passes
    ]
    return _table(heads, rows)


def _spark(passes: Iterable[PassReport]) -> str:
    """Return the metrics of Spark, if there are any."""
    rows = [
        [
            f"{each.number}. {escape(each.title)}",
            f"{stage.number}",
            f"{stage.tasks:,}",
            f"{stage.failed_tasks:,}",
            f"{stage.seconds:.1f}",
            f"{stage.gc_seconds:.1f}",
            format_size(stage.shuffle_read_bytes),
            format_size(stage.shuffle_written_bytes),
            format_size(stage.spilled_disk_bytes),
            format_size(stage.peak_memory_bytes),
        ]
        for each in passes
        for stage in each.spark
    ]
    heads = ["pass", "stage", "tasks", "failed", "seconds of tasks", "of these, GC"]
    heads += ["shuffle read", "shuffle written", "spilled", "most memory"]
    return f"<h2>Stages of Spark</h2>{_table(heads, rows)}" if rows else ""


def _indexes(report: Report) -> str:
    if not report.indexes:
        return ""
    heads = ["index", "built", "kept", "rows", "skipped", "bytes", "seconds"]
    rows = [
        [
            escape(each.title),
            f"{each.built:,}",
            f"{each.kept:,}",
            f"{each.rows:,}",
            f"{each.skipped:,}",
            format_size(each.bytes),
            f"{each.seconds:.1f}",
        ]
        for each in report.indexes
    ]
    return "<h2>Indexes</h2>" + _table(heads, rows)


def _quarantine(report: Report) -> str:
    held = report.quarantine
    if not held.rows:
        return "<p>No row was rejected.</p>"
    rows = [[escape(reason), f"{count:,}"] for reason, count in held.reasons.items()]
    where = f"<code>{escape(held.directory)}</code>"
    summary = f"<p>Rejected rows: {held.rows:,}, in {where}.</p>"
    return summary + _table(["reason", "rows"], rows)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{each}</th>" for each in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
