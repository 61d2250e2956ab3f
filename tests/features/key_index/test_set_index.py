"""A set index finds the rows of a slow reader, whatever happens to the set."""

import os
import shutil
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.engines.index import set as engine
from headrace.engines.index.kinds import KeyBuild
from headrace.engines.local.index_build import InThreads
from headrace.errors import HeadraceWarning, KeyIndexError
from headrace.kernel.key_index import request_of_json
from headrace.store.shards.opened_set import open_set
from tests.reference.shard_sets import write
from tests.reference.slow_keys import slow_get

VALUES = ["1", "1.0", '"1"', "7", "0", '"a"', '"007"', "true", "null", "[1]", "120"]
LINE = st.one_of(
    st.sampled_from(VALUES).map(lambda value: f'{{"k":{value}}}'),
    st.integers(0, 30).map(lambda number: f'{{"k":{number}}}'),
    st.sampled_from(["{}", '{"k":', "7"]),
)
LINES = st.lists(LINE, max_size=30)
CODEC = st.sampled_from(["zstd", "gzip", "none"])
WANTED_KEYS = ["1", '"1"', '"a"', "7", "29", "120", "true", '"absent"']
STEP = st.tuples(
    st.sampled_from(["append", "append", "append", "overwrite", "compact", "touch"]),
    LINES,
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("sets")


def opened(shards):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadraceWarning)
        return headrace.KeyIndex.open(shards.path, "k")


def compare(shards, lines):
    """Compare the rows found by the index with a slow reader; return the index."""
    index = opened(shards)
    data = "".join(f"{line}\n" for line in lines).encode()
    for key in WANTED_KEYS:
        answers = index.answers([request_of_json(key, ["k"], typed=False)])
        found = [line for _, rows in answers for line in rows.contents()]
        assert found == slow_get(data, ["k"], [key]), key
    return index


def built(shards, segment_rows, **options):
    path = shards.directory / "rows.jnx.k"
    key_build = KeyBuild(("k",), threads=2, **options)
    return engine.build(
        open_set(shards), path, key_build, InThreads(key_build), segment_rows
    )


@given(
    first=LINES,
    steps=st.lists(STEP, max_size=5),
    codec=CODEC,
    rows=st.sampled_from([3, 1000]),
)
def test_a_set_index_finds_the_rows_of_a_scan(place, first, steps, codec, rows):
    directory = place / "set"
    shutil.rmtree(directory, ignore_errors=True)
    lines = list(first)
    shards = write(directory, lines, codec=codec, most=7)
    built(shards, rows)
    assert compare(shards, lines).is_fresh()
    for step, more in steps:
        covered = bool(lines)
        if step == "append":
            lines += more
            shards = write(directory, more, codec=codec, most=7)
        elif step == "overwrite":
            lines = list(more)
            shards = write(directory, more, codec=codec, most=7, overwrite=True)
        elif step == "compact":
            headrace.KeyIndex.compact(directory, "k")
        else:
            for source in shards.sources():
                os.utime(source.location)
        compare(shards, lines)
        if step == "overwrite" and covered:
            with pytest.raises(KeyIndexError, match="other parts now"):
                headrace.KeyIndex.update(directory, "k")
            headrace.KeyIndex.update(directory, "k", full=True)
        else:
            headrace.KeyIndex.update(directory, "k")
        assert compare(shards, lines).is_fresh()
        checked = headrace.KeyIndex.check(directory, "k", deep=True)
        assert (checked["valid"], checked["fresh"]) == (True, True), checked


@given(
    lines=st.lists(LINE, min_size=1, max_size=60), rows=st.sampled_from([2, 10, 1000])
)
def test_an_updated_index_has_the_rows_of_one_built_at_once(place, lines, rows):
    directory = place / "layers"
    shutil.rmtree(directory, ignore_errors=True)
    half = len(lines) // 2
    shards = write(directory, lines[:half], most=4)
    built(shards, rows)
    shards = write(directory, lines[half:], most=4)
    headrace.KeyIndex.update(directory, "k")
    headrace.KeyIndex.compact(directory, "k")
    made = headrace.KeyIndex.stats(directory, "k")
    assert "delta" not in made
    built(shards, rows)
    anew = headrace.KeyIndex.stats(directory, "k")
    same = ("records", "unique_keys", "lines", "skipped", "parts")
    assert [made[name] for name in same] == [anew[name] for name in same]


@given(data=st.data())
def test_damage_is_refused_or_harmless(place, data):
    directory = place / "damaged"
    if not directory.exists():
        lines = [f'{{"k":{number % 13}}}' for number in range(60)]
        shards = write(directory, lines[:50], most=9)
        built(shards, 20)
        write(directory, lines[50:], most=9)
        headrace.KeyIndex.update(directory, "k")
        assert "delta" in headrace.KeyIndex.stats(directory, "k")
    lines = [f'{{"k":{number % 13}}}' for number in range(60)]
    shards = headrace.ShardSet(directory)
    files = sorted((directory / "rows.jnx.k").iterdir())
    path = data.draw(st.sampled_from(files))
    content = path.read_bytes()
    at = data.draw(st.integers(0, len(content) - 1))
    cut = data.draw(st.booleans())
    bit = data.draw(st.integers(0, 7))
    flipped = bytes([content[at] ^ 1 << bit])
    path.write_bytes(
        content[:at] if cut else content[:at] + flipped + content[at + 1 :]
    )
    try:
        compare(shards, lines)
        checked = headrace.KeyIndex.check(directory, "k")
        assert not checked["valid"], "unnoticed damage"
    finally:
        path.write_bytes(content)
    assert headrace.KeyIndex.check(directory, "k")["fresh"]
