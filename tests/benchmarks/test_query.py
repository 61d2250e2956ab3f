"""All candidates of the suite `query` give the same answer to the same question."""

import json
import shutil
from typing import get_args

import pytest

from benchmarks.generate import Extent, data_file
from benchmarks.runner import run_once
from benchmarks.suites import query, query_bounds
from benchmarks.suites.query import SHAPES, Task

TASKS = get_args(Task)


@pytest.fixture(scope="module", params=SHAPES)
def shaped(request, tmp_path_factory):
    """A small file of one shape, and its name."""
    folder = tmp_path_factory.mktemp("data")
    rows = data_file(request.param, Extent(3000, "rows"), folder=folder)
    return rows, request.param


@pytest.fixture(autouse=True)
def _answers_elsewhere(monkeypatch, tmp_path):
    monkeypatch.setattr(query, "DATA", tmp_path)
    monkeypatch.setenv("POLARS_MAX_THREADS", "1")


def slow_answer(rows, name, task, care):
    """Return the answer to a task, computed by parsing every line."""
    shape = SHAPES[name]
    lines = rows.read_bytes().splitlines()

    def field(line):
        value = json.loads(line)
        for step in shape.field.split("."):
            value = value[step]
        return value

    kept = [line for line in lines if field(line) >= query.bound(shape, task)]
    text = {
        "project": lambda: b"".join(b"%d\n" % json.loads(line)["id"] for line in lines),
        "count": lambda: b"%d" % len(kept),
        "sum": lambda: str(sum(map(field, lines))).encode(),
    }.get(task, lambda: b"".join(line + b"\n" for line in kept))
    return query.answer(text(), task, care)


@pytest.mark.parametrize("task", TASKS)
def test_headrace_gives_the_expected_answer(shaped, task):
    rows, name = shaped
    expected = slow_answer(rows, name, task, "exactly")
    outcome = query.headrace_probe(str(rows), name, task, "exactly")
    assert outcome.answer == expected
    assert outcome.figures["cpu"] > 0


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("form", ["columns", "text"])
def test_duckdb_gives_the_same_answer(shaped, task, form):
    pytest.importorskip("duckdb")
    rows, name = shaped
    outcome = query.duckdb_probe(str(rows), name, task, form)
    assert outcome.answer == slow_answer(rows, name, task, "exactly")


@pytest.mark.parametrize("task", TASKS)
def test_polars_gives_the_same_answer(shaped, task):
    pytest.importorskip("polars")
    rows, name = shaped
    outcome = query.polars_probe(str(rows), name, task, "exactly")
    assert outcome.answer == slow_answer(rows, name, task, "exactly")


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
@pytest.mark.parametrize("task", TASKS)
def test_jq_gives_the_same_answer(shaped, task):
    rows, name = shaped
    outcome = run_once(query.jq_candidate(rows, SHAPES[name], task))
    assert outcome.answer == slow_answer(rows, name, task, "loosely")


@pytest.mark.parametrize("task", ["rare", "half"])
def test_bounds_select_one_row_in_a_hundred_and_one_in_two(shaped, task):
    rows, name = shaped
    outcome = query.headrace_query(SHAPES[name], task)[0] + ".count()"
    counted = query_bounds.headrace_few(str(rows), outcome)
    expected = {"rare": 30, "half": 1500}[task]
    likely = range(expected // 3, expected * 2)
    assert counted.answer in {query_bounds.digest([b"%d" % n]) for n in likely}


@pytest.mark.parametrize("text", query_bounds.FEW)
def test_a_few_rows_take_one_buffer(shaped, text):
    rows, _name = shaped
    ours = query_bounds.headrace_few(str(rows), text)
    assert (
        ours.answer == query_bounds.python_few(str(rows), query_bounds.FEW[text]).answer
    )
    if "bytes_read" in ours.figures:
        assert ours.figures["bytes_read"] <= query_bounds.LIMIT


def test_every_question_has_a_reference_to_beat(monkeypatch, tmp_path):
    monkeypatch.setattr(
        "benchmarks.suites.query.data_file", lambda *_: tmp_path / "rows"
    )
    (tmp_path / "rows").write_bytes(b"{}\n")
    made = query.build(query.Settings(size=1000, large=1000, rounds=1))
    assert len(made.questions) == 2 * len(SHAPES) * len(TASKS)
    beaten = {target.reference for target in made.targets}
    assert {ref.question for ref in beaten} == {each.label for each in made.questions}
