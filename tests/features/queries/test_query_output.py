"""Answers in every format, compared with the answers as lines of JSON."""

import csv
import io
import json

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.api.formats import arrow
from headrace.api.formats.first_rows import take
from headrace.language.parser import parse
from headrace.logical.columns import columns_of

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
NUMBERS = st.integers(-(1 << 70), 1 << 70) | st.floats(
    allow_nan=False, allow_infinity=False
)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXT
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
    ),
    max_leaves=6,
)
ROWS = st.lists(VALUES | st.dictionaries(st.sampled_from("abc"), VALUES), max_size=8)


@pytest.fixture
def ask(tmp_path):
    def ask(rows, query="$", **options):
        path = tmp_path / "rows.jsonl"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        return headrace.query(query, path, nulls="emit", **options)

    return ask


def cells(row):
    """Return the cells of a row in a table: a null has no cell."""
    if not isinstance(row, dict):
        row = {"value": row}
    return {name: value for name, value in row.items() if value is not None}


def written(result, name):
    return b"".join(result.formatted(name))


@given(rows=ROWS)
def test_json_equals_the_lines(ask, rows):
    result = ask(rows)
    lines = [json.loads(line) for line in written(result, "ndjson").split(b"\n")[:-1]]
    assert lines == rows
    assert json.loads(written(result, "json")) == rows


@given(rows=ROWS.map(lambda rows: [row for row in rows if not isinstance(row, list)]))
def test_csv_has_every_cell(ask, rows):
    text = written(ask(rows), "csv").decode()
    if not rows:
        assert text == ""
        return
    header, *found = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert len(found) == len(rows)
    for row, record in zip(rows, found, strict=True):
        expected = cells(row)
        assert set(expected) <= set(header)
        for name, field in zip(header, record, strict=True):
            value = expected.get(name)
            if value is None:
                assert field == ""
            elif isinstance(value, str):
                assert field == value
            else:
                assert json.loads(field) == value


@given(
    rows=st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(VALUES, min_size=n, max_size=n), min_size=1)
    )
)
def test_arrays_are_records_of_csv_without_a_header(ask, rows):
    text = written(ask(rows), "csv").decode()
    found = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert len(found) == len(rows)
    for row, record in zip(rows, found, strict=True):
        for value, field in zip(row, record, strict=True):
            if value is None:
                assert field == ""
            elif isinstance(value, str):
                assert field == value
            else:
                assert json.loads(field) == value


def with_nulls_left_out(value):
    if isinstance(value, dict):
        return {k: with_nulls_left_out(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [with_nulls_left_out(each) for each in value]
    return value


def same_as_rows(table, rows):
    texts = {
        field.name for field in table.schema if (field.metadata or {}).get(b"headrace")
    }
    assert table.num_rows == len(rows)
    for row, found in zip(rows, table.to_pylist(), strict=True):
        expected = cells(row)
        for name, value in expected.items():
            got = found[name]
            if name in texts:
                assert json.loads(got) == value
            else:
                assert with_nulls_left_out(got) == with_nulls_left_out(value)
        assert all(found[name] is None for name in found if name not in expected)


@given(rows=ROWS)
def test_parquet_and_arrow_have_every_cell(ask, rows):
    result = ask(rows)
    table = pq.read_table(io.BytesIO(written(result, "parquet")))
    same_as_rows(table, rows)
    whole = result.to_arrow()
    same_as_rows(whole, rows)
    assert whole.equals(table)


@given(rows=ROWS, size=st.integers(1, 60))
def test_small_batches_give_the_same(ask, rows, size):
    result = ask(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrow, "BATCH_BYTES", size)
        whole = result.to_arrow()
        same_as_rows(whole, rows)
        assert pq.read_table(io.BytesIO(written(result, "parquet"))).equals(whole)


@given(
    lines=st.lists(st.binary(max_size=5).map(lambda line: line.replace(b"\n", b""))),
    cuts=st.lists(st.integers(0, 10)),
    rows=st.integers(1, 5),
    size=st.integers(1, 20),
)
def test_the_first_answers_do_not_depend_on_the_batch_size(lines, cuts, rows, size):
    lines = [line + b"\n" for line in lines]
    pieces, start = [], 0
    for cut in cuts:
        pieces.append(b"".join(lines[start : start + cut]))
        start += cut
    pieces.append(b"".join(lines[start:]))
    first, others = take(iter(pieces), rows, size)
    assert first == take(iter(lines), rows, size)[0]
    assert first + b"".join(others) == b"".join(lines)
    assert first.count(b"\n") <= rows
    assert first or not lines


STEPS = st.lists(
    st.sampled_from(
        [
            ".filter(a)", ".take(2)", ".skip(1)", ".sort(a)", ".sort_by(b)", ".unique()",
            ".unique_by(a)", ".reverse()", "[0:2]", "[0]", ".first()", ".first(2)",
            ".last()", ".last(2)", ".find(a)", ".find_all(a)", ".find_one(a)",
            ".take_while(a)", ".drop_while(a)", ".remove(a)", ".map(a)", ".map({b})",
            ".map({a, c: b})", ".map(x => {c: x.a})", ".map({a} if b else null)",
            ".group_by(a)", ".count()", ".enumerate()", ".pairwise()", ".map([{a}])",
        ]
    ),
    max_size=4,
)  # fmt: skip


@given(
    rows=st.lists(
        st.dictionaries(st.sampled_from("ab"), st.integers(0, 2)), max_size=4
    ),
    steps=STEPS,
    start=st.sampled_from(["$.rows()", "$"]),
)
def test_columns_of_a_query_are_all_columns_of_its_answers(ask, rows, steps, start):
    query = start + ".map({a, b})" + "".join(steps)
    known = columns_of(parse(query), stream=True)
    result = ask(rows, query, stream=start == "$")
    try:
        answers = result.to_list()
    except headrace.HeadraceError:
        return
    for answer in answers if known is not None else ():
        assert answer is None or (type(answer) is dict and answer.keys() <= set(known))
