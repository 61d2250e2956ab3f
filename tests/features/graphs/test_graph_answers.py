"""A graph gives the answers of a slow search, with every access to its edges."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.kernel.graph import Followed, Reached
from tests.reference.slow_graph import edges_at, edges_in, expand

END = st.sampled_from(['"a"', '"b"', '"c"', '"d"', "1", '"1"', '"é"', "null"])
PRED = st.sampled_from(['"p"', '"q"', '""', "2"])
LINE = st.one_of(
    st.tuples(END, PRED, END).map(
        lambda edge: '{{"from":{},"pred":{},"to":{}}}'.format(*edge)
    ),
    st.sampled_from(["", "oops", '{"from":"a","to":"b"}']),
)
LINES = st.lists(LINE, max_size=30)
NODE = st.sampled_from(["a", "b", "c", "d", "1", "é", "absent"])
DIRECTION = st.sampled_from(["out", "in", "both"])
PREDICATES = st.none() | st.lists(st.sampled_from(["p", "q", "", "2", "no"]))
OPTIONS = st.fixed_dictionaries(
    {
        "hops": st.none() | st.integers(0, 4),
        "pred": PREDICATES,
        "direction": DIRECTION,
        "emit": st.sampled_from(["nodes", "edges", "tree"]),
        "limit": st.none() | st.integers(0, 6),
        "most_edges": st.none() | st.integers(0, 3),
    }
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("graphs")


def fresh(directory, data):
    for path in directory.iterdir():
        path.unlink()
    source = directory / "edges.jsonl"
    source.write_bytes(data)
    return source


def text(lines):
    return "".join(f"{line}\n" for line in lines).encode()


def by_scan(source):
    return headrace.GraphIndex.open(source, index=False)


def by_keys(source):
    for field in ("from", "to"):
        headrace.KeyIndex.build(source, field)
    return headrace.GraphIndex.open(source, require_index=True)


def by_graph(source):
    headrace.GraphIndex.build(source, "from", "pred", "to", incoming=True)
    return headrace.GraphIndex.open(source, require_index=True)


def by_graph_without_incoming_edges(source):
    headrace.GraphIndex.build(source, "from", "pred", "to")
    return headrace.GraphIndex.open(source, report=lambda *_: None)


def by_a_scan_of_several_files(source):
    """Divide the rows into three files; offsets are those of one file."""
    lines = source.read_bytes().splitlines(keepends=True)
    cuts = [0, len(lines) // 3, len(lines) // 2, len(lines)]
    parts = [source.with_name(f"{number}.jsonl") for number in range(3)]
    for number, part in enumerate(parts):
        part.write_bytes(b"".join(lines[cuts[number] : cuts[number + 1]]))
    return headrace.GraphIndex.open(parts, index=False)


WAYS = [
    by_scan,
    by_keys,
    by_graph,
    by_graph_without_incoming_edges,
    by_a_scan_of_several_files,
]


def nodes_of(edges):
    return {end for start, _, stop, _ in edges for end in (start, stop)}


@given(
    lines=LINES,
    way=st.sampled_from(WAYS),
    seeds=st.lists(NODE, max_size=3),
    options=OPTIONS,
)
def test_expansions_equal_a_slow_search(directory, lines, way, seeds, options):
    data = text(lines)
    edges = list(edges_in(data))
    with way(fresh(directory, data)) as graph:
        found = graph.expand(seeds, **options)
        steps = [tuple(step) for step in found]
        assert (steps, found.truncated) == expand(edges, seeds, **options)
        if options["emit"] == "nodes":
            again = graph.expand(seeds, **options)
            table = again.to_arrow().to_pylist()
            assert [tuple(row.values()) for row in table] == steps
            assert (again.missing, again.truncated, again.capped) == (
                found.missing,
                found.truncated,
                found.capped,
            )
        which = {name: options[name] for name in ("direction", "pred")}
        for node in seeds:
            slow = edges_at(edges, node, **which)
            assert list(graph.neighbors(node, **which)) == list(
                dict.fromkeys(other for _, other, _, _ in slow)
            )


@given(
    lines=LINES,
    start=NODE,
    goal=NODE,
    hops=st.none() | st.integers(0, 4),
    pred=PREDICATES,
    direction=DIRECTION,
)
def test_shortest_paths_equal_a_slow_search(
    directory, lines, start, goal, hops, pred, direction
):
    data = text(lines)
    edges = list(edges_in(data))
    options = {"hops": hops, "pred": pred, "direction": direction}
    answers = []
    for way in WAYS:
        with way(fresh(directory, data)) as graph:
            answers.append(graph.shortest_path(start, goal, **options))
            assert graph.shortest_path(start, goal, **options) == answers[-1]
    assert answers[1:] == answers[:-1]
    found = answers[0]
    # The path from a node to itself exists even if the node does not.
    levels = {start: 0}
    if {start, goal} <= nodes_of(edges):
        reached, _ = expand(edges, [start], **options)
        levels = {node: level for node, level, _ in reached}
    assert (None if found is None else len(found) // 2) == levels.get(goal)
    if found is None:
        return
    assert (found[0], found[-1].node) == (Reached(start, 0, None), goal)
    at = start
    for edge, node in zip(found[1::2], found[2::2], strict=True):
        assert isinstance(edge, Followed)
        assert (edge.from_, edge.pred, edge.to, edge.offset) in edges
        assert {at, node.node} == {edge.from_, edge.to}
        assert direction != "out" or at == edge.from_
        assert direction != "in" or at == edge.to
        assert pred is None or edge.pred in pred
        at = node.node


@given(lines=LINES, way=st.sampled_from(WAYS[0:1] + WAYS[2:]))
def test_the_whole_graph(directory, lines, way):
    data = text(lines)
    edges = list(edges_in(data))
    with way(fresh(directory, data)) as graph:
        stats, table = graph.stats(), graph.to_arrow()
    assert [tuple(row.values()) for row in table.to_pylist()] == edges
    assert (stats.nodes, stats.edges) == (len(nodes_of(edges)), len(edges))
    assert stats.loops == sum(start == stop for start, _, stop, _ in edges)
    assert stats.predicates == Counter(pred for _, pred, _, _ in edges)
    for degrees, end in ((stats.out, 0), (stats.in_, 2)):
        slow = Counter(edge[end] for edge in edges)
        assert degrees.none == len(nodes_of(edges)) - len(slow)
        assert sum(degrees.powers) == len(slow)
        assert degrees.most == max(slow.values(), default=0)
    components = {
        frozenset(step[0] for step in expand(edges, [node], direction="both")[0])
        for node in nodes_of(edges)
    }
    assert stats.components == len(components)
    assert stats.largest_component == max(map(len, components), default=0)


@given(
    lines=LINES,
    seeds=st.lists(NODE, max_size=3),
    options=OPTIONS,
    place=st.integers(0, 100_000),
    bit=st.integers(0, 7),
)
def test_damage_changes_no_answer(directory, lines, seeds, options, place, bit):
    data = text(lines)
    edges = list(edges_in(data))
    source = fresh(directory, data)
    path = headrace.GraphIndex.build(source, "from", "pred", "to", incoming=True).path
    damaged = bytearray(path.read_bytes())
    damaged[place % len(damaged)] ^= 1 << bit
    path.write_bytes(damaged)
    with headrace.GraphIndex.open(source, report=lambda *_: None) as graph:
        found = graph.expand(seeds, **options)
        steps = [tuple(step) for step in found]
        assert (steps, found.truncated) == expand(edges, seeds, **options)
        assert graph.to_arrow().num_rows == graph.stats().edges == len(edges)
    with headrace.GraphIndex.open(source, report=lambda *_: None) as graph:
        table = graph.expand(seeds, **(options | {"emit": "nodes"})).to_arrow()
        nodes = [step for step in steps if len(step) == 3]
        assert [tuple(row.values()) for row in table.to_pylist()] == nodes
