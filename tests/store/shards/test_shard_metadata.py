"""The metadata of a set: its bytes, and the content that a reader refuses."""

import json
import os
import re
from pathlib import Path

import pytest

import headrace
from headrace.errors import (
    BadSetError,
    HeadraceError,
    SourceNotFoundError,
    UsageError,
)
from headrace.kernel.checksum import crc32c
from headrace.store.files.checked_json import is_whole
from headrace.store.shards.metadata import (
    Compression,
    Limits,
    Metadata,
    Part,
    decode,
    encode,
)

ROOT = Path(__file__).parents[3]


def part(number, **changes):
    values = {
        "path": f"rows.parts-00000001/part-{number:08}.jsonl.zst",
        "records": 2,
        "bytes": 40,
        "logical_bytes": 16,
        "first_row": 2 * number,
        "blocks": 1,
        "digest": "xxh3:0123456789abcdef",
    }
    return Part(**{**values, **changes})


METADATA = Metadata(
    "rows",
    1,
    Compression("zstd", 3, 1 << 18),
    Limits(max_bytes=100),
    (part(0), part(1)),
    {"job": "nightly"},
)


def with_checksum(text):
    """Return a metadata file with these contents, whose checksum is right."""
    blank = re.sub(r'"crc32c": "[^"]*"', '"crc32c": "00000000"', text).encode()
    return blank.replace(b'00000000"\n}', f'{crc32c(blank):08x}"\n}}'.encode())


def decoded(content, name="rows", generation=1):
    return decode(content, "here", name, generation)


def test_encoded_metadata_is_decoded():
    content = encode(METADATA)
    assert decoded(content) == METADATA
    assert with_checksum(content.decode()) == content
    value = json.loads(content)
    assert list(value) == [
        "version", "format", "name", "generation", "compression", "totalRecords",
        "totalBytes", "totalLogicalBytes", "limits", "maxPartBytes", "maxPartRecords",
        "offsets", "run", "parts", "crc32c",
    ]  # fmt: skip
    assert (value["totalRecords"], value["totalBytes"], value["maxPartBytes"]) == (
        4,
        80,
        40,
    )
    assert value["parts"][1]["ckpt"] == value["parts"][1]["path"] + ".ckpt"


def test_a_partitioned_part_has_its_value():
    parts = tuple(
        part(
            at,
            path=f"rows.parts-00000001/{name}/part-00000000.jsonl.zst",
            partition=("k", value),
        )
        for at, (name, value) in enumerate(
            [("k=__HIVE_DEFAULT_PARTITION__", None), ("k=a%2Fb", "a/b")]
        )
    )
    metadata = Metadata("rows", 1, METADATA.compression, Limits(), parts)
    assert decoded(encode(metadata)) == metadata


def test_a_file_that_is_cut_was_never_committed():
    content = encode(METADATA)
    assert is_whole(content)
    assert [end for end in range(len(content)) if is_whole(content[:end])] == []


def test_a_changed_byte_is_noticed():
    content = encode(METADATA)
    for at in range(len(content)):
        for flip in (1, 0x80):
            damaged = bytearray(content)
            damaged[at] ^= flip
            assert is_whole(bytes(damaged)), f"byte {at}"
            with pytest.raises(BadSetError, match="here"):
                decoded(bytes(damaged))
    for more in (b"\n", b"x", content):
        assert is_whole(content + more)
        with pytest.raises(BadSetError):
            decoded(content + more)


