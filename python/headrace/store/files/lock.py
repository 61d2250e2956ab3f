"""File lock: one writer at a time.

The lock is the operating system's, on a file that the holder removes at the end; it ends with
the process, whatever ends that. A file that was removed between being opened and locked locks
nothing, so its name is checked again.

A file object holds the lock and releases it when it is collected: an interrupt at any moment
cannot leave a lock behind.
"""

from __future__ import annotations

import errno
import fcntl
import os
import weakref
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.store.files import system

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.errors import HeadraceError
    from headrace.store.log.lock import LogLock

HELD: weakref.WeakSet[FileLock | LogLock] = weakref.WeakSet()
"""The locks that this process holds, of any kind; a forked child forgets them."""


class FileLock:
    """The right to write something, held from construction to `release`.

    A second writer gets the error that `refused` makes of the holder's name.
    """

    def __init__(self, path: Path, refused: Callable[[str], HeadraceError]) -> None:
        self._path = path
        self._file: FileIO | None = None
        self._opening = False
        HELD.add(self)
        try:
            while not self._try():
                self.forget()
            self._say_who()
        except BlockingIOError:
            holder = self._holder()
            self.forget()
            raise refused(holder) from None
        except BaseException as error:
            if isinstance(error, OSError):
                # The error of a full disk does not name the file.
                error.filename = error.filename or os.fspath(path)
            self.release()
            raise

    def _try(self) -> bool:
        """Lock the file; false if it is no longer the one with the name."""
        # Checked before the file is opened, and again before it is written to.
        if self._path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(self._path))
        self._opening = True
        self._file = FileIO(self._path, "a+", opener=_opened)
        return self._is_ours(self._file)

    def _is_ours(self, file: FileIO) -> bool:
        """Whether the name still belongs to this file, which is locked then."""
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            return os.path.samestat(os.fstat(file.fileno()), self._path.lstat())
        except FileNotFoundError:
            return False

    def _say_who(self) -> None:
        if self._file is not None:
            descriptor = self._file.fileno()
            system.calls.truncate(descriptor, 0)
            holder = f"process {os.getpid()} on {os.uname().nodename}"
            system.calls.write(descriptor, memoryview(holder.encode()))

    def _holder(self) -> str:
        holder = ""
        if self._file is not None:
            holder = os.pread(self._file.fileno(), 200, 0).decode(errors="replace")
        return holder if holder and holder.isprintable() else "another process"

    def release(self) -> None:
        """Remove the file, and with it the lock."""
        # An interrupt may have come before the file was locked, or even opened.
        with suppress(OSError):
            if self._file is None and self._opening:
                self._file = FileIO(self._path, "r+")
            if self._file is not None and self._is_ours(self._file):
                system.calls.unlink(self._path)
        self.forget()

    def forget(self) -> None:
        """Close the file; in a forked child, that leaves the parent's lock as it is."""
        file, self._file, self._opening = self._file, None, False
        if file is not None:
            file.close()

    def __del__(self) -> None:
        with suppress(AttributeError):  # the constructor was interrupted
            self.release()


def _opened(path: str, flags: int) -> int:
    return system.calls.open(Path(path), flags)


def _forget_all() -> None:
    # A child that lives longer must not keep the lock of a parent that died.
    for lock in list(HELD):
        lock.forget()
    HELD.clear()


os.register_at_fork(after_in_child=_forget_all)
