"""System calls of every writer of the store.

A writer changes files only through `calls`, one object with one method for each call, and
lists a directory through it where the listing decides what is removed or published. A test
replaces `calls` with an object that fails, shortens or records any call, or ends the
process there. The content of an index file is the exception: the core writes it, under a
temporary name that is created, synchronised and renamed here.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class System:
    """The calls of the operating system. Child processes inherit no descriptor."""

    def create(self, path: Path) -> int:
        """Create and open a file; fails if the name exists, even as a link."""
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)

    def open(self, path: Path, flags: int) -> int:
        """Open a file to write it; a lock file may be created."""
        return os.open(path, flags, 0o666)

    def write(self, descriptor: int, data: memoryview) -> int:
        """Append a part of `data`; return its length."""
        return os.write(descriptor, data)

    def pwrite(self, descriptor: int, data: memoryview, offset: int) -> int:
        """Write a part of `data`; return its length."""
        return os.pwrite(descriptor, data, offset)

    def sync(self, descriptor: int) -> None:
        """Make a file durable: its content, size and attributes."""
        self._flush(descriptor, os.fsync)

    def sync_data(self, descriptor: int) -> None:
        """Make the content and size of a file durable."""
        self._flush(descriptor, getattr(os, "fdatasync", os.fsync))

    @staticmethod
    def _flush(descriptor: int, flush: Callable[[int], None]) -> None:
        if hasattr(
            fcntl, "F_FULLFSYNC"
        ):  # macOS: fsync leaves data in the drive's cache
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            flush(descriptor)

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut a file."""
        os.ftruncate(descriptor, size)

    def rename(self, source: Path, target: Path) -> None:
        """Rename a file or directory; a file called `target` is replaced."""
        source.replace(target)

    def link(self, source: Path, target: Path) -> None:
        """Give a file a second name; fails if that exists."""
        os.link(source, target)

    def unlink(self, path: Path) -> None:
        """Remove the name of a file."""
        path.unlink()

    def make_directory(self, path: Path) -> None:
        """Create a directory; fails if the name exists."""
        path.mkdir()

    def remove_directory(self, path: Path) -> None:
        """Remove an empty directory."""
        path.rmdir()

    def remove_tree(self, path: Path) -> None:
        """Remove a directory and all below it, as far as possible."""
        shutil.rmtree(path, ignore_errors=True)

    def sync_directory(self, path: Path) -> None:
        """Make the names in a directory durable."""
        with closing(os.open(path, os.O_RDONLY | os.O_DIRECTORY)) as descriptor:
            os.fsync(descriptor)

    def list_directory(self, path: Path) -> list[str]:
        """List the names in a directory, in any order."""
        with os.scandir(path) as entries:
            return [entry.name for entry in entries]


calls = System()
"""The calls that writers make; tests replace it."""


@contextmanager
def closing(descriptor: int) -> Iterator[int]:
    """Close a file when the block ends."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def opener(flags: int) -> Callable[[str, int], int]:
    """Return an opener for `FileIO`, which opens a file with these flags."""
    return lambda path, _flags: calls.open(Path(path), flags)


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Append all of `data`; one call may write only a part."""
    rest = memoryview(data)
    while rest:
        rest = rest[calls.write(descriptor, rest) :]


def unlink_if_exists(path: Path) -> None:
    """Remove the name of a file, if it exists."""
    with suppress(FileNotFoundError):
        calls.unlink(path)
