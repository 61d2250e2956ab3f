"""``headrace query`` over lines that are not rows: endless lines, framed lines without a record."""

import json
import signal
from pathlib import Path

import pytest

FRAMED = b'k|{"id":1}\nnone\nk|\nk|{bad\nk|null\nk|{"id":2}\n'
WRONG = [
    (2, 11, "the line has no separator"),
    (3, 18, "there is no JSON behind the separator"),
    (4, 22, "expected a key in double quotes"),
]


@pytest.fixture
def framed(tmp_path):
    path = tmp_path / "framed.txt"
    path.write_bytes(FRAMED)
    return path


@pytest.mark.parametrize("query", ["id", "$.rows().map(id)", "$.rows().sort(id)"])
def test_a_framed_line_without_a_record_ends_the_run(headrace, framed, query):
    done = headrace("query", "--frame", "|", query, framed)
    assert done.code == 1
    assert "framed.txt: line 2, byte 11: the line has no separator" in done.err


@pytest.mark.parametrize(
    "query", ["id", "$.rows().map(id)", "$.rows().sort(id).map(id)"]
)
def test_framed_lines_without_a_record_are_bad_rows(headrace, framed, query, tmp_path):
    errors = tmp_path / "errors.jsonl"
    arguments = ["--frame", "|", "--errors", errors, "--stats", query, framed]
    done = headrace("query", *arguments)
    assert (done.code, done.out) == (0, b"1\n2\n")
    assert "rows 6 = emitted 2 + filtered 1 + skipped 3 + blank 0" in done.err
    assert "framed.txt: line 2, byte 11: the line has no separator" in done.err
    found = [json.loads(line) for line in errors.read_text().splitlines()]
    places = [(row["line"], row["offset"], row["reason"]) for row in found]
    assert places == WRONG
    done = headrace("query", "--on-error", "skip", "--frame", "|", query, framed)
    assert done.err == "headrace: warning: 3 bad rows were skipped\n"


@pytest.mark.parametrize("query", ["a", "$.rows().count()"])
def test_an_endless_line_ends_at_its_limit(start, query):
    child = start("query", "--max-line", "1MiB", query, "/dev/zero")
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (1, b"")
    assert b"line 1, byte 0: the line is longer than --max-line allows" in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("query", ["a", "$.rows().count()"])
def test_a_signal_ends_an_endless_line(start, wait_for, number, query):
    child = start("query", "--on-error", "skip", query, "/dev/zero")
    # The start of the interpreter reads less than this: the command is reading the line.
    wait_for(lambda: _bytes_read(child.pid) > 100 << 20)
    child.send_signal(number)
    assert child.wait(60) in (130, 128 + signal.SIGTERM)


def _bytes_read(process):
    lines = Path(f"/proc/{process}/io").read_text().splitlines()
    return int(lines[0].removeprefix("rchar: "))
