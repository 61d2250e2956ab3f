"""``headrace.Graph``: edges and accesses of every kind, from every thread."""

import gzip
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import zstandard

import headrace
from headrace.errors import (
    GraphIndexError,
    HeadraceWarning,
    MissingExtraError,
    SourceChangedError,
    UsageError,
)
from headrace.kernel.graph import Followed, Reached
from headrace.kernel.rows import SidecarError

ROWS = b"""\
{"from":"a","pred":"p","to":"b"}
{"from":"b","pred":"q","to":7}
{"from":"a","pred":"q","to":"b"}
{"from":7,"pred":"p","to":"a"}
{"from":"c","pred":"p","to":"c"}
"""
LEAVES = 60_000


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "edges.jsonl"
    path.write_bytes(ROWS)
    return path


@pytest.fixture
def graph(source):
    headrace.GraphIndex.build(source, "from", "pred", "to", incoming=True)
    with headrace.GraphIndex.open(source, require_index=True) as opened:
        yield opened


def test_edges_of_a_node(graph):
    assert [tuple(edge) for edge in graph.out("a")] == [
        ("p", "b", 0, True),
        ("q", "b", 64, True),
    ]
    assert [edge.node for edge in graph.in_("a")] == ["7"]
    assert [edge.pred for edge in graph.in_("b", pred=["q"])] == ["q"]
    assert list(graph.out("absent")) == []
    assert [edge.node for edge in graph.out(7)] == ["a"]


def test_each_neighbour_is_returned_once(graph):
    assert list(graph.neighbors("a")) == ["b", "7"]
    assert list(graph.neighbors("a", direction="out")) == ["b"]
    assert list(graph.neighbors("b", pred="q", direction="in")) == ["a"]
    assert list(graph.neighbors("c")) == ["c"]


def test_membership_of_a_node(graph):
    assert "a" in graph
    assert 7 in graph
    assert "absent" not in graph


def test_expansions_are_iterators(graph):
    found = graph.expand("a", 2, pred=["p", "no"], emit="edges")
    assert next(found) == Reached("a", 0, None)
    assert next(found) == Followed("a", "p", "b", 0, leads=True)
    assert list(found) == [Reached("b", 1, "p")]
    assert (found.unknown, found.missing) == (["no"], [])
    assert (found.truncated, found.capped) == (False, 0)
    bounded = graph.expand(["a", "x"], limit=2, most_edges=1)
    assert [step.node for step in bounded] == ["a", "x"]
    assert (bounded.truncated, bounded.missing) == (True, ["x"])
    assert [step.node for step in graph.expand(7, 1)] == ["7", "a"]


def test_an_expansion_that_has_not_begun_reports_nothing(graph):
    found = graph.expand(["x"], pred=["no"])
    assert (found.missing, found.unknown) == ([], [])
    assert (found.truncated, found.capped) == (False, 0)


def test_the_shortest_way(graph):
    assert graph.shortest_path("a", 7) == [
        Reached("a", 0, None),
        Followed("a", "p", "b", 0, leads=True),
        Reached("b", 1, "p"),
        Followed("b", "q", "7", 33, leads=True),
        Reached("7", 2, "q"),
    ]
    back = graph.shortest_path("a", "7", direction="in")
    assert back[1:] == [Followed("7", "p", "a", 97, leads=True), Reached("7", 1, "p")]
    assert graph.shortest_path("a", "a") == [Reached("a", 0, None)]
    assert graph.shortest_path("a", "c") is None
    assert graph.shortest_path("a", "absent") is None


def test_stats(graph):
    found = graph.stats()
    assert (found.nodes, found.edges, found.loops, found.components) == (4, 5, 1, 2)
    assert found.predicates == {"p": 3, "q": 2}


# Accesses to edges


