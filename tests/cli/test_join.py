"""``headrace join``: output, events and exit codes."""

import json
import os
import subprocess
import sys

import pytest

from headrace.physical import joins

EVENTS = "json"

LEFT = b"""\
{"id": 1, "user": "a"}
{"id": 2, "user": "b", "name": "old"}

{"id": 3, "user": null}
{"id": 4, "user": "zz"
{"id": 5, "user": "q"}
"""
RIGHT = b"""\
{"user":"a","name":"Ada","n":1.50}
{"user":"b","name":"Bob"}
{"user":"a","name":"Anna"}
{"name":"no key"}
"""
JOINED = [
    b'{"id": 1, "user": "a","name":"Ada","n":1.50}',
    b'{"id": 1, "user": "a","name":"Anna"}',
    b'{"id": 2, "user": "b", "name": "Bob"}',
    b'{"id": 3, "user": null}',
    b'{"id": 5, "user": "q"}',
]

SKIP = ("--on-error", "skip")
ALL = ("--how", "left", *SKIP)


@pytest.fixture(autouse=True)
def sides(tmp_path):
    (tmp_path / "left.jsonl").write_bytes(LEFT)
    (tmp_path / "right.jsonl").write_bytes(RIGHT)
    return tmp_path


@pytest.fixture
def no_side_is_small(monkeypatch):
    monkeypatch.setattr(joins, "SMALL_BYTES", -1)


@pytest.fixture
def join(headrace):
    def run(*arguments, left="left.jsonl"):
        policies = {"--strict", "--errors", "--on-error"}
        usual = () if policies & {*arguments} else ("--on-error", "skip")
        arguments = ("--how", "left", *usual, *arguments)
        return headrace("join", "right.jsonl", "--on", "user", left, *arguments)

    return run


@pytest.fixture
def index(headrace, sides):
    def build(*arguments):
        done = headrace("index", "build", "right.jsonl", "--on", "user", *arguments)
        assert done.code == 0
        return sides / "right.jsonl.jnx"

    return build


def names(outcome):
    return [event["event"] for event in outcome.events]


def event_named(outcome, name):
    (event,) = [event for event in outcome.events if event["event"] == name]
    return event


def test_there_is_a_row_for_each_match(join):
    done = join()
    assert (done.code, done.rows) == (0, JOINED)
    assert event_named(done, "bad_rows")["bad"] == 1


def test_the_left_side_may_come_from_a_pipe(process):
    done = process("join", "right.jsonl", "--on", "user", *ALL, stdin=LEFT)
    assert (done.code, done.rows) == (0, JOINED)
    both = process("join", "-", "--on", "user", "-", stdin=LEFT)
    assert both.code == 2
    assert "standard input" in both.err or "pipe" in both.err


def test_the_right_side_may_come_from_a_pipe(process):
    done = process("join", "-", "--on", "user", *ALL, "left.jsonl", stdin=RIGHT)
    assert (done.code, done.rows) == (0, JOINED)


@pytest.mark.parametrize(
    ("arguments", "first", "count"),
    [
        (["--how", "inner"], JOINED[0], 3),
        (
            ["--target", "t"],
            b'{"id": 1, "user": "a","t":[{"user":"a","name":"Ada","n":1.50},'
            b'{"user":"a","name":"Anna"}]}',
            4,
        ),
        (["--pick", "n"], b'{"id": 1, "user": "a","n":1.50}', 5),
        (
            ["--pick", "n,user", "--pick", "name", "--prefix", "r_"],
            b'{"id": 1, "user": "a","r_user":"a","r_name":"Ada","r_n":1.50}',
            5,
        ),
        (
            ["--indicator", "found", "--pick", "n", "--how", "inner"],
            b'{"id": 1, "user": "a","n":1.50,"found":"both"}',
            3,
        ),
    ],
)
def test_forms_of_rows(join, arguments, first, count):
    done = join(*arguments)
    assert done.code == 0
    assert (done.rows[0], len(done.rows)) == (first, count)


