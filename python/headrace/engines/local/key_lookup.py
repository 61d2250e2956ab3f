"""Looking keys up in one source: by its index, or by looking at every row.

Both ways give the same rows, in the same order: those of the first key asked for
first, each as often as it is asked for, and those of one key as they stand in the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.errors import KeyIndexError
from headrace.kernel.index_meta import Lines
from headrace.kernel.key_index import (
    KeyScan,
    WantedKeys,
    rows_at,
    skipped_by,
)
from headrace.kernel.rows import END, SidecarError, reading
from headrace.store.files.opened import rows_from
from headrace.store.rows.row_file import BATCH_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.kernel.key_index import KeyRequest, Skipped
    from headrace.kernel.rows import RowBatch
    from headrace.store.files.opened import OpenedFile
    from headrace.store.index.key import Stored

MAX_BYTES = 1 << 20
"""About how many bytes of rows are read at a time."""


class Reading(NamedTuple):
    """How rows are read that no index has seen."""

    fields: tuple[str, ...]
    max_line: int
    max_depth: int


class LedBy(NamedTuple):
    """An index of a source that leads to the rows that begin before `below`.

    `grown`: there are others behind them.
    """

    stored: Stored
    opened: OpenedFile
    below: int
    grown: bool


class Sought(NamedTuple):
    """Where the rows of each request begin, what lines there are, and the first bad ones."""

    offsets: list[list[int]]
    lines: Lines
    skipped: list[Skipped]


def scan(
    opened: OpenedFile, how: Reading, requests: Sequence[KeyRequest], start: int = 0
) -> Sought:
    """Look at every row from `start` on, which is where one begins."""
    found: list[list[int]] = [[] for _ in requests]
    wanted = WantedKeys(requests)
    keys = KeyScan(how.fields, max_depth=how.max_depth)
    rows = rows_from(opened, how.max_line, start=start, at_row=True, end=END)
    while (some := rows.advance(lambda stream: keys.find(stream, wanted))) is not None:
        for number, offset in some:
            found[number].append(offset)
    return Sought(found, Lines(*keys.lines), skipped_by(keys))


def rows_of_offsets(
    opened: OpenedFile, how: Reading, request: KeyRequest, offsets: Sequence[int]
) -> Iterator[RowBatch]:
    """Yield the rows that a scan has found for a request."""
    at = 0
    while at < len(offsets):
        with reading(opened.path):
            rows, done = rows_at(
                opened.data,
                request,
                offsets[at:],
                fields=how.fields,
                size=opened.size,
                max_line=how.max_line,
                max_depth=how.max_depth,
                max_bytes=MAX_BYTES,
            )
        opened.check()
        yield rows
        at += done


def rows_in_order(
    opened: OpenedFile, how: Reading, offsets: Sequence[int]
) -> Iterator[RowBatch]:
    """Yield the rows that a scan has found in a file that cannot be entered in the middle."""
    left = set(offsets)
    rows = rows_from(opened, how.max_line, end=END)
    while left and (batch := rows.next_batch(BATCH_ROWS, MAX_BYTES)) is not None:
        found = left.intersection(batch.offsets)
        for position, offset in enumerate(batch.offsets if found else ()):
            if offset in found:
                yield batch.slice(position, 1)
        left -= found


def rows_of_index(
    opened: OpenedFile, stored: Stored, request: KeyRequest, below: int
) -> Iterator[RowBatch]:
    """Yield the rows that an index has for a request and that begin before `below`.

    Raises `KeyIndexError` where the index is damaged or is not that of the source, before
    any row if that is possible.
    """
    at = None
    while True:
        try:
            with reading(opened.path):
                rows, at = stored.index.get(
                    opened.data,
                    request,
                    size=min(opened.size, stored.newest.logical_size),
                    below=below,
                    max_bytes=MAX_BYTES,
                    at=at,
                )
        except SidecarError as error:
            # A source that was changed is said to be so, not its index.
            opened.check()
            raise KeyIndexError(
                opened.path, str(stored.path), "corrupt", error.damage
            ) from None
        opened.check()
        yield rows
        if at is None:
            return