def test_without_an_index_the_file_is_scanned_once_with_a_warning(source):
    graph = headrace.GraphIndex.open(source)
    with pytest.warns(HeadraceWarning, match="no graph index; all rows are scanned"):
        assert [edge.node for edge in graph.out("a")] == ["b", "b"]
    assert [edge.node for edge in graph.out("b")] == ["7"]
    with pytest.warns(HeadraceWarning, match="all rows are scanned"):
        assert [edge.node for edge in graph.in_("a")] == ["7"]
    assert graph.stats().edges == 5
    assert graph.plan("in").strategy == "scan"


def test_index_false_looks_for_no_index(source):
    source.with_name(source.name + ".jnx.graph").write_bytes(b"not one")
    graph = headrace.GraphIndex.open(source, index=False)
    assert graph.plan().strategy == "scan"
    assert [edge.node for edge in graph.in_("a")] == ["7"]
    assert [edge.node for edge in graph.out("a")] == ["b", "b"]
    with pytest.raises(UsageError, match="index=False"):
        headrace.GraphIndex.open(source, index=False, require_index=True)


def test_fresh_key_indexes_replace_a_stale_graph_index(source):
    headrace.GraphIndex.build(source, "from", "pred", "to")
    source.write_bytes(ROWS.replace(b'"b"', b'"d"'))
    headrace.KeyIndex.build(source, "from")
    graph = headrace.GraphIndex.open(source)
    with pytest.warns(HeadraceWarning, match="changed.*; key indexes are used"):
        assert [edge.node for edge in graph.out("a")] == ["d", "d"]
    assert graph.plan().strategy == "keys"
    with pytest.warns(HeadraceWarning, match="changed.*; all rows are scanned"):
        assert graph.stats().edges == 5
    assert graph.stats().edges == 5


def test_strict_wants_an_index(source):
    graph = headrace.GraphIndex.open(source, require_index=True)
    with pytest.raises(GraphIndexError, match="no graph index"):
        graph.out("a")
    headrace.KeyIndex.build(source, "from")
    assert [edge.node for edge in graph.out("a")] == ["b", "b"]
    with pytest.raises(GraphIndexError):
        graph.stats()


def test_an_index_may_lie_elsewhere(source, tmp_path):
    place = tmp_path / "elsewhere.graph"
    headrace.GraphIndex.build(source, "from", "pred", "to", index=place)
    graph = headrace.GraphIndex.open(source, index=place, require_index=True)
    assert graph.plan().files == (str(place),)
    assert [edge.node for edge in graph.out("b")] == ["7"]


def damaged_late(source):
    """Make a hub whose index is damaged where its last edges are."""
    rows = [b'{"from":0,"pred":"p","to":%d}\n' % n for n in range(1, LEAVES + 1)]
    source.write_bytes(b"".join(rows))
    path = headrace.GraphIndex.build(source, "from", "pred", "to").path
    header = path.read_bytes()[:64]
    start, end = (int.from_bytes(header[at : at + 8], "little") for at in (32, 40))
    with path.open("r+b") as file:
        file.seek(start + (end - start) * 3 // 4)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))


def test_an_expansion_continues_with_a_scan_when_its_index_is_damaged(source):
    damaged_late(source)
    graph = headrace.GraphIndex.open(source)
    # Edges are counted one by one, so that the damage is after the first steps.
    found = graph.expand(0, most_edges=LEAVES)
    first = next(found)
    assert graph.plan().strategy == "graph"
    with pytest.warns(HeadraceWarning, match="; all rows are scanned") as said:
        nodes = [first, *found]
    assert [step.node for step in nodes] == [str(n) for n in range(LEAVES + 1)]
    assert len(said) == 1
    assert graph.plan().strategy == "scan"
    assert len(graph.shortest_path(0, LEAVES)) == 3


def test_a_damaged_index_is_an_error_with_require_index(source):
    damaged_late(source)
    graph = headrace.GraphIndex.open(source, require_index=True)
    with pytest.raises(GraphIndexError, match="index build"):
        list(graph.expand(0))


def test_damaged_key_indexes_are_reported_and_change_no_edge(source):
    rows = [b'{"from":%d,"pred":"p","to":%d}\n' % (n % 300, n) for n in range(3000)]
    source.write_bytes(b"".join(rows))
    path = headrace.KeyIndex.build(source, "from").path
    expected = list(
        headrace.GraphIndex.open(source, require_index=True).expand(1, emit="edges")
    )
    whole, kinds = path.read_bytes(), set()
    for place in range(0, len(whole), 4001):
        damaged = bytearray(whole)
        damaged[place] ^= 4
        path.write_bytes(damaged)
        graph = headrace.GraphIndex.open(
            source, report=lambda *report: kinds.add(report[0].kind)
        )
        assert list(graph.expand(1, emit="edges")) == expected
    assert "corrupt" in kinds


def test_threads_that_find_damage_scan_once(source):
    damaged_late(source)
    troubles = []
    graph = headrace.GraphIndex.open(
        source, report=lambda error, path: troubles.append(path)
    )
    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(lambda _: sum(1 for _ in graph.expand(0)), range(4)))
    assert (counts, troubles) == ([LEAVES + 1] * 4, ["scan"])


