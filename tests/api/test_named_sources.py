"""Named sources: ``@name`` in a query, and joins with it."""

import gzip
import io
import json
import warnings

import pytest

import headrace
from headrace import compat
from headrace.errors import (
    BadRowError,
    MemoryExceededError,
    MemoryWarning,
    QueryMeaningError,
    RowFailedError,
    UsageError,
)


def lines(*rows):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.fixture
def orders(tmp_path):
    path = tmp_path / "orders.jsonl"
    path.write_bytes(
        lines({"id": 7, "user": 1}, {"id": 8, "user": 2}, {"id": 9, "user": 1})
    )
    return path


@pytest.fixture
def users(tmp_path):
    path = tmp_path / "users.jsonl.gz"
    path.write_bytes(gzip.compress(lines({"id": 1, "n": "Ada"}, {"id": 3, "n": "Cy"})))
    return path


@pytest.mark.parametrize(
    ("query", "answers"),
    [
        ("$.join(@u, on: user == id).map(n)", ["Ada", "Ada"]),
        ("$.filter(id > 7).lookup(@u, on: user == id, as: who).map(who)",
         [None, {"id": 1, "n": "Ada"}]),
        ("$.diff(@u.filter(n == 'Ada'), on: user == id).map(id)", [8]),
        ("$.intersect(@u.sort(-id).take(1), on: user == id)", []),
        ("$.zip_streams(@u.map(n)).map([@[0].id, @[1]])", [[7, "Ada"], [8, "Cy"]]),
        ("@u.map(n)", ["Ada", "Cy"]),
        ("@u.count()", [2]),
        ("{orders: $.len(), users: @u.len()}", [{"orders": 3, "users": 2}]),
        ("$.filter(user in @u.map(id)).map(id)", [7, 9]),
        ("$.map(o => @u.find(u => u.id == o.user)?.n)", ["Ada", None, "Ada"]),
        ("@u.join($, on: id == user, as: 'order').map(order.id)", [7, 9]),
        ("$.map({id, more: @u.filter(id > @u.map(id).min()).count()})",
         [{"id": 7, "more": 1}, {"id": 8, "more": 1}, {"id": 9, "more": 1}]),
        ("{n: @u.filter(id in $.map(user)).count(), m: $.count()}", [{"n": 1, "m": 3}]),
        ("@u.filter(id in @u.filter(id in $.map(user)).map(id)).map(n)", ["Ada"]),
        ("let cut = 7 in $.filter(id > cut).join(@u, on: user == id).map(n)", ["Ada"]),
        ("left_join($, @u, on: user == id).map(n ?? '-')", ["Ada", "-", "Ada"]),
        ("$.join(', ')", None),
    ],
)  # fmt: skip
def test_answers(orders, users, query, answers):
    with headrace.open(orders) as ds:
        result = ds.query(query, names={"u": users}, nulls="emit")
        if answers is None:
            # Without `on:`, `join` joins texts.
            assert "Ada" not in str(result.to_list())
        else:
            assert result.to_list() == answers


def test_a_row_query_reads_named_sources(orders, users):
    with headrace.open(orders) as ds:
        result = ds.query("{id, of: @u.len()}", stream=False, names={"u": users})
        assert result.to_list() == [{"id": n, "of": 2} for n in (7, 8, 9)]


def test_an_unknown_name_is_an_error_before_anything_is_read(orders, users):
    with headrace.open(orders) as ds:
        with pytest.raises(QueryMeaningError, match=r"column 8: there is no source @v"):
            ds.query("$.join(@v, on: id)", names={"u": users})
        assert ds.bytes_read() == 0


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("$.left_join(@u)", "left_join needs a key"),
        ("$.join(on: id)", "join takes one other side"),
        ("$.join(@u, on: id, by: id)", "join has no argument by"),
        ("$.diff(@u, on: id, as: 'x')", "and diff has none"),
        ("$.join(@u, on: a == b, right_on: c)", "leave out right_on"),
        ("$.join(@u, on: id, as: 1 + 1)", "as: names the field"),
    ],
)
def test_a_join_that_is_written_wrong(orders, users, query, reason):
    with headrace.open(orders) as ds, pytest.raises(QueryMeaningError, match=reason):
        ds.query(query, names={"u": users})


def test_a_bad_row_of_a_named_source_is_named(tmp_path, orders):
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(b'{"id": 1, "n": "Ada"}\n{"id": \n{"id": 2, "n": "Bob"}\n')
    query = "$.lookup(@u, on: user == id).map(n)"
    with headrace.open(orders) as ds:
        with pytest.raises(BadRowError) as caught:
            ds.query(query, names={"u": bad}).to_list()
        assert (caught.value.path, caught.value.line) == (str(bad), 2)
        result = ds.query(query, names={"u": bad}, on_error="skip")
        assert result.to_list() == ["Ada", "Bob", "Ada"]
        ((name, counts),) = result.report.named
        assert (name, counts.rows, counts.emitted, counts.skipped) == ("u", 3, 2, 1)
        assert len(result.report.errors) == 1


