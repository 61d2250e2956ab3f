"""Records of a set, with all checks."""

import dataclasses
import pickle
import random
import struct

import pytest

import headrace
from headrace.errors import (
    BadRowError,
    BadSetError,
    DamagedSourceError,
    HeadraceWarning,
    InvalidRecordError,
    UsageError,
)
from headrace.store.shards.metadata import encode
from tests.reference.blocks import rot

RECORDS = [{"i": i, "k": "v"} for i in range(1000)]


@pytest.fixture(params=["none", "gzip", "zstd"])
def out(tmp_path, request):
    with headrace.ShardWriter(
        tmp_path, codec=request.param, max_records=300, block_bytes=1024
    ) as writer:
        writer.write_many(RECORDS)
    return tmp_path


def test_records_come_in_order(out):
    assert list(headrace.ShardSet(out).records()) == RECORDS
    assert list(headrace.ShardSet(out).records(required=["i", "k"])) == RECORDS
    assert list(headrace.ShardSet(out / "rows", None).records()) == RECORDS
    assert next(headrace.ShardSet(out, "rows").records()) == RECORDS[0]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"i": 5}, "the record has no a, k"),
        ([1], "the record is not an object"),
        ("null", "the record is not an object"),
    ],
)
def test_strict_reading_names_part_line_and_byte(tmp_path, bad, reason):
    good = {"a": 1, "k": 2}
    with headrace.ShardWriter(tmp_path, max_records=3) as writer:
        writer.write_many([good, good, good, good])
        writer.write_lines(b" \r\n")
        writer.write_many([bad, good])
    records = headrace.ShardSet(tmp_path).records(required=("k", "a"))
    assert [next(records) for _ in range(4)] == [good] * 4
    with pytest.raises(InvalidRecordError, match=reason) as raised:
        next(records)
    error = raised.value
    assert error.path.endswith("part-00000001.jsonl.zst")
    assert (error.line, error.offset) == (3, 17)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert "validation='trusted'" in str(error)
    assert len(list(headrace.ShardSet(tmp_path).records(validation="trusted"))) == 6


def test_a_line_that_is_not_json_is_named(tmp_path):
    with headrace.ShardWriter(tmp_path, validate=False) as writer:
        writer.write_lines(b'{"a": 1}\n{oops\n')
    for validation in ("strict", "trusted"):
        records = headrace.ShardSet(tmp_path).records(validation=validation)
        assert next(records) == {"a": 1}
        with pytest.raises(BadRowError, match="line 2, byte 10"):
            next(records)


def test_rows_are_counted(out):
    metadata = headrace.ShardSet(out).metadata
    first, second, *rest = metadata.parts
    moved = dataclasses.replace(first, records=first.records + 1)
    after = dataclasses.replace(
        second, records=second.records - 1, first_row=second.first_row + 1
    )
    wrong = dataclasses.replace(metadata, parts=(moved, after, *rest))
    (out / "rows.meta-00000001.json").write_bytes(encode(wrong))
    records = headrace.ShardSet(out).records()
    with pytest.raises(BadSetError, match="it has 300 rows, but the metadata says 301"):
        list(records)


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
@pytest.mark.parametrize("damaged", [[7], [8, 9], [7, 12]])
def test_damage_is_an_error_or_left_out(tmp_path, codec, damaged):
    chance = random.Random(1)
    records = [{"i": i, "noise": chance.randbytes(40).hex()} for i in range(1000)]
    with headrace.ShardWriter(
        tmp_path, codec=codec, max_records=600, block_bytes="4KiB"
    ) as writer:
        writer.write_many(records)
    part, _other = writer.close().parts
    blocks = blocks_of(tmp_path / part.ckpt)
    assert len(blocks) == part.blocks > 13
    content = bytearray((tmp_path / part.path).read_bytes())
    lost = set()
    for block in damaged:
        offset, rows = blocks[block]
        content[offset + 400] ^= 0x55
        lost.update(rows)
    rot(tmp_path / part.path, content)
    with pytest.raises(DamagedSourceError, match="part-00000000"):
        list(headrace.ShardSet(tmp_path).records())
    with pytest.warns(
        HeadraceWarning, match="part-00000000.*rows are left out"
    ) as reported:
        found = list(headrace.ShardSet(tmp_path).records(on_damage="skip"))
    assert len(reported) == len(damaged)
    assert 10 < len(lost) < 200
    assert found == [each for each in records if each["i"] not in lost]


def test_without_a_table_the_rest_of_a_damaged_part_is_left_out(out):
    metadata = headrace.ShardSet(out).metadata
    if metadata.compression.codec == "none":
        pytest.skip("what is not compressed does not notice")
    part = metadata.parts[1]
    (out / part.ckpt).unlink()
    content = bytearray((out / part.path).read_bytes())
    content[: len(content) // 2] = bytes(len(content) // 2)
    content[:10] = (out / part.path).read_bytes()[:10]
    (out / part.path).write_bytes(content)
    with pytest.warns(HeadraceWarning, match="part-00000001"):
        records = list(headrace.ShardSet(out).records(on_damage="skip"))
    assert records[:300] == RECORDS[:300]
    assert records[-400:] == RECORDS[-400:]
    assert len(records) < 1000


def blocks_of(sidecar):
    """Return where each block begins in its file, and its rows."""
    content = sidecar.read_bytes()[512:]
    entries = [
        struct.unpack("<QQQIII", content[at : at + 36])
        for at in range(0, len(content), 48)
    ]
    return [(entry[2], range(entry[0], entry[0] + entry[5])) for entry in entries]


@pytest.mark.parametrize(
    "options",
    [{"validation": "lax"}, {"on_damage": "ignore"}, {"required": "key"}],
    ids=str,
)
def test_invalid_options(out, options):
    with pytest.raises(UsageError):
        headrace.ShardSet(out).records(**options)
