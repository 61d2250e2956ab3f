"""The first rows of a file without an index."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

from benchmarks.candidate import (
    HEADRACE,
    AtMost,
    Benchmark,
    Question,
    Ref,
    printed_values,
    probe,
    program,
)
from benchmarks.generate import Extent, data_file
from benchmarks.probe import Meter, Outcome, value_digest
from benchmarks.suite import Settings, Suite

PAGE = 50


def headrace_page(path: str) -> Outcome:
    """Open, take the first page, and stop: no index is there, none is kept."""
    from headrace import open as open_rows

    with Meter() as meter, open_rows(path, index=False) as rows:
        page = rows.head(PAGE)
    return Outcome(value_digest(page), meter.figures)


def python_page(path: str, start: int) -> Outcome:
    """Go through the lines until the page is reached."""
    with Meter() as meter, Path(path).open("rb") as file:
        page = [json.loads(line) for line in islice(file, start, start + PAGE)]
    return Outcome(value_digest(page), meter.figures)


def duckdb_page(path: str, start: int) -> Outcome:
    """Limit and offset; DuckDB keeps the order of a file by default."""
    import duckdb

    query = "select json from read_ndjson_objects(?) limit ? offset ?"
    with Meter() as meter:
        found = duckdb.execute(query, [path, PAGE, start]).fetchall()
        page = [json.loads(text) for (text,) in found]
    return Outcome(value_digest(page), meter.figures)


def polars_page(path: str) -> Outcome:
    """Slice lazily, so that the rest is not kept."""
    import polars

    with Meter() as meter:
        page = polars.scan_ndjson(path).head(PAGE).collect().to_dicts()
    return Outcome(value_digest(page), meter.figures)


def pyarrow_page(path: str) -> Outcome:
    """Take the first batch, with one thread: others would go on reading at the end."""
    from pyarrow import json as arrow

    options = arrow.ReadOptions(use_threads=False)
    with Meter() as meter, arrow.open_json(path, read_options=options) as batches:
        page = batches.read_next_batch().slice(0, PAGE).to_pylist()
    return Outcome(value_digest(page), meter.figures)


def build(settings: Settings) -> Benchmark:
    """Read a page of a very large file, and with more candidates of a large one."""
    sparse = data_file("sparse", Extent(settings.large))
    ours = probe("headrace ds.head", headrace_page, sparse, modules=("headrace",))
    largest = Question(
        f"first {PAGE} rows of the sparse file",
        (
            ours,
            program(
                "headrace head",
                HEADRACE,
                "head",
                "-n",
                PAGE,
                sparse,
                outcome=printed_values,
            ),
            program("head", "head", "-n", PAGE, sparse, outcome=printed_values),
            probe("plain Python", python_page, sparse, 0),
        ),
    )
    narrow = data_file("narrow", Extent(settings.size))
    large = Question(
        f"first {PAGE} rows of the narrow file",
        (
            probe("headrace ds.head", headrace_page, narrow, modules=("headrace",)),
            probe("plain Python", python_page, narrow, 0),
            probe("DuckDB", duckdb_page, narrow, 0, modules=("duckdb",)),
            probe("Polars", polars_page, narrow, modules=("polars",)),
            probe("pyarrow", pyarrow_page, narrow, modules=("pyarrow",)),
        ),
    )
    target = AtMost(Ref(largest.label, ours.name), "time", 0.05)
    return Benchmark(SUITE.name, SUITE.doc, (largest, large), targets=(target,))


SUITE = Suite("first-page", "Open a file for the first time and take a page.", build)
