"""Partitioned sets: a directory for each value of a key."""

import json
import os

import pytest

import headrace
from headrace.errors import BadRecordError, HeadraceWarning, JsonTooLargeError

RECORDS = [
    {"i": i, "user": {"country": country}}
    for i, country in enumerate(
        ["FR", "DE", None, "FR", "a/b", "", 7, True, "DE", 1.50] * 30
    )
]


def partitions(out, key="user.country"):
    """Return the records of each partition, read file by file."""
    metadata = headrace.ShardSet(out).metadata
    found = {}
    for part in metadata.parts:
        ((name, value),) = [part.partition]
        assert name == key
        assert part.path.split("/")[1] == f"{key}={_directory(value)}"
        found.setdefault(value, []).extend(headrace.open(out / part.path))
    return found


def _directory(value):
    return "__HIVE_DEFAULT_PARTITION__" if value is None else value.replace("/", "%2F")


def everything(out):
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("codec", ["none", "gzip", "zstd"])
def test_records_are_where_their_value_says(tmp_path, codec):
    with headrace.ShardWriter(
        tmp_path, codec=codec, partition_by="user.country", max_records=20
    ) as writer:
        writer.write_many([*RECORDS, {"i": -1}, 5, {"user": "none"}])
    metadata = writer.close()
    found = partitions(tmp_path)
    expected = {}
    for record in RECORDS:
        value = record["user"]["country"]
        text = value if isinstance(value, str) else json.dumps(value)
        expected.setdefault(None if text in ("", "null") else text, []).append(record)
    expected[None] += [{"i": -1}, 5, {"user": "none"}]
    assert found == expected
    assert set(found) == {"FR", "DE", None, "a/b", "7", "true", "1.5"}
    assert max(part.records for part in metadata.parts) <= 20
    paths = [part.path for part in metadata.parts]
    assert paths == sorted(paths)
    assert (
        len(headrace.open(tmp_path)) == metadata.total_records == writer.records == 303
    )
    assert writer.bytes_written == metadata.total_bytes
    assert writer.logical_bytes == metadata.total_logical_bytes


def write_in_steps(directory, lines, step):
    with headrace.ShardWriter(
        directory, partition_by="user.country", max_bytes=2000
    ) as writer:
        for at in range(0, len(lines), step):
            writer.write_lines(b"".join(lines[at : at + step]))


def test_the_number_of_records_given_at_once_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("headrace.store.shards.write.hive_partitions.MOST_OPEN", 3)
    lines = [json.dumps(record).encode() + b"\n" for record in RECORDS]
    for step in (1, 7, len(lines)):
        with pytest.warns(HeadraceWarning, match="more than 3 values at a time"):
            write_in_steps(tmp_path / str(step), lines, step)
    assert everything(tmp_path / "1") == everything(tmp_path / "7")
    assert everything(tmp_path / "1") == everything(tmp_path / str(len(lines)))
    # With few open files, parts end early, and the order in a partition stays.
    assert len(headrace.ShardSet(tmp_path / "1").metadata.parts) > 20
    for records in partitions(tmp_path / "1").values():
        assert [each["i"] for each in records] == sorted(each["i"] for each in records)


def test_many_partitions_are_one_file_each(tmp_path):
    with headrace.ShardWriter(tmp_path, partition_by="k") as writer:
        for i in range(300):
            writer.write({"k": i % 150, "i": i})
    metadata = writer.close()
    assert metadata.total_records == 300
    assert len(metadata.parts) == 150
    assert {part.partition[1] for part in metadata.parts} == {
        str(k) for k in range(150)
    }
    assert sorted(row["i"] for row in headrace.open(tmp_path)) == list(range(300))


