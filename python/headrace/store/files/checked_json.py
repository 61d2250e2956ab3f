"""JSON files that end with their own checksum."""

from __future__ import annotations

from headrace.kernel.checksum import crc32c

_KEY = b' "crc32c": "'
_NONE = b"00000000"
_END = b'"\n}\n'
_TAIL = len(_KEY) + len(_NONE) + len(_END)

CHECKSUM_BYTES = _TAIL
"""The bytes of a file after its other keys."""


def with_checksum(head: bytes) -> bytes:
    r"""Return the content of a file, given everything before its last key.

    >>> with_checksum(b'{\n "a": 1,\n').decode().splitlines()
    ['{', ' "a": 1,', ' "crc32c": "7cc1b21b"', '}']
    """
    digits = f"{crc32c(head + _KEY + _NONE + _END):08x}".encode()
    return head + _KEY + digits + _END


def has_checksum(content: bytes) -> bool:
    """Whether the checksum at the end is there and right."""
    return len(content) >= _TAIL and with_checksum(content[:-_TAIL]) == content


def is_whole(content: bytes) -> bool:
    """Whether the file was written to its end, even if it was damaged since.

    A truncated file ends before its last line. Damage keeps that line, or the checksum before it.
    """
    checksum = content.rfind(_KEY)
    return content.endswith(b"\n}\n") or 0 <= checksum <= len(content) - _TAIL
