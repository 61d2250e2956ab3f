"""Building the index of files of different lengths, beside plain Python."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from benchmarks.candidate import Benchmark, Question, probe
from benchmarks.generate import Extent, data_file
from benchmarks.probe import Meter, Outcome
from benchmarks.suite import Settings, Suite
from benchmarks.suites.row_index import headrace_len

ROWS = (1_000, 100_000, 1_000_000)
INTERVAL = 1000


def python_index(path: str) -> Outcome:
    """Record the offset of every thousandth row, without headrace."""
    checkpoints, rows = [0], 0
    with Meter() as meter, Path(path).open("rb") as file:
        while found := sum(1 for _ in islice(file, INTERVAL)):
            rows += found
            checkpoints.append(file.tell())
    return Outcome(rows, meter.figures)


def question(rows: int) -> Question:
    """Index `rows` rows."""
    path = data_file("narrow", Extent(rows, "rows"))
    return Question(
        f"{rows:,} rows",
        (
            probe("headrace len(ds)", headrace_len, path, modules=("headrace",)),
            probe("plain Python", python_index, path),
        ),
        path.stat().st_size,
    )


def build(_settings: Settings) -> Benchmark:
    """Index three lengths; the sizes do not depend on the settings."""
    return Benchmark(SUITE.name, SUITE.doc, tuple(map(question, ROWS)))


SUITE = Suite(
    "index-sizes", "Build the index of 1,000, 100,000 and 1,000,000 rows.", build
)