def test_bytes_written_equals_the_bytes_on_disk(tmp_path):
    with headrace.ShardWriter(
        tmp_path, partition_by="user.country", codec="none", block_bytes=64
    ) as writer:
        for record in RECORDS:
            writer.write(record)
            on_disk = sum(
                path.stat().st_size
                for path in tmp_path.rglob("*part-*")
                if path.is_file() and ".ckpt" not in path.name
            )
            assert writer.bytes_written == on_disk
        assert on_disk > 1000


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"k": {"a": 1}}', "byte 0: k is an object or array"),
        (b'{"k": [1]}', "byte 0: k is an object or array"),
        (b'{"k": "' + b"x" * 300 + b'"}', "byte 0: k is too long"),
        (b'{"k": 1', "byte 7: unexpected end"),
        (b'{"k": 1, "other": nul}', "byte 18"),
        (b'{"k": "\\ud800"}', "byte 7"),
    ],
)
def test_a_record_without_a_partition_is_named(tmp_path, line, reason):
    data = b'{"k": 1}\n\n' + line + b'\n{"k": 2}\n'
    with headrace.ShardWriter(tmp_path, partition_by="k", on_error="skip") as writer:
        writer.write_lines(data)
        writer.write_lines(data)
    assert (writer.records, writer.skipped) == (6, 2)
    assert [row and row["k"] for row in headrace.open(tmp_path)] == [
        1,
        1,
        2,
        2,
        None,
        None,
    ]
    with (
        pytest.raises(BadRecordError, match=f"record 3, {reason}"),
        headrace.ShardWriter(tmp_path, partition_by="k") as writer,
    ):
        writer.write_lines(data)


def test_a_record_that_is_too_large_is_named(tmp_path):
    big = json.dumps({"k": 2, "noise": os.urandom(3000).hex()}).encode()
    data = b'{"k": 1}\n{"k": 2}\n' + big + b'\n{"k": 1}\n'
    with headrace.ShardWriter(tmp_path, partition_by="k", max_bytes=2000) as writer:
        with pytest.raises(JsonTooLargeError) as raised:
            writer.write_lines(data)
        assert (raised.value.record, raised.value.length) == (3, len(big) + 1)
        writer.write({"k": 3})
    assert [row["k"] for row in headrace.open(tmp_path)] == [1, 2, 3]


def test_a_key_with_odd_characters(tmp_path):
    with headrace.ShardWriter(tmp_path, partition_by='a "b"/c') as writer:
        writer.write({'a "b"/c': "é=1"})
    (part,) = writer.close().parts
    assert (
        part.path == "rows.parts-00000001/a %22b%22%2Fc=é%3D1/part-00000000.jsonl.zst"
    )
    assert part.partition == ('a "b"/c', "é=1")
    assert len(headrace.open(tmp_path)) == 1


def test_line_endings_stay_as_they_are(tmp_path):
    data = b'{"k": 1}\r\n{"k": 1}\n \n{"k": 1}'
    with headrace.ShardWriter(tmp_path, codec="none", partition_by="k") as writer:
        writer.write_lines(data)
    contents = [(tmp_path / part.path).read_bytes() for part in writer.close().parts]
    assert contents == [b'{"k": 1}\r\n{"k": 1}\n{"k": 1}\n', b" \n"]


def test_a_bad_row_at_the_end_of_a_batch_leaves_no_blank_one(tmp_path):
    data = tmp_path / "in.jsonl"
    data.write_bytes(b'{"k":1}\n' + b'"' + b"x" * 90 + b'"\n' * 2 + b"bad\n")
    out = tmp_path / "out"
    with headrace.ShardWriter(
        out, partition_by="k", on_error="skip", codec="none"
    ) as writer:
        for batch in headrace.open(data, raw=True, max_line=50).batches():
            writer.write_rows(batch.path, batch.rows)
    assert (writer.records, writer.skipped, writer.blank) == (1, 3, 0)
    assert list(headrace.open(out)) == [{"k": 1}]


def test_a_mark_inside_a_set_is_refused(tmp_path):
    marked = b'\xef\xbb\xbf{"k":1}\n{"k":1}\n'
    with headrace.ShardWriter(tmp_path, partition_by="k", on_error="skip") as writer:
        writer.write_lines(b'{"k":1}\n')
        writer.write_lines(marked)
    assert (writer.records, writer.skipped) == (2, 1)
    assert list(headrace.open(tmp_path)) == [{"k": 1}] * 2


def test_an_aborted_partitioned_set_leaves_nothing(tmp_path):
    writer = headrace.ShardWriter(
        tmp_path / "out", partition_by="user.country", codec="none", max_bytes=200
    )
    writer.write_many(RECORDS)
    assert len(list((tmp_path / "out").rglob("part-*"))) > 10
    writer.abort()
    assert list(tmp_path.iterdir()) == []
