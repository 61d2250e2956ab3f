"""Sets of every released version can be read, with and without their sidecars."""

import json
import shutil
from pathlib import Path

import pytest

import headrace
from headrace.api.shards.check import check_shards

VERSION_1 = Path(__file__).parent / "data" / "sets-v1"
CODECS = ["none", "gzip", "zstd"]


@pytest.fixture(params=["sidecars", "no sidecars"])
def version_1(request, tmp_path):
    directory = tmp_path / "sets"
    shutil.copytree(VERSION_1, directory)
    sidecars = list(directory.rglob("*.ckpt"))
    assert len(sidecars) > 9
    if request.param == "no sidecars":
        for sidecar in sidecars:
            sidecar.unlink()
    return directory


@pytest.mark.parametrize("codec", CODECS)
def test_version_1_is_read(version_1, codec):
    shards = headrace.ShardSet(version_1, codec)
    # 200 records in blocks of 600 bytes and files of at most 900.
    wanted = [{"id": n, "word": f"w{n * 7919}"} for n in range(200)]
    assert list(headrace.ShardSet(version_1, codec).records(required=["id"])) == wanted
    rows = headrace.open(version_1 / codec)
    assert rows[137] == wanted[137]
    assert rows[-1] == wanted[-1]
    assert [checked.faults for checked in check_shards(shards)] == [()] * len(
        shards.metadata.parts
    )


@pytest.mark.parametrize("codec", CODECS)
def test_a_newer_version_is_refused_by_its_number(version_1, codec):
    path = version_1 / f"{codec}.meta-00000001.json"
    content = json.loads(path.read_bytes())
    assert content["version"] == 1
    text = path.read_text().replace(
        '"version": 1,\n "format"', '"version": 2,\n "format"'
    )
    path.write_text(text)
    with pytest.raises(headrace.HeadraceError, match=r"version|checksum"):
        headrace.ShardSet(version_1, codec)
