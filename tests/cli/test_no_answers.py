"""``headrace query`` that prints nothing says why."""

import pytest

import headrace as api

ROWS = b"".join(
    b'{"id": %d, "k": "k07", "tags": ["a"], "who": {"name": "Ada"}}\n' % number
    for number in range(3)
)
NULL = "nothing was printed: the answer is null for each of 3 rows; "


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(ROWS)
    return path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["k.upper"], NULL + "no row has upper (did you mean upper()?)"),
        (["length"], NULL + "no row has length (did you mean len()?)"),
        (["name"], NULL + "no row has name (did you mean who.name?)"),
        (["idd"], NULL + "no row has idd (did you mean id?)"),
        (["{idd} | idd"], NULL + "no row has idd (did you mean id?)"),
        (["other"], NULL + "no row has other"),
        (["tags[9]"], NULL[:-2]),
        (["$.rows().max(x)"], "nothing was printed: the answer is null; no row has x"),
        (["$.rows().map(idd)"], "nothing was printed: no row has idd (did you mean"),
        (["--matches", "k == k07"], 'no row has k07 (did you mean the text "k07"?)'),
        (["--reverse", "idd"], "no row has idd"),
        (["{id, n: tags.count}"], "note: no row has count (did you mean count()?)"),
        (["$.rows.count()"], "note: no row has rows (did you mean $.rows()?)"),
    ],
)
def test_a_query_without_answers_says_which_field_no_row_has(
    headrace, rows, arguments, said
):
    done = headrace("query", *arguments, rows)
    assert done.code == 0
    assert said in done.err
    assert headrace("query", "--quiet", *arguments, rows).err == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["id"],
        ["--matches", "id > 9"],
        ["$.rows().filter(id > 9)"],
        ["{n: tags.count()}"],
        ["let n = tags.count() in {count: n}"],
        ["$.rows().sort(-id).map(id).first()"],
        ["--limit", "0", "idd"],
        ["id if id > 9 else null"],
        ["--nulls", "emit", "id if id > 9 else null"],
        ["--nulls", "emit", "tags.first"],
    ],
)
def test_nothing_is_said_of_a_query_that_found_what_it_reads(headrace, rows, arguments):
    assert headrace("query", *arguments, rows).err == ""


def test_nothing_is_said_of_no_rows(headrace, tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"")
    assert headrace("query", "id", empty).err == ""


def test_a_pipe_is_not_read_again(process):
    done = process("query", "idd", stdin=ROWS)
    assert (done.code, "no row has idd (did you mean id?)" in done.err) == (0, True)


def test_fields_of_framed_rows_are_those_of_the_payload(headrace, tmp_path):
    framed = tmp_path / "framed.txt"
    framed.write_bytes(b'k|{"id": 1}\n')
    done = headrace("query", "--frame", "|", "idd", framed)
    assert "no row has idd (did you mean id?)" in done.err


def test_only_the_first_rows_are_looked_at(headrace, numbers):
    done = headrace("query", "--events", "json", "m", numbers(5000))
    (event,) = done.events
    assert event["event"] == "no_answers"
    assert "none of the first 1,000 rows has m" in event["message"]


def test_a_result_knows_why_it_is_empty(rows):
    result = api.open(rows).query("idd")
    assert result.hint == ""
    assert result.to_list() == []
    assert "no row has idd" in result.hint
    result = api.open(rows).query("id")
    result.to_list()
    assert result.hint == ""


def test_a_name_that_is_not_used_is_said(headrace, rows):
    done = headrace("query", "$.map(id)", rows, "--name", f"p={rows}")
    assert done.out == b"0\n1\n2\n"
    assert "the query does not use @p; with --name, $ is the array of all" in done.err
    done = headrace("query", "@p.count()", rows, "--name", f"p={rows}")
    assert (done.out, done.err) == (b"3\n", "")
    done = headrace("query", "$.count()", "--name", f"p={rows}")
    assert (done.out, done.err) == (b"3\n", "")
