"""The system calls that change a log, all of them.

They go through `system`, one object with one method a call. A test puts another in its
place and so fails any call, or records them all and pulls the plug between any two.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from headrace.store.atomic import temporary_name


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
    except OSError:
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
