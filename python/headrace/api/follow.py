"""Following a file by name while it grows, is rotated or is cut.

`Follower.poll` looks once and never waits, so that every course of events can be
played through in a test; `watch` looks again and again. A row is given out when
its line end has come, so nobody sees half a row. Only the name is followed: when
it stands for another file (*rotation*), the old one is read to its end first. A
file that lost bytes we had already read (*truncation*) is read again from its
start.
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from headrace.errors import HeadraceError, SourceNotFoundError, UsageError
from headrace.kernel.rows import sniff
from headrace.store.sizes import parse_size
from headrace.store.source import refuse_other_encodings

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = 1 << 18
HEAD = 16
BOM = b"\xef\xbb\xbf"

PROBE = 256
"""Bytes before the next ones, compared at each read: a file that was cut and has
grown past our place since does not go unnoticed."""


@dataclass(slots=True)
class Rows:
    """Rows in file order; None stands for one that was too long.

    `too_long` has the position in `rows` and the length of each of those.
    """

    rows: list[bytes | None] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    too_long: list[tuple[int, int]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Waiting:
    """There is no file of that name yet. Said once."""


@dataclass(frozen=True, slots=True)
class Rotated:
    """The name stands for another file; its rows come next."""


@dataclass(frozen=True, slots=True)
class Truncated:
    """The file was cut or rewritten; its rows come again from the start.

    `dropped` bytes of a row that never got its line end are gone: with the rest
    of that row cut off, they are no row.
    """

    dropped: int


Change: TypeAlias = Rows | Waiting | Rotated | Truncated


class Splitter:
    """Cuts blocks into rows, and holds back what has no line end yet.

    Never more than `max_line` and one block are held, however long the line.
    """

    def __init__(self, max_line: int, offset: int = 0) -> None:
        self._max_line = max_line
        self._start = offset
        self._held = bytearray()
        self._let_go = 0

    @property
    def unfinished(self) -> int:
        """Bytes of the row that has no line end yet."""
        return self._let_go + len(self._held)

    def feed(self, block: bytes) -> Rows:
        """Take the next bytes and give the rows they complete."""
        *lines, rest = block.split(b"\n")
        rows = Rows()
        for line in lines:
            self._complete(line, rows, line_end=1)
        self._hold(rest)
        return rows

    def finish(self) -> Rows:
        """Give what is held back as the last row: no line end will come."""
        rows = Rows()
        if self.unfinished:
            self._complete(b"", rows, line_end=0)
        return rows

    def _complete(self, line: bytes, rows: Rows, *, line_end: int) -> None:
        end = self._start + self.unfinished + len(line) + line_end
        if self._held:
            line = bytes(self._held) + line
        if self._start == 0 and not self._let_go:
            line = line.removeprefix(BOM)
        if line_end:
            line = line.removesuffix(b"\r")
        length = self._let_go + len(line)
        if length > self._max_line:
            rows.too_long.append((len(rows), length))
            rows.rows.append(None)
        else:
            rows.rows.append(line)
        rows.offsets.append(self._start)
        self._start = end
        self._held.clear()
        self._let_go = 0

    def _hold(self, rest: bytes) -> None:
        self._held += rest
        # Too long even without BOM and "\r". The last byte stays, for it may be
        # that "\r".
        if self.unfinished > self._max_line + len(BOM) + 1:
            self._let_go += len(self._held) - 1
            del self._held[:-1]


class _OpenFile:
    """One file, held open whatever becomes of its name, and how far it was read."""

    def __init__(self, path: str, max_line: int) -> None:
        self._max_line = max_line
        # A pipe must not make us wait for its writer before it is refused.
        self._file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        status = os.fstat(self._file)
        self._offset = 0
        self._probe = b""
        self._seen: tuple[int, int] | None = None
        self._splitter = Splitter(max_line)
        try:
            if not stat.S_ISREG(status.st_mode):
                raise UsageError(f"{path}: only a regular file can be followed")
            _refuse_compressed(path, os.pread(self._file, HEAD, 0))
        except HeadraceError:
            self.close()
            raise

    def begin(self, start_offset: int | None, last: int) -> None:
        """Go to `start_offset`, or else before the `last` complete rows."""
        offset = start_offset
        if offset is None:
            offset = _start_of_last(self._file, last)
        size = min(PROBE, offset)
        self._rewind(offset, os.pread(self._file, size, offset - size))

    def has_name(self, path: str) -> bool:
        """Whether `path` still stands for this file."""
        return os.path.samestat(Path(path).stat(), os.fstat(self._file))

    def is_empty(self) -> bool:
        """Whether nothing has been written to it yet."""
        return os.fstat(self._file).st_size == 0

    def read(self) -> Iterator[Change]:
        """Give the rows that have become complete."""
        while True:
            status = os.fstat(self._file)
            if self._seen == (status.st_size, status.st_mtime_ns):
                return
            probe = len(self._probe)
            block = os.pread(self._file, probe + BLOCK, self._offset - probe)
            if status.st_size < self._offset or block[:probe] != self._probe:
                yield Truncated(self._splitter.unfinished)
                self._rewind()
                continue
            if len(block) == probe:
                self._seen = (status.st_size, status.st_mtime_ns)
                return
            self._offset += len(block) - probe
            self._probe = block[-PROBE:]
            if rows := self._splitter.feed(block[probe:]):
                yield rows

    def finish(self) -> Rows:
        """Give the unfinished row at the end: nobody will finish it."""
        return self._splitter.finish()

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _rewind(self, offset: int = 0, probe: bytes = b"") -> None:
        self._offset = offset
        self._probe = probe
        self._seen = None
        self._splitter = Splitter(self._max_line, offset)


class Follower:
    """One file name, and the files it has stood for.

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
        self._waiting_said = False
        # The file being read, and those that have taken its name since.
        self._files: deque[_OpenFile] = deque()
        self._look()
        if self._files:
            self._files[0].begin(start_offset, last)
        elif not wait:
            raise SourceNotFoundError(path)

    def poll(self) -> Iterator[Change]:
        """Give what has happened since the last look; never wait."""
        self._look()
        if not self._files:
            if not self._waiting_said:
                self._waiting_said = True
                yield Waiting()
            return
        yield from self._files[0].read()
        while self._superseded():
            # It may have grown until the moment we saw its successor.
            yield from self._files[0].read()
            if rest := self._files[0].finish():
                yield rest
            self._files.popleft().close()
            yield Rotated()
            yield from self._files[0].read()

    def close(self) -> None:
        """Let go of all files."""
        while self._files:
            self._files.pop().close()

    def _look(self) -> None:
        """Open the file that has the name now, so that it cannot get away."""
        try:
            if self._files and self._files[-1].has_name(self._path):
                return
            found = _OpenFile(self._path, self._max_line)
        except FileNotFoundError:
            return
        self._files.append(found)

    def _superseded(self) -> bool:
        # While its successor is empty, a writer may still hold the old file.
        successors = len(self._files) - 1
        return successors > 1 or (successors == 1 and not self._files[1].is_empty())


