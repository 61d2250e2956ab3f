"""The record of a rejected row, the same in every engine."""

from __future__ import annotations

import os
from typing import Any


def facts(
    path: str, line: int | None, offset: int, reason: str, raw: bytes | None
) -> dict[str, Any]:
    """Return the place of a row, the reason for rejecting it, and its bytes.

    The bytes are `raw` if they are text, otherwise `raw_base64`; a row too long to be read has
    neither.

    >>> facts("a.jsonl", 3, 17, "expected a value", b"x")["raw"]
    'x'
    """
    # The name of a file may be bytes that are no text, but JSON is text.
    path = os.fsencode(path).decode(errors="replace")
    found: dict[str, Any] = {
        "file": path,
        "line": line,
        "offset": offset,
        "reason": reason,
    }
    if raw is not None:
        try:
            found["raw"] = raw.decode()
        except UnicodeDecodeError:
            from base64 import b64encode

            found["raw_base64"] = b64encode(raw).decode()
    return found


def as_line(found: dict[str, Any]) -> bytes:
    """Return facts as a line of JSON."""
    import json

    return f"{json.dumps(found, ensure_ascii=False)}\n".encode()
