"""Graph indexes: the rows that are edges, the place of the index, and its replacement."""

import gzip

import pytest

import headrace
from headrace.api.graph.access import USUAL, Wanted, edge_files, reach_edges
from headrace.errors import GraphIndexError, KeyIndexLockedError, UsageError
from headrace.kernel.graph import (
    EdgeFields,
    GraphAccess,
    GraphIndex,
    edges_of,
    stats_of,
    steps,
)
from headrace.store.index import stored_index
from headrace.store.index.stored_index import Where, writing
from tests.reference.compressed import FORMS

ROWS = b"".join(
    b'{"from":"n%d","pred":"p%d","to":"n%d"}\n' % (n, n % 3, (n * 7 + 1) % 100)
    for n in range(100)
)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "edges.jsonl"
    path.write_bytes(ROWS)
    return path


@pytest.fixture
def index(source):
    return headrace.GraphIndex.build(source, *USUAL, incoming=True).path


def append(path, data):
    with path.open("ab") as file:
        file.write(data)


def beside(source):
    return sorted(path.name for path in source.parent.iterdir())


def reach(source, *, direction="both", strict=False, where=None, fields=None):
    troubles = []
    wanted = Wanted(
        fields,
        direction,
        where or Where(),
        strict,
        1 << 20,
        1,
        lambda trouble, _strategy: troubles.append(trouble),
    )
    found = reach_edges(edge_files(source), wanted)
    return found, [(error.kind, error.reason) for error in troubles]


def out(access, node):
    return [(edge.pred, edge.node) for edge in edges_of(access, node)]


@pytest.mark.parametrize(
    ("row", "edges"),
    [
        pytest.param('{"from":"a","pred":"p","to":"b"}', [("p", "b")], id="texts"),
        pytest.param('{"from":"a","pred":1.0,"to":7}', [("1", "7")], id="numbers"),
        pytest.param('{"from":"a","pred":true,"to":""}', [("true", "")], id="others"),
        pytest.param('{"from":"\\u0061","pred":"p","to":"a"}', [("p", "a")], id="loop"),
        pytest.param('{"from":"a","pred":"p"}', None, id="no end"),
        pytest.param('{"from":"a","pred":null,"to":"b"}', None, id="null"),
        pytest.param('{"from":"a","pred":"p","to":["b"]}', None, id="nested"),
        pytest.param('{"from":"a","pred":"p","to":"b"', None, id="bad"),
    ],
)
def test_rows_that_are_edges(tmp_path, row, edges):
    source = tmp_path / "edges.jsonl"
    source.write_text(row + "\n")
    built = headrace.GraphIndex.build(source, *USUAL)
    access = GraphAccess.of_graph(GraphIndex(built.path))
    found = edges_of(access, "a")
    assert (found and [(edge.pred, edge.node) for edge in found]) == edges
    assert (built.written.edges, sum(built.lines.skipped.values())) == (
        (1, 0) if edges else (0, 1)
    )


def test_edges_may_have_no_predicate(tmp_path):
    source = tmp_path / "edges.jsonl"
    source.write_bytes(b'{"a":{"id":1},"b":"x"}\n{"a":{"id":1},"b":"y","p":"z"}\n')
    fields = EdgeFields("a.id", None, "b")
    built = headrace.GraphIndex.build(source, *fields)
    assert (built.written.nodes, built.written.predicates) == (3, 1)
    assert out(reach(source, direction="out")[0].access, "1") == [("", "x"), ("", "y")]


def test_an_index_lies_beside_its_file(source, index):
    assert index.name == "edges.jsonl.jnx.graph"
    assert beside(source) == ["edges.jsonl", index.name]
    headrace.KeyIndex.build(source, "from")
    assert headrace.KeyIndex.open(source).key == ("from",)
    assert reach(source)[0].files == (str(index),)


