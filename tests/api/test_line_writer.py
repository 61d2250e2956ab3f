"""Writing one file of lines."""

import gzip
import os
import subprocess
from decimal import Decimal

import pytest

import headrace
from headrace.errors import (
    BadRecordError,
    HeadraceWarning,
    JsonTooLargeError,
    UnwritableError,
    UsageError,
)

RECORDS = [{"i": i, "text": "wört" * (i % 7)} for i in range(500)]
NAMES = ["rows.jsonl", "rows.jsonl.gz", "rows.jsonl.zst"]


def names(directory):
    return sorted(
        path.name for path in directory.iterdir() if not path.name.endswith(".ckpt")
    )


@pytest.mark.parametrize("name", NAMES)
def test_written_records_are_read_back(tmp_path, name):
    path = tmp_path / name
    with headrace.LineWriter(path, block_bytes="1KiB") as writer:
        writer.write_many(RECORDS[:100])
        writer.write_lines(b"".join(b"%d\n" % i for i in range(300)))
        assert not path.exists()
        (temporary,) = tmp_path.iterdir()
        assert writer.bytes_written == temporary.stat().st_size > 0
    assert list(headrace.open(path)) == [*RECORDS[:100], *range(300)]
    assert (writer.records, writer.bytes_written) == (400, path.stat().st_size)
    assert names(tmp_path) == [name]


@pytest.mark.parametrize("name", NAMES)
def test_the_codec_is_that_of_the_name(tmp_path, name):
    with headrace.LineWriter(tmp_path / name) as writer:
        writer.write(1)
    codec = {"l": "none", "z": "gzip", "t": "zstd"}[name[-1]]
    assert headrace.open(tmp_path / name).sources[0].codec == codec
    with headrace.LineWriter(tmp_path / name, codec="gzip") as writer:
        writer.write(1)
    assert gzip.decompress((tmp_path / name).read_bytes()) == b"1\n"


@pytest.mark.parametrize(
    ("name", "tool"),
    [("rows.jsonl", "cat"), ("rows.jsonl.gz", "zcat"), ("rows.jsonl.zst", "zstdcat")],
)
def test_a_file_without_records_is_empty_for_other_tools(tmp_path, name, tool):
    path = tmp_path / name
    with headrace.LineWriter(path):
        pass
    assert list(headrace.open(path)) == []
    try:
        done = subprocess.run([tool, path], capture_output=True, check=True)
    except FileNotFoundError:
        pytest.skip(f"there is no {tool}")
    assert done.stdout == b""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file(tmp_path, name, error):
    path = tmp_path / name
    path.write_bytes(b"old\n")

    def fail():
        with headrace.LineWriter(path, block_bytes=100) as writer:
            writer.write_many(RECORDS)
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_bytes() == b"old\n"
    assert names(tmp_path) == [name]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_would_be_too_large_is_not_made(tmp_path, name):
    noise = [{"i": i, "noise": os.urandom(100).hex()} for i in range(100)]
    path = tmp_path / name
    with (
        pytest.raises(JsonTooLargeError, match="does not fit any more") as raised,
        headrace.LineWriter(path, max_bytes="4KiB") as writer,
    ):
        writer.write_many(noise)
    assert 10 < raised.value.record < 100
    assert (raised.value.limit, raised.value.length) == (4096, None)
    assert "write a set of shards" in str(raised.value)
    assert names(tmp_path) == []
    with headrace.LineWriter(path, max_bytes="4KiB") as writer:
        writer.write_many(noise[: raised.value.record - 1])
    assert path.stat().st_size <= 4096


@pytest.mark.parametrize("name", NAMES)
def test_a_record_that_fits_in_no_file_is_refused_whole(tmp_path, name):
    with headrace.LineWriter(tmp_path / name, max_bytes="1KiB") as writer:
        writer.write(1)
        with pytest.raises(JsonTooLargeError, match="record 2, 4014 bytes long"):
            writer.write({"random": os.urandom(2000).hex()})
        writer.write(3)
    assert list(headrace.open(tmp_path / name)) == [1, 3]


def test_bad_records(tmp_path):
    path = tmp_path / "rows.jsonl"
    with headrace.LineWriter(path, on_error="skip") as writer:
        writer.write_lines(b"1\n{\n2\n")
    assert (writer.records, writer.skipped) == (2, 1)
    with (
        pytest.raises(BadRecordError, match=r"rows\.jsonl: record 2, byte 1"),
        headrace.LineWriter(path) as writer,
    ):
        writer.write_lines(b"5\n{\n2\n")
    assert list(headrace.open(path)) == [1, 2]


def test_an_old_sidecar_is_removed_and_a_foreign_file_stays(tmp_path):
    path = tmp_path / "rows.jsonl"
    sidecar = tmp_path / "rows.jsonl.ckpt"
    sidecar.write_bytes(b'{"magic":"NDCK"}')
    with headrace.LineWriter(path) as writer:
        writer.write(1)
    assert not sidecar.exists()
    sidecar.write_bytes(b"theirs")
    with headrace.LineWriter(path) as writer:
        writer.write(2)
    assert sidecar.read_bytes() == b"theirs"
    assert list(headrace.open(path)) == [2]