def test_keys_may_have_two_names_and_several_fields(headrace, sides):
    (sides / "l.jsonl").write_bytes(b'{"a":1,"b":"x"}\n{"a":"1","b":"y"}\n')
    (sides / "r.jsonl").write_bytes(b'{"c":"x","d":1.0,"n":7}\n')
    both = ("--left-on", "a,b", "--right-on", "d,c")
    done = headrace("join", "r.jsonl", *both, "l.jsonl", "--how", "inner")
    assert done.rows == [b'{"a":1,"b":"x","n":7}']


def test_keys_are_compared_as_values_or_as_texts(headrace, sides):
    (sides / "l.jsonl").write_bytes(b'{"a":1}\n{"a":"1"}\n')
    (sides / "r.jsonl").write_bytes(b'{"a":1.0,"n":7}\n')
    values = headrace("join", "r.jsonl", "--on", "a", "l.jsonl")
    assert values.rows == [b'{"a":1,"n":7}']
    texts = headrace("join", "r.jsonl", "--on", "a", "l.jsonl", "--text-keys")
    assert texts.rows == [b'{"a":1,"n":7}', b'{"a":"1","n":7}']


def test_a_join_is_that_of_the_language(headrace, sides):
    """Both have the same rows, the same equality of keys, and the same bad rows."""
    (sides / "l.jsonl").write_bytes(b'{"a":1}\n{"a":"1"}\n{"a":2}\n{"a":null}\n')
    (sides / "r.jsonl").write_bytes(b'{"a":1.0,"n":7}\n{"a":null,"n":8}\n')
    command = headrace("join", "r.jsonl", "--on", "a", "l.jsonl")
    named = ("l.jsonl", "--name", "r=r.jsonl")
    query = headrace("query", "$.join(@r, on: a).map({a, n})", *named)
    assert command.rows == [b'{"a":1,"n":7}']
    assert [json.loads(row)["n"] for row in query.rows] == [7]
    left = headrace("join", "r.jsonl", "--on", "a", "l.jsonl", "--how", "left")
    query = headrace("query", "$.left_join(@r, on: a)", *named)
    assert [json.loads(row).get("n") for row in left.rows] == [
        json.loads(row).get("n") for row in query.rows
    ]
    for side in ("l.jsonl", "r.jsonl"):
        whole = (sides / side).read_bytes()
        (sides / side).write_bytes(whole + b"oops\n")
        for done in (
            headrace("join", "r.jsonl", "--on", "a", "l.jsonl"),
            headrace("query", "$.join(@r, on: a)", *named),
        ):
            assert (done.code, side in done.err) == (1, True)
        skipped = headrace("join", "r.jsonl", "--on", "a", "l.jsonl", *SKIP)
        assert (skipped.code, skipped.rows) == (0, command.rows)
        skipped = headrace("query", "$.join(@r, on: a)", *named, *SKIP)
        assert (skipped.code, len(skipped.rows)) == (0, 1)
        (sides / side).write_bytes(whole)


@pytest.mark.parametrize("how", ["inner", "left"])
def test_a_key_that_no_row_has_is_reported(headrace, how):
    files = ("right.jsonl", "left.jsonl")
    done = headrace("join", "--on", "usr", *files, "--how", how, *SKIP)
    assert done.code == 0
    reported = [e["source"] for e in done.events if e["event"] == "key_not_found"]
    assert reported == ["left.jsonl", "right.jsonl"]
    assert "no row has the key usr" in done.err
    assert "fields of the first rows: id, user, name" in done.err
    keys = ("--left-on", "user", "--right-on", "usr")
    done = headrace("join", *keys, *files, "--how", how, *SKIP)
    reported = [e["source"] for e in done.events if e["event"] == "key_not_found"]
    assert reported == ["right.jsonl"]


@pytest.mark.parametrize(
    ("field", "side"), [("name", "right"), ("id", "left"), ("n", "right")]
)
def test_a_field_that_the_join_would_replace_is_an_error(join, field, side):
    done = join("--indicator", field)
    assert done.code == 2
    said = f"{side}.jsonl: a {side} row already has a field '{field}'"
    assert said in event_named(done, "error")["message"]
    renamed = join("--indicator", field, "--prefix", "r_")
    assert renamed.code == (0 if field == "n" else 2)


