"""Logs: reading committed lines by number and time, and the upkeep of their files."""

from __future__ import annotations

import os
import time
import warnings
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, Unpack, cast, overload

from headrace.api.log.consumers import Consumer, ConsumerState
from headrace.api.log.recovery import recover_under_lock
from headrace.api.log.replay import Replay
from headrace.api.log.writer import positive, recovery_options, seconds_of
from headrace.errors import HeadraceWarning, SourceNotFoundError, UsageError
from headrace.kernel.values import parse
from headrace.store.files.units import Between, Moment, between, parse_duration
from headrace.store.log import manifest as manifests
from headrace.store.log.backup.backup import backup_log, verify_log_backup
from headrace.store.log.backup.restore import restore_log
from headrace.store.log.lock import LogLock
from headrace.store.log.names import LogNames
from headrace.store.log.read.consumers import (
    EVERY_LINES,
    EVERY_SECONDS,
    POLL,
    ActiveConsumer,
    Checkpoints,
    Follower,
    Gone,
    poll_forever,
)
from headrace.store.log.read.ranges import blocks_between, first_between
from headrace.store.log.read.reader import LogReader, SkippedLines
from headrace.store.log.read.sources import warn_of_uncommitted
from headrace.store.log.report.check import Checked, check_log
from headrace.store.log.report.stats import LogStats, log_stats
from headrace.store.log.write.compaction import Compressed, packing_options
from headrace.store.log.write.retention import Removed, remove, retention
from headrace.store.log.write.upkeep import compress_all, last_bytes, offline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import timedelta

    from headrace.api.options import ReplayOptions
    from headrace.store.log.backup.backup import BackedUp, Verified
    from headrace.store.log.recover.indexes import TailPolicy
    from headrace.store.log.recover.report import Report


R = TypeVar("R")


def followed(
    reader: LogReader, from_line: int | None, times: Between, gone: Gone = "error"
) -> Follower:
    """Return a follower from a line on [default: the first that is there]."""
    last = reader.last_line
    begin = reader.first_line if from_line is None else positive("from_line", from_line)
    if not times.everything and begin <= last:
        begin = max(begin, reader.first_line)
        begin = first_between(reader, begin, last, times)
    return Follower(reader, begin, times, gone)


