"""Fields that a query does not read do not change its answer.

Over a file only the lanes that a query reads are recorded, and keys are expected where
they were in the row before. Over one document everything is recorded.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.api.results import evaluate
from headrace.errors import HeadraceError
from headrace.physical.query_plan import RowPlan, plan_query
from tests.examples import often
from tests.query.samples import SAMPLES

# Some keys are spelled with escapes, some are too long to be compared at once.
KEYS = {
    "a": r"\u0061",
    "b": "b",
    "c": r"\u0063",
    "name": r"n\u0061me",
    "a key of many letters": r"a key of m\u0061ny letters",
    "": "",
    "é": r"\u00e9",
}
SPACE = st.sampled_from(["", "", "", " ", "\t "])
SCALAR = st.sampled_from(
    ["null", "true", "false", "0", "-0", "7", "7.0", "1e2", "12345678901234567890",
     '""', '"a"', '"b\\n"', r'"\u0061"', '"é"', "[]", "{}"],
)  # fmt: skip


@st.composite
def members(draw, values):
    """Objects with repeated keys, in any spelling."""
    parts = []
    for key in draw(st.lists(st.sampled_from(sorted(KEYS)), max_size=6)):
        spelled = KEYS[key] if draw(st.integers(0, 4)) == 0 else key
        colon = draw(SPACE) + ":" + draw(SPACE)
        parts.append(f'{draw(SPACE)}"{spelled}"{colon}{draw(values)}{draw(SPACE)}')
    return "{" + ",".join(parts) + "}"


VALUE = st.recursive(
    SCALAR,
    lambda value: st.one_of(
        members(value), st.lists(value, max_size=3).map(lambda v: f"[{','.join(v)}]")
    ),
    max_leaves=8,
)
ROWS = st.lists(st.one_of(members(VALUE), members(VALUE), VALUE), max_size=12)

QUERIES = [
    "$", "a", "$.a", "a.b", "a.b.c", '$["a"].b', '$["a key of many letters"]', '$[""]', '@["é"]',
    "a > 5", "7 == a", "a == b", "a.b >= 7 and c", "not a", "a or b", "a ?? b.c", "a?.b",
    "a is null", "a.b is object", "try a.b + 1 else c", "1 if a else b", "a as string", "-a",
    "{a, c: b.c}", "{...a, b}", "{[a]: b}", "[a, ...b]", 'f"{a} {b.c}"', "a[0]", "a[-1].b", "a[0:1]",
    "a.filter(b)", "a.map(b)", "[$].filter(a).map(b)", "[$].map(a.b)", "[a].filter(b > 1)",
    "[$].map(@)", "[$].filter(a == 7)", "[$].map(x => x.a)", "[$].filter(x => x.a.b)", "a.len()",
    "a.keys()", "$.keys()", "$.len()", "a.entries()", "$.pick(a, b)", "$.omit(a)", "a.has(b)",
    "[1, 2].map($.a)", "[1, 2].filter($.b)", "a.b.map(@ + $.c)", "$..b", "a..c", "$.a.sort(b)",
    "let x = a in x.b", "let x = a, y = x.b in [y.c, x]", "let x = $ in x", "a -> x | x.b",
    "a | len", "a.{b}", "match a with { {b: n} -> n, _ -> c }", "[x.b for x in a]",
    "$.a.b.set(1)", "$.a.delete()", "a ~= b", "a.b == $.c", "$.map(a)", "$.filter(a)", "@.a",
]  # fmt: skip


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("lanes") / "rows.jsonl"


def slow_answer(query, row):
    try:
        return evaluate(query, row.encode())
    except HeadraceError:
        return b"failed"


def row_answers(ds, query, **options):
    """Return the answer of each row, taken from the lines of the run."""
    result = ds.query(query, nulls="emit", on_error="collect", **options)
    lines = [line for piece in result.lines() for line in piece.splitlines()]
    return lines, len(result.report.errors)


def is_about_rows(query):
    try:
        return isinstance(plan_query(query), RowPlan)
    except HeadraceError:
        return False


@often(0.1)
@given(rows=ROWS)
@pytest.mark.parametrize("query", [*QUERIES, *filter(is_about_rows, SAMPLES)])
def test_answers_are_those_of_whole_rows(path, query, rows):
    path.write_text("".join(row + "\n" for row in rows))
    expected = [slow_answer(query, row) for row in rows]
    good = [answer for answer in expected if answer != b"failed"]
    lines, failed = row_answers(headrace.open(path), query)
    assert failed == len(expected) - len(good)
    assert [json.loads(line) for line in lines] == [json.loads(text) for text in good]
    assert row_answers(headrace.open(path), query, lanes=False) == (lines, failed)


@often(0.3)
@given(rows=ROWS)
@pytest.mark.parametrize(
    "query",
    ["$.filter(a)", "$.filter(a.b).map(c)", "$.map(a.b)", "$.map({a, b})", "$.unique_by(a)",
     "$.take_while(a is not null)", "$.map(a).filter(b)", "$.filter(x => x.a).map(y => y.b)"],
)  # fmt: skip
def test_streams_are_those_of_whole_rows(path, query, rows):
    path.write_text("".join(row + "\n" for row in rows))
    expected = slow_answer(query, f"[{','.join(rows)}]")
    result = headrace.open(path).query(query, stream=True, nulls="emit")
    found = [
        json.loads(line) for piece in result.lines() for line in piece.splitlines()
    ]
    assert found == json.loads(expected)


@pytest.mark.parametrize("query", ["$", "a", "[$].filter(a)", "a == 7"])
def test_a_row_that_passes_keeps_its_bytes(path, query):
    row = b'{"a" : 7.0, "z":{"a":[1 ,2]},"a":7,"b":"\\u0061"}'
    path.write_bytes(row + b"\n")
    lines = b"".join(headrace.open(path).query(query, matches=True).lines())
    assert lines == row + b"\n"


@pytest.mark.parametrize("query", ["a", "$", "b.c", "[$].filter(a)"])
@pytest.mark.parametrize(
    "bad",
    ['{"z":{"a":01},"a":7}', '{"a":7,"z":"\\x"}', '{"a":7,"z":[1,{"b":2]}', '{"a":7}}',
     '{"a":7,"z":' + "[" * 300 + "]" * 300 + "}", '{"a":7,"z":nul}', '{"a":7,"z" 1}'],
)  # fmt: skip
def test_unread_fields_are_checked_too(path, query, bad):
    path.write_text('{"z":0,"a":7}\n{"a":7,"z":0}\n' + bad + "\n")
    with pytest.raises(HeadraceError) as plain:
        evaluate("$.keys()", bad.encode())
    with pytest.raises(HeadraceError) as read:
        list(headrace.open(path).query(query, nulls="emit").lines())
    assert plain.value.reason in str(read.value)
