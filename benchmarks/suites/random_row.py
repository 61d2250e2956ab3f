"""Single rows by number, in no order.

Every candidate answers with the same few rows. A candidate that needs a scan for
each is timed on these; the others are timed on many more, since a few fast calls
cannot be timed well.
"""

from __future__ import annotations

import json
import linecache
from array import array
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from benchmarks.candidate import AtMost, Benchmark, Question, Ref, probe
from benchmarks.generate import Extent, data_file
from benchmarks.probe import Meter, Outcome, value_digest
from benchmarks.suite import Settings, Suite

if TYPE_CHECKING:
    from collections.abc import Callable

FEW, MANY = 3, 5000
# Scanning peers take the better part of a second for a row of 100 MB.
SCAN_SIZE = 100_000_000


def wanted(total: int, count: int) -> list[int]:
    """Choose rows, the same for every candidate."""
    random = Random("rows")
    return [int(random.random() * total) for _ in range(count)]


def timed(row: Callable[[int], object], total: int, count: int) -> Outcome:
    """Return the time of one call, and the rows to compare."""
    rows = wanted(total, count)
    with Meter() as meter:
        for number in rows:
            row(number)
    each = {metric: value / count for metric, value in meter.figures.items()}
    return Outcome(value_digest(map(row, rows[:FEW])), each)


def headrace_row(path: str) -> Outcome:
    """Index the file first, then time the access alone."""
    from headrace import open as open_rows

    with open_rows(path, index=False) as rows:
        return timed(rows.__getitem__, len(rows), MANY)


def headrace_raw_row(path: str) -> Outcome:
    """Take the bytes and leave the parsing to the standard library."""
    from headrace import open as open_rows

    with open_rows(path, index=False) as rows:
        return timed(lambda number: json.loads(rows.raw[number]), len(rows), MANY)


def python_offsets_row(path: str) -> Outcome:
    """Keep the offset of every row: 8 bytes a row, and a seek."""
    offsets = array("Q", [0])
    with Path(path).open("rb") as file:
        for line in file:
            offsets.append(offsets[-1] + len(line))

        def row(number: int) -> object:
            file.seek(offsets[number])
            return json.loads(file.readline())

        return timed(row, len(offsets) - 1, MANY)


def linecache_row(path: str, total: int) -> Outcome:
    """Keep all lines in memory, as `linecache` does."""
    linecache.getline(path, 1)
    return timed(
        lambda number: json.loads(linecache.getline(path, number + 1)), total, MANY
    )


def python_scan_row(path: str, total: int) -> Outcome:
    """Go through the file for every row."""

    def row(number: int) -> object:
        with Path(path).open("rb") as file:
            return json.loads(next(islice(file, number, None)))

    return timed(row, total, FEW)


def duckdb_row(path: str, total: int) -> Outcome:
    """Limit 1, with an offset."""
    import duckdb

    query = "select json from read_ndjson_objects(?) limit 1 offset ?"

    def row(number: int) -> object:
        (text,) = duckdb.execute(query, [path, number]).fetchone() or ("null",)
        return json.loads(text)

    return timed(row, total, FEW)


def polars_row(path: str, total: int) -> Outcome:
    """Slice lazily, so that only one row is kept."""
    import polars

    def row(number: int) -> object:
        return polars.scan_ndjson(path).slice(number, 1).collect().to_dicts()[0]

    return timed(row, total, FEW)


def line_count(path: Path) -> int:
    """Count the rows, for candidates without a row count."""
    with path.open("rb") as file:
        return sum(
            block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b"")
        )


def build(settings: Settings) -> Benchmark:
    """Run candidates with an index on the large file, and scanners on a smaller one."""
    large = data_file("narrow", Extent(settings.size))
    seeking = Question(
        "one row of the narrow file",
        (
            probe("headrace ds[i]", headrace_row, large, modules=("headrace",)),
            probe("headrace ds.raw[i]", headrace_raw_row, large, modules=("headrace",)),
            probe("plain Python, all offsets", python_offsets_row, large),
        ),
    )
    small = data_file("narrow", Extent(min(settings.size, SCAN_SIZE)))
    total = line_count(small)
    scanning = Question(
        "one row of a smaller narrow file",
        (
            probe("headrace ds[i]", headrace_row, small, modules=("headrace",)),
            probe("linecache", linecache_row, small, total),
            probe("plain Python, scan", python_scan_row, small, total),
            probe("DuckDB", duckdb_row, small, total, modules=("duckdb",)),
            probe("Polars", polars_row, small, total, modules=("polars",)),
        ),
    )
    target = AtMost(Ref(seeking.label, "headrace ds[i]"), "time", 50e-6)
    return Benchmark(SUITE.name, SUITE.doc, (seeking, scanning), targets=(target,))


SUITE = Suite("random-row", "Take single rows by number, in no order.", build)
