"""Events about indexes that cannot be used, and about keys and edges that no row has.

Imported when a command runs, not when its help is shown.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import headrace
from headrace.suggestion import did_you_mean

if TYPE_CHECKING:
    from headrace.cli.console import Console
    from headrace.errors import KeyIndexError

NO_INDEX = ("missing", "several")
"""Kinds of trouble without an index file."""

STALE = ("stale", "grown")
"""Kinds of trouble with an intact index of another state of the file."""

UNFIT = ("limits", "other", "locked")
"""Kinds of trouble with an intact index that does not fit the request."""


def say_trouble(console: Console, trouble: KeyIndexError) -> None:
    """Emit an event about an index that cannot be used."""
    if trouble.kind in NO_INDEX:
        return
    console.emit(
        "index_stale"
        if trouble.kind in STALE
        else "index_unfit"
        if trouble.kind in UNFIT
        else "index_corrupt",
        trouble.what,
        source=trouble.path,
        index=trouble.index,
        kind=trouble.kind,
        reason=trouble.reason,
    )


def say_keyless(
    console: Console, location: str, key: str, event: str = "key_not_found"
) -> None:
    """Warn that no row has a key, and name the fields of the first rows."""
    fields = fields_seen(location)
    seen = ", ".join(fields) or "unknown"
    meant = "".join(did_you_mean(part, fields) for part in key.split(","))
    message = (
        f"{location}: no row has the key {key}; fields of the first rows: {seen}{meant}"
    )
    console.emit(event, message, source=location, key=key)


def say_fallback(console: Console, trouble: KeyIndexError) -> None:
    """Emit an event about the scan instead."""
    consequence = "it is scanned"
    if trouble.kind == "grown":
        consequence = "its new rows are scanned"
    elif trouble.kind in NO_INDEX:
        consequence = f"{trouble.reason}, so it is scanned"
    console.emit(
        "index_fallback",
        f"{trouble.path}: {consequence}",
        reason="stale" if trouble.kind in STALE else trouble.kind,
        source=trouble.path,
    )


def say_no_edges(
    console: Console, location: str, names: dict[str, str | None], seen: str
) -> None:
    """Warn that no row is an edge: a field may be mistyped."""
    fields = ", ".join(name for name in names.values() if name is not None)
    console.emit(
        "no_edges_indexed",
        f"{location}: no row is an edge of {fields}; fields of the first rows: {seen}",
        source=location,
        **names,
    )


def fields_seen(location: str) -> list[str]:
    """List the fields of the first rows, for messages about a field that may be mistyped."""
    if not (Path(location).is_file() or Path(location).is_dir()):
        # A pipe, or several sources under one name, cannot be read again.
        return []
    rows = islice(headrace.open(location).records(on_error="skip"), 100)
    names = (name for row in rows if isinstance(row, dict) for name in row)
    return list(dict.fromkeys(names))[:20]
