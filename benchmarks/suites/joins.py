"""Joins on one thread: all orders with their customers, and few of them by an index.

Every candidate writes the joined rows to a file. Only headrace promises their order, so answers
are compared without it: the number of rows, and the content of some of them.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Literal

from benchmarks.candidate import AtMost, AtMostTimes, Benchmark, Question, Ref, probe
from benchmarks.engines import load_headrace
from benchmarks.generate import DATA, Extent, data_file
from benchmarks.probe import Meter, Outcome, value_digest
from benchmarks.rows import customer_count
from benchmarks.suite import Settings, Suite

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.candidate import Candidate

KEY = "customer_id"
# 5 million orders of 500,000 customers are about 1 GB with what is joined to them.
BYTES_PER_ORDER = 200
LOOKUPS = 200_000
LOOKUP_SECONDS = 2e-6
# The customers of this many orders are too large for a join in memory without an index.
LEAST_ORDERS = 1_500_000
SMALL_ORDERS = 10_000
SAMPLED = 1009
"""One row of this many is compared."""


def answer(lines: Iterable[bytes]) -> str:
    """Make an answer of joined orders, in any order."""
    count, sampled = 0, []
    for line in lines:
        count += 1
        number = int(line[line.index(b":") + 1 : line.index(b",")])
        if number % SAMPLED == 0:
            sampled.append((number, json.loads(line, parse_int=float)))
    return f"{count} rows, {value_digest(row for _, row in sorted(sampled))}"


def written(path: str) -> str:
    """Make an answer of a file."""
    with Path(path).open("rb") as file:
        return answer(file)


def output() -> tempfile._TemporaryFileWrapper[bytes]:
    """Make a file for an answer; it goes away with the probe."""
    DATA.mkdir(parents=True, exist_ok=True)
    return tempfile.NamedTemporaryFile(dir=DATA, suffix=".out", buffering=0)


def headrace_join(left: str, right: str, index: str | None) -> Outcome:
    """Join with the right side in memory, or through an index."""
    import headrace

    load_headrace()
    with output() as file:
        with Meter() as meter:
            rows = headrace.open(left)
            joined = rows.join(right, KEY, how="left", index=index or False)
            for lines in joined.lines():
                file.write(lines)
        return Outcome(written(file.name), meter.figures)


def duckdb_join(left: str, right: str) -> Outcome:
    """One thread, inferred types."""
    import duckdb

    with output() as file:
        statement = (
            f"copy (select l.*, r.* exclude {KEY} from read_ndjson('{left}') l "
            f"left join read_ndjson('{right}') r using ({KEY})) "
            f"to '{file.name}' (format json)"
        )
        with duckdb.connect(config={"threads": 1}) as connection, Meter() as meter:
            connection.execute(statement)
        return Outcome(written(file.name), meter.figures)


def polars_join(left: str, right: str) -> Outcome:
    """One thread, written as rows come."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    import polars as pl

    with output() as file:
        with Meter() as meter:
            orders, customers = pl.scan_ndjson(left), pl.scan_ndjson(right)
            orders.join(customers, on=KEY, how="left").sink_ndjson(file.name)
        return Outcome(written(file.name), meter.figures)


def headrace_lookups(left: str, right: str, index: str) -> Outcome:
    """Look keys up that are spread over the right side; warm, the time of one."""
    import headrace

    def rows() -> tuple[bytes, dict[str, float]]:
        with Meter() as meter:
            joined = headrace.open(left).join(right, KEY, how="left", index=index)
            lines = b"".join(joined.lines())
        if joined.stats.mode != "indexed":
            raise ValueError(f"{right}: too small for an index to be used")
        lookups = joined.stats.counts.lookups
        return lines, {name: each / lookups for name, each in meter.figures.items()}

    rows()
    lines, figures = rows()
    return Outcome(answer(lines.splitlines()), figures)


def lookups(path: Path, customers: int) -> Path:
    """Make rows that refer to customers all over a file, in no order."""
    file = path.with_name(f"{path.stem}-lookups.jsonl")
    random = Random(1)
    with file.open("w") as out:
        for number in range(LOOKUPS):
            customer = int(random.random() * customers)
            out.write(f'{{"order_id":{number},"customer_id":{customer}}}\n')
    return file


def index_of(path: Path, version: Literal[1, 2]) -> Path:
    """Build the index of the key of a file."""
    from headrace import KeyIndex

    index = path.with_name(f"{path.stem}-v{version}.jnx")
    KeyIndex.build(path, KEY, index_version=version, index=index)
    return index


def ours(name: str, left: Path, right: Path, index: Path | None = None) -> Candidate:
    """Make a candidate of our join."""
    place = "" if index is None else str(index)
    return probe(name, headrace_join, left, right, place, modules=("headrace",))


def build(settings: Settings) -> Benchmark:
    """Make orders, customers and indexes, and run the joins."""
    orders = settings.size // BYTES_PER_ORDER
    left = data_file("orders", Extent(orders, "rows"))
    right = data_file("customers", Extent(orders, "rows"))
    whole = Question(
        "orders with their customers",
        (
            ours("headrace", left, right),
            probe("DuckDB", duckdb_join, left, right, modules=("duckdb",)),
            probe("Polars", polars_join, left, right, modules=("polars",)),
        ),
        left.stat().st_size + right.stat().st_size,
    )
    many = data_file("customers", Extent(max(orders, LEAST_ORDERS), "rows"))
    some = lookups(many, customer_count(max(orders, LEAST_ORDERS)))
    one = Question(
        "one customer, by an index",
        tuple(
            probe(
                f"headrace, version {version}",
                headrace_lookups,
                some,
                many,
                index_of(many, version),
                modules=("headrace",),
            )
            for version in (1, 2)
        ),
    )
    few = data_file("customers", Extent(SMALL_ORDERS, "rows"))
    small = Question(
        "orders with few customers",
        (
            ours("headrace", left, few),
            ours("headrace, with an index", left, few, index_of(few, 1)),
        ),
    )
    return Benchmark(
        SUITE.name,
        SUITE.doc,
        (whole, one, small),
        metric="cpu",
        targets=(
            AtMostTimes(
                Ref(whole.label, "headrace"), Ref(whole.label, "DuckDB"), "cpu", 1.0
            ),
            AtMostTimes(
                Ref(whole.label, "headrace"), Ref(whole.label, "Polars"), "cpu", 1.0
            ),
            AtMost(Ref(one.label, "headrace, version 2"), "time", LOOKUP_SECONDS),
            AtMostTimes(
                Ref(small.label, "headrace, with an index"),
                Ref(small.label, "headrace"),
                "cpu",
                1.1,
            ),
        ),
    )


SUITE = Suite("joins", "Join two files on one thread, and by an index.", build)
