"""Writers of a text in every form of file that headrace reads."""

from __future__ import annotations

import bz2
import gzip
import lzma
from typing import TYPE_CHECKING

import zstandard

from tests.reference.blocks import (
    Piece,
    anywhere,
    gzip_members,
    joined,
    seekable_zstd,
    whole_lines,
    zstd_frames,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def _thirds(data: bytes) -> list[bytes]:
    """Cut into thirds, also inside a line."""
    third = max(len(data) // 3, 1)
    return [data[:third], data[third : 2 * third], data[2 * third :]]


def _halves(data: bytes) -> list[bytes]:
    """Cut in two after a line."""
    middle = data.find(b"\n", len(data) // 2) + 1
    return [data[:middle], data[middle:]]


def _several(compress: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda data: b"".join(compress(part) for part in _thirds(data))


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def _zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


SKIPPABLE = b"\x50\x2a\x4d\x18\x04\0\0\0meta"


def _gzip_blocks(data: bytes, block_bytes: int) -> bytes:
    return joined(gzip_members(whole_lines(data, block_bytes)))


def _with_empty_ones(contents: list[bytes]) -> list[bytes]:
    return [part for content in contents for part in (b"", content)] + [b""]


def _zstd_with_skippable_frames(data: bytes) -> bytes:
    frames = zstd_frames(anywhere(data, 20))
    pieces = [Piece(SKIPPABLE, b""), *frames, Piece(SKIPPABLE, b"")]
    return seekable_zstd(pieces, checksums=True)


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda data: data,
    "gzip": _gzip,
    "gzip of several members": _several(_gzip),
    "zstd": _zstd,
    "zstd of several frames": _several(_zstd),
    "gzip, a block a line": lambda data: _gzip_blocks(data, 1),
    "gzip, blocks of lines": lambda data: _gzip_blocks(data, 500),
    "gzip, some blocks empty": lambda data: joined(
        gzip_members(_with_empty_ones(whole_lines(data, 100)))
    ),
    "gzip, two files of blocks": lambda data: b"".join(
        _gzip_blocks(part, 100) for part in _halves(data)
    ),
    "zstd, a block a line": lambda data: seekable_zstd(
        zstd_frames(whole_lines(data, 1))
    ),
    "zstd, blocks of lines": lambda data: seekable_zstd(
        zstd_frames(whole_lines(data, 500))
    ),
    "zstd, cut anywhere": lambda data: seekable_zstd(
        zstd_frames(anywhere(data, 13), sized=False), checksums=True
    ),
    "zstd, some blocks empty": lambda data: seekable_zstd(
        zstd_frames(_with_empty_ones(anywhere(data, 40)))
    ),
    "zstd, skippable frames among blocks": _zstd_with_skippable_frames,
    "bzip2": bz2.compress,
    "bzip2 of several streams": _several(bz2.compress),
    "xz": lzma.compress,
    "xz of several streams": _several(lzma.compress),
}