class Log(Generic[R]):
    """A log: its committed lines, also while it is written, and its upkeep.

    As a sequence it has the lines that are there, from position 0 on; `get` and `range` use
    the numbers of lines, which begin with 1 and never change, even when old segments are
    removed or a repair gives up lines. The directory is opened when lines are first read;
    `recover`, `check` and the others work on a log that cannot be read, too.
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
        self.directory = os.fspath(directory)
        self._raw = raw

    @cached_property
    def _reader(self) -> LogReader:
        reader = LogReader(self.directory)
        warn_of_uncommitted(LogNames(self.directory), reader.manifest.mark)
        return reader

    # Lines

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
        from_line: int | None = None,
        to_line: int | None = None,
        *,
        since: Moment | None = None,
        until: Moment | None = None,
        on_error: Literal["abort", "skip"] = "abort",
    ) -> Iterator[R]:
        """Yield the records of lines `from_line` to `to_line` that are committed now.

        With `since` and `until`, only lines with times from one to before the other, in the
        order of lines. A time is in milliseconds since 1970, a `datetime`, or text such as
        ``"2026-01-31T12:00:00Z"``, ``"now"`` or ``"-15m"``. Damaged lines are an error, or
        with ``on_error="skip"`` a warning at the end. Lines that a repair gave up are a
        warning.
        """
        from headrace.api.options import refuse_other

        refuse_other("on_error", on_error, ("abort", "skip"))
        passed = SkippedLines() if on_error == "skip" else None
        times = between(since, until)
        end = self.last_line
        begin = self.first_line
        begin = begin if from_line is None else max(from_line, begin)
        end = end if to_line is None else min(to_line, end)
        for gap in self._reader.given_up(begin, end):
            warnings.warn(
                given_up_text(self._reader.path, gap), HeadraceWarning, stacklevel=2
            )
        for block in blocks_between(self._reader, begin, end, times, passed=passed):
            yield from map(self._value, block.lines())
        if passed is not None and passed.lines:
            warnings.warn(str(passed), HeadraceWarning, stacklevel=2)

    def since(self, time: Moment) -> Iterator[R]:
        """Yield the records with this time or a later one that are committed now."""
        return self.range(since=time)

    def follow(
        self,
        from_line: int | None = None,
        *,
        since: Moment | None = None,
        poll: float = POLL,
        gone: Gone = "error",
    ) -> Iterator[R]:
        """Yield records from a line on, then new ones as they are committed, without end.

        A line is yielded at most `poll` seconds after it was committed. Lines that retention
        removed before they were reached are an error, or with ``gone="skip"`` a warning.
        `since` is as for `range`.
        """
        times = between(since, None)
        wait = seconds_of("poll", poll)
        follower = followed(self._reader, from_line, times, gone)
        for block in poll_forever(follower.blocks, wait):
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
        """Return a named reader of this log, which goes on where it stopped.

        Only one process at a time can have a name; use it in a `with` block. Its checkpoint
        moves every `every_lines` or `every_seconds`, and when it is closed.
        """
        consuming = ActiveConsumer(
            self._reader,
            name,
            every_lines=positive("every_lines", every_lines),
            every_seconds=seconds_of("every_seconds", every_seconds),
            gone=gone,
        )
        return Consumer(consuming, self._value)

    def replay(
        self, *others: str | os.PathLike[str], **options: Unpack[ReplayOptions]
    ) -> Replay:
        """Replay this log, or the logs below its directory, in the order of their times.

        Lines of `others` are merged by time.
        """
        return Replay(self.directory, *others, **options)

    def _value(self, line: bytes) -> R:
        return cast("R", line if self._raw else parse(line))

    # Upkeep

    def recover(self, *, tail: TailPolicy = "auto", repair: bool = False) -> Report:
        """Recover the log, so that a writer can go on, and return what was done.

        Bytes that are no record are moved to ``quarantine/``; with ``tail="keep"`` they stay,
        with ``"strict"`` they are an error. Damage that no crash leaves is an error, unless
        `repair` gives up the lines that are lost.
        """
        names = LogNames(self.directory)
        names.refuse_unless_log()
        return recover_under_lock(
            names, recovery_options(tail, repair=repair), LogLock(names)
        )

    def seal(
        self,
        *,
        codec: str = "zstd",
        level: int | None = None,
        grace: str | timedelta | None = None,
        keep_plain: int = 0,
        threads: int = 1,
        progress: Callable[[int, int], object] = lambda _done, _total: None,
    ) -> Compressed:
        """Compress the full segments of a log without a writer, and return what was done.

        Line numbers never change, and lines are read as before. Segments whose last line is
        younger than `grace`, such as ``"7d"``, and the last `keep_plain` segments are left as
        they are. After an interruption, the next call goes on with the same segment.
        """
        options = packing_options(codec, level, threads)
        if type(keep_plain) is not int or keep_plain < 0:
            raise UsageError(
                f"keep_plain {keep_plain!r}: must be 0 or a positive integer"
            )
        before = None if grace is None else _now() - parse_duration(grace)
        with offline(LogNames(self.directory), recovery_options("auto")) as log:
            return compress_all(
                log, options, before=before, keep_plain=keep_plain, progress=progress
            )

    def retain(
        self,
        *,
        retain_age: str | timedelta | None = None,
        retain_bytes: int | str | None = None,
        before_line: int | None = None,
        dry_run: bool = False,
    ) -> Removed:
        """Remove the oldest segments of a log without a writer, and return them.

        Segments whose last line is older than `retain_age`; segments that make the log with
        its indexes larger than `retain_bytes`; segments whose lines are all before
        `before_line`. Only whole segments, never the last one; all other lines keep their
        numbers. With `dry_run` nothing is removed.
        """
        chosen = retention(retain_age, retain_bytes, before_line)
        names = LogNames(self.directory)
        if not dry_run:
            with offline(names, recovery_options("auto")) as log:
                return remove(log, chosen, _now())
        names.refuse_unless_log()
        manifest = manifests.load(names)
        if manifest is None:
            raise SourceNotFoundError(str(names.manifest))
        return Removed(chosen.expired(manifest, last_bytes(names, manifest), _now()))

    def backup(
        self,
        backup: str | os.PathLike[str],
        *,
        accept_loss: bool = False,
        progress: Callable[[int], object] = lambda _bytes: None,
    ) -> BackedUp:
        """Copy the lines that a backup does not have to it, also while the log is written.

        A backup that has lines which the log has lost is a `BackupLossError`, unless
        `accept_loss` gives them up.
        """
        return backup_log(self.directory, backup, progress, accept_loss=accept_loss)

    @staticmethod
    def restore(
        backup: str | os.PathLike[str],
        directory: str | os.PathLike[str],
        *,
        progress: Callable[[int], object] = lambda _bytes: None,
    ) -> Log[Any]:
        """Create a log from a backup; its lines keep their numbers."""
        restore_log(backup, directory, progress)
        return Log(directory)

    @staticmethod
    def verify(
        backup: str | os.PathLike[str],
        *,
        progress: Callable[[int], object] = lambda _bytes: None,
    ) -> Iterator[Verified]:
        """Read every byte of a backup, and yield its files with their faults."""
        return verify_log_backup(backup, progress)

    def check(
        self,
        *,
        deep: bool = False,
        progress: Callable[[int], object] = lambda _bytes: None,
    ) -> Iterator[Checked]:
        """Compare the files with manifest, entries and checksums; yield segments with faults.

        With `deep`, every line is read too.
        """
        return check_log(self.directory, deep=deep, progress=progress)

    def stats(self) -> LogStats:
        """Return lines, times, sizes, consumers and the last recovery."""
        return log_stats(self.directory)

    def consumers(self) -> list[ConsumerState]:
        """Return the position of each consumer."""
        checkpoints, reader = self._checkpoints()
        found = [checkpoints.load(name) for name in checkpoints.consumers()]
        last, first = reader.last_line, reader.first_line
        return [
            ConsumerState(
                each.consumer,
                each.line,
                max(last - each.line, 0),
                _lag(reader, max(each.line, first), last),
                max(first - 1 - each.line, 0),
                each.updated,
            )
            for each in found
            if each is not None
        ]

    def set_consumer(self, name: str, line: int) -> None:
        """Set the last line that a consumer is done with, 0 for none; create it if needed."""
        checkpoints, reader = self._checkpoints()
        if line > reader.last_line:
            raise UsageError(
                f"{reader.path}: no line {line}; the last is line {reader.last_line}"
            )
        with ExitStack() as stack:
            stack.callback(checkpoints.lock(name).release)
            checkpoints.save(name, line)

    def remove_consumer(self, name: str) -> None:
        """Remove a consumer."""
        checkpoints, reader = self._checkpoints()
        if name not in checkpoints.consumers():
            raise UsageError(f"{reader.path}: there is no consumer {name!r}")
        with ExitStack() as stack:
            stack.callback(checkpoints.lock(name).release)
            checkpoints.remove(name)

    def _checkpoints(self) -> tuple[Checkpoints, LogReader]:
        reader = LogReader(self.directory)
        return Checkpoints(LogNames(reader.path), reader.manifest.salt), reader


def _lag(reader: LogReader, line: int, last: int) -> int:
    if line >= last:
        return 0
    return max(reader.entry(last).time - reader.entry(line).time, 0)


def given_up_text(path: str, gap: tuple[int, int]) -> str:
    """Return which lines a repair gave up, as text.

    >>> given_up_text("trades", (14, 20))
    'trades: lines 14 to 20 were given up in a repair, and are not there'
    """
    return f"{path}: lines {gap[0]} to {gap[1]} were given up in a repair, and are not there"


def _now() -> int:
    return time.time_ns() // 1_000_000
