"""Sidecars of every version ever written can be read, or are refused by number."""

from pathlib import Path

import pytest

from headrace.kernel.rows import File, RowIndex, SidecarError, reading
from tests.reference.blocks import Piece, write_sidecar

DATA = Path(__file__).parent / "data"


def facts(made):
    names = ["size", "mtime_ns", "ctime_ns", "head_hash", "tail_hash", "codec", "file"]
    return tuple(getattr(made, name) for name in names)


def test_version_1_is_read():
    index, made = RowIndex.load(DATA / "rows-v1.ckpt")
    # Made from 2,500 rows `{"id": N}` ending without a newline.
    assert index.total_rows == 2500
    assert index.checkpoints() == [0, 11_890, 24_890]
    assert index.checkpoint(2300) == (24_890, 300)
    # It was written before sidecars named their file.
    ends = "9b7d661dd607cb72", "6d4b13d1bf765139"
    assert facts(made) == (31_389, 1, 2, *ends, "none", "")


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


def test_blocks_of_version_1_are_read(tmp_path):
    index, made = RowIndex.load(DATA / "blocks-v1.ckpt")
    # Made from 2,500 rows `{"id": N}`, as blocks of at most 10,000 bytes.
    assert index.total_rows == 2500
    assert index.checkpoints() == [0, 9_994, 19_989, 29_986]
    assert index.checkpoint(2300) == (19_989, 677)
    ends = "9b7d661dd607cb72", "3b0cd48a11aadb20"
    assert facts(made) == (31_390, 0, 0, *ends, "none", "")
    data = tmp_path / "data"
    data.write_bytes(b"".join(b'{"id": %d}\n' % row for row in range(2500)))
    table = index.blocks
    assert table is not None
    # Written again, they have the same bytes.
    again = table.encode(File(data), 31_390, "none")
    assert again == (DATA / "blocks-v1.ckpt").read_bytes()


def test_a_block_table_follows_the_document(tmp_path):
    """The slow writer was made from docs/formats/checkpoints.md alone."""
    data = tmp_path / "data"
    pieces = [Piece(b"1\n2\n", b"1\n2\n"), Piece(b"3\n", b"3\n")]
    data.write_bytes(b"1\n2\n3\n")
    sidecar = write_sidecar(data, "none", pieces)
    table = RowIndex.load(sidecar)[0].blocks
    assert table is not None
    assert table.encode(File(data), 6, "none") == sidecar.read_bytes()