@pytest.mark.parametrize("name", NAMES[1:])
def test_any_row_is_reached_through_the_sidecar(tmp_path, name):
    path = tmp_path / name
    sidecar = tmp_path / f"{name}.ckpt"
    for first in (0, 1000):
        with headrace.LineWriter(path, block_bytes="1KiB") as writer:
            writer.write_many(range(first, first + 2000))
        assert b'"mode":"blocks"' in sidecar.read_bytes()
        assert headrace.open(path)[1234] == first + 1234


def test_a_file_is_complete_without_a_sidecar_that_cannot_be_written(
    tmp_path, monkeypatch
):
    path = tmp_path / "rows.jsonl.gz"

    def fail(*_args):
        raise OSError(28, "No space left on device")

    with headrace.LineWriter(path) as writer:
        writer.write(1)
        monkeypatch.setattr(
            "headrace.store.shards.write.line_writer.write_block_table", fail
        )
    assert list(headrace.open(path)) == [1]
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_the_target_of_a_link_is_replaced(tmp_path):
    (tmp_path / "real.jsonl").write_bytes(b"1\n")
    link = tmp_path / "link.jsonl"
    link.symlink_to(tmp_path / "real.jsonl")
    with headrace.LineWriter(link) as writer:
        writer.write(2)
    assert link.is_symlink()
    assert (tmp_path / "real.jsonl").read_bytes() == b"2\n"


def test_files_that_cannot_be_written(tmp_path):
    with pytest.raises(UnwritableError, match=r"missing/rows.*: cannot be written"):
        headrace.LineWriter(tmp_path / "missing" / "rows.jsonl")
    with pytest.raises(UsageError, match="is a directory"):
        headrace.LineWriter(tmp_path)
    for codec in ("bzip2", "xz", "lz4"):
        with pytest.raises(UsageError, match="files are written as"):
            headrace.LineWriter(tmp_path / "rows.jsonl", codec=codec)
    for name in ("rows.jsonl.bz2", "rows.jsonl.xz"):
        with pytest.raises(UsageError, match="files are written as"):
            headrace.LineWriter(tmp_path / name)
    assert names(tmp_path) == []


def test_options_are_checked_as_for_a_set(tmp_path):
    with pytest.warns(HeadraceWarning, match="level 42") as caught:
        writer = headrace.LineWriter(tmp_path / "rows.jsonl.gz", level=42)
    assert [each.filename for each in caught] == [__file__]
    writer.abort()
    with pytest.raises(UsageError):
        headrace.LineWriter(tmp_path / "rows.jsonl", max_bytes=1.5)
    assert names(tmp_path) == []


ANY_LINES = b'"5"\n"null"\n"hello"\n"{\\"a\\": 1}"\n\n \t\nnull\n5\n1.50\n1e400\n-0\n[1, 2]\n{"c": 1e400, "c": 2}'


@pytest.mark.parametrize("raw", [False, True], ids=["values", "raw"])
@pytest.mark.parametrize("several", [False, True], ids=["one file", "two files"])
@pytest.mark.parametrize("kind", ["file", "set", "partitioned set"])
def test_a_data_set_is_copied_byte_by_byte(tmp_path, raw, several, kind):
    source = tmp_path / "s.jsonl"
    source.write_bytes(ANY_LINES)
    ds = headrace.open([source, source] if several else source, raw=raw)
    if kind == "file":
        writer = headrace.LineWriter(tmp_path / "t.jsonl")
    else:
        key = "c" if kind == "partitioned set" else None
        writer = headrace.ShardWriter(tmp_path / "t", partition_by=key)
    with writer:
        writer.write_many(ds)
        assert writer.records == len(ds)
    copied = headrace.open(tmp_path / ("t.jsonl" if kind == "file" else "t"), raw=True)
    expected = ANY_LINES.split(b"\n") * (2 if several else 1)
    if kind == "partitioned set":
        assert sorted(copied) == sorted(expected)
    else:
        assert list(copied) == expected


@pytest.mark.parametrize(
    "value",
    [
        *("5", "null", "", "hello", '{"a": 1}', 'a"b\\c\n', "\u00e9\u2028"),
        *(None, True, 0, -1, 10**400, 1.5, [], {}, {"": {"a": [None]}}),
        *(Decimal("1E+400"), [Decimal("-1.5"), {"c": Decimal("1E+999")}]),
        {"text": '"', "n": [Decimal("2E+999"), '"']},
    ],
    ids=repr,
)
def test_a_value_is_written_so_that_it_is_read(tmp_path, value):
    path = tmp_path / "v.jsonl"
    with headrace.LineWriter(path) as writer:
        writer.write(value)
        writer.write_many([value])
    with headrace.LogWriter(tmp_path / "log") as log:
        log.append(value)
    assert list(headrace.open(path)) == [value, value]
    assert list(headrace.open(tmp_path / "log")) == [value]
    assert isinstance(headrace.open(path)[0], str) == isinstance(value, str)


@pytest.mark.parametrize("value", [Decimal("NaN"), {1, 2}, object(), float("inf")])
def test_a_value_without_json_is_refused(tmp_path, value):
    with headrace.LineWriter(tmp_path / "v.jsonl", on_error="abort") as writer:
        with pytest.raises(BadRecordError, match="it has no JSON"):
            writer.write(value)
        for records in ("text", b"1\n", {"a": 1}):
            with pytest.raises(UsageError, match="records are a list"):
                writer.write_many(records)