def test_a_source_that_changes_under_key_indexes_is_an_error(source):
    headrace.KeyIndex.build(source, "from")
    graph = headrace.GraphIndex.open(source)
    assert [edge.node for edge in graph.out("a")] == ["b", "b"]
    source.write_bytes(ROWS[:40])
    with pytest.raises(SourceChangedError):
        list(graph.out("a"))


def test_an_index_and_its_file_may_be_replaced_on_the_way(source):
    """An expansion that has begun returns the edges of the old state to its end."""
    rows = b"".join(
        b'{"from":%d,"pred":"p","to":%d}\n' % (n, n + 1) for n in range(20_000)
    )
    source.write_bytes(rows)
    headrace.GraphIndex.build(source, "from", "pred", "to")
    with headrace.GraphIndex.open(source, require_index=True) as graph:
        found = graph.expand(0)
        first = next(found)
        source.with_name("new").write_bytes(ROWS)
        source.with_name("new").replace(source)
        headrace.GraphIndex.build(source, "from", "pred", "to", force=True)
        steps = [first, *found]
    assert [step.node for step in steps] == [str(n) for n in range(20_001)]


@pytest.mark.parametrize(
    ("rows", "steps"),
    [
        pytest.param("aa", ["a", "aa"], id="a loop"),
        pytest.param("ab ab", ["a", "ab", "b", "ab"], id="an edge twice"),
        pytest.param("ab ba", ["a", "ab", "b", "ba"], id="a cycle"),
        pytest.param("ab bc ca", ["a", "ab", "b", "bc", "c", "ca"], id="a long cycle"),
        pytest.param("ab ac", ["a", "ab", "b", "ac", "c"], id="ends without edges"),
    ],
)
@pytest.mark.parametrize("indexed", [True, False])
def test_graphs_of_every_shape_come_to_an_end(source, rows, steps, indexed):
    row = '{{"from":"{}","pred":"p","to":"{}"}}\n'
    source.write_text("".join(row.format(*ends) for ends in rows.split()))
    if indexed:
        headrace.GraphIndex.build(source, "from", "pred", "to")
    with headrace.GraphIndex.open(source, index=None if indexed else False) as graph:
        found = graph.expand("a", emit="edges")
        found_steps = [
            step.node if isinstance(step, Reached) else step.from_ + step.to
            for step in found
        ]
    assert found_steps == steps


# Threads, ends


def test_many_threads_ask_one_graph(graph):
    expected = [tuple(step) for step in graph.expand("a", direction="both")]
    together = threading.Barrier(8)

    def ask(_):
        together.wait()
        for _ in range(200):
            assert [edge.node for edge in graph.out("a")] == ["b", "b"]
        return [tuple(step) for step in graph.expand("a", direction="both")]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [expected] * 8


def test_a_graph_that_was_closed(source):
    with headrace.GraphIndex.open(source, index=False) as graph:
        assert [edge.node for edge in graph.out("b")] == ["7"]
    with pytest.raises(UsageError, match="closed"):
        graph.out("b")


