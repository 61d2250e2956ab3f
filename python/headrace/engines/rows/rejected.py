"""The record of a rejected row, the same in every engine."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from headrace.errors import RowFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.engines.query.options import BadRow

    Report = Callable[[BadRow], object]


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


def facts_of(row: BadRow) -> dict[str, Any]:
    """Return the facts of a bad row; `column` is the place in the query where a valid row failed."""
    error = row.error
    found = facts(error.path, error.line, error.offset, error.reason, row.raw)
    if isinstance(error, RowFailedError):
        found["column"] = error.column
    return found


def as_line(found: dict[str, Any]) -> bytes:
    """Return facts as a line of JSON."""
    import json

    return f"{json.dumps(found, ensure_ascii=False)}\n".encode()


@contextmanager
def reporting(
    to: str | os.PathLike[str] | Report | None,
) -> Iterator[Report | None]:
    """Yield a function that is called with each bad row: `to`, or one that writes to that file.

    The file appears when the block has ended.
    """
    if to is None or callable(to):
        yield to
        return
    from headrace.store.files.atomic import destination, replacing

    with replacing(destination(to)) as file:
        yield lambda row: file.write(as_line(facts_of(row)))
