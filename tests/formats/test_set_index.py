"""Set indexes of every released version can be read; their page describes every field."""

import json
import re
import shutil
from pathlib import Path

import pytest

import headrace
from headrace.store.files.checked_json import CHECKSUM_BYTES, with_checksum

DATA = Path(__file__).parent / "data"
PAGE = Path(__file__).parents[2] / "docs" / "formats" / "set-index.md"


@pytest.fixture
def version_1(tmp_path):
    directory = tmp_path / "sets"
    shutil.copytree(DATA / "sets-v1", directory)
    shutil.copytree(DATA / "set-index-v1", directory / "zstd.jnx.id")
    return directory


def test_version_1_is_read(version_1):
    index = headrace.KeyIndex.open(version_1 / "zstd", "id", require_index=True)
    assert index.is_fresh()
    for number in range(200):
        assert index.get(number) == [{"id": number, "word": f"w{number * 7919}"}]
    assert index.get(200) == []
    stats = headrace.KeyIndex.stats(version_1 / "zstd")
    assert (stats["segments"], stats["records"], stats["unique_keys"]) == (4, 200, 200)
    checked = headrace.KeyIndex.check(version_1 / "zstd", deep=True)
    assert (checked["valid"], checked["fresh"]) == (True, True)


def test_a_newer_version_is_left_alone(version_1):
    path = version_1 / "zstd.jnx.id" / "manifest.json"
    head = path.read_bytes()[:-CHECKSUM_BYTES]
    path.write_bytes(with_checksum(head.replace(b'"version": 1', b'"version": 2')))
    with pytest.raises(headrace.HeadraceError, match="a newer headrace wrote it"):
        headrace.KeyIndex.open(version_1 / "zstd", "id", require_index=True)
    with pytest.raises(headrace.HeadraceError, match="something else is in its place"):
        headrace.KeyIndex.build(
            version_1 / "zstd", "id", index=version_1 / "zstd.jnx.id"
        )


def shape(value):
    """Return the structure of a value: the names in it, and one element of each list."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [shape(value[0])]
    return None


def test_the_page_shows_a_manifest():
    (shown,) = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
    written = json.loads((DATA / "set-index-v1" / "manifest.json").read_bytes())
    assert shape(json.loads(shown)) == shape(written)
    assert list(json.loads(shown)) == list(written)
