"""Report of a run: on the terminal, as Markdown, and as stored JSON.

The table on the terminal and the Markdown file are one text.
"""

from __future__ import annotations

from dataclasses import asdict
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.candidate import (
    AtLeast,
    AtMost,
    AtMostAbove,
    AtMostTimes,
    Metric,
    Overview,
    Question,
    Ref,
    Target,
)
from benchmarks.figures import (
    Verdict,
    ratio,
    summary,
    throughput,
    throughput_ratio,
    values,
    verdict,
)
from benchmarks.units import bytes_text, ratio_text, seconds_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.runner import Result

# Raise it when the JSON changes its shape.
FORMAT = 1

LABELS: dict[Metric, str] = {
    "time": "time",
    "cpu": "CPU time",
    "peak_rss": "peak RSS",
    "bytes_read": "bytes read",
    "bytes_written": "bytes written",
}

MET = {True: "**met**", False: "**NOT met**", None: "**unknown**"}

# The metrics of every table, besides the one of its benchmark.
BESIDE: tuple[Metric, ...] = ("time", "cpu", "peak_rss")


def metric_text(metric: Metric, value: float) -> str:
    """Write a value in the unit of its metric."""
    return (seconds_text if metric in ("time", "cpu") else bytes_text)(value)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    r"""Lay out a Markdown table that can also be read as it is.

    >>> print("\n".join(table(["who", "MB/s"], [["wc", "2100"]])))
    | who | MB/s |
    | :-- | ---: |
    | wc  | 2100 |
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *rest = zip(cells, widths, strict=True)
        padded = [first[0].ljust(first[1]), *(cell.rjust(w) for cell, w in rest)]
        return f"| {' | '.join(padded)} |"

    first_width, *rest_widths = widths
    rule = [":" + "-" * (first_width - 1), *("-" * (w - 1) + ":" for w in rest_widths)]
    return [line(header), f"| {' | '.join(rule)} |", *map(line, rows)]


def median_text(result: Result, ref: Ref, metric: Metric) -> str:
    """Write a median, or a dash where the system does not count it.

    Of a peak at the floor only that it is no higher is known.
    """
    if not (known := values(result, ref, metric)):
        return "-"
    text = metric_text(metric, median(known))
    floor = median(run.floor for run in result.runs[ref])
    # The floor itself varies by a few pages.
    at_floor = metric == "peak_rss" and median(known) < floor * 1.05
    return f"<= {text}" if at_floor else text


def spread_text(result: Result, ref: Ref, metric: Metric) -> str:
    """Write the range of all runs."""
    if not (known := values(result, ref, metric)):
        return "-"
    return f"{metric_text(metric, min(known))} .. {metric_text(metric, max(known))}"


def candidate_row(result: Result, ref: Ref, first: Ref) -> list[str]:
    """Fill the row of one candidate, beginning with the metric of the benchmark."""
    metric = result.benchmark.metric
    speed = throughput(result, ref)
    compared = (
        throughput_ratio(result, first, ref)
        if metric == "time"
        else ratio(result, first, ref, metric)
    )
    return [
        ref.candidate,
        median_text(result, ref, metric),
        spread_text(result, ref, metric),
        *([] if speed is None else [f"{speed:.0f}"]),
        *(median_text(result, ref, other) for other in BESIDE if other != metric),
        ratio_text(compared),
    ]


def question_lines(result: Result, question: Question) -> list[str]:
    """Render the table of one question."""
    refs = [Ref(question.label, each.name) for each in question.candidates]
    measured = [ref for ref in refs if ref in result.runs]
    absent = [
        f"Left out: {ref.candidate} ({result.left_out[ref]} is not installed)."
        for ref in refs
        if ref in result.left_out
    ]
    if not measured:
        return [f"### {question.label}", "", *absent, ""]
    first, size = measured[0], question.size
    label = LABELS[result.benchmark.metric]
    speed = [] if size is None else ["MB/s"]
    beside = [LABELS[other] for other in BESIDE if other != result.benchmark.metric]
    header = ["candidate", label, "spread", *speed, *beside, "ratio"]
    rows = [candidate_row(result, ref, first) for ref in measured]
    return [
        f"### {question.label}" + ("" if size is None else f" ({bytes_text(size)})"),
        "",
        *table(header, rows),
        "",
        *absent,
        *([""] if absent else []),
    ]


def named(ref: Ref) -> str:
    """Name a candidate in a sentence."""
    return f"`{ref.candidate}` ({ref.question})"


def target_text(target: Target) -> str:
    """Describe the aim of a target."""
    match target:
        case AtLeast(subject, reference, wanted):
            return f"{named(subject)}: at least {wanted:g}x {named(reference)}"
        case AtMost(subject, metric, limit):
            amount = metric_text(metric, limit)
            return f"{named(subject)}: {LABELS[metric]} at most {amount}"
        case AtMostAbove(subject, reference, metric, allowance):
            amount = metric_text(metric, allowance)
            return (
                f"{named(subject)}: {LABELS[metric]} "
                f"at most {amount} above {named(reference)}"
            )
        case AtMostTimes(subject, reference, metric, limit):
            return (
                f"{named(subject)}: {LABELS[metric]} "
                f"at most {limit:g}x that of {named(reference)}"
            )


def figure_text(held: Verdict) -> str:
    """Format the measured figure in the terms of the target."""
    if held.figure is None:
        return "not measured"
    match held.target:
        case AtLeast() | AtMostTimes():
            return ratio_text(held.figure)
        case AtMost(metric=metric) | AtMostAbove(metric=metric):
            return metric_text(metric, held.figure)


def target_lines(result: Result) -> list[str]:
    """Render the targets that no overview has as a list: aim, measured, met or not."""
    benchmark, lines = result.benchmark, []
    for target in benchmark.targets:
        if not any(is_in(target, overview) for overview in benchmark.overviews):
            held = verdict(result, target)
            measured = f"measured {figure_text(held)}: {MET[held.met]}"
            lines.append(f"- {target_text(target)}; {measured}")
    return [*lines, ""] if lines else []


def metric_of(target: Target) -> Metric:
    """Return the metric that a target is about; a speed is about time."""
    return "time" if isinstance(target, AtLeast) else target.metric


def goal_text(held: Verdict) -> str:
    """Describe a target in a cell, beside the figure of its subject, and whether it is met."""
    met = MET[held.met]
    match held.target:
        case AtLeast(reference=reference, ratio=wanted):
            aim = f"{wanted:g}x the speed of {reference.candidate}"
            return f"{aim}: {met} ({figure_text(held)})"
        case AtMost(metric=metric, limit=limit):
            return f"{metric_text(metric, limit)}: {met}"
        case AtMostAbove(reference=reference, metric=metric, allowance=allowance):
            amount = metric_text(metric, allowance)
            return f"{amount} above {reference.candidate}: {met} ({figure_text(held)})"
        case AtMostTimes(reference=reference, ratio=limit):
            return f"{limit:g}x {reference.candidate}: {met} ({figure_text(held)})"


def is_in(target: Target, overview: Overview) -> bool:
    """Whether an overview has a column for the subject of a target."""
    shown = target.subject.candidate in overview.candidates
    return shown and metric_of(target) == overview.metric


def overview_row(result: Result, question: Question, overview: Overview) -> list[str]:
    """Fill the row of one question; a candidate that does not take part has a dash."""
    metric = overview.metric
    goals = [
        goal_text(verdict(result, target))
        for target in result.benchmark.targets
        if target.subject.question == question.label and is_in(target, overview)
    ]
    cells = (
        median_text(result, Ref(question.label, name), metric)
        for name in overview.candidates
    )
    return [question.label, *cells, "; ".join(goals) or "-"]


def overview_lines(result: Result, overview: Overview) -> list[str]:
    """Render an overview: the questions with a target, or with two candidates to compare."""
    benchmark = result.benchmark
    shown = {
        target.subject.question
        for target in benchmark.targets
        if is_in(target, overview)
    }
    for question in benchmark.questions:
        names = {each.name for each in question.candidates}
        if len(names.intersection(overview.candidates)) > 1:
            shown.add(question.label)
    rows = [
        overview_row(result, question, overview)
        for question in benchmark.questions
        if question.label in shown
    ]
    return [*table([LABELS[overview.metric], *overview.candidates, "goals"], rows), ""]


def render(result: Result) -> str:
    """Render one benchmark."""
    benchmark = result.benchmark
    lines = [f"## {benchmark.name}", "", benchmark.doc, ""]
    for overview in benchmark.overviews:
        lines += overview_lines(result, overview)
    for question in benchmark.questions:
        lines += question_lines(result, question)
    return "\n".join(lines + target_lines(result))


LEGEND = (
    "Times and memory are medians, the spread is from the least to the most. "
    "The ratio is what the candidate takes over what the first one of its table "
    "takes, the median over the rounds: above 1, the first one is better. "
    "Times of Python functions are without the start of the interpreter and "
    "the imports, those of programs are of the whole process. MB is 10^6 bytes."
)


def render_run(
    results: Sequence[Result], settings: Mapping[str, object], machine: object
) -> str:
    """Render a whole run as the Markdown file that is kept."""
    facts = machine if isinstance(machine, dict) else {}
    versions = facts.get("versions", {})
    lines = ["# Benchmark run", "", LEGEND, ""]
    lines += [f"- {name}: {value}" for name, value in settings.items()]
    lines += [f"- {name}: {v}" for name, v in facts.items() if name != "versions"]
    known = [f"{name} {v}" for name, v in versions.items() if v is not None]
    lines += [f"- versions: {', '.join(known)}", ""]
    return "\n".join([*lines, *map(render, results)])


def record(result: Result) -> dict[str, object]:
    """Turn a result into plain values, with every single run."""
    benchmark = result.benchmark
    questions = [
        {
            "label": question.label,
            "size": question.size,
            "candidates": [
                candidate_record(result, Ref(question.label, each.name), each.shown())
                for each in question.candidates
            ],
        }
        for question in benchmark.questions
    ]
    targets = [
        {"text": target_text(target), "measured": held.figure, "met": held.met}
        for target in benchmark.targets
        for held in [verdict(result, target)]
    ]
    return {
        "name": benchmark.name,
        "doc": benchmark.doc,
        "metric": benchmark.metric,
        "questions": questions,
        "targets": targets,
    }


def candidate_record(result: Result, ref: Ref, command: str) -> dict[str, object]:
    """Turn the runs of one candidate into plain values."""
    known: dict[str, object] = {"name": ref.candidate, "command": command}
    if ref in result.left_out:
        return known | {"left_out": result.left_out[ref]}
    runs = result.runs[ref]
    return known | {
        "answer": runs[0].answer,
        "summary": {
            metric: asdict(summary(found))
            for metric in LABELS
            if (found := values(result, ref, metric))
        },
        "mb_per_s": throughput(result, ref),
        "rss_floor": runs[0].floor,
        "runs": [dict(each.figures) for each in runs],
    }


def record_run(
    results: Sequence[Result], settings: Mapping[str, object], machine: object
) -> dict[str, object]:
    """Turn a whole run into the JSON that is kept."""
    return {
        "format": FORMAT,
        "settings": dict(settings),
        "machine": machine,
        "benchmarks": [record(result) for result in results],
    }
