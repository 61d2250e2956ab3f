"""Graph expansion by Spark tasks: the answer of one process, with every strategy.

All options are tested without Spark, in tests/features/graphs/test_graphs_on_spark.py.
"""

import random
import sys

import pytest

import headrace
from headrace.cli.app import main
from headrace.engines.spark.graph import edge_jobs
from headrace.errors import SparkFailedError
from headrace.physical import hops as hop_choice

pytestmark = pytest.mark.spark

HERE = "local[2,4]"


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """Make a graph in three files; some ids are not ASCII, and one node is a hub."""
    directory = tmp_path_factory.mktemp("edges")
    chance = random.Random(7)
    for number in range(3):
        with (directory / f"{number}.jsonl").open("w", encoding="utf-8") as file:
            for row in range(2000):
                ends = [f"né{chance.randrange(600)}" for _ in range(2)]
                if row % 9 == 0:
                    ends[0] = "hub"
                pred = "pqr"[row % 3]
                file.write(f'{{"from":"{ends[0]}","pred":"{pred}","to":"{ends[1]}"}}\n')
    return directory


@pytest.fixture(scope="module")
def whole(directory, tmp_path_factory):
    """Join the edges."""
    path = tmp_path_factory.mktemp("whole") / "edges.jsonl"
    parts = sorted(directory.glob("*.jsonl"))
    path.write_bytes(b"".join(part.read_bytes() for part in parts))
    return path


@pytest.fixture
def force(monkeypatch):
    """Force one strategy for the edges of all levels."""

    def force(strategy):
        monkeypatch.setattr(hop_choice, "FEW", sys.maxsize)
        held = 0 if strategy == "shuffle" else sys.maxsize
        monkeypatch.setattr(hop_choice, "MOST_HELD", held)
        # Several tasks for few nodes.
        monkeypatch.setattr(edge_jobs, "_NODES_OF_A_TASK", 100)
        monkeypatch.setattr(edge_jobs, "_EDGES_OF_A_CHUNK", 50)

    return force


def outcome(found):
    return list(found), found.missing, found.unknown, found.truncated, found.capped


EXPANSIONS = [
    {"hops": 3},
    {"emit": "edges", "direction": "both", "hops": 2, "pred": ["p", "no"]},
    {"emit": "tree", "direction": "in", "most_edges": 2, "limit": 300},
]


@pytest.mark.parametrize("strategy", ["index", "broadcast", "shuffle"])
@pytest.mark.parametrize("several", [True, False])
def test_every_strategy_gives_the_answer_of_one_process(
    spark, directory, whole, force, strategy, several
):
    with headrace.GraphIndex.open(whole, index=False) as graph:
        expected = [
            outcome(graph.expand(["né1", "absent", "hub"], **options))
            for options in EXPANSIONS
        ]
    path = directory if several else whole
    if strategy == "index":
        for part in sorted(path.glob("*.jsonl")) if several else [path]:
            headrace.GraphIndex.build(part, "from", "pred", "to", incoming=True)
    force(strategy)
    hops = []
    with headrace.GraphIndex.open(
        path, index=None if strategy == "index" else False
    ) as graph:
        tasks = graph.on_spark(
            HERE,
            partition_bytes="40KiB",
            report_hop=lambda *hop: hops.append(hop[2].strategy),
        )
        for options, answer in zip(EXPANSIONS, expected, strict=True):
            found = tasks.expand(["né1", "absent", "hub"], **options)
            assert outcome(found) == answer
    assert set(hops) == {strategy}


def test_the_command(spark, whole, capfdbinary):
    lines = []
    for engine in (["--engine", "local"], ["--engine", "spark", "--master", HERE]):
        arguments = ["--edges", str(whole), "--seed", "hub", "--no-index", "-q"]
        assert main(["graph", "expand", *arguments, *engine]) == 0
        lines.append(capfdbinary.readouterr().out)
    assert lines[0] == lines[1]
    assert lines[0].count(b"\n") > 500


def test_an_abandoned_expansion_cancels_its_job(spark, whole, force):
    force("broadcast")
    with headrace.GraphIndex.open(whole, index=False) as graph:
        found = graph.on_spark(HERE, partition_bytes="40KiB").expand("hub")
        assert next(found).node == "hub"
        assert next(found).level == 1
        del found
    assert spark.sparkContext.statusTracker().getActiveJobsIds() == []


def test_a_changed_file_ends_the_expansion(spark, tmp_path, force):
    path = tmp_path / "edges.jsonl"
    line = b'{"from":"a","pred":"p","to":"b"}\n'
    path.write_bytes(line * 100)
    with headrace.GraphIndex.open(path, index=False) as graph:
        tasks = graph.on_spark(HERE)
        found = tasks.expand("a")
        assert next(found).node == "a"
        path.write_bytes(line)
        with pytest.raises(SparkFailedError, match="became shorter"):
            list(found)