@pytest.mark.parametrize("field", ["from", "pred", "to"])
def test_edge_fields_with_only_one_end_are_refused(source, field):
    with pytest.raises(UsageError, match="both ends"):
        headrace.GraphIndex.open(source, **{f"{field}_field": field})


def test_nodes_are_texts_or_whole_numbers(graph):
    for wrong in (1.5, None, b"a"):
        with pytest.raises(UsageError, match="a node"):
            graph.out(wrong)
    assert True not in graph


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstandard.compress])
def test_edges_of_several_files_are_those_of_all_in_order(source, tmp_path, compress):
    """Rows of a part without seeking have places too."""
    lines = source.read_bytes().splitlines(keepends=True)
    parts = tmp_path / "parts"
    parts.mkdir()
    for number, cut in enumerate([slice(0, 2), slice(2, 3), slice(3, None)]):
        name, content = parts / f"{number}.jsonl", b"".join(lines[cut])
        name.write_bytes(compress(content))
    whole = headrace.GraphIndex.open(source, index=False)
    for edges in (parts, sorted(parts.iterdir()), str(parts / "*.jsonl")):
        several = headrace.GraphIndex.open(edges, index=False)
        assert several.to_arrow().equals(whole.to_arrow())
        for direction in ("out", "in", "both"):
            options = {"direction": direction, "emit": "edges"}
            assert list(several.expand("a", **options)) == list(
                whole.expand("a", **options)
            )
        assert several.stats() == whole.stats()


def test_a_part_without_a_last_newline_does_not_join_the_next_row(tmp_path):
    first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    first.write_bytes(b'{"from":"a","pred":"p","to":"b"}')
    second.write_bytes(b'{"from":"b","pred":"p","to":"c"}\n')
    graph = headrace.GraphIndex.open([first, second], index=False)
    assert [step.node for step in graph.expand("a")] == ["a", "b", "c"]
    assert [edge.offset for edge in graph.out("b")] == [first.stat().st_size]
    assert graph.location == f"{first} and 1 more"


def test_a_set_without_parts_is_a_graph_without_edges(tmp_path):
    with headrace.ShardWriter(tmp_path / "none"):
        pass
    for edges in (tmp_path / "none", [tmp_path / "none"]):
        graph = headrace.GraphIndex.open(edges, index=False)
        assert [step.node for step in graph.expand("a")] == ["a"]
        assert (graph.stats().edges, graph.to_arrow().num_rows) == (0, 0)
        assert graph.location == str(tmp_path / "none")


def test_a_missing_index_that_was_named_is_reported_by_its_name(source):
    with pytest.raises(GraphIndexError, match="elsewhere: there is no graph index"):
        headrace.GraphIndex.open(source, index="elsewhere", require_index=True).reach()


def test_several_files_have_no_index(tmp_path, source):
    (tmp_path / "more.jsonl").write_bytes(b"")
    with pytest.raises(UsageError, match="several files have no index"):
        headrace.GraphIndex.open(tmp_path, index="one.jnx.graph")
    with pytest.raises(
        UsageError, match=r"and this is 2; name one of them.*query '\$'"
    ):
        headrace.GraphIndex.build(tmp_path, "from", "pred", "to")
    with pytest.raises(
        GraphIndexError, match="a graph index is of one file, and the edges are in 2"
    ):
        headrace.GraphIndex.open(tmp_path, require_index=True).reach()
    with pytest.warns(HeadraceWarning, match="edges are in 2.*all rows are scanned"):
        headrace.GraphIndex.open(tmp_path).reach()


def test_arguments_that_name_no_node_are_refused(graph):
    for seeds in (b"a", bytearray(b"a"), ["a", b"a"], "\udcff", 1.5):
        with pytest.raises(UsageError):
            graph.expand(seeds)
    with pytest.raises(UsageError, match="not a text in UTF-8"):
        graph.expand("a", pred=["\udcff"])
    for name in ("hops", "limit", "most_edges"):
        with pytest.raises(UsageError, match=f"{name} -1: it cannot be below 0"):
            graph.expand("a", **{name: -1})
        assert list(graph.expand("a", **{name: 2**70})) == list(graph.expand("a"))
    assert graph.shortest_path("a", "b", hops=2**70) == graph.shortest_path("a", "b")


