"""The checksum of everything headrace writes."""

from __future__ import annotations

from headrace import _native


def crc32c(content: bytes) -> int:
    """Return the CRC32C (Castagnoli) of some bytes.

    >>> f"{crc32c(b'123456789'):08x}"
    'e3069283'
    """
    return _native.crc32c(content)
