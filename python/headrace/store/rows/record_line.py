"""The line of a record: any JSON value, or its text."""

from __future__ import annotations

import json
import os
from decimal import Decimal

_MARK = os.urandom(16).hex()
"""A text that no record contains."""


class NoRecordError(Exception):
    """A record cannot be a line of JSON."""

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(offset, reason)
        self.offset = offset
        self.reason = reason


def line_of(record: object) -> bytes:
    r"""Return the line of a record: a JSON value, a `str` too, or its text as bytes.

    >>> line_of("5"), line_of(b"5"), line_of({"a": Decimal("1e400")})
    (b'"5"\n', b'5\n', b'{"a":1E+400}\n')
    """
    if isinstance(record, (bytes, bytearray, memoryview)):
        return _one_line(bytes(record))
    try:
        text = json.dumps(
            record,
            ensure_ascii=False,
            allow_nan=False,
            separators=(",", ":"),
            default=_marked,
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise NoRecordError(0, f"it has no JSON: {error}") from None
    if _MARK in text:
        text = text.replace(f'"{_MARK}', "").replace(f'{_MARK}"', "")
    return _encoded(text) + b"\n"


def _marked(value: object) -> str:
    """Return a number as a marked text, to be unquoted; `json` writes only its own number types."""
    if isinstance(value, Decimal) and value.is_finite():
        return f"{_MARK}{value}{_MARK}"
    raise TypeError(f"{type(value).__name__} {value!r:.40} is no JSON value")


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        offset = len(text[: error.start].encode())
        raise NoRecordError(offset, "a lone surrogate is no character") from None


def _one_line(text: bytes) -> bytes:
    line = text.removesuffix(b"\n")
    if (newline := line.find(b"\n")) >= 0:
        raise NoRecordError(newline, "a record is one line, and this has a newline")
    if not line.strip(b" \t\r"):
        raise NoRecordError(0, "a record is a JSON value, and this is blank")
    return line + b"\n"
