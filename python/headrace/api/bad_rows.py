"""Bad rows as lines of JSON: the place of each, why it was skipped, and its bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.engines.rows import rejected
from headrace.errors import RowFailedError

if TYPE_CHECKING:
    from headrace.engines.query.options import BadRow


def facts(row: BadRow) -> dict[str, Any]:
    """Return a bad row as an object; `column` is the place in the query where a valid row failed."""
    error = row.error
    found = rejected.facts(error.path, error.line, error.offset, error.reason, row.raw)
    if isinstance(error, RowFailedError):
        found["column"] = error.column
    return found


def as_line(row: BadRow) -> bytes:
    """Return a bad row as a line of JSON."""
    return rejected.as_line(facts(row))
