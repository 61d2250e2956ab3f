"""``headrace index``: output, events and exit codes."""

import json
import os

import pytest

EVENTS = "json"

ROWS = b"""\
{"customer_id":"C123","name":"Alice","region":"West"}
{"customer_id":"C456","name":"Bob","region":"East"}
oops
{"customer_id":null}
{"customer_id":7}
{"customer_id":"C123","name":"Alice","region":"North"}
{"customer_id":"7"}
{"name":"no key"}
"""
ALICE = [ROWS.split(b"\n")[0], ROWS.split(b"\n")[5]]
SEVENS = [b'{"customer_id":7}', b'{"customer_id":"7"}']


@pytest.fixture
def customers(tmp_path):
    path = tmp_path / "customers.jsonl"
    path.write_bytes(ROWS)
    return path


@pytest.fixture
def index(headrace, customers):
    assert (
        headrace("index", "build", "customers.jsonl", "--on", "customer_id").code == 0
    )
    return customers.with_name("customers.jsonl.jnx")


def get(headrace, *arguments):
    key = ("--on", "customer_id")
    return headrace("index", "get", "customers.jsonl", *key, *arguments)


def names(outcome):
    return [event["event"] for event in outcome.events]


def test_build_reports_indexed_and_skipped_lines(headrace, customers):
    done = headrace("index", "build", "customers.jsonl", "--on", "customer_id")
    assert (done.code, done.out) == (0, b"")
    start, complete = done.events
    assert start["event"] == "build_start"
    assert (start["source"], start["key"]) == ("customers.jsonl", "customer_id")
    assert complete["event"] == "build_complete"
    assert complete["index"] == "customers.jsonl.jnx"
    assert (complete["records"], complete["keys"], complete["skipped"]) == (5, 3, 3)
    assert complete["causes"] == {"bad": 1, "missing": 1, "null": 1}
    places = [(row["line"], row["cause"]) for row in complete["first_skipped"]]
    assert places == [(3, "bad"), (4, "null"), (8, "missing")]
    size = customers.with_name("customers.jsonl.jnx").stat().st_size
    assert complete["size_bytes"] == size
    assert complete["duration_ms"] >= 0


def test_events_text_prints_text(headrace, customers):
    done = headrace(
        "index", "build", "customers.jsonl", "--on", "name", "--events", "text"
    )
    assert "customers.jsonl.jnx: 4 rows, 3 keys" in done.err.replace("1 bad", "")
    assert "line 3, byte 106: expected a value" in done.err


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize(
    ("arguments", "rows"),
    [
        pytest.param(["--eq", "C123"], ALICE, id="one key"),
        pytest.param(["--eq", "7,C123"], [*SEVENS, *ALICE], id="several keys"),
        pytest.param(["--eq", "7", "--eq", "none"], SEVENS, id="repeated"),
        pytest.param(["--eq", "7,7"], [*SEVENS, *SEVENS], id="twice"),
        pytest.param(["--eq-json", "7.0"], SEVENS[:1], id="a number"),
        pytest.param(["--eq-json", '"7"'], SEVENS[1:], id="a text"),
        pytest.param(["--eq-raw", "C1,C2"], [], id="a comma in the key"),
        pytest.param(["--eq", "none"], [], id="no such key"),
    ],
)
def test_get_prints_the_rows_of_a_key(headrace, arguments, rows):
    found = get(headrace, *arguments)
    assert (found.code, found.rows, found.err) == (0, rows, "")


@pytest.mark.usefixtures("index")
def test_keys_on_standard_input(process):
    key = ("--on", "customer_id")
    found = process(
        "index", "get", "customers.jsonl", *key, "--stdin", stdin=b"C456\r\n\nnone\n7"
    )
    assert found.rows == [ROWS.split(b"\n")[1], *SEVENS]
    found = process(
        *("index", "get", "customers.jsonl", *key, "--stdin", "--json-keys"),
        stdin=b'"7"\n7\n',
    )
    assert found.rows == SEVENS[::-1]


@pytest.mark.usefixtures("index")
def test_each_key_is_answered_at_once(start):
    field = ("--on", "customer_id")
    child = start("index", "get", "customers.jsonl", *field, "--stdin")
    for key, row in [(b"C456\n", ROWS.split(b"\n")[1]), (b"C123\n", ALICE[0])]:
        child.stdin.write(key)
        assert child.stdout.readline() == row + b"\n"
    child.stdin.close()
    assert child.wait() == 0


