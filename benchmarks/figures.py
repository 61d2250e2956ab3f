"""From runs to figures: medians, ratios, and whether a target is met.

Pure functions over what `benchmarks.runner` recorded. A ratio is taken within
each round and the median of those is reported: the runs of one round had the
machine in the same mood, two medians need not have.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median, quantiles
from typing import TYPE_CHECKING

from benchmarks.candidate import (
    AtLeast,
    AtMost,
    AtMostAbove,
    AtMostTimes,
    Metric,
    Ref,
    Target,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.runner import Result


@dataclass(frozen=True, slots=True)
class Summary:
    """A list of measured values in five: the spread is the range, or the quartiles."""

    median: float
    low: float
    first_quartile: float
    third_quartile: float
    high: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """A target, its measured figure, and whether the target is met.

    Both are None where a program that the target names was left out.
    """

    target: Target
    figure: float | None
    met: bool | None


def summary(values: Sequence[float]) -> Summary:
    """Sum up at least one value.

    >>> summary([5.0, 1.0, 2.0, 4.0, 3.0])
    Summary(median=3.0, low=1.0, first_quartile=2.0, third_quartile=4.0, high=5.0)
    """
    if len(values) == 1:
        first = third = values[0]
    else:
        first, _, third = quantiles(values, n=4, method="inclusive")
    return Summary(median(values), min(values), first, third, max(values))


def values(result: Result, ref: Ref, metric: Metric) -> list[float]:
    """Take one metric out of every run; empty where it is not known."""
    runs = result.runs.get(ref, ())
    return [run.figures[metric] for run in runs if metric in run.figures]


def size_of(result: Result, ref: Ref) -> int | None:
    """Look up how many bytes a candidate goes through."""
    labelled = {question.label: question for question in result.benchmark.questions}
    return labelled[ref.question].size


def throughput(result: Result, ref: Ref) -> float | None:
    """Give the median MB/s of a candidate that goes through a whole file."""
    size, times = size_of(result, ref), values(result, ref, "time")
    return size / 1e6 / median(times) if size is not None and times else None


def ratio(result: Result, subject: Ref, reference: Ref, metric: Metric) -> float | None:
    """Divide the cost of `reference` by the cost of `subject`, round by round.

    Above 1, the subject is the better one.
    """
    pairs = zip(
        values(result, reference, metric), values(result, subject, metric), strict=False
    )
    ratios = [theirs / ours for theirs, ours in pairs if ours > 0]
    return median(ratios) if ratios else None


def throughput_ratio(result: Result, subject: Ref, reference: Ref) -> float | None:
    """Compare speeds: per byte where both have a size, else per run."""
    by_time = ratio(result, subject, reference, "time")
    ours, theirs = size_of(result, subject), size_of(result, reference)
    if by_time is None or ours is None or theirs is None:
        return by_time
    return by_time * ours / theirs


def difference(
    result: Result, subject: Ref, reference: Ref, metric: Metric
) -> float | None:
    """Subtract the cost of `reference` from the cost of `subject`, round by round."""
    pairs = zip(
        values(result, subject, metric), values(result, reference, metric), strict=False
    )
    differences = [ours - theirs for ours, theirs in pairs]
    return median(differences) if differences else None


def measured(result: Result, target: Target) -> float | None:
    """Return the figure of a target; None if a program was left out."""
    match target:
        case AtLeast(subject, reference):
            return throughput_ratio(result, subject, reference)
        case AtMost(subject, metric):
            known = values(result, subject, metric)
            return median(known) if known else None
        case AtMostAbove(subject, reference, metric):
            return difference(result, subject, reference, metric)
        case AtMostTimes(subject, reference, metric):
            return ratio(result, reference, subject, metric)


def meets(target: Target, figure: float) -> bool:
    """Compare a figure with its target."""
    match target:
        case AtLeast(ratio=wanted):
            return figure >= wanted
        case AtMost(limit=most) | AtMostAbove(allowance=most) | AtMostTimes(ratio=most):
            return figure <= most


def verdict(result: Result, target: Target) -> Verdict:
    """Report whether a target is met."""
    figure = measured(result, target)
    return Verdict(target, figure, None if figure is None else meets(target, figure))
