"""Graph expansion on a real cluster with faults: the same answer."""

import json
import sys

import pytest

import headrace
from headrace.engines.spark.graph import edge_jobs
from headrace.physical import hops as hop_choice

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform == "win32", reason="spark-class is a shell script"),
]

NODES = 400
SEEDS = [str(node) for node in range(0, NODES, 4)]


def expand(context, path, strategy):
    """Expand on Spark; return the strategy of each level, and the steps."""
    few = 0 if strategy == "shuffle" else sys.maxsize
    context.patch.setattr(hop_choice, "FEW", few)
    context.patch.setattr(hop_choice, "MOST_HELD", few)
    context.patch.setattr(edge_jobs, "_NODES_OF_A_TASK", 50)
    hops = []
    with headrace.GraphIndex.open(
        path, index=None if strategy == "index" else False
    ) as graph:
        tasks = graph.on_spark(
            context.master,
            partition_bytes="16KiB",
            report_hop=lambda *hop: hops.append(hop[2].strategy),
        )
        return hops, list(tasks.expand(SEEDS, 2, emit="edges"))


def expand_while_something_dies(context, path, order, strategy):
    context.sabotage.give(order)
    hops, steps = expand(context, path, strategy)
    return context.sabotage.done(), hops, steps


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("graph") / "edges.jsonl"
    with path.open("w") as file:
        for node in range(NODES):
            for to in (node * 3 + 1, node * 3 + 2, node * 7):
                row = {"from": node, "pred": "p", "to": to % NODES}
                file.write(json.dumps(row) + "\n")
    headrace.GraphIndex.build(path, "from", "pred", "to")
    return path


@pytest.fixture(scope="module")
def expected(path):
    with headrace.GraphIndex.open(path) as graph:
        return [list(step) for step in graph.expand(SEEDS, 2, emit="edges")]


@pytest.mark.parametrize(
    ("order", "strategy"),
    [("worker", "index"), ("executor", "broadcast"), ("worker", "shuffle")],
)
def test_a_fault_changes_nothing(driver, path, expected, order, strategy):
    found = driver(expand_while_something_dies, path, order, strategy)
    assert found == [1, [strategy] * 2, expected]