@pytest.mark.usefixtures("index")
def test_a_match_can_be_required(headrace):
    found = get(headrace, "--eq", "7,none", "--require-match")
    assert (found.code, found.rows) == (1, SEVENS)
    assert found.events[0]["missed"] == 1
    assert "have no row: none" in found.events[0]["message"]
    assert get(headrace, "--eq", "7", "--require-match").code == 0
    many = get(
        headrace, "--eq", ",".join(f"x{n}" for n in range(12)), "--require-match"
    )
    assert many.events[0]["missed"] == 12
    assert many.events[0]["message"].endswith("x8, x9 and 2 more")


@pytest.fixture
def prices(tmp_path):
    rows = b'{"p":2.50,"k":"a"}\n{"p":"2.50","k":"b"}\n{"p":3,"k":"c"}\n'
    (tmp_path / "prices.jsonl").write_bytes(rows)


@pytest.mark.usefixtures("prices")
@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize(
    ("options", "keys"),
    [
        (["--eq", "2.50"], ["b", "a"]),
        (["--eq", "2.5"], ["a"]),
        (["--eq", "25e-1,3.0"], ["a", "c"]),
        (["--eq-raw", "3e0"], ["c"]),
        (["--eq", "2.50", "--typed"], ["b"]),
        (["--eq", "3.0", "--require-match"], ["c"]),
    ],
)
def test_a_number_is_found_however_it_is_written(headrace, indexed, options, keys):
    if indexed:
        assert headrace("index", "build", "prices.jsonl", "--on", "p").code == 0
    found = headrace("index", "get", "prices.jsonl", "--on", "p", *options)
    assert found.code == 0
    assert [json.loads(row)["k"] for row in found.rows] == keys


@pytest.mark.usefixtures("prices")
def test_a_part_of_a_key_that_may_be_a_text_or_a_number_is_refused(headrace):
    key = ("index", "get", "prices.jsonl", "--on", "k,p")
    found = headrace(*key, "--eq", "a,2.50")
    assert found.code == 2
    assert "--eq-json" in found.err
    assert len(headrace(*key, "--eq-json", '["a",2.50]').rows) == 1
    assert len(headrace(*key, "--eq", '["a",2.50]').rows) == 1


@pytest.mark.usefixtures("index")
def test_a_bad_key_on_standard_input_has_a_line(process):
    command = ("index", "get", "customers.jsonl", "--on", "customer_id", "--stdin")
    found = process(*command, "--json-keys", stdin=b'"7"\n\nnull\n')
    assert found.code == 2
    assert "standard input, line 3: null" in found.err


def test_a_field_that_no_row_has_is_reported(headrace, customers):
    found = headrace("index", "get", customers, "--on", "custmer_id", "--eq", "7")
    assert found.code == 0
    (said,) = [e for e in found.events if e["event"] == "key_not_found"]
    assert "fields of the first rows: customer_id" in said["message"]


def test_composite_keys(headrace, customers):
    on = ("--on", "name,region")
    assert headrace("index", "build", customers, *on).code == 0
    row = [ALICE[1]]
    for eq in (["--eq", "Alice,North"], ["--eq", '["Alice","North"]']):
        assert headrace("index", "get", customers, *eq).rows == row
    typed = ["--eq-json", '["Alice","North"]']
    assert headrace("index", "get", customers, *typed).rows == row
    wrong = headrace("index", "get", customers, "--eq", "Alice")
    assert wrong.code == 2
    assert "has 2 values" in wrong.err


@pytest.mark.usefixtures("customers")
def test_without_an_index_the_file_is_scanned(headrace):
    found = get(headrace, "--eq", "C123,7")
    assert (found.code, found.rows) == (0, [*ALICE, *SEVENS])
    (event,) = found.events
    assert event["event"] == "index_fallback"
    assert (event["reason"], event["source"]) == ("missing", "customers.jsonl")
    assert "there is no key index for" in event["message"]
    strict = get(headrace, "--eq", "C123", "--require-index")
    assert (strict.code, strict.out) == (1, b"")
    assert "headrace index build" in strict.err


