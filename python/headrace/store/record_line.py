"""The line of a record: any JSON value, or its text."""

from __future__ import annotations

import json


class NoRecordError(Exception):
    """Something cannot be a line of JSON."""

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(offset, reason)
        self.offset = offset
        self.reason = reason


def line_of(record: object) -> bytes:
    """Return the line of a record."""
    if isinstance(record, str):
        return _one_line(_encoded(record))
    if isinstance(record, (bytes, bytearray, memoryview)):
        return _one_line(bytes(record))
    try:
        text = json.dumps(
            record, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise NoRecordError(0, f"it has no JSON: {error}") from None
    return _encoded(text) + b"\n"


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        offset = len(text[: error.start].encode())
        raise NoRecordError(offset, "a surrogate alone is no character") from None


def _one_line(text: bytes) -> bytes:
    line = text.removesuffix(b"\n")
    if (newline := line.find(b"\n")) >= 0:
        raise NoRecordError(newline, "a record is one line, and a newline ends it")
    if not line.strip(b" \t\r"):
        raise NoRecordError(0, "a record is a JSON value, and this is blank")
    return line + b"\n"
