"""Checksums of what headrace writes: of small files, and of whole ones.

>>> f"{crc32c(b'123456789'):08x}"
'e3069283'
"""

from __future__ import annotations

from headrace._native import crc32c, digest

__all__ = ["crc32c", "digest"]
