"""Set writer: parts and counts that add up."""

import gc
import gzip
import itertools
import json
import math
import os
import pickle
import threading
import warnings

import pytest

import headrace
from headrace.errors import (
    BadRecordError,
    HeadraceWarning,
    JsonTooLargeError,
    UsageError,
)

CODECS = ["none", "gzip", "zstd"]
NESTED: dict[str, object] = {}
for _ in range(255):
    NESTED = {"in": NESTED}
RECORDS = [{"i": i, "text": "wört" * (i % 7)} for i in range(500)]


def on_disk(directory):
    """Return the bytes in parts, finished and unfinished."""
    return sum(
        path.stat().st_size
        for path in directory.rglob("*part-*")
        if path.is_file() and ".ckpt" not in path.name
    )


def lines(records):
    return b"".join(json.dumps(each).encode() + b"\n" for each in records)


def everything(directory):
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("codec", CODECS)
def test_written_records_are_read_back(tmp_path, codec):
    out = tmp_path / "a" / "b"
    with headrace.ShardWriter(out, codec=codec, max_bytes=2048) as writer:
        writer.write_many(RECORDS)
    metadata = writer.close()
    assert list(headrace.open(out)) == RECORDS
    assert metadata.total_records == writer.records == len(RECORDS)
    assert metadata.total_bytes == writer.bytes_written == on_disk(out)
    assert metadata.total_logical_bytes == writer.logical_bytes
    assert headrace.ShardSet(out).metadata == metadata
    assert all(part.bytes <= 2048 for part in metadata.parts)
    assert [(out / part.path).stat().st_size for part in metadata.parts] == [
        part.bytes for part in metadata.parts
    ]
    assert all((out / part.ckpt).is_file() for part in metadata.parts)
    assert sorted(path.name for path in out.iterdir()) == [
        "rows.meta-00000001.json",
        "rows.parts-00000001",
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_bytes_written_equals_the_bytes_on_disk_after_every_call(tmp_path, codec):
    with headrace.ShardWriter(
        tmp_path, codec=codec, max_bytes=2048, block_bytes=512
    ) as writer:
        seen = set()
        for record in RECORDS:
            writer.write(record)
            assert writer.bytes_written == on_disk(tmp_path)
            seen.add(writer.bytes_written)
        assert len(seen) > 10
    assert writer.bytes_written == on_disk(tmp_path)


def test_every_method_of_writing_gives_the_same_files(tmp_path):
    texts = [
        json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in RECORDS
    ]
    ways = {
        "values": lambda writer: writer.write_many(RECORDS),
        "text": lambda writer: [writer.write(text.encode()) for text in texts],
        "bytes": lambda writer: [writer.write(text.encode() + b"\n") for text in texts],
        "lines": lambda writer: writer.write_lines("\n".join(texts).encode()),
        "chunks": lambda writer: (
            [
                writer.write_lines("\n".join(chunk).encode())
                for chunk in itertools.batched(texts, 7)
            ]
            if hasattr(itertools, "batched")
            else [
                writer.write_lines("\n".join(texts[at : at + 7]).encode())
                for at in range(0, len(texts), 7)
            ]
        ),
    }
    for name, give in ways.items():
        with headrace.ShardWriter(tmp_path / name, max_bytes=512) as writer:
            give(writer)
    first, *others = [everything(tmp_path / name) for name in ways]
    assert len(first) > 3
    assert all(other == first for other in others)


@pytest.mark.parametrize("codec", CODECS)
def test_threads_change_no_byte(tmp_path, codec):
    for threads in (1, 3):
        with headrace.ShardWriter(
            tmp_path / str(threads),
            codec=codec,
            max_bytes="64KiB",
            block_bytes="4KiB",
            threads=threads,
        ) as writer:
            writer.write_lines(lines(RECORDS * 20))
    assert everything(tmp_path / "1") == everything(tmp_path / "3")


def test_lines_over_the_size_of_a_chunk_are_cut_at_newlines(tmp_path, monkeypatch):
    monkeypatch.setattr("headrace.store.shards.write.record_writer._CHUNK", 100)
    data = lines([{"text": "x" * 250}, *RECORDS])
    with headrace.ShardWriter(tmp_path, codec="none") as writer:
        writer.write_lines(data)
    (part,) = writer.close().parts
    assert (tmp_path / part.path).read_bytes() == data


@pytest.mark.parametrize(
    ("record", "text"),
    [
        ({"ä": "\n", "b": [1, None, True]}, '{"ä":"\\n","b":[1,null,true]}'),
        ([1, 2.5], "[1,2.5]"),
        ((1,), "[1]"),
        (12345678901234567890123, "12345678901234567890123"),
        (None, "null"),
        (False, "false"),
        (b" [1 , 2]\r\n", " [1 , 2]\r"),
        (" [1 , 2]\r\n", '" [1 , 2]\\r\\n"'),
        (b'"text"', '"text"'),
        (bytearray(b"1"), "1"),
    ],
)
def test_a_record_is_a_line(tmp_path, record, text):
    with headrace.ShardWriter(tmp_path, codec="none") as writer:
        writer.write(record)
    (part,) = writer.close().parts
    assert (tmp_path / part.path).read_bytes() == text.encode() + b"\n"


BAD = [
    pytest.param(b"{", "unexpected end", id="not whole"),
    pytest.param(b"1 2", "byte 2", id="two values"),
    pytest.param(b'{"a":\n1}', "one line", id="a newline inside"),
    pytest.param(b"", "blank", id="nothing"),
    pytest.param(b" \t\r\n", "blank", id="only blanks"),
    pytest.param(b'"\xff"', "byte 1", id="not UTF-8"),
    pytest.param("\ud800", "surrogate", id="half a character"),
    pytest.param(
        {"a": "\ud800"}, "byte 6: a lone surrogate", id="half a character inside"
    ),
    pytest.param(math.nan, "no JSON", id="not a number"),
    pytest.param({"a": object()}, "no JSON", id="not a value"),
]


@pytest.mark.parametrize(("record", "reason"), BAD)
def test_a_bad_record_is_named_and_leaves_no_file(tmp_path, record, reason):
    with headrace.ShardWriter(tmp_path, codec="none") as writer:
        writer.write(1)
        with pytest.raises(BadRecordError, match=reason) as raised:
            writer.write(record)
        writer.write(2)
    assert raised.value.record == 2
    assert "record 2, byte" in str(raised.value)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
    assert list(headrace.open(tmp_path)) == [1, 2]


@pytest.mark.parametrize(("record", "reason"), BAD)
def test_a_bad_record_can_be_left_out_and_counted(tmp_path, record, reason):
    errors = []
    for name, on_error in (("skip", "skip"), ("tell", errors.append)):
        with headrace.ShardWriter(tmp_path, name=name, on_error=on_error) as writer:
            writer.write_many([1, record, 2, record])
        assert (writer.records, writer.skipped) == (2, 2)
        assert list(headrace.open(tmp_path / name)) == [1, 2]
    assert [error.record for error in errors] == [2, 4]


def test_bad_lines_among_good_ones(tmp_path):
    data = b'1\n{"a"\n2\n\n[3\n4'
    with headrace.ShardWriter(tmp_path, on_error="skip") as writer:
        writer.write_lines(data)
        writer.write_lines(data)
    assert (writer.records, writer.skipped) == (8, 4)
    assert list(headrace.open(tmp_path)) == [1, 2, None, 4] * 2

    with (
        pytest.raises(BadRecordError, match="record 2, byte 4") as raised,
        headrace.ShardWriter(tmp_path) as writer,
    ):
        writer.write_lines(data)
    assert (raised.value.record, raised.value.offset) == (2, 4)
    assert headrace.ShardSet(tmp_path).metadata.generation == 1


def test_without_validation_lines_are_taken_as_they_are(tmp_path):
    with headrace.ShardWriter(tmp_path, codec="none", validate=False) as writer:
        writer.write_lines(b"{oops\n")
        with pytest.raises(BadRecordError, match="one line"):
            writer.write(b"1\n2")
    (part,) = writer.close().parts
    assert (tmp_path / part.path).read_bytes() == b"{oops\n"


def test_deeper_than_allowed_is_bad(tmp_path):
    with headrace.ShardWriter(tmp_path, max_depth=3) as writer:
        writer.write([[[1]]])
        with pytest.raises(BadRecordError):
            writer.write([[[[1]]]])
        deep = []
        for _ in range(100_000):
            deep = [deep]
        with pytest.raises(BadRecordError):
            writer.write(deep)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("limit", ["max_bytes", "max_logical_bytes"])
def test_a_record_that_fits_in_no_file_is_refused_whole(tmp_path, codec, limit):
    big = {"random": os.urandom(3000).hex()}
    with headrace.ShardWriter(tmp_path, codec=codec, **{limit: 2048}) as writer:
        writer.write(1)
        before = writer.bytes_written
        with pytest.raises(JsonTooLargeError) as raised:
            writer.write(big)
        assert writer.bytes_written == before == on_disk(tmp_path)
        with pytest.raises(JsonTooLargeError):
            writer.write_lines(b"2\n" + json.dumps(big).encode() + b"\n3\n")
        writer.write(4)
    error = raised.value
    assert error.code == JsonTooLargeError.code == "ERR_JSON_TOO_LARGE"
    assert (error.record, error.length, error.name, error.limit) == (
        2,
        6014,
        limit,
        2048,
    )
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    for word in ("record 2", "6014 bytes", "2048", limit, "ERR_JSON_TOO_LARGE"):
        assert word in str(error)
    assert list(headrace.open(tmp_path)) == [1, 2, 4]


def test_a_line_that_no_block_can_have_is_refused(tmp_path):
    with headrace.ShardWriter(tmp_path, validate=False) as writer:
        with pytest.raises(JsonTooLargeError, match="268435456 bytes that a line can"):
            writer.write_lines(b"1" * (256 << 20))
        writer.write(2)
    assert list(headrace.open(tmp_path)) == [2]


def test_the_run_field_of_the_metadata_is_read_back(tmp_path):
    with headrace.ShardWriter(tmp_path, run=NESTED["in"]) as writer:
        writer.write(1)
    assert headrace.ShardSet(tmp_path).metadata.run == NESTED["in"]


def test_a_record_that_fits_in_no_file_is_an_error_or_skipped(tmp_path):
    large = {"random": os.urandom(100).hex()}
    with (
        pytest.raises(JsonTooLargeError),
        headrace.ShardWriter(tmp_path / "aborted", max_bytes=64) as writer,
    ):
        writer.write(large)
    with headrace.ShardWriter(
        tmp_path / "set", max_bytes=64, on_error="skip"
    ) as writer:
        writer.write(large)
        writer.write({})
    assert (writer.skipped, list(headrace.open(tmp_path / "set"))) == (1, [{}])


@pytest.mark.parametrize("codec", CODECS)
def test_no_part_exceeds_a_limit(tmp_path, codec):
    with headrace.ShardWriter(
        tmp_path, codec=codec, max_records=30, max_logical_bytes="1KiB"
    ) as writer:
        writer.write_many(RECORDS)
    parts = writer.close().parts
    assert len(parts) >= len(RECORDS) / 30
    assert max(part.records for part in parts) <= 30
    assert max(part.logical_bytes for part in parts) <= 1024
    assert list(headrace.open(tmp_path)) == RECORDS


def test_an_empty_set_is_a_set(tmp_path):
    with headrace.ShardWriter(tmp_path) as writer:
        pass
    assert writer.close().parts == ()
    assert [path.name for path in tmp_path.iterdir()] == ["rows.meta-00000001.json"]
    rows = headrace.open(tmp_path)
    assert (len(rows), list(rows), rows.tail(3), rows.head(3)) == (0, [], [], [])
    assert rows.query("$.count()", stream=True).to_list() == [0]
    assert list(headrace.ShardSet(tmp_path).records()) == []
    with pytest.raises(IndexError, match="no row 0"):
        rows[0]


@pytest.mark.parametrize("name", ["max_bytes", "max_logical_bytes", "block_bytes"])
@pytest.mark.parametrize(
    "value",
    [
        math.inf,
        2048.5,
        2048.0,
        -1,
        0,
        True,
        "many",
        "",
        "inf",
        "-5",
        "0",
        b"1",
        1 << 64,
    ],
)
def test_a_size_that_is_none_is_refused(tmp_path, name, value):
    with pytest.raises(UsageError):
        headrace.ShardWriter(tmp_path / "out", **{name: value})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "options",
    [
        {"max_records": 0},
        {"max_records": "10"},
        {"max_records": 1.5},
        {"threads": 0},
        {"max_depth": 0},
        {"max_depth": 1001},
        {"codec": "bzip2"},
        {"codec": "lz4"},
        {"level": 2.5},
        {"level": "3"},
        {"on_error": "ignore"},
        {"name": ""},
        {"name": "../rows"},
        {"name": ".rows"},
        {"name": "a b"},
        {"name": "x" * 101},
        {"partition_by": ""},
        {"name": None},
        {"partition_by": "a..b"},
        {"block_bytes": "257MiB"},
        {"run": 3},
        {"run": {"at": math.nan}},
        {"run": {"by": {1}}},
        {"run": {"by": "\ud800"}},
        {"run": NESTED},
    ],
    ids=str,
)
def test_an_invalid_option_is_refused(tmp_path, options):
    with pytest.raises(UsageError):
        headrace.ShardWriter(tmp_path / "out", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("codec", "level", "used"), [("gzip", 42, 9), ("gzip", -3, 0), ("zstd", 99, 22)]
)
def test_a_level_out_of_range_is_clamped_with_one_warning(tmp_path, codec, level, used):
    with pytest.warns(HeadraceWarning, match=f"level {level}") as caught:
        writer = headrace.ShardWriter(tmp_path, codec=codec, level=level)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with writer:
        writer.write(1)
    assert writer.close().compression.level == used


