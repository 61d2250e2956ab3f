"""The set index of the output of a pipeline: an update indexes the new parts."""

import shutil
from dataclasses import replace

import pytest

import headrace
from headrace.engines.local.index_build import InThreads
from headrace.errors import DuplicateKeyError
from headrace.pipeline import KeyIndex, Output, Pipeline, SetIndex, Source
from headrace.pipeline.run.session import Session
from headrace.pipeline.state.layout import Layout


@pytest.fixture(autouse=True)
def made(monkeypatch):
    """Make segments in this process; return the list of requested builds."""
    builds = []

    def make(_session, build, task_bytes):
        builds.append((build, task_bytes))
        return InThreads(build)

    monkeypatch.setattr(Session, "make_segments", make)
    return builds


@pytest.fixture
def pipeline(tmp_path, rows):
    rows(tmp_path / "raw/1.jsonl", *({"id": n, "to": n % 3} for n in range(50)))
    return Pipeline(
        "events",
        "out",
        Source("raw/*.jsonl", partition_bytes="4KiB"),
        output=Output(max_records=20),
        base=str(tmp_path),
        indexes=(SetIndex("id"),),
    )


def counts(report):
    return [(each.built, each.kept, each.rows) for each in report.indexes]


def state(pipeline):
    return headrace.KeyIndex.check(Layout(pipeline).result, "id", deep=True)


def test_the_index_equals_that_of_a_local_build(ran, pipeline, made):
    report = pipeline.run()
    assert counts(report) == [(3, 0, 50)]
    assert report.indexes[0].title == "key id of the set"
    assert [task_bytes for _build, task_bytes in made] == [4096]
    place = Layout(pipeline).result / "rows.jnx.id"
    built = {each.name: each.read_bytes() for each in place.iterdir()}
    shutil.rmtree(place)
    headrace.KeyIndex.build(Layout(pipeline).result, "id")
    assert {each.name: each.read_bytes() for each in place.iterdir()} == built
    assert state(pipeline)["fresh"]
    with headrace.KeyIndex.open(
        Layout(pipeline).result, "id", require_index=True
    ) as keys:
        assert keys.get(7) == [{"id": 7, "to": 1}]


def test_new_parts_are_indexed_in_the_delta(ran, pipeline, rows, tmp_path, made):
    pipeline.run()
    again = pipeline.run()
    assert counts(again) == [(0, 3, 0)]
    assert not again.changed
    assert len(made) == 1
    rows(tmp_path / "raw/2.jsonl", {"id": 77, "to": 1})
    assert counts(pipeline.run()) == [(1, 3, 1)]
    said = state(pipeline)
    assert (said["fresh"], said["delta"]["parts"]) == (True, 1)
    with headrace.KeyIndex.open(
        Layout(pipeline).result, "id", require_index=True
    ) as keys:
        assert keys.get(77) == [{"id": 77, "to": 1}]


def test_a_removed_damaged_or_stale_index_is_built_again(ran, pipeline):
    pipeline.run()
    manifest = Layout(pipeline).result / "rows.jnx.id/manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:-2])
    assert pipeline.explain().endswith("index of key id of the set\n└─ there is none")
    assert counts(pipeline.run()) == [(3, 0, 50)]
    assert pipeline.explain().endswith("up to date")
    # All parts have changed.
    assert counts(pipeline.run(fresh=True)) == [(3, 0, 50)]
    assert state(pipeline)["fresh"]
    unique = replace(pipeline, indexes=(SetIndex("id", unique=True),))
    assert counts(unique.run()) == [(3, 0, 50)]
    assert counts(unique.run()) == [(0, 3, 0)]


def test_explain_counts_the_parts_that_are_not_indexed(ran, pipeline, rows, tmp_path):
    explanation = pipeline.explain().split("\n")
    assert explanation[-2] == "index of key id of the set"
    pipeline.run()
    rows(tmp_path / "raw/2.jsonl", {"id": 77, "to": 1})
    replace(pipeline, indexes=()).run()
    assert pipeline.explain().endswith("1 of 4 parts are not in it")


def test_progress_is_reported(ran, pipeline):
    progress = []
    pipeline.run(tell=progress.append)
    ours = [each for each in progress if each.title == "index of key id of the set"]
    assert (ours[-1].done, ours[-1].tasks) == (3, 3)


def test_an_output_of_nothing_has_an_index_too(ran, pipeline, rows, tmp_path, made):
    (tmp_path / "raw/1.jsonl").write_bytes(b"")
    assert counts(pipeline.run()) == [(0, 0, 0)]
    assert state(pipeline)["fresh"]
    assert counts(pipeline.run()) == [(0, 0, 0)]
    assert len(made) == 1


def test_a_duplicate_key_ends_the_run_after_the_rows_are_committed(ran, pipeline):
    both = replace(pipeline, indexes=(KeyIndex("to"), SetIndex("to", unique=True)))
    with pytest.raises(DuplicateKeyError, match="both have the key '0'"):
        both.run()
    assert len(headrace.open(Layout(pipeline).result)) == 50
    assert not list(Layout(pipeline).result.glob("rows.jnx.to/*"))
