"""Memory while indexing: it should not depend on the size of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.candidate import (
    HEADRACE,
    AtMostTimes,
    Benchmark,
    Question,
    Ref,
    probe,
    program,
)
from benchmarks.generate import Extent, data_file
from benchmarks.rust import examples
from benchmarks.suite import Settings, Suite
from benchmarks.suites.row_index import headrace_len
from benchmarks.units import bytes_text

if TYPE_CHECKING:
    from pathlib import Path

OURS = ("headrace len(ds)", "headrace count")
# The same file gives peaks this far apart from one run to the next.
NOISE = 1.05


def question(size: int, row_index: Path) -> Question:
    """Count the rows of a file with holes."""
    path = data_file("sparse-rows", Extent(size))
    return Question(
        f"rows of a {bytes_text(size)} file with holes",
        (
            probe(OURS[0], headrace_len, path, modules=("headrace",)),
            program(OURS[1], HEADRACE, "count", "--no-index", path),
            program("row_index (Rust)", row_index, path),
            program("wc -l", "wc", "-l", path),
        ),
        size,
    )


def build(settings: Settings) -> Benchmark:
    """Index a small file and one a hundred times as large."""
    (row_index,) = examples("row_index")
    small = question(settings.large // 100, row_index)
    large = question(settings.large, row_index)
    return Benchmark(
        SUITE.name,
        SUITE.doc,
        (small, large),
        metric="peak_rss",
        targets=tuple(
            AtMostTimes(
                Ref(large.label, name), Ref(small.label, name), "peak_rss", NOISE
            )
            for name in OURS
        ),
    )


SUITE = Suite("rss-flat", "Index a file and one a hundred times as large.", build)
