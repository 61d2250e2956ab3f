"""The append log: writing it, reading it by line, recovering it."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from headrace.api.log.consumers import Consumer
from headrace.errors import (
    HeadraceError,
    HeadraceWarning,
    LogDamagedError,
    LogLockedError,
    QueryFailedError,
    SourceNotFoundError,
    UsageError,
)
from headrace.kernel.values import DEEPEST, MAX_DEPTH, parse
from headrace.language import ast, traversal
from headrace.language.parser import parse as parse_query
from headrace.physical.query_plan import row_program
from headrace.store.files.units import between, parse_size
from headrace.store.log.lock import LogLock
from headrace.store.log.manifest import (
    DURABILITIES,
    LARGEST_RECORD,
    RecordLimits,
    Timing,
)
from headrace.store.log.names import LogNames, is_log
from headrace.store.log.read.consumers import EVERY_LINES, EVERY_SECONDS, Consuming
from headrace.store.log.read.damage import PassedOver
from headrace.store.log.read.follow import POLL, Follower, again_and_again
from headrace.store.log.read.reader import LogReader
from headrace.store.log.read.time_range import blocks_between, first_between
from headrace.store.log.read.uncommitted import warn_of_uncommitted
from headrace.store.log.recover.index_rebuild import TAILS, RecoveryOptions
from headrace.store.log.recover.recovery import recover
from headrace.store.log.write.compaction import packing_options
from headrace.store.log.write.retention import retention
from headrace.store.log.write.rotation import Rotation
from headrace.store.log.write.writer import Writer, WriterOptions

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator
    from datetime import timedelta
    from typing import Literal

    from headrace.kernel.programs import Program
    from headrace.store.files.units import Between, Moment
    from headrace.store.log.manifest import Durability
    from headrace.store.log.read.follow import Gone
    from headrace.store.log.recover.index_rebuild import TailPolicy
    from headrace.store.log.recover.report import Action, Report
    from headrace.store.log.write.retention import Removed
    from headrace.store.log.write.rotation import SegmentState

R = TypeVar("R")

MAX_RECORD = 64 << 20

_OPTIONS = {
    "rotate_bytes": "--rotate-bytes",
    "rotate_rows": "--rotate-rows",
    "rotate_seconds": "--rotate-seconds",
    "max_record": "--max-record",
    "first": "--from",
    "poll": "--poll",
}
"""Arguments that are options of a command as well."""


class LogWriter(Writer):
    """Appends records to a log, which it makes, recovers, and alone may write.

    A call returns when what `durability` promises holds. ``"data"``: the records are on
    disk; ``"always"``: their index entries too; ``"interval"``: they are within `interval`
    seconds; ``"os"``: when the system sees fit. Threads that append at once share a sync. A
    segment ends before a record with which it would have more than `rotate_bytes` or
    `rotate_rows`, when its first record is `rotate_seconds` old, or when `rotate` says so of its
    `SegmentState`. `time` is an expression such as ``"$.E"`` for the time of a
    record, milliseconds since 1970 or a text in ISO 8601; without it, or where it gives none that is possible and in order, the time is that
    of writing. `monotonic` says what is in order: ``"strict"``, or by how many milliseconds
    times may go back, or ``"off"``. `tail` is what becomes of bytes that a crash left.
    Full segments are compressed in the background to `compress`, ``"zstd"`` or ``"gzip"``; the
    oldest are removed when the log has more than `retain_bytes`, or their lines are older
    than `retain_age`, such as ``"7d"``.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        durability: Durability = "data",
        interval: float = 1.0,
        rotate_bytes: int | str | None = "256MiB",
        rotate_rows: int | None = None,
        rotate_seconds: float | None = None,
        rotate: Callable[[SegmentState], object] | None = None,
        time: str | None = None,
        monotonic: Literal["strict", "off"] | int = "strict",
        tail: TailPolicy = "auto",
        max_record: int | str = MAX_RECORD,
        max_depth: int = MAX_DEPTH,
        compress: str | None = None,
        compress_level: int | None = None,
        retain_bytes: int | str | None = None,
        retain_age: str | timedelta | None = None,
    ) -> None:
        if durability not in DURABILITIES:
            told = ", ".join(map(repr, DURABILITIES))
            raise UsageError(f"durability {durability!r}: it is one of {told}")
        rotation = Rotation(
            None if rotate_bytes is None else _size("rotate_bytes", rotate_bytes),
            None if rotate_rows is None else _whole("rotate_rows", rotate_rows),
            None
            if rotate_seconds is None
            else _above_zero("rotate_seconds", rotate_seconds),
            rotate,
        )
        if compress is None and compress_level is not None:
            raise UsageError(
                f"compress_level {compress_level!r} says how to compress; give compress "
                "as well"
            )
        options = WriterOptions(
            recovery_options(tail),
            durability,
            _above_zero("interval", interval),
            rotation,
            Timing(time, _late(monotonic)),
            RecordLimits(
                _size("max_record", max_record, LARGEST_RECORD),
                _whole("max_depth", max_depth, DEEPEST),
            ),
            None if time is None else time_program(time),
            None if compress is None else packing_options(compress, compress_level),
            None
            if retain_bytes is None and retain_age is None
            else retention(retain_age, retain_bytes, None),
        )
        super().__init__(directory, options)

    def retain(
        self,
        *,
        max_age: str | timedelta | None = None,
        max_bytes: int | str | None = None,
        before_line: int | None = None,
    ) -> Removed:
        """Remove the oldest segments now, as `retain_log` does, and return what they were."""
        return self.remove(retention(max_age, max_bytes, before_line))


