"""The option `keys`: the rows of a filter over all rows, read from few blocks."""

import json
import os

import pytest

import headrace
from headrace.engines.spark.source.key_partitions import held
from headrace.engines.spark.source.options import read_options
from headrace.engines.spark.source.partitions import plan
from headrace.errors import HeadraceWarning, UsageError
from headrace.store.files.opened import OpenedFile
from headrace.store.index.subject import subject_of
from tests.reference.shard_sets import write

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def lines_of(numbers):
    return [f'{{"id": {n % 97}, "n": {n}, "word": "w{n}"}}' for n in numbers]


@pytest.fixture(params=["zstd", "gzip", "none"])
def shards(request, tmp_path):
    lines = [
        *lines_of(range(600)),
        '{"id": "7"}',
        '{"id":',
        '{"id": [7]}',
        '{"id": 7.0}',
    ]
    return write(tmp_path, lines, codec=request.param, most=100, block_bytes=200)


def numbers(frame):
    return sorted(row.n if row.n is not None else -1 for row in frame.collect())


EXPECTED = sorted([-1, -1, *(n for n in range(600) if n % 97 in (7, 96))])


@pytest.mark.parametrize("indexed", ["no", "fresh", "grown", "replaced", "damaged"])
def test_rows_are_those_of_the_keys(load, shards, indexed):
    directory, expected = shards.directory, EXPECTED
    if indexed != "no":
        headrace.KeyIndex.build(directory, "id")
    codec = shards.metadata.compression.codec
    if indexed == "grown":
        write(directory, lines_of(range(600, 700)), codec=codec)
        expected = sorted(
            [*expected, *(n for n in range(600, 700) if n % 97 in (7, 96))]
        )
    elif indexed == "replaced":
        write(directory, lines_of(range(50)), codec=codec, overwrite=True)
        expected = [7]
    elif indexed == "damaged":
        (segment,) = (directory / "rows.jnx.id").glob("*.jnx")
        content = bytearray(segment.read_bytes())
        content[70] ^= 1
        segment.write_bytes(content)
    wanted = {"keys": json.dumps([7, "96", "absent"]), "keyField": "id"}
    frame = load(directory, "n long, _offset long, _line long, _file string", **wanted)
    assert numbers(frame) == expected
    # The same without any columns of records, and with a query over it.
    lines = load(directory, "_raw string", **wanted)
    assert lines.count() == len(expected)
    assert numbers(load(directory, "n long", where="n > 100", **wanted)) == [
        n for n in expected if n > 100
    ]
    # The places of rows are the same as without keys.
    every = load(directory, "n long, _offset long, _line long, _file string")
    places = {(row._file, row._offset): row for row in every.collect()}
    for row in frame.collect():
        assert places[row._file, row._offset] == row


def test_columns_are_found_in_the_rows_of_the_keys(load, shards):
    other = write(
        shards.directory,
        ['{"id": 1, "only": 1}', '{"id": 2, "rare": 2}'],
        codec=shards.metadata.compression.codec,
    )
    for _ in range(2):
        frame = load(other.directory, inferSchema="true", keys="[2]", keyField="id")
        assert frame.columns == ["id", "n", "rare", "word"] or set(frame.columns) == {
            "id",
            "n",
            "rare",
            "word",
        }
        headrace.KeyIndex.build(other.directory, "id")


def test_keys_of_a_file(load, shards, tmp_path):
    path = tmp_path / "keys.txt"
    path.write_text("7\n\n96\n")
    headrace.KeyIndex.build(shards.directory, "id")
    frame = load(shards.directory, "n long", keysFile=str(path), keyField="id")
    assert numbers(frame) == EXPECTED


def test_keys_of_several_fields(load, shards):
    headrace.KeyIndex.build(shards.directory, ["id", "n"])
    wanted = {"keys": '[[7, "7"], ["7", 8], [1, 98]]', "keyField": "id,n"}
    assert numbers(load(shards.directory, "n long", **wanted)) == [7, 98]


def blocks_of(partitions):
    """Count the blocks that begin in fragments, by the tables of their files."""
    blocks = 0
    for fragment in (each for partition in partitions for each in partition):
        opened = OpenedFile(fragment.source)
        starts = {opened.table.at_offset(at)[1] for at in range(0, opened.size, 16)}
        blocks += sum(fragment.start <= start < fragment.end for start in starts)
    return blocks


def test_few_blocks_of_many_are_read(spark, load, tmp_path):
    # One row in each block, but for the first of them.
    lines = [f'{{"id": {n}, "text": "{"x" * 60}"}}' for n in range(10_000)]
    shards = write(tmp_path, lines, most=2000, block_bytes=64)
    there = sum(part.blocks for part in shards.metadata.parts)
    assert there >= 10_000
    headrace.KeyIndex.build(tmp_path, "id")
    keys = list(range(0, 10_000, 200))
    wanted = {"keys": json.dumps(keys), "keyField": "id"}
    options = read_options({"path": str(tmp_path), **wanted})
    assert len(keys) <= blocks_of(plan(options, number_rows=False)) < there / 100
    frame = load(tmp_path, "id long", **wanted)
    assert sorted(row.id for row in frame.collect()) == keys


def test_one_file_with_an_index_is_read_in_part(load, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines_of(range(60_000))))
    headrace.KeyIndex.build(path, "n")
    wanted = {"keys": "[5, 59999]", "keyField": "n"}
    options = read_options({"path": str(path), **wanted})
    fragments = [each for part in plan(options, number_rows=True) for each in part]
    assert sum(each.end - each.start for each in fragments) == 2
    assert [each.first_row for each in fragments] == [5, 59_999]
    assert numbers(load(path, "n long", **wanted)) == [5, 59_999]


def test_a_warning_names_an_unusable_index(shards):
    headrace.KeyIndex.build(shards.directory, "id")
    part = shards.directory / shards.metadata.parts[0].path
    content = bytearray(part.read_bytes())
    os.utime(part, ns=(0, 0))
    options = read_options(
        {"path": str(shards.directory), "keys": "[1]", "keyField": "id"}
    )

    def read():
        found = held(subject_of(shards.directory), options)
        return sum(fragment.size for fragment in found)

    # The key is spelled differently and equal.
    assert read() < shards.metadata.total_bytes
    content[len(content) // 2] ^= 1
    part.write_bytes(content)
    with pytest.warns(HeadraceWarning, match="a part of the set was changed"):
        assert read() == shards.metadata.total_bytes


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"keys": "[1]"}, "needs the field"),
        ({"keyField": "id"}, "add option keys or keysFile"),
        ({"keys": "7", "keyField": "id"}, "not a JSON list"),
        ({"keys": "[null]", "keyField": "id"}, "option keys"),
        ({"keys": "[1]", "keysFile": "x", "keyField": "id"}, "one of them"),
        ({"keysFile": "/nowhere/keys", "keyField": "id"}, "/nowhere/keys"),
        ({"keys": "[1]", "keyField": "id,n"}, "option keys"),
        ({"keys": "[1]", "keyField": ""}, "keyField is ''; it names a field"),
        ({"keys": "[1]", "keyField": "[1"}, "option keyField is not a JSON list"),
    ],
)
def test_invalid_options_are_refused(given, message):
    with pytest.raises(UsageError, match=message):
        read_options({"path": "rows", **given})
