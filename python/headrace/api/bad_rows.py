"""Bad rows as lines of JSON: where each is, why it was passed over, and its bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.engines.rows import rejected
from headrace.errors import RowFailedError

if TYPE_CHECKING:
    from headrace.engines.query.options import BadRow


def facts(row: BadRow) -> dict[str, Any]:
    """Return what is known of a bad row; `column` is where in the query, of a good one."""
    error = row.error
    found = rejected.facts(error.path, error.line, error.offset, error.reason, row.raw)
    if isinstance(error, RowFailedError):
        found["column"] = error.column
    return found


def as_line(row: BadRow) -> bytes:
    """Return what is known of a bad row as a line of JSON."""
    return rejected.as_line(facts(row))
