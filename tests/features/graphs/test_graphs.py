"""Expansion in the core equals a slow search, with every access to edges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.api.graph.access import Wanted, edge_files, reach_edges
from headrace.engines.index.kinds import GraphBuild
from headrace.engines.local.index_build import build, update
from headrace.kernel.graph import EdgeFields, steps
from headrace.kernel.rows import SidecarError, reading
from headrace.store.index.graph import INDEXES
from headrace.store.index.stored_index import Where
from headrace.store.index.subject import one_source
from tests.reference.slow_graph import edges_at, edges_in, expand

FIELDS = EdgeFields("from", "pred", "to")
END = st.sampled_from(
    ['"a"', '"b"', '"c"', '"d"', '"e"', "1", '"1"', '"é"', "null", "[]"]
)
PRED = st.sampled_from(['"p"', '"q"', '""', "null"])
LINE = st.one_of(
    st.tuples(END, PRED, END).map(
        lambda edge: '{{"from":{},"pred":{},"to":{}}}'.format(*edge)
    ),
    st.sampled_from(["", "oops", '{"from":"a","to":"b"}', "[1]", '{"from":"a"}']),
)
LINES = st.lists(LINE, max_size=40)
NODE = st.sampled_from(["a", "b", "c", "d", "e", "1", "é", "absent"])
DIRECTION = st.sampled_from(["out", "in", "both"])
OPTIONS = st.fixed_dictionaries(
    {
        "hops": st.none() | st.integers(0, 4),
        "pred": st.none() | st.lists(st.sampled_from(["p", "q", "", "no"])),
        "direction": DIRECTION,
        "emit": st.sampled_from(["nodes", "edges", "tree"]),
        "limit": st.none() | st.integers(0, 6),
        "most_edges": st.none() | st.integers(0, 3),
    }
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("graphs")


def text(lines, last=""):
    return ("".join(line + "\n" for line in lines) + last).encode()


def fresh(directory, data):
    for path in directory.iterdir():
        path.unlink()
    source = directory / "edges.jsonl"
    source.write_bytes(data)
    return source


def for_core(options):
    """Return options with their names in the core."""
    names = {"pred": "predicates"}
    return {names.get(name, name): value for name, value in options.items()}


def reached(source, direction="both", fields=FIELDS):
    troubles = []
    wanted = Wanted(
        fields,
        direction,
        Where(),
        False,
        1 << 20,
        1,
        lambda trouble, _strategy: troubles.append(trouble),
    )
    return reach_edges(edge_files(source), wanted), [error.kind for error in troubles]


def prepare_nothing(source):
    return "scan", ["missing"]


def prepare_graph(source):
    headrace.GraphIndex.build(source, *FIELDS, incoming=True)
    return "graph", []


def prepare_keys(source):
    headrace.KeyIndex.build(source, "from")
    headrace.KeyIndex.build(source, "to", index_version=2)
    return "keys", []


def prepare_grown(source):
    """Build an index of the first half, a delta of some more, and leave the rest."""
    data = source.read_bytes()
    source.write_bytes(data[: len(data) // 2])
    options = GraphBuild(FIELDS, reverse=True)
    path = source.with_name(source.name + ".jnx.graph")
    build(one_source(source), path, options)
    if len(data) >= 4:
        source.write_bytes(data[: len(data) * 3 // 4])
        update(one_source(source), INDEXES.read(path), options)
    source.write_bytes(data)
    return "graph", None


@given(
    lines=LINES,
    last=st.sampled_from(["", '{"from":"a","pred":"q","to":"e"}', '{"from":']),
    seeds=st.lists(NODE, max_size=3),
    options=OPTIONS,
    how=st.sampled_from([prepare_nothing, prepare_graph, prepare_keys, prepare_grown]),
)
def test_every_access_gives_the_edges_of_a_slow_search(
    directory, lines, last, seeds, options, how
):
    data = text(lines, last)
    source = fresh(directory, data)
    expected_path, expected_troubles = how(source)
    reach, troubles = reached(source)
    assert reach.strategy == expected_path
    if expected_troubles is not None:
        assert troubles == expected_troubles
    edges = list(edges_in(data))
    expansion = reach.access.expand(seeds, **for_core(options))
    found = [tuple(step) for step in steps(expansion)]
    assert (found, expansion.truncated) == expand(edges, seeds, **options)
    known = {end for start, _, stop, _ in edges for end in (start, stop)}
    if options["limit"] is None:
        assert set(expansion.missing) == set(seeds) - known
    for node in {*seeds, "a"}:
        which = {name: options[name] for name in ("direction", "pred")}
        slow = edges_at(edges, node, **which) if node in known else None
        assert reach.access.edges(node, **for_core(which)) == slow


@given(lines=LINES, start=NODE, goal=NODE, direction=DIRECTION)
def test_a_path_has_as_many_edges_as_the_distance_of_its_goal(
    directory, lines, start, goal, direction
):
    data = text(lines)
    source = fresh(directory, data)
    access = reached(source)[0].access
    edges = list(edges_in(data))
    known = {end for first, _, stop, _ in edges for end in (first, stop)}
    if {start, goal} - known:
        with pytest.raises(LookupError):
            access.shortest_path(start, goal, direction=direction)
        return
    way = access.shortest_path(start, goal, direction=direction)
    levels = {
        step[0]: step[1] for step in expand(edges, [start], direction=direction)[0]
    }
    assert (None if way is None else len(way)) == levels.get(goal)
    at = start
    for pred, node, offset, outgoing in way or ():
        assert (pred, node, offset, outgoing) in edges_at(edges, at, direction)
        at = node
    assert way is None or at == goal


@given(lines=LINES, edit=st.integers(0, 10_000), kind=st.integers(0, 2))
def test_a_damaged_or_stale_index_changes_nothing(directory, lines, edit, kind):
    data = text(lines)
    source = fresh(directory, data)
    path = headrace.GraphIndex.build(source, *FIELDS, incoming=True).path
    if kind == 0:
        damaged = bytearray(path.read_bytes())
        damaged[edit % len(damaged)] ^= 1 << (edit % 8)
        path.write_bytes(damaged)
    elif kind == 1:
        path.write_bytes(path.read_bytes()[: edit % path.stat().st_size])
    else:
        data = b'{"from":"d","pred":"p","to":"a"}\n' + data
        source.write_bytes(data)
    edges = list(edges_in(data))
    reach, _troubles = reached(source)
    try:
        with reading(str(path)):
            found = [tuple(step) for step in steps(reach.access.expand(["a", "b"]))]
    except SidecarError:
        if kind > 0:
            raise
        # A block that was not read before.
        return
    assert found == expand(edges, ["a", "b"])[0]