def test_the_array_of_matches_replaces_no_field(join):
    done = join("--target", "id")
    assert done.code == 2
    assert (
        "a left row already has a field 'id'" in event_named(done, "error")["message"]
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--on", "k", "--left-on", "a"], "not both"),
        (["--left-on", "a"], "--right-on is missing"),
        (["--right-on", "a"], "--left-on is missing"),
        ([], "--on is missing"),
    ],
)
def test_a_missing_part_of_the_key_is_named(headrace, arguments, said):
    done = headrace("join", "right.jsonl", "left.jsonl", *arguments)
    assert done.code == 2
    assert said in done.err


# Accounting


def test_every_line_is_accounted_for(join):
    done = join("--stats", "--how", "inner")
    stats = event_named(done, "stats")
    counts = {"rows": 6, "emitted": 2, "filtered": 2, "skipped": 1, "blank": 1}
    assert {name: stats[name] for name in counts} == counts
    assert stats["bad"] == 1
    assert (stats["right"]["lines"], stats["right"]["missing"]) == (4, 1)
    assert "rows 6 = emitted 2 + filtered 2 + skipped 1 + blank 1" in stats["message"]
    assert "left.jsonl: line 5, byte 108" in stats["message"]
    assert "lines 4 = records 3 + missing 1" in stats["message"]


def test_strict_ends_the_join_at_the_first_bad_line(join, sides):
    done = join("--strict")
    assert done.code == 1
    assert done.rows == JOINED[:4]
    assert "line 5" in event_named(done, "error")["message"]
    assert join("--on-error", "abort").code == 1
    (sides / "right.jsonl").write_bytes(RIGHT + b"oops\n")
    (sides / "left.jsonl").write_bytes(b'{"user":"a"}\n')
    strict = join("--strict")
    assert (strict.code, strict.out) == (1, b"")
    assert "right.jsonl: line 5" in event_named(strict, "error")["message"]
    loose = join()
    assert loose.code == 0
    assert "right.jsonl: 1 line skipped" in event_named(loose, "bad_rows")["message"]


def test_bad_lines_may_be_kept(join, sides):
    done = join("--errors", "bad.jsonl")
    assert (done.code, done.rows) == (0, JOINED)
    kept = json.loads((sides / "bad.jsonl").read_bytes())
    assert (kept["line"], kept["raw"]) == (5, '{"id": 4, "user": "zz"')
    done = join("--on-error", "collect")
    assert event_named(done, "bad_row")["line"] == 5


def test_a_left_row_that_is_not_an_object_stays_as_it_is(join, sides):
    (sides / "left.jsonl").write_bytes(b'[1]\n{"user":"b"}\n')
    assert join().rows == [b"[1]", b'{"user":"b","name":"Bob"}']
    done = join("--indicator", "i")
    assert done.rows == [b'{"user":"b","name":"Bob","i":"both"}']
    assert "1 bad row" in event_named(done, "bad_rows")["message"]
    assert join("--indicator", "i", "--how", "inner", "--strict").code == 0


# Accesses to right rows


def plan(done):
    """Return the plan that `--explain` prints, as names and values."""
    assert (done.code, done.err) == (0, "")
    return dict(line.split(": ", 1) for line in done.out.decode().splitlines())


def test_the_plan_is_printed_and_the_counts_come_after_the_work(join):
    planned = plan(join("--explain"))
    assert {*planned} == {"right.jsonl", "estimated memory"}
    assert planned["right.jsonl"].startswith("held in memory, since ")
    assert "small" in planned["right.jsonl"]
    assert int(planned["estimated memory"].removesuffix(" B")) >= len(RIGHT)
    done = join("--stats")
    assert done.rows == JOINED
    assert names(done) == ["join_stats", "stats"]
    stats = event_named(done, "join_stats")
    assert (stats["mode"], stats["left_records"]) == ("hash", 4)
    assert (stats["lookups"], stats["hits"], stats["output_records"]) == (3, 2, 5)
    assert stats["bytes_read"] == len(RIGHT)


