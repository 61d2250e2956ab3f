"""Expanding a graph on a real cluster in which things die: the same answer."""

import json
import sys

import pytest

import headrace
from tests.spark.cluster import SETTINGS, cluster, run_driver

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform == "win32", reason="spark-class is a shell script"),
]

NODES = 400
SEEDS = [str(node) for node in range(0, NODES, 4)]
FAULTS = [
    ("worker", "index"),
    ("executor", "broadcast"),
    ("worker", "shuffle"),
]
"""What dies, and how edges are found meanwhile."""

DRIVER = f"""
import json, sys
import headrace, headrace.spark
from headrace.engines.spark import edge_jobs
from headrace.physical import hop_choice
from tests.spark.sabotage import VARIABLE, Sabotage

master, path, directory, faults = sys.argv[1:]
sabotage = Sabotage(directory)
sabotage.give("nothing")
spark = headrace.spark.session(master, **{SETTINGS}, **{{
    "spark.python.daemon.module": "tests.spark.sabotage",
    "spark.executorEnv." + VARIABLE: directory,
    "spark.sql.shuffle.partitions": 2,
}})
edge_jobs._NODES_OF_A_TASK = 50
for order, strategy in json.loads(faults):
    hop_choice._FEW = hop_choice.MOST_HELD = 0 if strategy == "shuffle" else sys.maxsize
    sabotage.give(order)
    with headrace.Graph(path, index=None if strategy == "index" else False) as graph:
        hops = []
        tasks = graph.on_spark(
            master, partition_bytes="16KiB", tell_hop=lambda *hop: hops.append(hop[2].strategy)
        )
        found = list(tasks.expand({SEEDS}, 2, emit="edges"))
        print(json.dumps([sabotage.done(), hops, found]), flush=True)
spark.stop()
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "edges.jsonl"
    with path.open("w") as file:
        for node in range(NODES):
            for to in (node * 3 + 1, node * 3 + 2, node * 7):
                row = {"from": node, "pred": "p", "to": to % NODES}
                file.write(json.dumps(row) + "\n")
    headrace.build_graph_index(path, "from", "pred", "to")
    return path


def test_what_dies_changes_nothing(path, tmp_path):
    with headrace.Graph(path) as graph:
        expected = [list(step) for step in graph.expand(SEEDS, 2, emit="edges")]
    with cluster(tmp_path) as master:
        printed = run_driver(
            DRIVER, master, str(path), str(tmp_path), json.dumps(FAULTS)
        )
    found = [json.loads(line) for line in printed.splitlines()]
    assert len(found) == len(FAULTS)
    for (order, strategy), (done, hops, steps) in zip(FAULTS, found, strict=True):
        assert (done, hops) == (1, [strategy] * 2), (order, strategy)
        assert steps == expected, (order, strategy)