def time_program(expression: str) -> Program:
    """Return the program that gives the time of a record; it must not depend on when."""
    calls = [
        node
        for node in traversal.walk(parse_query(expression))
        if isinstance(node, ast.Call)
    ]
    if any(call.name == "now" for call in calls):
        raise UsageError(f"{expression}: the time of a record is not that of asking it")
    return row_program(expression)


def _compiled(expression: str) -> Program | None:
    with suppress(UsageError, QueryFailedError):
        return time_program(expression)
    return None


def recovery_options(tail: TailPolicy, *, repair: bool = False) -> RecoveryOptions:
    """Return what recovery may do, checked."""
    if tail not in TAILS:
        raise UsageError(f"tail {tail!r}: it is one of {', '.join(map(repr, TAILS))}")
    return RecoveryOptions(_compiled, tail, repair)


def recover_log(
    directory: str | os.PathLike[str],
    *,
    tail: TailPolicy = "auto",
    repair: bool = False,
) -> Report:
    """Bring a log to the state in which a writer can go on, and return what was done.

    Bytes that are no record are moved to ``quarantine/``, or with ``tail="keep"`` left, or
    with ``"strict"`` an error. Damage that no crash leaves is an error, unless `repair` gives
    up the lines that are lost.
    """
    names = LogNames(directory)
    names.refuse_unless_log()
    return _recover(names, recovery_options(tail, repair=repair), LogLock(names))


def _recover(names: LogNames, options: RecoveryOptions, lock: LogLock) -> Report:
    try:
        _manifest, report = recover(names, lock, options)
    finally:
        lock.release()
    return report


def open_recovered(
    directory: str | os.PathLike[str],
) -> tuple[LogReader | None, list[Action]]:
    """Open a log to read it, and say what had to be done to it; None if there is none.

    One that somebody writes, that we may not write, or that is damaged is read as it is.
    """
    names = LogNames(directory)
    if not names.directory.exists():
        return None, []
    names.refuse_what_is_no_log()
    actions: list[Action] = []
    if is_log(names.directory) or names.bases():
        try:
            actions = _recovered(names)
        except LogDamagedError as error:
            return _damaged(names, error), []
    elif names.foreign():
        names.refuse_unless_log()
    try:
        return LogReader(directory), actions
    except SourceNotFoundError:
        return None, actions


def _damaged(names: LogNames, damage: LogDamagedError) -> LogReader:
    """Open a log that cannot be recovered, if anything of it can be read."""
    try:
        reader = LogReader(names.directory)
    except HeadraceError:
        raise damage from None
    warnings.warn(
        f"not recovered, and read as far as that can be: {damage}",
        HeadraceWarning,
        stacklevel=3,
    )
    return reader


def _recovered(names: LogNames) -> list[Action]:
    try:
        # What is no record stays where it is: a reader does not decide what becomes of it.
        options = recovery_options("keep")
        return _recover(names, options, LogLock(names, wait=0)).actions
    except LogLockedError:
        return []
    except OSError as error:
        if isinstance(error, HeadraceError):
            raise
        warnings.warn(
            f"{names.text}: not recovered: {error.strerror}; lines of a writer that "
            "crashed may be missing",
            HeadraceWarning,
            stacklevel=2,
        )
        return []


def followed(
    reader: LogReader, first: int | None, times: Between, gone: Gone = "error"
) -> Follower:
    """Return what reads on from a line, the first there is unless told."""
    last = reader.last_line
    begin = reader.first_line if first is None else _whole("first", first)
    if not times.everything and begin <= last:
        begin = max(begin, reader.first_line)
        begin = first_between(reader, begin, last, times)
    return Follower(reader, begin, times, gone)


