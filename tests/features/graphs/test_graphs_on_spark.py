"""Expansion by tasks equals expansion in one process, with every access to edges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.physical import hops
from tests.examples import often
from tests.features.graphs.test_graph_answers import LINES, NODE, OPTIONS, text
from tests.reference.edge_tasks import IN_PROCESS
from tests.reference.slow_graph import edges_in, expand

LAST = st.sampled_from(["", '{"from":"a","pred":"q","to":"d"}', '{"from":'])


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("graphs")


def write(directory, parts):
    """Write files of edges, in the order of their names."""
    for path in directory.iterdir():
        path.unlink()
    paths = [directory / f"{number}.jsonl" for number in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        path.write_bytes(part)
    return paths


def no_index(_path):
    pass


def graph_index(path):
    headrace.GraphIndex.build(path, "from", "pred", "to", incoming=True)


def graph_index_without_incoming_edges(path):
    headrace.GraphIndex.build(path, "from", "pred", "to")


def key_indexes(path):
    for field in ("from", "to"):
        headrace.KeyIndex.build(path, field)


def updated_graph_index(path):
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    graph_index(path)
    path.write_bytes(data)
    headrace.GraphIndex.update(path)


INDEXES = [
    no_index,
    graph_index,
    graph_index_without_incoming_edges,
    key_indexes,
    updated_graph_index,
]


def outcome(found):
    steps = [tuple(step) for step in found]
    return steps, found.missing, found.unknown, found.truncated, found.capped


@often(3)
@given(
    lines=LINES,
    last=LAST,
    index=st.sampled_from(INDEXES),
    seeds=st.lists(NODE, max_size=4),
    options=OPTIONS,
    few=st.integers(0, 3),
    held=st.integers(0, 3),
    size=st.integers(1, 400),
)
def test_one_file(
    directory, monkeypatch, lines, last, index, seeds, options, few, held, size
):
    # The levels of one search use different accesses.
    monkeypatch.setattr(hops, "FEW", few)
    monkeypatch.setattr(hops, "MOST_HELD", held)
    (path,) = write(directory, [text(lines) + last.encode()])
    index(path)
    with headrace.GraphIndex.open(path, report=lambda *_: None) as graph:
        expected = outcome(graph.expand(seeds, **options))
        spark = graph.on_spark(partition_bytes=size, _tasks=IN_PROCESS)
        assert outcome(spark.expand(seeds, **options)) == expected


@often(2.5)
@given(
    parts=st.lists(LINES, min_size=1, max_size=3),
    indexes=st.lists(st.sampled_from(INDEXES), min_size=3, max_size=3),
    same=st.booleans(),
    seeds=st.lists(NODE, max_size=4),
    options=OPTIONS,
    few=st.integers(0, 3),
    held=st.integers(0, 3),
    size=st.integers(1, 400),
)
def test_several_files_are_one_after_the_other(
    directory,
    monkeypatch,
    parts,
    indexes,
    same,
    seeds,
    options,
    few,
    held,
    size,
):
    monkeypatch.setattr(hops, "FEW", few)
    monkeypatch.setattr(hops, "MOST_HELD", held)
    data = [text(lines) for lines in parts]
    for path, index in zip(write(directory, data), indexes, strict=False):
        (indexes[0] if same else index)(path)
    edges = list(edges_in(b"".join(data)))
    with headrace.GraphIndex.open(directory, report=lambda *_: None) as graph:
        found = graph.on_spark(partition_bytes=size, _tasks=IN_PROCESS).expand(
            seeds, **options
        )
        steps = [tuple(step) for step in found]
    assert (steps, found.truncated) == expand(edges, seeds, **options)


@often(1.5)
@given(
    lines=LINES,
    seeds=st.lists(NODE, max_size=3),
    options=OPTIONS,
    place=st.integers(0, 100_000),
    bit=st.integers(0, 7),
)
def test_damage_changes_no_answer(directory, lines, seeds, options, place, bit):
    data = text(lines)
    (path,) = write(directory, [data])
    index = headrace.GraphIndex.build(path, "from", "pred", "to", incoming=True).path
    damaged = bytearray(index.read_bytes())
    damaged[place % len(damaged)] ^= 1 << bit
    index.write_bytes(damaged)
    with headrace.GraphIndex.open(path, report=lambda *_: None) as graph:
        found = graph.on_spark(_tasks=IN_PROCESS).expand(seeds, **options)
        steps = [tuple(step) for step in found]
    assert (steps, found.truncated) == expand(list(edges_in(data)), seeds, **options)
