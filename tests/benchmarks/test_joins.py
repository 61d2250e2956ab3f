"""Every candidate of the suite `joins` joins the same rows."""

import json
from pathlib import Path

import pytest

from benchmarks import engines
from benchmarks.generate import Extent, data_file
from benchmarks.suites import joins

ORDERS = Extent(2500, "rows")


@pytest.fixture
def sides(tmp_path, monkeypatch):
    def elsewhere(*wanted):
        return data_file(*wanted, folder=tmp_path)

    monkeypatch.setattr(engines, "data_file", elsewhere)
    monkeypatch.setattr(joins, "DATA", tmp_path)
    monkeypatch.setenv("POLARS_MAX_THREADS", "1")
    return [str(elsewhere(name, ORDERS)) for name in ("orders", "customers")]


def rows_of(path):
    return [json.loads(line) for line in Path(path).read_bytes().splitlines()]


def slow_answer(left, right):
    customers = {row["customer_id"]: row for row in rows_of(right)}
    whole = (row | customers[row["customer_id"]] for row in rows_of(left))
    return joins.answer(
        json.dumps(row, separators=(",", ":")).encode() for row in whole
    )


@pytest.mark.parametrize("version", [None, 1, 2])
def test_headrace_joins_all_rows(sides, version):
    left, right = sides
    index = None
    if version is not None:
        index = str(joins.index_of(Path(right), version))
    found = joins.headrace_join(left, right, index)
    assert found.answer == slow_answer(left, right)
    assert found.figures["cpu"] > 0


@pytest.mark.parametrize("library", ["duckdb", "polars"])
def test_others_join_the_same_rows(sides, library):
    pytest.importorskip(library)
    join = {"duckdb": joins.duckdb_join, "polars": joins.polars_join}[library]
    assert join(*sides).answer == slow_answer(*sides)
