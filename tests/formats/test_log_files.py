"""Logs of every released version can be read and continued."""

import json
import shutil
import struct
from pathlib import Path

import pytest

import headrace
from headrace.errors import LogDamagedError
from headrace.kernel.checksum import crc32c
from headrace.store.log.report.check import check_log

VERSION_1 = Path(__file__).parent / "data" / "log-v1"
VALUES = [
    {"n": n, "E": 1_600_000_000_000 + n} if n % 2 else {"n": n} for n in range(7)
] + ["crlf", None]


@pytest.fixture
def version_1(tmp_path):
    directory = tmp_path / "log"
    shutil.copytree(VERSION_1, directory)
    return directory


def test_version_1_is_read(version_1):
    log = headrace.Log(version_1)
    assert list(log) == VALUES
    assert [log.get(line) for line in range(1, 10)] == VALUES
    checked = list(check_log(version_1, deep=True))
    assert [(each.rows, each.faults, each.notes) for each in checked] == [
        (3, [], [])
    ] * 3


def test_version_1_can_be_continued(version_1):
    assert headrace.Log(version_1).recover().actions == []
    with headrace.LogWriter(version_1, time="$.E") as log:
        assert log.append(9) == 10
    assert list(headrace.Log(version_1)) == [*VALUES, 9]


def test_indexes_of_version_1_can_be_rebuilt(version_1):
    before = {path.name: path.read_bytes() for path in version_1.glob("*.idx")}
    assert len(before) == 3
    for name in before:
        (version_1 / name).unlink()
    headrace.Log(version_1).recover()
    assert list(headrace.Log(version_1)) == VALUES
    for name, content in before.items():
        made = (version_1 / name).read_bytes()
        assert (made[:256], len(made)) == (content[:256], len(content))


def test_the_bytes_of_an_index():
    """Reads an index as docs/formats/log.md describes it; only the checksum is our code."""
    content = (VERSION_1 / f"{6:020d}.jsonl.idx").read_bytes()
    data = (VERSION_1 / f"{6:020d}.jsonl").read_bytes()
    assert data == b'{"n":6}\n"crlf"\r\n\n'
    header = json.loads(content[:256])
    assert header == {
        "type": "header",
        "magic": "NDIX",
        "version": 1,
        "fileNumber": 3,
        "globalLineOffset": 6,
        "entrySize": 56,
        "offsetSpace": "logical",
        "salt": "1234abcd",
        "crc32c": header["crc32c"],
    }
    zeroed = content[:256].replace(header["crc32c"].encode(), b"00000000")
    assert f"{crc32c(zeroed):08x}" == header["crc32c"]
    found = [
        struct.unpack_from("<QQqQIIBBHII", content, 256 + 56 * n) for n in range(3)
    ]
    spans = [(0, 8), (8, 16), (16, 17)]
    for row, (entry, (start, end)) in enumerate(zip(found, spans, strict=True)):
        flags = [0, 1, 2][row]
        checksum = crc32c(data[start:end])
        time = entry[2]
        assert entry == (
            start,
            end,
            time,
            7 + row,
            1 + row,
            3,
            0,
            flags,
            0,
            checksum,
            0,
        )
        assert time >= 1_700_000_000_000
    assert len(content) == 256 + 3 * 56
    extracted = (VERSION_1 / f"{0:020d}.jsonl.idx").read_bytes()
    entry = struct.unpack_from("<QQqQIIB", extracted, 256 + 56)
    assert (entry[2], entry[6]) == (1_600_000_000_001, 1)


def test_a_newer_version_is_refused_by_its_number(version_1):
    path = version_1 / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"version": 1', b'"version": 2'))
    with pytest.raises(LogDamagedError, match="this headrace reads version 1"):
        len(headrace.Log(version_1))
