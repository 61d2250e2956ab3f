"""Joins of rows by their keys.

`RowJoin` is the core's own class: it keeps right rows in a hash table, or reads them through a
key index, and joins batches of left rows with them. What a joined row is: docs/joins.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace._native import RowJoin

if TYPE_CHECKING:
    from headrace._native import File, KeyIndex

__all__ = ["Form", "JoinCounts", "RightIndex", "RowJoin"]


class Form(NamedTuple):
    """The form of a joined row.

    `inner` drops left rows without a right one. `target` is the field for the array of right
    rows; without it, each right row makes a row. `pick` are the fields of right rows to take,
    `prefix` goes before their names, and `indicator` is a field for ``both`` or ``left_only``.
    """

    inner: bool = False
    target: str | None = None
    pick: tuple[str, ...] | None = None
    prefix: str = ""
    indicator: str | None = None


class RightIndex(NamedTuple):
    """A key index of the right side: its file, of `size` bytes; rows from `below` on are new."""

    known: KeyIndex
    file: File
    size: int
    below: int


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