PATH = "rows.parts-00000001/part-00000000.jsonl.zst"
HOSTILE = [
    ('"version": 1', '"version": 2', "version 2; this headrace reads version 1"),
    ('"version": 1', '"version": true', "version True"),
    ('"version": 1', '"version": 1.0', "version 1.0"),
    ('"version": 1,', "", "version None"),
    ("jsonl-sharded", "parquet", "format 'parquet'"),
    ('"name": "rows"', '"name": "rots"', "name"),
    ('"generation": 1', '"generation": 3', "generation"),
    ('"codec": "zstd"', '"codec": "lz4"', "unknown codec 'lz4'"),
    ('"codec": "zstd"', '"codec": "bzip2"', "unknown codec 'bzip2'"),
    ('"codec": "zstd"', '"codec": "gzip"', "is not the path of a part"),
    ('"codec": "zstd"', '"codec": ["zstd"]', "unknown codec"),
    ('"level": 3', '"level": "3"', "level"),
    ('"blockBytes": 262144', '"blockBytes": 0', "blockBytes"),
    ('"seekable": true', '"seekable": 1', "compression"),
    ('"maxBytes": 100', '"maxBytes": -100', "maxBytes"),
    ('"maxBytes": 100', '"maxBytes": 1e2', "maxBytes"),
    ('"totalRecords": 4', '"totalRecords": 5', "totalRecords is 5, but should be 4"),
    ('"totalBytes": 80', '"totalBytes": 79', "totalBytes"),
    ('"totalLogicalBytes": 32', '"totalLogicalBytes": 31', "totalLogicalBytes"),
    ('"maxPartBytes": 40', '"maxPartBytes": 41', "maxPartBytes"),
    ('"maxPartRecords": 2', '"maxPartRecords": 3', "maxPartRecords"),
    ("ckpt-blocks", "ckpt-rows", "offsets"),
    ('"run": {"job": "nightly"}', '"run": 5', "run is not an object"),
    ('"parts": [', '"more": 1, "parts": [', "unknown keys: more"),
    ('"firstRow": 2', '"firstRow": 1', "firstRow is 1, but should be 2"),
    ('"records": 2, "bytes": 40', '"records": 0, "bytes": 40', "records is 0"),
    (
        '"records": 2, "bytes": 40',
        '"records": 9223372036854775808, "bytes": 40',
        "records",
    ),
    ('"bytes": 40', '"bytes": 40.5', "bytes is 40.5"),
    ('"bytes": 40', '"bytes": true', "bytes is True"),
    ('"blocks": 1', '"blocks": null', "blocks is None"),
    ('"digest": "xxh3:', '"digest": "md5:', "digest"),
    (f'{PATH}.ckpt"', '/etc/passwd"', "its entry is not as it should be"),
    (f'"path": "{PATH}"', '"path": 7', "path 7 is not text"),
    (
        f'"path": "{PATH}"',
        '"path": "part-00000000.jsonl.zst"',
        "is not the path of a part",
    ),
    ("part-00000001.jsonl.zst", "part-00000000.jsonl.zst", "is listed twice"),
    *[
        (
            f'"path": "{PATH}"',
            f'"path": {json.dumps(path)}',
            "is not the path of a part",
        )
        for path in (
            "",
            "/etc/passwd",
            f"/{PATH}",
            f"../{PATH}",
            f"./{PATH}",
            "rows.parts-00000001/../../secret/part-00000000.jsonl.zst",
            "rows.parts-00000001//part-00000000.jsonl.zst",
            "rows.parts-00000001/a=b/c=d/part-00000000.jsonl.zst",
            "rows.parts-00000001/a=../part-00000000.jsonl",
            "rows.parts-00000001/passwd",
            "rows.parts-00000001/part-00000000.jsonl.zst\n",
            "rows.parts-00000001/part-00000000.jsonl.zst\u0000",
            "rows.parts-00000002/part-00000000.jsonl.zst",
            "others.parts-00000001/part-00000000.jsonl.zst",
            "C:\\part-00000000.jsonl.zst",
        )
    ],
    (
        f'"path": "{PATH}"',
        '"path": "rows.parts-00000001/k=v/part-00000000.jsonl.zst"',
        "its partition is missing",
    ),
    (
        f'"path": "{PATH}"',
        f'"path": "{PATH}", "partition": {{"k": "v"}}',
        "another partition",
    ),
    (f'"path": "{PATH}"', f'"path": "{PATH}", "partition": {{}}', "another partition"),
    (f'"path": "{PATH}"', f'"path": "{PATH}", "partition": []', "not an object"),
]


