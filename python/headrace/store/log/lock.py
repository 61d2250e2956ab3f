"""One writer at a time: the lock of a log.

The lock is the operating system's, on a file that stays; it ends with the process however
that ends. What is in the file only tells others which writer has the lock: a writer writes its
name there, and takes it away when it ends. A reader that recovers a log holds the lock for a
moment, so whoever needs it waits a little. The lock is held by a file object, which ends it
when it is collected.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
import weakref
from contextlib import suppress
from functools import partial
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import LogLockedError
from headrace.kernel.values import InvalidJsonError, parse
from headrace.store.files import system
from headrace.store.log import files

if TYPE_CHECKING:
    from headrace.store.log.names import LogNames

WAIT = 1.0
"""Seconds that a writer waits for the lock: longer than a reader holds it."""

_LOOK = 0.02
"""Seconds between attempts."""

_held: weakref.WeakSet[LogLock] = weakref.WeakSet()


class LogLock:
    """The right to write a log, held from construction to `release`."""

    def __init__(self, names: LogNames, *, wait: float = WAIT) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        opener = partial(_opened, flags)
        self._said: int | None = None
        self._file = FileIO(names.lock, "r+", opener=opener)
        _held.add(self)
        try:
            files.refuse_irregular(names.lock, os.fstat(self._file.fileno()).st_mode)
            self._take(wait)
        except BlockingIOError:
            holder = self._holder()
            self._file.close()
            raise LogLockedError(names.text, holder) from None
        except BaseException:
            self._file.close()
            raise

    def _take(self, wait: float) -> None:
        end = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise
                time.sleep(_LOOK)
            else:
                return

    def _holder(self) -> str:
        """Return which writer has the lock; one that died has not."""
        holder = self._told().get("holder")
        if not isinstance(holder, str):
            return "another process"
        process, _on, host = holder.removeprefix("process ").partition(" on ")
        if host == os.uname().nodename and process.isdecimal():
            with suppress(PermissionError):  # it is there, and another user's
                try:
                    os.kill(int(process), 0)
                except (ProcessLookupError, OverflowError):
                    return "another process"
        return holder

    @property
    def epoch(self) -> int:
        """The number of the writer who had the lock last, 0 if nobody knows."""
        epoch = self._told().get("epoch")
        return epoch if isinstance(epoch, int) else 0

    def _told(self) -> dict[str, object]:
        with suppress(InvalidJsonError):
            told = parse(os.pread(self._file.fileno(), 400, 0))
            if isinstance(told, dict):
                return told
        return {}

    def say(self, epoch: int) -> None:
        """Tell others which writer has it."""
        self._said = epoch
        self._write(
            {
                "epoch": epoch,
                "holder": f"process {os.getpid()} on {os.uname().nodename}",
            }
        )

    def _write(self, said: dict[str, object]) -> None:
        content = json.dumps(said).encode() + b"\n"
        files.write_at(self._file.fileno(), content, 0)
        system.calls.truncate(self._file.fileno(), len(content))

    def release(self) -> None:
        """Let others have it."""
        try:
            if self._said is not None and not self._file.closed:
                with suppress(OSError):  # it is only what others are told
                    self._write({"epoch": self._said})
        finally:
            self._file.close()

    def abandon(self) -> None:
        """Close the copy that a forked child has; the lock stays its parent's."""
        self._file.close()


def _opened(flags: int, path: str, _flags: int) -> int:
    return system.calls.open(Path(path), flags)


def _release_all() -> None:
    # A child that lives longer must not keep the lock of a parent that died.
    for lock in list(_held):
        lock.abandon()
    _held.clear()


os.register_at_fork(after_in_child=_release_all)
