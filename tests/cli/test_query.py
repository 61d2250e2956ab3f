"""``headrace query`` and ``headrace functions``."""

import json
import re

import pytest

from headrace.api import open as opening
from headrace.cli.events import KINDS


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.jsonl"
    path.write_bytes(
        b'{"name": "Ada", "age": 36}\n'
        b"\n"
        b' {"name": "Bob", "age": 1.50}\r\n'
        b'{"name": "Cy"}\n'
    )
    return path


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["$.name"], ['"Ada"', '"Bob"', '"Cy"']),
        (["age"], ["36", "1.50"]),
        (["age", "--nulls", "emit"], ["36", "1.50", "null"]),
        (
            ["$"],
            [
                '{"name": "Ada", "age": 36}',
                '{"name": "Bob", "age": 1.50}',
                '{"name": "Cy"}',
            ],
        ),
        (["$.name", "--limit", "1"], ['"Ada"']),
        (["$.name", "--reverse", "--limit", "2"], ['"Cy"', '"Bob"']),
        (["--matches", "age > 2"], ['{"name": "Ada", "age": 36}']),
        (["--stream", "$.count()"], ["3"]),
        (["--stream", "$.sum(age)"], ["37.5"]),
        (["$.rows().sort(name).map(name).last(2)"], ['"Bob"', '"Cy"']),
        (["name", "--distinct-by", "age is null"], ['"Ada"', '"Cy"']),
    ],
)
def test_answers(headrace, people, arguments, printed):
    done = headrace("query", *arguments, str(people))
    assert (done.code, done.out.decode().splitlines()) == (0, printed)


def test_counts_add_up(headrace, people):
    done = headrace("query", "--stats", "age", str(people))
    assert "rows 4 = emitted 2 + filtered 1 + skipped 0 + blank 1" in done.err


def test_a_bad_row_ends_the_run_after_the_answers_before_it(headrace, tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": \n{"a": 3}\n')
    done = headrace("query", "a", str(path))
    assert (done.code, done.out) == (1, b"1\n")
    assert "bad.jsonl: line 2, byte 15" in done.err
    done = headrace("query", "a", "--on-error", "skip", "--stats", str(path))
    assert (done.code, done.out) == (0, b"1\n3\n")
    assert "skipped 1" in done.err
    done = headrace("query", "a", "--reverse", str(path))
    assert (done.code, done.out) == (1, b"3\n")
    assert "bad.jsonl: line 2, byte 15" in done.err


def test_only_the_first_bad_rows_are_stored_by_default(tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b"bad\n" * 50)
    for policy, kept in (("skip", 10), ("collect", 50)):
        result = opening.open(path).query("a", on_error=policy)
        assert result.to_list() == []
        assert (result.report.counts.skipped, len(result.report.errors)) == (50, kept)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("$.name +", "a query"),
        ("$.nam.uper()", "did you mean upper?"),
        ("$.name + 1", "line 1, byte 0: string Ada + number 1 cannot be computed"),
        ("(" * 5000, "nested"),
        ("@users.count()", "@users"),
        ("1 / 0", "division by zero"),
        ("name.re_match('(')", "pattern"),
    ],
)
def test_a_failed_query_reports_place_and_reason(headrace, people, query, said):
    done = headrace("query", query, str(people))
    assert done.code == 1
    assert done.out == b""
    assert said in done.err


def test_explain_prints_the_plan(headrace):
    outcome = headrace(
        "query", "--explain", "--stream", "$.filter(x > 1).sort(x).first(2)"
    )
    assert outcome.out.decode().splitlines() == [
        "all rows, from the first to the last",
        "├─ each: [$].filter(x > 1)",
        "├─ only the best 2 are held, by x",
        "├─ on the result: $.sort(x).first(2)",
        "└─ each element of the answer is a line of output",
    ]
    assert headrace("query", "--explain", "$.id").out.startswith(b"each row by itself")


def test_reverse_needs_a_file(process):
    done = process("query", "--reverse", "$", "-", stdin=b"1\n")
    assert done.code == 2
    assert "a pipe has no end" in done.err


def test_memory_is_bounded(headrace, tmp_path):
    path = tmp_path / "many.jsonl"
    path.write_bytes(b"".join(b'{"n": %d}\n' % row for row in range(5000)))
    done = headrace(
        "query", "--memory", "10KiB", "--stream", "$.sort(n).len()", str(path)
    )
    assert done.code == 1
    assert "more than 10240 bytes" in done.err
    assert "--memory" in done.err
    done = headrace("query", "--memory", "10KiB", "--stream", "$.sum(n)", str(path))
    assert (done.code, done.out) == (0, b"12497500\n")


