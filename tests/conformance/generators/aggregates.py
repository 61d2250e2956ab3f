"""Totals, statistics and windows, computed with fractions and Python's `statistics`."""

from __future__ import annotations

import statistics
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tests.conformance.generators.made import Case, fails, gives

Numbers = list[Any]

ARRAYS: list[Numbers] = [
    [],
    [7],
    [3, 1, 2],
    [2, 4, 4, 10],
    [0.1, 0.2, 0.3],
    [1, 2.5, -3, 0.25],
    [None, 5, None, 8, 2],
    [None, None],
    [-5, -5, 12, 0, 3, 3, -1],
]


def numbers(xs: Numbers) -> list[Any]:
    """Leave null out."""
    return [x for x in xs if x is not None]


def total(xs: Numbers) -> Any:
    """Add exactly and round once; an integer if all are."""
    kept = numbers(xs)
    exact = sum(map(Fraction, kept), Fraction(0))
    return int(exact) if all(isinstance(x, int) for x in kept) else float(exact)


def mean(xs: Numbers) -> float | None:
    """Return the mean, rounded once."""
    kept = numbers(xs)
    return float(sum(map(Fraction, kept)) / len(kept)) if kept else None


def quantile(xs: Numbers, part: float) -> Any:
    """Interpolate between the two nearest numbers; at an exact position, return the number."""
    kept = sorted(numbers(xs))
    if not kept:
        return None
    position = Fraction(part) * (len(kept) - 1)
    below = int(position)
    rest = position - below
    if rest == 0:
        return kept[below]
    low, high = Fraction(kept[below]), Fraction(kept[below + 1])
    return float(low + (high - low) * rest)


def variance(xs: Numbers, least: int) -> float | None:
    """Return the variance; of a sample with `least` 2, of the population with 1."""
    kept = list(map(Fraction, numbers(xs)))
    if len(kept) < least:
        return None
    middle = sum(kept) / len(kept)
    squares = sum((x - middle) ** 2 for x in kept)
    return float(squares / (len(kept) - least + 1))


def root(number: float | None) -> float | None:
    """Return the square root of a number that may be null."""
    return None if number is None else number**0.5


def spans(xs: Numbers, size: int) -> list[Numbers | None]:
    """Return the last `size` elements up to each; None until there are that many."""
    return [None if n + 1 < size else xs[n + 1 - size : n + 1] for n in range(len(xs))]


def rolled(function: Any, size: int) -> Any:
    """Make a window function of a function of many numbers."""
    return lambda xs: [
        None if span is None else function(span) for span in spans(xs, size)
    ]


def smallest(xs: Numbers) -> Any:
    """Return the smallest number, the first of equal ones."""
    return min(numbers(xs), default=None)


def largest(xs: Numbers) -> Any:
    """Return the largest number, the first of equal ones."""
    return max(numbers(xs), default=None)


def mode(xs: Numbers) -> Any:
    """Return the most frequent value, the first of several."""
    kept = numbers(xs)
    return statistics.mode(kept) if kept else None


def shifted(xs: Numbers, distance: int) -> Numbers:
    """Return for each element the one at some distance before it."""
    return [
        xs[n - distance] if 0 <= n - distance < len(xs) else None
        for n in range(len(xs))
    ]


def differences(xs: Numbers) -> Numbers:
    """Subtract from each number the one before it."""
    before = shifted(xs, 1)
    return [
        None if x is None or b is None else x - b
        for x, b in zip(xs, before, strict=True)
    ]


def changes(xs: Numbers) -> Numbers:
    """Divide the difference from the number before by that number."""
    before = shifted(xs, 1)
    return [
        None if x is None or not b else (x - b) / b
        for x, b in zip(xs, before, strict=True)
    ]


def running(function: Any) -> Any:
    """Make a function of all elements so far."""
    return lambda xs: [function(xs[: n + 1]) for n in range(len(xs))]


def scores(xs: Numbers) -> Numbers:
    """Return how many standard deviations each number is from the mean."""
    middle, wide = mean(xs), root(variance(xs, 1))
    return [None if x is None else (x - middle) / wide if wide else 0.0 for x in xs]


