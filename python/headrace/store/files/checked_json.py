"""JSON files that end with their own checksum."""

import json
from collections.abc import Callable, Iterable, Mapping

from headrace.kernel.checksum import crc32c

_KEY = b' "crc32c": "'
_NONE = b"00000000"
_END = b'"\n}\n'

CHECKSUM_BYTES = len(_KEY) + len(_NONE) + len(_END)
"""The bytes of a file after its other keys."""


def dumped(value: object) -> str:
    """Return a value as JSON, with characters beyond ASCII as they are."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def encoded(
    facts: Mapping[str, object],
    name: str = "",
    items: Iterable[str] = (),
    dump: Callable[[object], str] = dumped,
) -> bytes:
    """Return the content of a file: a line for each fact, and for each of the `items`.

    The items are JSON; they are the elements of the array called `name`, the last fact.

    >>> print(encoded({"a": 1}, "b", ["2", "3"]).decode(), end="")
    {
     "a": 1,
     "b": [
      2,
      3
     ],
     "crc32c": "e8bac577"
    }
    """
    members = {key: dump(value) for key, value in facts.items()}
    if name:
        elements = ",\n".join(f"  {item}" for item in items)
        members[name] = f"[\n{elements}\n ]" if elements else "[]"
    lines = (f" {dump(key)}: {value},\n" for key, value in members.items())
    return with_checksum("".join(["{\n", *lines]).encode())


def with_checksum(head: bytes) -> bytes:
    r"""Return the content of a file, given everything before its last key.

    >>> with_checksum(b'{\n "a": 1,\n').decode().splitlines()
    ['{', ' "a": 1,', ' "crc32c": "7cc1b21b"', '}']
    """
    digits = f"{crc32c(head + _KEY + _NONE + _END):08x}".encode()
    return head + _KEY + digits + _END


def has_checksum(content: bytes) -> bool:
    """Whether the checksum at the end is there and right."""
    return (
        len(content) >= CHECKSUM_BYTES
        and with_checksum(content[:-CHECKSUM_BYTES]) == content
    )


def is_whole(content: bytes) -> bool:
    """Whether the file was written to its end, even if it was damaged since.

    A truncated file ends before its last line. Damage keeps that line, or the checksum before it.
    """
    checksum = content.rfind(_KEY)
    return content.endswith(b"\n}\n") or 0 <= checksum <= len(content) - CHECKSUM_BYTES
