"""Joins of named sources equal two loops, whichever side is held."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.api.results import evaluate
from tests.reference import slow_joins

KINDS = ("join", "left_join", "lookup", "diff", "intersect")

KEYS = st.one_of(
    st.sampled_from(
        [None, 1, 1.0, 2, -0.0, 0, "1", "a", "é", True, False, [], {}, 2**63, 1.5]
    ),
    st.sampled_from([[1, "a"], [1.0, "a"], [None], [[None]], {"a": 1, "b": 2}]),
    st.sampled_from([{"b": 2, "a": 1.0}]),
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {}, optional={"k": KEYS, "j": KEYS, "v": st.integers(0, 9), "w": st.text()}
    ),
    max_size=12,
)
ON = st.sampled_from(
    [
        ("on: k", ["k"], ["k"]),
        ('on: "k"', ["k"], ["k"]),
        ("on: .k", ["k"], ["k"]),
        ("on: $.k", ["k"], ["k"]),
        ("on: x => x.k", ["k"], ["k"]),
        ("on: k == j", ["k"], ["j"]),
        ("on: j, right_on: k", ["j"], ["k"]),
        ("on: [k, j]", ["k", "j"], ["k", "j"]),
        ('on: ["k", j] == [j, "k"]', ["k", "j"], ["j", "k"]),
    ]
)


def written(path, rows):
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("joins")


@given(
    left=ROWS,
    right=ROWS,
    kind=st.sampled_from(KINDS),
    on=ON,
    name=st.sampled_from([None, "k", "other"]),
    hint=st.sampled_from([0, 10**9]),
    reverse=st.booleans(),
)
def test_a_join_equals_two_loops(directory, left, right, kind, on, name, hint, reverse):
    text, left_on, right_on = on
    if kind in ("diff", "intersect"):
        name = None
    arguments = text if name is None else f'{text}, as: "{name}"'
    expected = slow_joins.join(
        kind, left[::-1] if reverse else left, right, left_on, right_on, name
    )

    data = headrace.open(written(directory / "left.jsonl", left))
    other = written(directory / "right.jsonl", right)
    # `$` is the row only after rows().
    query = f"$.rows().{kind}(@other, {arguments})"
    result = data.query(
        query, names={"other": other}, size_hints={"other": hint}, reverse=reverse
    )
    assert list(map(str, result)) == list(map(str, expected))
    if "$" not in text:
        stream = query.replace(".rows()", "")
        again = data.query(stream, names={"other": other}, reverse=reverse)
        assert list(again) == list(result)
        # After a barrier the same join is a method of arrays.
        whole = f"$.map(@).skip(0).batch(1).flatten().{kind}(@other, {arguments})"
        assert list(data.query(whole, names={"other": other})) == slow_joins.join(
            kind, left, right, left_on, right_on, name
        )
        document = json.dumps({"l": left, "r": right}).encode()
        arrays = evaluate(f"$.l.{kind}($.r, {arguments})", document)
        assert json.loads(arrays) == slow_joins.join(
            kind, left, right, left_on, right_on, name
        )


@given(left=ROWS, right=ROWS, longest=st.booleans(), times=st.integers(0, 3))
def test_zip_streams_pairs_rows_by_position(directory, left, right, longest, times):
    data = headrace.open(written(directory / "left.jsonl", left))
    names = {"other": written(directory / "right.jsonl", right)}
    option = ", longest: true" if longest else ""
    # Each row contributes several elements, so the batch of partners ends within a row.
    several = ", ".join(["@"] * times)
    query = f"$.flat_map([{several}]).zip_streams(@other.map({{k}}){option})"
    lefts = [row for row in left for _ in range(times)]
    rights = [{"k": row["k"]} if row.get("k") is not None else {} for row in right]
    expected = slow_joins.zip_streams(lefts, rights, longest=longest)
    assert data.query(query, names=names).to_list() == expected
    document = json.dumps({"l": lefts, "r": rights}).encode()
    arrays = evaluate(f"$.l.zip_streams($.r{option})", document)
    assert json.loads(arrays) == expected
