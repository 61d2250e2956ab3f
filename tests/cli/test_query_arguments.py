"""``headrace query``: values and conditions beside the query, queries from files, raw output."""

import json
import random

import pytest

import headrace as api
from headrace.errors import UsageError

ROWS = b"".join(
    b'{"id": %d, "k": "%s", "v": 1.50}\n' % (number, b"ab"[number % 2 :][:1])
    for number in range(5)
)


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(ROWS)
    return path


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["--arg", "k=a", "id if k == $k else null"], "0 2 4"),
        (["--argjson", "min=3", "$.rows().filter(id > $min).map(id)"], "4"),
        (["--argjson", "min=-3", "id + $min", "--limit", "1"], "-3"),
        (["--argjson", 'o={"a": [1]}', "$o.a[0] + id", "--limit", "2"], "1 2"),
        (["--arg", "x=", '$x == ""', "--limit", "1"], "true"),
        (["--arg", "x=a=b", "$x", "--limit", "1", "-r"], "a=b"),
        (["--arg", "k=a", 'f"{$k}"', "--limit", "1", "-r"], "a"),
        (["--arg", "k=a", "--matches", "--where", "k == $k", "id > 3", "-r"], None),
        (["--where", "id > 2", "id"], "3 4"),
        (["--where", "id > 2", "$.rows().count()"], "2"),
        (["--where", "id > 2", "--stream", "$.map(id).first()"], "3"),
        (["--where", "id > 2", "--reverse", "id"], "4 3"),
        (["--where", "id > 2", "--nulls", "emit", "nothing"], "null null"),
        (["--where", "id > 1", "--distinct-by", "k", "id"], "2 3"),
        (["--where", "id > 1", "--limit", "1", "id"], "2"),
        (["--where", "id > 2", "{n: $.rows().count(), s: $.rows().sum(id)}"], None),
    ],
)
def test_values_and_conditions(headrace, rows, arguments, printed):
    done = headrace("query", *arguments, rows)
    assert (done.code, done.err) == (0, "")
    if printed is not None:
        assert done.out.decode().split() == printed.split()


def test_where_keeps_whole_rows_and_the_account(headrace, rows):
    done = headrace("query", "--where", "id > 2", "--stats", "$", rows)
    assert done.rows == ROWS.splitlines()[3:]
    assert "rows 5 = emitted 2 + filtered 3 + skipped 0 + blank 0" in done.err
    done = headrace("query", "--where", "id > 2", "{n: $.rows().count()}", rows)
    assert done.out == b'{"n":2}\n'


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--arg", "x=1", "id"], "the query has no $x; leave out the argument x"),
        (["--arg", "x=1", "--argjson", "x=1", "$x"], "$x is given twice"),
        (["--arg", "x=1", "--arg", "x=2", "$x"], "$x is given twice"),
        (["--arg", "1=1", "id"], "'1=1' is not NAME=VALUE"),
        (["--argjson", "x=a", "$x"], "--argjson x=a: not JSON"),
        (["--argjson", "x=", "$x"], "--argjson x=: not JSON"),
        (
            ["--where", "$.rows().count() > 1", "id"],
            "$.rows().avg(x) -> mean | $.rows().filter(",
        ),
        (["--raw", "--tsv", "id"], "choose one"),
        (["--raw", "--format", "json", "id"], "choose one"),
    ],
)
def test_invalid_arguments_are_a_usage_error(headrace, rows, arguments, said):
    done = headrace("query", *arguments, rows)
    assert (done.code, done.out) == (2, b"")
    assert said in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["$x"], "$x has no value"),
        (['env("HOME")'], "allow it: --allow-env"),
        (["--allow-env", "env(k)"], "env takes the name of a variable in quotes"),
        (["--where", "k.uper()", "id"], "did you mean upper?"),
    ],
)
def test_a_query_without_its_values_is_refused(headrace, rows, arguments, said):
    done = headrace("query", *arguments, rows)
    assert (done.code, done.out) == (1, b"")
    assert said in done.err


