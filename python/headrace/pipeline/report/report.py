"""Run report: the rows of each stage in one run, and the present output.

Every number is taken from committed data; `adds_up` compares each stage with the next one, from
the lines that were read to the rows of the output.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from headrace.errors import UnwritableError
from headrace.store.files.atomic import write_atomically
from headrace.store.files.directories import make_directories

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from headrace.engines.rows.steps import StepCounts
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
    from headrace.pipeline.report.html import page

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


def accounts(report: Report) -> str:
    """Return the counts of all rows, stage after stage, as a text table."""
    stages = [
        (stage, count) for each in report.passes for stage, count in each.in_all.items()
    ]
    rows: list[tuple[str, ...]] = [("stage", *_COLUMNS)]
    rows += [
        (stage, *(f"{getattr(count, name):,}" for name in _COLUMNS))
        for stage, count in stages
    ]
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
