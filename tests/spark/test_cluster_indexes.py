"""Indexes built on a real cluster in which things die: the bytes of a local build, or none."""

import json
import sys

import pytest

import headrace
from tests.reference.index_jobs import leftovers
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