def test_an_unknown_option_is_warned_of_once_and_ignored(tmp_path):
    with (
        pytest.warns(HeadraceWarning, match="no option 'wbits'") as caught,
        headrace.ShardWriter(tmp_path, codec="gzip", options={"wbits": 15}) as writer,
    ):
        writer.write_many(RECORDS)
    assert len(caught) == 1
    with (
        warnings.catch_warnings(),
        headrace.ShardWriter(tmp_path, name="b", codec="gzip"),
    ):
        warnings.simplefilter("error")


def test_levels_are_forwarded(tmp_path):
    sizes = {}
    for codec, level in itertools.product(("gzip", "zstd"), (1, 9)):
        name = f"{codec}{level}"
        with headrace.ShardWriter(
            tmp_path, name=name, codec=codec, level=level
        ) as writer:
            writer.write_lines(lines(RECORDS * 50))
        sizes[codec, level] = writer.bytes_written
    assert sizes["gzip", 9] < sizes["gzip", 1]
    assert sizes["zstd", 9] < sizes["zstd", 1]


def test_gzip_parts_are_read_by_gzip(tmp_path):
    with headrace.ShardWriter(tmp_path, codec="gzip", max_bytes="2KiB") as writer:
        writer.write_lines(lines(RECORDS))
    parts = writer.close().parts
    assert len(parts) >= 2
    content = b"".join(
        gzip.decompress((tmp_path / part.path).read_bytes()) for part in parts
    )
    assert content == lines(RECORDS)