@pytest.mark.usefixtures("no_side_is_small")
@pytest.mark.parametrize("version", ["1", "2"])
def test_an_index_leads_to_the_rows(join, index, version):
    index("--index-version", version)
    planned = plan(join("--require-index", "--explain"))
    assert planned["right.jsonl"].startswith("found with its key index, since ")
    assert planned["index"] == f"right.jsonl.jnx, version {version}, 2 keys"
    done = join("--require-index", "--stats")
    assert done.rows == JOINED
    stats = event_named(done, "join_stats")
    assert (stats["mode"], stats["hits"]) == ("indexed", 2)
    assert stats["source_reads"] >= 1
    assert event_named(done, "stats")["right"]["missing"] == 1


def test_a_small_right_side_is_held_even_if_it_has_an_index(join, index):
    index()
    planned = plan(join("--require-index", "--explain"))
    assert planned["right.jsonl"].startswith("held in memory")
    assert planned["index"] == "right.jsonl.jnx, version 1, 2 keys"


@pytest.mark.usefixtures("no_side_is_small")
def test_an_index_is_used_without_a_flag_where_it_is_faster(join, index, sides):
    index()
    assert plan(join("--explain"))["right.jsonl"].startswith("held in memory")
    (sides / "left.jsonl").write_bytes(b'{"user":"b"}\n')
    planned = plan(join("--explain"))["right.jsonl"]
    assert planned == "found with its key index, since the left side is much smaller"
    unused = plan(join("--explain", "--no-index"))
    assert unused["right.jsonl"].startswith("held in memory")
    assert "index" not in unused


def test_explain_plan_reads_no_row(start):
    child = start("join", "right.jsonl", "--on", "user", "--explain")
    # Standard input has no bytes, and stays open.
    assert child.wait(60) == 0
    assert child.stdout.read().startswith(b"right.jsonl: held in memory, since ")
    assert child.stderr.read() == b""


def test_an_index_may_lie_elsewhere(join, index, monkeypatch):
    monkeypatch.setattr(joins, "SMALL_BYTES", -1)
    index("--index", "elsewhere.jnx")
    done = join("--right-index", "elsewhere.jnx")
    assert done.rows == JOINED
    planned = plan(join("--right-index", "elsewhere.jnx", "--explain"))
    assert planned["index"].startswith("elsewhere.jnx, ")


@pytest.mark.usefixtures("no_side_is_small")
def test_without_a_usable_index_right_rows_are_held(join, index, sides):
    missing = join("--right-index", "right.jsonl.jnx", "--stats")
    assert missing.rows == JOINED
    assert names(missing)[0] == "index_fallback"
    assert event_named(missing, "index_fallback")["reason"] == "missing"
    assert event_named(missing, "join_stats")["mode"] == "hash"
    refused = join("--require-index")
    assert (refused.code, refused.out) == (1, b"")
    assert "index build" in event_named(refused, "error")["message"]
    index()
    (sides / "right.jsonl").write_bytes(RIGHT.replace(b"Ada", b"Eve"))
    stale = join("--right-index", "right.jsonl.jnx")
    assert stale.rows[0] == JOINED[0].replace(b"Ada", b"Eve")
    assert names(stale)[:2] == ["index_stale", "index_fallback"]
    assert join("--right-index", "right.jsonl.jnx", "--require-index").code == 1


@pytest.mark.usefixtures("no_side_is_small")
def test_rows_that_came_later_are_held(join, index, sides):
    index()
    with (sides / "right.jsonl").open("ab") as file:
        file.write(b'{"user":"q","name":"Quinn"}\n')
    done = join("--right-index", "right.jsonl.jnx", "--stats")
    assert done.rows == [*JOINED[:4], b'{"id": 5, "user": "q","name":"Quinn"}']
    assert event_named(done, "join_stats")["mode"] == "indexed"
    assert names(done)[:2] == ["index_stale", "index_fallback"]
    planned = join("--right-index", "right.jsonl.jnx", "--explain").out.decode()
    assert planned.endswith("2 keys, older than the last rows\n")
    assert join("--require-index").code == 1


