"""The function names of the first designs still work."""

import pytest

import headrace
from headrace import compat


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"id":1,"to":2}\n{"id":2,"to":1}\n')
    return path


def test_build_lookup_index(rows):
    assert compat.build_lookup_index(rows, "id", index_version=2).written.version == 2


def test_open_lookup_index(rows):
    headrace.KeyIndex.build(rows, "id")
    with compat.open_lookup_index(rows, require_index=True) as index:
        assert index.get(1) == [{"id": 1, "to": 2}]


def test_build_graph_index(rows):
    built = compat.build_graph_index(rows, "id", None, "to", incoming=True)
    assert built.written.edges == 2


def test_open_graph_index(rows):
    headrace.GraphIndex.build(rows, "id", None, "to")
    with compat.open_graph_index(rows, require_index=True) as graph:
        assert [edge.node for edge in graph.out(1)] == ["2"]
