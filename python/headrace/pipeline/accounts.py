"""What became of the rows of a pipeline, as a table for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.pipeline.report import Report

_COLUMNS = ("read", "blank", "rejected", "filtered", "kept", "written")


def accounts(report: Report) -> str:
    """Say what became of all rows, stage after stage, as a table."""
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
