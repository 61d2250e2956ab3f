"""Files of a log: open, read at an offset, write at an offset, replace.

A log has regular files only. A symbolic link, a FIFO or a device in the place of one is an
error wherever it is opened: the log neither follows a link out of its directory nor waits
for a pipe. Lines are read as one plain file, compressed or not: offsets count decompressed
bytes, as the index does, so a reader of the index does not depend on how lines are stored.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from headrace.errors import DamagedSourceError, LogDamagedError, UnusableTableError
from headrace.kernel.rows import END, BlockTable, Decoding, File, reading
from headrace.store.files import system
from headrace.store.files.atomic import naming, temporary_name
from headrace.store.log.names import LogNames, codec_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.store.log.entries import Header


def open_to_read(path: Path) -> int:
    """Open a file of a log, which must be regular."""
    with _refusing_links(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    return _regular(path, descriptor)


def open_to_write(path: Path) -> int:
    """Open a file of a log, which must be regular, for reading and writing."""
    with _refusing_links(path):
        descriptor = system.calls.open(path, os.O_RDWR | os.O_NOFOLLOW)
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
    """Write all of `data`; one call may write only a part."""
    rest = memoryview(data)
    while rest:
        written = system.calls.pwrite(descriptor, rest, offset)
        offset += written
        rest = rest[written:]


def pieces(start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield offset and length of the pieces in which bytes are copied."""
    for offset in range(start, end, _PIECE):
        yield offset, min(_PIECE, end - offset)


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
    """Replace the content of `path` atomically and durably."""
    put_in_place(path, content)
    system.calls.sync_directory(path.parent)


def put_in_place(path: Path, content: bytes) -> None:
    """Do the same, but leave the name for the caller to make durable."""
    temporary = temporary_name(path)
    try:
        with naming(path):
            with system.closing(system.calls.create(temporary)) as descriptor:
                write_at(descriptor, content, 0)
                system.calls.sync_data(descriptor)
            system.calls.rename(temporary, path)
    except BaseException:
        with suppress(OSError):
            system.calls.unlink(temporary)
        raise


_PIECE = 1 << 20

UNLIMITED = Decoding(1, END, END)
"""A block table without a size limit: the manifest has the size."""


def open_data(path: Path) -> File:
    """Open the lines of a segment; raise if they are compressed and have no usable blocks."""
    codec = codec_of(path)
    if codec is not None:
        return open_packed(path, codec)
    with reading(str(path)):
        return open_file(path)


def open_packed(path: Path, codec: str) -> File:
    """Open compressed lines."""
    with reading_lines(str(path)):
        file = open_file(path)
        size = file.stat()[0]
        table = BlockTable.find(file, codec, size)
        if table is None:
            raise LogDamagedError(str(path), size, "it has no table of its blocks")
        return table.decoded(file, size, UNLIMITED)


@contextmanager
def reading_lines(path: str) -> Iterator[None]:
    """Raise damaged blocks of a file as damage of the log."""
    try:
        with reading(path):
            yield
    except (DamagedSourceError, UnusableTableError) as error:
        raise LogDamagedError(path, error.offset, error.reason) from None


class OpenSegment:
    """Both files of a segment, which must exist."""

    def __init__(self, names: LogNames, header: Header) -> None:
        self.header = header
        self.path = names.data(header.base)
        self.index_path = names.index(header.base)
        self.data = open_to_write(self.path)
        try:
            self.index = open_to_write(self.index_path)
        except BaseException:
            os.close(self.data)
            raise

    def close(self) -> None:
        """Close both files."""
        data, self.data = self.data, -1
        index, self.index = self.index, -1
        for descriptor in (data, index):
            if descriptor >= 0:
                os.close(descriptor)

    @property
    def size(self) -> int:
        """The bytes of its data."""
        return os.fstat(self.data).st_size

    @property
    def index_size(self) -> int:
        """The bytes of its index."""
        return os.fstat(self.index).st_size
