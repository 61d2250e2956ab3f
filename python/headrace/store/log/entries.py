"""Index beside a segment: its header, and the positions of its entries.

The header is the first 256 bytes: one line of JSON padded with spaces, so that ``head -1``
shows it. It is written once. The manifest and the name of the segment repeat all of it, so
an index with a damaged header keeps its entries.
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from headrace.errors import LogDamagedError
from headrace.kernel.checksum import crc32c
from headrace.kernel.log import (
    ENTRY_BYTES,
    FLAGS,
    HEADER_BYTES,
    LogEntry,
    Place,
    log_entry,
)
from headrace.kernel.rows import reading
from headrace.kernel.values import InvalidJsonError, parse
from headrace.store.files import system
from headrace.store.log import files
from headrace.store.log import manifest as manifests
from headrace.store.log.names import LogNames

MAGIC = "NDIX"
VERSION = 1

_LARGEST_FILE_NUMBER = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class Header:
    """Header of an index, its first line."""

    file_number: int
    base: int
    salt: int

    @property
    def place(self) -> Place:
        """The place of the first line of the segment."""
        return Place(self.salt, self.file_number, self.base)

    def encode(self) -> bytes:
        """Return the bytes of the header."""
        fields = {
            "type": "header",
            "magic": MAGIC,
            "version": VERSION,
            "fileNumber": self.file_number,
            "globalLineOffset": self.base,
            "entrySize": ENTRY_BYTES,
            "offsetSpace": "logical",
            "salt": f"{self.salt:08x}",
            "crc32c": "00000000",
        }
        text = json.dumps(fields, separators=(",", ":")).encode()
        blank = text.ljust(HEADER_BYTES - 1) + b"\n"
        digits = f"{crc32c(blank):08x}".encode()
        return blank.replace(b'"crc32c":"00000000"', b'"crc32c":"%b"' % digits)


def decode_header(content: bytes) -> Header | None:
    """Decode the header at the beginning of `content`; None if it is damaged.

    >>> decode_header(Header(7, 82571, 1).encode())
    Header(file_number=7, base=82571, salt=1)
    """
    content = content[:HEADER_BYTES]
    try:
        fields = parse(content)
    except InvalidJsonError:
        return None
    if not isinstance(fields, dict):
        return None
    header = _header(cast("dict[str, Any]", fields))
    return header if header is not None and header.encode() == content else None


def _header(fields: dict[str, Any]) -> Header | None:
    number, base, salt = (
        fields.get(key) for key in ("fileNumber", "globalLineOffset", "salt")
    )
    sound = (
        type(number) is int
        and 1 <= number <= _LARGEST_FILE_NUMBER
        and type(base) is int
        and 0 <= base < 1 << 63
        and isinstance(salt, str)
        and re.fullmatch(r"[0-9a-f]{8}", salt)
    )
    if not sound:
        return None
    return Header(cast("int", number), cast("int", base), int(cast("str", salt), 16))


def create_index(names: LogNames, header: Header) -> None:
    """Create the index of an empty segment; its name is not durable yet."""
    files.put_in_place(names.index(header.base), header.encode())


def rows_in(size: int) -> int:
    """Return the number of whole entries in an index, by its size in bytes.

    >>> rows_in(100), rows_in(256 + 56 * 2 + 55)
    (0, 2)
    """
    return max(size - HEADER_BYTES, 0) // ENTRY_BYTES


def committed(descriptor: int, place: Place) -> Place:
    """Return the place after the last good entry of an index, or `place` if that is later.

    An entry that is being written is not whole; one that a crash left may be damaged.
    """
    rows = rows_in(os.fstat(descriptor).st_size)
    while rows > place.rows:
        entry = entry_at(descriptor, rows - 1, place.salt)
        if entry is not None and entry.line == place.base + rows:
            return place._replace(rows=rows, end=entry.end)
        rows -= 1
    return place


def committed_now(names: LogNames, place: Place) -> Place:
    """Do the same for a segment that this process has not opened."""
    path = names.index(place.base)
    with reading(str(path)), system.closing(files.open_to_read(path)) as descriptor:
        return committed(descriptor, place)


def entry_at(descriptor: int, row: int, salt: int) -> LogEntry | None:
    """Read the entry of a row of the segment, counted from 0; None if it is damaged."""
    offset = HEADER_BYTES + row * ENTRY_BYTES
    data = files.read_at(descriptor, ENTRY_BYTES, offset)
    return log_entry(data, salt) if len(data) == ENTRY_BYTES else None


_ROWS_AT_ONCE = 4096


def dumped_log(
    directory: str | os.PathLike[str],
) -> Iterator[tuple[Path, Iterator[dict[str, object]]]]:
    """Yield each index of a log with its header and the entries of committed lines."""
    names = LogNames(directory)
    manifest = manifests.existing(names)
    for segment in manifest.segments:
        if segment.rows:
            path = names.index(segment.base)
            yield path, dumped_index(path, segment.rows)
    path = names.index(manifest.active.base)
    yield path, dumped_index(path, committed_now(names, manifest.mark).rows)


def dumped_index(
    path: str | os.PathLike[str], rows: int | None = None
) -> Iterator[dict[str, object]]:
    """Yield the header of an index, then each entry, or the first `rows` of them."""
    name = str(path)
    with reading(name):
        file = files.open_file(Path(path))
        size, _mtime, _ctime = file.stat()
        header = decode_header(file.read_at(0, HEADER_BYTES))
    if header is None:
        raise LogDamagedError(name, 0, "it does not begin as the index of a log does")
    yield {
        "type": "header",
        "fileNumber": header.file_number,
        "globalLineOffset": header.base,
    }
    rows = rows_in(size) if rows is None else rows
    for first in range(0, rows, _ROWS_AT_ONCE):
        count = min(_ROWS_AT_ONCE, rows - first)
        offset = HEADER_BYTES + first * ENTRY_BYTES
        with reading(name):
            data = file.read_at(offset, count * ENTRY_BYTES)
        for at in range(0, count * ENTRY_BYTES, ENTRY_BYTES):
            yield _entry(name, offset + at, data[at : at + ENTRY_BYTES], header.salt)


def _entry(name: str, offset: int, data: bytes, salt: int) -> dict[str, object]:
    entry = log_entry(data, salt) if len(data) == ENTRY_BYTES else None
    if entry is None:
        raise LogDamagedError(name, offset, "the entry is not good")
    fields: dict[str, object] = {
        "fileNumber": entry.file_number,
        "lineNumberLocal": entry.line_of_file,
        "lineNumberGlobal": entry.line,
        "startByte": entry.start,
        "endByte": entry.end,
        "messageTime": entry.time,
        "timeSource": "extracted" if entry.extracted else "created",
    }
    flags = [flag for bit, flag in enumerate(FLAGS) if entry.flags >> bit & 1]
    return {**fields, "flags": flags} if flags else fields
