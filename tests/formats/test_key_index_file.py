"""The bytes of key indexes: independent readers, and old files."""

import shutil
from pathlib import Path

import pytest

import headrace
from tests.reference.jnx_v1 import COMPOSITE, UNIQUE, LookupIndex, records
from tests.reference.slow_keys import key_of

DATA = Path(__file__).parent / "data"
ROWS = b"""\
{"id":"abc","n":1}
{"id":7,"n":2}
not json
{"id":"","n":3}
{"id":"7","n":4}
{"id":null,"n":5}
{"id":"abc","n":6}
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_bytes(ROWS)
    return path


def test_a_reader_that_knows_the_seed_alone_finds_every_record(source):
    built = headrace.KeyIndex.build(source, "id")
    index = LookupIndex(built.path)
    assert index.flags & (UNIQUE | COMPOSITE) == 0
    assert (index.key_count, len(index.all_offsets)) == (3, 5)
    assert index.source_size == len(ROWS)
    assert index.source_mtime == source.stat().st_mtime_ns
    assert index.hashes == sorted(index.hashes)
    ours = headrace.KeyIndex.open(source, "id")
    for key in ("abc", "7", "", "none"):
        found = [line.rstrip(b"\n") for line in records(source, index.lookup(key))]
        with headrace.open(source, raw=True) as ds:
            assert found == ds.get("id", key)
        assert index.lookup(key) == list(ours.lookup(key))


def test_such_a_reader_reads_any_number_of_keys(tmp_path):
    source = tmp_path / "data.jsonl"
    lines = [b'{"k":%d,"l":"x"}' % (n * 7 % 3001) for n in range(5000)]
    source.write_bytes(b"\n".join(lines) + b"\n")
    built = headrace.KeyIndex.build(source, ["k", "l"], memory="1MiB")
    index = LookupIndex(built.path)
    assert index.flags & COMPOSITE
    assert index.hashes == sorted(index.hashes)
    expected = {}
    for line in lines:
        _values, (number, text) = key_of(line, ["k", "l"])
        expected.setdefault(f'["{number}","{text}"]', []).append(line + b"\n")
    assert len(expected) == index.key_count == 3001
    for key, found in expected.items():
        assert list(records(source, index.lookup(key))) == found


def test_hashes_equal_published_values(source):
    index = LookupIndex(headrace.KeyIndex.build(source, "id").path)
    hashes = dict(zip(index.offsets, index.hashes, strict=True))
    # XXH3, 64 bits, seed 0, as published with the algorithm.
    assert hashes["abc"] == 0x78AF5F94892F3950
    assert hashes[""] == 0x2D06800538D394C2


def test_the_header_stores_unique(source):
    source.write_bytes(b'{"id":1}\n')
    built = headrace.KeyIndex.build(source, "id", mode="unique")
    assert LookupIndex(built.path).flags & UNIQUE


@pytest.mark.parametrize("version", [1, 2])
def test_files_of_a_version_are_read_forever(tmp_path, version):
    source = tmp_path / "data.jsonl"
    source.write_bytes(ROWS)
    shutil.copy(DATA / f"keys-v{version}.jnx", f"{source}.jnx")
    index = headrace.KeyIndex.open(source, "id", require_index=True)
    assert [row["n"] for row in index.get("abc")] == [1, 6]
    assert [row["n"] for row in index.get(7)] == [2, 4]
    assert index.get("none") == []
    assert headrace.KeyIndex.check(source)["valid"]


@pytest.mark.parametrize("version", [1, 2])
def test_the_same_source_gives_the_same_bytes(source, tmp_path, version):
    made = [
        headrace.KeyIndex.build(
            source,
            "id",
            index_version=version,
            threads=threads,
            memory=memory,
            index=tmp_path / f"{threads}.jnx",
        ).path.read_bytes()
        for threads, memory in [(1, "256MiB"), (2, "1MiB")]
    ]
    assert made[0] == made[1]