@pytest.mark.parametrize(("good", "bad", "reason"), HOSTILE)
def test_hostile_metadata_is_refused(good, bad, reason):
    text = encode(METADATA).decode()
    assert good in text
    content = with_checksum(text.replace(good, bad, 1))
    with pytest.raises(BadSetError, match=re.escape(reason)) as raised:
        decoded(content)
    assert str(raised.value).startswith("here: ")
    assert "write the set again" in str(raised.value)


@pytest.mark.parametrize(
    "text",
    ["[]", "null", "5", '{"parts": {}}', "{", "{]", '{"version": 1, "parts": 5}'],
)
def test_other_json_is_refused(text):
    tail = ',\n "crc32c": "00000000"\n}\n'
    with pytest.raises(BadSetError):
        decoded(with_checksum(text + tail))


def test_the_document_shows_the_written_metadata(tmp_path):
    (shown,) = re.findall(
        r"```json\n(.*?)```", (ROOT / "docs/formats/shards.md").read_text(), re.DOTALL
    )
    with headrace.ShardWriter(tmp_path, max_records=2) as writer:
        writer.write_many([{"n": 1}, {"n": 2}, {"n": 3}])
    content = (tmp_path / "rows.meta-00000001.json").read_text()
    assert shown == re.sub(
        r"(xxh3:|crc32c\": \")([0-9a-f]+)", lambda m: m[1] + "0" * len(m[2]), content
    )


# On disk


@pytest.fixture
def out(tmp_path):
    with headrace.ShardWriter(tmp_path / "out", codec="none", max_records=10) as writer:
        writer.write_many(range(35))
    return tmp_path / "out"


def parts(out):
    return [out / each.path for each in headrace.ShardSet(out).metadata.parts]


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def grow(path):
    path.write_bytes(path.read_bytes() + b"1\n")


def become_other(path):
    path.write_bytes(b"\x1f\x8b\x08" + path.read_bytes()[3:])


def become_link(path):
    moved = path.rename(path.with_name("elsewhere"))
    path.symlink_to(moved)


def become_directory(path):
    path.unlink()
    path.mkdir()


def become_pipe(path):
    path.unlink()
    os.mkfifo(path)


def link_the_directory(path):
    moved = path.parent.rename(path.parent.with_name("elsewhere"))
    path.parent.symlink_to(moved)


def replace_the_directory(path):
    path.parent.rename(path.parent.with_name("elsewhere"))
    path.parent.touch()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (Path.unlink, "it is missing"),
        (
            lambda path: path.rename(path.with_name("part-00000009.jsonl")),
            "it is missing",
        ),
        (cut, "bytes, but the metadata says"),
        (grow, "bytes, but the metadata says"),
        (become_other, "its bytes are gzip, but the metadata says none"),
        (become_link, "not a regular file"),
        (become_directory, "not a regular file"),
        (become_pipe, "not a regular file"),
        (link_the_directory, "is not a directory"),
        (replace_the_directory, "is not a directory"),
    ],
)
def test_parts_that_differ_from_the_metadata_are_refused(out, change, reason):
    path = parts(out)[2]
    change(path)
    for use in (
        headrace.open,
        lambda path: headrace.ShardSet(path).records(),
        lambda at: headrace.ShardSet(at).sources(),
    ):
        with pytest.raises(BadSetError, match=reason) as raised:
            list(use(out))
        if "directory" not in reason:
            assert str(path) in str(raised.value)


def test_a_missing_sidecar_loses_no_row(out):
    for path in out.rglob("*.ckpt"):
        path.unlink()
    assert list(headrace.open(out)) == list(range(35))


def test_metadata_that_is_a_link_is_refused(out):
    meta = out / "rows.meta-00000001.json"
    meta.rename(out / "moved")
    meta.symlink_to(out / "moved")
    with pytest.raises(BadSetError, match="it is a link"):
        headrace.open(out)
    meta.unlink()
    os.mkfifo(meta)
    with pytest.raises(BadSetError, match="it is not a regular file"):
        headrace.open(out)