def test_the_environment_is_read_if_that_is_allowed(headrace, rows, monkeypatch):
    monkeypatch.setenv("LEVEL", "a")
    query = 'id if k == env("LEVEL") and env("NONE") is null else null'
    done = headrace("query", "--allow-env", query, rows)
    assert done.out == b"0\n2\n4\n"


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_a_query_may_be_in_a_file(headrace, rows, tmp_path, start):
    (tmp_path / "query.hr").write_bytes(start + b"id\n  if id > 3\n  else null\n")
    assert headrace("query", "--query-file", "query.hr", rows).out == b"4\n"
    assert headrace("query", rows, "--query-file", "query.hr").out == b"4\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"id\xff", "byte 2 is not UTF-8"),
        (b" " * (1 << 20) + b"id", "longer than 1 MiB"),
    ],
)
def test_a_file_without_a_query_is_refused(headrace, rows, tmp_path, content, said):
    (tmp_path / "query.hr").write_bytes(content)
    done = headrace("query", "--query-file", "query.hr", rows)
    assert (done.code, said in done.err) == (2, True)
    assert headrace("query").code == 2
    assert headrace("query", "--query-file", "none.hr", rows).code == 1


TEXTS = ["a", "", "tab\there", "line\nbreak\r", 'quote"', "back\\slash", "é", None, 1.5]


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.jsonl"
    lines = (json.dumps({"id": at, "t": text}) for at, text in enumerate(TEXTS))
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_raw_strings_have_no_quotes(headrace, texts):
    done = headrace("query", "--raw", "t", texts)
    written = [
        text if isinstance(text, str) else "1.5" for text in TEXTS if text is not None
    ]
    assert done.out.decode() == "".join(f"{text}\n" for text in written)


@pytest.mark.parametrize("query", ["[id, t]", "{id, t: t}"])
def test_each_tab_separated_answer_is_one_line(headrace, texts, query):
    lines = headrace("query", "--tsv", query, texts).out.decode().split("\n")
    if query.startswith("{"):
        assert lines.pop(0) == "id\tt"
    assert lines.pop() == ""
    found = [line.split("\t") for line in lines]
    assert [int(row[0]) for row in found] == list(range(len(TEXTS)))
    shown = [
        row[1].encode().decode("unicode_escape") for row in found if row[1].isascii()
    ]
    wanted = ["" if text is None else str(text) for text in TEXTS if text != "é"]
    assert shown == wanted


@pytest.mark.parametrize(("option", "sign"), [("--tsv", b"\t"), ("--format=csv", b",")])
def test_arrays_are_records_without_a_header(headrace, rows, option, sign):
    done = headrace("query", option, "[id, k, v]", rows, "--limit", "2")
    assert [line.split(sign) for line in done.out.splitlines()] == [
        [b"0", b"a", b"1.50"],
        [b"1", b"b", b"1.50"],
    ]
    done = headrace("query", option, "[id, k] if id < 3 else [id]", rows)
    assert (done.code, len(done.out.splitlines())) == (1, 3)
    assert "answer 4 is not an array of 2 elements" in done.err


def test_random_conditions_choose_the_rows_that_a_conditional_chooses(rows):
    chosen = random.Random(18)
    data = api.open(rows)
    for _ in range(200):
        field = chosen.choice(["id", "k", "v", "nothing"])
        sign = chosen.choice(["==", "<", ">=", "!="])
        value = chosen.choice([0, 2, "a", 1.5, None])
        where = f"{field} {sign} $x"
        literal = f"{field} {sign} {json.dumps(value)}"
        reverse = chosen.random() < 0.5
        found = data.query("id", where=where, args={"x": value}, reverse=reverse)
        wanted = data.query(f"id if {literal} else null", reverse=reverse)
        assert found.to_list() == wanted.to_list(), literal
        counted = data.query("$.rows().count()", where=where, args={"x": value})
        assert counted.to_list() == [len(wanted.to_list())]


@pytest.mark.parametrize(
    "args", [{"x": {1}}, {"x": float("nan")}, {"a b": 1}, {"y": 1}]
)
def test_arguments_that_are_not_json_are_refused(rows, args):
    with pytest.raises(UsageError, match=r"args|no \$y"):
        api.open(rows).query("$x" if "x" in args else "id", args=args)
