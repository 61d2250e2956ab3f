"""Joins of rows by their keys, run by the core.

`RowJoin` is the core's own class: it holds right rows, or is led to them by an index, and
makes joined rows of batches of left ones. What a joined row is: docs/joins.md.
"""

from __future__ import annotations

from typing import NamedTuple

from headrace._native import RowJoin

__all__ = ["Form", "JoinCounts", "RowJoin"]


class Form(NamedTuple):
    """What a joined row is made of, as the core is told.

    `inner`: left rows without a right one are left out. `target` is the field for the
    array of right rows, without which there is a row for each. `pick` are the fields of
    right rows that are wanted, `prefix` is what their names begin with, `indicator` the
    field that says ``both`` or ``left_only``.
    """

    inner: bool = False
    target: str | None = None
    pick: tuple[str, ...] | None = None
    prefix: str = ""
    indicator: str | None = None


class JoinCounts(NamedTuple):
    """Left rows of a join; rows = emitted + filtered + skipped + blank.

    `lookups` of them have a key, which for `hits` of them a right row has; `lines` are the
    rows of output.
    """

    rows: int = 0
    emitted: int = 0
    filtered: int = 0
    skipped: int = 0
    blank: int = 0
    lookups: int = 0
    hits: int = 0
    lines: int = 0

    def plus(self, other: JoinCounts) -> JoinCounts:
        """Return the rows of both."""
        return JoinCounts(*map(sum, zip(self, other, strict=True)))
