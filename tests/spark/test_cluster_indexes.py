"""Index builds on a real cluster with faults: the bytes of a local build, or no index."""

import json
import sys

import pytest

import headrace
from headrace.engines.spark.query import indexed_rows, launch
from headrace.errors import HeadraceError
from tests.reference.engines import outcome
from tests.reference.index_jobs import leftovers
from tests.reference.shard_sets import write

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform == "win32", reason="spark-class is a shell script"),
]

FAULTS = [
    ("nothing", "keys", None),
    ("executor", "keys", None),
    ("worker", "edges", None),
    ("once", "edges", None),
    ("three times", "keys", None),
    ("always", "edges", "RuntimeError: attempt 3 fails"),
    ("another version", "keys", "this node has headrace 0.0.1"),
]
"""The fault, the indexes that are built, and the final error."""


def build(context, paths, order, what):
    """Build indexes during a fault; return their bytes, and the error."""
    context.sabotage.give(order)
    options = {"engine": "spark", "master": context.master, "partition_bytes": "40KiB"}
    if what == "keys":
        several = headrace.KeyIndex.build_each(paths, "id", **options)
    else:
        ends = ("id", None, "to")
        several = headrace.GraphIndex.build_each(paths, *ends, incoming=True, **options)
    error, built = None, []
    try:
        built += [each.path for each in several]
    except HeadraceError as raised:
        error = str(raised)
    contents = [path.read_bytes().hex() for path in built]
    for path in built:
        path.unlink()
    return context.sabotage.done(), contents, error


def test_an_index_is_whole_in_spite_of_faults(driver, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    paths = [data / f"{name}.jsonl" for name in "ab"]
    for path in paths:
        with path.open("w") as file:
            for row in range(4000):
                file.write(json.dumps({"id": row % 900, "to": row % 31}) + "\n")
    expected = {
        "keys": headrace.KeyIndex.build_each(paths, "id"),
        "edges": headrace.GraphIndex.build_each(paths, "id", None, "to", incoming=True),
    }
    local = {}
    for what, several in expected.items():
        built = list(several)
        local[what] = [each.path.read_bytes().hex() for each in built]
        for each in built:
            each.path.unlink()
    for order, what, said in FAULTS:
        done, built, error = driver(build, paths, order, what)
        assert bool(done) == (order not in ("nothing", "another version")), order
        if said is None:
            assert (built == local[what], error) == (True, None), order
        else:
            assert built == []
            assert said in error
    # Only the original files are left.
    assert sorted(path.name for path in data.iterdir()) == ["a.jsonl", "b.jsonl"]
    assert leftovers(data) == []


QUERIES = [
    "$.rows().filter(id in [3, 500, 899]).map(n)",
    "$.rows().filter(id in [3, 500, 899]).map(100 / (n % 50))",
    "$.rows().filter(id == 500).sort(-n).map(n)",
]


def ask(context, paths):
    """Return the answers with and without tasks, and the bytes that tasks read for each."""
    options = {"engine": "spark", "master": context.master, "partition_bytes": "4KiB"}
    sent, answers, run_tasks = [], [], launch.run_tasks

    def noting(spark, query, tasks, tell):
        sent.extend(each.end - each.start for task in tasks for each in task)
        return run_tasks(spark, query, tasks, tell)

    context.patch.setattr(launch, "run_tasks", noting)
    with headrace.open(paths) as dataset:
        for query in QUERIES:
            for few in (0, indexed_rows.FEW_ROWS):
                context.patch.setattr(indexed_rows, "FEW_ROWS", few)
                sent.clear()
                answer = outcome(dataset, query, **options)
                answers.append((repr(answer), sum(sent)))
    return answers


def test_queries_read_the_rows_found_by_an_index(driver, tmp_path):
    data = tmp_path / "data"
    lines = [f'{{"id":{n % 900},"n":{n}}}' for n in range(4000)]
    shards = write(data / "set", lines, most=1000, block_bytes=500)
    other = data / "other.jsonl"
    other.write_text("".join(f"{line}\n" for line in lines[:1000]))
    for path in (shards.path, other):
        headrace.KeyIndex.build(path, "id")
    paths = [str(shards.path), str(other)]
    with headrace.open(paths) as dataset:
        local = [repr(outcome(dataset, query, index=False)) for query in QUERIES]
        size = sum(source.size for source in dataset.sources)
    found = driver(ask, paths)
    assert [answer for answer, _sent in found] == [each for each in local for _ in "12"]
    # By tasks that read a part of the files, and without any.
    for _answer, sent in found[::2]:
        assert 0 < sent < size / 2
    assert [sent for _answer, sent in found[1::2]] == [0] * len(QUERIES)
