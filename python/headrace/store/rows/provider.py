"""Rows of another format: what somebody else's reader must offer to be asked.

A provider gives rows one after the other as JSON text. The engine asks what it is
capable of, tells it once which fields the query reads, takes row after row, and
tells it when no more are needed.
"""

from __future__ import annotations

from typing import (
    TYPE_CHECKING,
    NamedTuple,
    NoReturn,
    Protocol,
    runtime_checkable,
)

from headrace.errors import NotNdjsonError, OnlyInOrderError, UsageError
from headrace.kernel.rows import RowBatch
from headrace.store.rows.demand import Capabilities

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.store.files.source import Source
    from headrace.store.rows.demand import Lanes

_BATCH_ROWS = 4096
_BATCH_BYTES = 1 << 20


class Position(NamedTuple):
    """Where a row stands in what the provider reads; the first line is 1."""

    line: int
    offset: int


@runtime_checkable
class RowProvider(Protocol):
    """A source of rows, to be passed wherever a path can be.

    `location` names it in errors.
    """

    location: str

    def next_row(self) -> bytes | bytearray | memoryview | None:
        """Return the next row as JSON, None at the end.

        It is copied before the next call, so the memory can be used again.
        """
        ...

    def capabilities(self) -> Capabilities:
        """Return what it can do."""
        return Capabilities()

    def request_lanes(self, lanes: Lanes) -> None:
        """Learn which fields are read, once, before the first row.

        A row without the other fields gives the same answer.
        """

    def cancel(self) -> None:
        """End: no further row is wanted. It may come twice; then there are no rows."""

    def position(self) -> Position:
        """Return where the last row stands; only asked of who is capable of it."""
        raise NotImplementedError

    def backwards(self) -> RowProvider:
        """Return a provider that begins with the last row; asked only of who is capable."""
        raise NotImplementedError


class ProviderRows:
    """The rows of a provider, some at a time, as the engine reads them."""

    def __init__(self, source: Source, provider: RowProvider) -> None:
        self.source = source
        self._provider = provider
        self._first = 0
        self._is_taken = False
        self._positions: list[Position] = []

    @property
    def capabilities(self) -> Capabilities:
        """What the provider can do."""
        return self._provider.capabilities()

    def request_lanes(self, lanes: Lanes) -> None:
        """Tell the provider which fields are read."""
        self._provider.request_lanes(lanes)

    def batches(
        self,
        start: int = 0,
        stop: int | None = None,
        *,
        ends_at_long_row: bool = False,  # noqa: ARG002, it gives whole rows
    ) -> Iterator[RowBatch]:
        """Yield the rows from number `start` up to `stop`; in the end the provider ends."""
        for batch in self._batches(self._provider):
            first, end = batch.first_row, batch.first_row + len(batch)
            if end > start:
                skipped = max(start - first, 0)
                wanted = end if stop is None else min(stop, end)
                yield batch.slice(skipped, max(wanted - first - skipped, 0))
            if stop is not None and end >= stop:
                return

    def backwards(self) -> Iterator[RowBatch]:
        """Yield rows one by one from the last."""
        for batch in self._batches(self._provider.backwards()):
            for at in range(len(batch)):
                yield batch.slice(at, 1)

    def _batches(self, provider: RowProvider) -> Iterator[RowBatch]:
        if self._is_taken:
            raise UsageError(f"{self.source.location}: its rows can be read only once")
        self._is_taken = True
        # Often the first rows are enough, and each may be dear.
        self._first, rows = 0, 1
        try:
            while contents := self._take(provider, rows):
                yield RowBatch.of_contents(self._first, contents)
                self._first += len(contents)
                rows = min(rows * 2, _BATCH_ROWS)
        finally:
            provider.cancel()

    def _take(self, provider: RowProvider, rows: int) -> list[bytes]:
        contents: list[bytes] = []
        held = 0
        self._positions.clear()
        positions = provider.capabilities().positions
        while len(contents) < rows and held < _BATCH_BYTES:
            row = provider.next_row()
            if row is None:
                break
            contents.append(self._checked(row, self._first + len(contents)))
            held += len(row)
            if positions:
                self._positions.append(provider.position())
        return contents

    def _checked(self, row: bytes | bytearray | memoryview, number: int) -> bytes:
        location = self.source.location
        if not isinstance(row, (bytes, bytearray, memoryview)):
            given = type(row).__name__
            raise UsageError(f"{location}: next_row gives {given}, not bytes of JSON")
        content = bytes(row)
        if b"\n" in content:
            reason = f"row {number + 1} has a line break; give each row on one line"
            raise NotNdjsonError(location, reason)
        return content

    def place(self, row: int, offset: int, *, reverse: bool) -> tuple[int | None, int]:
        """Return the line and the byte of a row; without positions, the byte within it."""
        if self._positions:
            return self._positions[row - self._first]
        return (None if reverse else row + 1), offset

    def by_key(self, *_: object, **__: object) -> None:
        """Return None: what a provider reads has no key index."""

    def bytes_read(self) -> int:
        """Return 0: how much a provider reads is its own affair."""
        return 0

    def close(self) -> None:
        """Tell the provider that no row is wanted any more."""
        self._provider.cancel()

    def total(self, *_: object, **__: object) -> NoReturn:
        """Refuse: rows come in order and only once."""
        raise OnlyInOrderError(self.source.location)

    read = tail = total