def test_metadata_that_is_endless_is_not_read(out, monkeypatch):
    os.truncate(out / "rows.meta-00000001.json", (256 << 20) + 1)
    with pytest.raises(BadSetError, match="longer than 268435456 bytes"):
        headrace.ShardSet(out)
    monkeypatch.setattr("headrace.store.shards.metadata.LONGEST", 100)
    with pytest.raises(UsageError, match="more than a set can have"):
        headrace.ShardWriter(out.parent / "other").close()
    assert not (out.parent / "other").exists()


def test_cut_metadata_is_ignored_and_damaged_metadata_is_an_error(out):
    content = (out / "rows.meta-00000001.json").read_bytes()
    newer = out / "rows.meta-00000002.json"
    for end in (0, 1, len(content) // 2, len(content) - 1):
        newer.write_bytes(content[:end])
        assert list(headrace.open(out)) == list(range(35))
    newer.write_bytes(content)
    with pytest.raises(BadSetError, match=r"00000002\.json: generation is 1"):
        headrace.open(out)
    newer.write_bytes(content.replace(b"35", b"36"))
    with pytest.raises(BadSetError, match=r"00000002\.json: its checksum is wrong"):
        headrace.open(out)


# Paths of sets


def test_a_set_is_found_by_directory_name_or_metadata(out):
    with headrace.ShardWriter(out) as writer:
        writer.write(7)
    for path in (out, out / "rows", str(out / "rows"), out / "rows.meta-00000002.json"):
        assert list(headrace.open(path)) == [7]
        assert headrace.ShardSet(path).metadata.generation == 2
    assert headrace.ShardSet(out, "rows").metadata.generation == 2
    old = headrace.ShardSet(out / "rows.meta-00000001.json")
    assert old.metadata.generation == 1
    assert len(headrace.open(out / "rows.meta-00000001.json")) == 35


def test_one_of_several_sets_in_a_directory_must_be_named(out):
    with headrace.ShardWriter(out, name="others") as writer:
        writer.write(7)
    with pytest.raises(HeadraceError, match="several sets: others, rows; name one"):
        headrace.open(out)
    assert list(headrace.open([out / "others", out / "rows"])) == [7, *range(35)]


def test_a_path_without_a_set_is_an_error(tmp_path, out):
    with pytest.raises(BadSetError, match="no set of shards in it"):
        headrace.ShardSet(tmp_path)
    for path in (
        tmp_path / "missing",
        out / "missing",
        out / "rows.meta-00000009.json",
    ):
        with pytest.raises(SourceNotFoundError):
            headrace.ShardSet(path)
        with pytest.raises(SourceNotFoundError):
            headrace.open(path)
    with pytest.raises(BadSetError, match="no set was ever committed"):
        headrace.ShardSet(out, "missing")
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "rows.meta-00000001.json").touch()
    (tmp_path / "cut" / "a.jsonl").write_bytes(b"1\n")
    with pytest.raises(BadSetError, match="no set was ever committed"):
        headrace.open(tmp_path / "cut")


def test_every_access_works_on_a_set(out):
    rows = headrace.open(out)
    assert (len(rows), rows[17], rows[-1], rows[8:13]) == (
        35,
        17,
        34,
        [8, 9, 10, 11, 12],
    )
    assert rows.tail(12) == list(range(23, 35))
    assert list(reversed(rows)) == list(range(34, -1, -1))
    assert rows.query("$.sum()", stream=True).to_list() == [sum(range(35))]
    assert rows.stats().records == 35


def test_a_generation_that_vanishes_is_replaced_by_the_next(out):
    shards = headrace.ShardSet(out)
    with headrace.ShardWriter(out) as writer:
        writer.write(7)
    headrace.ShardSet(out).vacuum(grace=0)
    (source,) = shards.sources()
    assert shards.metadata.generation == 2
    assert source.size == shards.metadata.parts[0].bytes
