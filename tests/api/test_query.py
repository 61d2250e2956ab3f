"""Queries: how many bytes they read, and how often they are planned."""

import re

import pytest

import headrace
from headrace.errors import HeadraceError, MemoryExceededError, UsageError
from headrace.physical.query_plan import plan_query


@pytest.fixture
def large(tmp_path):
    path = tmp_path / "large.jsonl"
    path.write_bytes(
        b"".join(
            b'{"id": %d, "x": "%s"}\n' % (row, b"x" * 80) for row in range(100_000)
        )
    )
    return path


@pytest.mark.parametrize(
    ("query", "answers"),
    [
        ("$.rows().first().id", [0]),
        ("$.rows().take(10).map(id)", list(range(10))),
        ("$.rows().find(id == 20).id", [20]),
        ("$.rows().any(id > 5)", [True]),
        ("$.rows().all(id < 5)", [False]),
        ("$.rows().nth(20).id", [20]),
        ("$.rows()[20].id", [20]),
        ("$.rows()[5:8].map(id)", [5, 6, 7]),
    ],
)
def test_a_query_that_needs_few_rows_reads_one_buffer(large, query, answers):
    with headrace.open(large, index=False) as ds:
        assert ds.query(query).to_list() == answers
        assert ds.bytes_read() <= 64 << 10


@pytest.mark.parametrize(
    "query", ["$.id", "$.rows().map(id)", "$.rows().sort(id)", "$.rows().reverse()"]
)
def test_a_limit_of_zero_gives_no_answers(tmp_path, query):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"id": 1}\n{"id": 2}\n')
    with headrace.open(path) as ds:
        assert ds.query(query, limit=0).to_list() == []


def test_the_newest_rows_are_read_from_the_end(large):
    with headrace.open(large, index=False) as ds:
        assert ds.query("$.id", reverse=True, limit=3).to_list() == [
            99_999,
            99_998,
            99_997,
        ]
        assert ds.bytes_read() <= 256 << 10


@pytest.mark.parametrize(
    ("query", "answers"),
    [
        ("$.rows().last().id", [99_999]),
        ("$.rows().map(id).last(3)", [99_997, 99_998, 99_999]),
        ("$.rows().flat_map([id, -id]).last(3)", [-99_998, 99_999, -99_999]),
        ("$.rows().filter(id % 50 == 0).last(2).map(id)", [99_900, 99_950]),
        ("$.rows()[-2].id", [99_998]),
        ("$.rows()[-2:].map(id)", [99_998, 99_999]),
    ],
)
def test_the_last_rows_are_read_from_the_end_in_their_order(large, query, answers):
    with headrace.open(large, index=False) as ds:
        assert ds.query(query).to_list() == answers
        assert ds.bytes_read() <= 256 << 10


def test_a_row_that_fails_contributes_nothing(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"t": [1, 2]}\n{"t": [3, 0, 4]}\n{"t": [5]}\n')
    with headrace.open(path) as ds:
        for query, answers in [
            ("$.rows().flat_map(t).map(60 / @)", [60, 30, 12]),
            ("$.rows().flat_map(t).map(60 / @).last(2)", [30, 12]),
            ("$.rows().flat_map(t).map(60 / @).sum()", [102]),
            ("$.rows().flat_map(t).map(60 / @).count()", [3]),
        ]:
            result = ds.query(query, on_error="skip")
            assert result.to_list() == answers
            assert result.report.counts.skipped == 1


def test_a_query_is_planned_once_for_all_sources(large, tmp_path):
    plan_query.cache_clear()
    for number in range(5):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(b'{"id": %d}\n' % number)
        assert headrace.open(path).query("$.id + 1").to_list() == [number + 1]
    assert plan_query.cache_info().currsize == 1
    assert plan_query.cache_info().misses == 1


