"""``headrace index update`` and ``compact``: events and exit codes."""

import json
import os

import pytest

EVENTS = "json"

ROWS = b"".join(b'{"id":%d,"n":%d}\n' % (n % 7, n) for n in range(20))
NEW = b'{"id":"C","n":20}\noops\n'


@pytest.fixture
def source(headrace, tmp_path):
    path = tmp_path / "app.jsonl"
    path.write_bytes(ROWS)
    assert headrace("index", "build", "app.jsonl", "--on", "id").code == 0
    return path


@pytest.fixture
def grown(source):
    with source.open("ab") as file:
        file.write(NEW)
    return source


@pytest.fixture
def updated(headrace, grown):
    assert headrace("index", "update", "app.jsonl").code == 0
    return grown


def said(outcome):
    return [
        (event["event"], event.get("mode"), event.get("reason"))
        for event in outcome.events
    ]


@pytest.mark.usefixtures("grown")
def test_new_rows_are_indexed(headrace):
    done = headrace("index", "update", "app.jsonl", "--on", "id")
    assert (done.code, done.out) == (0, b"")
    (event,) = done.events
    assert (event["event"], event["mode"]) == ("update_mode", "incremental")
    assert (event["new_records"], event["causes"]) == (1, {"bad": 1})
    assert [row["line"] for row in event["first_skipped"]] == [22]
    found = headrace("index", "get", "app.jsonl", "--eq", "C,3", "--require-index")
    assert found.rows[0] == b'{"id":"C","n":20}'
    assert len(found.rows) == 4


@pytest.mark.usefixtures("updated")
def test_an_update_without_new_rows_does_nothing(headrace):
    done = headrace("index", "update", "app.jsonl")
    assert (done.code, said(done)) == (0, [("update_mode", "none", None)])


def test_a_touched_file_is_revalidated(headrace, updated):
    os.utime(updated, ns=(0, 0))
    done = headrace("index", "update", "app.jsonl")
    assert done.code == 0
    assert said(done) == [
        ("index_revalidated", None, None),
        ("update_mode", "none", None),
    ]


@pytest.mark.parametrize("command", ["update", "compact"])
def test_a_file_that_was_changed_needs_more(headrace, updated, command):
    updated.write_bytes(updated.read_bytes().replace(b'"n":3', b'"n":4'))
    done = headrace("index", command, "app.jsonl")
    required = [("update_mode", "full_required", "source_modified")]
    assert (done.code, said(done)) == (1, required)
    assert "headrace index update app.jsonl --full" in done.events[0]["message"]
    done = headrace("index", "update", "app.jsonl", "--full")
    assert (done.code, said(done)) == (0, [("update_mode", "full", None)])
    assert headrace("index", "check", "app.jsonl", "--deep").code == 0


def test_a_damaged_index_needs_more(headrace, source):
    index = source.with_name("app.jsonl.jnx")
    index.write_bytes(index.read_bytes()[:-1])
    done = headrace("index", "update", "app.jsonl", "--on", "id")
    required = [("update_mode", "full_required", "index_corrupt")]
    assert (done.code, said(done)) == (1, required)
    assert headrace("index", "update", "app.jsonl", "--on", "id", "--full").code == 0


def test_a_large_delta_becomes_part_of_the_index(headrace, source):
    with source.open("ab") as file:
        file.write(ROWS)
    done = headrace("index", "update", "app.jsonl")
    assert [event["event"] for event in done.events] == [
        "update_mode",
        "index_compacted",
    ]
    assert (done.events[1]["records"], done.events[1]["keys"]) == (40, 7)
    assert not source.with_name("app.jsonl.jnx.delta").exists()


def test_an_update_too_large_for_version_1_writes_version_2(headrace, source):
    source.write_bytes(b'{"id":1}\n' * 50_000)
    headrace("index", "build", source, "--on", "id")
    with source.open("ab") as file:
        file.write(b'{"id":1}\n' * 16_000)
    done = headrace("index", "update", source)
    upgraded = done.events[1]
    assert (upgraded["event"], upgraded["reason"]) == (
        "format_upgraded",
        "posting_count",
    )
    assert (done.events[2]["version"], done.events[2]["keys"]) == (2, 1)


def test_compact_merges_base_and_delta(headrace, updated):
    stats = json.loads(headrace("index", "stats", "app.jsonl", "--json").out)
    delta = stats["delta"]
    assert (stats["records"], stats["unique_keys"], stats["lines"]) == (21, None, 22)
    assert (delta["records"], delta["keys"], delta["share"]) == (1, 1, 0.05)
    assert delta["size_bytes"] == (updated.parent / delta["index"]).stat().st_size
    done = headrace("index", "compact", "app.jsonl")
    assert done.code == 0
    (event,) = done.events
    assert (event["event"], event["records"], event["keys"]) == (
        "index_compacted",
        21,
        8,
    )
    again = headrace("index", "compact", "app.jsonl")
    assert (again.code, said(again)) == (0, [("update_mode", "none", None)])


