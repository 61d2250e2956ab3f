"""The bytes of graph indexes: independent readers, and old files."""

import shutil
from pathlib import Path

import pytest

import headrace
from headrace.engines.index.kinds import GraphBuild
from headrace.engines.local.index_build import build
from headrace.kernel.graph import EdgeFields
from headrace.store.index.subject import one_source
from tests.reference.jnxg_v1 import REVERSE, Graph
from tests.reference.slow_graph import edges_in

DATA = Path(__file__).parent / "data"
OLD = b"""\
{"f":"a","p":"x","t":"b"}
{"f":"b","p":"y","t":"c"}
{"f":"c","p":"x","t":"a"}
{"f":"a","p":"x","t":"a"}
"""
"""What the files in `DATA` were made of."""

ROWS = b"""\
{"from":"C123","pred":"subClassOf","to":"C456"}
{"from":"C123","pred":"partOf","to":"C9"}
not json
{"from":"C456","pred":"subClassOf","to":"C1"}
{"from":7,"pred":"partOf","to":"C1"}
{"from":"C1","pred":"","to":"C1"}
{"from":"C123","pred":"subClassOf","to":"C456"}
{"from":"C1","to":"C2"}
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "edges.jsonl"
    path.write_bytes(ROWS)
    return path


@pytest.mark.parametrize("reverse", [False, True])
def test_a_reader_that_knows_the_seed_alone_finds_every_edge(source, reverse):
    built = headrace.GraphIndex.build(source, "from", "pred", "to", incoming=reverse)
    graph = Graph(built.path)
    edges = list(edges_in(ROWS))
    nodes = {end for start, _pred, stop, _offset in edges for end in (start, stop)}
    assert (len(edges), graph.edge_count) == (6, 6)
    assert set(graph.ids) == nodes
    assert set(graph.predicates) == {"subClassOf", "partOf", ""}
    assert graph.table_size == (12 if reverse else 6)
    assert bool(graph.flags & REVERSE) is reverse
    assert graph.source_size == len(ROWS)
    assert graph.source_mtime == source.stat().st_mtime_ns
    assert graph.hashes == sorted(graph.hashes)
    for node in nodes:
        out = [(pred, to, at) for start, pred, to, at in edges if start == node]
        assert graph.outgoing[node] == out
        incoming = [(pred, start, at) for start, pred, to, at in edges if to == node]
        assert graph.incoming.get(node) == (incoming if reverse else None)


def test_such_a_reader_reads_any_number_of_edges(tmp_path):
    source = tmp_path / "edges.jsonl"
    lines = [
        b'{"from":"n%d","pred":"p%d","to":"n%d"}\n' % (n * 7 % 901, n % 5, n * 13 % 907)
        for n in range(5000)
    ]
    source.write_bytes(b"".join(lines))
    spilled = GraphBuild(
        EdgeFields("from", "pred", "to"), reverse=True, memory=9000, threads=2
    )
    in_memory = GraphBuild(spilled.fields, reverse=True, threads=1)
    made = build(one_source(source), tmp_path / "a.graph", spilled).path
    same = build(one_source(source), tmp_path / "b.graph", in_memory).path
    assert made.read_bytes() == same.read_bytes()
    graph, edges = Graph(made), list(edges_in(b"".join(lines)))
    assert graph.edge_count == len(edges) == 5000
    found = [(name, *edge) for name, run in graph.outgoing.items() for edge in run]
    assert sorted(found, key=lambda edge: edge[3]) == edges
    back = [
        (other, pred, name, at)
        for name, run in graph.incoming.items()
        for pred, other, at in run
    ]
    assert sorted(back, key=lambda edge: edge[3]) == edges


def test_hashes_equal_published_values(source):
    source.write_bytes(b'{"from":"abc","pred":"p","to":""}\n')
    graph = Graph(headrace.GraphIndex.build(source, "from", "pred", "to").path)
    # XXH3, 64 bits, seed 0, as published with the algorithm.
    assert dict(zip(graph.ids, graph.hashes, strict=True)) == {
        "abc": 0x78AF5F94892F3950,
        "": 0x2D06800538D394C2,
    }


@pytest.mark.parametrize("version", [1, 2])
def test_files_of_a_version_are_read_forever(tmp_path, version):
    source = tmp_path / "edges.jsonl"
    source.write_bytes(OLD)
    shutil.copy(DATA / f"graph-v{version}.jnx.graph", f"{source}.jnx.graph")
    assert headrace.GraphIndex.check(source, deep=True) == {
        "valid": True,
        "fresh": True,
        "index": f"{source}.jnx.graph",
        "edges": 4,
        "nodes": 3,
        "size_bytes": Path(f"{source}.jnx.graph").stat().st_size,
    }
    assert headrace.GraphIndex.stats(source)["version"] == version