@pytest.mark.usefixtures("index")
def test_a_file_that_was_changed_is_scanned(headrace, customers):
    customers.write_bytes(ROWS.replace(b"C456", b"C123"))
    found = get(headrace, "--eq", "C123")
    assert (found.code, len(found.rows)) == (0, 3)
    assert names(found) == ["index_stale", "index_fallback"]
    assert found.events[0]["reason"] == "source_modified"
    assert found.events[1]["reason"] == "stale"
    assert get(headrace, "--eq", "C123", "--require-index").code == 1


@pytest.mark.usefixtures("index")
def test_the_key_of_a_stale_index_need_not_be_named(headrace, customers):
    customers.write_bytes(ROWS.replace(b"C456", b"C123"))
    found = headrace("index", "get", "customers.jsonl", "--eq", "C123")
    assert (found.code, len(found.rows)) == (0, 3)


@pytest.mark.usefixtures("index")
def test_the_new_rows_of_a_file_that_grew_are_scanned(headrace, customers):
    with customers.open("ab") as file:
        file.write(b'{"customer_id":"C123","new":true}\n')
    found = get(headrace, "--eq", "C123")
    assert found.rows == [*ALICE, b'{"customer_id":"C123","new":true}']
    assert names(found) == ["index_stale", "index_fallback"]
    assert found.events[0]["kind"] == "grown"
    assert get(headrace, "--eq", "C123", "--require-index").code == 1


def test_a_damaged_index_is_not_used_and_not_deleted(headrace, index):
    damaged = bytearray(index.read_bytes())
    damaged[70] ^= 1
    index.write_bytes(damaged)
    found = get(headrace, "--eq", "C123")
    assert (found.code, found.rows) == (0, ALICE)
    assert names(found) == ["index_corrupt", "index_fallback"]
    assert index.read_bytes() == damaged
    assert get(headrace, "--eq", "C123", "--require-index").code == 1


def test_a_damaged_index_can_be_rebuilt(headrace, index):
    whole = index.read_bytes()
    index.write_bytes(whole[:-1])
    found = get(headrace, "--eq", "C123", "--auto-rebuild")
    assert (found.code, found.rows) == (0, ALICE)
    assert names(found) == ["index_corrupt"]
    assert index.read_bytes() == whole


def test_a_stale_index_is_rebuilt_as_it_was(headrace, customers):
    on = ("--on", "name", "--compact")
    headrace("index", "build", customers, *on)
    customers.write_bytes(ROWS + b'{"name":"Alice"}\n')
    found = headrace("index", "get", customers, "--eq", "Alice", "--auto-rebuild")
    assert len(found.rows) == 3
    stats = json.loads(headrace("index", "stats", customers, "--json").out)
    assert (stats["version"], stats["records"]) == (2, 5)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        pytest.param(b"my own notes", "foreign", id="not ours"),
        pytest.param(b"JNX\x09\x09\0\0\0" + bytes(200), "newer", id="a newer one"),
    ],
)
def test_foreign_and_unreadable_index_files_are_left_alone(
    headrace, customers, content, kind
):
    index = customers.with_name("customers.jsonl.jnx")
    index.write_bytes(content)
    found = get(headrace, "--eq", "C123", "--auto-rebuild")
    assert (found.code, found.rows) == (0, ALICE)
    assert found.events[0]["kind"] == kind
    built = headrace("index", "build", customers, "--on", "customer_id")
    assert built.events[-1]["index"].endswith("customers.jsonl.jnx.customer_id")
    assert get(headrace, "--eq", "C123", "--require-index").rows == ALICE
    assert index.read_bytes() == content


def test_a_file_may_have_several_indexes(headrace, index, customers):
    before = index.read_bytes()
    built = headrace("index", "build", "customers.jsonl", "--on", "region")
    assert built.events[-1]["index"] == "customers.jsonl.jnx.region"
    assert index.read_bytes() == before
    assert get(headrace, "--eq", "C123", "--require-index").rows == ALICE
    key = ("--on", "region", "--require-index")
    assert headrace("index", "get", customers, *key, "--eq", "West").rows == ALICE[:1]
    several = headrace("index", "stats", customers, "--json")
    assert several.code == 2
    assert "customer_id region" in several.err
    forced = headrace("index", "build", customers, "--on", "name", "--force")
    assert forced.events[-1]["index"].endswith("customers.jsonl.jnx")
    # Neither index is a data file.
    assert headrace("count", ".").out == b"8\n"
    assert (
        headrace("count", *sorted(path.name for path in customers.parent.iterdir())).out
        == b"8\n"
    )


