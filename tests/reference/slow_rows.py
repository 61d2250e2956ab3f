"""Slow reference of rows, by their definition, in memory."""

from __future__ import annotations

BOM = b"\xef\xbb\xbf"


def slow_rows(data: bytes) -> list[tuple[int, bytes]]:
    """Return the byte offset and the content of every row of `data`."""
    rows = []
    offset = 0
    for line in data.split(b"\n"):
        content = line
        if offset == 0 and content.startswith(BOM):
            content = content[len(BOM) :]
        ended = offset + len(line) < len(data)
        if ended and content.endswith(b"\r"):
            content = content[:-1]
        rows.append((offset, content))
        offset += len(line) + 1
    if not data or data.endswith(b"\n"):
        rows.pop()
    return rows


def slow_contents(data: bytes) -> list[bytes]:
    """Return the content of every row of `data`."""
    return [content for _offset, content in slow_rows(data)]
