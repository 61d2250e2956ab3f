"""A query gives the same answer in every mode."""

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.api.results import evaluate
from headrace.errors import HeadraceError, MemoryExceededError
from tests.conformance.cases import same
from tests.examples import often

ROW = st.fixed_dictionaries(
    {"id": st.integers(-5, 5)},
    optional={
        "x": st.one_of(st.integers(-9, 9), st.floats(-9, 9), st.none()),
        "s": st.sampled_from(["a", "b", "", "é\n"]),
        "t": st.lists(st.integers(0, 3), max_size=3),
    },
)
ROWS = st.lists(ROW, max_size=30)

# Over all rows: each gives one value.
VALUES = [
    "$.count()", "$.len()", "$.count(x > 0)", "$.sum(x)", "$.avg(x)", "$.min(x)", "$.max(x)",
    "$.first()", "$.last()", "$.first().id", "$.find(x > 3)", "$.find(r => r.x > 3).id",
    "$.any(x > 3)", "$.all(id < 6)", "$.group_by(s)", "$.count_by(s)", "$.index_by(id)",
    "$.map(x).sum()", "$.filter(x > 0).map(x).avg()", "$.map(id).max()", "$.nth(2)",
    "$.partition(x > 0)", "$.max_by(id)", "$.fold(0, (a, r) => a + r.id)", "$.map(s).join(',')",
    "$.filter(x > 0).count() + 1", "{n: $.count(), top: $.max(x)}", "$.flat_map(t).sum()",
    "$.filter(id == $.first().id).count()", "$.take(3).count()", "$.unique_by(s).count()",
    "$.skip(2).first()", "$.map(x) | sum", "let n = $.count() in n * 2", "$[0].id", "$[-1].id",
    "$.filter(x > 0).map(id + $.len()).sum()", "{a: $.sum(x), b: $.find(x > 0), c: $.group_by(s)}",
    "[$.count(), $.last(), $.unique_by(s).map(id), $[1:3]]", "$.map(x).max() ?? $.count()",
    "let s = $.filter(x > 0) in [s.count(), s.map(id)]", "$.filter(x > $.avg(x)).count()",
    "$.filter(x > 0).all(id < 3)", "$.all(r => r.id < 3)", "$.map(t).all(len() > 0)",
    "$.first().id + $.last().id if $.len() > 0 else null",
]  # fmt: skip

# Over all rows: each gives a stream.
STREAMS = [
    "$", "$.filter(x > 0)", "$.map(id)", "$.map({id, x})", "$.flat_map(t)", "$.take(3)", "$.skip(2)",
    "$.filter(x > 0).take(2)", "$.take(5).filter(x > 0)", "$.unique_by(s)", "$.map(s).unique()",
    "$.unique_by(r => r.s).map(id)", "$.take_while(id < 4)", "$.drop_while(id < 2).map(id)",
    "$.sort(id)", "$.sort(-id, s).map(id)", "$.reverse()", "$.first(3)", "$.last(3)", "$[1:4]",
    "$.map(x).compact()", "$.enumerate()", "$.chunk(2)", "$.window(2).map(len)", "$.skip(1).take(2)",
    "$.filter(t.len() > 0).flat_map(t).unique()", "$[*].id", "$[* if x > 0].id", "$.sort(id).take(3)",
    "$.filter(id > $.first().id)", "$.filter(x > 0).map($.len())",
    "$.map(s) | unique | sort", "$ | @.filter(x > 0) | @.map(id)", "$.sort(id) | @.take(2)", "$.filter(s == 'a').sort(id).unique_by(id).take(2).map(id)",
]  # fmt: skip


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("modes") / "rows.jsonl"


def write(path, rows):
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    return headrace.open(path)


def outcome(ask):
    """Return the answers, or a mark for an error, whose place may differ."""
    try:
        return ask()
    except HeadraceError:
        return "failed"


@often(0.4)
@given(rows=ROWS)
@pytest.mark.parametrize("query", VALUES)
def test_one_value_of_all_rows(path, query, rows):
    ds = write(path, rows)
    document = json.dumps(rows).encode()
    whole = outcome(lambda: json.loads(evaluate(query, document)))
    streamed = outcome(lambda: ds.query(query, stream=True, nulls="emit").to_list())
    assert same(streamed, whole if whole == "failed" else [whole])