@pytest.mark.parametrize("fields", [["from"], ["from", "to"]])
def test_key_indexes_contain_only_nodes_with_edges(source, fields):
    for field in fields:
        headrace.KeyIndex.build(source, field)
    reports = []
    with headrace.GraphIndex.open(
        source, report=lambda *report: reports.append(report)
    ) as graph:
        graph.reach("out")
        assert graph.plan().strategy == "keys"
        found = [node for node in ("a", "b", "7", "c", "zzz") if node in graph]
    assert found == ["a", "b", "7", "c"]
    assert [(trouble.kind, way) for trouble, way in reports] == [("missing", "scan")]


def test_the_fields_of_several_files_are_those_of_the_first_index(tmp_path):
    parts = [tmp_path / "1.jsonl", tmp_path / "2.jsonl"]
    parts[0].write_bytes(b'{"src":"a","dst":"b","from":"a","to":"no"}\n')
    parts[1].write_bytes(b'{"src":"b","dst":"c","from":"b","to":"no"}\n')
    for part in parts:
        headrace.GraphIndex.build(part, "src", None, "dst")
    graph = headrace.GraphIndex.open(parts, report=lambda *_: None)
    assert [step.node for step in graph.expand("a")] == ["a", "b", "c"]


def test_a_damaged_index_is_reported_with_the_fields_that_are_assumed(source):
    path = headrace.GraphIndex.build(source, "from", "pred", "to").path
    path.write_bytes(path.read_bytes()[:-1])
    problems = []
    headrace.GraphIndex.open(
        source, report=lambda *report: problems.append(report[0])
    ).reach()
    assert "taken to be of from, pred, to: name the fields" in problems[-1].reason
    problems.clear()
    headrace.GraphIndex.open(
        source,
        from_field="from",
        pred_field="pred",
        to_field="to",
        report=lambda *report: problems.append(report[0]),
    ).reach()
    assert "taken to be" not in problems[-1].reason


def test_an_index_that_is_empty_is_replaced(source):
    path = headrace.GraphIndex.build(source, "from", "pred", "to").path
    whole = path.read_bytes()
    path.write_bytes(b"")
    headrace.GraphIndex.build(source, "from", "pred", "to")
    assert path.read_bytes() == whole


