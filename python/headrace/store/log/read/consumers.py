"""Followers of a log, which read on as lines are committed, and consumers that store where they are.

`Follower.blocks` yields the lines that are committed now and never waits; the caller polls.
Each call reads the manifest and the size of one index, so frequent polls are cheap. Lines
are counted: a missing line is *gone*, removed by retention or given up in a repair, and
never skipped silently.

A *consumer* is a named reader of a log. Its checkpoint is the last line that it has
finished, so after a crash it reads unfinished lines again, and never misses one. The file
is replaced atomically and durably, and ends with its checksum; one process at a time can be
a consumer.
"""

import re
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args

from headrace.errors import (
    CheckpointDamagedError,
    ConsumerBusyError,
    HeadraceWarning,
    LineOutOfRangeError,
    LinesGoneError,
    LogReplacedError,
    SourceNotFoundError,
    UsageError,
)
from headrace.kernel.values import InvalidJsonError, parse
from headrace.store.files import system
from headrace.store.files.checked_json import encoded, has_checksum
from headrace.store.files.directories import make_durable_directories
from headrace.store.files.lock import FileLock
from headrace.store.files.units import Between
from headrace.store.log import files
from headrace.store.log.names import LogNames
from headrace.store.log.read.ranges import chosen_lines
from headrace.store.log.read.reader import Block, LogReader

Gone: TypeAlias = Literal["error", "skip"]
GONE: tuple[Gone, ...] = get_args(Gone)

POLL = 0.1
"""Seconds between polls of a followed log."""


class Follower:
    """A position in a log that moves forward."""

    def __init__(
        self, reader: LogReader, next_line: int, times: Between, gone: Gone = "error"
    ) -> None:
        if gone not in GONE:
            raise UsageError(
                f"gone {gone!r}: it is one of {', '.join(map(repr, GONE))}"
            )
        self.next_line = next_line
        self.gone = 0
        """The number of lines that were gone."""
        self._reader = reader
        self._seen = 0
        self._salt = reader.manifest.salt
        self._times = times
        self._skip = gone == "skip"

    def blocks(self) -> Iterator[Block]:
        """Yield the committed lines that were not yielded before."""
        last = self._last()
        while self.next_line <= last:
            try:
                yield from self._some(last)
            except (LineOutOfRangeError, SourceNotFoundError):
                # Retention may have run in between; gone lines are skipped then.
                before = self.next_line
                self._last()
                if self.next_line == before:
                    raise

    def _last(self) -> int:
        last = self._reader.last_line
        if self._reader.manifest.salt != self._salt:
            raise LogReplacedError(self._reader.path, "it is another log now")
        if last < self._seen:
            reason = f"it had line {self._seen}, but ends with line {last} now"
            raise LogReplacedError(self._reader.path, reason)
        self._seen = last
        self._pass_over(self._reader.first_line)
        return last

    def _some(self, last: int) -> Iterator[Block]:
        for block in self._reader.blocks(self.next_line, last):
            self._pass_over(block.first_line)
            self.next_line = block.first_line + block.rows
            if self._times.everything:
                yield block
            elif (chosen := chosen_lines(block, self._times)).rows:
                yield chosen
        self._pass_over(last + 1)

    def _pass_over(self, line: int) -> None:
        """Continue with a line; those before it are gone."""
        if self.next_line >= line:
            return
        error = LinesGoneError(self._reader.path, self.next_line, line - 1)
        if not self._skip:
            raise error
        warnings.warn(error.what, HeadraceWarning, stacklevel=2)
        self.gone += line - self.next_line
        self.next_line = line


def poll_forever(
    look: Callable[[], Iterator[Block]], poll: float
) -> Iterator[Block | None]:
    """Yield the results of `look`, None when there are no more yet, and look again."""
    while True:
        yield from look()
        yield None
        time.sleep(poll)


