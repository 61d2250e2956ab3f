"""One text in every form that headrace reads."""

from __future__ import annotations

import bz2
import gzip
import lzma
from typing import TYPE_CHECKING

import zstandard

if TYPE_CHECKING:
    from collections.abc import Callable


def _thirds(data: bytes) -> list[bytes]:
    """Cut anywhere, also inside a line."""
    third = max(len(data) // 3, 1)
    return [data[:third], data[third : 2 * third], data[2 * third :]]


def _several(compress: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda data: b"".join(compress(part) for part in _thirds(data))


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def _zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda data: data,
    "gzip": _gzip,
    "gzip of several members": _several(_gzip),
    "zstd": _zstd,
    "zstd of several frames": _several(_zstd),
    "bzip2": bz2.compress,
    "bzip2 of several streams": _several(bz2.compress),
    "xz": lzma.compress,
    "xz of several streams": _several(lzma.compress),
}