def test_an_index_replaces_no_foreign_file(headrace, customers, tmp_path):
    notes = tmp_path / "notes"
    notes.write_bytes(b"my own")
    on = ("--on", "name", "--index", notes)
    for force in ([], ["--force"]):
        done = headrace("index", "build", customers, *on, *force)
        assert done.code == 1
        assert "something else is in its place" in done.err
    assert notes.read_bytes() == b"my own"
    beside = customers.with_name("customers.jsonl.jnx")
    os.mkfifo(beside)
    found = get(headrace, "--eq", "C123")
    assert found.rows == ALICE
    assert found.events[0]["reason"] == "not a file"


def test_check_reports_the_state_of_the_index(headrace, index, customers):
    good = headrace("index", "check", "customers.jsonl", "--json")
    assert good.code == 0
    assert json.loads(good.out) == {
        "valid": True,
        "fresh": True,
        "index": "customers.jsonl.jnx",
        "records": 5,
        "keys": 3,
        "size_bytes": index.stat().st_size,
    }
    os.utime(customers, ns=(0, 0))
    touched = headrace("index", "check", "customers.jsonl", "--json")
    assert touched.code == 0, "the content is what it was"
    customers.write_bytes(ROWS.replace(b"West", b"Best"))
    stale = headrace("index", "check", "customers.jsonl", "--json")
    said = json.loads(stale.out)
    assert (stale.code, said["valid"], said["fresh"]) == (1, True, False)
    assert said["reason"] == "source_modified"
    assert said["source_mtime"] == int(customers.stat().st_mtime)
    assert isinstance(said["index_mtime"], int)
    index.write_bytes(index.read_bytes()[:-9])
    damaged = headrace("index", "check", "customers.jsonl", "--json")
    assert (damaged.code, json.loads(damaged.out)["valid"]) == (1, False)
    index.unlink()
    assert headrace("index", "check", "customers.jsonl").code == 1


def test_stats(headrace, index, customers):
    stats = json.loads(headrace("index", "stats", "customers.jsonl", "--json").out)
    assert len(stats.pop("build_id")) == 16
    assert stats.pop("build_time").endswith("Z")
    assert stats == {
        "source": "customers.jsonl",
        "index": "customers.jsonl.jnx",
        "type": "key",
        "version": 1,
        "mode": "multi",
        "key": "customer_id",
        "records": 5,
        "unique_keys": 3,
        "avg_records_per_key": 1.67,
        "lines": 8,
        "skipped": {"bad": 1, "missing": 1, "null": 1},
        "index_size_bytes": index.stat().st_size,
        "source_size_bytes": len(ROWS),
        "compression_ratio": round(index.stat().st_size / len(ROWS), 2),
    }
    text = headrace("index", "stats", customers).rows
    assert text[0].split() == [b"source", bytes(customers)]
    assert [b"skipped.bad", b"1"] in [row.split() for row in text]


def test_a_unique_index_names_both_lines(headrace, customers):
    unique = ("--on", "customer_id", "--mode", "unique")
    done = headrace("index", "build", customers, *unique)
    assert done.code == 1
    assert "lines 1 and 6 both have the key 'C123'" in done.err
    assert [path.name for path in customers.parent.iterdir()] == ["customers.jsonl"]
    customers.write_bytes(b'{"customer_id":1}\n{"customer_id":2}\n')
    assert headrace("index", "build", customers, *unique).code == 0


def test_strict_building_names_the_bad_line(headrace, customers):
    on = ("--on", "customer_id", "--strict")
    done = headrace("index", "build", customers, *on)
    assert done.code == 1
    assert "line 3, byte 106" in done.err
    assert [path.name for path in customers.parent.iterdir()] == ["customers.jsonl"]


def test_a_build_too_large_for_version_1_writes_version_2(headrace, tmp_path):
    path = tmp_path / "hot.jsonl"
    path.write_bytes(b'{"k":1}\n' * 70_000)
    done = headrace("index", "build", path, "--on", "k")
    upgraded = done.events[1]
    assert upgraded["event"] == "format_upgraded"
    assert (upgraded["from"], upgraded["to"]) == (1, 2)
    assert upgraded["reason"] == "posting_count"
    assert (
        len(headrace("index", "get", path, "--eq", "1", "--require-index").rows)
        == 70_000
    )
    assert (
        headrace("index", "build", path, "--on", "k", "--index-version", "1").code == 2
    )