@often(0.4)
@given(rows=ROWS)
@pytest.mark.parametrize("query", STREAMS)
def test_a_stream_of_all_rows(path, query, rows):
    ds = write(path, rows)
    document = json.dumps(rows).encode()
    whole = outcome(lambda: json.loads(evaluate(query, document)))
    streamed = outcome(lambda: ds.query(query, stream=True, nulls="emit").to_list())
    assert same(streamed, whole)
    # After rows(), ``$`` is the row.
    if "$" not in query[1:]:
        behind_rows = "$.rows()" + query[1:]
        again = outcome(lambda: ds.query(behind_rows, nulls="emit").to_list())
        assert same(again, whole)


BEST = [
    "$.sort(x).take(3)", "$.sort(-x, s).take(40)", "$.sort().first()", "$.sort_by(s).first(2).map(id)",
    "$.sort(r => r.x).take(0)", "$.sort(-t).take(5000)", "$.min_by(x)", "$.max_by(s).n",
    "$.filter(id > 0).sort(-x).take(2).map(n)", "$.map(x).sort().take(7)", "$.sort(x / x).take(3)",
]  # fmt: skip


@often(0.15)
@given(rows=st.lists(ROW, min_size=1, max_size=9), seed=st.integers(0, 99))
@pytest.mark.parametrize("query", BEST)
def test_the_best_of_many_rows_are_those_of_all(path, query, rows, seed):
    # Enough rows to drop those that are not among the best several times; most
    # of them are equal, so that a wrong order shows.
    many = [{**row, "n": n} for n, row in enumerate(Random(seed).choices(rows, k=3000))]
    ds = write(path, many)
    document = json.dumps(many).encode()
    whole = outcome(lambda: json.loads(evaluate(query, document)))
    streamed = outcome(lambda: ds.query(query, stream=True, nulls="emit").to_list())
    # A value by itself, or the elements of a stream.
    assert same(streamed, whole if isinstance(whole, list | str) else [whole])
    again = outcome(lambda: ds.query("$.rows()" + query[1:], nulls="emit").to_list())
    assert same(again, streamed)


def test_only_the_best_rows_are_held(path):
    ds = write(path, [{"id": n, "text": "x" * 1000} for n in range(20_000)])
    for query in ("$.sort(-id).take(2).map(id)", "$.max_by(id).id"):
        found = ds.query(query, stream=True, memory="4MB").to_list()
        assert found[0] == 19_999
    with pytest.raises(HeadraceError, match="must hold more than"):
        ds.query("$.sort(-id).len()", stream=True, memory="4MB").to_list()


@pytest.mark.parametrize("threads", [1, 3])
def test_too_many_groups_are_an_error_that_counts_them(path, threads):
    ds = write(path, [{"id": n} for n in range(20_000)])
    query = ds.query(
        "$.rows().group(id, {n: count()})",
        memory="500KB",
        threads=threads,
        _share_bytes=50_000,
    )
    with pytest.raises(
        MemoryExceededError, match=r"aggregates of \d+ groups"
    ) as raised:
        query.to_list()
    assert 0 < raised.value.groups <= 20_000


@often(0.4)
@given(rows=ROWS)
@pytest.mark.parametrize(
    "query", ["$", "$.id", "x + 1 if x is number else s", "{id, x}", "t.sum()"]
)
def test_row_queries_forwards_and_backwards(path, query, rows):
    ds = write(path, rows)
    each = [json.loads(evaluate(query, json.dumps(row).encode())) for row in rows]
    assert same(ds.query(query, nulls="emit").to_list(), each)
    assert same(ds.query(query, nulls="emit", reverse=True).to_list(), each[::-1])
    present = [answer for answer in each if answer is not None]
    result = ds.query(query)
    assert same(result.to_list(), present)
    counts = result.report.counts
    assert (
        counts.rows == counts.emitted + counts.filtered + counts.skipped + counts.blank
    )
    assert counts.rows == len(rows)
    assert same(ds.query(query, limit=2).to_list(), present[:2])


@often(0.4)
@given(rows=ROWS)
def test_matches_are_unchanged_rows(path, rows):
    ds = write(path, rows)
    wanted = [row for row in rows if (row.get("x") or 0) > 0]
    assert ds.query("x > 0", matches=True).to_list() == wanted
    lines = b"".join(ds.query("x > 0", matches=True).lines())
    assert lines.splitlines() == [json.dumps(row).encode() for row in wanted]


@often(0.4)
@given(rows=ROWS)
def test_the_newest_row_of_each_key(path, rows):
    ds = write(path, rows)
    newest = {}
    for row in rows[::-1]:
        newest.setdefault(row["id"], row)
    found = ds.query("$", reverse=True, distinct_by="id").to_list()
    assert found == list(newest.values())