FUNCTIONS = {
    "sum()": total,
    "sum(@ * 2)": lambda xs: total([x * 2 for x in xs]) if None not in xs else ...,
    "avg()": mean,
    "min()": smallest,
    "max()": largest,
    "median()": lambda xs: quantile(xs, 0.5),
    "quantile(0)": lambda xs: quantile(xs, 0),
    "quantile(0.25)": lambda xs: quantile(xs, 0.25),
    "percentile(0.75)": lambda xs: quantile(xs, 0.75),
    "quantile(1)": lambda xs: quantile(xs, 1),
    "variance()": lambda xs: variance(xs, 2),
    "var_samp()": lambda xs: variance(xs, 2),
    "var_pop()": lambda xs: variance(xs, 1),
    "stddev()": lambda xs: root(variance(xs, 2)),
    "stdev()": lambda xs: root(variance(xs, 2)),
    "stddev_samp()": lambda xs: root(variance(xs, 2)),
    "stddev_pop()": lambda xs: root(variance(xs, 1)),
    "pstdev()": lambda xs: root(variance(xs, 1)),
    "mode()": mode,
    "count_distinct()": lambda xs: len(set(numbers(xs))),
    "nunique()": lambda xs: len(set(numbers(xs))),
    "approx_count_distinct()": lambda xs: len(set(xs)),
    "approx_distinct()": lambda xs: len(set(xs)),
    "rolling_sum(2)": rolled(total, 2),
    "rolling_avg(3)": rolled(mean, 3),
    "rolling_min(2)": rolled(smallest, 2),
    "rolling_max(3)": rolled(largest, 3),
    "lag()": lambda xs: shifted(xs, 1),
    "lag(2)": lambda xs: shifted(xs, 2),
    "lead()": lambda xs: shifted(xs, -1),
    "lead(2)": lambda xs: shifted(xs, -2),
    "diff_window()": differences,
    "pct_change()": changes,
    "cummax()": running(largest),
    "cummin()": running(smallest),
    "zscore()": scores,
}

NOT_OF_NOTHING = {"rolling_sum(2)", "rolling_avg(3)"}
"""What the sum of a window of nulls is, is no matter of arithmetic: see the written cases."""


def cases() -> list[Case]:
    """Return all cases of aggregates."""
    made = []
    for method, function in FUNCTIONS.items():
        for xs in ARRAYS:
            if method in NOT_OF_NOTHING and None in xs:
                continue
            answer = function(xs)
            if answer is ...:
                continue
            topic = method.partition("(")[0]
            made.append(gives(topic, f"$.{method}", xs, answer))
        field = [{"v": x} for x in ARRAYS[6]]
        name, _, arguments = method.partition("(")
        if name in ONE_VALUE and arguments == ")":
            answer = function(ARRAYS[6])
            made.append(gives(name, f"$.{name}(v)", field, answer))
            query = f"$.aggregate({{a: {name}(v)}})"
            made.append(gives(f"aggregate-{name}", query, field, {"a": answer}))
    for name in (
        "sum",
        "avg",
        "median",
        "variance",
        "stddev_pop",
        "zscore",
        "rolling_sum",
    ):
        arguments = "(1)" if name == "rolling_sum" else "()"
        # In stream mode the totals of all aggregates share one message.
        reason = "takes numbers and null, not string 2"
        made.append(fails(name, f"$.{name}{arguments}", [1, "2"], reason))
    for name in ("min", "max", "cummin", "cummax"):
        reason = f"{name} compares values of one kind, not a number and a string"
        made.append(fails(name, f"$.{name}()", [1, "2"], reason))
        texts = ["b", None, "a", "ab"]
        answers = {
            "min": "a",
            "max": "b",
            "cummin": ["b", "b", "a", "a"],
            "cummax": ["b"] * 4,
        }
        made.append(gives(name, f"$.{name}()", texts, answers[name]))
    return [*made, *histograms()]


ONE_VALUE = {
    "sum",
    "avg",
    "min",
    "max",
    "median",
    "variance",
    "stddev",
    "mode",
    "count_distinct",
}


def histograms() -> list[Case]:
    """Return cases of histograms, with buckets of one width and between given edges."""
    made = []
    for xs, width in (
        ([1, 12, 14, 31], 10),
        ([-3, 0, 2], 2),
        ([0.25, 1.5, 1.25], 0.5),
        ([], 5),
    ):
        kept = sorted(xs)
        buckets = []
        if kept:
            low, high = int(kept[0] // width), int(kept[-1] // width)
            for n in range(low, high + 1):
                count = sum(x // width == n for x in xs)
                buckets.append(
                    {"from": n * width, "to": (n + 1) * width, "count": count}
                )
        made.append(gives("histogram", f"$.histogram({width})", xs, buckets))
    for xs, edges in (([1, 2, None, 9], [0, 2, 5]), ([], [1]), ([-1, 4], [0, 4])):
        bounds = [None, *edges, None]
        buckets = []
        for low, high in pairwise(bounds):
            count = sum(
                x is not None
                and (low is None or low <= x)
                and (high is None or x < high)
                for x in xs
            )
            buckets.append({"from": low, "to": high, "count": count})
        made.append(gives("histogram", f"$.histogram({edges})", xs, buckets))
    return made
