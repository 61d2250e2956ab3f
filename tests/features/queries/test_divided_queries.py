"""Queries divided into tasks at any byte give the result of one run."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from tests.examples import often
from tests.features.queries.test_query_modes import ROWS, STREAMS, VALUES
from tests.reference.engines import BY_TASKS, outcome

BAD = st.sampled_from([b"{", b"", b"  ", b'{"id": 1} 2', b"\xff", b"x" * 300])
OPTIONS = st.fixed_dictionaries(
    {"on_error": st.sampled_from(["abort", "skip", "collect"])},
    optional={
        "limit": st.integers(0, 5),
        "nulls": st.sampled_from(["drop", "emit"]),
        "lanes": st.booleans(),
        "stream": st.booleans(),
    },
)


GROUPS = st.builds(
    "$.rows(){}.{}({}){}".format,
    st.sampled_from(["", ".filter(id > 1)", ".flat_map([$, id])", ".map(4 / id)"]),
    st.sampled_from(["group_by", "index_by"]),
    st.sampled_from(["id", "@", "k", "id % 2", "$.id", "[id, k]", "4 / id"]),
    st.sampled_from(
        [
            "",
            ".transform_values(@.len())",
            ".values()",
            ".entries().map(@[0])",
            ".values().flat_map(@).take(2)",
            ".to_pairs().map(4 / val.len())",
            ".values().map(@.len()).sum()",
            ".transform_values(@.len()).values().sort()",
            ".values()[*].id",
            ".len()",
            ".keys()",
            ".transform_values({n: @.count(), s: @.sum(id), top: @.max_by(id)})",
            ".transform_values([@.first(2), @.last(), @.max(id)])",
            ".transform_values(@.sort(-id).take(2)).values()",
            ".values().map(@.count_distinct(k)).take(2)",
            ".entries().map(([k, of]) => {k, n: of.count(id > 1), some: of.any(id)})",
            ".transform_values(@.approx_count_distinct(id) + @.sum(4 / id))",
        ]
    ),
)
BEST = st.builds(
    "$.rows(){}.{}".format,
    st.sampled_from(["", ".flat_map([$, id])", ".map(4 / id)", ".flat_map([4 / id])"]),
    st.sampled_from(
        [
            "sort(-id).take(2)",
            "sort(id, -k).first(3)",
            "sort(x => -x.id).take(1).id",
            "sort(4 / id).take(2)",
            "sort().take(3)",
            "max_by(id)",
            "min_by(4 / id).id",
            "sort(k).take(0)",
        ]
    ),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("divided")


@often(2.5)
@given(
    query=st.sampled_from(VALUES + STREAMS) | GROUPS | BEST,
    rows=ROWS,
    bad=st.lists(st.tuples(st.integers(0, 30), BAD), max_size=3),
    options=OPTIONS,
    size=st.integers(1, 400),
    cut=st.integers(0, 30),
)
def test_any_division(folder, query, rows, bad, options, size, cut):
    lines = [json.dumps(row).encode() for row in rows]
    for at, line in bad:
        lines.insert(at, line)
    paths = [folder / "1.jsonl", folder / "2.jsonl"]
    for path, part in zip(paths, [lines[:cut], lines[cut:]], strict=True):
        path.write_bytes(b"\n".join(part))
    with headrace.open(paths, index=False, max_line=250) as dataset:
        expected = outcome(dataset, query, **options)
        divided = outcome(dataset, query, **BY_TASKS, partition_bytes=size, **options)
    assert divided == expected


JOINED = st.builds(
    "$.{}{}(@others{}, on: {}){}".format,
    st.sampled_from(
        ["", "filter(a != 2).", "map({a, b: 4 / a}).", "flat_map([$, {b}])."]
    ),
    st.sampled_from(["join", "left_join", "lookup", "diff", "intersect"]),
    st.sampled_from(["", ".filter(b != 1)", ".map({a, c: b})", ".flat_map([$, {a}])"]),
    st.sampled_from(["a == a", "b == a", "[a, b] == [a, b]", "4 / a == b"]),
    st.sampled_from(
        [
            "",
            ".map(4 / b)",
            ".filter(c > 0)",
            ".count()",
            ".map(b).sum()",
            ".count_by(c)",
            ".flat_map([a, b, 2 / a]).max()",
            ".skip(2)",
            ".sort(-b)",
            ".last(3)",
        ]
    ),
)
FEW_VALUES = st.sampled_from([None, 0, 1, 1.0, 2, "1", "x", [1], {"a": 1}])
FEW_ROWS = st.lists(
    st.fixed_dictionaries(
        {"a": FEW_VALUES}, optional={"b": FEW_VALUES, "c": FEW_VALUES}
    ),
    max_size=12,
)


@often(2.5)
@given(
    query=JOINED,
    rows=FEW_ROWS,
    others=FEW_ROWS,
    bad=st.lists(st.tuples(st.booleans(), st.integers(0, 12), BAD), max_size=2),
    on_error=st.sampled_from(["abort", "skip", "collect"]),
    nulls=st.sampled_from(["drop", "emit"]),
    size=st.integers(1, 60),
    times=st.integers(1, 4),
)
def test_any_join_by_a_shuffle(
    folder, monkeypatch, query, rows, others, bad, on_error, nulls, size, times
):
    # No other side is so small that every task reads it.
    monkeypatch.setattr("headrace.engines.spark.query.run.FEW_TASKS", 0)
    sides = [
        [json.dumps(row).encode() for row in side] for side in (rows, others * times)
    ]
    for is_right, at, line in bad:
        sides[is_right].insert(at, line)
    paths = [folder / "left.jsonl", folder / "right.jsonl"]
    for path, lines in zip(paths, sides, strict=True):
        path.write_bytes(b"\n".join(lines))
    options = {"names": {"others": paths[1]}, "on_error": on_error, "nulls": nulls}
    with headrace.open(paths[0], index=False, max_line=250) as dataset:
        expected = outcome(dataset, query, **options)
        divided = outcome(dataset, query, **BY_TASKS, partition_bytes=size, **options)
    assert divided == expected
