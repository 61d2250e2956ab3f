"""What is written down of a row that was not taken: the same in every engine."""

from __future__ import annotations

import os
from typing import Any


def facts(
    path: str, line: int | None, offset: int, reason: str, raw: bytes | None
) -> dict[str, Any]:
    """Return where a row is, why it was not taken, and its bytes.

    `raw` is the row if it is text, else it is `raw_base64`; a row too long to be read
    has neither.

    >>> facts("a.jsonl", 3, 17, "expected a value", b"x")["raw"]
    'x'
    """
    # A file may be called by bytes that are no text, but JSON is text.
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
