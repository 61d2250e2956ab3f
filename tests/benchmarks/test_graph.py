"""All candidates of the graph suite give the same answer to the same question."""

import json

import pytest

from benchmarks.generate import Extent, data_file
from benchmarks.probe import value_digest
from benchmarks.suites import graph

EDGES = 3000


@pytest.fixture
def edges(tmp_path, monkeypatch):
    monkeypatch.setattr(graph, "DATA", tmp_path)
    monkeypatch.setattr(graph, "MANY", 30)
    monkeypatch.setattr(graph, "SEEDS", 5)
    path = data_file("edges", Extent(EDGES, "rows"), folder=tmp_path)
    monkeypatch.setattr(graph, "data_file", lambda *_: path)
    return path


@pytest.fixture
def made(edges):
    return graph.build(graph.Settings(EDGES * graph.BYTES_PER_EDGE, 1000, 1))


def test_all_candidates_give_the_same_answer(made):
    assert len(made.questions) == 4
    for question in made.questions:
        answers = set()
        for candidate in question.candidates:
            where, arguments = candidate.argv[3:]
            function = getattr(graph, where.partition(":")[2])
            outcome = function(*json.loads(arguments))
            answers.add(outcome.answer)
            assert outcome.figures["time"] > 0
        assert len(answers) == 1, question.label
    names = [candidate.name for candidate in made.questions[-1].candidates]
    assert names == ["headrace", "headrace, node by node", "Python dict", "DuckDB"]


def test_the_answers_are_right(edges, made):
    rows = [json.loads(line) for line in edges.read_bytes().splitlines()]
    index = edges.with_name(f"{edges.stem}.jnx.graph")
    built = graph.headrace_build(str(edges), 1)
    assert built.answer == EDGES
    assert built.figures["bytes_written"] == index.stat().st_size
    found = [
        [[row["pred"], row["to"]] for row in rows if row["from"] == node]
        for node in graph.nodes(EDGES, graph.FEW)
    ]
    assert any(found)
    out = graph.headrace_out(str(edges), str(index), EDGES)
    assert out.answer == value_digest(found)


def test_targets_name_candidates_of_the_suite(made):
    names = {each.name for question in made.questions for each in question.candidates}
    assert {target.subject.candidate for target in made.targets} <= names
    assert len(made.targets) == 6
