"""``headrace index`` of a set of shards: events and exit codes."""

import json

import pytest

from tests.reference.shard_sets import write

EVENTS = "json"


def lines_of(numbers):
    return [f'{{"id":{n % 7},"n":{n}}}' for n in numbers]


@pytest.fixture
def shards(headrace, tmp_path):
    made = write(tmp_path / "set", [*lines_of(range(50)), "oops"], most=9)
    built = headrace("index", "build", "set", "--on", "id")
    assert built.code == 0
    (begun, done) = built.events
    assert (begun["event"], done["event"]) == ("build_start", "build_complete")
    assert (done["records"], done["keys"], done["causes"]) == (50, 7, {"bad": 1})
    return made


@pytest.mark.usefixtures("shards")
def test_rows_are_found(headrace):
    found = headrace(
        "index", "get", "set", "--on", "id", "--eq", "3", "--require-index"
    )
    assert (found.code, found.events) == (0, [])
    assert found.rows == [line.encode() for line in lines_of(range(3, 50, 7))]
    counted = headrace(
        "query", "--on-error", "skip", "$.rows().filter(id == 3).count()", "set"
    )
    assert counted.rows == [b"7"]


def test_new_parts_are_indexed(headrace, shards):
    write(shards.directory, lines_of(range(50, 60)))
    checked = headrace("index", "check", "set", "--json")
    assert checked.code == 1
    assert json.loads(checked.out)["reason"] == "set_grown"
    found = headrace("index", "get", "set", "--eq", "3")
    assert len(found.rows) == 9
    assert [event["event"] for event in found.events] == [
        "index_stale",
        "index_fallback",
    ]
    done = headrace("index", "update", "set")
    (event,) = done.events
    assert (event["mode"], event["new_records"]) == ("incremental", 10)
    stats = json.loads(headrace("index", "stats", "set", "--json").out)
    assert (stats["type"], stats["records"], stats["delta"]["records"]) == (
        "set",
        60,
        10,
    )
    assert json.loads(headrace("index", "check", "set", "--deep", "--json").out)[
        "fresh"
    ]
    (event,) = headrace("index", "compact", "set").events
    assert (event["event"], event["records"]) == ("index_compacted", 60)
    (event,) = headrace("index", "compact", "set").events
    assert (event["event"], event["mode"]) == ("update_mode", "none")


def test_a_replaced_set_is_indexed_again(headrace, shards):
    write(shards.directory, lines_of(range(9)), overwrite=True)
    refused = headrace("index", "update", "set")
    assert refused.code == 1
    assert (refused.events[0]["mode"], refused.events[0]["reason"]) == (
        "full_required",
        "set_replaced",
    )
    done = headrace("index", "update", "set", "--full")
    assert (done.code, done.events[0]["mode"]) == (0, "full")


@pytest.mark.usefixtures("shards")
def test_invalid_options_are_refused(headrace):
    refused = headrace("index", "build", "set", "--on", "id", "--master", "local[1]")
    assert refused.code == 2
    refused = headrace("index", "build", "set", "--on", "id", "--index-version", "1")
    assert refused.code == 2