@pytest.mark.parametrize(
    "query",
    [
        "{n: $.rows().count(), total: $.rows().sum(id), last: $.rows().last().id}",
        "let s = $.rows() in {n: s.count(), total: s.sum($.id), last: s.last().id}",
        "let s = $.rows().filter(id >= 0), t = s.sum(id) in "
        "{n: s.count(), total: t, last: s.last().id}",
    ],
)
def test_several_subqueries_share_one_pass(large, query):
    with large.open("rb") as pipe:
        # A pipe cannot be read twice, and memory for rows is too small.
        result = headrace.open(pipe).query(query, memory="1KiB")
        assert result.to_list() == [
            {"n": 100_000, "total": 4_999_950_000, "last": 99_999}
        ]
        assert result.report.counts.rows == 100_000


def test_a_bad_row_is_reported_once_for_several_subqueries(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"x": 1}\nnonsense\n{"x": 0}\n')
    query = "{n: $.count(), s: $.sum(x), q: $.map(1 / x).count()}"
    with headrace.open(path) as ds:
        result = ds.query(query, stream=True, on_error="collect")
        assert result.to_list() == [{"n": 2, "s": 1, "q": 1}]
        assert [(error.line, error.offset) for error in result.report.errors] == [
            (2, 9),
            (3, 18),
        ]
        with pytest.raises(HeadraceError, match="line 2"):
            ds.query(query, stream=True).to_list()


def test_subqueries_in_both_directions(large):
    query = "[$.rows().first().id, $.rows().reverse().first().id]"
    with headrace.open(large) as ds:
        assert ds.query(query).to_list() == [[0, 99_999]]
        assert ds.query("[$.first().id, $.last().id]", stream=True).to_list() == [
            [0, 99_999]
        ]


def test_a_pipe_of_methods_is_a_path(large):
    with headrace.open(large) as ds:
        result = ds.query("$.rows().map(id % 3) | unique | sort", memory="1KiB")
        assert result.to_list() == [0, 1, 2]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"on_error": "ignore"}, "on_error is one of"),
        ({"stream": "all"}, "stream is one of"),
        ({"null_payload": "x"}, "null_payload is one of"),
        ({"nulls": "keep"}, "nulls is one of"),
        ({"nulls": "dorp"}, "not 'dorp'; did you mean 'drop'?"),
        ({"limit": -1}, "must be 0 or a positive integer"),
    ],
)
def test_a_misspelt_option_is_refused(large, options, said):
    with headrace.open(large) as ds, pytest.raises(UsageError, match=re.escape(said)):
        ds.query("id", **options)


@pytest.mark.parametrize(
    ("query", "answers"),
    [
        ("$[*].t.diff([1])", [[3], [2, 3], []]),
        ("$[*].t.intersect([1])", [[1, 1], [], []]),
        ("$[*].t.union([1])", [[3, 1, 1], [2, 3, 1], [1]]),
        ("$[*].t.zip([1, 2])", [[[3, 1], [1, 2]], [[2, 1], [3, 2]], []]),
        ("$[*].t.accumulate((x, y) => x + y)", [[3, 4, 5], [2, 5], []]),
    ],
)
def test_steps_after_each_run_on_each_element(tmp_path, query, answers):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"t": [3, 1, 1]}\n{"t": [2, 3]}\n{}\n')
    with headrace.open(path) as ds:
        assert ds.query(query, stream=True, nulls="emit").to_list() == answers
        behind = query.replace("$", "$.rows()", 1)
        assert ds.query(behind, nulls="emit").to_list() == answers


def test_counts_by_key_hold_keys_only(large):
    counts = {"0": 33334, "1": 33333, "2": 33333}
    with headrace.open(large) as ds:
        result = ds.query("$.rows().count_by(id % 3)", memory="1KiB")
        assert result.to_list() == [counts]
        result = ds.query("$.rows().count_by(id % 3).entries()", memory="1KiB")
        assert result.to_list() == [[[key, count] for key, count in counts.items()]]
        with pytest.raises(MemoryExceededError):
            ds.query("$.rows().count_by(id)", memory="1KiB").to_list()


def test_an_element_that_fails_counts_as_taken(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"x": 0}\nnonsense\n')
    with headrace.open(path) as ds:
        result = ds.query("$.rows().take(1).map(1 / x)", on_error="collect")
        assert result.to_list() == []
        assert [error.line for error in result.report.errors] == [1]
