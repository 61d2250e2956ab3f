"""HTML report: one file without external resources."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from headrace.store.files.units import format_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headrace.engines.rows.steps import StepCounts
    from headrace.pipeline.report.report import PassReport, Report

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
    heads = ["stage", "read", "blank", "rejected", "filtered", "kept", "written", ""]
    rows = [
        [escape(stage), *(f"{number:,}" for number in _numbers(count)), _bar(count)]
        for each in passes
        for stage, count in each.in_all.items()
    ]
    return _table(heads, rows)


def _numbers(count: StepCounts) -> tuple[int, ...]:
    return (
        count.read,
        count.blank,
        count.rejected,
        count.filtered,
        count.kept,
        count.written,
    )


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
