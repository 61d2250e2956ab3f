"""One writer at a time: the lock of a log.

The lock is the operating system's, on a file that stays; it ends with the process however
that ends. What is in the file only tells others who has the lock. The lock is held by a file
object, which ends it when it is collected.
"""

from __future__ import annotations

import fcntl
import json
import os
import weakref
from contextlib import suppress
from functools import partial
from io import FileIO
from typing import TYPE_CHECKING

from headrace.errors import LogLockedError
from headrace.kernel.values import InvalidJsonError, parse
from headrace.store.log import files

if TYPE_CHECKING:
    from headrace.store.log.names import LogNames

_held: weakref.WeakSet[LogLock] = weakref.WeakSet()


class LogLock:
    """The right to write a log, held from construction to `release`."""

    def __init__(self, names: LogNames) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        opener = partial(_opened, flags)
        self._file = FileIO(names.lock, "r+", opener=opener)
        _held.add(self)
        try:
            files.refuse_irregular(names.lock, os.fstat(self._file.fileno()).st_mode)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = self._told().get("holder")
            self._file.close()
            text = holder if isinstance(holder, str) else "another process"
            raise LogLockedError(names.text, text) from None
        except BaseException:
            self._file.close()
            raise

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
        """Tell others who has it."""
        holder = f"process {os.getpid()} on {os.uname().nodename}"
        said = json.dumps({"epoch": epoch, "holder": holder}).encode() + b"\n"
        os.pwrite(self._file.fileno(), said, 0)
        os.ftruncate(self._file.fileno(), len(said))

    def release(self) -> None:
        """Let others have it; in a forked child, that leaves the parent's as it is."""
        self._file.close()


def _opened(flags: int, path: str, _flags: int) -> int:
    return os.open(path, flags, 0o666)


def _release_all() -> None:
    # A child that lives longer must not keep the lock of a parent that died.
    for lock in list(_held):
        lock.release()
    _held.clear()


os.register_at_fork(after_in_child=_release_all)