def test_two_runs_are_equal_to_the_byte(tmp_path):
    for name in ("a", "b"):
        with headrace.ShardWriter(
            tmp_path / name, max_bytes=2048, run={"job": "nightly"}
        ) as writer:
            writer.write_many(RECORDS)
    assert everything(tmp_path / "a") == everything(tmp_path / "b")
    assert headrace.ShardSet(tmp_path / "a").metadata.run == {"job": "nightly"}


def test_threads_can_write_together(tmp_path):
    with headrace.ShardWriter(tmp_path, max_bytes="4KiB") as writer:
        threads = [
            threading.Thread(
                target=lambda at=at: [writer.write([at, i]) for i in range(300)]
            )
            for at in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    rows = list(headrace.open(tmp_path))
    assert sorted(rows) == [[at, i] for at in range(4) for i in range(300)]
    for at in range(4):
        assert [i for thread, i in rows if thread == at] == list(range(300))


def test_a_closed_writer_refuses_records(tmp_path):
    writer = headrace.ShardWriter(tmp_path)
    writer.write(1)
    assert writer.close() is writer.close() is writer.commit()
    writer.abort()
    with pytest.raises(UsageError, match="was closed"):
        writer.write(2)
    aborted = headrace.ShardWriter(tmp_path)
    aborted.abort()
    aborted.abort()
    for use in (
        aborted.close,
        lambda: aborted.write(1),
        lambda: aborted.write_lines(b"1"),
    ):
        with pytest.raises(UsageError, match="was aborted"):
            use()
    assert list(headrace.open(tmp_path)) == [1]


def test_an_object_store_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="headrace shard publish"):
        headrace.ShardWriter("s3://bucket/out")
    assert list(tmp_path.iterdir()) == []


def test_a_forgotten_writer_leaves_no_file(tmp_path):
    writer = headrace.ShardWriter(tmp_path / "out", max_bytes=100, codec="none")
    writer.write_many(RECORDS)
    del writer
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_lines_are_bytes(tmp_path):
    with headrace.ShardWriter(tmp_path) as writer:
        with pytest.raises(UsageError, match="lines are bytes, not str"):
            writer.write_lines("1\n")
        writer.write_lines(memoryview(b"1\n2"))
        writer.write_lines(b"")
    assert list(headrace.open(tmp_path)) == [1, 2]
