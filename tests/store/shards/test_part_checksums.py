"""Parts of sets whose bytes were changed, and parts that were copied."""

import os
import shutil

import pytest

import headrace
from headrace.api.shards.shard_set import shard_lines
from headrace.errors import BadSetError, DamagedBlockError, HeadraceWarning

ROWS = 20_000


def write(directory, codec):
    with headrace.ShardWriter(directory, codec=codec, block_bytes="64KiB") as writer:
        writer.write_many({"id": row, "text": "x" * 50} for row in range(ROWS))
    (part,) = writer.close().parts
    return directory / part.path


@pytest.fixture
def flipped(tmp_path):
    """A set of one plain part with a flipped byte in its middle."""
    path = write(tmp_path / "set", "none")
    before = path.stat()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    return path


USES = {
    "rows": lambda set_: list(headrace.open(set_)),
    "backwards": lambda set_: list(reversed(headrace.open(set_))),
    "row": lambda set_: [headrace.open(set_)[row] for row in range(0, ROWS, 300)],
    "tail": lambda set_: headrace.open(set_).tail(ROWS // 2 + 100),
    "stats": lambda set_: headrace.open(set_).stats(),
    "query": lambda set_: list(headrace.open(set_).query("id")),
    "stream": lambda set_: list(headrace.open(set_).query("$.rows().sum(id)")),
    "read_shards": lambda set_: list(headrace.ShardSet(set_).records()),
    "lines": lambda set_: list(shard_lines(headrace.ShardSet(set_))),
}


@pytest.mark.parametrize("touched", [False, True], ids=["time kept", "touched"])
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_flipped_byte_of_a_plain_part_is_noticed(flipped, use, touched):
    if touched:
        os.utime(flipped)
    with pytest.raises(DamagedBlockError, match="do not match their checksum"):
        use(flipped.parent.parent)


def test_the_other_blocks_of_a_damaged_plain_part_are_read(flipped):
    set_ = flipped.parent.parent
    ds = headrace.open(set_)
    assert (ds[0]["id"], ds[-1]["id"], len(ds)) == (0, ROWS - 1, ROWS)
    with pytest.warns(HeadraceWarning, match="rows are left out"):
        found = [row["id"] for row in headrace.ShardSet(set_).records(on_damage="skip")]
    assert found[0] == 0
    assert found[-1] == ROWS - 1
    assert ROWS - 2_000 < len(found) < ROWS


@pytest.mark.parametrize("use", ["read_shards", "lines"])
def test_without_its_sidecar_all_of_a_plain_part_is_compared(flipped, use):
    flipped.with_name(flipped.name + ".ckpt").unlink()
    with pytest.raises(BadSetError, match="digest"):
        USES[use](flipped.parent.parent)


@pytest.mark.parametrize("codec", ["zstd", "none", "gzip"])
def test_a_set_that_was_copied_or_touched_keeps_its_sidecars(tmp_path, codec):
    part = write(tmp_path / "set", codec)
    shutil.copytree(tmp_path / "set", tmp_path / "copy", copy_function=shutil.copyfile)
    copied = tmp_path / "copy" / part.relative_to(tmp_path / "set")
    os.utime(copied.with_name(copied.name + ".ckpt"), (1, 1))
    ds = headrace.open(tmp_path / "copy")
    assert ds[ROWS - 1]["id"] == ROWS - 1
    assert ds.bytes_read() < 200_000
