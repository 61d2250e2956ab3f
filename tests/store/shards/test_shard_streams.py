"""Batches of streams in a set: each once, in order; anything else is an error."""

import os

import pytest

import headrace
from headrace.errors import StreamNotContinuedError
from headrace.store.shards import names as naming
from headrace.store.shards.job.job import Batch
from headrace.store.shards.local_set import LocalSet
from tests.spark.stream_data import append_set


def ids(directory):
    return [row["id"] for row in headrace.open(directory)]


def write(directory, number, *, stream="default", query="q", records=None, **more):
    """Write a batch with ten records, which have its number."""
    records = range(number * 10, number * 10 + 10) if records is None else records
    batch = Batch(stream, query, number)
    return append_set(directory, records, batch=batch, **more)


def test_a_repeated_batch_changes_nothing(tmp_path):
    for number in (0, 1):
        write(tmp_path, number)
    before = sorted(tmp_path.rglob("*"))
    assert write(tmp_path, 1).generation == 2
    assert sorted(tmp_path.rglob("*")) == before
    write(tmp_path, 2)
    assert ids(tmp_path) == list(range(30))


def test_only_the_last_batch_of_each_stream_is_remembered(tmp_path):
    write(tmp_path, 0)
    write(tmp_path, 0, stream="a", query="r")
    run = write(tmp_path, 1).run
    assert run == {
        "streams": {
            "a": {"query": "r", "batch": 0},
            "default": {"query": "q", "batch": 1},
        }
    }
    # A job without a batch keeps it.
    assert append_set(tmp_path, [7]).run == run


def test_a_batch_without_rows_is_remembered(tmp_path):
    write(tmp_path, 0, records=())
    write(tmp_path, 1)
    assert ids(tmp_path) == list(range(10, 20))


def test_another_query_is_refused(tmp_path):
    write(tmp_path, 0)
    with pytest.raises(StreamNotContinuedError, match="query q up to batch 0, this is"):
        write(tmp_path, 0, query="another")
    with pytest.raises(StreamNotContinuedError, match="checkpoint directory"):
        write(tmp_path, 1, query="another")
    assert ids(tmp_path) == list(range(10))
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("number", [2, 7])
def test_a_batch_that_does_not_follow_is_refused(tmp_path, number):
    write(tmp_path, 0)
    with pytest.raises(StreamNotContinuedError, match="lacks those from batch 1 on"):
        write(tmp_path, number)


def test_a_set_that_was_overwritten_is_noticed(tmp_path):
    write(tmp_path, 0)
    append_set(tmp_path, [7], overwrite=True)
    with pytest.raises(StreamNotContinuedError, match="lacks those from batch 0 on"):
        write(tmp_path, 1)


def test_a_batch_that_replaces_the_set_follows_anything(tmp_path):
    append_set(tmp_path, [7])
    write(tmp_path, 5, overwrite=True)
    write(tmp_path, 5, overwrite=True, query="another")
    assert ids(tmp_path) == list(range(50, 60))


def test_superseded_parts_of_many_batches_are_removed_by_reading_the_newest_metadata(
    tmp_path, monkeypatch
):
    for number in range(6):
        write(tmp_path, number)
    looked_at = []
    load = LocalSet.load

    def loading(names, generation):
        looked_at.append(generation)
        return load(names, generation)

    monkeypatch.setattr(LocalSet, "load", loading)
    for meta in tmp_path.glob("*.json"):
        os.utime(meta, (0, 0))
    for number, left in ((6, [6, 7]), (7, [6, 7, 8])):
        looked_at.clear()
        write(tmp_path, number)
        assert set(looked_at) <= set(left)
        assert [
            naming.meta_file(path.name)[1] for path in sorted(tmp_path.glob("*.json"))
        ] == left
    # Most directories have lost their metadata; the newest generation has their parts.
    assert len(looked_at) <= 4
    assert ids(tmp_path) == list(range(80))
