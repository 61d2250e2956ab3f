"""``headrace graph expand --engine spark``: the same bytes, and its events.

The tasks run in this process; those of Spark are tested in tests/spark/test_graph.py.
"""

from functools import partialmethod

import pytest

import headrace as package
from headrace.api.graph.graph import Graph
from headrace.physical import hops as hop_choice
from tests.cli.test_graph import ROWS, event_named
from tests.reference.edge_tasks import IN_PROCESS

EVENTS = "json"

SPARK = ("--engine", "spark")


@pytest.fixture(autouse=True)
def edges(tmp_path, monkeypatch):
    on_spark = partialmethod(Graph.on_spark, _tasks=IN_PROCESS)
    monkeypatch.setattr(Graph, "on_spark", on_spark)
    path = tmp_path / "edges.jsonl"
    path.write_bytes(ROWS)
    return path


@pytest.fixture
def expand(headrace):
    def run(*arguments, edges="edges.jsonl"):
        return headrace("graph", "expand", "--edges", edges, *arguments)

    return run


@pytest.mark.parametrize(
    "arguments",
    [
        ("--seed", "C123"),
        ("--seed", "C789", "--direction", "in", "--hops", "1"),
        ("--seed", "C123", "--seed", "lone", "--emit-edges"),
        ("--seed", "C456", "--seed", "C900", "--tree", "--direction", "both"),
        ("--seed", "C123", "--seed", "absent", "--per-seed"),
        ("--seed", "C123", "--format", "tree"),
        ("--seed", "C123", "--format", "dot"),
        ("--seed", "C123", "--format", "mermaid", "--direction", "both"),
        ("--seed", "C123", "--limit", "2"),
        ("--seed", "C123", "--most-edges", "1", "--emit-edges"),
        ("--seed", "C123", "--pred", "subClassOf,nothing"),
        ("--seed", "C123", "--from-field", "from", "--to-field", "to"),
    ],
)
@pytest.mark.parametrize("index", [True, False])
def test_the_output_is_the_same(expand, edges, arguments, index):
    if index:
        package.GraphIndex.build(edges, "from", "pred", "to", incoming=True)
    quiet = ("--no-index",) if not index else ()
    here = expand(*arguments, *quiet, "--events", "json")
    there = expand(*arguments, *quiet, "--events", "json", *SPARK)
    assert (there.code, there.out) == (here.code, here.out)
    assert there.events == here.events


def test_an_unusable_index_is_reported(expand, edges):
    package.GraphIndex.build(edges, "from", "pred", "to")
    rows = ROWS.replace(b"lone", b"alone")
    edges.write_bytes(rows)
    arguments = ("--seed", "C123", "--events", "json")
    here, there = expand(*arguments), expand(*arguments, *SPARK)
    assert (there.out, there.events) == (here.out, here.events)
    assert event_named(there, "index_stale")
    package.KeyIndex.build(edges, "from")
    here, there = expand(*arguments), expand(*arguments, *SPARK, "--stats")
    assert there.out == here.out
    assert event_named(there, "graph_stats")["path"] == "keys"
    assert event_named(there, "index_stale") == event_named(here, "index_stale")


def test_seeds_of_rows(process, edges):
    """A separate process reads the seeds; see tests/spark/test_graph.py."""
    package.GraphIndex.build(edges, "from", "pred", "to")
    done = process(
        *("graph", "expand", "--edges", "edges.jsonl", "--seed-field", "id"),
        *(*SPARK, "--hops", "1", "--explain"),
        stdin=b'{"id":"C123"}\n',
    )
    assert (done.code, done.err) == (0, "")
    assert b"by its graph index" in done.out


def test_stats_report_the_strategy_of_each_level(expand, edges, monkeypatch):
    package.GraphIndex.build(edges, "from", "pred", "to")
    monkeypatch.setattr(hop_choice, "FEW", 1)
    monkeypatch.setattr(hop_choice, "MOST_HELD", 1)
    done = expand(
        *("--seed", "C123", "--hops", "2", "--stats", "--events", "json"), *SPARK
    )
    assert event_named(done, "graph_stats")["path"] == "graph"
    hops = [event for event in done.events if event["event"] == "graph_hop"]
    assert [(hop["level"], hop["nodes"], hop["strategy"]) for hop in hops] == [
        (0, 1, "index"),
        (1, 2, "shuffle"),
    ]
    assert hops[1]["message"] == (
        "level 1: tasks scan all rows, and a shuffle finds the edges of 2 nodes, since "
        "2 nodes have some 2 of 7 edges, and 2 nodes are too many for every task"
    )


def test_several_files_are_one_graph(expand, edges):
    lines = ROWS.splitlines(keepends=True)
    parts = edges.with_name("parts")
    parts.mkdir()
    for number, line in enumerate(lines):
        (parts / f"{number}.jsonl").write_bytes(line)
    expected = expand("--seed", "C123", "--no-index", "--emit-edges")
    found = expand("--seed", "C123", "--emit-edges", *SPARK, edges="parts")
    assert (found.code, found.out) == (0, expected.out)
    assert "there is no graph index" in found.err
    here = expand("--seed", "C123", "--emit-edges", edges="parts")
    assert (here.code, here.out) == (0, expected.out)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--master", "local[2]"), "master is for engine='spark'"),
        (("--partition-bytes", "1MiB"), "partition_bytes is for engine='spark'"),
        ((*SPARK, "--partition-bytes", "0"), "at least a byte"),
        ((*SPARK, "--require-index"), "there is no graph index"),
    ],
)
def test_refused_options(expand, arguments, said):
    done = expand("--seed", "C123", *arguments)
    assert done.code != 0
    assert said in done.err
    assert done.out == b""


def test_an_index_found_damaged_during_expansion_is_abandoned(expand, edges):
    index = package.GraphIndex.build(edges, "from", "pred", "to").path
    expected = expand("--seed", "C123", "--no-index")
    graph = package.GraphIndex.open(edges, report=lambda *_: None).on_spark()
    graph.reach()
    damaged = bytearray(index.read_bytes())
    # Not its first bytes, so that it can be opened.
    damaged[200:-200] = bytes(len(damaged) - 400)
    index.write_bytes(damaged)
    found = [step.node for step in graph.expand("C123")]
    assert len(found) == len(expected.rows)
    assert graph.plan().strategy == "scan"
