"""Lines of a segment as one plain file, compressed or not.

Offsets count decompressed bytes, as the index does. So a reader of the index does not
depend on how the lines are stored.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from headrace.errors import DamagedSourceError, LogDamagedError, UnusableTableError
from headrace.kernel.rows import END, BlockTable, Decoding, reading
from headrace.store.log import files
from headrace.store.log.names import codec_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.kernel.rows import File
    from headrace.store.log.manifest import Active, Sealed
    from headrace.store.log.names import LogNames

_UNLIMITED = Decoding(1, END, END)
"""A block table without a size limit: the manifest has the size."""


def data_path(names: LogNames, segment: Sealed | Active) -> Path:
    """Return the file that has the lines of a segment."""
    return names.directory / segment.name


def open_data(path: Path) -> File:
    """Open the lines of a segment; raise if they are compressed and have no usable blocks."""
    codec = codec_of(path)
    if codec is not None:
        return open_packed(path, codec)
    with reading(str(path)):
        return files.open_file(path)


def open_packed(path: Path, codec: str) -> File:
    """Open compressed lines."""
    with reading_lines(str(path)):
        file = files.open_file(path)
        size = file.stat()[0]
        table = BlockTable.find(file, codec, size)
        if table is None:
            raise LogDamagedError(str(path), size, "it has no table of its blocks")
        return table.decoded(file, size, _UNLIMITED)


@contextmanager
def reading_lines(path: str) -> Iterator[None]:
    """Raise damaged blocks of a file as damage of the log."""
    try:
        with reading(path):
            yield
    except (DamagedSourceError, UnusableTableError) as error:
        raise LogDamagedError(path, error.offset, error.reason) from None