def watch(
    path: str | os.PathLike[str],
    start_offset: int | None = None,
    *,
    last: int = 0,
    max_line: int | str = "64MiB",
    poll: float = 0.2,
    wait: bool = False,
) -> Iterator[Change]:
    """Follow a file for ever: its rows, and what becomes of it.

    Begins like `Follower`; looks every `poll` seconds. With `wait`, the file
    need not be there yet.
    """
    follower = Follower(
        os.fspath(path),
        start_offset=start_offset,
        last=last,
        max_line=parse_size(max_line),
        wait=wait,
    )
    return _look_for_ever(follower, poll)


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
    """Follow a file for ever, row by row; a row over `max_line` is left out.

    `watch` gives the same rows in batches, and says what was left out.
    """
    changes = watch(
        path, start_offset, last=last, max_line=max_line, poll=poll, wait=wait
    )
    for change in changes:
        if isinstance(change, Rows):
            yield from (row for row in change.rows if row is not None)


def stream(file: int, *, max_line: int | str = "64MiB") -> Iterator[Rows]:
    """Give the rows of a pipe as they come, until it ends."""
    splitter = Splitter(parse_size(max_line))
    first = True
    while block := os.read(file, BLOCK):
        if first:
            _refuse_compressed("-", block[:HEAD])
            first = False
        if rows := splitter.feed(block):
            yield rows
    if rest := splitter.finish():
        yield rest


def _refuse_compressed(path: str, head: bytes) -> None:
    codec = sniff(head)
    if codec != "none":
        reason = "compressed data cannot be followed; leave out -f"
        raise UsageError(f"{path}: {codec}: {reason}")
    refuse_other_encodings(path, head)


def _start_of_last(file: int, rows: int) -> int:
    """Where the last `rows` complete rows begin."""
    line_ends = rows + 1
    end = os.fstat(file).st_size
    while end > 0:
        start = max(end - BLOCK, 0)
        block = os.pread(file, end - start, start)
        at = len(block)
        while (at := block.rfind(b"\n", 0, at)) >= 0:
            line_ends -= 1
            if line_ends == 0:
                return start + at + 1
        end = start
    return 0
