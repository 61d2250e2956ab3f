"""``headrace query``: destination and format of answers and of bad rows."""

import csv
import io
import json
import os
import pty
import signal
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

FORMATS = ["ndjson", "json", "table", "csv", "parquet"]

ROWS = [
    {"id": 1, "name": 'Ada, "the first"', "tags": ["a", "b"]},
    {"id": 2, "name": "", "more": {"x": 1.5}},
    {"id": 3, "name": "恵美\nline", "more": {"x": None}},
]


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    return path


@pytest.fixture
def broken(tmp_path):
    path = tmp_path / "broken.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": \n\n"\xff"\n{"a": "x"}\n{"a": 3}\n')
    return path


def read(form, content):
    """Read a file of answers with another library."""
    match form:
        case "ndjson":
            return [json.loads(line) for line in content.decode().splitlines()]
        case "json":
            return json.loads(content)
        case "parquet":
            return pq.read_table(io.BytesIO(content)).to_pylist()
        case _:
            return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


@pytest.mark.parametrize("form", ["ndjson", "json", "parquet"])
def test_every_format_preserves_the_rows(headrace, people, form):
    done = headrace("query", "$", "--format", form, people)
    assert (done.code, done.err) == (0, "")
    found = read(form, done.out)
    assert [_without_null(row) for row in found] == [_without_null(row) for row in ROWS]


def _without_null(value):
    if not isinstance(value, dict):
        return value
    return {k: _without_null(v) for k, v in value.items() if v is not None}


def test_csv_and_table(headrace, people):
    written = read("csv", headrace("query", "$", "--format", "csv", people).out)
    assert [row["name"] for row in written] == [row["name"] for row in ROWS]
    assert [json.loads(row["tags"] or "null") for row in written] == [
        row.get("tags") for row in ROWS
    ]
    table = headrace("query", "{id, name}", "--format", "table", people)
    assert table.out.decode() == (
        "id  name\n"
        "--  ----------------\n"
        ' 1  Ada, "the first"\n'
        ' 2  ""\n'
        " 3  恵美\\nline\n"
    )


@pytest.mark.parametrize("form", FORMATS)
def test_no_answers(headrace, people, form):
    done = headrace("query", "-q", "$.nothing", "--format", form, people)
    assert (done.code, done.err) == (0, "")
    expected = {"ndjson": b"", "json": b"[]\n", "table": b"", "csv": b""}
    if form == "parquet":
        assert read(form, done.out) == []
    else:
        assert done.out == expected[form]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("query", ["$", "$.id", "{id, more}"])
def test_out_writes_the_bytes_of_standard_output(
    headrace, people, tmp_path, form, query
):
    printed = headrace("query", query, "--format", form, people).out
    done = headrace("query", query, "--format", form, "--out", "out", people)
    assert (done.code, done.out, done.err) == (0, b"", "")
    assert (tmp_path / "out").read_bytes() == printed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--threads", "0"], "--threads 0"),
        (["--out", "x.xlsx"], "which format"),
        (["--out", "x.parquet.gz"], "compressed inside"),
        (["--out", "x.jsonl", "--errors", "./x.jsonl"], "the same file"),
        (["--strict", "--errors", "x.jsonl"], "--strict"),
        (["--out", "folder", "--format", "csv"], "is a directory"),
        (["--format", "xml"], "xml"),
    ],
)
def test_invalid_command_lines(headrace, people, tmp_path, arguments, said):
    (tmp_path / "folder").mkdir()
    done = headrace("query", "$", *arguments, people)
    assert (done.code, done.out) == (2, b"")
    assert said in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "folder",
        "people.jsonl",
    ]


def test_standard_output_can_be_named(headrace, people):
    done = headrace("query", "$.id", "--out", "-", people)
    assert done.out == b"1\n2\n3\n"


# Failures


@pytest.mark.parametrize("form", FORMATS)
def test_a_failed_run_leaves_no_file(headrace, broken, tmp_path, form):
    done = headrace("query", "a", "--format", form, "--out", "out", broken)
    assert done.code == 1
    assert "broken.jsonl: line 2, byte 15" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["broken.jsonl"]


