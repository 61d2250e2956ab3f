"""The suite `query-bounds` gives right answers, and stays within one buffer."""

import json

import pytest

from benchmarks import engines
from benchmarks.generate import Extent, data_file
from benchmarks.suites import query_bounds


@pytest.fixture
def rows(tmp_path, monkeypatch):
    def elsewhere(*wanted):
        return data_file(*wanted, folder=tmp_path)

    monkeypatch.setattr(engines, "data_file", elsewhere)
    return elsewhere("narrow", Extent(3000, "rows"))


@pytest.mark.parametrize("text", query_bounds.FEW)
def test_a_few_rows_take_one_buffer(rows, text):
    ours = query_bounds.headrace_few(str(rows), text)
    slow = query_bounds.python_few(str(rows), query_bounds.FEW[text])
    assert ours.answer == slow.answer
    if "bytes_read" in ours.figures:
        assert ours.figures["bytes_read"] <= query_bounds.LIMIT


def test_the_sum_is_that_of_all_rows(rows):
    total = sum(json.loads(line)["latency"] for line in rows.read_bytes().splitlines())
    assert query_bounds.headrace_sum(str(rows)).answer == f"{total:.6g}"