FORMAT = "ndjson-consumer"
VERSION = 1

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_FILE = re.compile(rf"({_NAME.pattern})\.json")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The last line that a consumer has finished, 0 for none, and the time of the checkpoint."""

    consumer: str
    line: int
    updated: int

    def encode(self, salt: int) -> bytes:
        """Return the content of its file, for the log with this salt."""
        fields = {
            "format": FORMAT,
            "version": VERSION,
            "consumer": self.consumer,
            "salt": f"{salt:08x}",
            "line": self.line,
            "updated": self.updated,
        }
        return encoded(fields)


def checked_name(consumer: object) -> str:
    """Return the name of a consumer; raise if it is invalid.

    >>> checked_name("billing-2")
    'billing-2'
    """
    if not isinstance(consumer, str) or not _NAME.fullmatch(consumer):
        raise UsageError(
            f"consumer {consumer!r}: a name is up to 100 letters, digits, '.', '_' and '-', "
            "and begins with a letter or a digit"
        )
    return consumer


class Checkpoints:
    """The checkpoints of one log."""

    def __init__(self, names: LogNames, salt: int) -> None:
        self._names = names
        self._salt = salt

    def path(self, consumer: str) -> Path:
        """Return the file of a consumer."""
        return self._names.consumers / f"{checked_name(consumer)}.json"

    def consumers(self) -> list[str]:
        """List the consumers that have a checkpoint."""
        try:
            names = system.calls.list_directory(self._names.consumers)
        except FileNotFoundError:
            return []
        return sorted(match[1] for match in map(_FILE.fullmatch, names) if match)

    def lock(self, consumer: str) -> FileLock:
        """Return the lock of a consumer."""
        path = self.path(consumer)
        make_durable_directories(self._names.consumers)
        lock = FileLock(
            path.with_name(f".{path.name}.lock"),
            lambda holder: ConsumerBusyError(str(path), holder),
        )
        for leftover in path.parent.glob(f".{path.name}.tmp-*"):
            system.calls.unlink(leftover)  # its writer died
        return lock

    def load(self, consumer: str) -> Checkpoint | None:
        """Return the checkpoint of a consumer, None if it has none."""
        path = self.path(consumer)
        try:
            content = files.read_content(path)
        except FileNotFoundError:
            return None
        checkpoint = _decoded(content, str(path))
        if content != checkpoint.encode(self._salt):
            reason = f"the checkpoint of {consumer!r} is of another log"
            raise LogReplacedError(self._names.text, reason)
        return checkpoint

    def save(self, consumer: str, line: int) -> Checkpoint:
        """Replace the checkpoint, durably."""
        checkpoint = Checkpoint(consumer, line, time.time_ns() // 1_000_000)
        files.replace_content(self.path(consumer), checkpoint.encode(self._salt))
        return checkpoint

    def remove(self, consumer: str) -> None:
        """Remove a consumer, durably."""
        path = self.path(consumer)
        system.calls.unlink(path)
        system.calls.sync_directory(path.parent)


def _decoded(content: bytes, path: str) -> Checkpoint:
    try:
        fields = parse(content) if has_checksum(content) else None
    except InvalidJsonError:
        fields = None
    if not isinstance(fields, dict):
        raise CheckpointDamagedError(path, "its checksum is wrong")
    if (fields.get("format"), fields.get("version")) != (FORMAT, VERSION):
        raise CheckpointDamagedError(path, "it is not a checkpoint of this version")
    consumer, line, updated = (
        fields.get(key) for key in ("consumer", "line", "updated")
    )
    numbers = type(line) is int and line >= 0 and type(updated) is int
    if not numbers or path.removesuffix(f"{consumer}.json") == path:
        raise CheckpointDamagedError(path, "it is not as a checkpoint is written")
    return Checkpoint(cast("str", consumer), cast("int", line), cast("int", updated))


EVERY_LINES = 1000
EVERY_SECONDS = 5.0


class ActiveConsumer:
    """A consumer at work: holds its lock from construction to `close`.

    With `taken`, lines count as finished only up to the one that it returns.
    """

    def __init__(
        self,
        reader: LogReader,
        consumer: str,
        *,
        every_lines: int = EVERY_LINES,
        every_seconds: float = EVERY_SECONDS,
        gone: Gone = "error",
        taken: Callable[[], int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.consumer = checked_name(consumer)
        self._every_lines = every_lines
        self._every_seconds = every_seconds
        self._taken = taken
        self._clock = clock
        self._checkpoints = Checkpoints(LogNames(reader.path), reader.manifest.salt)
        self._lock = self._checkpoints.lock(consumer)
        try:
            next_line = self._next_line(reader)
            self._follower = Follower(reader, next_line, Between(), gone)
        except BaseException:
            self._lock.release()
            raise
        self.given = self.done = self.committed = next_line - 1
        self._committed_at = clock()
        self._closed = False

    def _next_line(self, reader: LogReader) -> int:
        found = self._checkpoints.load(self.consumer)
        if found is None:
            return reader.first_line
        if found.line > (last := reader.last_line):
            reason = (
                f"{self.consumer!r} is at line {found.line}, but it ends with {last}"
            )
            raise LogReplacedError(reader.path, reason)
        return found.line + 1

    @property
    def gone(self) -> int:
        """The number of lines that were gone, and skipped."""
        return self._follower.gone

    def blocks(self) -> Iterator[Block]:
        """Yield committed lines that were not yielded before; asking for more finishes them."""
        if self._closed:
            raise UsageError(f"consumer {self.consumer!r} is closed; open it again")
        for block in self._follower.blocks():
            yield block
            self.finish(block.last_line)
        self.finish(self._follower.next_line - 1)

    def finish(self, line: int) -> None:
        """Note that all lines up to `line` are finished, and commit now and then."""
        self.given = max(line, self.given)
        self.done = max(self._finished(line), self.done)
        self.commit_if_due()

    def _finished(self, line: int) -> int:
        """Return the last finished line, if lines up to `line` were yielded."""
        return line if self._taken is None else min(line, self._taken())

    def finish_given(self) -> None:
        """Note that all yielded lines are finished."""
        self.done = self.given

    def commit_if_due(self) -> None:
        """Commit finished lines, if they are many or the last commit is old."""
        if self.done - self.committed >= self._every_lines or (
            self.done > self.committed
            and self._clock() - self._committed_at >= self._every_seconds
        ):
            self.commit(self.done)

    def commit(self, line: int) -> None:
        """Move the checkpoint to a line that was yielded, durably."""
        if not self.committed <= line <= self.given:
            raise UsageError(
                f"consumer {self.consumer!r}: line {line} cannot be committed; it is one "
                f"from {self.committed} to {self.given}, the last that was given out"
            )
        if line > self.committed:
            self._checkpoints.save(self.consumer, line)
            self.committed = line
        self.done = max(self.done, line)
        self._committed_at = self._clock()

    def abandon(self) -> None:
        """Release the lock, and leave the checkpoint unchanged."""
        self._closed = True
        self._lock.release()

    def close(self) -> None:
        """Commit finished lines, and release the lock."""
        if self._closed:
            return
        self._closed = True
        try:
            if self._taken is not None:
                # Lines that left since the last one was yielded.
                self.done = max(self._finished(self.given), self.done)
            self.commit(self.done)
        finally:
            self._lock.release()
