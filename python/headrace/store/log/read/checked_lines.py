"""Lines of a segment as a source, compared with their index entries while they are read.

Every command that reads a log as a source uses this, so a changed line is an error there,
as it is for `LogReader`, and never a row.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import (
    LogDamagedError,
    LogFileMissingError,
    SourceNotFoundError,
)
from headrace.kernel.rows import reading
from headrace.store.log import files
from headrace.store.log.names import LogNames
from headrace.store.log.read.sources import gone, is_still_there

if TYPE_CHECKING:
    from headrace.kernel.rows import File
    from headrace.store.files.source import Segment, Source


def checked(source: Source, segment: Segment, data: File, size: int | None) -> File:
    """Return `data` such that every line is compared with its entry when it is read.

    `data` is the lines themselves, of `size` bytes, or compressed and read only in order
    with None. The index must have entries for as many rows, and as many bytes.
    """
    index_path = LogNames(Path(source.location).parent).index(segment.base)
    try:
        with reading(str(index_path)):
            index = files.open_file(index_path)
    except SourceNotFoundError:
        if not is_still_there(source):
            raise gone(source) from None
        raise LogFileMissingError(str(index_path), 0, "it is missing") from None
    place = segment.salt, segment.file_number, segment.base
    with reading(source.location):
        lines = data.checked(index, place, segment.rows, size is not None)
    if size is not None and segment.growing and size > (lines.checked_size or 0):
        return lines  # there are more lines after them
    if size not in (None, lines.checked_size):
        reason = f"its lines have {size} bytes, but should have {lines.checked_size}"
        raise LogDamagedError(source.location, 0, reason)
    return lines