@pytest.mark.parametrize("hint", [0, 10**9])
def test_an_error_after_a_join_has_the_line_of_the_left_row(orders, users, hint):
    query = "$.lookup(@u, on: user == id, as: u).map(1 / (id - 9))"
    with headrace.open(orders) as ds, pytest.raises(RowFailedError) as caught:
        ds.query(query, names={"u": users}, size_hints={"u": hint}).to_list()
    assert (caught.value.path, caught.value.line) == (str(orders), 3)


@pytest.mark.parametrize("query", ["$.join(@u, on: user == id)", "$.zip_streams(@u)"])
def test_an_error_in_a_key_or_a_partner_names_the_right_row(tmp_path, orders, query):
    bad = tmp_path / "right.jsonl"
    bad.write_bytes(lines({"id": 1}) + b"nonsense\n")
    with headrace.open(orders) as ds, pytest.raises(BadRowError) as caught:
        ds.query(query, names={"u": bad}).to_list()
    assert (caught.value.path, caught.value.line) == (str(bad), 2)


def big(path, count, first=0):
    rows = ({"k": n, "pad": "x" * 100} for n in range(first, first + count))
    path.write_bytes(lines(*rows))
    return path


def test_the_memory_of_a_join_is_bounded(tmp_path):
    left, right = big(tmp_path / "l", 5000), big(tmp_path / "r", 5000)
    with headrace.open(left) as ds:
        query = "$.join(@r, on: k).count()"
        result = ds.query(query, names={"r": right}, memory="1200KiB")
        with pytest.warns(MemoryWarning, match="--memory allows"):
            answers = result.to_list()
        assert answers == [5000]
        with warnings.catch_warnings(action="ignore"):
            result = ds.query(query, names={"r": right}, memory="500KiB")
            with pytest.raises(MemoryExceededError, match="512000 bytes"):
                result.to_list()


def test_the_smaller_side_is_held(tmp_path):
    left, right = big(tmp_path / "l", 10, 4990), big(tmp_path / "r", 5000)
    query = "$.join(@r, on: k).map(k)"
    with headrace.open(left) as ds:
        # By the sizes of the files, only right rows with keys of the left side are held.
        result = ds.query(query, names={"r": right}, memory="20KiB")
        assert result.to_list() == list(range(4990, 5000))
        assert result.report.counts.rows == 10
        wrong = ds.query(query, names={"r": right}, memory="20KiB", size_hints={"r": 1})
        with (
            warnings.catch_warnings(action="ignore"),
            pytest.raises(MemoryExceededError),
        ):
            wrong.to_list()


def test_keys_are_all_that_a_filter_by_another_source_holds(tmp_path):
    left, right = big(tmp_path / "l", 100), big(tmp_path / "r", 100)
    with headrace.open(left) as ds:
        result = ds.query("$.diff(@r, on: k)", names={"r": right}, memory="10KiB")
        assert result.to_list() == []


def test_a_join_with_a_limit_stops_reading(tmp_path):
    left, right = big(tmp_path / "l", 100_000), big(tmp_path / "r", 10)
    with headrace.open(left) as ds:
        result = ds.query("$.join(@r, on: k).take(3)", names={"r": right})
        assert len(result.to_list()) == 3
        assert ds.bytes_read() < 200_000


def test_one_pipe_has_one_reader():
    for query in ("$.join(@main, on: id)", "$.zip_streams(@main)"):
        reader = io.BytesIO(lines({"id": 1}))
        with pytest.raises(UsageError, match="only once"):
            compat.collect_ndjson_named([("main", reader)], query)


def test_functions_of_named_sources(orders, users):
    out = io.BytesIO()
    reader = io.BytesIO(orders.read_bytes())
    sources = [("o", reader), ("u", users)]
    query = "$.join(@u, on: user == id).map(id)"
    assert compat.run_ndjson_named(sources, query, out) == 2
    assert out.getvalue() == b"1\n1\n"
    # The source called main is `$`, wherever it stands in the list.
    swapped = [("u", users), ("main", orders)]
    assert compat.collect_ndjson_named(swapped, "$.count()") == [3]
    assert compat.collect_ndjson_named([("a", users)], "[@a.len(), $.len()]") == [
        [2, 2]
    ]
    with pytest.raises(UsageError, match="at least one"):
        compat.collect_ndjson_named([], "1")
