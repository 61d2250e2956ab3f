"""Writer of a log: commits the records of many threads together.

A call returns when the promise for its records holds. Other calls wait meanwhile; the next
one commits all records that have gathered, with one sync.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
import weakref
from collections import deque
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias, cast

from headrace.errors import (
    HeadraceError,
    HeadraceWarning,
    LogFailedError,
    RefusedRecordError,
    TornTailError,
    UnwritableError,
    UsageError,
)
from headrace.kernel.log import LogChecking, LogLines, Place
from headrace.store.files.atomic import unwritable
from headrace.store.files.directories import make_durable_directories
from headrace.store.files.opened import Closing
from headrace.store.log.lock import LogLock
from headrace.store.log.manifest import Durability, Manifest, RecordLimits, Timing
from headrace.store.log.names import LogNames, is_log
from headrace.store.log.recover.recovery import recover
from headrace.store.log.report.metrics import Metric, writer_metrics
from headrace.store.log.write.appender import Pending, SegmentAppender
from headrace.store.log.write.rotation import Rotation
from headrace.store.log.write.upkeep import BackgroundUpkeep
from headrace.store.rows.record_line import NoRecordError, line_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headrace.kernel.programs import Program
    from headrace.store.log.recover.indexes import RecoveryOptions
    from headrace.store.log.recover.report import Report
    from headrace.store.log.write.retention import Removed, Retention
    from headrace.store.shards.options import PackOptions

    Refusal: TypeAlias = tuple[int, int, str]

_GATHERED = 4 << 20
"""Bytes after which records of an iterable are committed."""

_TAKEN_AT_ONCE = 256
_USUAL = 200
"""Bytes of a record whose size is unknown."""

_CLOCK_JUMP = 60_000
"""Milliseconds that the clocks of machines may differ without a warning."""

_INTERRUPTED = "it was interrupted"

_INTERVAL_BYTES = 16 << 20
"""The most bytes that may wait for a sync."""


@dataclass(frozen=True, slots=True)
class WriterOptions:
    """Options of a writer; `time` is the program of the expression in `timing`."""

    recovery: RecoveryOptions
    durability: Durability = "data"
    interval: float = 1.0
    rotation: Rotation = field(default_factory=Rotation)
    timing: Timing = field(default_factory=Timing)
    limits: RecordLimits = field(default_factory=RecordLimits)
    time: Program | None = None
    packing: PackOptions | None = None
    retention: Retention | None = None


class Writer(Closing):
    """Appends records to a log. It creates or recovers the log, and is its only writer."""

    def __init__(
        self, directory: str | os.PathLike[str], options: WriterOptions
    ) -> None:
        self._options = options
        self._names = LogNames(directory)
        self._pid = os.getpid()
        self._queue: deque[Pending] = deque()
        self._committing = threading.RLock()
        self._closed = False
        self._timer: threading.Timer | None = None
        with _opening(self._names):
            make_durable_directories(self._names.directory)
            self._names.refuse_other_data()
            self._lock = LogLock(self._names)
            try:
                self._open()
            except BaseException:
                self._lock.release()
                raise

    def _open(self) -> None:
        options = self._options
        began = time.monotonic()
        manifest, self._recovered = recover(self._names, self._lock, options.recovery)
        self._recovery_seconds = time.monotonic() - began
        kept = [each for each in self._recovered.actions if each.action == "kept"]
        for each in kept:
            raise TornTailError(each.path, each.offset, each.bytes, each.why)
        epoch = max(manifest.epoch, self._lock.epoch) + 1
        self._lock.sign(epoch)
        self._warn(manifest)
        manifest = replace(
            manifest,
            epoch=epoch,
            durability=options.durability,
            timing=options.timing,
            limits=options.limits,
        ).save(self._names)
        self._appender = SegmentAppender(
            self._names, manifest, options.durability, self._committing
        )
        self._checking = LogChecking(
            max_depth=options.limits.max_depth,
            max_line=options.limits.max_record,
            time=options.time,
        )
        self._upkeep = BackgroundUpkeep(
            self._appender, self._lock, options.packing, options.retention
        )
        self._upkeep.begin()

    def _warn(self, before: Manifest) -> None:
        """Warn if the times of new lines have another origin than those of the old ones."""
        timing, active = self._options.timing, before.active
        old = before.timing.expression
        if (
            old is not None
            and timing.expression is None
            and active.last_time is not None
        ):
            self._say(
                f"the times of this log come from time={old!r} (--time), and those of new "
                "records will be times of writing; pass it again to keep the old origin"
            )
        ahead = (active.last_time or 0) - time.time_ns() // 1_000_000
        if ahead > _CLOCK_JUMP and timing.late is not None:
            self._say(
                f"the time of the last line is {ahead // 1000} seconds ahead of this "
                "machine's clock; times of writing stay there until then, unless "
                "monotonic is 'off' (--monotonic off)"
            )

    def _say(self, what: str) -> None:
        warnings.warn(f"{self._names.text}: {what}", HeadraceWarning, stacklevel=5)

    @property
    def recovered(self) -> Report:
        """The report of the recovery when the log was opened."""
        return self._recovered

    @property
    def last_line(self) -> int:
        """The number of the last line of the log, 0 if it has none."""
        return self._appender.place.last_line

    @property
    def fallbacks(self) -> int:
        """The number of records of this writer whose own time is missing or implausible."""
        return self._appender.fallbacks

    def metrics(self) -> list[Metric]:
        """Return the metrics of this writer since it opened the log; see `exposition`."""
        return writer_metrics(self._appender, self._recovered, self._recovery_seconds)

    # Records

    def append(self, record: object) -> int:
        """Append a record, any JSON value or its text as bytes, and return the number of its line."""
        return self._append_records([record], 0)

    def append_many(self, records: Iterable[object]) -> int:
        """Append records, and return the number of the last line.

        At the first value that is not a record, those before it are appended and the rest
        is not.
        """
        if isinstance(records, (str, bytes, bytearray, memoryview)):
            raise UsageError(
                "append_many takes several records; append takes one, and append_lines "
                "bytes with newlines"
            )
        last, before = self.last_line, 0
        for batch in _batches(records):
            last = self._append_records(batch, before)
            before += len(batch)
        return last

    def append_lines(self, data: bytes) -> int:
        """Append whole lines of JSON, blank ones too, and return the number of the last.

        The last line may lack its newline. At the first line that is not a record, those
        before it are appended and the rest is not.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise UsageError(f"lines are bytes, not {type(data).__name__}")
        text = bytes(data)
        if text and not text.endswith(b"\n"):
            text += b"\n"
        return self._append_checked(text, *self._checking.lines(text))

    def _append_records(self, records: list[object], before: int) -> int:
        """Append a batch; `before` counts the earlier records of the same call."""
        data = _joined(records)
        if data is not None:
            lines, refusal = self._checking.lines(data)
            if refusal is None and len(lines) == len(records) and not lines.blank:
                return self._append_checked(data, lines, refusal, before)
        data, wrong = _lines_of(records)
        lines, refusal = self._checking.lines(data)
        return self._append_checked(data, lines, refusal or wrong, before)

    def _append_checked(
        self, data: bytes, lines: LogLines, refusal: Refusal | None, before: int = 0
    ) -> int:
        last = self.last_line
        if len(lines):
            if refusal is not None:
                data = data[: lines.end_of(len(lines))]
            last = self._submit(Pending(data, lines))
        if refusal is not None:
            position, offset, reason = refusal
            number = before + position + 1
            raise RefusedRecordError(self._names.text, number, offset, reason)
        return last

    # Committing

    def _submit(self, pending: Pending) -> int:
        self._refuse_unless_open()
        self._queue.append(pending)
        with self._committing:
            if not pending.done:
                self._refuse_unless_open()
                self._commit_all()
        if pending.error is not None:
            raise _told(pending.error, pending)
        if pending.left:
            # The thread that committed for us was interrupted before it reported.
            raise LogFailedError(self._names.text, _INTERRUPTED)
        return pending.first_line + len(pending.lines) - 1

    def _commit_all(self) -> None:
        """Commit all gathered records, and report the result to each call."""
        gathered = [self._queue.popleft() for _ in range(len(self._queue))]
        try:
            self._commit(gathered)
        except Exception as error:
            _tell(gathered, error)
            if not isinstance(error, (HeadraceError, OSError)):
                raise
        except BaseException:
            _tell(gathered, LogFailedError(self._names.text, _INTERRUPTED))
            raise
        finally:
            for pending in gathered:
                pending.done = True
        # The records are in the log; if this fails, the next call reports it.
        with suppress(HeadraceError, OSError):
            self._see_to_interval()

    def _commit(self, gathered: list[Pending]) -> None:
        left = deque(gathered)
        while left:
            pieces: list[tuple[Pending, int]] = []
            appending = self._appender
            place = appending.place
            while left:
                pending = left[0]
                count = self._fitting(pending, place)
                if count == 0:
                    break
                pieces.append((pending, count))
                length = len(pending.piece(count))
                place = place._replace(rows=place.rows + count, end=place.end + length)
                if count < pending.left:
                    break
                left.popleft()
            self._append(pieces)
            if left:
                appending.rotate()
                self._upkeep.begin()

    def _fitting(self, pending: Pending, place: Place) -> int:
        age = time.monotonic() - self._appender.began
        lines, start = pending.lines, pending.appended
        return self._options.rotation.fitting(lines, start, place, age)

    def _append(self, pieces: list[tuple[Pending, int]]) -> None:
        if not pieces:
            return
        line = self._appender.place.last_line
        self._appender.append(pieces)
        for pending, count in pieces:
            if pending.appended == 0:
                pending.first_line = line + 1
            pending.appended += count
            line += count

    # Delayed syncs

    def _see_to_interval(self) -> None:
        unsettled = self._appender.unsettled
        if self._options.durability != "interval" or not unsettled:
            return
        if unsettled >= _INTERVAL_BYTES:
            self._appender.settle()
        elif self._timer is None:
            later = weakref.WeakMethod(self._settle_later)
            self._timer = threading.Timer(self._options.interval, _call, args=(later,))
            self._timer.daemon = True
            self._timer.start()

    def _settle_later(self) -> None:
        with self._committing:
            self._timer = None
            if not self._closed:
                # The next call reports it.
                with suppress(HeadraceError, OSError):
                    self._appender.settle()

    # Full segments

    @property
    def upkeep_failures(self) -> list[str]:
        """The reasons why segments were not compressed or removed in the background."""
        return list(self._upkeep.failures)

    def wait_for_upkeep(self) -> None:
        """Wait until all full segments are compressed, and old ones removed, as configured."""
        self._refuse_unless_open()
        self._upkeep.wait()

    def remove(self, retention: Retention) -> Removed:
        """Remove old segments, and return them."""
        self._refuse_unless_open()
        return self._upkeep.retain(retention)

    # Closing

    def flush(self) -> None:
        """Make everything that was appended durable, for any `durability`."""
        self._refuse_unless_open()
        with self._committing:
            self._refuse_unless_open()
            self._appender.sync()

    def close(self) -> None:
        """Make everything durable, and release the lock.

        The next writer, or `Log.seal`, compresses a segment that is not finished.
        """
        if os.getpid() != self._pid:
            return
        self._upkeep.stop()
        with self._committing:
            if self._closed:
                return
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()
            try:
                self._appender.close()
            finally:
                self._lock.release()

    def _refuse_unless_open(self) -> None:
        # A forked child has a copy of the writer; the parent owns the log.
        if os.getpid() != self._pid:
            raise UsageError(
                f"{self._names.text}: the writer is that of process {self._pid}; "
                "a log has one writer"
            )
        if self._closed:
            raise UsageError(f"{self._names.text}: the writer was closed; make another")
        if self._appender.failure is not None:
            raise LogFailedError(self._names.text, self._appender.failure)


