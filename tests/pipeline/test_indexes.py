"""Indexes of the output of a pipeline: each part has its own index, built once."""

import json
from dataclasses import replace

import pytest

import headrace
from headrace.errors import DuplicateKeyError
from headrace.pipeline import GraphIndex, KeyIndex, Output, Pipeline, Source
from headrace.pipeline.state.layout import Layout

KEY, EDGES = KeyIndex("id"), GraphIndex("id", "to", reverse=True)


@pytest.fixture
def pipeline(tmp_path, rows):
    rows(tmp_path / "raw/1.jsonl", *({"id": n, "to": n % 3} for n in range(50)))
    return Pipeline(
        "events",
        "out",
        Source("raw/*.jsonl"),
        output=Output(max_records=20),
        base=str(tmp_path),
        indexes=(KEY, EDGES),
    )


def files(pipeline):
    result = Layout(pipeline).result
    return {
        path.relative_to(result).as_posix(): path.read_bytes()
        for path in result.rglob("*")
        if ".jnx" in path.name and path.is_file()
    }


def counts(report):
    return [(each.built, each.kept, each.rows) for each in report.indexes]


def test_each_part_gets_the_index_of_a_local_build(ran, pipeline):
    report = pipeline.run()
    assert counts(report) == [(3, 0, 50), (3, 0, 50)]
    assert report.changed
    built = files(pipeline)
    assert len(built) == 6
    result = Layout(pipeline).result
    for path in result.rglob("*.jnx*"):
        path.unlink()
    parts = sorted(map(str, result.rglob("part-*.zst")))
    list(headrace.KeyIndex.build_each(parts, "id"))
    list(headrace.GraphIndex.build_each(str(result), "id", None, "to", incoming=True))
    assert files(pipeline) == built
    facts = json.loads((Layout(pipeline).root / "report.json").read_text())
    assert [each["title"] for each in facts["indexes"]] == ["key id", "edges id, to"]
    assert "<h2>Indexes</h2>" in (Layout(pipeline).root / "report.html").read_text()


def test_the_index_of_a_part_is_built_once(ran, pipeline, rows, tmp_path):
    pipeline.run()
    before = files(pipeline)
    tasks = len(ran)
    again = pipeline.run()
    assert counts(again) == [(0, 3, 0), (0, 3, 0)]
    assert not again.changed
    assert len(ran) == tasks
    rows(tmp_path / "raw/2.jsonl", {"id": 77, "to": 1})
    assert counts(pipeline.run()) == [(1, 3, 1), (1, 3, 1)]
    now = files(pipeline)
    assert len(now) == 8
    assert {name: now[name] for name in before} == before


def test_a_removed_or_damaged_index_is_built_again(ran, pipeline):
    pipeline.run()
    before = files(pipeline)
    first, second, *_ = sorted(before)
    (Layout(pipeline).result / first).unlink()
    (Layout(pipeline).result / second).write_bytes(before[second][:-1])
    assert "1 of 3 parts have none" in pipeline.explain()
    report = pipeline.run()
    assert sum(each.built for each in report.indexes) == 2
    assert files(pipeline) == before
    assert pipeline.explain().count("up to date") == 3


def test_other_indexes_need_no_new_rows(ran, pipeline):
    pipeline.run()
    other = replace(
        pipeline,
        indexes=(KeyIndex("id", compact=True), KeyIndex("to"), GraphIndex("to", "id")),
    )
    report = other.run()
    assert [each.status for each in report.passes] == ["up to date"]
    assert counts(report) == [(3, 0, 50)] * 3
    assert counts(other.run()) == [(0, 3, 0)] * 3


def test_explain_before_the_first_run_has_no_counts(ran, pipeline):
    explanation = pipeline.explain().split("\n")
    assert "index of key id: for each part of the output" in explanation
    assert explanation[-1] == "└─ its input is known when the previous pass is done"
    assert files(pipeline) == {}


def test_an_index_that_cannot_be_built_leaves_the_rows(ran, pipeline, rows, tmp_path):
    unique = replace(pipeline, indexes=(KeyIndex("to", unique=True),))
    with pytest.raises(DuplicateKeyError, match="both have the key '0'"):
        unique.run()
    assert len(headrace.open(Layout(pipeline).result)) == 50
    assert files(pipeline) == {}
    assert counts(pipeline.run()) == [(3, 0, 50), (3, 0, 50)]


def test_indexes_are_removed_with_their_parts(ran, pipeline, tmp_path):
    pipeline.run()
    old = Layout(pipeline).result / "rows.parts-00000001"
    left = old / ".part-00000000.jsonl.zst.jnx.tmp-1-0123abcd"
    left.mkdir()
    (left / "0000").touch()
    report = pipeline.run(fresh=True)
    assert counts(report) == [(3, 0, 50), (3, 0, 50)]
    assert len(files(pipeline)) == 12
    headrace.ShardSet(Layout(pipeline).result).vacuum(grace=0.0)
    assert not old.exists()
    assert len(files(pipeline)) == 6
    assert counts(pipeline.run()) == [(0, 3, 0), (0, 3, 0)]


def test_progress_is_reported(ran, pipeline):
    progress = []
    pipeline.run(tell=progress.append)
    titles = [each.title for each in progress if each.tasks]
    assert "index of key id" in titles
    assert "index of edges id, to" in titles