def test_an_index_may_lie_elsewhere(source, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    built = headrace.GraphIndex.build(source, *USUAL, index_dir=elsewhere)
    assert built.path.parent == elsewhere
    found, troubles = reach(source, direction="out", where=Where(None, str(elsewhere)))
    assert (found.strategy, troubles) == ("graph", [])


def test_an_index_of_other_edges_is_not_replaced(source, index):
    before = index.read_bytes()
    with pytest.raises(GraphIndexError, match=r"of the fields from, pred, to.*--force"):
        headrace.GraphIndex.build(source, "to", "pred", "from")
    assert index.read_bytes() == before
    headrace.GraphIndex.build(source, "to", "pred", "from", force=True)
    assert headrace.GraphIndex.stats(source)["from"] == "to"


@pytest.mark.parametrize(
    "content",
    [b"JNX", b"JNX\x01" + bytes(90), b"x" * 99],
    ids=["short", "a key index", "others"],
)
def test_a_foreign_file_is_never_changed(source, content):
    place = source.with_name("edges.jsonl.jnx.graph")
    place.write_bytes(content)
    with pytest.raises(GraphIndexError, match="no graph index"):
        headrace.GraphIndex.build(source, *USUAL, force=True)
    assert place.read_bytes() == content
    assert reach(source)[0].strategy == "scan"


def test_one_writer_at_a_time(source, index):
    with writing(index), pytest.raises(KeyIndexLockedError):
        headrace.GraphIndex.build(source, *USUAL)


def test_repeated_fields_are_refused(source):
    with pytest.raises(UsageError, match="each field once"):
        headrace.GraphIndex.build(source, "from", "pred", "from")


def test_version_1_can_be_required(source):
    long = b'{"from":"%s","pred":"p","to":"b"}\n' % (b"x" * 70_000)
    append(source, long)
    with pytest.raises(UsageError, match=r"id_length.*let the version be chosen"):
        headrace.GraphIndex.build(source, *USUAL, index_version=1)
    built = headrace.GraphIndex.build(source, *USUAL)
    assert (built.written.version, built.written.why) == (2, "id_length")


def test_a_hub_has_more_edges_than_version_1_has_room_for(tmp_path):
    source = tmp_path / "edges.jsonl"
    count = 100_000
    rows = (b'{"from":"hub","pred":"p","to":"n%d"}\n' % n for n in range(count))
    source.write_bytes(b"".join(rows))
    built = headrace.GraphIndex.build(source, *USUAL, memory="1MiB")
    assert (built.written.version, built.written.why) == (2, "edges_of_a_node")
    access = GraphAccess.of_graph(GraphIndex(built.path))
    assert [edge.node for edge in edges_of(access, "hub")] == [
        f"n{n}" for n in range(count)
    ]
    assert len(edges_of(access, "hub", most=3)) == 3
    capped = access.expand(["hub"], most_edges=10)
    assert (len(list(steps(capped))), capped.capped) == (11, 1)


# Updates


def test_only_new_rows_are_read(source, index):
    base = index.read_bytes()
    append(source, b'{"from":"n0","pred":"new","to":"end"}\noops\n{"from":"n1"')
    done = headrace.GraphIndex.update(source, threads=1)
    assert (done.mode, done.built.written.edges, done.compacted) == (
        "incremental",
        1,
        None,
    )
    assert done.built.lines.pending == 1
    assert [(row.line, row.cause) for row in done.built.first_skipped] == [(102, "bad")]
    assert index.read_bytes() == base
    found, troubles = reach(source)
    assert (len(found.files), troubles) == (2, [])
    assert out(found.access, "n0") == [("p0", "n1"), ("new", "end")]
    append(source, b',"pred":"p","to":"end"}\n')
    assert headrace.GraphIndex.update(source).built.lines.lines == 1
    assert [
        edge.node for edge in edges_of(reach(source)[0].access, "end", direction="in")
    ] == [
        "n0",
        "n1",
    ]
    assert headrace.GraphIndex.check(source, deep=True)["valid"]
    assert headrace.GraphIndex.compact(source).written.edges == 102
    compacted = index.read_bytes()
    assert headrace.GraphIndex.build(source, *USUAL, incoming=True).path == index
    assert index.read_bytes() == compacted
    assert headrace.GraphIndex.compact(source) is None
    assert headrace.GraphIndex.update(source).mode == "none"


def test_a_large_delta_becomes_one_with_its_base(source, index):
    append(source, ROWS[: len(ROWS) // 2].rpartition(b"\n")[0] + b"\n")
    done = headrace.GraphIndex.update(source)
    assert done.compacted.written.edges > 125
    assert beside(source) == ["edges.jsonl", index.name]


def test_a_file_that_was_changed_needs_more(source, index):
    source.write_bytes(ROWS.replace(b"n99", b"n98", 1))
    with pytest.raises(GraphIndexError, match=r"was changed.*--graph"):
        headrace.GraphIndex.update(source)
    found, troubles = reach(source)
    assert (found.strategy, troubles) == ("scan", [("stale", "source_modified")])
    with pytest.raises(GraphIndexError):
        reach(source, strict=True)
    assert headrace.GraphIndex.check(source)["reason"] == "source_modified"
    assert headrace.GraphIndex.update(source, full=True).mode == "full"
    assert headrace.GraphIndex.check(source, deep=True)["fresh"]


def test_a_copy_of_both_files_is_used(source, index, tmp_path):
    other = tmp_path / "copy.jsonl"
    other.write_bytes(source.read_bytes())
    other.with_name("copy.jsonl.jnx.graph").write_bytes(index.read_bytes())
    assert reach(other)[0].strategy == "graph"
    assert headrace.GraphIndex.update(other).revalidated
    assert not headrace.GraphIndex.update(other).revalidated


@pytest.mark.parametrize("delta", [False, True])
def test_deep_checks_compare_edges(source, index, monkeypatch, delta):
    append(source, b'{"from":"n0","pred":"p","to":"n5"}\n' if delta else b"")
    headrace.GraphIndex.update(source)
    assert headrace.GraphIndex.check(source, deep=True)["valid"]
    assert index.with_name(index.name + ".delta").exists() is delta
    source.write_bytes(source.read_bytes().replace(b"p2", b"p1", 1))
    assert headrace.GraphIndex.check(source, deep=True)["reason"] == "source_modified"
    monkeypatch.setattr(
        stored_index,
        "fitting",
        lambda stored, *_: (stored, stored_index.Freshness("fresh")),
    )
    found = headrace.GraphIndex.check(source, deep=True)
    assert (found["valid"], found["detail"]) == (
        False,
        "its edges are not those of the file",
    )


def test_a_delta_of_the_past_is_not_used(source, index):
    append(source, b'{"from":"n0","pred":"p","to":"n5"}\n')
    headrace.GraphIndex.update(source)
    delta = index.with_name(index.name + ".delta")
    kept = delta.read_bytes()
    headrace.GraphIndex.build(source, *USUAL, incoming=True)
    assert not delta.exists()
    delta.write_bytes(kept)
    found, troubles = reach(source)
    assert (found.files, troubles) == ((str(index),), [])


# Accesses to edges


def test_key_indexes_lead_to_edges(source):
    headrace.KeyIndex.build(source, "from")
    assert reach(source, direction="out")[0].strategy == "keys"
    assert reach(source, direction="both")[0].strategy == "scan"
    headrace.KeyIndex.build(source, "to", index_version=2)
    found, troubles = reach(source)
    assert (found.strategy, len(found.files), troubles) == ("keys", 2, [])
    assert out(found.access, "n5") == [("p2", "n36")]


def test_an_index_without_incoming_edges_is_not_used_for_them(source):
    headrace.GraphIndex.build(source, *USUAL)
    assert reach(source, direction="out")[0].strategy == "graph"
    found, troubles = reach(source, direction="in")
    assert (found.strategy, troubles) == ("scan", [("other", "no_incoming_edges")])
    assert len(edges_of(found.access, "n1", direction="in")) == 1


@pytest.mark.parametrize("form", ["gzip, blocks of lines", "zstd, blocks of lines"])
def test_compressed_files_have_graphs(tmp_path, form):
    source = tmp_path / "edges.jsonl"
    source.write_bytes(FORMS[form](ROWS))
    headrace.GraphIndex.build(source, *USUAL, incoming=True)
    found, troubles = reach(source)
    assert (found.strategy, troubles) == ("graph", [])
    assert stats_of(found.graph).edges == 100


def test_a_file_without_seeking_is_scanned(tmp_path):
    source = tmp_path / "edges.jsonl.gz"
    source.write_bytes(gzip.compress(ROWS))
    with pytest.raises(UsageError, match="recompress"):
        headrace.GraphIndex.build(source, *USUAL)
    found, troubles = reach(source)
    assert (found.strategy, [kind for kind, _ in troubles]) == ("scan", ["missing"])
    assert out(found.access, "n5") == [("p2", "n36")]


def test_stats(source, index):
    append(source, b'{"from":"alone","pred":"p9","to":"alone"}\n')
    found = stats_of(reach(source)[0].graph)
    assert (found.nodes, found.edges, found.loops) == (101, 101, 1)
    assert found.predicates == {"p0": 34, "p1": 33, "p2": 33, "p9": 1}
    assert (found.out.none, found.out.powers, found.out.most) == (0, [101], 1)
    assert found.components > 1
    assert found.largest_component <= 100
