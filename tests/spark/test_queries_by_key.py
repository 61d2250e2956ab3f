"""Queries by Spark tasks with key indexes: the answers of one process.

All queries are tested without Spark, in tests/features/key_index/test_queries_by_key_on_spark.py.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headrace
from headrace.engines.spark.query import launch
from tests.reference.engines import outcome
from tests.reference.shard_sets import write

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

HERE = {"engine": "spark", "master": "local[2,4]", "partition_bytes": "2KiB"}
QUERIES = st.sampled_from(
    [
        "$.rows().filter(C).map({id, n})",
        "$.rows().filter(C).map(10 / (n % 5))",
        "$.rows().filter(C).sum(n)",
        "$.rows().filter(C).sort(-n).map(n)",
        "$.rows().filter(C).take(3)",
        "$.rows().filter(C).unique_by(n % 10)",
        "$ if C else null",
    ]
)
CONDITIONS = st.sampled_from(["id == 7", "id in [0, 8, 96]", "id == 5 and n > 300"])


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Make a set with an index, a file with one, and a file without."""
    directory = tmp_path_factory.mktemp("by_key")
    lines = [f'{{"id": {n % 97}, "n": {n}, "word": "wé{n}"}}' for n in range(900)]
    shards = write(directory / "set", lines[:600], most=100, block_bytes=200)
    files = [directory / "indexed.jsonl", directory / "other.jsonl"]
    files[0].write_text("\n".join([*lines[600:800], "", ""]))
    files[1].write_text("\n".join(lines[800:]))
    headrace.KeyIndex.build(shards.path, "id")
    headrace.KeyIndex.build(files[0], "id")
    return [shards.path, *files]


@pytest.fixture
def jobs_run(monkeypatch):
    """Count how often tasks of Spark are run."""
    run, tasks_run = launch.run_tasks, []

    def noting(spark, query, tasks, tell):
        tasks_run.append(tasks)
        return run(spark, query, tasks, tell)

    monkeypatch.setattr(launch, "run_tasks", noting)
    return tasks_run


@settings(
    max_examples=8,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(
    query=QUERIES,
    condition=CONDITIONS,
    some=st.sampled_from([slice(0, 1), slice(0, 2), slice(0, 3)]),
    few=st.sampled_from([0, 4096]),
    on_error=st.sampled_from(["abort", "skip"]),
)
def test_an_index_changes_nothing(
    spark, paths, monkeypatch, query, condition, some, few, on_error
):
    monkeypatch.setattr("headrace.engines.spark.query.indexed_rows.FEW_ROWS", few)
    query = query.replace("C", condition)
    with headrace.open(paths[some]) as dataset:
        local, *others = (
            outcome(dataset, query, on_error=on_error, **options)
            for options in ({}, {"index": False}, HERE, {"index": False, **HERE})
        )
    assert others == [local] * 3


def test_tasks_run_for_many_rows_only(spark, paths, monkeypatch, jobs_run):
    query = "$.rows().filter(id in [0, 8]).map(n)"
    with headrace.open(paths[0]) as dataset:
        expected = outcome(dataset, query)
        assert outcome(dataset, query, **HERE) == expected
        assert jobs_run == []
        monkeypatch.setattr("headrace.engines.spark.query.indexed_rows.FEW_ROWS", 3)
        assert outcome(dataset, query, **HERE) == expected
    (tasks,) = jobs_run
    read = sum(each.end - each.start for task in tasks for each in task)
    assert 5 * read < sum(source.size for source in dataset.sources)
