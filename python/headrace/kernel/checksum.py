"""Checksums of what headrace writes: of small files, and of whole ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace import _native

if TYPE_CHECKING:
    from headrace.kernel.rows import File


def crc32c(content: bytes) -> int:
    """Return the CRC32C (Castagnoli) of some bytes.

    >>> f"{crc32c(b'123456789'):08x}"
    'e3069283'
    """
    return _native.crc32c(content)


def digest(file: File, size: int) -> str:
    """Return the XXH3 of the first `size` bytes of a file, as metadata has it."""
    return _native.digest(file, size)
