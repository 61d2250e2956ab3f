"""The bytes read by a query for a few rows, and the memory of a query over all."""

from __future__ import annotations

import io
import json
from itertools import islice
from pathlib import Path

from benchmarks.candidate import (
    AtMost,
    AtMostTimes,
    Benchmark,
    Question,
    Ref,
    probe,
)
from benchmarks.engines import load_headrace
from benchmarks.generate import KIB, Extent, data_file
from benchmarks.probe import Meter, Outcome, digest
from benchmarks.suite import Settings, Suite

FEW = {"$.first()": 1, "$.take(10)": 10}
# One buffer, and the two ends of the file, by which a change would be noticed.
LIMIT = (64 + 2 * 4 + 1) * KIB
# The same file gives peaks this far apart from one run to the next.
NOISE = 1.05


def headrace_few(path: str, query: str) -> Outcome:
    """Run a stream query for the first rows."""
    import headrace

    load_headrace()
    lines = io.BytesIO()
    with Meter() as meter:
        headrace.query(query, path, stream=True).write(lines)
    return Outcome(digest(lines.getvalue().splitlines()), meter.figures)


def headrace_sum(path: str) -> Outcome:
    """Run a query for a sum of all rows, on one thread."""
    import headrace

    load_headrace()
    with Meter() as meter:
        (total,) = headrace.query("$.rows().sum(latency)", path, threads=1).to_list()
    return Outcome(f"{total:.6g}", meter.figures)


def python_few(path: str, count: int) -> Outcome:
    """Parse as many lines as are needed."""
    with Meter() as meter, Path(path).open("rb") as file:
        lines = list(islice(file, count))
        for line in lines:
            json.loads(line)
    return Outcome(digest(line.rstrip(b"\n") for line in lines), meter.figures)


def few_question(path: Path, query: str) -> Question:
    """Query the first rows."""
    return Question(
        query,
        (
            probe("headrace", headrace_few, path, query, modules=("headrace",)),
            probe("plain Python", python_few, path, FEW[query]),
        ),
    )


def sum_question(label: str, path: Path) -> Question:
    """Query a sum over all rows."""
    ours = probe("headrace", headrace_sum, path, modules=("headrace",))
    return Question(label, (ours,), path.stat().st_size)


def build(settings: Settings) -> Benchmark:
    """Query the first rows of a large file, and sums over it and over a small one."""
    large = data_file("narrow", Extent(settings.size))
    few = [few_question(large, query) for query in FEW]
    small_sum = sum_question(
        "sum of a tenth of the rows", data_file("narrow", Extent(settings.size // 10))
    )
    large_sum = sum_question("sum of all rows", large)
    return Benchmark(
        SUITE.name,
        SUITE.doc,
        (*few, small_sum, large_sum),
        metric="bytes_read",
        targets=(
            *(AtMost(Ref(each.label, "headrace"), "bytes_read", LIMIT) for each in few),
            AtMostTimes(
                Ref(large_sum.label, "headrace"),
                Ref(small_sum.label, "headrace"),
                "peak_rss",
                NOISE,
            ),
        ),
    )


SUITE = Suite(
    "query-bounds", "Queries that end after a few rows, and a sum of all.", build
)
