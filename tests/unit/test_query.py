"""Queries: how much is read for them, and how often they are planned."""

import pytest

import headrace
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
    ],
)
def test_what_needs_few_rows_reads_one_buffer(large, query, answers):
    with headrace.open(large, persist=False) as ds:
        assert ds.query(query).to_list() == answers
        assert ds.bytes_read() <= 64 << 10


def test_the_newest_rows_are_read_from_the_end(large):
    with headrace.open(large, persist=False) as ds:
        assert ds.query("$.id", reverse=True, limit=3).to_list() == [
            99_999,
            99_998,
            99_997,
        ]
        assert ds.bytes_read() < 3 << 20


def test_a_query_is_planned_once_for_all_sources(large, tmp_path):
    plan_query.cache_clear()
    for number in range(5):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(b'{"id": %d}\n' % number)
        assert headrace.open(path).query("$.id + 1").to_list() == [number + 1]
    assert plan_query.cache_info().currsize == 1
    assert plan_query.cache_info().misses == 1