@pytest.mark.usefixtures("no_side_is_small")
def test_a_damaged_index_is_abandoned(join, index):
    path = index()
    content = bytearray(path.read_bytes())
    # The first entry of the key table.
    content[70] ^= 1
    path.write_bytes(content)
    done = join("--right-index", path, "--stats")
    assert (done.code, done.rows) == (0, JOINED)
    assert "index_corrupt" in names(done)
    assert "index_fallback" in names(done)
    assert event_named(done, "join_stats")["mode"] == "hash"
    strict = join("--require-index")
    assert (strict.code, strict.out) == (1, b"")


@pytest.mark.usefixtures("no_side_is_small")
def test_strict_ignores_the_state_of_indexes(join, index, sides):
    index()
    (sides / "left.jsonl").write_bytes(b'{"user":"b"}\n')
    (sides / "right.jsonl").write_bytes(RIGHT.replace(b"Ada", b"Eve"))
    done = join("--strict", "--right-index", "right.jsonl.jnx")
    assert (done.code, done.rows) == (0, [b'{"user":"b","name":"Bob"}'])
    assert names(done)[:2] == ["index_stale", "index_fallback"]


def test_a_right_side_too_large_for_memory_is_an_error_with_advice(join, sides):
    rows = b"".join(b'{"user":"u%d","n":%d}\n' % (n, n) for n in range(100_000))
    (sides / "right.jsonl").write_bytes(rows)
    done = join("--memory", "1MiB")
    assert (done.code, done.out) == (1, b"")
    message = event_named(done, "error")["message"]
    assert "1048576 bytes" in message
    assert "headrace index build right.jsonl --on user" in message
    assert "--memory" in message


# Ends


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["right.jsonl", "left.jsonl"], "--on"),
        (["right.jsonl", "--left-on", "a", "left.jsonl"], "--right-on"),
        (["right.jsonl", "--on", "a", "--left-on", "b", "left.jsonl"], "--on"),
        (["right.jsonl", "--left-on", "a", "--right-on", "b,c", "x"], "as many"),
        (["right.jsonl", "--on", "a,,b", "left.jsonl"], "no name"),
        (["right.jsonl", "--on", "a", "--explain=plan", "left.jsonl"], "plan"),
        (
            ["right.jsonl", "--on", "a", "--target", "t", "--indicator", "t", "x"],
            "both called",
        ),
        (
            ["right.jsonl", "--on", "a", "--require-index", "--no-index", "left.jsonl"],
            "--no-index",
        ),
        (
            ["right.jsonl", "--on", "a", "--strict", "--errors", "e", "left.jsonl"],
            "--errors",
        ),
    ],
)
def test_invalid_command_lines(headrace, sides, arguments, says):
    (sides / "x").write_bytes(b"")
    done = headrace("join", *arguments)
    assert (done.code, done.out) == (2, b"")
    assert says in done.err


def test_a_missing_file_is_a_failure(headrace):
    assert headrace("join", "absent.jsonl", "--on", "user", "left.jsonl").code == 1
    assert headrace("join", "right.jsonl", "--on", "user", "absent.jsonl").code == 1


def test_a_closed_pipe_is_not_a_failure(sides):
    rows = b"".join(b'{"user":"a","n":%d}\n' % n for n in range(50_000))
    (sides / "left.jsonl").write_bytes(rows)
    script = f"{sys.executable} -m headrace join right.jsonl --on user left.jsonl"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {script} | head -n 1"],
        cwd=sides,
        env=os.environ,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b'{"user":"a","n":1.50,"name":"Ada"}\n'


def test_rows_come_while_the_left_side_is_written(start):
    child = start("join", "right.jsonl", "--on", "user", "--no-progress")
    child.stdin.write(b'{"user":"b"}\n')
    assert child.stdout.readline() == b'{"user":"b","name":"Bob"}\n'
    child.stdin.close()
    assert child.wait(60) == 0


def test_a_key_index_as_a_side_of_a_join_is_refused(headrace, index):
    joined = headrace("join", index(), "left.jsonl", "--on", "user")
    assert (joined.code, joined.out) == (1, b"")
    assert "it is a key index" in joined.err
