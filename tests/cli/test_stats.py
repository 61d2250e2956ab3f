"""Accounting: every line a command read is a record, blank, bad or too long."""

import json
import signal

import pytest

CONTENT = b'{"a":1}\n\n  \n{bad\n"%s"\n[1,2]\n\xff\n{"b":2}' % (b"x" * 200)
ALL = {"lines": 8, "records": 3, "blank": 2, "bad": 2, "too_long": 1}


@pytest.fixture
def mixed(tmp_path):
    path = tmp_path / "mixed.jsonl"
    path.write_bytes(CONTENT)
    return path


def stats_of(outcome):
    (stats,) = [event for event in outcome.events if event["event"] == "stats"]
    return stats


CASES = [
    pytest.param(["count", "FILE"], ALL, id="count: everything"),
    pytest.param(["count", "--per-file", "FILE"], ALL, id="count by file"),
    pytest.param(["head", "FILE"], ALL, id="head: all of them"),
    pytest.param(["tail", "FILE"], ALL, id="tail: all of them"),
    pytest.param(["row", "FILE", ":"], ALL, id="row: all of them"),
    pytest.param(
        ["head", "-n", "2", "FILE"],
        {"lines": 2, "records": 1, "blank": 1, "bad": 0, "too_long": 0},
        id="head: two",
    ),
    pytest.param(
        ["tail", "-n", "2", "FILE"],
        {"lines": 2, "records": 1, "blank": 0, "bad": 1, "too_long": 0},
        id="tail: two",
    ),
    pytest.param(
        ["row", "FILE", "3"],
        {"lines": 1, "records": 0, "blank": 0, "bad": 1, "too_long": 0},
        id="row: one",
    ),
    pytest.param(
        ["row", "FILE", "4:5"],
        {"lines": 1, "records": 0, "blank": 0, "bad": 0, "too_long": 1},
        id="row: one that is too long",
    ),
    pytest.param(
        ["head", "-n", "0", "FILE"],
        {"lines": 0, "records": 0, "blank": 0, "bad": 0, "too_long": 0},
        id="head: none",
    ),
]


@pytest.mark.parametrize(("arguments", "expected"), CASES)
def test_stats_count_every_line(headrace, mixed, arguments, expected):
    words = [str(mixed) if each == "FILE" else each for each in arguments]
    outcome = headrace(*words, "--stats", "--max-line", "100", "--events", "json")
    assert outcome.code == 0
    stats = stats_of(outcome)
    assert {name: stats[name] for name in expected} == expected
    assert stats["lines"] == sum(expected.values()) - expected["lines"]


@pytest.mark.parametrize(("arguments", "expected"), CASES)
def test_strict_ends_at_the_first_bad_line(headrace, mixed, arguments, expected):
    words = [str(mixed) if each == "FILE" else each for each in arguments]
    lax = headrace(*words, "--max-line", "100")
    strict = headrace(*words, "--max-line", "100", "--strict")
    assert strict.out == lax.out
    assert lax.code == 0
    assert strict.code == (1 if expected["bad"] + expected["too_long"] else 0)
    if strict.code:
        assert strict.err.splitlines()[-1].startswith(f"headrace: {mixed}: ")


def test_the_first_bad_lines_are_named(headrace, mixed):
    outcome = headrace("count", "--stats", "--max-line", "100", mixed)
    assert outcome.out == b"8\n"
    first, *places = outcome.err.splitlines()
    assert first == "lines 8 / records 3 / blank 2 / bad 2 / too long 1"
    assert [place.split(": ")[:2] for place in places] == [
        [f"  {mixed}", "line 4, byte 13"],
        [f"  {mixed}", "line 5, byte 17"],
        [f"  {mixed}", "line 7, byte 226"],
    ]


def test_the_first_bad_lines_are_named_for_programs(headrace, mixed):
    outcome = headrace("head", "--stats", "--events=json", mixed)
    first, second = stats_of(outcome)["first_bad"]
    assert (first["path"], first["line"]) == (str(mixed), 4)
    assert second["line"] == 7
    assert first["reason"]


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["head", "FILE"], 7),
        (["tail", "FILE"], 7),
        (["row", "FILE", ":"], 7),
        (["head", "-n", "3", "FILE"], 3),
    ],
)
def test_a_row_that_is_too_long_is_left_out_with_a_warning(
    headrace, mixed, arguments, printed
):
    words = [str(mixed) if each == "FILE" else each for each in arguments]
    outcome = headrace(*words, "--max-line", "100")
    assert outcome.code == 0
    assert len(outcome.rows) == printed
    if printed == 3:
        assert outcome.err == ""
        return
    (warning,) = outcome.err.splitlines()
    assert warning.startswith(f"headrace: warning: {mixed}: ")
    for word in ("byte 17", "202", "100", "--max-line"):
        assert word in warning
    assert ("line 5" in warning) == (arguments[0] != "tail")
    assert headrace(*words, "--max-line", "100", "--quiet").err == ""
    (event,) = headrace(*words, "--max-line", "100", "--events=json").events
    assert event["event"] == "line_too_long"
    assert (event["offset"], event["length"], event["limit"]) == (17, 202, 100)


def test_stats_are_printed_even_if_the_command_fails(headrace, compressed):
    file = compressed("gzip", b"{}\n" * 10_000)
    file.write_bytes(file.read_bytes()[:-8])
    outcome = headrace("head", "-n", "20000", "--stats", "--events=json", file)
    assert outcome.code == 1
    assert [event["event"] for event in outcome.events] == ["stats", "error"]
    assert outcome.events[0]["lines"] == len(outcome.rows)


def test_stats_of_a_pipe(process):
    outcome = process("count", "--stats", "--events=json", stdin=b"1\n{\n\n")
    stats = stats_of(outcome)
    assert (stats["records"], stats["bad"], stats["blank"]) == (1, 1, 1)


def test_stats_of_a_followed_pipe(process):
    words = ("tail", "-f", "-", "--stats", "--max-line", "100", "--events=json")
    outcome = process(*words, stdin=CONTENT)
    stats = stats_of(outcome)
    assert {name: stats[name] for name in ALL} == ALL
    assert [bad["line"] for bad in stats["first_bad"]] == [4, 5, 7]


def test_stats_of_a_followed_file(headrace, start, mixed):
    """They are those of every command, but lines have no number."""
    mixed.write_bytes(b"\xef\xbb\xbf" + CONTENT + b"\n")
    words = ("--stats", "--max-line", "100", "--events=json", mixed)
    expected = stats_of(headrace("head", *words))
    for bad in expected["first_bad"]:
        bad["line"] = None
    del expected["message"]
    child = start("tail", "-f", *words)
    assert child.stdout.read(1000)
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=5) == 130
    too_long, stats = map(json.loads, child.stderr)
    assert too_long["event"] == "line_too_long"
    assert stats.items() >= expected.items()