def test_functions_are_listed_and_explained(headrace):
    listed = headrace("functions").out.decode().splitlines()
    assert len(listed) > 180
    explained = headrace("functions", "unique_by").out.decode()
    assert "distinct_by" in explained
    done = headrace("functions", "uniqe")
    assert (done.code, "did you mean unique?" in done.err) == (2, True)


def test_answers_can_be_read_again(people):
    import headrace

    result = headrace.open(people).query("{name, age}")
    assert [json.dumps(row) for row in result] == [
        json.dumps(row) for row in result.to_list()
    ]
    assert result.count() == 3
    assert result.write(people.with_name("out.jsonl")) == 3
    assert len(headrace.open(people.with_name("out.jsonl"))) == 3


@pytest.fixture
def indexed(headrace, tmp_path):
    path = tmp_path / "many.jsonl"
    path.write_bytes(b"".join(b'{"id":%d}\n\n' % row for row in range(50)))
    headrace("index", "build", "--on", "id", path)
    return path


def test_rows_are_found_by_a_key_index(headrace, indexed):
    query = ("query", "--stats", "--matches", "id == 7")
    done = headrace(*query, indexed)
    scanned = headrace(*query, indexed, "--no-index")
    assert (done.code, done.out) == (0, b'{"id":7}\n')
    assert "rows 100 = emitted 1 + filtered 49 + skipped 0 + blank 50" in done.err
    assert done.out == scanned.out
    assert done.err.splitlines()[0] == scanned.err.splitlines()[0]
    assert "parsed 1, not read 99" in done.err
    assert "parsed 100, not read 0" in scanned.err


def test_explain_names_the_index(headrace, indexed):
    command = ("query", "--explain", "--matches", "id == 7", indexed)
    assert headrace(*command).out.decode().splitlines()[-2:] == [
        "rows with id == 7",
        f"└─ {indexed}: 1 of 100 rows are read, found in {indexed}.jnx, the key index of "
        "id (50 keys)",
    ]
    for off in ("--no-index", "--strict"):
        last = headrace(*command, off).out.decode().splitlines()[-1]
        assert last == f"└─ {indexed}: all rows are read"


def test_stats_have_the_work_beside_the_counts(headrace, people):
    lines = headrace("query", "--stats", "age", people, "--threads", "1").err
    first, work, times = lines.splitlines()
    assert first == "rows 4 = emitted 2 + filtered 1 + skipped 0 + blank 1"
    size = people.stat().st_size
    assert work == f"  parsed 4, not read 0, {size} B read, 1 thread, 0 B held at most"
    stages = "reading S, evaluating S, merging S, finishing S, writing S"
    assert re.sub(r"\d+\.\d{3}", "S", times) == f"  S s, CPU S s: {stages}"
    command = ("query", "--stats", "age", people, "--events", "json")
    event = json.loads(headrace(*command).err)
    assert set(event) - {"event", "message"} <= set(KINDS["stats"].fields.split())
    assert (event["parsed"], event["unread"], event["bytes_read"]) == (4, 0, size)
    assert all(event[name] >= 0 for name in event if name.endswith("seconds"))


def test_a_plan_is_printed_with_what_a_run_measured(headrace, people):
    command = ("query", "--explain", "--analyze", "$.rows().filter(age > 2)", people)
    done = headrace(*command)
    first, each, last, run = done.out.decode().splitlines()
    assert first.startswith("all rows, from the first to the last  [4 rows, 1 blank, ")
    assert each.endswith(".filter(age > 2)  [3 -> 1]")
    assert last.endswith("  [1 element]")
    assert run.endswith(" 1 line of output, 0 B held at most")
    assert done.code == 0


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (("--out", "answers.jsonl"), "--out"),
        (("--format", "csv"), "--format"),
        (("--raw",), "--raw"),
        (("--stats", "--analyze"), "--stats"),
    ],
)
def test_flags_about_answers_are_refused_beside_explain(headrace, people, flags, named):
    done = headrace("query", "--explain", *flags, "age", people)
    assert (done.code, done.out) == (2, b"")
    assert f"so {named}" in done.err or f"(or {named}" in done.err


def test_analyze_needs_explain_and_this_process(headrace, people):
    done = headrace("query", "--analyze", "age", people)
    assert done.code == 2
    assert "write --explain --analyze" in done.err
    spark = ("--engine", "spark", "--explain", "--analyze")
    done = headrace("query", *spark, "age", people)
    assert done.code == 2
    assert "use --engine local" in done.err