def test_an_index_replaced_while_it_is_opened_is_opened_again(source, monkeypatch):
    from headrace.api.graph import access

    headrace.GraphIndex.build(source, "from", "pred", "to")
    with source.open("ab") as file:
        file.write(b'{"from":"c","pred":"p","to":"d"}\n')
    continue_aside, calls = access.continue_aside, []

    def continue_later(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            headrace.GraphIndex.build(source, "from", "pred", "to")
            raise SidecarError(str(source), 0, "the delta of another graph index")
        return continue_aside(*arguments)

    monkeypatch.setattr(access, "continue_aside", continue_later)
    graph = headrace.GraphIndex.open(source, report=lambda *_: None)
    assert [step.node for step in graph.expand("c")] == ["c", "d"]
    assert (graph.plan().strategy, len(calls)) == ("graph", 1)


# Tables


def test_arrow(graph, source):
    table = graph.to_arrow()
    assert table.column_names == ["from", "pred", "to", "offset"]
    found = [tuple(row.values()) for row in table.to_pylist()]
    assert found == [
        ("a", "p", "b", 0),
        ("b", "q", "7", 33),
        ("a", "q", "b", 64),
        ("7", "p", "a", 97),
        ("c", "p", "c", 128),
    ]
    scanned = headrace.GraphIndex.open(source, index=False).to_arrow()
    assert scanned.equals(table)


def test_arrow_of_an_index_with_a_delta(graph, source):
    with source.open("ab") as file:
        file.write(b'{"from":"new","pred":"r","to":"a"}\n')
    headrace.GraphIndex.update(source)
    table = headrace.GraphIndex.open(source, require_index=True).to_arrow()
    assert len(table) == 6
    assert table.slice(5).to_pylist() == [
        {"from": "new", "pred": "r", "to": "a", "offset": len(ROWS)}
    ]
    assert table.slice(0, 5).to_pylist() == graph.to_arrow().to_pylist()


def test_arrow_of_edges_without_predicates(source):
    graph = headrace.GraphIndex.open(
        source, from_field="from", to_field="to", index=False
    )
    assert graph.to_arrow().column_names == ["from", "to", "offset"]
    source.write_bytes(b"")
    assert len(headrace.GraphIndex.open(source, index=False).to_arrow()) == 0


def test_arrow_of_an_expansion(graph):
    found = graph.expand(["a", "absent", "c"], 1)
    table = found.to_arrow()
    assert table.to_pylist() == [
        {"node": "a", "level": 0, "via": None},
        {"node": "absent", "level": 0, "via": None},
        {"node": "c", "level": 0, "via": None},
        {"node": "b", "level": 1, "via": "p"},
    ]
    assert found.missing == ["absent"]
    assert len(graph.expand([]).to_arrow()) == 0


@pytest.mark.parametrize("taken", [0, 1])
def test_a_table_is_refused_after_the_first_node_and_for_trees(graph, taken):
    found = graph.expand("a", emit="nodes" if taken else "tree")
    for _ in range(taken):
        next(found)
    with pytest.raises(UsageError, match="all nodes and no edges"):
        found.to_arrow()


def test_networkx(graph):
    networkx = pytest.importorskip("networkx")
    made = graph.to_networkx()
    assert sorted(made.edges(data="pred")) == [
        ("7", "a", "p"),
        ("a", "b", "p"),
        ("a", "b", "q"),
        ("b", "7", "q"),
        ("c", "c", "p"),
    ]
    away = networkx.single_source_shortest_path_length(made, "a")
    assert away == {step.node: step.level for step in graph.expand("a")}


def test_scipy(graph):
    csgraph = pytest.importorskip("scipy.sparse.csgraph")
    matrix, nodes = graph.to_scipy()
    assert nodes == ["a", "b", "7", "c"]
    assert matrix.toarray().tolist() == [
        [0, 2, 0, 0],
        [0, 0, 1, 0],
        [1, 0, 0, 0],
        [0, 0, 0, 1],
    ]
    components, _ = csgraph.connected_components(matrix, directed=False)
    assert components == graph.stats().components


@pytest.mark.parametrize("package", ["networkx", "scipy"])
def test_packages_that_are_not_installed(graph, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, f"{package}.sparse", None)
    with pytest.raises(MissingExtraError, match=package):
        getattr(graph, f"to_{package}")()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"hops": "2"}, "hops must be a whole number, not '2'"),
        ({"hops": 1.5}, "hops must be a whole number, not 1.5"),
        ({"limit": True}, "limit must be a whole number"),
        ({"pred": ["p", None]}, "None: a predicate is named by"),
        ({"pred": 1.5}, "1.5: a predicate is named by a text"),
        ({"pred": b"p"}, "a predicate is named by a text"),
    ],
)
def test_invalid_arguments_are_refused(graph, arguments, said):
    with pytest.raises(UsageError, match=said):
        graph.expand("a", **arguments)


def test_a_predicate_may_be_a_number(tmp_path):
    path = tmp_path / "edges.jsonl"
    path.write_bytes(
        b'{"from":"a","pred":1,"to":"b"}\n{"from":"a","pred":2,"to":"c"}\n'
    )
    with headrace.GraphIndex.open(
        path, from_field="from", pred_field="pred", to_field="to", index=False
    ) as graph:
        for predicates in (1, [1], "1", ["1"]):
            found = graph.expand("a", pred=predicates)
            assert [step.node for step in found] == ["a", "b"]
