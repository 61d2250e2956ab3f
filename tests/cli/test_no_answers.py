"""``headrace query`` without output reports the reason."""

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
        (["k.upper"], NULL + "no row has k.upper (did you mean k.upper()?)"),
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
        (
            ["{id, n: tags.count}"],
            "note: no row has tags.count (did you mean tags.count()?)",
        ),
        (["{id, n: who.nme}"], "note: no row has who.nme (did you mean who.name?)"),
        (["--distinct-by", "idd", "$"], "note: no row has idd (did you mean id?)"),
        (["--where", "idd != 1", "id"], "note: no row has idd (did you mean id?)"),
        (["--where", "idd == 1", "id"], "nothing was printed: no row has idd (did"),
        (["$.rows().sum(idd)"], "note: no row has idd (did you mean id?)"),
        (["$.rows().count_by(idd)"], "note: no row has idd (did you mean id?)"),
        (["$.rows().avg(idd)"], "the answer is null; no row has idd (did you mean"),
        (["$.rows().group_by(idd)"], "note: no row has idd (did you mean id?)"),
        (
            ["$.rows().group(k, {n: sum(idd)})"],
            "note: no row has idd (did you mean id?)",
        ),
        (["$.rows().group(idd, {n: count()})"], "note: no row has idd (did you"),
        (["$.rows().aggregate({n: @.map(idd).len()})"], "note: no row has idd"),
        (["$.rows().sort(-idd)"], "note: no row has idd (did you mean id?)"),
        (["$.rows().sort(x => x.idd).take(1)"], "note: no row has idd (did you"),
        (["$.rows().unique_by(idd)"], "note: no row has idd (did you mean id?)"),
        (["$.rows().map({k, n: idd})"], "note: no row has idd (did you mean id?)"),
        (["--stream", "$.count(idd > 1)"], "note: no row has idd (did you mean id?)"),
        (["--stream", "$.max_by(idd).k"], "note: no row has idd (did you mean id?)"),
        (["let n = idd in {k, n}"], "note: no row has idd (did you mean id?)"),
        (
            ["$.rows().group_by(k).transform_values(@.sum(idd))"],
            "note: no row has idd (did you mean id?)",
        ),
        (
            ["$.rows().filter(other > 1 or id > 1)"],
            "note: no row has other",
        ),
        (["$.rows.count()"], "note: no row has rows (did you mean $.rows()?)"),
    ],
)
def test_a_query_without_answers_names_the_missing_field(
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
        ["{id, name: nick ?? who.name}"],
        ["{id, name: try nick else k}"],
        ["{id, no: nick is null, none: nick == null, has: has(nick)}"],
        ["$.rows().map({n: id}).sum(n)"],
        ["$.rows().group_by(k).transform_values(count()).k07"],
        ["$.rows().map(k => {v: k}).filter(v != null).count()"],
        ["$.new.set(id)"],
        ["k.captures_named('(?<year>.)').year"],
        ["[x.a for x in [{a: id}]]"],
        ["$.rows().enumerate().map(value.id)"],
    ],
)
def test_a_query_that_found_its_fields_prints_no_hint(headrace, rows, arguments):
    assert headrace("query", *arguments, rows).err == ""


def test_a_file_without_rows_prints_no_hint(headrace, tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"")
    assert headrace("query", "id", empty).err == ""


@pytest.mark.parametrize("in_row", [1500, None])
def test_a_file_is_searched_for_a_field_that_its_first_rows_lack(
    headrace, tmp_path, monkeypatch, in_row
):
    path = tmp_path / "many.jsonl"
    rows = [
        b'{"o":{"refund":1}}\n' if at == in_row else b'{"o":{"refunds":1}}\n'
        for at in range(3000)
    ]
    path.write_bytes(b"".join(rows))
    query = "$.rows().sum(o.refund)"
    note = "" if in_row else "no row has o.refund (did you mean o.refunds?)"
    assert note in headrace("query", query, path).err
    assert bool(note) == bool(headrace("query", query, path).err)
    monkeypatch.setattr("headrace.api.query_hint.MOST_SEARCHED", 1)
    assert "none of the first 1,000 rows has o.refund (did you mean" in (
        headrace("query", query, path).err
    )
    assert headrace("query", "$.rows().sum(elsewhere)", path).err == ""


def test_a_misspelt_key_of_a_join_is_named_with_its_source(headrace, rows):
    def note(query):
        return headrace("query", query, rows, "--name", f"p={rows}").err

    join = "$.left_join(@p, on: {})"
    assert "no row has idd (did you mean id?)" in note(join.format("idd == id"))
    assert "no row of @p has idd (did you mean id?)" in note(join.format("id == idd"))
    assert note(join.format("idd")).count("has idd") == 2
    assert note(join.format("id")) == ""
    inner = "nothing was printed: no row of @p has idd (did you mean id?)"
    assert inner in note("$.join(@p, on: id == idd)")
    assert "no row of @p has idd" in note("{n: @p.sum(idd), m: $.count()}")


def test_a_pipe_is_not_read_again(process):
    done = process("query", "idd", stdin=ROWS)
    assert (done.code, "no row has idd (did you mean id?)" in done.err) == (0, True)


def test_fields_of_framed_rows_are_those_of_the_payload(headrace, tmp_path):
    framed = tmp_path / "framed.txt"
    framed.write_bytes(b'k|{"id": 1}\n')
    done = headrace("query", "--frame", "|", "idd", framed)
    assert "no row has idd (did you mean id?)" in done.err


def test_a_file_is_searched_as_a_whole(headrace, numbers):
    path = numbers(5000)
    done = headrace("query", "--events", "json", "m", path)
    (event,) = done.events
    assert event["event"] == "no_answers"
    assert event["message"].endswith("no row has m")
    path.write_bytes(path.read_bytes() + b'{"m": 1}\n')
    assert "no row has m" not in headrace("query", "m > 1 and null", path).err


def test_a_result_knows_why_it_is_empty(rows):
    result = api.open(rows).query("idd")
    assert result.hint == ""
    assert result.to_list() == []
    assert "no row has idd" in result.hint
    result = api.open(rows).query("id")
    result.to_list()
    assert result.hint == ""


def test_an_unused_name_is_reported(headrace, rows):
    done = headrace("query", "$.map(id)", rows, "--name", f"p={rows}")
    assert done.out == b"0\n1\n2\n"
    assert "the query does not use @p; with --name, $ is the array of all" in done.err
    done = headrace("query", "@p.count()", rows, "--name", f"p={rows}")
    assert (done.out, done.err) == (b"3\n", "")
    done = headrace("query", "$.count()", "--name", f"p={rows}")
    assert (done.out, done.err) == (b"3\n", "")