@pytest.mark.parametrize("form", ["ndjson", "json", "csv", "table"])
def test_answers_before_a_failure_are_printed(headrace, broken, form):
    done = headrace("query", "{a}", "--format", form, broken)
    assert done.code == 1
    assert b"1" in done.out


def test_a_missing_directory_is_named(headrace, people):
    done = headrace("query", "$", "--out", "nowhere/x.csv", people)
    assert done.code == 1
    reason = "there is no such directory; create it first"
    assert f"nowhere/x.csv: cannot be written: {reason}" in done.err


def test_a_late_column_is_an_error_of_csv(headrace, tmp_path):
    path = tmp_path / "late.jsonl"
    path.write_bytes(b'{"a": 1}\n' * 1500 + b'{"b": 1}\n')
    done = headrace("query", "$", "--out", "out.csv", path)
    assert done.code == 1
    assert "answer 1501 has a column 'b'" in done.err
    assert "name the columns in the query" in done.err
    assert not (tmp_path / "out.csv").exists()
    cured = headrace("query", "{a, b}", "--out", "out.csv", path)
    assert (cured.code, cured.err) == (0, "")
    done = headrace("query", "$", "--format", "table", "--events", "json", path)
    assert done.code == 0
    (note,) = done.events
    assert (note["event"], note["format"]) == ("output", "table")
    assert "do not have them: b" in note["message"]


def test_a_column_of_several_types_is_reported(headrace, broken, tmp_path):
    done = headrace(
        "query", "{a}", "--on-error", "skip", "--out", "out.parquet", broken
    )
    assert done.code == 0
    assert "the column 'a' is written as JSON text: a is integer and text" in done.err
    assert "2 bad rows were skipped" in done.err
    assert pq.read_table(tmp_path / "out.parquet")["a"].to_pylist() == ["1", '"x"', "3"]
    quiet = headrace(
        "query", "{a}", "-q", "--on-error", "skip", "--out", "out.parquet", broken
    )
    assert (quiet.code, quiet.err) == (0, "")


# Bad rows


@pytest.mark.parametrize(
    "query",
    [
        "{n: $.rows().count(), total: $.rows().sum(v)}",
        "{total: $.rows().sum(v), n: $.rows().count()}",
        "[$.rows().max(k), $.rows().sum(v), $.rows().count()]",
    ],
)
@pytest.mark.parametrize("threads", ["1", "3"])
def test_counts_of_several_answers_do_not_depend_on_their_order(
    headrace, tmp_path, query, threads
):
    path = tmp_path / "mixed.jsonl"
    path.write_text('{"k":1,"v":1}\n{"k":2,"v":"x"}\n\n{"k":3,"v":[]}\n{\n{"v":2}\n')
    done = headrace(
        *("query", "--on-error", "skip", "--stats", "--threads", threads, query, path)
    )
    assert "rows 6 = emitted 2 + filtered 0 + skipped 3 + blank 1" in done.err


