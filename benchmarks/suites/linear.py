"""Queries over 10 MB, 100 MB and so on up to `--size`, on one thread: the cost of a byte stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.candidate import Benchmark, Question
from benchmarks.generate import Extent, data_file
from benchmarks.suite import Settings, Suite
from benchmarks.suites.engine import WORKS, ours
from benchmarks.units import bytes_text

if TYPE_CHECKING:
    from collections.abc import Iterator

LEAST = 10_000_000
LABELS = (
    "one field, narrow",
    "1 % of the rows, narrow",
    "sum, narrow",
    "count and sum by 54,000 groups, narrow",
    "top 10, narrow",
)


def sizes(most: int) -> Iterator[int]:
    """Yield ten times as much each time, up to `most` and with it.

    >>> list(sizes(250_000_000))
    [10000000, 100000000, 250000000]
    """
    size = LEAST
    while size < most:
        yield size
        size *= 10
    yield most


def label_of(work: str, size: int) -> str:
    """Name a question."""
    return f"{work}, {bytes_text(size)}"


def build(settings: Settings) -> Benchmark:
    """Run some works of the suite `engine` over files of several sizes."""
    works = [work for work in WORKS if work.label in LABELS]
    questions = []
    for size in sizes(settings.size):
        files = {"events": data_file("events", Extent(size))}
        questions += [
            Question(
                label_of(work.label, size),
                (ours(work, files, 1),),
                files["events"].stat().st_size,
            )
            for work in works
        ]
    return Benchmark(SUITE.name, SUITE.doc, tuple(questions), metric="cpu")


SUITE = Suite("linear", "Queries over files of 10 MB and more, on one thread.", build)
