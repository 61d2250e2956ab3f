"""Indexes built on a real cluster in which things die: the bytes of a local build, or none."""

import json
import sys

import pytest

import headrace
from tests.reference.engines import outcome
from tests.reference.index_jobs import leftovers
from tests.reference.shard_sets import write
from tests.spark.cluster import SETTINGS, cluster, run_driver

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
"""What goes wrong, what is built meanwhile, and what is said at last."""

DRIVER = f"""
import json, sys
from pathlib import Path
import headrace, headrace.spark
from tests.spark.sabotage import VARIABLE, Sabotage

master, directory, faults, *paths = sys.argv[1:]
sabotage = Sabotage(directory)
sabotage.give("nothing")
spark = headrace.spark.session(master, **{SETTINGS}, **{{
    "spark.python.daemon.module": "tests.spark.sabotage",
    "spark.executorEnv." + VARIABLE: directory,
    "spark.python.worker.reuse": False,
}})
options = dict(engine="spark", master=master, partition_bytes="40KiB")

def keys():
    return headrace.build_lookup_indexes(paths, "id", **options)

def edges():
    return headrace.build_graph_indexes(paths, "id", None, "to", reverse=True, **options)

for order, what in json.loads(faults):
    sabotage.give(order)
    error, built = None, []
    try:
        for each in {{"keys": keys, "edges": edges}}[what]():
            built.append(each.path)
    except headrace.errors.HeadraceError as raised:
        error = str(raised)
    bytes = [path.read_bytes().hex() for path in built]
    print(json.dumps([sabotage.done(), bytes, error]), flush=True)
    for path in built:
        path.unlink()
spark.stop()
"""


def test_an_index_is_whole_whatever_dies(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    paths = [data / f"{name}.jsonl" for name in "ab"]
    for path in paths:
        with path.open("w") as file:
            for row in range(4000):
                file.write(json.dumps({"id": row % 900, "to": row % 31}) + "\n")
    expected = {
        "keys": headrace.build_lookup_indexes(paths, "id"),
        "edges": headrace.build_graph_indexes(paths, "id", None, "to", reverse=True),
    }
    local = {}
    for what, several in expected.items():
        built = list(several)
        local[what] = [each.path.read_bytes().hex() for each in built]
        for each in built:
            each.path.unlink()
    faults = json.dumps([(order, what) for order, what, _said in FAULTS])
    with cluster(tmp_path) as master:
        printed = run_driver(DRIVER, master, str(tmp_path), faults, *map(str, paths))
    found = [json.loads(line) for line in printed.splitlines()]
    assert len(found) == len(FAULTS)
    for (order, what, said), (done, built, error) in zip(FAULTS, found, strict=True):
        assert bool(done) == (order not in ("nothing", "another version")), order
        if said is None:
            assert (built == local[what], error) == (True, None), order
        else:
            assert built == []
            assert said in error
    # Nothing is left but the files that were there.
    assert sorted(path.name for path in data.iterdir()) == ["a.jsonl", "b.jsonl"]
    assert leftovers(data) == []


QUERIES = [
    "$.rows().filter(id in [3, 500, 899]).map(n)",
    "$.rows().filter(id in [3, 500, 899]).map(100 / (n % 50))",
    "$.rows().filter(id == 500).sort(-n).map(n)",
]

ASKING = f"""
import json, sys
import headrace, headrace.spark
from headrace.engines.spark import found_rows, jobs
from tests.reference.engines import outcome

master, *paths = sys.argv[1:]
spark = headrace.spark.session(master, **{SETTINGS})
sent, run_tasks = [], jobs.run_tasks

def noting(spark, query, tasks):
    sent.extend(each.end - each.start for task in tasks for each in task)
    return run_tasks(spark, query, tasks)

jobs.run_tasks = noting
with headrace.open(paths, persist=False) as dataset:
    for query in {QUERIES}:
        for few in (0, 4096):
            found_rows.FEW_ROWS = few
            sent.clear()
            options = dict(engine="spark", master=master, partition_bytes="4KiB")
            print(json.dumps([repr(outcome(dataset, query, **options)), sum(sent)]), flush=True)
spark.stop()
"""


def test_queries_read_what_an_index_leads_to(tmp_path):
    data = tmp_path / "data"
    lines = [f'{{"id":{n % 900},"n":{n}}}' for n in range(4000)]
    shards = write(data / "set", lines, most=1000, block_bytes=500)
    other = data / "other.jsonl"
    other.write_text("".join(f"{line}\n" for line in lines[:1000]))
    for path in (shards.path, other):
        headrace.build_lookup_index(path, "id")
    paths = [str(shards.path), str(other)]
    with headrace.open(paths, persist=False) as dataset:
        local = [repr(outcome(dataset, query, index=False)) for query in QUERIES]
        size = sum(source.size for source in dataset.sources)
    with cluster(tmp_path) as master:
        printed = run_driver(ASKING, master, *paths)
    found = [json.loads(line) for line in printed.splitlines()]
    assert [answer for answer, _sent in found] == [each for each in local for _ in "12"]
    # By tasks that read a part of the files, and without any.
    for _answer, sent in found[::2]:
        assert 0 < sent < size / 2
    assert [sent for _answer, sent in found[1::2]] == [0] * len(QUERIES)
