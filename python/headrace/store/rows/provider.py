"""Row providers: readers of other formats that a query can run on.

A provider returns rows one after the other as JSON text. The engine reads its capabilities,
tells it once which fields the query reads, takes row after row, and cancels it when no more rows
are needed.
"""

from collections.abc import Iterator
from typing import (
    NamedTuple,
    NoReturn,
    Protocol,
    runtime_checkable,
)

from headrace.errors import NotNdjsonError, OnlyInOrderError, UsageError
from headrace.kernel.rows import RowBatch
from headrace.store.files.source import Source
from headrace.store.rows.demand import Capabilities, Lanes

_BATCH_ROWS = 4096
_BATCH_BYTES = 1 << 20


class Position(NamedTuple):
    """The line, from 1, and the byte of a row in the input of the provider."""

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
        """Return the capabilities of the provider."""
        return Capabilities()

    def request_lanes(self, lanes: Lanes) -> None:
        """Receive the fields that are read, once, before the first row.

        The answer does not depend on other fields.
        """

    def cancel(self) -> None:
        """End: no further row is needed. It may be called twice."""

    def position(self) -> Position:
        """Return the position of the last row; called only if `positions` is a capability."""
        raise NotImplementedError

    def backwards(self) -> "RowProvider":
        """Return a provider that begins with the last row; called only with `reverse`."""
        raise NotImplementedError


class ProviderRows:
    """The rows of a provider in batches, as the engine reads them."""

    def __init__(self, source: Source, provider: "RowProvider") -> None:
        self.source = source
        self._provider = provider
        self._first = 0
        self._is_taken = False
        self._positions: list[Position] = []

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the provider."""
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
        """Yield the rows from number `start` up to `stop`, and cancel the provider at the end."""
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

    def _batches(self, provider: "RowProvider") -> Iterator[RowBatch]:
        if self._is_taken:
            raise UsageError(f"{self.source.location}: its rows can be read only once")
        self._is_taken = True
        # Often the first rows are enough, and each may be expensive.
        self._first, rows = 0, 1
        try:
            while contents := self._take(provider, rows):
                yield RowBatch.of_contents(self._first, contents)
                self._first += len(contents)
                rows = min(rows * 2, _BATCH_ROWS)
        finally:
            provider.cancel()

    def _take(self, provider: "RowProvider", rows: int) -> list[bytes]:
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
            raise UsageError(f"{location}: next_row returns {given}, not bytes of JSON")
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
        """Return None: a provider has no key index."""

    def bytes_read(self) -> int:
        """Return 0: the bytes that a provider reads are not known."""
        return 0

    def close(self) -> None:
        """Cancel the provider."""
        self._provider.cancel()

    def total(self, *_: object, **__: object) -> NoReturn:
        """Refuse: rows can be read only once, in order."""
        raise OnlyInOrderError(self.source.location)

    read = tail = total
