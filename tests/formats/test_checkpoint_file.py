"""Sidecars of every version ever written can be read, or are refused by number."""

from pathlib import Path

import pytest

from headrace.kernel.rows import RowIndex, SidecarError, reading

DATA = Path(__file__).parent / "data"


def test_version_1_is_read():
    index, made = RowIndex.load(DATA / "rows-v1.ckpt")
    # Made from 2,500 rows `{"id": N}` ending without a newline.
    size, mtime_ns, ctime_ns, head, tail, codec = made
    assert index.total_rows == 2500
    assert index.checkpoints() == [0, 11_890, 24_890]
    assert index.checkpoint(2300) == (24_890, 300)
    assert (size, mtime_ns, ctime_ns, codec) == (31_389, 1, 2, "none")
    assert (head, tail) == ("9b7d661dd607cb72", "6d4b13d1bf765139")


def test_the_header_is_one_readable_line():
    header, rest = (DATA / "rows-v1.ckpt").read_bytes().split(b"\n", 1)
    assert header.startswith(
        b'{"type":"header","magic":"NDCK","version":1,"mode":"rows"'
    )
    assert len(header) == 511
    assert len(rest) == 3 * 48


def test_a_newer_version_is_refused_by_its_number(tmp_path):
    newer = tmp_path / "newer.ckpt"
    written = (DATA / "rows-v1.ckpt").read_bytes()
    newer.write_bytes(written.replace(b'"version":1', b'"version":2'))
    with pytest.raises(SidecarError, match="version 2"), reading(str(newer)):
        RowIndex.load(newer)
