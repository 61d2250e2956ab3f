"""Unreadable input: the error is one line that says where, what and what to do."""

import gzip
import os

import pytest
import zstandard

GOOD = b"".join(
    b'{"n":%d,"x":"%s"}\n' % (n, os.urandom(20).hex().encode()) for n in range(5000)
)

COMMANDS = [
    pytest.param(["count", "FILE"], id="count"),
    pytest.param(["head", "FILE"], id="head"),
    pytest.param(["tail", "FILE"], id="tail"),
    pytest.param(["row", "FILE", "3"], id="row"),
    pytest.param(["row", "FILE", "-1"], id="row from the end"),
]


@pytest.fixture
def on(headrace):
    """Run a command on a file."""

    def run(arguments, file):
        return headrace(*(str(file) if each == "FILE" else each for each in arguments))

    return run


@pytest.mark.parametrize("arguments", COMMANDS)
@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("missing.jsonl", "missing.jsonl", id="missing"),
        pytest.param("no/such/place/x.jsonl", "no/such/place/x.jsonl", id="deep"),
        pytest.param("*.nothing", "*.nothing", id="a pattern that fits nothing"),
        pytest.param("empty-directory", "empty-directory", id="nothing in it"),
        pytest.param("utf-16.jsonl", "UTF-16", id="UTF-16"),
        pytest.param("utf-16be.jsonl", "UTF-16", id="UTF-16, big end first"),
        pytest.param("xyz://host/x.jsonl", "xyz", id="an unknown kind of URL"),
    ],
)
def test_sources_that_are_refused(on, tmp_path, arguments, name, said):
    (tmp_path / "empty-directory").mkdir()
    (tmp_path / "empty-directory/readme.txt").write_text("not NDJSON")
    (tmp_path / "utf-16.jsonl").write_bytes('{"a":1}\n'.encode("utf-16"))
    (tmp_path / "utf-16be.jsonl").write_bytes(
        b"\xfe\xff" + '{"a":1}\n'.encode("utf-16-be")
    )
    outcome = on(arguments, name)
    assert (outcome.code, outcome.out) == (1, b"")
    assert outcome.err.startswith("headrace: ")
    assert outcome.err.count("\n") == 1
    assert said in outcome.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("arguments", COMMANDS)
def test_an_unreadable_file_is_a_failure(on, numbers, arguments):
    file = numbers(3)
    file.chmod(0)
    outcome = on(arguments, file)
    assert (outcome.code, outcome.out) == (1, b"")
    assert str(file) in outcome.err


def cut(data):
    return data[: len(data) // 2]


@pytest.mark.parametrize("arguments", COMMANDS)
@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize("damage", [cut, lambda data: data[:-3]], ids=["half", "end"])
def test_a_cut_compressed_file(on, tmp_path, arguments, compress, damage):
    file = tmp_path / "cut.jsonl"
    file.write_bytes(damage(compress(GOOD)))
    outcome = on(arguments, file)
    if arguments[0] == "head" or "3" in arguments:
        # The requested rows are before the damage, which is not read.
        assert GOOD.startswith(outcome.out) or arguments[0] == "row"
    else:
        assert outcome.code == 1
        assert outcome.err.startswith(f"headrace: {file}: ")
        assert outcome.err.count("\n") == 1


def test_rows_before_the_damage_come_first(on, tmp_path):
    file = tmp_path / "cut.jsonl.gz"
    file.write_bytes(cut(gzip.compress(GOOD)))
    outcome = on(["head", "-n", "5000", "FILE"], file)
    assert outcome.code == 1
    assert GOOD.startswith(outcome.out)
    assert 1000 < len(outcome.rows) < 4000
    assert outcome.err.startswith(f"headrace: {file}: ")


def test_rows_before_the_damage_come_first_on_a_pipe(process):
    outcome = process("head", "-n", "5000", stdin=cut(gzip.compress(GOOD)))
    assert outcome.code == 1
    assert GOOD.startswith(outcome.out)
    assert len(outcome.rows) > 1000


def test_control_characters_of_a_file_name_are_not_printed(headrace):
    outcome = headrace("head", "no\x1b[2Jsuch\nfile")
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    assert "\x1b" not in outcome.err


def test_an_error_is_an_event(headrace):
    outcome = headrace("count", "--events", "json", "missing.jsonl")
    assert outcome.code == 1
    (event,) = outcome.events
    assert event["event"] == "error"
    assert event["error"] == "SourceNotFoundError"
    assert event["path"] == "missing.jsonl"
    assert "missing.jsonl" in event["message"]


def test_a_single_row_that_is_too_long_is_a_failure(headrace, tmp_path):
    (tmp_path / "long.jsonl").write_bytes(b"1\n" + b"x" * 100 + b"\n")
    done = headrace("row", "--max-line", "50", "long.jsonl", "1")
    assert (done.code, done.out) == (1, b"")
    assert "100 bytes long" in done.err


def test_a_row_number_beyond_every_file(headrace, numbers):
    numbers(3)
    done = headrace("row", "numbers.jsonl", "99999999999999999999999999")
    assert done.code == 1
    assert "no row 99999999999999999999999999; of 3 rows" in done.err


def test_two_dashes_end_the_options(headrace, numbers):
    numbers(3, "-dash.jsonl")
    assert headrace("count", "--", "-dash.jsonl").out == b"3\n"


def test_an_empty_file_name_is_a_usage_error(headrace):
    assert headrace("count", "").code == 2


def test_the_number_of_bad_lines_not_shown_is_printed(headrace, tmp_path):
    (tmp_path / "bad.jsonl").write_bytes(b"x\n" * 15)
    assert "and 5 more" in headrace("count", "--stats", "bad.jsonl").err
