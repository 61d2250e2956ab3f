"""Opening the files of a log, and the system calls that change it, all of them.

Changes go through `system`, one object with one method a call. A test puts another in its
place and so fails any call, or records them all and pulls the plug between any two.

A log has regular files only. A symbolic link, a FIFO or a device in the place of one is an
error at once, wherever it is opened: none is followed out of the directory or waited for.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import LogDamagedError
from headrace.kernel.rows import File
from headrace.store.files.atomic import temporary_name

if TYPE_CHECKING:
    from collections.abc import Iterator


class System:
    """Calls as the operating system has them. Descriptors are not handed to children."""

    def create(self, path: Path) -> int:
        """Create and open a file that must not be there, not even as a link."""
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)

    def open(self, path: Path) -> int:
        """Open a file that is there, for reading and writing."""
        return os.open(path, os.O_RDWR | os.O_NOFOLLOW)

    def pwrite(self, descriptor: int, data: memoryview, offset: int) -> int:
        """Write some of `data`, and say how much."""
        return os.pwrite(descriptor, data, offset)

    def sync(self, descriptor: int) -> None:
        """Make the content of a file durable, and its size."""
        if hasattr(fcntl, "F_FULLFSYNC"):  # where less would leave it in the drive
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(descriptor)

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut a file."""
        os.ftruncate(descriptor, size)

    def rename(self, source: Path, target: Path) -> None:
        """Give a file a name that another may have had."""
        source.replace(target)

    def unlink(self, path: Path) -> None:
        """Remove a name."""
        path.unlink()

    def make_directory(self, path: Path) -> None:
        """Create a directory that is not there."""
        path.mkdir()

    def sync_directory(self, path: Path) -> None:
        """Make the names in a directory durable."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


system = System()
"""Whoever changes a log asks this."""


def open_to_read(path: Path) -> int:
    """Open a file of a log, which must be regular."""
    with _refusing_links(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    return _regular(path, descriptor)


def open_to_write(path: Path) -> int:
    """Open a file of a log, which must be regular, for reading and writing."""
    with _refusing_links(path):
        descriptor = system.open(path)
    return _regular(path, descriptor)


def open_file(path: Path) -> File:
    """Open a file of a log, which must be regular, for the core."""
    size_of(path)
    return File(path)


def read_content(path: Path) -> bytes:
    """Return all bytes of a file of a log, which must be regular."""
    with open(open_to_read(path), "rb") as file:
        return file.read()


def size_of(path: Path) -> int:
    """Return the size of a file of a log, which must be regular."""
    found = path.lstat()
    refuse_irregular(path, found.st_mode)
    return found.st_size


def refuse_irregular(path: Path, mode: int) -> None:
    """Raise unless a file of a log is a regular one, by its mode."""
    if stat.S_ISREG(mode):
        return
    kind = "a symbolic link" if stat.S_ISLNK(mode) else "no regular file"
    raise LogDamagedError(str(path), 0, f"it is {kind}, and a log has regular files")


def _regular(path: Path, descriptor: int) -> int:
    try:
        refuse_irregular(path, os.fstat(descriptor).st_mode)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def _refusing_links(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.ELOOP:
            refuse_irregular(path, stat.S_IFLNK)
        raise


def write_at(descriptor: int, data: bytes, offset: int) -> None:
    """Write all of `data`; the system may take only a part of it at a time."""
    rest = memoryview(data)
    while rest:
        written = system.pwrite(descriptor, rest, offset)
        offset += written
        rest = rest[written:]


def read_at(descriptor: int, length: int, offset: int) -> bytes:
    """Read `length` bytes, fewer only at the end of the file."""
    data = os.pread(descriptor, length, offset)
    if len(data) in (0, length):
        return data
    pieces = [data]
    done = len(data)
    while done < length and (
        data := os.pread(descriptor, length - done, offset + done)
    ):
        pieces.append(data)
        done += len(data)
    return b"".join(pieces)


def replace_content(path: Path, content: bytes) -> None:
    """Give `path` another content in one instant, durably."""
    put_in_place(path, content)
    system.sync_directory(path.parent)


def put_in_place(path: Path, content: bytes) -> None:
    """Do the same, but leave it to the caller to make the name durable."""
    temporary = temporary_name(path)
    try:
        descriptor = system.create(temporary)
        try:
            write_at(descriptor, content, 0)
            system.sync(descriptor)
        finally:
            os.close(descriptor)
        system.rename(temporary, path)
    except BaseException:
        with suppress(OSError):
            system.unlink(temporary)
        raise


def make_directories(path: Path) -> None:
    """Create a directory and those above it, durably."""
    missing = []
    here = Path(os.path.abspath(path))  # noqa: PTH100, links are to stay as they are
    while not here.exists():
        missing.append(here)
        here = here.parent
    for each in reversed(missing):
        with suppress(FileExistsError):
            system.make_directory(each)
        system.sync_directory(each.parent)
