"""Lock of a log: one writer at a time.

The operating system holds the lock, on a file that stays; the lock ends with its process,
however that ends. The content of the file is only for messages: a writer stores its name
there, and removes it when it ends. A reader that recovers a log holds the lock for a
moment, so every other process waits a little. A file object holds the lock in a process,
and releases it when it is collected.
"""

import fcntl
import json
import os
import time
from contextlib import suppress
from io import FileIO

from headrace.errors import LogLockedError
from headrace.kernel.values import InvalidJsonError, parse
from headrace.store.files import system
from headrace.store.files.lock import HELD
from headrace.store.log import files
from headrace.store.log.names import LogNames

WAIT = 1.0
"""Seconds that a writer waits for the lock: longer than a reader holds it."""

_LOOK = 0.02
"""Seconds between attempts."""


class LogLock:
    """The lock, held from construction to `release`."""

    def __init__(self, names: LogNames, *, wait: float = WAIT) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        self._epoch: int | None = None
        self._file = FileIO(names.lock, "r+", opener=system.opener(flags))
        HELD.add(self)
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
        """Return the name of the writer that holds the lock; one that died does not."""
        holder = self._note().get("holder")
        if not isinstance(holder, str):
            return "another process"
        process, _on, host = holder.removeprefix("process ").partition(" on ")
        if host == os.uname().nodename and process.isdecimal():
            with suppress(PermissionError):  # it exists, and belongs to another user
                try:
                    os.kill(int(process), 0)
                except (ProcessLookupError, OverflowError):
                    return "another process"
        return holder

    @property
    def epoch(self) -> int:
        """The number of the writer that held the lock last, 0 if that is unknown."""
        epoch = self._note().get("epoch")
        return epoch if isinstance(epoch, int) else 0

    def _note(self) -> dict[str, object]:
        with suppress(InvalidJsonError):
            fields = parse(os.pread(self._file.fileno(), 400, 0))
            if isinstance(fields, dict):
                return fields
        return {}

    def sign(self, epoch: int) -> None:
        """Store the name of this writer in the file."""
        self._epoch = epoch
        self._write(
            {
                "epoch": epoch,
                "holder": f"process {os.getpid()} on {os.uname().nodename}",
            }
        )

    def _write(self, note: dict[str, object]) -> None:
        content = json.dumps(note).encode() + b"\n"
        files.write_at(self._file.fileno(), content, 0)
        system.calls.truncate(self._file.fileno(), len(content))

    def release(self) -> None:
        """Release the lock."""
        try:
            if self._epoch is not None and not self._file.closed:
                with suppress(OSError):  # the content is only for messages
                    self._write({"epoch": self._epoch})
        finally:
            self._file.close()

    def forget(self) -> None:
        """Close the copy of a forked child; the parent keeps the lock."""
        self._file.close()


def is_locked(names: LogNames) -> bool:
    """Whether a process holds the lock of a log; false if that is unknown."""
    with suppress(OSError), system.closing(files.open_to_read(names.lock)) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