def test_a_mistyped_field_is_reported_with_the_fields_of_the_file(headrace, customers):
    done = headrace("index", "build", customers, "--on", "custmer_id")
    assert done.code == 0
    event = done.events[1]
    assert event["event"] == "no_keys_indexed"
    fields = "customer_id, name, region; did you mean 'customer_id'?"
    assert event["message"].endswith(fields)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["build", "customers.jsonl"], "--on FIELD", id="no key"),
        pytest.param(
            ["build", "customers.jsonl", "--on", "a,,b"], "no name", id="a gap"
        ),
        pytest.param(["build", "customers.jsonl", "--on", "a,a"], "once", id="twice"),
        pytest.param(["build", "-", "--on", "a"], "save it", id="a pipe"),
        pytest.param(["get", "customers.jsonl", "--on", "a"], "--eq", id="no value"),
        pytest.param(
            ["get", "customers.jsonl", "--on", "a", "--eq-json", "null"],
            "never a key",
            id="null",
        ),
        pytest.param(
            ["get", "customers.jsonl", "--on", "a", "--eq-json", "x"],
            "no key",
            id="no JSON",
        ),
    ],
)
@pytest.mark.usefixtures("customers")
def test_invalid_command_lines(headrace, arguments, said):
    done = headrace("index", *arguments)
    assert done.code == 2
    assert said in done.err


def test_a_missing_file_is_a_failure(headrace):
    assert headrace("index", "build", "none.jsonl", "--on", "a").code == 1
    assert headrace("index", "get", "none.jsonl", "--on", "a", "--eq", "1").code == 1


def test_several_files_get_an_index_each(headrace, customers, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_bytes(ROWS[:200])
    done = headrace("index", "build", "*.jsonl", str(other), "--on", "customer_id")
    assert done.code == 0
    assert names(done) == ["build_start", "build_complete"] * 3
    indexes = [event["index"] for event in done.events if "index" in event]
    assert indexes == ["customers.jsonl.jnx", "other.jsonl.jnx", f"{other}.jnx"]
    for option in ("--out", "--errors"):
        refused = headrace(
            "index", "build", "*.jsonl", "--on", "customer_id", option, "x"
        )
        assert refused.code == 2


def test_a_file_without_an_index_ends_the_command(headrace, customers, tmp_path):
    (tmp_path / "d.jsonl").write_bytes(b'{"customer_id":1}\n{"customer_id":"1"}\n')
    (tmp_path / "e.jsonl").write_bytes(b'{"customer_id":1}\n')
    (tmp_path / "c.jsonl").write_bytes(b'{"customer_id":1}\n')
    files = ["c.jsonl", "d.jsonl", "e.jsonl"]
    unique = ("--mode", "unique")
    done = headrace("index", "build", *files, "--on", "customer_id", *unique)
    assert done.code == 1
    assert names(done) == ["build_start", "build_complete", "build_start", "error"]
    assert [path.name for path in tmp_path.glob("*.jnx")] == ["c.jsonl.jnx"]


def test_a_set_gets_one_index_and_its_parts_one_each_if_named(
    headrace, customers, tmp_path
):
    lines = b"".join(b'{"customer_id":%d}\n' % number for number in range(100))
    (tmp_path / "many.jsonl").write_bytes(lines)
    written = headrace(
        "shard", "write", "many.jsonl", "--out", "set", "--max-records", "30"
    )
    assert written.code == 0
    parts = sorted(map(str, (tmp_path / "set").rglob("part-*.zst")))
    places = []
    for named, count in ((parts, 4), (["set", "many.jsonl"], 2)):
        done = headrace("index", "build", *named, "--on", "customer_id")
        assert names(done) == ["build_start", "build_complete"] * count
        found = headrace("query", "--matches", "customer_id == 77", "set")
        assert found.out == b'{"customer_id":77}\n'
        command = ("query", "--explain", "--matches", "customer_id == 77", "set")
        places.append(headrace(*command).out)
    assert b"part-00000002.jsonl.zst.jnx" in places[0]
    # The index of the set comes before those of its parts.
    assert b"rows.jnx.customer_id" in places[1]
    assert b"zst.jnx" not in places[1]
