"""Counting and indexing the rows of one large file.

The counting probes serve other suites as well.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks import tools
from benchmarks.candidate import (
    HEADRACE,
    AtLeast,
    Benchmark,
    Question,
    Ref,
    probe,
    program,
)
from benchmarks.generate import MIB, Extent, data_file
from benchmarks.probe import Meter, Outcome
from benchmarks.rust import examples
from benchmarks.suite import Settings, Suite

# jq parses everything it counts: the whole file would take it most of a minute.
JQ_SHARE = 20


def headrace_len(path: str) -> Outcome:
    """Build the index, keep nothing."""
    from headrace import open as open_rows

    with Meter() as meter, open_rows(path, index=False) as rows:
        count = len(rows)
    return Outcome(count, meter.figures)


def python_count(path: str) -> Outcome:
    """Count newlines block by block, which is the fastest Python has."""
    count = 0
    with Meter() as meter, Path(path).open("rb", buffering=0) as file:
        while block := file.read(MIB):
            count += block.count(b"\n")
    return Outcome(count, meter.figures)


def duckdb_count(path: str) -> Outcome:
    """Count the objects; newlines alone DuckDB does not count."""
    import duckdb

    with Meter() as meter:
        found = duckdb.execute("select count(*) from read_ndjson_objects(?)", [path])
        (count,) = found.fetchone() or (0,)
    return Outcome(count, meter.figures)


def polars_count(path: str) -> Outcome:
    """Count lazily, so that no column is read."""
    import polars

    with Meter() as meter:
        count = polars.scan_ndjson(path).select(polars.len()).collect().item()
    return Outcome(count, meter.figures)


def pyarrow_count(path: str) -> Outcome:
    """Count as a data set, which goes through the file in batches."""
    import pyarrow.dataset

    with Meter() as meter:
        count = pyarrow.dataset.dataset(path, format="json").count_rows()
    return Outcome(count, meter.figures)


def build(settings: Settings) -> Benchmark:
    """Count the rows with every candidate."""
    path = data_file("narrow", Extent(settings.size))
    memchr_count, row_index = examples("memchr_count", "row_index")
    (rg,) = tools.installed("rg")
    rows = Question(
        "rows of the narrow file",
        (
            probe("headrace len(ds)", headrace_len, path, modules=("headrace",)),
            program("headrace count", HEADRACE, "count", "--no-index", path),
            program("row_index (Rust)", row_index, path),
            program("memchr_count (Rust)", memchr_count, path),
            program("memchr_count, 1 MiB", memchr_count, path, MIB),
            program("wc -l", "wc", "-l", path),
            program("rg -c", rg, "--no-config", "-c", "", path),
            probe("plain Python", python_count, path),
            probe("DuckDB", duckdb_count, path, modules=("duckdb",)),
            probe("Polars", polars_count, path, modules=("polars",)),
            probe("pyarrow", pyarrow_count, path, modules=("pyarrow",)),
        ),
        path.stat().st_size,
    )
    smaller = data_file("narrow", Extent(settings.size // JQ_SHARE))
    values = Question(
        "rows of a smaller narrow file",
        (
            program("headrace count", HEADRACE, "count", "--no-index", smaller),
            program("jq", "jq", "-n", "reduce inputs as $_ (0; . + 1)", smaller),
        ),
        smaller.stat().st_size,
    )
    ours = Ref(rows.label, "row_index (Rust)")
    return Benchmark(
        SUITE.name,
        SUITE.doc,
        (rows, values),
        targets=(
            AtLeast(ours, Ref(rows.label, "memchr_count (Rust)"), 0.8),
            AtLeast(ours, Ref(rows.label, "wc -l"), 0.9),
            AtLeast(Ref(rows.label, "headrace len(ds)"), Ref(rows.label, "wc -l"), 0.9),
        ),
    )


SUITE = Suite("row-index", "Count and index the rows of one large file.", build)