def test_a_query_that_fails_on_good_rows_is_reported(headrace, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n{\n{"a": "x"}\n')
    done = headrace("query", "--on-error", "skip", "a * 2", path)
    assert done.out == b"2\n"
    assert "2 bad rows were skipped; the query failed first on" in done.err
    assert "line 3" in done.err


def test_bad_rows_are_reported_as_they_come(headrace, broken):
    done = headrace("query", "a * 2", "--on-error", "collect", broken)
    assert (done.code, done.out) == (0, b"2\n6\n")
    *bad, summary = done.err.splitlines()
    assert [line.split(":")[:3] for line in bad] == [["headrace", " bad row", " " + str(broken)]] * 3  # fmt: skip
    assert summary == "headrace: warning: 3 bad rows were skipped"
    as_events = headrace(
        "query", "a * 2", "--on-error", "collect", "--events", "json", broken
    )
    *bad, summary = as_events.events
    assert [(each["event"], each["line"]) for each in bad] == [
        ("bad_row", 2),
        ("bad_row", 4),
        ("bad_row", 5),
    ]
    assert (summary["event"], summary["bad"]) == ("bad_rows", 3)


def test_bad_rows_go_to_a_file(headrace, broken, tmp_path):
    done = headrace("query", "a * 2", "--errors", "bad.jsonl", "--stats", broken)
    assert (done.code, done.out) == (0, b"2\n6\n")
    assert "3 bad rows were skipped; see bad.jsonl" in done.err
    assert "rows 6 = emitted 2 + filtered 0 + skipped 3 + blank 1" in done.err
    bad = read("ndjson", (tmp_path / "bad.jsonl").read_bytes())
    assert [row["line"] for row in bad] == [2, 4, 5]
    assert [sorted(row) for row in bad] == [
        ["file", "line", "offset", "raw", "reason"],
        ["file", "line", "offset", "raw_base64", "reason"],
        ["column", "file", "line", "offset", "raw", "reason"],
    ]


def test_no_bad_rows_are_an_empty_file(headrace, people, tmp_path):
    done = headrace("query", "$.id", "--errors", "bad.jsonl", people)
    assert (done.code, done.err) == (0, "")
    assert (tmp_path / "bad.jsonl").read_bytes() == b""


def test_a_failed_run_leaves_no_file_of_bad_rows(headrace, broken, tmp_path):
    done = headrace(
        "query", "$", "--errors", "bad.jsonl", "--out", "no/out.jsonl", broken
    )
    assert done.code == 1
    assert [path.name for path in tmp_path.iterdir()] == ["broken.jsonl"]


# Processes


@pytest.mark.parametrize(
    ("ending", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
)
def test_an_interrupt_leaves_no_file(start, wait_for, tmp_path, ending, code):
    child = start("query", "$", "--out", "out.csv", "--errors", "bad.jsonl", "-")
    child.stdin.write(b'{"a": 1}\nbad\n')
    wait_for(lambda: len(list(tmp_path.glob(".*.tmp-*"))) == 2)
    child.send_signal(ending)
    assert child.wait(timeout=20) == code
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (["$"], b'{"a": 1}\n'),
        (["$", "--format", "json"], b'[\n{"a": 1}'),
        (["{a}", "--format", "csv"], b"a\r\n1\r\n"),
    ],
)
def test_live_answers_leave_at_once(start, arguments, first):
    child = start("query", *arguments, "-")
    child.stdin.write(b'{"a": 1}\n')
    seen = b""
    while len(seen) < len(first):
        seen += os.read(child.stdout.fileno(), 100)
    assert seen == first
    assert child.poll() is None


@pytest.mark.parametrize("form", FORMATS)
def test_a_closed_pipe_is_not_a_failure(numbers, form):
    path = numbers(200_000)
    command = [sys.executable, "-m", "headrace", "query", "$", "--format", form, path]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.read(1)
    child.stdout.close()
    assert child.stderr.read() == b""
    child.stderr.close()
    assert child.wait(timeout=60) == 0


@pytest.fixture
def on_terminal(tmp_path):
    """Run a command whose standard output is a terminal of 30 columns."""

    def run(*arguments):
        controller, end = pty.openpty()
        os.set_blocking(controller, False)
        import fcntl
        import struct
        import termios

        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 30, 0, 0))
        done = subprocess.run(
            [sys.executable, "-m", "headrace", *map(str, arguments)],
            stdout=end,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            timeout=60,
            check=False,
        )
        try:
            shown = os.read(controller, 1 << 16)
        except BlockingIOError:
            shown = b""
        os.close(end)
        os.close(controller)
        return done.returncode, shown.decode(), done.stderr.decode()

    return run


def test_a_table_fits_the_terminal(on_terminal, people):
    code, shown, said = on_terminal("query", "$", "--format", "table", people)
    assert code == 0
    assert shown.splitlines()[0] == "id  name"
    assert max(map(len, shown.splitlines())) <= 30
    assert "for want of room: tags, more" in said


def test_parquet_is_not_for_a_terminal(on_terminal, people):
    code, shown, said = on_terminal("query", "$", "--format", "parquet", people)
    assert (code, shown) == (2, "")
    assert "give --out FILE" in said