def test_check_covers_base_and_delta(headrace, updated):
    good = headrace("index", "check", "app.jsonl", "--deep", "--json")
    assert good.code == 0
    checked = json.loads(good.out)
    assert (checked["records"], checked["delta"]["records"]) == (21, 1)
    delta = updated.with_name("app.jsonl.jnx.delta")
    delta.write_bytes(delta.read_bytes()[:-1])
    damaged = headrace("index", "check", "app.jsonl", "--json")
    checked = json.loads(damaged.out)
    assert (damaged.code, checked["valid"]) == (1, False)
    assert checked["index"].endswith("app.jsonl.jnx.delta")


def test_a_damaged_delta_is_not_used_and_not_deleted(headrace, updated):
    delta = updated.with_name("app.jsonl.jnx.delta")
    damaged = delta.read_bytes()[:-1]
    delta.write_bytes(damaged)
    found = headrace("index", "get", "app.jsonl", "--eq", "C")
    assert found.rows == [b'{"id":"C","n":20}']
    assert [event["event"] for event in found.events] == [
        "index_corrupt",
        "index_fallback",
        "index_stale",
        "index_fallback",
    ]
    assert delta.read_bytes() == damaged


@pytest.mark.usefixtures("grown")
@pytest.mark.parametrize("command", [["build", "--on", "id"], ["update"]])
def test_lines_without_a_key_go_to_a_file(headrace, grown, command):
    name, *arguments = command
    done = headrace(
        "index", name, "app.jsonl", *arguments, "--errors", "bad.jsonl", "--quiet"
    )
    assert (done.code, done.err) == (0, "")
    (line,) = grown.with_name("bad.jsonl").read_text().splitlines()
    rejected = json.loads(line)
    assert (rejected["file"], rejected["line"], rejected["cause"]) == (
        "app.jsonl",
        22,
        "bad",
    )
    assert rejected["offset"] == len(ROWS) + len(NEW) - 5
    assert "value" in rejected["reason"]
    assert set(rejected) == {"file", "line", "offset", "reason", "cause"}


@pytest.mark.usefixtures("grown")
def test_strict_updates_name_the_bad_line(headrace):
    done = headrace("index", "update", "app.jsonl", "--strict")
    assert done.code == 1
    assert "line 22" in done.err
    assert headrace("index", "stats", "app.jsonl", "--json").out.count(b"delta") == 0


def test_typed_distinguishes_texts_from_numbers(headrace, source):
    source.write_bytes(b'{"id":7}\n{"id":"7"}\n')
    headrace("index", "build", source, "--on", "id")
    for eq in ("--eq", "--eq-raw"):
        assert len(headrace("index", "get", source, eq, "7").rows) == 2
        typed = headrace("index", "get", source, eq, "7", "--typed")
        assert typed.rows == [b'{"id":"7"}']


def test_without_an_index_there_is_nothing_to_update(headrace, tmp_path):
    (tmp_path / "other.jsonl").write_bytes(ROWS)
    for command in ("update", "compact"):
        done = headrace("index", command, "other.jsonl")
        assert done.code == 1
        assert "headrace index build" in done.err
        assert headrace("index", command, "none.jsonl").code == 1


def test_the_advised_command_names_the_key_and_the_place(headrace, source):
    assert headrace("index", "build", "app.jsonl", "--on", "n").code == 0
    source.write_bytes(ROWS.replace(b'"n":3', b'"n":4'))
    for named in (["--on", "n"], ["--index", "app.jsonl.jnx.n"]):
        done = headrace("index", "update", "app.jsonl", *named)
        advice = f"headrace index update app.jsonl {' '.join(named)} --full"
        assert (done.code, advice in done.events[0]["message"]) == (1, True)
    assert headrace(*advice.split()[1:]).code == 0


def test_the_index_that_was_named_is_the_one_that_is_missing(headrace, source):
    done = headrace("index", "check", "app.jsonl", "--index", "nofile.idx", "--json")
    assert done.code == 1
    assert json.loads(done.out)["index"] == "nofile.idx"
    joined = headrace(
        *("join", "app.jsonl", "--on", "id", "app.jsonl"),
        *("--right-index", "nofile.idx", "--require-index"),
    )
    assert joined.code == 1
    assert "nofile.idx: there is no key index for id" in joined.err
    assert "--on id --index nofile.idx" in joined.err
