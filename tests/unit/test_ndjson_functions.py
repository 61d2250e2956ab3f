"""Queries as functions, in every form."""

import io

import pytest

import headrace
from headrace.errors import UsageError

ROWS = b'{"id": 1}\n{"id": 2, "x": "a"}\n\n{"id": 3}\n'


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(ROWS)
    return path


def test_each_row(path):
    out = io.BytesIO()
    assert headrace.run_ndjson(path, "$.id", out) == 3
    assert out.getvalue() == b"1\n2\n3\n"
    assert headrace.collect_ndjson(path, "x") == ["a"]
    seen = []
    assert headrace.for_each_ndjson(path, "id * 2", seen.append) == 3
    assert seen == [2, 4, 6]


def test_a_reader_is_a_source():
    out = io.BytesIO()
    assert headrace.run_ndjson(io.BytesIO(ROWS), "$.id", out) == 3
    assert headrace.run_ndjson_par(io.BytesIO(ROWS), "$.id", out) == 3
    assert out.getvalue() == b"1\n2\n3\n" * 2
    assert headrace.collect_ndjson_stream(io.BytesIO(ROWS * 50_000), "$.sum(id)") == [
        300_000
    ]


def test_a_reader_is_not_read_further_than_needed():
    class Endless(io.RawIOBase):
        def read(self, size=-1):
            return ROWS * 10

    assert headrace.collect_ndjson(Endless(), "$.id", limit=4) == [1, 2, 3, 1]


def test_what_a_reader_raises_is_raised():
    class Failing(io.RawIOBase):
        def read(self, size=-1):
            raise OSError(5, "the wire was cut")

    with pytest.raises(OSError, match="the wire was cut"):
        headrace.collect_ndjson(Failing(), "$.id")


def test_all_rows(path):
    out = io.BytesIO()
    assert headrace.run_ndjson_stream(path, "$.filter(id > 1).map(id)", out) == 2
    assert out.getvalue() == b"2\n3\n"
    assert headrace.collect_ndjson_stream(path, "$.count()") == [3]


def test_from_the_last_row(path):
    out = io.BytesIO()
    assert headrace.run_ndjson_rev(path, "$.id", out) == 3
    assert out.getvalue() == b"3\n2\n1\n"
    assert headrace.collect_ndjson_rev(path, "$.id", limit=1) == [3]
    seen = []
    assert headrace.for_each_ndjson_rev(path, "$.id", seen.append) == 3
    assert seen == [3, 2, 1]
    with pytest.raises(UsageError, match="no end"):
        headrace.collect_ndjson_rev(io.BytesIO(ROWS), "$.id")


def test_several_sources_of_several_kinds(path, tmp_path):
    import gzip

    packed = tmp_path / "rows.gz"
    packed.write_bytes(gzip.compress(ROWS))
    sources = [path, io.BytesIO(b'{"id": 9}\n'), packed]
    out = io.BytesIO()
    assert headrace.run_ndjson_multi(sources, "$.id", out) == 7
    assert out.getvalue() == b"1\n2\n3\n9\n1\n2\n3\n"
    assert headrace.collect_ndjson_multi([path, packed], "x") == ["a", "a"]
    seen = []
    assert headrace.for_each_ndjson_multi([path, path], "$.id", seen.append) == 6
    assert seen == [1, 2, 3, 1, 2, 3]
