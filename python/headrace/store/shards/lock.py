"""One writer at a time: the lock of a set.

The lock is the operating system's, on a file that its holder removes at the end; it
ends with the process however that ends. A file that was removed between being opened
and locked locks nothing, so its name is looked at again.
"""

from __future__ import annotations

import fcntl
import os
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING

from headrace.errors import SetLockedError

if TYPE_CHECKING:
    from headrace.store.shards.names import SetNames

_held: weakref.WeakSet[SetLock] = weakref.WeakSet()


class SetLock:
    """The right to write a set, held from construction to `release`."""

    def __init__(self, names: SetNames) -> None:
        self._path = names.lock
        self._descriptor = -1
        while self._descriptor < 0:
            self._descriptor = self._try(names.text)
        _held.add(self)
        try:
            holder = f"process {os.getpid()} on {os.uname().nodename}"
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, holder.encode())
        except BaseException:
            self.release()
            raise

    def _try(self, set_name: str) -> int:
        """Return the locked file; -1 if it is no longer the one with the name."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), self._path.lstat()):
                    return descriptor
        except BlockingIOError:
            told = os.pread(descriptor, 200, 0).decode(errors="replace")
            holder = told if told.isprintable() and told else "another process"
            os.close(descriptor)
            raise SetLockedError(set_name, holder) from None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        return -1

    def release(self) -> None:
        """Remove the file, and with it the lock."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            _held.discard(self)
            with suppress(FileNotFoundError):
                self._path.unlink()
            os.close(descriptor)

    def forget(self) -> None:
        """Let go of the file without ending the lock, which is another process's."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def _forget_all() -> None:
    # A child that lives longer must not keep the lock of a parent that died.
    for lock in list(_held):
        lock.forget()
    _held.clear()


os.register_at_fork(after_in_child=_forget_all)
