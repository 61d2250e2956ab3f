"""Following a file by name while it grows, is rotated or is truncated.

`Follower.poll` reads what is new and never waits, so that a test can play any course of events;
`watch` calls it repeatedly. A row is yielded when its line end is there; until then it is not
kept in memory. After a *rotation*, when the name stands for another file, the old file is read
to its end first, and then files that had the name between two polls: new files with the same
name and a number or date after it. An unfinished row of a rotated file may be finished within
`LINGER` seconds. After a *truncation*, when bytes that were read already are gone, the file is
read again from its start.
"""

import os
import re
import stat
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TypeAlias

from headrace.errors import (
    NotNdjsonError,
    SourceChangedError,
    SourceNotFoundError,
    UnreadableError,
    UsageError,
)
from headrace.kernel.rows import (
    END,
    File,
    RowBatch,
    RowStream,
    reach_back,
    reading,
    sniff,
)
from headrace.kernel.values import DEEPEST
from headrace.store.files.source import HEAD_BYTES, refuse_what_is_no_text
from headrace.store.files.units import parse_size
from headrace.store.log.names import is_log

LINGER = 2.0
"""Seconds within which a writer may finish the last row of a rotated file."""

STEP = 1 << 18
"""Bytes read between two checks whether the file is still the same."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """There is no file of that name yet. Reported once."""


@dataclass(frozen=True, slots=True)
class Rotated:
    """The name stands for another file; its rows come next.

    `dropped` bytes of a row that was never finished are no row.
    """

    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Truncated:
    """The file was cut or rewritten; its rows come again from the start.

    `dropped` bytes of a row that never got its line end are gone: with the rest
    of that row cut off, they are no row.
    """

    dropped: int


Notice: TypeAlias = Waiting | Rotated | Truncated
Change: TypeAlias = RowBatch | Notice


class _OpenFile:
    """An open file, whatever happens to its name, and the position in it.

    Rows before `_offset`, the start of a row, were given out. Up to `_looked`
    there is no line end behind that, and none can appear there any more, so that
    a line which grows in small steps is not searched from its start each time.
    """

    def __init__(self, path: str, max_line: int) -> None:
        self._path = path
        self._max_line = max_line
        self._file, self._identity = _open(path)
        with reading(path):
            self.identity = self._file.identity()
        self._offset = self._looked = 0
        self._ends: tuple[str, str] | None = None
        self._seen: tuple[int, int, int] | None = None
        with reading(path):
            _refuse_compressed(path, self._file.read_at(0, HEAD_BYTES))
        self._go_to(0)

    def begin(self, start_offset: int | None, last: int) -> None:
        """Go to `start_offset`, or else before the `last` complete rows."""
        offset = start_offset
        if offset is None:
            with reading(self._path):
                size, _mtime_ns, _ctime_ns = self._file.stat()
                end = self._complete_end(size)
                offset, _rows = reach_back(
                    self._file, end=end, max_rows=last, max_bytes=END
                )
        self._go_to(offset)

    def has_name(self) -> bool:
        """Whether its name still stands for this file."""
        with reading(self._path):
            return self._identity == _identity(Path(self._path).stat())

    def changed_ns(self) -> int:
        """Return the time of its last change."""
        return self._state()[1]

    def is_empty(self) -> bool:
        """Whether nothing has been written to it yet."""
        return self._state()[0] == 0

    def read(self) -> Iterator[RowBatch | Truncated]:
        """Yield the rows that have become complete."""
        while (state := self._state()) != self._seen:
            size, _mtime_ns, _ctime_ns = state
            end = min(size, self._looked + STEP)
            step = self._look_up_to(end)
            # Checked after reading, so that it holds for the bytes that were read.
            if self._is_cut():
                dropped = self._looked - self._offset
                self._go_to(0)
                yield Truncated(dropped)
            elif step is None:
                # No bytes that were read are gone; the next poll reads the rest.
                return
            else:
                rows, self._offset, self._ends = step
                self._looked = end
                self._seen = state if end == size else None
                if rows:
                    yield rows

    @property
    def unfinished(self) -> int:
        """The length of a row that has no line end yet."""
        return self._looked - self._offset

    def finish(self) -> RowBatch | int:
        """Return the last row if only its line end is missing, else its length so far."""
        with suppress(SourceChangedError), reading(self._path):
            row = self._rows(self._looked)
            if row is not None and _is_whole(row):
                return row
        return self.unfinished

    def _go_to(self, offset: int) -> None:
        self._offset = self._looked = offset
        self._ends = self._ends_now()
        self._seen = None

    def _state(self) -> tuple[int, int, int]:
        with reading(self._path):
            return self._file.stat()

    def _look_up_to(
        self, end: int
    ) -> tuple[RowBatch | None, int, tuple[str, str]] | None:
        """Read the rows complete before `end`; None if the file ends earlier now.

        Return them, where they end, and what the file is known by.
        """
        with suppress(SourceChangedError), reading(self._path):
            complete_end = self._complete_end(end)
            rows = self._rows(complete_end)
            return rows, complete_end, self._file.fingerprint(end)
        return None

    def _complete_end(self, end: int) -> int:
        """Find where the last row ends that is complete before `end`."""
        # There begins the row that the next byte, the one at `end`, belongs to;
        # if no line end is found, `_looked` itself comes back.
        start, _rows = reach_back(
            self._file, start=self._looked, end=end + 1, max_rows=1, max_bytes=END
        )
        return start if start > self._looked else self._offset

    def _rows(self, end: int) -> RowBatch | None:
        """Read all rows up to `end`: no more bytes than a step and one row."""
        if end <= self._offset:
            return None
        stream = RowStream(
            self._file,
            "none",
            size=end,
            start=self._offset,
            end=end,
            max_line=self._max_line,
        )
        rows = stream.next_batch(END, END)
        # An error after whole rows is raised by the next call.
        stream.next_batch(END, END)
        return rows

    def _is_cut(self) -> bool:
        """Whether the bytes up to `_looked` are not those that were read.

        Both ends of them are compared: a file that was cut and has grown past our
        place since does not go unnoticed.
        """
        ends = self._ends_now()
        return ends is None or ends != self._ends

    def _ends_now(self) -> tuple[str, str] | None:
        with suppress(SourceChangedError), reading(self._path):
            return self._file.fingerprint(self._looked)
        return None


class Follower:
    """A file name, and the files that had it.

    Reading begins at `start_offset`, which must be the start of a row, or else
    with the `last` complete rows; a file that was not there yet, at its start.
    """

    def __init__(
        self,
        path: str,
        *,
        start_offset: int | None = None,
        last: int = 0,
        max_line: int,
        wait: bool = False,
    ) -> None:
        self._path = path
        self._max_line = max_line
        self._reported_waiting = False
        # The file being read, and those that have taken its name since.
        self._files: deque[_OpenFile] = deque()
        self._known: set[str] = set()
        self._superseded_since: float | None = None
        self._look()
        if self._files:
            self._files[0].begin(start_offset, last)
        elif not wait:
            raise SourceNotFoundError(path)

    def poll(self) -> Iterator[Change]:
        """Yield the changes since the last poll; never wait."""
        self._look()
        if not self._files:
            if not self._reported_waiting:
                self._reported_waiting = True
                yield Waiting()
            return
        yield from self._files[0].read()
        while self._superseded():
            # It may have grown until its successor was seen.
            yield from self._files[0].read()
            rest = self._files[0].finish()
            if isinstance(rest, RowBatch):
                yield rest
            self._files.popleft()
            self._superseded_since = None
            yield Rotated(rest if isinstance(rest, int) else 0)
            yield from self._files[0].read()

    def close(self) -> None:
        """Close all files."""
        self._files.clear()

    def _look(self) -> None:
        """Open the file that has the name now, so that a rotation does not lose it."""
        with suppress(SourceNotFoundError):
            if not self._files or not self._files[-1].has_name():
                newest = _OpenFile(self._path, self._max_line)
                self._known.add(newest.identity)
                missed = self._others()
                if self._files:
                    self._files.extend(missed)
                self._files.append(newest)

    def _others(self) -> list[_OpenFile]:
        """Open files that had the name since the last poll, oldest first."""
        found: list[tuple[int, _OpenFile]] = []
        for _ in range(_LOOKS):
            before = len(found)
            for path in _rotated(self._path):
                # Renamed once more, or removed: the next look finds it if it is there.
                with suppress(SourceNotFoundError, UsageError, NotNdjsonError):
                    file = _OpenFile(path, self._max_line)
                    if file.identity not in self._known:
                        self._known.add(file.identity)
                        found.append((file.changed_ns(), file))
            if len(found) == before:
                break
        return [file for _changed, file in sorted(found, key=lambda each: each[0])]

    def _superseded(self) -> bool:
        # While its successor is empty, a writer may still write the old file.
        successors = len(self._files) - 1
        if successors < 1 or (successors == 1 and self._files[1].is_empty()):
            return False
        if not self._files[0].unfinished:
            return True
        if self._superseded_since is None:
            self._superseded_since = time.monotonic()
        return time.monotonic() - self._superseded_since >= LINGER


def watch(
    path: str | os.PathLike[str],
    start_offset: int | None = None,
    *,
    last: int = 0,
    max_line: int | str = "64MiB",
    poll: float = 0.2,
    wait: bool = False,
) -> Iterator[Change]:
    """Follow a file without end: yield its rows, rotations and truncations.

    Begins like `Follower`; polls every `poll` seconds. With `wait`, the file may appear
    later.
    """
    _refuse_nonsense(poll, start_offset=start_offset, last=last)
    follower = Follower(
        os.fspath(path),
        start_offset=start_offset,
        last=last,
        max_line=parse_size(max_line),
        wait=wait,
    )
    return _look_for_ever(follower, poll)


def _refuse_nonsense(poll: object, **counts: object) -> None:
    for name, count in counts.items():
        if count is not None and not (isinstance(count, int) and count >= 0):
            raise UsageError(f"{name} {count!r}: must be 0 or a positive integer")
    if not (isinstance(poll, (int, float)) and isfinite(poll) and poll > 0):
        raise UsageError(f"poll {poll!r}: must be a number of seconds above 0")


def _look_for_ever(follower: Follower, poll: float) -> Iterator[Change]:
    try:
        while True:
            quiet = True
            for change in follower.poll():
                quiet = False
                yield change
            if quiet:
                time.sleep(poll)
    finally:
        follower.close()


def follow(
    path: str | os.PathLike[str],
    start_offset: int | None = None,
    *,
    last: int = 0,
    max_line: int | str = "64MiB",
    poll: float = 0.2,
    wait: bool = False,
) -> Iterator[bytes]:
    """Follow a file without end, row by row; rows over `max_line` are left out.

    `watch` yields the same rows in batches, and reports the rows left out.
    """
    changes = watch(
        path, start_offset, last=last, max_line=max_line, poll=poll, wait=wait
    )
    return (
        row
        for change in changes
        if isinstance(change, RowBatch)
        for row in change.contents()
        if row is not None
    )


_LOOKS = 5
"""How many times to look for files that had the name, while more are found."""

_ROTATED = re.compile(r"[.-][0-9][0-9.:T_-]*")
"""The suffix that rotation adds to a name: a number or a time."""


def _rotated(path: str) -> list[str]:
    """List the files beside a file that rotation has given names like its own."""
    directory, name = os.path.split(path)
    with reading(path), os.scandir(directory or ".") as entries:
        return [
            os.path.join(directory, entry.name)  # noqa: PTH118, as the path is written
            for entry in entries
            if entry.name.startswith(name)
            and _ROTATED.fullmatch(entry.name, len(name))
            and entry.is_file(follow_symlinks=False)
        ]


def _is_whole(row: RowBatch) -> bool:
    """Whether a row without a line end is a whole value; a number may not be.

    A row that is too long is counted as one whatever it is.
    """
    (content,) = row.contents()
    if content is None or content.strip()[-1:].isdigit():
        return content is None
    return row.values(DEEPEST)[1] is None


def _open(path: str) -> tuple[File, tuple[int, int]]:
    """Open a regular file, and return it with its identity."""
    with reading(path):
        # Opening a pipe must not wait for its writer: it is refused.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                log = "; follow this log with `headrace log cat -f`"
                raise UsageError(
                    f"{path}: only a regular file can be followed"
                    f"{log if is_log(Path(path)) else ''}"
                )
            return _by_descriptor(path, descriptor), _identity(status)
        finally:
            os.close(descriptor)


def _by_descriptor(path: str, descriptor: int) -> File:
    # Not by name: another file may have it by now.
    name = f"/dev/fd/{descriptor}"
    try:
        return File(name)
    except FileNotFoundError as error:
        # The file exists, so this is not a file to wait for.
        raise UnreadableError(path, "/dev/fd is missing; mount /proc") from error


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _refuse_compressed(path: str, head: bytes) -> None:
    codec = sniff(head)
    if codec != "none":
        reason = "compressed data cannot be followed; leave out -f"
        raise UsageError(f"{path}: {codec}: {reason}")
    refuse_what_is_no_text(path, head)
