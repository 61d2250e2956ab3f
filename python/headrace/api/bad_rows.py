"""Bad rows as lines of JSON: where each is, why it was passed over, and its bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors import RowFailedError

if TYPE_CHECKING:
    from headrace.engines.local.query import BadRow


def facts(row: BadRow) -> dict[str, Any]:
    """Return what is known of a bad row.

    `column` is where in the query, of a row that is good. `raw` is the row if it is
    text, else it is `raw_base64`; a row too long to be read has neither.
    """
    error = row.error
    # A file may be called by bytes that are no text, but JSON is text.
    path = error.path.encode(errors="surrogateescape").decode(errors="replace")
    found: dict[str, Any] = {
        "file": path,
        "line": error.line,
        "offset": error.offset,
        "reason": error.reason,
    }
    if isinstance(error, RowFailedError):
        found["column"] = error.column
    if row.raw is not None:
        try:
            found["raw"] = row.raw.decode()
        except UnicodeDecodeError:
            from base64 import b64encode

            found["raw_base64"] = b64encode(row.raw).decode()
    return found


def as_line(row: BadRow) -> bytes:
    """Return what is known of a bad row as a line of JSON."""
    import json

    return f"{json.dumps(facts(row), ensure_ascii=False)}\n".encode()
