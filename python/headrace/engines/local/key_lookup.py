"""Key look-up in one source: by its index, or by a scan.

Both yield the same rows in the same order: in the order of the requested keys, also of a repeated
key, and for one key in file order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.errors import KeyIndexError
from headrace.kernel.index_meta import Lines
from headrace.kernel.key_index import (
    KeyRequest,
    KeyScan,
    Skipped,
    WantedKeys,
    rows_at,
    skipped_by,
)
from headrace.kernel.rows import END, RowBatch, SidecarError, reading
from headrace.store.files.opened import OpenedFile, rows_from
from headrace.store.rows.row_file import BATCH_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.store.index.key import Stored

MAX_BYTES = 1 << 20
"""About the size of a batch of rows."""


class Reading(NamedTuple):
    """Options for reading rows that no index covers."""

    fields: tuple[str, ...]
    max_line: int
    max_depth: int


class LedBy(NamedTuple):
    """The index of a source, for the rows that begin before `below`.

    `grown`: there are rows after these.
    """

    stored: Stored
    opened: OpenedFile
    below: int
    grown: bool


class Sought(NamedTuple):
    """The offsets of the rows of each request, the lines that were read, and the first bad ones."""

    offsets: list[list[int]]
    lines: Lines
    skipped: list[Skipped]


def scan(
    opened: OpenedFile, how: Reading, requests: Sequence[KeyRequest], start: int = 0
) -> Sought:
    """Scan every row from `start` on, where a row begins."""
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
    """Yield the rows at the offsets that a scan has found for a request."""
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
    """Yield the rows at the offsets that a scan has found in a file that is not seekable."""
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
    """Yield the rows of a request in an index that begin before `below`.

    Raises `KeyIndexError` if the index is damaged or does not belong to the source, before any
    row if possible.
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
            # If the source was changed, that is the error, not its index.
            opened.check()
            raise KeyIndexError(
                opened.path, str(stored.path), "corrupt", error.damage
            ) from None
        opened.check()
        yield rows
        if at is None:
            return
