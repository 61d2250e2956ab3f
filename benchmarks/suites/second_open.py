"""Pages of a file whose index was kept: how much is read for one.

Polars takes no part: it maps the file, and what it reads that way is not counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.candidate import AtMost, Benchmark, Question, Ref, probe
from benchmarks.generate import DATA, KIB, Extent, data_file
from benchmarks.probe import Meter, Outcome, value_digest
from benchmarks.runner import run_once
from benchmarks.suite import Settings, Suite
from benchmarks.suites.first_page import PAGE, duckdb_page, python_page

if TYPE_CHECKING:
    from pathlib import Path

INDEX = DATA / "index"
# A page begins up to 999 rows after a checkpoint: 100 kB of narrow rows, and a
# last read that may reach further than the page.
LIMIT = 256 * KIB


def keep_index(path: str) -> Outcome:
    """Index a file and keep the index."""
    from headrace import open as open_rows

    with open_rows(path, index_dir=INDEX) as rows:
        return Outcome(len(rows))


def headrace_page(path: str, start: int) -> Outcome:
    """Open again and take a page; everything read counts, the kept index too."""
    from headrace import open as open_rows

    with Meter() as meter, open_rows(path, index_dir=INDEX) as rows:
        page = rows[start : start + PAGE]
    return Outcome(value_digest(page), meter.figures)


def indexed(path: Path) -> int:
    """Build the index if it is missing; return the number of rows."""
    return int(run_once(probe("keep index", keep_index, path)).answer)


def build(settings: Settings) -> Benchmark:
    """Measure the first page of a very large file and a page in the middle."""
    sparse = data_file("sparse", Extent(settings.large))
    indexed(sparse)
    first = Question(
        f"first {PAGE} rows of the sparse file",
        (
            probe("headrace ds[a:b]", headrace_page, sparse, 0, modules=("headrace",)),
            probe("plain Python", python_page, sparse, 0),
        ),
    )
    narrow = data_file("narrow", Extent(settings.size))
    middle = indexed(narrow) // 2
    midst = Question(
        f"{PAGE} rows from the middle of the narrow file",
        (
            probe(
                "headrace ds[a:b]", headrace_page, narrow, middle, modules=("headrace",)
            ),
            probe("plain Python", python_page, narrow, middle),
            probe("DuckDB", duckdb_page, narrow, middle, modules=("duckdb",)),
        ),
    )
    return Benchmark(
        SUITE.name,
        SUITE.doc,
        (first, midst),
        metric="bytes_read",
        targets=tuple(
            AtMost(Ref(question.label, "headrace ds[a:b]"), "bytes_read", LIMIT)
            for question in (first, midst)
        ),
    )


SUITE = Suite(
    "second-open", "Take a page of a file whose index was kept; bytes read.", build
)
