"""Function names of the first designs still work."""

import io

import pytest

import headrace
from headrace import compat
from headrace.errors import UsageError

ROWS = b'{"id": 1}\n{"id": 2, "x": "a"}\n\n{"id": 3}\n'


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(ROWS)
    return path


def test_each_row(path):
    out = io.BytesIO()
    assert compat.run_ndjson(path, "$.id", out) == 3
    assert out.getvalue() == b"1\n2\n3\n"
    assert compat.collect_ndjson(path, "x") == ["a"]
    seen = []
    assert compat.for_each_ndjson(path, "id * 2", seen.append) == 3
    assert seen == [2, 4, 6]


def test_a_reader_is_a_source():
    out = io.BytesIO()
    assert compat.run_ndjson(io.BytesIO(ROWS), "$.id", out) == 3
    assert compat.run_ndjson_par(io.BytesIO(ROWS), "$.id", out) == 3
    assert out.getvalue() == b"1\n2\n3\n" * 2
    assert compat.collect_ndjson_stream(io.BytesIO(ROWS * 50_000), "$.sum(id)") == [
        300_000
    ]


def test_a_reader_is_not_read_further_than_needed():
    class Endless(io.RawIOBase):
        def read(self, size=-1):
            return ROWS * 10

    assert compat.collect_ndjson(Endless(), "$.id", limit=4) == [1, 2, 3, 1]


def test_an_error_of_a_reader_is_raised():
    class Failing(io.RawIOBase):
        def read(self, size=-1):
            raise OSError(5, "the wire was cut")

    with pytest.raises(OSError, match="the wire was cut"):
        compat.collect_ndjson(Failing(), "$.id")


def test_all_rows(path):
    out = io.BytesIO()
    assert compat.run_ndjson_stream(path, "$.filter(id > 1).map(id)", out) == 2
    assert out.getvalue() == b"2\n3\n"
    assert compat.collect_ndjson_stream(path, "$.count()") == [3]


def test_from_the_last_row(path):
    out = io.BytesIO()
    assert compat.run_ndjson_rev(path, "$.id", out) == 3
    assert out.getvalue() == b"3\n2\n1\n"
    assert compat.collect_ndjson_rev(path, "$.id", limit=1) == [3]
    seen = []
    assert compat.for_each_ndjson_rev(path, "$.id", seen.append) == 3
    assert seen == [3, 2, 1]
    with pytest.raises(UsageError, match="no end"):
        compat.collect_ndjson_rev(io.BytesIO(ROWS), "$.id")


def test_several_sources_of_several_kinds(path, tmp_path):
    import gzip

    packed = tmp_path / "rows.gz"
    packed.write_bytes(gzip.compress(ROWS))
    sources = [path, io.BytesIO(b'{"id": 9}\n'), packed]
    out = io.BytesIO()
    assert compat.run_ndjson_multi(sources, "$.id", out) == 7
    assert out.getvalue() == b"1\n2\n3\n9\n1\n2\n3\n"
    assert compat.collect_ndjson_multi([path, packed], "x") == ["a", "a"]
    seen = []
    assert compat.for_each_ndjson_multi([path, path], "$.id", seen.append) == 6
    assert seen == [1, 2, 3, 1, 2, 3]


def test_named(path):
    out = io.BytesIO()
    sources = [("rows", path), ("more", path)]
    assert compat.run_ndjson_named(sources, "[$.len(), @more.len()]", out) == 1
    assert out.getvalue() == b"[3,3]\n"
    assert compat.collect_ndjson_named([("x", path), ("main", path)], "$.count()") == [
        3
    ]


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.jsonl"
    path.write_bytes(b'{"id":1,"to":2}\n{"id":2,"to":1}\n')
    return path


def test_build_lookup_index(edges):
    assert compat.build_lookup_index(edges, "id", index_version=2).written.version == 2


def test_open_lookup_index(edges):
    headrace.KeyIndex.build(edges, "id")
    with compat.open_lookup_index(edges, require_index=True) as index:
        assert index.get(1) == [{"id": 1, "to": 2}]


def test_build_graph_index(edges):
    built = compat.build_graph_index(edges, "id", None, "to", incoming=True)
    assert built.written.edges == 2


def test_open_graph_index(edges):
    headrace.GraphIndex.build(edges, "id", None, "to")
    with compat.open_graph_index(edges, require_index=True) as graph:
        assert [edge.node for edge in graph.out(1)] == ["2"]


def test_write_json_lines_sharded(tmp_path):
    made = compat.write_json_lines_sharded([{"n": 1}, {"n": 2}], tmp_path, name="ns")
    assert made.total_records == 2
    assert list(headrace.open(tmp_path)) == [{"n": 1}, {"n": 2}]


def test_replace_file(tmp_path):
    new, final = tmp_path / "new", tmp_path / "final"
    new.write_text("new")
    final.write_text("old")
    compat.replace_file(new, final, keep_backup=True)
    assert (final.read_text(), (tmp_path / "final.bak").read_text()) == ("new", "old")
