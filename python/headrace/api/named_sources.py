"""Sources that a query or a join reads besides those of the data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.engines.query.scan import Rows


def refuse_times(files: Iterable[Rows], reason: str, instead: str) -> None:
    """Raise for lines with certain times where whole files are read."""
    for rows in files:
        if rows.source.times is not None:
            raise UsageError(
                f"{rows.source.location}: {reason}; leave out since and until, or {instead}"
            )


def refuse_shared_pipes(opened: Iterable[tuple[Rows, ...]]) -> None:
    """Raise if two readers share a pipe: each would get a part of its rows."""
    readers: dict[str | int, Rows] = {}
    for rows in (rows for files in opened for rows in files if rows.source.is_pipe):
        source = rows.source
        pipe = source.location if source.origin is None else id(source.origin)
        if readers.setdefault(pipe, rows) is not rows:
            raise UsageError(f"{source.location}: a pipe can be read only once")
