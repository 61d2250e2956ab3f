"""Record writer: the base of all writers of lines.

A record is the content of one line. All records are accounted for: given = written + skipped. A
writer is *open* until it is closed, which makes all records visible atomically, or aborted, which
leaves nothing of them.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import (
    TYPE_CHECKING,
    Generic,
    Literal,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    cast,
    runtime_checkable,
)

from headrace.errors import (
    BadRecordError,
    BadRowError,
    JsonTooLargeError,
    UsageError,
)
from headrace.store.rows.record_line import NoRecordError, line_of
from headrace.store.shards.options import LARGEST_BLOCK

if TYPE_CHECKING:
    from headrace.kernel.blocks import LineRefusal, Packer, RowRefusal
    from headrace.kernel.rows import RowBatch
    from headrace.store.shards.metadata import Limits
    from headrace.store.shards.write.hive_partitions import PartitionedFiles
    from headrace.store.shards.write.parts import PartFiles

    Refused: TypeAlias = BadRecordError | BadRowError | JsonTooLargeError
    OnError: TypeAlias = Literal["abort", "skip"] | Callable[[Refused], object]

T = TypeVar("T")

_CHUNK = 4 << 20
"""Lines are packed in chunks of this many bytes, to limit memory."""


class _Batch(Protocol):
    @property
    def path(self) -> str: ...
    @property
    def rows(self) -> RowBatch: ...


@runtime_checkable
class _Lines(Protocol):
    """A data set, which has its records as lines."""

    def batches(self) -> Iterable[_Batch]: ...


class RecordWriter(ABC, Generic[T]):
    """Takes records until `close`, which returns the result."""

    _packing: Packer | PartFiles | PartitionedFiles
    """Packs records into files, and counts them."""

    def __init__(self, target: str, limits: Limits, on_error: OnError) -> None:
        if on_error not in ("abort", "skip") and not callable(on_error):
            raise UsageError(
                f"on_error is 'abort', 'skip' or a function, not {on_error!r}"
            )
        self.skipped = 0
        """The number of records left out, because they are not JSON or fit in no file."""
        self._target = target
        self._limits = limits
        self._on_error = on_error
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._state: Literal["open", "closed", "aborted"] = "open"
        self._result: T | None = None

    @property
    def records(self) -> int:
        """The number of written records, with blank lines."""
        return self._packing.records

    @property
    def blank(self) -> int:
        """The number of blank lines among them; only counted if lines are checked."""
        return self._packing.blank

    @property
    def logical_bytes(self) -> int:
        """The bytes of all records with their newlines, before compression."""
        return self._packing.logical_bytes

    @property
    @abstractmethod
    def bytes_written(self) -> int:
        """The bytes of files so far, after compression."""

    @abstractmethod
    def _add(self, data: bytes, start: int) -> LineRefusal | None:
        """Add lines from byte `start` on, up to one that is refused."""

    @abstractmethod
    def _add_rows(self, rows: RowBatch, start: int) -> RowRefusal | None:
        """Add rows from position `start` on, up to one that is refused."""

    @abstractmethod
    def _commit(self) -> T:
        """Make all records visible, atomically."""

    @abstractmethod
    def _discard(self) -> None:
        """Remove everything that is not committed."""

    # Records

    def write(self, record: object) -> None:
        """Write one record: any JSON value, a `str` too, or its text as `bytes`."""
        with self._using():
            try:
                line = line_of(record)
            except NoRecordError as error:
                self._refuse(error.offset, error.reason)
            else:
                self._take(line)

    def write_many(self, records: Iterable[object]) -> None:
        """Write several records; of a data set, its lines unchanged."""
        if isinstance(records, (str, bytes, bytearray, memoryview, Mapping)):
            kind = type(records).__name__
            raise UsageError(f"records are a list or any iterable, not one {kind}")
        if isinstance(records, _Lines):
            for batch in records.batches():
                self.write_rows(batch.path, batch.rows)
            return
        for record in records:
            self.write(record)

    def write_lines(self, lines: bytes) -> None:
        """Write whole lines of JSON; the last one need not have a newline."""
        if not isinstance(lines, (bytes, bytearray, memoryview)):
            raise UsageError(f"lines are bytes, not {type(lines).__name__}")
        data = bytes(lines)
        with self._using():
            start = 0
            while start < len(data):
                end = _end_of_chunk(data, start)
                whole = start == 0 and end == len(data)
                self._take(data if whole else data[start:end])
                start = end

    def write_rows(self, path: str, rows: RowBatch) -> None:
        """Write rows that were read from `path`; errors give their place in that file."""
        with self._using():
            start = 0
            while refused := self._add_rows(rows, start):
                position, kind, reason = refused.position, refused.kind, refused.reason
                line = rows.first_row + position + 1
                start = position + 1
                if kind == "too_large":
                    length = len(rows.slice(position, 1).lines())
                    self._leave_out(self._too_large(length, path, line))
                    continue
                if kind == "too_long":
                    reason = (
                        f"{reason} bytes long, over the limit (max_line, --max-line)"
                    )
                self._leave_out(BadRowError(path, line, refused.offset, reason))

    def _take(self, data: bytes) -> None:
        start = 0
        while start < len(data):
            refusal = self._add(data, start)
            if refusal is None:
                return
            begin, end = refusal.begin, refusal.end
            if refusal.kind == "too_large":
                length = len(data[begin:end].rstrip(b"\n")) + 1
                self._leave_out(self._too_large(length))
            else:
                self._refuse(refusal.offset - begin, refusal.reason)
            start = end

    @property
    def _next_record(self) -> int:
        return self.records + self.skipped + 1

    def _refuse(self, offset: int, reason: str) -> None:
        """Raise the error of a record, or leave the record out."""
        number = self._next_record
        self._leave_out(BadRecordError(self._target, number, offset, reason))

    def _leave_out(self, error: Refused) -> None:
        if self._on_error == "abort":
            raise error
        self.skipped += 1
        if callable(self._on_error):
            self._on_error(error)

    def _too_large(
        self, length: int | None, path: str | None = None, record: int | None = None
    ) -> JsonTooLargeError:
        name, limit = "max_bytes", self._limits.max_bytes
        logical = self._limits.max_logical_bytes
        if logical is not None and (limit is None or (length or 0) > logical):
            name, limit = "max_logical_bytes", logical
        elif (length or 0) > LARGEST_BLOCK:
            name, limit = "", LARGEST_BLOCK
        number = self._next_record if record is None else record
        return JsonTooLargeError(path or self._target, number, length, name, limit or 0)

    # From open to closed or aborted

    @contextmanager
    def _using(self) -> Iterator[None]:
        """Hold the lock of an open writer; an error that is not about a record aborts it."""
        self._refuse_other_process()
        with self._lock:
            if self._state != "open":
                raise UsageError(
                    f"{self._target}: the writer was {self._state}; make another"
                )
            try:
                yield
            except (BadRecordError, BadRowError, JsonTooLargeError, UsageError):
                raise
            except BaseException:
                self.abort()
                raise

    def _refuse_other_process(self) -> None:
        # The files and the set of a forked child belong to its parent.
        if os.getpid() != self._pid:
            raise UsageError(
                f"{self._target}: the writer belongs to process {self._pid}; "
                "make another in this one"
            )

    def close(self) -> T:
        """Make all records durable, then visible atomically; return the result."""
        self._refuse_other_process()
        with self._lock:
            if self._state != "closed":
                with self._using():
                    try:
                        self._result = self._commit()
                    except BaseException:
                        self.abort()
                        raise
                    self._state = "closed"
            return cast("T", self._result)

    commit = close

    def abort(self) -> None:
        """Remove everything that was written, and leave the old files as they were.

        In a forked child, and after `close`, this does nothing.
        """
        if os.getpid() != self._pid:
            return
        with self._lock:
            if self._state == "open":
                self._state = "aborted"
                self._discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def __del__(self) -> None:
        with suppress(Exception):
            self.abort()


def _end_of_chunk(data: bytes, start: int) -> int:
    """Return the end of the lines of the next chunk."""
    if len(data) - start <= _CHUNK:
        return len(data)
    end = data.rfind(b"\n", start, start + _CHUNK) + 1
    return end or data.find(b"\n", start + _CHUNK) + 1 or len(data)