def _opening(names: LogNames) -> AbstractContextManager[None]:
    def left() -> str:
        if is_log(names.directory):
            return (
                "what was acknowledged is in the log, and the next writer recovers it"
            )
        return "no log was made"

    return unwritable(names.text, left)


def _tell(gathered: list[Pending], error: Exception) -> None:
    for pending in gathered:
        if pending.left:
            pending.error = error


def _told(error: Exception, pending: Pending) -> Exception:
    """Add to an error the number of records that were appended."""
    if pending.appended and isinstance(error, UnwritableError):
        left = f"{pending.appended} of {len(pending.lines)} records are in the log"
        return UnwritableError(error.path, error.reason, left)
    return error


def _call(later: weakref.WeakMethod[Callable[[], None]]) -> None:
    if (method := later()) is not None:
        method()


def _batches(records: Iterable[object]) -> Iterator[list[object]]:
    """Yield records in batches, so that the iterable need not fit in memory."""
    batch: list[object] = []
    size, given = 0, iter(records)
    while some := list(islice(given, _TAKEN_AT_ONCE)):
        batch += some
        size += _length(some)
        if size >= _GATHERED:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _length(records: list[object]) -> int:
    """Estimate the bytes of records."""
    if set(map(type, records)) <= {bytes, str}:
        return sum(map(len, cast("list[bytes]", records)))
    return sum(
        len(each) if isinstance(each, (bytes, str)) else _USUAL for each in records
    )


def _joined(records: list[object]) -> bytes | None:
    """Join records to lines if all are bytes, each without a newline; None otherwise."""
    if set(map(type, records)) != {bytes}:
        return None
    return b"\n".join([*cast("list[bytes]", records), b""])


def _lines_of(records: list[object]) -> tuple[bytes, Refusal | None]:
    """Return the lines of records, up to the first value that is not a record."""
    lines = []
    for position, record in enumerate(records):
        try:
            lines.append(line_of(record))
        except NoRecordError as error:
            return b"".join(lines), (position, error.offset, error.reason)
    return b"".join(lines), None