class Log(Generic[R]):
    """The committed lines of a log, also while it is written.

    As a sequence it has the lines that are there, from position 0 on; `get` and `range` go
    by the numbers of lines, which begin with 1 and stay when old segments are removed, or
    lines are given up in a repair.
    """

    @overload
    def __init__(self: Log[Any], directory: str | os.PathLike[str]) -> None: ...
    @overload
    def __init__(
        self: Log[Any], directory: str | os.PathLike[str], *, raw: Literal[False]
    ) -> None: ...
    @overload
    def __init__(
        self: Log[bytes], directory: str | os.PathLike[str], *, raw: Literal[True]
    ) -> None: ...
    def __init__(self, directory: str | os.PathLike[str], *, raw: bool = False) -> None:
        self._reader = LogReader(directory)
        warn_of_uncommitted(LogNames(directory), self._reader.manifest.mark)
        self._raw = raw

    @property
    def first_line(self) -> int:
        """The number of the first line that is still there."""
        return self._reader.first_line

    @property
    def last_line(self) -> int:
        """The number of the last line that is committed now, 0 if there is none."""
        return self._reader.last_line

    def __len__(self) -> int:
        return self._reader.count()

    def __getitem__(self, position: int) -> R:
        if position < 0:
            position += len(self)
        if position < 0:
            return self.get(self.first_line + position)
        return self.get(self._reader.number_at(position))

    def __iter__(self) -> Iterator[R]:
        return self.range()

    def get(self, line: int) -> R:
        """Return the record of a line."""
        return self._value(self._reader.line(line))

    def range(
        self,
        first: int | None = None,
        last: int | None = None,
        *,
        since: Moment | None = None,
        until: Moment | None = None,
        on_error: Literal["abort", "skip"] = "abort",
    ) -> Iterator[R]:
        """Yield the records of lines `first` to `last`, those there are when it begins.

        With `since` and `until` only those with times from one to before the other, in
        the order of lines whatever that of times is. A time is in milliseconds since 1970,
        a `datetime`, or text such as ``"2026-01-31T12:00:00Z"``, ``"now"`` or ``"-15m"``.
        Damaged lines are an error, or with ``on_error="skip"`` a warning at the end. Lines
        that were given up in a repair are a warning.
        """
        if on_error not in ("abort", "skip"):
            raise UsageError(f"on_error is 'abort' or 'skip', not {on_error!r}")
        passed = PassedOver() if on_error == "skip" else None
        times = between(since, until)
        end = self.last_line
        begin = self.first_line if first is None else max(first, self.first_line)
        end = end if last is None else min(last, end)
        for gap in self._reader.given_up(begin, end):
            warnings.warn(
                told_given_up(self._reader.path, gap), HeadraceWarning, stacklevel=2
            )
        for block in blocks_between(self._reader, begin, end, times, passed=passed):
            yield from map(self._value, block.lines())
        if passed is not None and passed.lines:
            warnings.warn(str(passed), HeadraceWarning, stacklevel=2)

    def since(self, time: Moment) -> Iterator[R]:
        """Yield the records with this time or a later one that are there when it begins."""
        return self.range(since=time)

    def follow(
        self,
        first: int | None = None,
        *,
        since: Moment | None = None,
        poll: float = POLL,
        gone: Gone = "error",
    ) -> Iterator[R]:
        """Yield records from a line on, and go on with those still to come, without end.

        A line is given out `poll` seconds after it was committed at the latest. Lines
        that retention removed before they were reached are an error, or with
        ``gone="skip"`` a warning. `since` is as for `range`.
        """
        times = between(since, None)
        wait = _above_zero("poll", poll)
        follower = followed(self._reader, first, times, gone)
        for block in again_and_again(follower.blocks, wait):
            if block is not None:
                yield from map(self._value, block.lines())

    def consumer(
        self,
        name: str,
        *,
        every_lines: int = EVERY_LINES,
        every_seconds: float = EVERY_SECONDS,
        gone: Gone = "error",
    ) -> Consumer[R]:
        """Return who reads this log under a name, and goes on where it stopped.

        Only one process at a time can be it; use it in a `with` block. Its checkpoint moves
        by itself `every_lines` or `every_seconds`, and when it is closed.
        """
        consuming = Consuming(
            self._reader,
            name,
            every_lines=_whole("every_lines", every_lines),
            every_seconds=_above_zero("every_seconds", every_seconds),
            gone=gone,
        )
        return Consumer(consuming, self._value)

    def _value(self, line: bytes) -> R:
        return cast("R", line if self._raw else parse(line))


def told_given_up(path: str, gap: tuple[int, int]) -> str:
    """Say which lines were given up.

    >>> told_given_up("trades", (14, 20))
    'trades: lines 14 to 20 were given up in a repair, and are not there'
    """
    return f"{path}: lines {gap[0]} to {gap[1]} were given up in a repair, and are not there"


def _size(name: str, value: int | str, most: int | None = None) -> int:
    return _whole(name, parse_size(value), most)


def _whole(name: str, value: object, most: int | None = None) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        reason = f"must be a positive integer, not {value!r}"
        raise UsageError(f"{_called(name)} {reason}")
    if most is not None and value > most:
        raise UsageError(f"{_called(name)} must be at most {most}, not {value}")
    return value


def _called(name: str) -> str:
    """Return how an argument is called, also on the command line if it is there.

    >>> _called("rotate_bytes"), _called("every_lines")
    ('rotate_bytes (--rotate-bytes)', 'every_lines')
    """
    return f"{name} ({_OPTIONS[name]})" if name in _OPTIONS else name


def _above_zero(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise UsageError(
            f"{_called(name)} must be a number of seconds above 0, not {value!r}"
        )
    return value


def _late(monotonic: object) -> int | None:
    match monotonic:
        case "strict":
            return 0
        case "off":
            return None
        case int() if not isinstance(monotonic, bool) and monotonic >= 0:
            return monotonic
        case _:
            raise UsageError(
                f"monotonic {monotonic!r}: it is 'strict', 'off' or a number of milliseconds"
            )
