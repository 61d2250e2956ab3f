"""Indexes built by tasks and by threads have the same bytes."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.engines.index.kinds import GraphBuild, KeyBuild
from headrace.engines.local import index_build
from headrace.errors import DuplicateKeyError, StrictRowError
from headrace.kernel.graph import EdgeFields
from headrace.store.files.source import expand
from tests.reference.compressed import FORMS
from tests.reference.index_jobs import build_by_tasks, leftovers

FORM = st.sampled_from(
    [
        "plain",
        "gzip, a block a line",
        "gzip, blocks of lines",
        "zstd, blocks of lines",
        "zstd, cut anywhere",
    ]
)
VALUE = st.sampled_from(
    ["1", "1.0", '"1"', "9007199254740993", '"a"', '"\\u0061"', '""', '"né"', "true"]
)
HOT = st.just('{"k":"hot","f":"hub","p":"is","t":"hub"}')
LINE = st.one_of(
    HOT,
    st.builds('{{"k":{0},"f":{1},"p":"is","t":{0}}}'.format, VALUE, VALUE),
    st.builds('{{"k":{0},"f":{1},"t":{0}}}'.format, VALUE, VALUE),
    st.integers(0, 10**9).map('{{"k":{0},"f":{0},"p":{0},"t":7}}'.format),
    st.sampled_from(["", " ", "{}", '{"k":null}', '{"k":[1],"f":{}}', '{"k":01}']),
)
LAST = st.sampled_from(["", '{"k":"a","f":1,"p":2,"t":3}', '{"k":', "{}", " "])
FILE = st.tuples(FORM, st.lists(LINE, max_size=60), LAST)
FILES = st.lists(FILE, min_size=1, max_size=3)
EDGES = EdgeFields("f", "p", "t")
BUILDS = st.sampled_from(
    [
        KeyBuild(("k",)),
        KeyBuild(("k",), version=1),
        KeyBuild(("k",), version=2),
        KeyBuild(("k", "f")),
        KeyBuild(("k",), unique=True),
        GraphBuild(EDGES),
        GraphBuild(EDGES, reverse=True),
        GraphBuild(EdgeFields("f", None, "t"), reverse=True, version=2),
    ]
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("jobs")


def written(directory, files):
    """Write files of blocks and others; return the seekable ones."""
    for path in directory.iterdir():
        path.unlink()
    paths = []
    for number, (form, lines, last) in enumerate(files):
        path = directory / f"{number}.jsonl"
        text = "".join(line + "\n" for line in lines) + last
        path.write_bytes(FORMS[form](text.encode()))
        if expand(path)[0].seekable:
            paths.append(path)
    return paths


def outcome(build, paths, options):
    """Return the indexes that were built, the skipped rows, and the error."""
    skipped = []
    error = None
    try:
        build(paths, replace(options, skipped=skipped.extend))
    except (DuplicateKeyError, StrictRowError) as raised:
        error = type(raised), raised.args
    indexes = {}
    for path in paths:
        index = path.with_name(path.name + ".jnx")
        if index.exists():
            indexes[path.name] = index.read_bytes()
            index.unlink()
    return indexes, skipped, error


def build_here(paths, options):
    for path in paths:
        (source,) = expand(path)
        index_build.build(source, path.with_name(path.name + ".jnx"), options)


@settings(deadline=None)
@given(
    files=FILES,
    options=BUILDS,
    strict=st.booleans(),
    memory=st.sampled_from([1 << 10, 1 << 20]),
    fragment=st.integers(20, 3000),
    partition=st.integers(20, 4000),
)
def test_tasks_and_threads_build_the_same_index(
    directory, files, options, strict, memory, fragment, partition
):
    paths = written(directory, files)
    options = replace(options, strict=strict, memory=memory, fragment_bytes=fragment)

    def by_tasks(paths, options):
        build_by_tasks(paths, options, partition)

    here = outcome(build_here, paths, replace(options, threads=2))
    there = outcome(by_tasks, paths, options)
    assert there[0] == here[0]
    assert there[2] == here[2]
    if here[2] is None:
        assert there[1] == here[1]
    assert leftovers(directory) == []
