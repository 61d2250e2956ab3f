"""Slow writers of files of blocks, which follow docs/formats/."""

from __future__ import annotations

import gzip
import json
import os
import struct
import zlib
from typing import TYPE_CHECKING, NamedTuple

import zstandard

from headrace.kernel.rows import File

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


class Piece(NamedTuple):
    """One block: its bytes in the file, and its decoded content."""

    compressed: bytes
    content: bytes

    @property
    def rows(self) -> int:
        """The number of rows."""
        unended = bool(self.content) and not self.content.endswith(b"\n")
        return self.content.count(b"\n") + unended


def whole_lines(data: bytes, block_bytes: int) -> list[bytes]:
    """Cut at line ends: each block has as many lines as fit, but at least one."""
    cut: list[bytes] = []
    for line in _lines(data):
        if cut and len(cut[-1]) + len(line) <= block_bytes:
            cut[-1] += line
        else:
            cut.append(line)
    return cut


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return [line for line in lines if line]


def anywhere(data: bytes, block_bytes: int) -> list[bytes]:
    """Cut every `block_bytes` bytes, also inside a line, a line ending or a character."""
    return [
        data[start : start + block_bytes] for start in range(0, len(data), block_bytes)
    ]


def gzip_member(content: bytes, first_row: int) -> Piece:
    """Return a gzip member with its length in the header."""
    packed = zlib.compressobj(6, zlib.DEFLATED, -15)
    deflated = packed.compress(content) + packed.flush()
    rows = Piece(b"", content).rows
    length = 36 + len(deflated) + 8
    header = b"\x1f\x8b\x08\x04" + struct.pack("<IBB", 0, 0, 255)
    extra = struct.pack(
        "<H2sHIIIQ", 24, b"HR", 20, length, len(content), rows, first_row
    )
    trailer = struct.pack("<II", zlib.crc32(content), len(content))
    member = header + extra + deflated + trailer
    assert gzip.decompress(member) == content
    return Piece(member, content)


def gzip_members(contents: Iterable[bytes]) -> list[Piece]:
    """Return the members of a file, one for each content."""
    pieces: list[Piece] = []
    for content in contents:
        rows = sum(piece.rows for piece in pieces)
        pieces.append(gzip_member(content, rows))
    return pieces


def zstd_frames(contents: Iterable[bytes], *, sized: bool = True) -> list[Piece]:
    """Return the frames of a file, one for each content."""
    packer = zstandard.ZstdCompressor(write_checksum=True, write_content_size=sized)
    return [Piece(packer.compress(content), content) for content in contents]


def seek_table(lengths: Sequence[tuple[int, int]], *, checksums: bool = False) -> bytes:
    """Return the seek table of frames with these compressed and decompressed sizes."""
    entries = b"".join(
        struct.pack("<II", *pair) + (b"hash" if checksums else b"") for pair in lengths
    )
    footer = struct.pack("<IBI", len(lengths), 0x80 * checksums, 0x8F92EAB1)
    return struct.pack("<II", 0x184D2A5E, len(entries) + 9) + entries + footer


def lengths(pieces: Sequence[Piece]) -> list[tuple[int, int]]:
    """Return the compressed and decompressed sizes of frames, for a seek table."""
    return [(len(piece.compressed), len(piece.content)) for piece in pieces]


def joined(pieces: Sequence[Piece]) -> bytes:
    """Return the concatenated bytes of the pieces."""
    return b"".join(piece.compressed for piece in pieces)


def seekable_zstd(pieces: Sequence[Piece], *, checksums: bool = False) -> bytes:
    """Return a zstd file with a seek table."""
    return joined(pieces) + seek_table(lengths(pieces), checksums=checksums)


def write_sidecar(path: Path, codec: str, pieces: Sequence[Piece]) -> Path:
    """Write the checkpoints, in blocks mode, of the finished file at `path`."""
    size = path.stat().st_size
    head, tail = File(path).fingerprint(size)
    header = {
        "type": "header", "magic": "NDCK", "version": 1, "mode": "blocks",
        "interval": 0, "entrySize": 48, "entries": len(pieces), "size": size,
        "mtimeNs": 0, "ctimeNs": 0, "headHash": head, "tailHash": tail,
        "codec": codec, "logicalSize": sum(len(piece.content) for piece in pieces),
        "totalRows": sum(piece.rows for piece in pieces),
        "lastRowTerminated": True, "bom": False, "complete": True,
        "crc32c": "00000000",
    }  # fmt: skip
    text = json.dumps(header, separators=(",", ":")).encode().ljust(511) + b"\n"
    seed = crc32c(text)
    place = text.rindex(b'"crc32c":"') + len(b'"crc32c":"')
    written = text[:place] + b"%08x" % seed + text[place + 8 :]
    row = logical = physical = 0
    for compressed, content in pieces:
        rows = Piece(compressed, content).rows
        entry = struct.pack(
            "<QQQIIIII", row, logical, physical, len(content), len(compressed), rows,
            crc32c(compressed), 0,
        )  # fmt: skip
        written += entry + struct.pack("<I", crc32c(entry, seed))
        row, logical = row + rows, logical + len(content)
        physical += len(compressed)
    sidecar = path.with_name(path.name + ".ckpt")
    sidecar.write_bytes(written)
    return sidecar


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        value = byte
        for _bit in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_CRC_TABLE = _crc_table()


def crc32c(data: bytes, seed: int = 0) -> int:
    """Return the CRC32C of `data`, which follows data with the CRC32C `seed`.

    >>> f"{crc32c(b'123456789'):08x}"
    'e3069283'
    """
    value = seed ^ 0xFFFFFFFF
    for byte in data:
        value = _CRC_TABLE[(value ^ byte) & 0xFF] ^ value >> 8
    return value ^ 0xFFFFFFFF


def rot(path: Path, content: bytes) -> None:
    """Change the bytes of a file like a failing disk: the file times stay."""
    before = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
