"""The candidates of the Spark benchmarks run, and return the same answers."""

import json
import sys
from importlib import import_module

import pytest

from benchmarks import spark_server
from benchmarks.generate import data_file
from benchmarks.runner import Run, run
from benchmarks.suite import Settings
from benchmarks.suites import log_write, spark_index, spark_start, spark_stream
from benchmarks.suites import spark as suite

pytestmark = pytest.mark.spark

SMALL = Settings(size=300_000, large=300_000, rounds=1)


@pytest.fixture
def _here(spark, monkeypatch, tmp_path):
    """Use the session of the tests instead of the benchmark server."""

    def ask(cores, where, *arguments):
        module, name = where.split(":")
        return getattr(import_module(module), name)(spark, *arguments)

    def run_here(candidate):
        where, arguments = candidate.argv[3:]
        assert where == "benchmarks.spark_server:ask"
        outcome = ask(*json.loads(arguments))
        return Run(outcome.answer, outcome.figures, 0)

    def small(name, extent):
        return data_file(name, extent, folder=tmp_path)

    monkeypatch.setattr("benchmarks.runner.run_once", run_here)
    monkeypatch.setattr(spark_server, "ask", ask)
    monkeypatch.setattr(spark_server, "start", lambda cores=0: None)
    # Candidates refer to it by its path.
    ask.__module__, ask.__name__ = "benchmarks.spark_server", "ask"
    monkeypatch.setattr(suite, "data_file", small)
    monkeypatch.setattr(spark_index, "data_file", small)
    for each in (suite, spark_stream, log_write):
        monkeypatch.setattr(each, "DATA", tmp_path)


@pytest.mark.usefixtures("_here")
def test_all_candidates_agree_and_targets_name_them(monkeypatch, tmp_path):
    # Java is slow with fifty columns, even for few rows.
    monkeypatch.setattr(suite, "KINDS", ("narrow",))
    result = run(suite.build(SMALL), rounds=0)
    refs = set(result.runs)
    assert len(refs) == 25
    assert not result.left_out
    assert len(result.benchmark.targets) == 8
    for target in result.benchmark.targets:
        assert {target.subject, target.reference} <= refs
    assert not (tmp_path / suite.WRITTEN).exists()


@pytest.mark.usefixtures("_here")
def test_all_builds_give_the_same_bytes():
    result = run(spark_index.build(SMALL), rounds=0)
    refs = set(result.runs)
    assert len(refs) == 12
    assert not result.left_out
    for target in result.benchmark.targets:
        assert {target.subject, target.reference} <= refs


@pytest.mark.usefixtures("_here")
def test_all_streams_write_the_same_rows(tmp_path):
    result = run(spark_stream.build(SMALL), rounds=0)
    assert len(result.runs) == 4
    assert not result.left_out
    assert {target.subject for target in result.benchmark.targets} < set(result.runs)
    assert not (tmp_path / spark_stream.STREAMED).exists()


@pytest.mark.parametrize("task", ["rare", "full"])
def test_an_answer_is_of_all_columns(spark, task):
    frame = spark.sql("SELECT 1L AS a, 'x' AS b UNION ALL SELECT 2L, 'y'")
    answer = suite.reduced(frame, task, "a")
    assert answer.startswith("2 rows, ")
    for other in ("SELECT 1L AS a, 'x' AS b", "SELECT 1L AS a, 'z' AS b"):
        changed = spark.sql(f"{other} UNION ALL SELECT 2L, 'y'")
        same = suite.reduced(changed, task, "a") == answer
        assert same == ("'x'" in other)


def test_the_start_is_compared_with_a_bare_session():
    benchmark = spark_start.build(SMALL)
    (question,) = benchmark.questions
    (target,) = benchmark.targets
    names = [each.name for each in question.candidates]
    assert [target.subject.candidate, target.reference.candidate] == names[:2]


def test_the_error_of_a_candidate_is_returned(monkeypatch):
    module = sys.modules[__name__]
    monkeypatch.setattr(module, "failing", lambda _spark: 1 / 0, raising=False)
    answer = spark_server._answer(None, f"{__name__}:failing")
    assert "ZeroDivisionError" in answer["failed"]
